/* SPDX-License-Identifier: Apache-2.0 */
/* Watching, when things went wrong: what is told after damage, restore, repair, and numbers that went back. */
#include "qsettings/watch.h"
#include "tests/support/one_store.h"
#include "tests/support/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CLOSED "{\"filesystem\":\"read-only\",\"network\":\"closed\"}"
#define OPENED "{\"filesystem\":\"workspace-write\",\"network\":\"open\"}"

static struct qs_watch *watching(uint64_t from)
{
    struct qs_watch *watch = NULL;
    ok(qs_watch_open(f.store, from, &watch, &err));
    return watch;
}

static struct qs_watch_event next(struct qs_watch *watch)
{
    struct qs_watch_event event = {.size = sizeof event};
    ok(qs_watch_next(watch, &event, &err));
    return event;
}

static void nothing_more(struct qs_watch *watch)
{
    struct qs_watch_event event = {.size = sizeof event};
    assert_int_equal(qs_watch_next(watch, &event, &err), QS_NOT_FOUND);
}

/* Takes both metas away: no generation verifies any more. */
static void ruin_metas(void)
{
    size_t len = 0;
    uint8_t *bytes = fixture_bytes(&f, &len);
    memset(bytes, 0, 8192);
    fixture_write_bytes(&f, bytes, len);
    free(bytes);
}

static void a_restore_over_a_ruined_store_is_told_with_the_policy_it_brought_back(void **state)
{
    (void)state;
    fixture_set(&f, "tools.executionSandbox", CLOSED); /* 2 */
    ok(qs_store_backup(f.store, f.backup, false, &err));
    for (int i = 0; i < 5; i++)
        fixture_set(&f, "a", i % 2 ? "1" : "2");
    fixture_set(&f, "tools.executionSandbox", OPENED); /* 8 */
    struct qs_watch *watch = watching(0);
    ruin_metas();
    fixture_fake_clock();
    struct qs_watch_event event = {.size = sizeof event};
    assert_int_equal(qs_watch_next(watch, &event, &err), QS_DAMAGED);
    struct qs_commit_info info = {.size = sizeof info};
    ok(qs_store_restore(f.store, f.backup, 0, &info, &err));
    assert_true(info.generation > 8); /* the metas are gone, but not what they led to: no number comes twice */
    event = next(watch);
    assert_int_equal(event.generation, info.generation);
    assert_false(event.store_replaced);
    assert_true(event.policy_changed);
    nothing_more(watch);
    fixture_set(&f, "b", "1");
    event = next(watch);
    assert_int_equal(event.generation, info.generation + 1);
    assert_false(event.policy_changed || event.history_missing);
    qs_watch_close(watch);
}

static void a_repair_back_to_another_policy_says_that_it_changed(void **state)
{
    (void)state;
    fixture_set(&f, "tools.executionSandbox", CLOSED); /* 2 */
    fixture_set(&f, "tools.executionSandbox", OPENED); /* 3 */
    struct qs_watch *watch = watching(0);
    struct qs_fsck_report report = {.size = sizeof report};
    ok(qs_store_fsck(f.store, &report, &err));
    size_t len = 0;
    uint8_t *bytes = fixture_bytes(&f, &len);
    bytes[(report.txn_id % 2 ? 4096 : 0) + 16 + 130] ^= 0x10; /* within the newer meta */
    fixture_write_bytes(&f, bytes, len);
    free(bytes);
    fixture_fake_clock();
    struct qs_repair_report *repaired = NULL;
    ok(qs_store_repair(f.store, true, 0, &repaired, &err));
    assert_int_equal(repaired->generation, 2);
    struct qs_watch_event event = next(watch);
    assert_int_equal(event.generation, 4);
    assert_true(event.policy_changed);
    nothing_more(watch);
    qs_watch_close(watch);
    qs_repair_report_free(repaired);
}

