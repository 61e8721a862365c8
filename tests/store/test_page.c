/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each bound of a page and of a tree, by itself: a sound page is changed in one place and must be refused for that
 * place. What the digests would find anyway is found here before it does harm.
 */
#include "base/buf.h"
#include "base/os.h"
#include "qsettings/limits.h"
#include "store/page_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define SIZE  4096u
#define PAGES 8u

static struct qs_error err;

static void put16(uint8_t *at, unsigned v)
{
    at[0] = (uint8_t)v;
    at[1] = (uint8_t)(v >> 8);
}

static void put32(uint8_t *at, uint32_t v)
{
    put16(at, v & 0xffff);
    put16(at + 2, v >> 16);
}

static void put64(uint8_t *at, uint64_t v)
{
    put32(at, (uint32_t)v);
    put32(at + 4, (uint32_t)(v >> 32));
}

static void expect_damage(enum qs_status status, const char *words)
{
    if (status != QS_DAMAGED || !strstr(err.message, words))
        fail_msg("wanted damage, \"%s\"; got %s: %s", words, qs_status_name(status), err.message);
}

/* ---- pages ---- */

static void page_begin(uint8_t *page, uint64_t number, unsigned flags)
{
    memset(page, 0, SIZE);
    put64(page, number);
    put16(page + 10, flags);
    put16(page + 12, PAGE_HEADER_BYTES);
    put16(page + 14, SIZE);
}

/* Adds a node of whole words: key and data have even lengths. */
static uint8_t *node_add(uint8_t *page, uint32_t low, unsigned flags, const char *key, const void *data, size_t len)
{
    size_t key_len = strlen(key);
    unsigned lower = load_u16(page + 12), upper = load_u16(page + 14) - (unsigned)(NODE_HEADER_BYTES + key_len + len);
    uint8_t *node = page + upper;
    put32(node, low);
    put16(node + 4, flags);
    put16(node + 6, (unsigned)key_len);
    memcpy(node + 8, key, key_len);
    if (len)
        memcpy(node + 8 + key_len, data, len);
    put16(page + lower, upper);
    put16(page + 12, lower + 2);
    put16(page + 14, upper);
    return node;
}

static void leaf_add(uint8_t *page, const char *key, const char *value)
{
    (void)node_add(page, (uint32_t)strlen(value), 0, key, value, strlen(value));
}

static void branch_add(uint8_t *page, const char *key, uint64_t child)
{
    (void)node_add(page, (uint32_t)child, (unsigned)(child >> 32), key, NULL, 0);
}

/* A leaf page of three entries, number 5. */
static void sound_leaf(uint8_t *page)
{
    page_begin(page, 5, PAGE_LEAF);
    leaf_add(page, "aa", "11");
    leaf_add(page, "bb", "2222");
    leaf_add(page, "cc", "33");
}

static enum qs_status check(const uint8_t *page, bool strict)
{
    return page_check(page, SIZE, 5, PAGE_LEAF, strict, &err);
}

static void a_sound_page_passes(void **state)
{
    (void)state;
    uint8_t page[SIZE];
    sound_leaf(page);
    assert_int_equal(check(page, false), QS_OK);
    assert_int_equal(check(page, true), QS_OK);
    assert_int_equal(page_node_count(page), 3);
}

static void a_page_of_another_number_or_kind_is_refused(void **state)
{
    (void)state;
    uint8_t page[SIZE];
    static const uint64_t numbers[] = {0, 4, 6, 5 | UINT64_C(1) << 40};
    static const unsigned kinds[] = {0, PAGE_BRANCH, PAGE_LEAF | PAGE_BRANCH, PAGE_LEAF | 0x10, PAGE_OVERFLOW};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        sound_leaf(page);
        put64(page, numbers[i]);
        expect_damage(check(page, false), "number");
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        sound_leaf(page);
        put16(page + 10, kinds[i]);
        expect_damage(check(page, false), "flags");
    }
}

