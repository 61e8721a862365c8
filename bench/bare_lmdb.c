/* SPDX-License-Identifier: Apache-2.0 */
/* LMDB as it comes: its own lock file, its own map, no checks. */
#include "bench/world.h"

#include <lmdb.h>
#include <string.h>
#include <sys/stat.h>

struct bare_lmdb {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
};

static void ok(int code, const char *step)
{
    if (code)
        bench_fail("LMDB, %s: %s", step, mdb_strerror(code));
}

const char *bare_lmdb_version(void)
{
    return mdb_version(NULL, NULL, NULL);
}

static MDB_env *open_env(const char *dir, bool read_only, size_t entries)
{
    MDB_env *env = NULL;
    ok(mdb_env_create(&env), "create");
    ok(mdb_env_set_mapsize(env, ((size_t)1 << 20) + entries * 1024), "map size");
    ok(mdb_env_open(env, dir, read_only ? MDB_RDONLY : 0, 0644), "open");
    return env;
}

void bare_lmdb_fill(const char *dir, const struct corpus *corpus)
{
    MDB_txn *txn = NULL;
    MDB_dbi dbi;
    if (mkdir(dir, 0755))
        bench_fail("%s cannot be made", dir);
    MDB_env *env = open_env(dir, false, corpus->count);
    ok(mdb_txn_begin(env, NULL, 0, &txn), "begin");
    ok(mdb_dbi_open(txn, NULL, 0, &dbi), "database");
    for (size_t i = 0; i < corpus->count; i++) {
        MDB_val key = {corpus->keys[i].len, corpus->keys[i].bytes};
        MDB_val value = {strlen(corpus->values[i]), corpus->values[i]};
        ok(mdb_put(txn, dbi, &key, &value, 0), "put");
    }
    ok(mdb_txn_commit(txn), "commit");
    mdb_env_close(env);
}

struct bare_lmdb *bare_lmdb_open(const char *dir, bool read_only, size_t entries)
{
    struct bare_lmdb *lmdb = calloc(1, sizeof *lmdb);
    if (!lmdb)
        bench_fail("out of memory");
    lmdb->env = open_env(dir, read_only, entries);
    ok(mdb_txn_begin(lmdb->env, NULL, MDB_RDONLY, &lmdb->txn), "begin");
    ok(mdb_dbi_open(lmdb->txn, NULL, 0, &lmdb->dbi), "database");
    return lmdb;
}

void bare_lmdb_close(struct bare_lmdb *lmdb)
{
    mdb_txn_abort(lmdb->txn);
    mdb_env_close(lmdb->env);
    free(lmdb);
}

size_t bare_lmdb_get(struct bare_lmdb *lmdb, const void *key, size_t len)
{
    MDB_val k = {len, (void *)key};
    MDB_val value;
    ok(mdb_get(lmdb->txn, lmdb->dbi, &k, &value), "get");
    return value.mv_size;
}

size_t bare_lmdb_subtree(struct bare_lmdb *lmdb, const struct qs_key *prefix)
{
    MDB_cursor *cursor = NULL;
    MDB_val key = {prefix->len, (void *)prefix->bytes};
    MDB_val value;
    size_t seen = 0;
    ok(mdb_cursor_open(lmdb->txn, lmdb->dbi, &cursor), "cursor");
    int code = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (!code && key.mv_size > prefix->len && memcmp(key.mv_data, prefix->bytes, prefix->len) == 0) {
        seen += value.mv_size > 0;
        code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return seen;
}

void bare_lmdb_set(const char *dir, size_t entries, const struct qs_key *key, const char *value)
{
    MDB_txn *txn = NULL;
    MDB_dbi dbi;
    MDB_env *env = open_env(dir, false, entries);
    ok(mdb_txn_begin(env, NULL, 0, &txn), "begin");
    ok(mdb_dbi_open(txn, NULL, 0, &dbi), "database");
    MDB_val k = {key->len, (void *)key->bytes};
    MDB_val v = {strlen(value), (void *)value};
    ok(mdb_put(txn, dbi, &k, &v, 0), "put");
    ok(mdb_txn_commit(txn), "commit");
    mdb_env_close(env);
}
