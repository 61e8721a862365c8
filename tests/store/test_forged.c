/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores that were changed with care: one part is altered, and every hash that somebody could make right again is made
 * right. What is left to notice it is the one check that the test names. (test_damage.c changes without care.)
 */
#include "base/os.h"
#include "store/history_read.h"
#include "tests/support/one_store.h"

#include <stdio.h>
#include <string.h>

static struct {
    uint8_t *bytes;
    size_t len;
    struct meta newer, older;
} s;

static void load(void)
{
    free(s.bytes);
    s.bytes = fixture_bytes(&f, &s.len);
    struct meta pair[2];
    ok(meta_decode(s.bytes, 0, &pair[0], &err));
    ok(meta_decode(s.bytes + pair[0].page_size, 1, &pair[1], &err));
    s.newer = pair[pair[1].txn_id > pair[0].txn_id];
    s.older = pair[pair[1].txn_id < pair[0].txn_id];
}

/* Three generations: two settings, and a message that makes a history record of several chunks. */
static int forge_set_up(void **state)
{
    struct qs_txn *txn = NULL;
    char message[2 * HISTORY_CHUNK_BYTES + 1];
    (void)set_up(state);
    memset(message, 'm', sizeof message - 1);
    message[sizeof message - 1] = '\0';
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    ok(qs_txn_set(txn, "needle", "\"in the hay\"", 12, &err));
    ok(qs_txn_commit(txn, &(struct qs_commit_options){.size = sizeof(struct qs_commit_options), .message = message},
                     NULL, &err));
    qs_txn_free(txn);
    fixture_set(&f, "other", "1");
    load();
    fixture_fake_clock();
    return 0;
}

static int forge_tear_down(void **state)
{
    free(s.bytes);
    s.bytes = NULL;
    return tear_down(state);
}

static void store_back(void)
{
    fixture_write_bytes(&f, s.bytes, s.len);
}

static enum qs_status reading(void)
{
    struct qs_snapshot *snapshot = NULL;
    memset(&err, 0, sizeof err);
    enum qs_status status = qs_snapshot_take(f.store, &snapshot, &err);
    qs_snapshot_unref(snapshot);
    return status;
}

static enum qs_status writing(void)
{
    struct qs_txn *txn = NULL;
    memset(&err, 0, sizeof err);
    enum qs_status status = qs_txn_begin(f.store, 0, &txn, &err);
    qs_txn_free(txn);
    return status;
}

static void refused(enum qs_status status, enum qs_status wanted, const char *words)
{
    if (status != wanted || !strstr(err.message, words))
        fail_msg("wanted %s, \"%s\"; got %s: %s", qs_status_name(wanted), words, qs_status_name(status), err.message);
}

/* Every occurrence, in free pages too. */
static size_t replace(const void *old, const void *by, size_t len)
{
    size_t count = 0;
    for (uint8_t *at = s.bytes; (at = memmem(at, s.len - (size_t)(at - s.bytes), old, len)); at += len, count++)
        memcpy(at, by, len);
    return count;
}

enum rehash { AS_IT_IS, HASHED_AGAIN };

/* Adds to a byte of the meta record of a transaction; free pages may hold copies of it. */
static void forge_record(uint64_t txn_id, size_t at, int by, enum rehash rehash)
{
    size_t count = 0;
    for (uint8_t *record = s.bytes; (record = memmem(record, s.len - (size_t)(record - s.bytes), "QSETMETA", 8));
         record += 8) {
        if (load_u64(record + 48) != txn_id)
            continue;
        record[at] = (uint8_t)(record[at] + by);
        if (rehash == HASHED_AGAIN)
            digest_of(record, 168, record + 168);
        count++;
    }
    assert_true(count > 0);
    store_back();
}

/* ---- the meta record and the metas ---- */

static void a_changed_value_is_told_by_the_content_digest(void **state)
{
    (void)state;
    assert_true(replace("in the hay", "in the hat", 10) > 0);
    store_back();
    refused(reading(), QS_DAMAGED, "does not match its digest");
    refused(writing(), QS_DAMAGED, "does not match its digest");
}

static void a_changed_record_is_told_by_its_hash(void **state)
{
    (void)state;
    forge_record(s.newer.txn_id, 56, 1, AS_IT_IS); /* the commit's time */
    refused(reading(), QS_DAMAGED, "does not match its hash");
}

static void a_record_that_names_another_meta_is_refused(void **state)
{
    (void)state;
    forge_record(s.newer.txn_id, 48, -1, HASHED_AGAIN);
    refused(reading(), QS_DAMAGED, "leads to a record of transaction");
}

static void a_store_of_a_later_format_is_not_read(void **state)
{
    (void)state;
    forge_record(s.newer.txn_id, 8, 1, HASHED_AGAIN);
    refused(reading(), QS_NEWER, "format version 2");
    refused(writing(), QS_NEWER, "format version 2");
}