static void bounds_outside_of_the_page_are_refused(void **state)
{
    (void)state;
    uint8_t page[SIZE];
    static const struct {
        unsigned lower, upper;
    } bounds[] = {{14, SIZE - 8}, {23, SIZE - 8}, {SIZE, SIZE - 8}, {22, SIZE + 2}, {22, 0xfffe}, {22, 20}};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        sound_leaf(page);
        put16(page + 12, bounds[i].lower);
        put16(page + 14, bounds[i].upper);
        expect_damage(check(page, false), "bounds");
    }
    page_begin(page, 5, PAGE_LEAF);
    expect_damage(check(page, false), "without nodes");
}

/* Offsets that lead above the nodes' part, to the last bytes, or beyond the end; lengths that pass the end. */
static void a_node_outside_of_its_page_is_refused(void **state)
{
    (void)state;
    uint8_t page[SIZE];
    static const unsigned offsets[] = {0, PAGE_HEADER_BYTES, SIZE / 2, SIZE - 4, SIZE, 0xfffe};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        sound_leaf(page);
        put16(page + PAGE_HEADER_BYTES + 2, offsets[i]);
        expect_damage(check(page, false), "outside");
    }
    for (int wrong = 0; wrong < 3; wrong++) {
        sound_leaf(page);
        uint8_t *first = page + load_u16(page + PAGE_HEADER_BYTES); /* at the page's end */
        if (wrong == 0)
            put16(first + 6, 5);
        else
            put32(first, wrong == 1 ? 3 : UINT32_MAX);
        expect_damage(check(page, false), "outside");
    }
    sound_leaf(page);
    uint8_t *first = page + load_u16(page + PAGE_HEADER_BYTES);
    put16(first + 4, NODE_BIGDATA); /* the number of a page takes eight bytes, and there are two */
    expect_damage(check(page, false), "outside");
}

static void flags_that_no_node_has_are_refused(void **state)
{
    (void)state;
    uint8_t page[SIZE];
    static const unsigned flags[] = {NODE_BIGDATA | NODE_SUBDATA, 4, 0x8000};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        sound_leaf(page);
        put16(page + load_u16(page + PAGE_HEADER_BYTES + 2) + 4, flags[i]);
        expect_damage(check(page, false), "flags");
    }
}

static void a_writer_refuses_nodes_that_do_not_tile_their_page(void **state)
{
    (void)state;
    uint8_t page[SIZE];
    sound_leaf(page);
    put16(page + PAGE_HEADER_BYTES + 4, load_u16(page + PAGE_HEADER_BYTES)); /* two nodes in one place */
    expect_damage(check(page, true), "overlaps");
    sound_leaf(page);
    put16(page + 12, load_u16(page + 12) - 2); /* the last node belongs to nobody */
    assert_int_equal(check(page, false), QS_OK);
    expect_damage(check(page, true), "fill");
    sound_leaf(page);
    put16(page + 14, load_u16(page + 14) - 2); /* a hole before the first */
    expect_damage(check(page, true), "fill");
}

static void overflow_pages_are_as_many_as_the_value_needs(void **state)
{
    (void)state;
    uint8_t page[SIZE];
    uint32_t pages = 0;
    page_begin(page, 6, PAGE_OVERFLOW);
    put32(page + 12, 2);
    assert_int_equal(overflow_check(page, SIZE, 6, 2 * SIZE - PAGE_HEADER_BYTES, &pages, &err), QS_OK);
    assert_int_equal(pages, 2);
    expect_damage(overflow_check(page, SIZE, 6, 2 * SIZE - PAGE_HEADER_BYTES + 1, &pages, &err), "2 pages");
    expect_damage(overflow_check(page, SIZE, 7, 100, &pages, &err), "not the overflow page");
    put16(page + 10, PAGE_LEAF);
    expect_damage(overflow_check(page, SIZE, 6, 100, &pages, &err), "not the overflow page");
    page_begin(page, 6, PAGE_OVERFLOW);
    put32(page + 12, PAGE_MAX_COUNT);
    expect_damage(overflow_check(page, SIZE, 6, 100, &pages, &err), "pages");
}

/* ---- metas ---- */

static void sound_meta(uint8_t *page)
{
    memset(page, 0, META_OFFSET + META_BYTES);
    uint8_t *m = page + META_OFFSET;
    put16(page + 10, PAGE_META);
    put32(m, META_MAGIC);
    put32(m + 4, META_VERSION);
    put32(m + 24, SIZE);
    put16(m + 24 + 4, DB_FLAGS_FREE);
    put64(m + 120, 9);
    put64(m + 128, 4);
}

