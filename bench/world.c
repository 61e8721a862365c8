/* SPDX-License-Identifier: Apache-2.0 */
/* Stores of this project, filled. */
#include "bench/world.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct qs_store *world_store_of(const char *root, enum qs_scope scope, const struct corpus *corpus)
{
    struct qs_error err = {0};
    struct qs_store *store = NULL;
    struct qs_txn *txn = NULL;
    struct qs_commit_info info = {.size = sizeof info};
    if (mkdir(root, 0755) && errno != EEXIST)
        bench_fail("%s cannot be made: %s", root, strerror(errno));
    bench_check(qs_store_open(scope, &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = root},
                              &store, &err),
                &err, "open");
    bench_check(qs_store_init(store,
                              &(struct qs_init_options){.size = sizeof(struct qs_init_options),
                                                        .no_require_store = true},
                              &err),
                &err, "init");
    bench_check(qs_txn_begin(store, 10000, &txn, &err), &err, "begin");
    bench_check(qs_txn_apply(txn, "corpus.json", corpus->json, corpus->json_len, QS_FORMAT_JSON, true, &err), &err,
                "apply");
    bench_check(qs_txn_commit(txn, NULL, &info, &err), &err, "commit");
    qs_txn_free(txn);
    return store;
}

struct qs_store *world_store(const char *root, const struct corpus *corpus)
{
    return world_store_of(root, QS_SCOPE_SYSTEM, corpus);
}

void world_set(struct qs_store *store, const char *key, unsigned long number)
{
    struct qs_error err = {0};
    struct qs_txn *txn = NULL;
    struct qs_commit_info info = {.size = sizeof info};
    char value[32];
    int len = snprintf(value, sizeof value, "%lu", number);
    bench_check(qs_txn_begin(store, 10000, &txn, &err), &err, "begin");
    bench_check(qs_txn_set(txn, key, value, (size_t)len, &err), &err, "set");
    bench_check(qs_txn_commit(txn, NULL, &info, &err), &err, "commit");
    if (!info.changed)
        bench_fail("a set of the bench changed nothing");
    qs_txn_free(txn);
}

void world_policy(struct qs_store *store)
{
    static const char policy[] = "{\"filesystem\":\"workspace-write\",\"network\":\"closed\"}";
    struct qs_error err = {0};
    struct qs_txn *txn = NULL;
    struct qs_commit_info info = {.size = sizeof info};
    bench_check(qs_txn_begin(store, 10000, &txn, &err), &err, "begin");
    bench_check(qs_txn_set(txn, "tools.executionSandbox", policy, sizeof policy - 1, &err), &err, "set");
    bench_check(qs_txn_commit(txn, NULL, &info, &err), &err, "commit");
    qs_txn_free(txn);
    qs_store_close(store);
}
