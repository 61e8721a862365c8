/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over a store file: metas, trees, record, digests. It either yields a snapshot or says what is wrong. */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/os.h"
#include "store/snapshot.h"

#include <errno.h>
#include <string.h>

const char *const store_db_names[DB_COUNT] = {"history", "locks", "meta", "settings", "targets"};

enum { HEAD = META_OFFSET + META_BYTES };

/* A file of a later LMDB is no damaged one. A flipped bit in one meta's version is: hence a version that LMDB has had,
 * or one that both metas name. */
static enum qs_status check_lmdb_version(const uint8_t metas[METAS_BYTES], struct qs_error *err)
{
    static const uint32_t had[] = {2, 999}; /* LMDB 1.0, and as it was before that */
    uint32_t a = meta_version(metas, NULL);
    uint32_t b = meta_version(metas + HEAD, NULL);
    uint32_t newer = a == b && a > META_VERSION && a <= had[1] ? a : 0;
    for (size_t i = 0; i < sizeof had / sizeof had[0]; i++)
        newer = a == had[i] || b == had[i] ? had[i] : newer;
    return newer ? error_newer(err, "the file is of LMDB format %u; this program reads format %u", newer, META_VERSION)
                 : QS_OK;
}

/* Reads the used bytes of both meta pages. The page size, which places the second one, comes from the first. */
static enum qs_status read_metas(int fd, uint8_t out[METAS_BYTES], struct qs_error *err)
{
    enum { GUESS = 4096 };
    uint8_t both[GUESS + HEAD];
    size_t at = META_OFFSET;
    ssize_t got = os_pread_full(fd, both, sizeof both, 0);
    if (got < 0)
        return error_sys(err, QS_IO, errno, "the meta pages cannot be read");
    if (got < HEAD)
        return error_page(err, 0, "the file ends within the first meta page, after %zd bytes", got);
    memset(out, 0, METAS_BYTES);
    memcpy(out, both, HEAD);
    (void)meta_version(both, &at);
    uint32_t page_size = load_u32(both + at + 24);
    bool sound_size = page_size >= PAGE_MIN_BYTES && page_size <= PAGE_MAX_BYTES;
    if (page_size == GUESS && got == (ssize_t)sizeof both)
        memcpy(out + HEAD, both + GUESS, HEAD);
    else if (sound_size && (got = os_pread_full(fd, out + HEAD, HEAD, page_size)) < 0)
        return error_sys(err, QS_IO, errno, "the meta pages cannot be read");
    enum qs_status status = check_lmdb_version(out, err);
    if (!status && !sound_size)
        status = error_page(err, 0, "meta page 0 names a page size of %u bytes", page_size);
    if (!status && got < HEAD)
        status = error_page(err, 1, "the file ends within the second meta page");
    return status;
}

/* Both metas decoded; a healthy pair has ids N and N-1, each in the slot of its parity. */
static enum qs_status decode_pair(const uint8_t metas[METAS_BYTES], struct meta pair[2], struct qs_error *err)
{
    for (unsigned slot = 0; slot < 2; slot++) {
        enum qs_status status = meta_decode(metas + (METAS_BYTES / 2) * (size_t)slot, slot, &pair[slot], err);
        if (status)
            return status;
    }
    uint64_t a = pair[0].txn_id;
    uint64_t b = pair[1].txn_id;
    if (pair[0].page_size != pair[1].page_size)
        return error_page(err, 1, "the meta pages name different page sizes");
    if ((a & 1) != 0 || (b & 1) != 1 || (a + 1 != b && b + 1 != a))
        return error_page(err, a > b ? 0 : 1,
                          "the meta pages have the transaction ids %llu and %llu; expected are two in a row",
                          (unsigned long long)a, (unsigned long long)b);
    return QS_OK;
}

/* ---- the main tree: names of databases ---- */

#define NAMES_MOST 64u /* a later version may have more than five */
#define NAMES_OURS ((1u << DB_COUNT) - 1)

struct names {
    struct db *dbs;
    unsigned seen;
    bool others;
};

