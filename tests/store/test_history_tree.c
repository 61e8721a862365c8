/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history a page at a time: what is looked at is what is read, every record is found from every other one, and a
 * writer that goes on takes nothing from under an open history.
 */
#include "base/os.h"
#include "store/history_read.h"
#include "tests/support/one_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct os_calls counting;
static uint64_t bytes_read;

static ssize_t counting_pread(int fd, void *buf, size_t len, off_t at)
{
    ssize_t got = os_real.pread(fd, buf, len, at);
    bytes_read += got > 0 ? (uint64_t)got : 0;
    return got;
}

static void count_from_here(void)
{
    counting = os_real;
    counting.pread = counting_pread;
    qs_os = &counting;
    bytes_read = 0;
}

static uint64_t counted(void)
{
    qs_os = &os_real;
    return bytes_read;
}

static struct qs_history *open_history(void)
{
    struct qs_history *history = NULL;
    ok(qs_history_open(f.store, &history, &err));
    return history;
}

static void set_number(unsigned number)
{
    char json[16];
    (void)snprintf(json, sizeof json, "%u", number);
    fixture_set(&f, "counter", json);
}

/* Generations until there are so many. */
static void grow_to(unsigned generations)
{
    struct qs_snapshot *now = fixture_read(&f);
    unsigned have = (unsigned)qs_snapshot_generation(now);
    qs_snapshot_unref(now);
    for (; have < generations; have++)
        set_number(have);
}

static uint64_t generation_at(struct qs_history *history, size_t index)
{
    const struct qs_record *record = NULL;
    ok(qs_history_record(history, index, &record, &err));
    return record->generation;
}

static char *large_value(char fill)
{
    static char value[100000];
    memset(value, fill, sizeof value - 1);
    value[0] = value[sizeof value - 2] = '"';
    return value;
}

static void a_record_costs_the_pages_on_the_way_to_it(void **state)
{
    (void)state;
    const struct qs_record *record = NULL;
    grow_to(3000);
    count_from_here();
    struct qs_history *history = open_history();
    uint64_t opened = counted();
    count_from_here();
    ok(qs_history_find(history, 1500, &record, &err));
    uint64_t found = counted();
    printf("# 3,000 generations: %llu bytes to open the history, %llu more for one of them\n",
           (unsigned long long)opened, (unsigned long long)found);
    assert_int_equal(record->generation, 1500);
    assert_true(opened <= 32 * 4096);
    assert_true(found <= 4 * 4096);
    qs_history_close(history);
}

/* 60 records of 200 KB: an older generation is found without reading the values in between. */
static void an_older_generation_costs_no_values_that_it_does_not_have(void **state)
{
    (void)state;
    struct qs_snapshot *then = NULL;
    struct qs_bytes value;
    fixture_set(&f, "small", "1");
    for (int i = 0; i < 60; i++)
        fixture_set(&f, "large", large_value((char)('a' + i % 26)));
    struct qs_history *history = open_history();
    count_from_here();
    ok(qs_history_at(history, 3, &then, &err));
    uint64_t bytes = counted();
    ok(qs_snapshot_get(then, "large", &value, &err));
    assert_int_equal(((const char *)value.data)[1], 'a');
    assert_int_equal(value.len, strlen(large_value('a')));
    qs_snapshot_unref(then);
    printf("# 60 records of 200 KB: %llu bytes for the third generation\n", (unsigned long long)bytes);
    assert_true(bytes < 2 * 1024 * 1024);
    ok(qs_history_at(history, 2, &then, &err));
    assert_int_equal(qs_snapshot_get(then, "large", &value, &err), QS_NOT_FOUND);
    qs_snapshot_unref(then);
    qs_history_close(history);
}

static bool is_small(const void *context, const struct change_head *head)
{
    (void)context;
    return head->key.len == 5 && memcmp(head->key.data, "small", 5) == 0 && head->new_there;
}

