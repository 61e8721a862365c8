/* SPDX-License-Identifier: Apache-2.0 */
/* Crafted stores. */
#include "tests/support/craft.h"

#include "base/buf.h"
#include "base/digest.h"
#include "base/os.h"
#include "store/snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE     4096u
#define CHILDREN 200u

/* One file being crafted: its metas, and the first page behind all that there is. */
struct file {
    int fd;
    struct meta metas[2];
    unsigned newer;
    uint64_t next;
};

static void put(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static void load_page(int fd, uint64_t number, uint8_t page[PAGE])
{
    assert_int_equal(os_pread_full(fd, page, PAGE, (off_t)(number * PAGE)), PAGE);
}

static void store_page(int fd, uint64_t number, const uint8_t page[PAGE])
{
    assert_int_equal(os_pwrite_full(fd, page, PAGE, (off_t)(number * PAGE)), 0);
}

static struct file begin(int fd)
{
    struct file file = {.fd = fd};
    uint8_t page[PAGE];
    for (unsigned slot = 0; slot < 2; slot++) {
        load_page(fd, slot, page);
        assert_int_equal(meta_decode(page, slot, &file.metas[slot], NULL), QS_OK);
        if (file.metas[slot].last_page >= file.next)
            file.next = file.metas[slot].last_page + 1;
    }
    file.newer = file.metas[1].txn_id > file.metas[0].txn_id;
    return file;
}

static void put_db(uint8_t *at, const struct db *db)
{
    put(at + 4, db->flags, 2);
    put(at + 6, db->depth, 2);
    put(at + 8, db->branch_pages, 8);
    put(at + 16, db->leaf_pages, 8);
    put(at + 24, db->overflow_pages, 8);
    put(at + 32, db->entries, 8);
    put(at + 40, db->root, 8);
}

/* The meta of a slot again, with its trees and its last page as they are in file now. */
static void store_meta(struct file *file, unsigned slot)
{
    uint8_t page[PAGE];
    load_page(file->fd, slot, page);
    uint8_t *m = page + META_OFFSET;
    put_db(m + 24, &file->metas[slot].free);
    put_db(m + 24 + DB_BYTES, &file->metas[slot].main);
    put(m + 24 + 2 * (size_t)DB_BYTES, file->metas[slot].last_page, 8);
    store_page(file->fd, slot, page);
}

static void grow(struct file *file, uint64_t last_page)
{
    for (unsigned slot = 0; slot < 2; slot++) {
        file->metas[slot].last_page = last_page;
        store_meta(file, slot);
    }
}

/* Changes the record of a named database in the newer meta's main tree, which is one leaf. */
static void set_db(struct file *file, enum store_db which, const struct db *db)
{
    uint8_t page[PAGE];
    const struct db *tree = &file->metas[file->newer].main;
    assert_int_equal(tree->depth, 1);
    load_page(file->fd, tree->root, page);
    for (unsigned i = 0; i < page_node_count(page); i++) {
        struct node node;
        page_node(page, i, true, &node);
        if (node.key_len != strlen(store_db_names[which]) || memcmp(node.key, store_db_names[which], node.key_len) != 0)
            continue;
        put_db(page + (node.data - page), db);
        store_page(file->fd, tree->root, page);
        return;
    }
    fail_msg("there is no %s", store_db_names[which]);
}

/* The newer record's counts of settings and of history, and its hash. */
static void set_counts(struct file *file, uint64_t settings, uint64_t history)
{
    uint8_t page[PAGE];
    for (uint64_t number = 2; number < file->next; number++) {
        load_page(file->fd, number, page);
        uint8_t *record = memmem(page, PAGE, META_RECORD_MAGIC, META_RECORD_MAGIC_BYTES);
        if (!record || load_u64(record + 48) != file->metas[file->newer].txn_id)
            continue;
        if (settings)
            put(record + 72, settings, 8);
        if (history)
            put(record + 96, history, 8);
        digest_of(record, 168, record + 168);
        store_page(file->fd, number, page);
    }
}

static void page_begin(uint8_t page[PAGE], uint64_t number, unsigned flags)
{
    memset(page, 0, PAGE);
    put(page, number, 8);
    put(page + 10, flags, 2);
    put(page + 12, PAGE_HEADER_BYTES, 2);
    put(page + 14, PAGE, 2);
}

static uint8_t *node_add(uint8_t page[PAGE], const void *key, unsigned key_len, unsigned data_bytes)
{
    unsigned lower = load_u16(page + 12), size = (NODE_HEADER_BYTES + key_len + data_bytes + 1) & ~1u;
    unsigned at = load_u16(page + 14) - size;
    assert_true(at >= lower + 2);
    put(page + lower, at, 2);
    put(page + 12, lower + 2, 2);
    put(page + 14, at, 2);
    put(page + at + 6, key_len, 2);
    memcpy(page + at + NODE_HEADER_BYTES, key, key_len);
    return page + at;
}

/* Branch pages under each other, each with the next one as all of its children: 200 to the power of their number of
 * ways down to the leaf. Returns the tree. */
static struct db ladder(struct file *file, unsigned depth)
{
    uint8_t page[PAGE];
    uint8_t key[8] = {0};
    struct db db = {.depth = (uint16_t)depth, .root = file->next, .entries = UINT32_MAX};
    for (unsigned level = 1; level < depth; level++) {
        page_begin(page, file->next, PAGE_BRANCH);
        for (unsigned i = 0; i < CHILDREN; i++) {
            key[0] = (uint8_t)i;
            uint8_t *node = node_add(page, key, i ? 8 : 0, 0);
            put(node, file->next + 1, 4);
        }
        store_page(file->fd, file->next++, page);
    }
    page_begin(page, file->next, PAGE_LEAF);
    uint8_t *node = node_add(page, "k", 1, 1);
    put(node, 1, 4);
    node[9] = '1';
    store_page(file->fd, file->next++, page);
    db.branch_pages = db.leaf_pages = file->next;
    return db;
}

static void ladder_in_older_main(int fd)
{
    struct file file = begin(fd);
    struct meta *older = &file.metas[!file.newer];
    older->main = ladder(&file, DB_MAX_DEPTH);
    older->main.entries = DB_COUNT;
    grow(&file, file.next - 1);
}

/* The same with counts that would allow for it, in a file that says that it is as long. */
static void ladder_with_counts(int fd)
{
    struct file file = begin(fd);
    struct meta *older = &file.metas[!file.newer];
    older->main = ladder(&file, DB_MAX_DEPTH);
    older->main.entries = DB_COUNT;
    older->main.branch_pages = older->main.leaf_pages = PAGE_MAX_COUNT / 4;
    grow(&file, PAGE_MAX_COUNT - 1);
    assert_int_equal(ftruncate(fd, (off_t)PAGE_MAX_COUNT * PAGE), 0);
}

static void ladder_in(int fd, enum store_db which)
{
    struct file file = begin(fd);
    struct db db = ladder(&file, DB_MAX_DEPTH);
    if (which == DB_SETTINGS)
        db.entries = QS_SETTINGS_MAX_ENTRIES;
    set_db(&file, which, &db);
    set_counts(&file, which == DB_SETTINGS ? db.entries : 0, which == DB_HISTORY ? db.entries : 0);
    grow(&file, file.next - 1);
}

static void ladder_in_settings(int fd)
{
    ladder_in(fd, DB_SETTINGS);
}

static void ladder_in_history(int fd)
{
    ladder_in(fd, DB_HISTORY);
}

static void ladder_in_free_tree(int fd)
{
    struct file file = begin(fd);
    struct db db = ladder(&file, DB_MAX_DEPTH);
    db.flags = DB_FLAGS_FREE;
    file.metas[file.newer].free = db;
    grow(&file, file.next - 1);
}

/* ---- values ---- */

/* A leaf of one value after the other, each with a run of pages of its own of which only the first is there. */
static void values(int fd, unsigned count, uint32_t bytes, bool one_run)
{
    struct file file = begin(fd);
    uint64_t need = ((uint64_t)bytes + PAGE_HEADER_BYTES + PAGE - 1) / PAGE;
    uint64_t leaf = file.next++, run = file.next;
    uint8_t page[PAGE], head[PAGE];
    page_begin(page, leaf, PAGE_LEAF);
    for (unsigned i = 0; i < count; i++) {
        uint8_t key[2] = {(uint8_t)(1 + i / 200), (uint8_t)(1 + i % 200)};
        uint8_t *node = node_add(page, key, sizeof key, 8);
        put(node, bytes, 4);
        put(node + 4, NODE_BIGDATA, 2);
        put(node + NODE_HEADER_BYTES + sizeof key, run, 8);
        page_begin(head, run, PAGE_OVERFLOW);
        put(head + 12, need, 4);
        store_page(fd, run, head);
        if (!one_run)
            run += need;
    }
    store_page(fd, leaf, page);
    uint64_t end = one_run ? run + need : run;
    struct db db = {.depth = 1, .leaf_pages = 1, .overflow_pages = count * need, .entries = count, .root = leaf};
    set_db(&file, DB_SETTINGS, &db);
    set_counts(&file, count, 0);
    grow(&file, end < PAGE_MAX_COUNT ? end - 1 : PAGE_MAX_COUNT - 1);
    assert_int_equal(ftruncate(fd, (off_t)end * PAGE), 0);
}

static void one_giant_value(int fd)
{
    values(fd, 1, UINT32_MAX - PAGE, false);
}

static void largest_values_in_holes(int fd)
{
    values(fd, 180, QS_VALUE_MAX_BYTES, false);
}

static void small_values_in_holes(int fd)
{
    values(fd, 180, 15 * PAGE, false);
}

static void one_run_for_all_values(int fd)
{
    values(fd, 180, QS_VALUE_MAX_BYTES, true);
}

/* ---- counts ---- */

static void more_settings_than_there_may_be(int fd)
{
    struct file file = begin(fd);
    uint64_t count = UINT64_C(1) << 32;
    struct db db = {.depth = 1, .leaf_pages = 1, .entries = count, .root = file.metas[file.newer].main.root};
    set_db(&file, DB_SETTINGS, &db);
    set_counts(&file, count, 0);
    grow(&file, PAGE_MAX_COUNT - 1);
    assert_int_equal(ftruncate(fd, (off_t)PAGE_MAX_COUNT * PAGE), 0);
}

static void a_file_of_holes(int fd)
{
    struct file file = begin(fd);
    grow(&file, PAGE_MAX_COUNT - 1);
    assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
}

/* A free list that says that all pages are free, and lies in a hole. */
static void free_list_in_a_hole(int fd)
{
    struct file file = begin(fd);
    uint64_t leaf = file.next++, run = file.next;
    uint32_t bytes = (PAGE_MAX_COUNT / 2) * 8;
    uint64_t need = ((uint64_t)bytes + PAGE_HEADER_BYTES + PAGE - 1) / PAGE;
    uint8_t page[PAGE], key[8] = {1};
    page_begin(page, leaf, PAGE_LEAF);
    uint8_t *node = node_add(page, key, sizeof key, 8);
    put(node, bytes, 4);
    put(node + 4, NODE_BIGDATA, 2);
    put(node + NODE_HEADER_BYTES + sizeof key, run, 8);
    store_page(fd, leaf, page);
    page_begin(page, run, PAGE_OVERFLOW);
    put(page + 12, need, 4);
    store_page(fd, run, page);
    file.metas[file.newer].free = (struct db){
        .flags = DB_FLAGS_FREE, .depth = 1, .leaf_pages = 1, .overflow_pages = need, .entries = 1, .root = leaf};
    grow(&file, PAGE_MAX_COUNT - 1);
    assert_int_equal(ftruncate(fd, (off_t)PAGE_MAX_COUNT * PAGE), 0);
}

static void more_records_than_there_are(int fd)
{
    struct file file = begin(fd);
    set_counts(&file, 0, UINT64_C(1) << 60);
}

const struct craft crafts[] = {
    {"31 branch pages of 200 children each in the older meta's main tree", ladder_in_older_main, 0},
    {"the same, with counts for it, in a file of 64 GiB of holes", ladder_with_counts, 0},
    {"the same in the settings", ladder_in_settings, 0},
    {"the same in the history", ladder_in_history, CRAFT_GET},
    {"the same in the free tree", ladder_in_free_tree, CRAFT_GET | CRAFT_LOG | CRAFT_WATCH},
    {"one value of 4 GiB in a hole", one_giant_value, 0},
    {"180 values of 4 MiB in holes", largest_values_in_holes, 0},
    {"180 values of 60 KiB in holes", small_values_in_holes, 0},
    {"180 values of 4 MiB in the same pages", one_run_for_all_values, 0},
    {"four thousand million settings in one page", more_settings_than_there_may_be, 0},
    {"a healthy store in a file of 1 TiB of holes", a_file_of_holes,
     CRAFT_GET | CRAFT_SET | CRAFT_FSCK | CRAFT_LOG | CRAFT_WATCH},
    {"a free list of 64 MiB in a hole", free_list_in_a_hole, CRAFT_GET | CRAFT_LOG | CRAFT_WATCH},
    {"2^60 history records that are not there", more_records_than_there_are, CRAFT_GET | CRAFT_SET | CRAFT_WATCH},
};
const size_t craft_count = sizeof crafts / sizeof crafts[0];