static void a_store_of_another_scope_is_neither_read_nor_written(void **state)
{
    (void)state;
    forge_record(s.newer.txn_id, 16, QS_SCOPE_USER - QS_SCOPE_SYSTEM, HASHED_AGAIN);
    refused(reading(), QS_DAMAGED, "scope user");
    refused(writing(), QS_DAMAGED, "scope user");
}

static void the_older_meta_must_lead_to_its_record_too(void **state)
{
    (void)state;
    forge_record(s.older.txn_id, 56, 1, AS_IT_IS);
    refused(reading(), QS_DAMAGED, "does not match its hash");
}

/* With a record that says so, the older meta is of S-3 now. */
static void metas_that_are_not_of_successive_transactions_are_refused(void **state)
{
    (void)state;
    uint8_t *meta = s.bytes + (s.older.txn_id & 1) * s.older.page_size + META_OFFSET;
    assert_true(s.older.txn_id > 2);
    meta[32 + 2 * DB_BYTES] -= 2;
    forge_record(s.older.txn_id, 48, -2, HASHED_AGAIN);
    refused(reading(), QS_DAMAGED, "transaction ids");
}

/* ---- the free list ---- */

/* The first list of freed pages: its count, then the numbers, descending. */
static uint8_t *free_list(void)
{
    struct node node;
    assert_int_equal(s.newer.free.depth, 1);
    page_node(s.bytes + s.newer.free.root * s.newer.page_size, 0, true, &node);
    assert_true(node.data && load_u64(node.data) >= 2);
    return s.bytes + (node.data - s.bytes);
}

static void put_u64(uint8_t *at, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        at[i] = (uint8_t)(v >> (8 * i));
}

/* A reader relies on no free list. */
static void a_free_list_with_a_live_page_stops_writers_alone(void **state)
{
    (void)state;
    uint8_t *list = free_list();
    put_u64(list + 8, s.newer.main.root > s.newer.free.root ? s.newer.main.root : s.newer.free.root);
    if (load_u64(list + 16) >= load_u64(list + 8))
        put_u64(list, 1); /* a list of this page alone */
    store_back();
    assert_int_equal(reading(), QS_OK);
    refused(writing(), QS_DAMAGED, "two places");
}

static void a_free_list_out_of_order_stops_writers_alone(void **state)
{
    (void)state;
    uint8_t *list = free_list();
    uint64_t first = load_u64(list + 8);
    put_u64(list + 8, load_u64(list + 16));
    put_u64(list + 16, first);
    store_back();
    assert_int_equal(reading(), QS_OK);
    refused(writing(), QS_DAMAGED, "out of order");
}

/* ---- when a fault is damage ---- */

static void a_fault_is_damage_after_two_hundred_milliseconds_only(void **state)
{
    (void)state;
    assert_true(replace("in the hay", "in the hat", 10) > 0);
    store_back();
    uint64_t before = qs_os->monotonic_ms();
    assert_int_equal(reading(), QS_DAMAGED);
    assert_true(qs_os->monotonic_ms() - before >= 200);
}

static uint64_t leap_ms(void)
{
    static uint64_t now;
    return now += 250;
}

static bool mended;

static void sleep_and_mend(unsigned ms)
{
    (void)ms;
    assert_true(mended || replace("in the hat", "in the hay", 10) > 0);
    mended = true;
    store_back();
}

/* A writer's copy of 120 bytes may be seen half done twice, however long that takes. */
static void two_equal_faults_are_no_damage(void **state)
{
    (void)state;
    struct os_calls mending = *qs_os;
    mending.monotonic_ms = leap_ms;
    mending.sleep_ms = sleep_and_mend;
    assert_true(replace("in the hay", "in the hat", 10) > 0);
    store_back();
    mended = false;
    qs_os = &mending;
    enum qs_status status = reading();
    fixture_real_clock();
    assert_true(mended);
    ok(status);
}

static uint64_t slow_ms(void)
{
    static uint64_t now;
    return now += 3000; /* beyond the deadline with each look at the clock */
}

static unsigned metas_read, walks;

/* The second look at the metas in each walk sees two commits more. */
static ssize_t overtaken_pread(int fd, void *buf, size_t size, off_t at)
{
    ssize_t got = os_real.pread(fd, buf, size, at);
    if (at != 0)
        return got;
    walks += metas_read % 2 == 0;
    if (metas_read++ % 2)
        for (unsigned slot = 0; slot < 2; slot++) {
            uint8_t *id = (uint8_t *)buf + slot * s.newer.page_size + META_OFFSET + 32 + 2 * (size_t)DB_BYTES;
            put_u64(id, load_u64(id) + 2);
        }
    return got;
}

