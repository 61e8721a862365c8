/* SPDX-License-Identifier: Apache-2.0 */
/* Stores of all scopes for tests; and stores with content that no writer of ours would accept. */
#include "tests/support/scopes.h"

#include "store/cleanup.h"
#include "store/os.h"
#include "writer/build.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void must(enum qs_status status, const struct qs_error *err, const char *what)
{
    if (status)
        fail_msg("%s: %s", what, err->message);
}

static struct qs_store *open_store(const struct scopes *scopes, enum qs_scope scope)
{
    struct qs_store_options options = {.root = scopes->scratch.dir};
    struct qs_store *store = NULL;
    struct qs_error err = {0};
    must(qs_store_open(scope, &options, &store, &err), &err, "open");
    return store;
}

void scopes_make(struct scopes *scopes)
{
    scratch_make(&scopes->scratch);
}

void scopes_remove(struct scopes *scopes)
{
    scratch_remove(&scopes->scratch);
}

void scopes_init(const struct scopes *scopes, enum qs_scope scope, bool require_store, bool require_policy)
{
    struct qs_store *store = open_store(scopes, scope);
    struct qs_init_options options = {.require_policy = require_policy, .no_require_store = !require_store};
    struct qs_error err = {0};
    must(qs_store_init(store, &options, &err), &err, "init");
    qs_store_close(store);
}

enum change { CHANGE_APPLY, CHANGE_UNSET, CHANGE_LOCK };

static void commit(const struct scopes *scopes, enum qs_scope scope, enum change change, const char *text)
{
    struct qs_store *store = open_store(scopes, scope);
    struct qs_txn *txn = NULL;
    struct qs_commit_info info;
    struct qs_error err = {0};
    must(qs_txn_begin(store, QS_DEFAULT_WAIT_MS, &txn, &err), &err, "begin");
    switch (change) {
    case CHANGE_APPLY:
        must(qs_txn_apply(txn, "test", text, strlen(text), QS_FORMAT_JSON, false, &err), &err, text);
        break;
    case CHANGE_UNSET:
        must(qs_txn_unset(txn, text, &err), &err, text);
        break;
    case CHANGE_LOCK:
        must(qs_txn_lock(txn, text, &err), &err, text);
        break;
    }
    must(qs_txn_commit(txn, &(struct qs_commit_options){.message = "test"}, &info, &err), &err, text);
    qs_txn_free(txn);
    qs_store_close(store);
}

void scopes_apply(const struct scopes *scopes, enum qs_scope scope, const char *json)
{
    commit(scopes, scope, CHANGE_APPLY, json);
}

void scopes_unset(const struct scopes *scopes, enum qs_scope scope, const char *key)
{
    commit(scopes, scope, CHANGE_UNSET, key);
}

void scopes_lock(const struct scopes *scopes, enum qs_scope scope, const char *key)
{
    commit(scopes, scope, CHANGE_LOCK, key);
}

void scopes_force(const struct scopes *scopes, enum qs_scope scope, const char *json)
{
    AUTO(leaves_release) struct leaves leaves = {0};
    AUTO(value_release) json_t *root = json_loads(json, 0, NULL);
    struct record_chunks chunks = {0};
    struct actor actor;
    struct qs_error err = {0};
    static const uint8_t none[QS_DIGEST_BYTES];
    assert_non_null(root);
    must(leaves_from_value(root, NULL, NULL, &leaves, &err), &err, json);
    struct entry_list areas[AREA_COUNT] = {{leaves.items, leaves.count}};
    struct build build = {.areas = areas, .newest = &chunks};
    actor_now(NULL, &actor);
    build.record = (struct record){.scope = scope, .generation = 1, .time_s = actor.time_s, .store_id = {1}};
    record_content_digest(areas, build.record.content);
    must(record_build(&build.record, none, JOURNAL_INIT, &actor, "forced", NULL, 0, &chunks, &err), &err, "record");
    AUTO_FD int fd = open(scopes_path(scopes, scope, "data.mdb"), O_RDWR | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0);
    must(build_file(fd, &build, &err), &err, "build");
    record_chunks_release(&chunks);
}

const char *scopes_path(const struct scopes *scopes, enum qs_scope scope, const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s%s%s", qs_scope_name(scope), *name ? "/" : "", name);
    return scratch_path(&scopes->scratch, path);
}
