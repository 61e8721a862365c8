/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite with synchronous=FULL: one table of keys and values. */
#include "bench/world.h"

#include <sqlite3.h>

struct bare_sqlite {
    sqlite3 *db;
    sqlite3_stmt *update;
};

const char *bare_sqlite_version(void)
{
    return sqlite3_libversion();
}

static void ok(sqlite3 *db, int code, const char *step)
{
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW)
        bench_fail("SQLite, %s: %s", step, sqlite3_errmsg(db));
}

static void run(sqlite3 *db, const char *sql)
{
    ok(db, sqlite3_exec(db, sql, NULL, NULL, NULL), sql);
}

void bare_sqlite_fill(const char *file, bool wal, const struct corpus *corpus)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *insert = NULL;
    ok(db, sqlite3_open(file, &db), "open");
    run(db, wal ? "PRAGMA journal_mode=WAL" : "PRAGMA journal_mode=DELETE");
    run(db, "CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID");
    run(db, "BEGIN");
    ok(db, sqlite3_prepare_v2(db, "INSERT INTO settings VALUES (?, ?)", -1, &insert, NULL), "prepare");
    for (size_t i = 0; i < corpus->count; i++) {
        ok(db, sqlite3_bind_text(insert, 1, corpus->texts[i], -1, SQLITE_STATIC), "bind");
        ok(db, sqlite3_bind_text(insert, 2, corpus->values[i], -1, SQLITE_STATIC), "bind");
        ok(db, sqlite3_step(insert), "insert");
        ok(db, sqlite3_reset(insert), "reset");
    }
    run(db, "COMMIT");
    (void)sqlite3_finalize(insert);
    (void)sqlite3_close(db);
}

struct bare_sqlite *bare_sqlite_open(const char *file)
{
    struct bare_sqlite *sqlite = calloc(1, sizeof *sqlite);
    if (!sqlite)
        bench_fail("out of memory");
    ok(sqlite->db, sqlite3_open(file, &sqlite->db), "open");
    run(sqlite->db, "PRAGMA synchronous=FULL");
    ok(sqlite->db,
       sqlite3_prepare_v2(sqlite->db, "UPDATE settings SET value = ? WHERE key = ?", -1, &sqlite->update, NULL),
       "prepare");
    return sqlite;
}

void bare_sqlite_set(struct bare_sqlite *sqlite, const char *key, const char *value)
{
    ok(sqlite->db, sqlite3_bind_text(sqlite->update, 1, value, -1, SQLITE_STATIC), "bind");
    ok(sqlite->db, sqlite3_bind_text(sqlite->update, 2, key, -1, SQLITE_STATIC), "bind");
    ok(sqlite->db, sqlite3_step(sqlite->update), "update");
    ok(sqlite->db, sqlite3_reset(sqlite->update), "reset");
    if (sqlite3_changes(sqlite->db) != 1)
        bench_fail("SQLite changed %d rows", sqlite3_changes(sqlite->db));
}

void bare_sqlite_close(struct bare_sqlite *sqlite)
{
    (void)sqlite3_finalize(sqlite->update);
    (void)sqlite3_close(sqlite->db);
    free(sqlite);
}