static enum qs_status take_name(void *context, const struct node *node, struct qs_error *err)
{
    struct names *names = context;
    for (unsigned i = 0; i < DB_COUNT; i++) {
        size_t len = strlen(store_db_names[i]);
        if (len != node->key_len || memcmp(node->key, store_db_names[i], len) != 0)
            continue;
        if (node->flags != NODE_SUBDATA || node->data_len != DB_BYTES)
            return error_page(err, -1, "the entry of database \"%s\" is malformed", store_db_names[i]);
        db_decode(node->data, &names->dbs[i]);
        if (names->dbs[i].flags)
            return error_page(err, -1, "database \"%s\" has flags %#x", store_db_names[i], names->dbs[i].flags);
        names->seen |= 1u << i;
        return QS_OK;
    }
    names->others = true;
    return QS_OK;
}

static enum qs_status check_names(const struct names *names, unsigned wanted, const struct meta *meta,
                                  struct qs_error *err)
{
    if ((names->seen & wanted) != wanted)
        return error_page(err, (int64_t)meta->main.root, "a database is missing (seen: %#x)", names->seen);
    if (names->others && wanted == NAMES_OURS)
        return error_page(err, -1, "there is a database with an unknown name");
    return QS_OK;
}

/* ---- the meta record ---- */

static enum qs_status take_record(void *context, const struct node *node, struct qs_error *err)
{
    if (node->key_len != sizeof META_RECORD_KEY - 1 || memcmp(node->key, META_RECORD_KEY, node->key_len) != 0 ||
        node->flags & NODE_SUBDATA)
        return error_page(err, -1, "the meta database contains something other than its record");
    return meta_record_decode(node->data, node->data_len, context, err);
}

/* The names and the record, under the same rules for either meta. The record is looked at before the names are judged:
 * it is where a later version says that it is one. */
static enum qs_status walk_record(struct page_cache *pages, const struct meta *meta, unsigned flags,
                                  struct db dbs[DB_COUNT], struct meta_record *ret_record, struct qs_error *err)
{
    struct meta_record record = {0};
    struct names names = {.dbs = dbs};
    if (meta->main.entries > NAMES_MOST)
        return error_page(err, (int64_t)meta->main.root, "there are %llu databases",
                          (unsigned long long)meta->main.entries);
    enum qs_status status = tree_walk(pages, &meta->main, flags | TREE_CLAIM, take_name, &names, err);
    if (!status)
        status = check_names(&names, 1u << DB_META, meta, err);
    if (!status && dbs[DB_META].entries != 1)
        status = error_page(err, -1, "the meta database has %llu entries", (unsigned long long)dbs[DB_META].entries);
    if (!status)
        status = tree_walk(pages, &dbs[DB_META], flags | TREE_CLAIM, take_record, &record, err);
    if (!status)
        status = check_names(&names, NAMES_OURS, meta, err);
    if (status)
        return status;
    if (record.txn_id != meta->txn_id)
        return error_page(err, (int64_t)(meta->txn_id & 1), "meta %llu leads to a record of transaction %llu",
                          (unsigned long long)meta->txn_id, (unsigned long long)record.txn_id);
    *ret_record = record;
    return QS_OK;
}

/* ---- settings, locks, targets ---- */

/* The most entries of each area: what is reserved for them is bounded, whatever a record says. */
static const uint64_t area_most[AREA_COUNT] = {QS_SETTINGS_MAX_ENTRIES, QS_LOCKS_MAX_ENTRIES, QS_TARGETS_MAX_ENTRIES};

struct area_fill {
    struct entry_list *list;
    size_t space;
    uint64_t expected;
};

static enum qs_status take_entry(void *context, const struct node *node, struct qs_error *err)
{
    struct area_fill *fill = context;
    struct entry_list *list = fill->list;
    if (node->flags & NODE_SUBDATA)
        return error_page(err, -1, "an entry is marked as a database");
    if (node->data_len > QS_VALUE_MAX_BYTES)
        return error_page(err, -1, "an entry has a value of %u bytes", node->data_len);
    if (list->count == fill->space) {
        size_t space = fill->space ? 2 * fill->space : 1024;
        space = space < fill->expected ? space : (size_t)fill->expected;
        struct leaf *items = realloc(list->items, space * sizeof *items);
        if (!items)
            return error_memory(err);
        list->items = items;
        fill->space = space;
    }
    list->items[list->count++] = (struct leaf){{node->key, node->key_len}, {node->data, node->data_len}};
    return QS_OK;
}