static void each_field_of_a_meta_is_checked(void **state)
{
    (void)state;
    uint8_t page[META_OFFSET + META_BYTES];
    struct meta meta;
    uint8_t *m = page + META_OFFSET;
    sound_meta(page);
    assert_int_equal(meta_decode(page, 0, &meta, &err), QS_OK);
    assert_int_equal(meta.last_page, 9);
    assert_int_equal(meta.txn_id, 4);
    expect_damage(meta_decode(page, 1, &meta, &err), "not a meta page");
    put16(page + 10, PAGE_LEAF);
    expect_damage(meta_decode(page, 0, &meta, &err), "not a meta page");
    sound_meta(page);
    put32(m, META_MAGIC + 1);
    expect_damage(meta_decode(page, 0, &meta, &err), "magic");
    sound_meta(page);
    put32(m + 4, META_VERSION + 1);
    expect_damage(meta_decode(page, 0, &meta, &err), "format");
    static const uint32_t sizes[] = {0, 256, SIZE + 1, 3 * 1024, 2 * PAGE_MAX_BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        sound_meta(page);
        put32(m + 24, sizes[i]);
        expect_damage(meta_decode(page, 0, &meta, &err), "page size");
    }
    static const uint64_t lasts[] = {0, PAGE_MAX_COUNT, UINT64_MAX};
    for (size_t i = 0; i < sizeof lasts / sizeof *lasts; i++) {
        sound_meta(page);
        put64(m + 120, lasts[i]);
        expect_damage(meta_decode(page, 0, &meta, &err), "last page");
    }
    sound_meta(page);
    put16(m + 24 + 4, 0);
    expect_damage(meta_decode(page, 0, &meta, &err), "database flags");
    sound_meta(page);
    put16(m + 24 + DB_BYTES + 4, 8);
    expect_damage(meta_decode(page, 0, &meta, &err), "database flags");
}

/* ---- trees ---- */

/* Page 2: a branch over the leaves 3 ("aa", "bb") and 4 ("mm", and "nn" with its value in the overflow page 5). */
struct file {
    uint8_t pages[PAGES][SIZE];
    struct db db;
};

static struct file t;

static void sound_tree(void)
{
    uint8_t number[8];
    memset(&t, 0, sizeof t);
    page_begin(t.pages[2], 2, PAGE_BRANCH);
    branch_add(t.pages[2], "", 3);
    branch_add(t.pages[2], "mm", 4);
    page_begin(t.pages[3], 3, PAGE_LEAF);
    leaf_add(t.pages[3], "aa", "11");
    leaf_add(t.pages[3], "bb", "22");
    page_begin(t.pages[4], 4, PAGE_LEAF);
    leaf_add(t.pages[4], "mm", "33");
    put64(number, 5);
    (void)node_add(t.pages[4], 100, NODE_BIGDATA, "nn", number, sizeof number);
    page_begin(t.pages[5], 5, PAGE_OVERFLOW);
    put32(t.pages[5] + 12, 1);
    t.db = (struct db){.depth = 2, .branch_pages = 1, .leaf_pages = 2, .overflow_pages = 1, .entries = 4, .root = 2};
}

static enum qs_status count_entry(void *context, const struct node *node, struct qs_error *e)
{
    (void)e;
    assert_non_null(node->data);
    *(unsigned *)context += 1;
    return QS_OK;
}

static enum qs_status walk(unsigned flags, unsigned *ret_entries)
{
    struct page_cache pages;
    int fd = memfd_create("pages", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, t.pages, sizeof t.pages), (ssize_t)sizeof t.pages);
    *ret_entries = 0;
    enum qs_status status = page_cache_init(&pages, fd, SIZE, PAGES - 1, &err);
    if (!status)
        status = tree_walk(&pages, &t.db, flags, count_entry, ret_entries, &err);
    page_cache_release(&pages);
    (void)close(fd);
    return status;
}

static void expect_tree_damage(unsigned flags, const char *words)
{
    unsigned entries;
    expect_damage(walk(flags, &entries), words);
}

