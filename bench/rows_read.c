/* SPDX-License-Identifier: Apache-2.0 */
/* Reading in process: a whole read of a small store, and gets from an open snapshot. */
#include "bench/world.h"

struct reading {
    const struct corpus *corpus;
    const char *root, *json, *lmdb_dir;
    struct qs_snapshot *snapshot;
    struct bare_lmdb *lmdb;
    size_t gets; /* per run */
};

static void ours_read(void *context)
{
    const struct reading *r = context;
    struct qs_error err = {0};
    struct qs_store *store = NULL;
    struct qs_snapshot *snapshot = NULL;
    bench_check(qs_store_open(QS_SCOPE_SYSTEM,
                              &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = r->root},
                              &store, &err),
                &err, "open");
    bench_check(qs_snapshot_take(store, &snapshot, &err), &err, "read");
    struct qs_iter iter = qs_snapshot_iter(snapshot, &r->corpus->subtree);
    struct qs_bytes key, value;
    size_t seen = 0;
    while (qs_iter_next(&iter, &key, &value))
        seen += value.len > 0;
    if (seen != CORPUS_GROUP)
        bench_fail("read %zu settings of a group", seen);
    qs_snapshot_unref(snapshot);
    qs_store_close(store);
}

static void json_read(void *context)
{
    const struct reading *r = context;
    if (plain_json_read(r->json, r->corpus->group) != CORPUS_GROUP)
        bench_fail("the JSON file lacks settings");
}

static void lmdb_read(void *context)
{
    const struct reading *r = context;
    struct bare_lmdb *lmdb = bare_lmdb_open(r->lmdb_dir, true, r->corpus->count);
    if (bare_lmdb_subtree(lmdb, &r->corpus->subtree) != CORPUS_GROUP)
        bench_fail("LMDB lacks settings");
    bare_lmdb_close(lmdb);
}

static void ours_get_key(void *context)
{
    const struct reading *r = context;
    const struct corpus *c = r->corpus;
    struct qs_bytes value;
    for (size_t i = 0; i < r->gets; i++)
        if (qs_snapshot_get_key(r->snapshot, &c->keys[c->order[i]], &value) || !value.len)
            bench_fail("a setting is missing");
}

static void ours_get_text(void *context)
{
    const struct reading *r = context;
    const struct corpus *c = r->corpus;
    struct qs_bytes value;
    for (size_t i = 0; i < r->gets; i++)
        if (qs_snapshot_get(r->snapshot, c->texts[c->order[i]], &value, NULL) || !value.len)
            bench_fail("a setting is missing");
}

static void lmdb_get(void *context)
{
    const struct reading *r = context;
    const struct corpus *c = r->corpus;
    for (size_t i = 0; i < r->gets; i++) {
        const struct qs_key *key = &c->keys[c->order[i]];
        if (!bare_lmdb_get(r->lmdb, key->bytes, key->len))
            bench_fail("a setting is missing");
    }
}

static void get_rows(struct bench *bench, struct reading *r)
{
    char name[128];
    struct qs_error err = {0};
    struct qs_store *store = NULL;
    struct qs_store_options options = {.size = sizeof options, .root = r->root};
    bench_check(qs_store_open(QS_SCOPE_SYSTEM, &options, &store, &err), &err, "open");
    bench_check(qs_snapshot_take(store, &r->snapshot, &err), &err, "read");
    r->lmdb = bare_lmdb_open(r->lmdb_dir, true, r->corpus->count);
    r->gets = r->corpus->count < 20000 ? r->corpus->count : 20000;
    unsigned batch = r->gets < 1000 ? 20 : 1;
    struct side key = {"ours", ours_get_key, r, batch};
    struct side text = {"ours", ours_get_text, r, batch};
    struct side theirs = {"LMDB get in an open read transaction", lmdb_get, r, batch};
    (void)snprintf(name, sizeof name, "%zu gets, open snapshot of %zu keys", r->gets, r->corpus->count);
    bench_row(bench, name, 1.0, &key, &theirs);
    (void)snprintf(name, sizeof name, "%zu gets by path text, snapshot of %zu keys", r->gets, r->corpus->count);
    bench_row(bench, name, 1.0, &text, &theirs);
    bare_lmdb_close(r->lmdb);
    qs_snapshot_unref(r->snapshot);
    qs_store_close(store);
}

static void rows_of_size(struct bench *bench, size_t count, bool whole)
{
    char root[BENCH_PATH_BYTES], json[BENCH_PATH_BYTES], lmdb[BENCH_PATH_BYTES];
    struct corpus *corpus = corpus_make(count);
    bench_path(root, "%s/read-%zu", bench->scratch, count);
    bench_path(json, "%s/read-%zu.json", bench->scratch, count);
    bench_path(lmdb, "%s/read-%zu.lmdb", bench->scratch, count);
    qs_store_close(world_store(root, corpus));
    bench_write_file(json, corpus->json, corpus->json_len);
    bare_lmdb_fill(lmdb, corpus);
    struct reading r = {.corpus = corpus, .root = root, .json = json, .lmdb_dir = lmdb};
    if (whole) {
        struct side ours = {"ours", ours_read, &r, 20};
        bench_row(bench, "open, verify, read a subtree; 200 settings", 1.0, &ours,
                  &(struct side){"JSON file, read and parsed with jansson", json_read, &r, 20});
        bench_row(bench, "open, verify, read a subtree; 200 settings", 3.0, &ours,
                  &(struct side){"LMDB open, read transaction, same gets", lmdb_read, &r, 20});
    }
    get_rows(bench, &r);
    corpus_free(corpus);
}

void rows_read(struct bench *bench)
{
    rows_of_size(bench, 200, true);
    rows_of_size(bench, 100000, false);
}
