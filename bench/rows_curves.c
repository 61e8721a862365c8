/* SPDX-License-Identifier: Apache-2.0 */
/* How read, get and set grow: with the number of keys, and with the number of generations behind them. */
#include "bench/world.h"

#include <string.h>

struct at {
    const struct corpus *corpus;
    struct qs_store *store;
    struct qs_snapshot *snapshot;
    struct bare_lmdb *lmdb;
    char json[BENCH_PATH_BYTES], lmdb_dir[BENCH_PATH_BYTES], dir[BENCH_PATH_BYTES];
    unsigned long number;
    size_t next;
};

static const char *number_key(const struct at *a)
{
    return a->corpus->texts[a->corpus->group_first + 8]; /* timeoutMs of the group */
}

static void ours_read(void *context)
{
    struct at *a = context;
    struct qs_error err = {0};
    struct qs_snapshot *snapshot = NULL;
    bench_check(qs_snapshot_take(a->store, &snapshot, &err), &err, "read");
    qs_snapshot_unref(snapshot);
}

static void json_read(void *context)
{
    struct at *a = context;
    if (plain_json_read(a->json, a->corpus->group) != CORPUS_GROUP)
        bench_fail("the JSON file lacks settings");
}

static const struct qs_key *next_key(struct at *a)
{
    a->next = (a->next + 1) % a->corpus->count;
    return &a->corpus->keys[a->corpus->order[a->next]];
}

static void ours_get(void *context)
{
    struct at *a = context;
    struct qs_bytes value;
    if (qs_snapshot_get_key(a->snapshot, next_key(a), &value))
        bench_fail("a setting is missing");
}

static void lmdb_get(void *context)
{
    struct at *a = context;
    const struct qs_key *key = next_key(a);
    (void)bare_lmdb_get(a->lmdb, key->bytes, key->len);
}

static void ours_set(void *context)
{
    struct at *a = context;
    world_set(a->store, number_key(a), 100000 + a->number++ % 900000);
}

static void lmdb_set(void *context)
{
    struct at *a = context;
    char value[32];
    (void)snprintf(value, sizeof value, "%lu", 100000 + a->number++ % 900000);
    bare_lmdb_set(a->lmdb_dir, a->corpus->count, &a->corpus->keys[a->corpus->group_first + 8], value);
}

static void file_set(void *context)
{
    struct at *a = context;
    plain_replace(a->dir, "settings.json", a->corpus->json, a->corpus->json_len);
}

struct curve {
    struct bench *bench;
    const char *x_name;
    double x;
    unsigned budget_ms;
};

static void compare(const struct curve *c, const char *name, const struct side *ours, const struct side *theirs)
{
    char title[96];
    struct pair_figures f = measure_pairs(ours, theirs, c->budget_ms, 300);
    (void)snprintf(title, sizeof title, "%s, by %s", name, c->x_name);
    bench_point(c->bench, title, c->x_name, "ours", c->x, f.ours_us);
    bench_point(c->bench, title, c->x_name, theirs->name, c->x, f.theirs_us);
}

static void measure_at(const struct curve *c, struct at *a)
{
    struct qs_error err = {0};
    bench_check(qs_snapshot_take(a->store, &a->snapshot, &err), &err, "read");
    a->lmdb = bare_lmdb_open(a->lmdb_dir, true, a->corpus->count);
    unsigned few = a->corpus->count < 1000 ? 10 : 1;
    compare(c, "read", &(struct side){"ours", ours_read, a, few}, &(struct side){"JSON, jansson", json_read, a, few});
    compare(c, "get", &(struct side){"ours", ours_get, a, 2000}, &(struct side){"LMDB get", lmdb_get, a, 2000});
    bare_lmdb_close(a->lmdb);
    qs_snapshot_unref(a->snapshot);
    struct side ours = {"ours", ours_set, a, 1};
    struct side file = {"JSON file replaced", file_set, a, 1};
    compare(c, "set", &ours, &file);
    compare(c, "set, beside LMDB", &ours, &(struct side){"LMDB open, commit, close", lmdb_set, a, 1});
    char name[96];
    (void)snprintf(name, sizeof name, "one durable change; %.0f %s", c->x, c->x_name);
    bench_count(c->bench, name, &ours);
}

static void prepare(struct bench *bench, struct at *a, const char *name)
{
    char root[BENCH_PATH_BYTES];
    bench_path(root, "%s/%s", bench->scratch, name);
    bench_path(a->json, "%s/settings.json", root);
    bench_path(a->lmdb_dir, "%s/lmdb", root);
    bench_path(a->dir, "%s", root);
    a->store = world_store(root, a->corpus);
    bench_write_file(a->json, a->corpus->json, a->corpus->json_len);
    bare_lmdb_fill(a->lmdb_dir, a->corpus);
}

static void curve_of_keys(struct bench *bench)
{
    static const size_t counts[] = {20, 200, 2000, 20000, 100000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char name[64];
        struct corpus *corpus = corpus_make(counts[i]);
        struct at a = {.corpus = corpus};
        (void)snprintf(name, sizeof name, "keys-%zu", counts[i]);
        prepare(bench, &a, name);
        measure_at(&(struct curve){bench, "keys", (double)counts[i], bench_budget(bench) / 4}, &a);
        qs_store_close(a.store);
        corpus_free(corpus);
    }
}

/* Generations are counted before measuring; measuring adds a few. */
static void curve_of_generations(struct bench *bench)
{
    static const unsigned long generations[] = {1, 10, 100, 1000, 10000};
    size_t steps = sizeof generations / sizeof generations[0] - (bench->quick ? 1 : 0);
    struct corpus *corpus = corpus_make(200);
    for (size_t i = 0; i < steps; i++) {
        char name[64];
        struct at a = {.corpus = corpus};
        (void)snprintf(name, sizeof name, "generations-%lu", generations[i]);
        prepare(bench, &a, name);
        for (unsigned long g = 2; g < generations[i]; g++) /* the store was filled as generation 2 */
            ours_set(&a);
        measure_at(&(struct curve){bench, "generations", (double)generations[i], bench_budget(bench) / 8}, &a);
        qs_store_close(a.store);
    }
    corpus_free(corpus);
}

void rows_curves(struct bench *bench)
{
    (void)fprintf(stderr, "  curves\n");
    curve_of_keys(bench);
    curve_of_generations(bench);
}