static enum qs_status walk_area(struct page_cache *pages, const struct db *db, enum store_area area, uint64_t expected,
                                unsigned flags, struct entry_list *list, struct qs_error *err)
{
    struct area_fill fill = {.list = list, .expected = expected};
    if (db->entries != expected)
        return error_page(err, -1, "a database has %llu entries, but its record says %llu",
                          (unsigned long long)db->entries, (unsigned long long)expected);
    if (expected > area_most[area])
        return error_page(err, -1, "a database has %llu entries; the most is %llu", (unsigned long long)expected,
                          (unsigned long long)area_most[area]);
    return tree_walk(pages, db, flags, take_entry, &fill, err);
}

/* ---- the free tree: what LMDB will hand out again ---- */

struct free_check {
    struct page_cache *pages;
    uint64_t txn_id, free_pages;
};

static enum qs_status take_free_list(void *context, const struct node *node, struct qs_error *err)
{
    struct free_check *check = context;
    uint64_t id = load_u64(node->key);
    uint64_t count = node->data_len >= 8 && node->data_len % 8 == 0 ? load_u64(node->data) : UINT64_MAX;
    if (node->flags & NODE_SUBDATA || id == 0 || id > check->txn_id || count > node->data_len / 8 - 1)
        return error_page(err, -1, "the list of pages freed by transaction %llu is malformed", (unsigned long long)id);
    uint64_t above = UINT64_MAX;
    check->free_pages += count;
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t page = load_u64(node->data + 8 * i);
        if (page >= above)
            return error_page(err, -1, "the list of pages freed by transaction %llu is out of order",
                              (unsigned long long)id);
        above = page;
        enum qs_status status = page_cache_claim(check->pages, page, 1, err);
        if (status)
            return status;
    }
    return QS_OK;
}

static enum qs_status walk_free(struct qs_snapshot *s, struct qs_error *err)
{
    struct free_check check = {.pages = &s->pages, .txn_id = s->meta.txn_id};
    enum qs_status status =
        tree_walk(&s->pages, &s->meta.free, TREE_STRICT | TREE_CLAIM | TREE_INTEGER_KEYS | TREE_FREE, take_free_list,
                  &check, err);
    s->free_pages = check.free_pages;
    return status;
}

/* ---- all of it ---- */

static enum qs_status walk_history(struct qs_snapshot *s, const struct verified_read *how, struct qs_error *err)
{
    const struct db *db = &s->dbs[DB_HISTORY];
    enum qs_status status = QS_OK;
    /* History records never use overflow pages, so the branch pages name every page there is: the cost is a page in
     * some hundred, and no free list can hand a live one out. */
    if (how->flags & SNAPSHOT_WRITER)
        status = tree_walk(&s->pages, db, TREE_STRICT | TREE_CLAIM | TREE_KEYS_ONLY, NULL, NULL, err);
    if (!status && how->flags & (SNAPSHOT_WRITER | SNAPSHOT_HISTORY))
        status = tree_check_last(&s->pages, db, &s->last_history, err);
    return status;
}

static enum qs_status walk_all(struct qs_snapshot *s, const struct verified_read *how, struct qs_error *err)
{
    static const enum store_db area_dbs[AREA_COUNT] = {DB_SETTINGS, DB_LOCKS, DB_TARGETS};
    unsigned tree = TREE_CLAIM | (how->flags & SNAPSHOT_WRITER ? TREE_STRICT : 0);
    enum qs_status status = walk_record(&s->pages, &s->meta, tree, s->dbs, &s->record, err);
    for (enum store_area i = 0; i < AREA_COUNT && !status; i++)
        status = walk_area(&s->pages, &s->dbs[area_dbs[i]], i, s->record.counts[i], tree, &s->areas[i], err);
    if (status)
        return status;
    uint8_t content[QS_DIGEST_BYTES];
    if (how->flags & SNAPSHOT_WRITER)
        s->marks = malloc(sizeof *s->marks);
    if (s->marks)
        content_digest_marked(s->areas, s->marks, content);
    else
        content_digest(s->areas, content);
    if (memcmp(content, s->record.content, sizeof content) != 0)
        return error_page(err, -1, "the content does not match its digest");
    status = walk_history(s, how, err);
    if (!status && how->flags & SNAPSHOT_WRITER)
        status = walk_free(s, err);
    s->used_pages = s->pages.claims - s->free_pages;
    return status;
}

