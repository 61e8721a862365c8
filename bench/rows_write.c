/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durable changes in process: with a store handle that is kept, as a program has it, against the plain ways to save a
 * file, which have nothing to open; and the whole way, open, commit, close, against libraries that do the same. And
 * what they write and flush, counted.
 */
#include "bench/world.h"

#include <string.h>
#include <sys/stat.h>

struct writing {
    const struct corpus *corpus;
    char root[BENCH_PATH_BYTES], dir[BENCH_PATH_BYTES], lmdb[BENCH_PATH_BYTES];
    char journal[BENCH_PATH_BYTES], wal[BENCH_PATH_BYTES];
    struct bare_sqlite *open_journal, *open_wal;
    struct qs_store *open_store;
    unsigned long number;
    size_t at; /* the setting that changes */
};

static void ours_set(void *context)
{
    struct writing *w = context;
    struct qs_error err = {0};
    struct qs_store *store = NULL;
    struct qs_store_options options = {.size = sizeof options, .root = w->root};
    bench_check(qs_store_open(QS_SCOPE_SYSTEM, &options, &store, &err), &err, "open");
    world_set(store, w->corpus->texts[w->at], 100000 + w->number++ % 900000);
    qs_store_close(store);
}

static void ours_set_open(void *context)
{
    struct writing *w = context;
    world_set(w->open_store, w->corpus->texts[w->at], 100000 + w->number++ % 900000);
}

static void file_set(void *context)
{
    struct writing *w = context;
    plain_replace(w->dir, "settings.json", w->corpus->json, w->corpus->json_len);
}

/* What a program has to do that keeps its settings in a JSON file. */
static void json_set(void *context)
{
    struct writing *w = context;
    plain_json_set(w->dir, "settings.json", w->corpus->group, "timeoutMs", 100000 + w->number++ % 900000);
}

static void ours_replace(void *context)
{
    struct writing *w = context;
    struct qs_error err = {0};
    char path[BENCH_PATH_BYTES];
    bench_path(path, "%s/replaced.json", w->dir);
    bench_check(qs_file_replace(path, w->corpus->json, w->corpus->json_len, NULL, &err), &err, "replace");
}

static const char *next_value(struct writing *w, char value[32])
{
    (void)snprintf(value, 32, "%lu", 100000 + w->number++ % 900000);
    return value;
}

static void lmdb_set(void *context)
{
    struct writing *w = context;
    char value[32];
    bare_lmdb_set(w->lmdb, w->corpus->count, &w->corpus->keys[w->at], next_value(w, value));
}

static void sqlite_whole(struct writing *w, const char *file)
{
    char value[32];
    struct bare_sqlite *sqlite = bare_sqlite_open(file);
    bare_sqlite_set(sqlite, w->corpus->texts[w->at], next_value(w, value));
    bare_sqlite_close(sqlite);
}

static void journal_set(void *context)
{
    struct writing *w = context;
    sqlite_whole(w, w->journal);
}

static void wal_set(void *context)
{
    struct writing *w = context;
    sqlite_whole(w, w->wal);
}

static void journal_set_open(void *context)
{
    struct writing *w = context;
    char value[32];
    bare_sqlite_set(w->open_journal, w->corpus->texts[w->at], next_value(w, value));
}

static void wal_set_open(void *context)
{
    struct writing *w = context;
    char value[32];
    bare_sqlite_set(w->open_wal, w->corpus->texts[w->at], next_value(w, value));
}

static void prepare(struct bench *bench, struct writing *w)
{
    bench_path(w->root, "%s/write", bench->scratch);
    bench_path(w->dir, "%s/write.files", bench->scratch);
    bench_path(w->lmdb, "%s/write.lmdb", bench->scratch);
    bench_path(w->journal, "%s/write-journal.sqlite", bench->scratch);
    bench_path(w->wal, "%s/write-wal.sqlite", bench->scratch);
    w->open_store = world_store(w->root, w->corpus);
    bare_lmdb_fill(w->lmdb, w->corpus);
    bare_sqlite_fill(w->journal, false, w->corpus);
    bare_sqlite_fill(w->wal, true, w->corpus);
    if (mkdir(w->dir, 0755))
        bench_fail("%s cannot be made", w->dir);
    file_set(w);
    bench_path(w->dir, "%s/write.files", bench->scratch);
}

void rows_write(struct bench *bench)
{
    struct corpus *corpus = corpus_make(200);
    struct writing w = {.corpus = corpus, .at = 108}; /* a number amid the settings */
    prepare(bench, &w);
    struct side ours = {"ours: open, set, close", ours_set, &w, 1};
    struct side kept = {"ours, handle kept", ours_set_open, &w, 1};
    const char *set = "one durable set, open to close; 200 settings";
    const char *set_kept = "one durable set, handle kept; 200 settings";
    struct side ready = {"text at hand: temp, fsync, rename, fsync dir", file_set, &w, 1};
    struct side file = {"JSON file: read, set, temp, fsync, rename, fsync", json_set, &w, 1};
    struct side lmdb = {"LMDB open, durable commit, close", lmdb_set, &w, 1};
    struct side journal = {"SQLite FULL, rollback journal: open, update, close", journal_set, &w, 1};
    struct side wal = {"SQLite FULL, WAL: open, update, close", wal_set, &w, 1};
    struct side open_journal = {"SQLite FULL, rollback journal, kept open", journal_set_open, &w, 1};
    struct side open_wal = {"SQLite FULL, WAL, kept open", wal_set_open, &w, 1};
    struct side replace = {"ours, replace", ours_replace, &w, 1};
    bench_row(bench, set_kept, 1.0, &kept, &ready);
    bench_row(bench, set_kept, 1.0, &kept, &file);
    bench_row(bench, set_kept, 1.6, &kept, &lmdb);
    bench_row(bench, set, 0, &ours, &ready);
    bench_row(bench, set, 1.6, &ours, &lmdb);
    bench_row(bench, set, 1.0, &ours, &journal);
    bench_row(bench, set, 2.0, &ours, &wal);
    const struct side *closed[] = {&ours, &kept, &ready, &lmdb, &journal, &wal, &replace};
    ours_replace(&w);
    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++)
        bench_count(bench, "one durable change; 200 settings", closed[i]);
    w.open_journal = bare_sqlite_open(w.journal);
    w.open_wal = bare_sqlite_open(w.wal);
    bench_row(bench, set_kept, 0, &kept, &open_journal); /* no limit is set for these */
    bench_row(bench, set_kept, 0, &kept, &open_wal);
    bench_count(bench, "one durable change; 200 settings", &open_journal);
    bench_count(bench, "one durable change; 200 settings", &open_wal);
    bare_sqlite_close(w.open_journal);
    bare_sqlite_close(w.open_wal);
    qs_store_close(w.open_store);
    bench_row(bench, "replace a file of 200 settings", 1.1, &replace, &ready);
    corpus_free(corpus);
}