static void a_change_is_found_behind_large_ones(void **state)
{
    (void)state;
    uint64_t generation = 0;
    fixture_set(&f, "small", "1");
    fixture_set(&f, "small", "2"); /* generation 3 */
    for (int i = 0; i < 20; i++)
        fixture_set(&f, "large", large_value((char)('a' + i)));
    struct qs_history *history = open_history();
    count_from_here();
    ok(history_search(history, 23, is_small, NULL, &generation, &err));
    assert_true(counted() < 40 * 4 * 4096);
    assert_int_equal(generation, 3);
    ok(history_search(history, 2, is_small, NULL, &generation, &err));
    assert_int_equal(generation, 2);
    ok(history_search(history, 1, is_small, NULL, &generation, &err));
    assert_int_equal(generation, 0);
    qs_history_close(history);
}

/* ---- indices ---- */

/* A gap: a restored store goes on above all numbers that are known. */
static void make_gaps(void)
{
    struct qs_commit_info info = {.size = sizeof info};
    grow_to(40);
    ok(qs_store_backup(f.store, f.backup, true, &err));
    grow_to(60);
    struct qs_snapshot *now = fixture_read(&f);
    uint64_t main_page = now->meta.main.root;
    qs_snapshot_unref(now);
    int fd = open(f.data, O_WRONLY | O_CLOEXEC); /* damaged: the history goes on from the backup's */
    assert_int_equal(pwrite(fd, "damage", 6, (off_t)(main_page * 4096)), 6);
    (void)close(fd);
    ok(qs_store_restore(f.store, f.backup, 0, &info, &err));
    grow_to((unsigned)info.generation + 25);
}

static void every_record_is_found_from_every_other_one(void **state)
{
    (void)state;
    make_gaps();
    struct qs_history *history = open_history();
    size_t count = qs_history_count(history);
    uint64_t *generations = calloc(count, sizeof *generations);
    assert_non_null(generations);
    bool gap = false;
    for (size_t i = 0; i < count; i++) {
        generations[i] = generation_at(history, i);
        assert_true(i == 0 || generations[i] > generations[i - 1]);
        gap = gap || (i > 0 && generations[i] != generations[i - 1] + 1);
    }
    assert_true(gap);
    assert_int_equal(generations[count - 1], qs_snapshot_generation(qs_history_snapshot(history)));
    qs_history_close(history);
    for (size_t from = 0; from < count; from++) {
        history = open_history();
        assert_int_equal(generation_at(history, from), generations[from]);
        for (size_t step = 0; step < count; step += 7)
            assert_int_equal(generation_at(history, (from * 31 + step) % count),
                             generations[(from * 31 + step) % count]);
        qs_history_close(history);
    }
    free(generations);
}

static void what_is_not_there_is_told_with_what_is(void **state)
{
    (void)state;
    const struct qs_record *record = NULL;
    grow_to(5);
    struct qs_history *history = open_history();
    assert_int_equal(qs_history_find(history, 6, &record, &err), QS_NOT_FOUND);
    assert_string_equal(err.message, "there is no generation 6; the history goes from 1 to 5");
    assert_int_equal(qs_history_find(history, 0, &record, &err), QS_NOT_FOUND);
    assert_int_equal(qs_history_record(history, 5, &record, &err), QS_NOT_FOUND);
    qs_history_close(history);
}

/* ---- writers that go on ---- */

static void an_open_history_stays_while_writers_go_on(void **state)
{
    (void)state;
    const struct qs_record *record = NULL;
    grow_to(300);
    struct qs_history *history = open_history();
    grow_to(900);
    for (uint64_t generation = 300; generation > 0; generation--)
        ok(qs_history_find(history, generation, &record, &err));
    ok(qs_store_compact(f.store, 0, &err)); /* another file has the name now */
    ok(qs_history_check(history, &err));
    assert_int_equal(qs_history_count(history), 300);
    qs_history_close(history);
}

/* A commit whose meta write failed was seen, and then taken back: what it wrote may be written over. */
static void a_generation_that_was_taken_back_is_told(void **state)
{
    (void)state;
    const struct qs_record *record = NULL;
    size_t len = 0, now_len = 0;
    grow_to(200);
    uint8_t *before = fixture_bytes(&f, &len);
    fixture_set(&f, "large", large_value('x'));
    struct qs_history *history = open_history();
    uint8_t *now = fixture_bytes(&f, &now_len);
    memset(now + 2 * 4096, 0, now_len - 2 * 4096);
    fixture_write_bytes(&f, now, now_len);
    fixture_write_bytes(&f, before, 2 * 4096); /* the metas alone, and nothing else that could be read */
    assert_int_equal(qs_history_find(history, 10, &record, &err), QS_BUSY);
    assert_non_null(strstr(err.message, "taken back"));
    qs_history_close(history);
    free(before);
    free(now);
}

