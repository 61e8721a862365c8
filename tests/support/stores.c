/* SPDX-License-Identifier: Apache-2.0 */
/* Stores in a scratch directory. */
#include "tests/support/stores.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(enum qs_status status, const struct qs_error *err)
{
    if (!status)
        return;
    (void)fprintf(stderr, "stores: %s: %s [%s%s] %s\n", qs_status_name(status), err->message, err->file, err->path,
                  err->advice);
    abort();
}

struct qs_store *stores_handle(const char *root, enum qs_scope scope)
{
    struct qs_error err = {0};
    struct qs_store *store = NULL;
    must(qs_store_open(scope, &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = root}, &store,
                       &err),
         &err);
    return store;
}

struct qs_store *stores_open(const char *root, enum qs_scope scope)
{
    struct qs_error err = {0};
    struct qs_store *store = stores_handle(root, scope);
    enum qs_status status =
        qs_store_init(store,
                      &(struct qs_init_options){.size = sizeof(struct qs_init_options), .no_require_store = true},
                      &err);
    if (status != QS_CONFLICT) /* there already */
        must(status, &err);
    return store;
}

static struct qs_txn *begin(struct qs_store *store)
{
    struct qs_error err = {0};
    struct qs_txn *txn = NULL;
    must(qs_txn_begin(store, QS_DEFAULT_WAIT_MS, &txn, &err), &err);
    return txn;
}

static void commit(struct qs_txn *txn)
{
    struct qs_error err = {0};
    struct qs_commit_info info = {.size = sizeof info};
    must(qs_txn_commit(txn, NULL, &info, &err), &err);
    qs_txn_free(txn);
}

void stores_set(struct qs_store *store, const char *key, const char *json)
{
    struct qs_error err = {0};
    struct qs_txn *txn = begin(store);
    must(qs_txn_set(txn, key, json, strlen(json), &err), &err);
    commit(txn);
}

void stores_lock(struct qs_store *store, const char *key)
{
    struct qs_error err = {0};
    struct qs_txn *txn = begin(store);
    must(qs_txn_lock(txn, key, &err), &err);
    commit(txn);
}

static void apply(struct qs_store *store, const char *json, bool replace)
{
    struct qs_error err = {0};
    struct qs_txn *txn = begin(store);
    must(qs_txn_apply(txn, "test.json", json, strlen(json), QS_FORMAT_JSON, replace, &err), &err);
    commit(txn);
}

void stores_apply(struct qs_store *store, const char *json)
{
    apply(store, json, false);
}

void stores_become(struct qs_store *store, const char *json)
{
    apply(store, json, true);
}

char *stores_get(struct qs_store *store, const char *key)
{
    struct qs_error err = {0};
    struct qs_snapshot *snapshot = NULL;
    char *text = NULL;
    size_t len = 0;
    must(qs_snapshot_take(store, &snapshot, &err), &err);
    enum qs_status status = qs_snapshot_json(snapshot, key, &text, &len, &err);
    if (status != QS_NOT_FOUND)
        must(status, &err);
    qs_snapshot_unref(snapshot);
    return text;
}
