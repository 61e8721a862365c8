/* SPDX-License-Identifier: Apache-2.0 */
/* Stores of all scopes for tests; and stores with content that no writer of ours would accept. */
#include "tests/support/policy/scopes.h"

#include "base/cleanup.h"
#include "tests/support/stores.h"
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
    struct qs_store *store = stores_handle(scopes->scratch.dir, scope);
    struct qs_init_options options = {.size = sizeof options,
                                      .require_policy = require_policy,
                                      .no_require_store = !require_store};
    struct qs_error err = {0};
    must(qs_store_init(store, &options, &err), &err, "init");
    qs_store_close(store);
}

void scopes_apply(const struct scopes *scopes, enum qs_scope scope, const char *json)
{
    struct qs_store *store = stores_handle(scopes->scratch.dir, scope);
    stores_apply(store, json);
    qs_store_close(store);
}

void scopes_lock(const struct scopes *scopes, enum qs_scope scope, const char *key)
{
    struct qs_store *store = stores_handle(scopes->scratch.dir, scope);
    stores_lock(store, key);
    qs_store_close(store);
}

void scopes_force(const struct scopes *scopes, enum qs_scope scope, const char *json)
{
    AUTO(leaves_release) struct leaves leaves = {0};
    AUTO(value_release) json_t *root = json_loads(json, 0, NULL);
    struct history_chunks chunks = {0};
    struct qs_error err = {0};
    struct history_entry entry = {.action = HISTORY_INIT, .message = "forced"};
    assert_non_null(root);
    must(flatten_value(root, NULL, NULL, &leaves, &err), &err, json);
    struct entry_list areas[AREA_COUNT] = {{leaves.items, leaves.count}};
    struct build build = {.areas = areas, .newest = &chunks};
    build.record = (struct meta_record){.scope = scope, .generation = 1, .store_id = {1}};
    content_digest(areas, build.record.content);
    must(history_build(&build.record, &entry, &chunks, &err), &err, "record");
    AUTO_FD int fd = open(scopes_path(scopes, scope, "data.mdb"), O_RDWR | O_TRUNC | O_CLOEXEC);
    assert_true(fd >= 0);
    must(build_file(fd, &build, &err), &err, "build");
    history_chunks_release(&chunks);
}

const char *scopes_path(const struct scopes *scopes, enum qs_scope scope, const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s%s%s", qs_scope_name(scope), *name ? "/" : "", name);
    return scratch_path(&scopes->scratch, path);
}