static void a_sound_tree_is_walked_whole(void **state)
{
    (void)state;
    unsigned entries;
    sound_tree();
    assert_int_equal(walk(TREE_CLAIM | TREE_STRICT, &entries), QS_OK);
    assert_int_equal(entries, 4);
    t.db = (struct db){.root = PAGE_NONE};
    assert_int_equal(walk(TREE_CLAIM | TREE_STRICT, &entries), QS_OK);
    assert_int_equal(entries, 0);
}

static void pages_outside_of_the_store_are_refused(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {0, 1, PAGES, UINT32_MAX};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        for (unsigned flags = 0; flags <= TREE_CLAIM; flags += TREE_CLAIM) {
            sound_tree();
            put32(t.pages[2] + load_u16(t.pages[2] + PAGE_HEADER_BYTES + 2), (uint32_t)numbers[i]);
            expect_tree_damage(flags, "outside the store");
            sound_tree();
            t.db.root = numbers[i];
            expect_tree_damage(flags, "outside the store");
        }
    }
    sound_tree();
    put64(t.pages[4] + load_u16(t.pages[4] + PAGE_HEADER_BYTES + 2) + 10, PAGES);
    expect_tree_damage(0, "outside the store");
}

static void a_page_with_two_places_is_refused(void **state)
{
    (void)state;
    sound_tree();
    put32(t.pages[2] + load_u16(t.pages[2] + PAGE_HEADER_BYTES + 2), 3); /* both children are page 3 */
    expect_tree_damage(TREE_CLAIM, "two places");
}

static void keys_out_of_order_or_of_another_subtree_are_refused(void **state)
{
    (void)state;
    uint8_t *first = NULL, *second = NULL;
    unsigned entries;
    static const struct {
        unsigned page, node;
        const char *key;
    } wrong[] = {{3, 0, "cc"}, {3, 1, "aa"}, {3, 1, "mm"}, {3, 1, "zz"}, {4, 0, "ll"}, {4, 1, "ma"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sound_tree();
        uint8_t *page = t.pages[wrong[i].page];
        memcpy(page + load_u16(page + PAGE_HEADER_BYTES + 2 * (size_t)wrong[i].node) + 8, wrong[i].key, 2);
        expect_tree_damage(TREE_STRICT, "out of order");
    }
    /* A reader leaves the order to the digest and to the look-up. */
    sound_tree();
    first = t.pages[3] + load_u16(t.pages[3] + PAGE_HEADER_BYTES);
    second = t.pages[3] + load_u16(t.pages[3] + PAGE_HEADER_BYTES + 2);
    memcpy(first + 8, "bb", 2);
    memcpy(second + 8, "aa", 2);
    assert_int_equal(walk(0, &entries), QS_OK);
}

static void counts_other_than_recorded_are_refused(void **state)
{
    (void)state;
    for (int field = 0; field < 4; field++) {
        for (int by = -1; by <= 1; by += 2) {
            sound_tree();
            uint64_t *counts[] = {&t.db.branch_pages, &t.db.leaf_pages, &t.db.overflow_pages, &t.db.entries};
            *counts[field] += (uint64_t)by;
            expect_tree_damage(0, "counts");
        }
    }
}

static void a_shape_that_cannot_be_is_refused(void **state)
{
    (void)state;
    static const unsigned depths[] = {0, DB_MAX_DEPTH + 1};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        sound_tree();
        t.db.depth = (uint16_t)depths[i];
        expect_tree_damage(0, "impossible");
    }
    t.db = (struct db){.root = PAGE_NONE, .entries = 1};
    expect_tree_damage(0, "impossible");
    sound_tree();
    t.db.depth = 3; /* a leaf where a branch belongs */
    t.db.branch_pages = 3;
    expect_tree_damage(0, "flags");
    sound_tree();
    page_begin(t.pages[2], 2, PAGE_BRANCH);
    branch_add(t.pages[2], "", 3);
    expect_tree_damage(0, "one child");
}

/* ---- what a file makes us do ---- */

static uint64_t later_ms(void)
{
    return 1000;
}

static enum qs_status load_many(uint64_t deadline_ms, uint64_t count, uint64_t *ret_loaded)
{
    struct page_cache pages;
    const uint8_t *page;
    int fd = memfd_create("pages", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)(count + 2) * SIZE), 0);
    enum qs_status status = page_cache_init(&pages, fd, SIZE, count + 1, &err);
    pages.deadline_ms = deadline_ms;
    for (uint64_t i = 0; i < count && !status; i++)
        status = page_cache_load(&pages, i + 2, 1, &page, &err);
    *ret_loaded = pages.loaded;
    page_cache_release(&pages);
    (void)close(fd);
    return status;
}