/* The older meta must lead to a record that names it, too: else one flipped bit in the newer one could pass the older
 * off as the newest. */
static enum qs_status check_older(int fd, const struct meta *older, struct page_cache *newer_pages,
                                  struct qs_error *err)
{
    struct db dbs[DB_COUNT];
    struct meta_record record;
    AUTO(page_cache_release) struct page_cache own = {.fd = -1};
    struct page_cache *pages = newer_pages;
    enum qs_status status = QS_OK;
    if (older->last_page < newer_pages->page_count) {
        status = page_cache_renew_claims(newer_pages, fd, err);
    } else {
        status = page_cache_init(&own, fd, older->page_size, older->last_page, err);
        pages = &own;
    }
    return status ? status : walk_record(pages, older, 0, dbs, &record, err);
}

static enum qs_status still_current(int fd, struct qs_snapshot *s, const struct meta *older, struct qs_error *err)
{
    uint8_t again[METAS_BYTES];
    struct meta pair[2];
    enum qs_status status = read_metas(fd, again, err);
    if (!status && memcmp(again, s->metas, sizeof again) == 0)
        return check_older(fd, older, &s->pages, err);
    if (!status)
        status = decode_pair(again, pair, err);
    if (status)
        return status;
    uint64_t newest = pair[0].txn_id > pair[1].txn_id ? pair[0].txn_id : pair[1].txn_id;
    if (newest > s->meta.txn_id + 1 || newest < s->meta.txn_id)
        return error_set(err, QS_BUSY, "writers went from transaction %llu to %llu during one read",
                         (unsigned long long)s->meta.txn_id, (unsigned long long)newest);
    return QS_OK;
}

enum qs_status snapshot_moved(int fd, const struct qs_snapshot *snapshot, enum snapshot_moves *ret_moves,
                              struct qs_error *err)
{
    uint8_t metas[METAS_BYTES];
    struct meta pair[2];
    uint64_t own = snapshot->meta.txn_id;
    size_t at = (METAS_BYTES / 2) * (size_t)(own & 1);
    enum qs_status status = read_metas(fd, metas, err);
    if (!status)
        status = decode_pair(metas, pair, err);
    if (status)
        return status;
    uint64_t newest = pair[0].txn_id > pair[1].txn_id ? pair[0].txn_id : pair[1].txn_id;
    if (newest > own + 1)
        *ret_moves = SNAPSHOT_OLDER;
    else
        *ret_moves =
            newest < own || memcmp(metas + at, snapshot->metas + at, HEAD) != 0 ? SNAPSHOT_UNDONE : SNAPSHOT_STILL;
    return QS_OK;
}

static enum qs_status choose_meta(int fd, int slot, struct qs_snapshot *s, struct meta *ret_older, struct qs_error *err)
{
    struct meta pair[2];
    enum qs_status status = read_metas(fd, s->metas, err);
    if (status)
        return status;
    if (slot >= 0)
        return meta_decode(s->metas + (METAS_BYTES / 2) * (size_t)slot, (unsigned)slot, &s->meta, err);
    status = decode_pair(s->metas, pair, err);
    if (status)
        return status;
    unsigned newer = pair[1].txn_id > pair[0].txn_id;
    s->meta = pair[newer];
    *ret_older = pair[!newer];
    return QS_OK;
}

enum qs_status verified_read(int fd, const struct verified_read *how, struct qs_snapshot **ret_snapshot,
                             struct qs_error *err)
{
    AUTO(snapshot_release) struct qs_snapshot *s = calloc(1, sizeof *s);
    struct meta older = {0};
    if (!s)
        return error_memory(err);
    atomic_init(&s->references, 1);
    s->pages.fd = -1;
    enum qs_status status = choose_meta(fd, how->slot, s, &older, err);
    if (!status)
        status = page_cache_init(&s->pages, fd, s->meta.page_size, s->meta.last_page, err);
    s->pages.deadline_ms = how->deadline_ms;
    if (!status)
        status = walk_all(s, how, err);
    if (!status && how->slot == SLOT_NEWER)
        status = still_current(fd, s, &older, err);
    if (status)
        return status;
    page_cache_drop_claims(&s->pages);
    s->pages.fd = -1;
    *ret_snapshot = STEAL(s);
    return QS_OK;
}