static void a_restore_that_keeps_the_policy_does_not_say_that_it_changed(void **state)
{
    (void)state;
    fixture_set(&f, "tools.executionSandbox", CLOSED);
    fixture_set(&f, "a", "1");
    fixture_set(&f, "a", "2");
    ok(qs_store_backup(f.store, f.backup, false, &err));
    struct qs_watch *watch = watching(0);
    ruin_metas();
    fixture_fake_clock();
    ok(qs_store_restore(f.store, f.backup, 0, NULL, &err));
    assert_false(next(watch).policy_changed);
    qs_watch_close(watch);
}

/* Puts the file's bytes of another time in the store's place, as a person with cp and mv would. */
static void put_back(const uint8_t *bytes, size_t len)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/system/other", f.root);
    scratch_write_bytes(path, bytes, len);
    assert_int_equal(rename(path, f.data), 0);
}

static void an_older_file_put_back_by_hand_is_told_at_once(void **state)
{
    (void)state;
    fixture_set(&f, "tools.executionSandbox", CLOSED); /* 2 */
    size_t len = 0;
    uint8_t *old = fixture_bytes(&f, &len);
    fixture_set(&f, "a", "1");
    fixture_set(&f, "tools.executionSandbox", OPENED); /* 4 */
    struct qs_watch *watch = watching(0);
    put_back(old, len);
    free(old);
    struct qs_watch_event event = next(watch);
    assert_int_equal(event.generation, 2);
    assert_true(event.history_missing);
    assert_true(event.policy_changed);
    nothing_more(watch);
    fixture_set(&f, "b", "1"); /* 3, for the second time, but another */
    event = next(watch);
    assert_int_equal(event.generation, 3);
    assert_false(event.history_missing || event.policy_changed);
    qs_watch_close(watch);
}

static void a_start_beyond_the_newest_generation_is_told_as_a_gap(void **state)
{
    (void)state;
    fixture_set(&f, "a", "1");
    struct qs_watch *watch = watching(100);
    struct qs_watch_event event = next(watch);
    assert_int_equal(event.generation, 2);
    assert_true(event.history_missing);
    assert_true(event.policy_changed); /* nobody can tell: the careful answer */
    nothing_more(watch);
    qs_watch_close(watch);
    watch = watching(2); /* but the newest itself is nothing new */
    nothing_more(watch);
    fixture_set(&f, "a", "2");
    event = next(watch);
    assert_int_equal(event.generation, 3);
    assert_false(event.history_missing || event.policy_changed);
    qs_watch_close(watch);
}

static void a_damaged_record_is_passed_once_the_store_is_repaired(void **state)
{
    (void)state;
    fixture_set(&f, "a", "\"marker-2\"");
    fixture_set(&f, "a", "\"other\"");
    fixture_set(&f, "b", "1"); /* 4 */
    size_t len = 0;
    uint8_t *bytes = fixture_bytes(&f, &len);
    for (size_t at = 0; at + 8 < len; at++)
        if (memcmp(bytes + at, "marker-2", 8) == 0)
            bytes[at] = 'M';
    fixture_write_bytes(&f, bytes, len);
    free(bytes);
    struct qs_watch *watch = watching(1);
    struct qs_watch_event event = {.size = sizeof event};
    fixture_fake_clock();
    assert_int_equal(qs_watch_next(watch, &event, &err), QS_DAMAGED);
    assert_int_equal(qs_watch_next(watch, &event, &err), QS_DAMAGED); /* still the same answer */
    assert_non_null(strstr(err.message, "generation 2"));
    struct qs_repair_report *report = NULL;
    ok(qs_store_repair(f.store, true, 0, &report, &err));
    event = next(watch);
    assert_int_equal(event.generation, report->new_generation);
    assert_true(event.history_missing);
    nothing_more(watch);
    qs_watch_close(watch);
    qs_repair_report_free(report);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_restore_over_a_ruined_store_is_told_with_the_policy_it_brought_back),
        TEST(a_repair_back_to_another_policy_says_that_it_changed),
        TEST(a_restore_that_keeps_the_policy_does_not_say_that_it_changed),
        TEST(an_older_file_put_back_by_hand_is_told_at_once),
        TEST(a_start_beyond_the_newest_generation_is_told_as_a_gap),
        TEST(a_damaged_record_is_passed_once_the_store_is_repaired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
