/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our walk against LMDB itself. The input is a list of operations on a database that liblmdb carries out in several
 * transactions: values of all sizes, overflow pages, deletions, pages freed and reused, deep trees.
 *
 * Invariant: what LMDB lists with its own cursor, our strict walk over the file's pages gives too, entry by entry.
 */
#include "fuzz/fuzz.h"

#include "base/buf.h"
#include "store/page_cache.h"

#include <lmdb.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE       4096u
#define KEYS       4096u
#define VALUE_MAX  20000u
#define MAP_BYTES  ((size_t)64 << 20)
#define COMMIT_OPS 64u

/* A key that a number stands for: 4 to 483 bytes, so that trees become deep; and equal numbers give equal keys. */
static size_t make_key(unsigned number, uint8_t key[512])
{
    size_t len = 4 + (number % 7 == 0 ? number * 13 % 480 : number % 40);
    memset(key, (int)('a' + number % 26), len);
    key[0] = (uint8_t)(number >> 8);
    key[1] = (uint8_t)number;
    return len;
}

static void one(MDB_txn *txn, MDB_dbi dbi, struct cursor *input)
{
    static uint8_t value[VALUE_MAX];
    uint8_t bytes[512];
    unsigned what = cursor_u8(input);
    unsigned number = cursor_u16(input) % KEYS;
    size_t len = what % 16 == 0 ? (size_t)cursor_u16(input) % VALUE_MAX : (size_t)cursor_u8(input) * (what % 8);
    unsigned run = what & 32 ? 1 + what % 40 : 1; /* a run of neighbours: splits and merges */
    for (unsigned i = 0; i < run; i++) {
        MDB_val key = {make_key((number + i) % KEYS, bytes), bytes};
        MDB_val data = {len, value};
        memset(value, (int)(number + i), len);
        int code = what & 128 ? mdb_del(txn, dbi, &key, NULL) : mdb_put(txn, dbi, &key, &data, 0);
        MUST(code == 0 || code == MDB_NOTFOUND);
    }
}

/* All operations, a transaction for each COMMIT_OPS of them; some are aborted. */
static void carry_out(MDB_env *env, struct cursor *input)
{
    do {
        MDB_txn *txn = NULL;
        MDB_dbi dbi;
        MUST(mdb_txn_begin(env, NULL, 0, &txn) == 0 && mdb_dbi_open(txn, "db", MDB_CREATE, &dbi) == 0);
        bool dropped = cursor_left(input) > 8 && cursor_u8(input) % 8 == 7;
        for (unsigned i = 0; i < COMMIT_OPS && cursor_left(input) > 4; i++)
            one(txn, dbi, input);
        if (dropped)
            mdb_txn_abort(txn);
        else
            MUST(mdb_txn_commit(txn) == 0);
    } while (cursor_left(input) > 8);
}

struct listing {
    MDB_cursor *cursor;
    size_t count;
};

static enum qs_status compare(void *context, const struct node *node, struct qs_error *err)
{
    struct listing *listing = context;
    MDB_val key;
    MDB_val data;
    (void)err;
    MUST(mdb_cursor_get(listing->cursor, &key, &data, listing->count++ ? MDB_NEXT : MDB_FIRST) == 0);
    MUST(key.mv_size == node->key_len && memcmp(key.mv_data, node->key, key.mv_size) == 0);
    MUST(data.mv_size == node->data_len && (!data.mv_size || memcmp(data.mv_data, node->data, data.mv_size) == 0));
    return QS_OK;
}

static enum qs_status find_db(void *context, const struct node *node, struct qs_error *err)
{
    (void)err;
    MUST(node->flags == NODE_SUBDATA && node->key_len == 2 && node->data_len == DB_BYTES);
    db_decode(node->data, context);
    return QS_OK;
}

static void walk(int fd, MDB_cursor *cursor, size_t entries)
{
    uint8_t head[META_OFFSET + META_BYTES];
    struct meta metas[2] = {0};
    struct page_cache pages = {0};
    struct listing listing = {.cursor = cursor};
    struct qs_error err = {0};
    struct db db = {.root = PAGE_NONE};
    unsigned good = 0;
    for (unsigned slot = 0; slot < 2; slot++) {
        MUST(pread(fd, head, sizeof head, (off_t)(slot * PAGE)) == (ssize_t)sizeof head);
        if (meta_decode(head, slot, &metas[slot], &err) == QS_OK)
            good++;
    }
    const struct meta *meta = &metas[metas[1].txn_id > metas[0].txn_id];
    MUST(good && meta->page_size == PAGE);
    MUST(page_cache_init(&pages, fd, PAGE, meta->last_page, &err) == QS_OK);
    unsigned flags = TREE_STRICT | TREE_CLAIM;
    MUST(tree_walk(&pages, &meta->main, flags, find_db, &db, &err) == QS_OK);
    if (tree_walk(&pages, &db, flags, compare, &listing, &err) != QS_OK) {
        (void)fprintf(stderr, "page %lld: %s\n", (long long)err.page, err.message);
        abort();
    }
    MUST(listing.count == entries && db.entries == entries);
    /* and the pages that LMDB holds free belong to nobody else */
    MUST(tree_walk(&pages, &meta->free, flags | TREE_INTEGER_KEYS | TREE_FREE, NULL, NULL, &err) == QS_OK);
    page_cache_release(&pages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[64];
    MDB_env *env = NULL;
    MDB_txn *txn = NULL;
    MDB_cursor *cursor = NULL;
    MDB_dbi dbi;
    MDB_stat stat;
    struct cursor input;
    int fd = memfd_create("differential", MFD_CLOEXEC);
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    cursor_init(&input, data, size);
    MUST(fd >= 0 && mdb_env_create(&env) == 0 && mdb_env_set_mapsize(env, MAP_BYTES) == 0);
    MUST(mdb_env_set_maxdbs(env, 4) == 0);
    MUST(mdb_env_open(env, name, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0600) == 0);
    carry_out(env, &input);
    MUST(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn) == 0);
    int code = mdb_dbi_open(txn, "db", 0, &dbi);
    if (code == 0) { /* else the only transaction was dropped */
        MUST(mdb_stat(txn, dbi, &stat) == 0 && mdb_cursor_open(txn, dbi, &cursor) == 0);
        walk(fd, cursor, stat.ms_entries);
        mdb_cursor_close(cursor);
    }
    mdb_txn_abort(txn);
    mdb_env_close(env);
    (void)close(fd);
    return 0;
}