/* ---- pages that are not as they should be ---- */

/* Exchanges two leaves of the history, each with the number of the other. */
static void exchange_leaves(uint8_t *bytes, size_t len)
{
    size_t found[2], count = 0;
    for (size_t page = 2; page < len / 4096 && count < 2; page++) {
        uint64_t generation = 0;
        uint32_t chunk = 0;
        struct node node;
        const uint8_t *at = bytes + page * 4096;
        if (load_u16(at + 10) != PAGE_LEAF || load_u16(at + 12) <= PAGE_HEADER_BYTES || load_u64(at) != page)
            continue;
        page_node(at, 0, true, &node);
        if (history_key_decode((struct qs_bytes){node.key, node.key_len}, &generation, &chunk) && generation > 20 &&
            generation < 150 && (count == 0 || found[0] + 3 < page))
            found[count++] = page;
    }
    assert_int_equal(count, 2);
    uint8_t *a = bytes + found[0] * 4096, *b = bytes + found[1] * 4096;
    for (size_t i = 8; i < 4096; i++) {
        uint8_t byte = a[i];
        a[i] = b[i];
        b[i] = byte;
    }
}

static void a_page_of_another_place_is_damage(void **state)
{
    (void)state;
    const struct qs_record *record = NULL;
    size_t len = 0;
    grow_to(200);
    ok(qs_store_compact(f.store, 0, &err)); /* one leaf of each record, and no free pages with older ones */
    uint8_t *bytes = fixture_bytes(&f, &len);
    exchange_leaves(bytes, len);
    fixture_write_bytes(&f, bytes, len);
    free(bytes);
    struct qs_history *history = open_history(); /* which looks at the newest record alone */
    unsigned damaged = 0;
    for (uint64_t generation = 1; generation <= 200; generation++) {
        enum qs_status status = qs_history_find(history, generation, &record, &err);
        assert_true(status == QS_OK || status == QS_DAMAGED);
        damaged += status == QS_DAMAGED;
    }
    assert_true(damaged > 0 && damaged < 100);
    assert_int_equal(qs_history_check(history, &err), QS_DAMAGED);
    assert_non_null(strstr(err.message, "out of order"));
    qs_history_close(history);
}

/* The main tree's record of the history says a leaf more than there is. */
static void a_count_that_does_not_hold_is_damage_to_fsck(void **state)
{
    (void)state;
    size_t len = 0;
    struct qs_history *history = NULL;
    grow_to(50);
    uint8_t *bytes = fixture_bytes(&f, &len);
    struct qs_snapshot *now = fixture_read(&f);
    uint8_t *page = bytes + now->meta.main.root * 4096;
    for (unsigned i = 0; i < page_node_count(page); i++) {
        struct node node;
        page_node(page, i, true, &node);
        if (node.key_len == 7 && memcmp(node.key, "history", 7) == 0)
            page[node.data - page + 16]++; /* leaf pages */
    }
    qs_snapshot_unref(now);
    fixture_write_bytes(&f, bytes, len);
    free(bytes);
    ok(qs_history_open(f.store, &history, &err));
    assert_int_equal(qs_history_check(history, &err), QS_DAMAGED);
    assert_non_null(strstr(err.message, "counts"));
    qs_history_close(history);
}

#define TREE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TREE(a_record_costs_the_pages_on_the_way_to_it),
        TREE(an_older_generation_costs_no_values_that_it_does_not_have),
        TREE(a_change_is_found_behind_large_ones),
        TREE(every_record_is_found_from_every_other_one),
        TREE(what_is_not_there_is_told_with_what_is),
        TREE(an_open_history_stays_while_writers_go_on),
        TREE(a_generation_that_was_taken_back_is_told),
        TREE(a_page_of_another_place_is_damage),
        TREE(a_count_that_does_not_hold_is_damage_to_fsck),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