static void a_deadline_ends_a_walk_of_very_many_pages_only(void **state)
{
    (void)state;
    struct os_calls late = os_real;
    uint64_t loaded = 0;
    late.monotonic_ms = later_ms;
    qs_os = &late;
    assert_int_equal(load_many(1000, PAGE_CACHE_UNHURRIED - 1, &loaded), QS_OK);
    assert_int_equal(load_many(1000, 2 * PAGE_CACHE_UNHURRIED, &loaded), QS_BUSY);
    assert_true(loaded <= PAGE_CACHE_UNHURRIED + 1024);
    assert_non_null(strstr(err.message, "more are left"));
    assert_int_equal(load_many(1001, PAGE_CACHE_UNHURRIED + 1024, &loaded), QS_OK);
    assert_int_equal(load_many(0, PAGE_CACHE_UNHURRIED + 1024, &loaded), QS_OK);
    qs_os = &os_real;
}

/* Of a value's pages none may be a hole; a single page that is one is seen by its number. */
static void the_pages_of_a_value_have_no_hole(void **state)
{
    (void)state;
    struct page_cache pages;
    const uint8_t *page;
    uint8_t full[SIZE];
    enum { STEP = 16 }; /* holes are as large as a page of memory */
    int fd = memfd_create("pages", MFD_CLOEXEC);
    assert_true(fd >= 0);
    memset(full, 'v', sizeof full);
    for (unsigned i = 0; i < 20 * STEP; i++)
        if (i / STEP != 12)
            assert_int_equal(pwrite(fd, full, SIZE, (off_t)i * SIZE), SIZE);
    assert_int_equal(page_cache_init(&pages, fd, SIZE, 20 * STEP - 1, &err), QS_OK);
    assert_int_equal(page_cache_load(&pages, 4 * STEP, 8 * STEP, &page, &err), QS_OK);
    expect_damage(page_cache_load(&pages, 4 * STEP, 8 * STEP + 1, &page, &err), "hole");
    expect_damage(page_cache_load(&pages, 12 * STEP, 2, &page, &err), "hole");
    assert_int_equal(page_cache_load(&pages, 12 * STEP, 1, &page, &err), QS_OK);
    assert_int_equal(page_cache_load(&pages, 13 * STEP, 7 * STEP, &page, &err), QS_OK);
    page_cache_release(&pages);
    (void)close(fd);
}

static void a_value_larger_than_there_may_be_is_refused_unread(void **state)
{
    (void)state;
    sound_tree();
    put32(t.pages[4] + load_u16(t.pages[4] + PAGE_HEADER_BYTES + 2), QS_VALUE_MAX_BYTES + 1);
    expect_tree_damage(0, "more than there may be");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_page_passes),
        cmocka_unit_test(a_page_of_another_number_or_kind_is_refused),
        cmocka_unit_test(bounds_outside_of_the_page_are_refused),
        cmocka_unit_test(a_node_outside_of_its_page_is_refused),
        cmocka_unit_test(flags_that_no_node_has_are_refused),
        cmocka_unit_test(a_writer_refuses_nodes_that_do_not_tile_their_page),
        cmocka_unit_test(overflow_pages_are_as_many_as_the_value_needs),
        cmocka_unit_test(each_field_of_a_meta_is_checked),
        cmocka_unit_test(a_sound_tree_is_walked_whole),
        cmocka_unit_test(pages_outside_of_the_store_are_refused),
        cmocka_unit_test(a_page_with_two_places_is_refused),
        cmocka_unit_test(keys_out_of_order_or_of_another_subtree_are_refused),
        cmocka_unit_test(counts_other_than_recorded_are_refused),
        cmocka_unit_test(a_shape_that_cannot_be_is_refused),
        cmocka_unit_test(a_deadline_ends_a_walk_of_very_many_pages_only),
        cmocka_unit_test(the_pages_of_a_value_have_no_hole),
        cmocka_unit_test(a_value_larger_than_there_may_be_is_refused_unread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