static void damage_on_a_slow_machine_is_damage(void **state)
{
    (void)state;
    struct os_calls slow = *qs_os;
    slow.monotonic_ms = slow_ms;
    assert_true(replace("in the hay", "in the hat", 10) > 0);
    store_back();
    qs_os = &slow;
    enum qs_status status = reading();
    fixture_real_clock();
    assert_int_equal(status, QS_DAMAGED);
}

static void a_slow_reader_that_is_overtaken_has_three_tries(void **state)
{
    (void)state;
    struct os_calls slow = *qs_os;
    slow.monotonic_ms = slow_ms;
    slow.pread = overtaken_pread;
    metas_read = walks = 0;
    qs_os = &slow;
    enum qs_status status = reading();
    fixture_real_clock();
    refused(status, QS_BUSY, "in 3 reads");
    assert_int_equal(walks, 3);
    assert_non_null(strstr(err.advice, "--wait"));
}

/* ---- history ---- */

static struct qs_history *open_history(void)
{
    struct qs_history *history = NULL;
    ok(qs_history_open(f.store, &history, &err));
    return history;
}

static enum qs_status checking(void)
{
    struct qs_history *history = NULL;
    memset(&err, 0, sizeof err);
    enum qs_status status = qs_history_open(f.store, &history, &err);
    if (!status)
        status = qs_history_check(history, &err);
    qs_history_close(history);
    return status;
}

/* Another time in the record of this index, whose own digest is right. */
static void forge_history(size_t index)
{
    struct qs_history *history = open_history();
    struct history_record record;
    struct buf again = {0};
    ok(history_load(history, index + 1, &err));
    ok(history_record_decode(history->bytes.data, history->bytes.len, &record, &err));
    record.facts.time_s++;
    ok(history_record_encode(&record, &again, &err));
    assert_int_equal(again.len, history->bytes.len);
    for (size_t at = 0; at < again.len; at += HISTORY_CHUNK_BYTES) {
        size_t len = again.len - at < HISTORY_CHUNK_BYTES ? again.len - at : HISTORY_CHUNK_BYTES;
        if (memcmp(history->bytes.data + at, again.data + at, len) != 0)
            assert_true(replace(history->bytes.data + at, again.data + at, len) > 0);
    }
    store_back();
    buf_release(&again);
    history_record_release(&record);
    qs_history_close(history);
}

static void each_record_of_the_history_is_held_by_the_next_one(void **state)
{
    (void)state;
    struct qs_history *history = open_history();
    size_t count = qs_history_count(history);
    qs_history_close(history);
    assert_int_equal(count, 3);
    assert_int_equal(checking(), QS_OK);
    for (size_t i = 0; i + 1 < count; i++) {
        uint8_t *sound = fixture_bytes(&f, &(size_t){0});
        forge_history(i);
        refused(checking(), QS_DAMAGED, "the chain breaks");
        memcpy(s.bytes, sound, s.len);
        store_back();
        free(sound);
    }
    assert_int_equal(checking(), QS_OK);
}

static void the_newest_record_is_held_by_the_meta_record(void **state)
{
    (void)state;
    forge_history(2);
    refused(checking(), QS_DAMAGED, "newest history record");
    assert_int_equal(reading(), QS_OK); /* which reads no history */
}

static void a_chunk_that_is_missing_is_told(void **state)
{
    (void)state;
    uint8_t last[HISTORY_KEY_BYTES], later[HISTORY_KEY_BYTES];
    history_key(2, 2, last);
    history_key(2, 3, later);
    assert_true(replace(last, later, sizeof last) > 0);
    store_back();
    refused(checking(), QS_DAMAGED, "is missing");
}

#define FORGED(name) cmocka_unit_test_setup_teardown(name, forge_set_up, forge_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FORGED(a_changed_value_is_told_by_the_content_digest),
        FORGED(a_changed_record_is_told_by_its_hash),
        FORGED(a_record_that_names_another_meta_is_refused),
        FORGED(a_store_of_a_later_format_is_not_read),
        FORGED(a_store_of_another_scope_is_neither_read_nor_written),
        FORGED(the_older_meta_must_lead_to_its_record_too),
        FORGED(metas_that_are_not_of_successive_transactions_are_refused),
        FORGED(a_free_list_with_a_live_page_stops_writers_alone),
        FORGED(a_free_list_out_of_order_stops_writers_alone),
        FORGED(a_fault_is_damage_after_two_hundred_milliseconds_only),
        FORGED(two_equal_faults_are_no_damage),
        FORGED(damage_on_a_slow_machine_is_damage),
        FORGED(a_slow_reader_that_is_overtaken_has_three_tries),
        FORGED(each_record_of_the_history_is_held_by_the_next_one),
        FORGED(the_newest_record_is_held_by_the_meta_record),
        FORGED(a_chunk_that_is_missing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
