/* SPDX-License-Identifier: Apache-2.0 */
/* Watching: each generation once and in order, whatever happens to the file; the descriptor wakes; policy changes are
 * told. */
#include "qsettings/watch.h"
#include "tests/support/one_store.h"
#include "tests/support/scratch.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct qs_watch *watch_from(uint64_t from)
{
    struct qs_watch *watch = NULL;
    ok(qs_watch_open(f.store, from, &watch, &err));
    return watch;
}

static struct qs_watch_event expect_event(struct qs_watch *watch, uint64_t generation)
{
    struct qs_watch_event event = {.size = sizeof event};
    ok(qs_watch_next(watch, &event, &err));
    assert_int_equal(event.generation, generation);
    return event;
}

static void expect_none(struct qs_watch *watch)
{
    struct qs_watch_event event = {.size = sizeof event};
    assert_int_equal(qs_watch_next(watch, &event, &err), QS_NOT_FOUND);
}

static void expect_wakes(struct qs_watch *watch)
{
    struct pollfd pfd = {.fd = qs_watch_fd(watch), .events = POLLIN};
    assert_int_equal(poll(&pfd, 1, 10000), 1);
}

static void each_generation_is_told_once_and_in_order(void **state)
{
    (void)state;
    struct qs_watch *watch = watch_from(0);
    expect_none(watch);
    assert_null(qs_watch_history(watch));
    fixture_set(&f, "a", "1");
    expect_wakes(watch);
    expect_event(watch, 2);
    expect_none(watch);
    for (int i = 2; i < 6; i++) {
        char json[16];
        (void)snprintf(json, sizeof json, "%d", i);
        fixture_set(&f, "a", json);
    }
    for (uint64_t g = 3; g < 7; g++) {
        struct qs_watch_event event = expect_event(watch, g);
        assert_false(event.policy_changed || event.store_replaced || event.history_missing);
        const struct qs_record *record = NULL;
        ok(qs_history_find(qs_watch_history(watch), g, &record, &err));
        assert_int_equal(record->change_count, 1);
    }
    expect_none(watch);
    qs_watch_close(watch);
    qs_watch_close(NULL);
}

static void a_watch_can_begin_at_an_older_generation(void **state)
{
    (void)state;
    fixture_set(&f, "a", "1");
    fixture_set(&f, "a", "2");
    struct qs_watch *watch = watch_from(1);
    expect_event(watch, 2);
    expect_event(watch, 3);
    expect_none(watch);
    qs_watch_close(watch);
}

static void compact_is_no_generation_and_what_comes_after_it_is_seen(void **state)
{
    (void)state;
    struct qs_watch *watch = watch_from(0);
    ok(qs_store_compact(f.store, 0, &err));
    expect_none(watch);
    fixture_set(&f, "a", "1");
    expect_wakes(watch);
    expect_event(watch, 2);
    expect_none(watch);
    qs_watch_close(watch);
}

static void a_restore_is_one_generation_and_tells_of_the_policy(void **state)
{
    (void)state;
    char backup[160];
    (void)snprintf(backup, sizeof backup, "%s/backup", f.root);
    ok(qs_store_backup(f.store, backup, false, &err)); /* no policy yet */
    fixture_set(&f, "tools.executionSandbox", "{\"filesystem\":\"read-only\",\"network\":\"closed\"}");
    struct qs_watch *watch = watch_from(0);
    ok(qs_store_restore(f.store, backup, 0, NULL, &err));
    expect_wakes(watch);
    assert_true(expect_event(watch, 3).policy_changed);
    expect_none(watch);
    qs_watch_close(watch);
}

static void policy_keys_and_the_demand_for_one_are_told(void **state)
{
    (void)state;
    struct qs_txn *txn = NULL;
    struct qs_watch *watch = watch_from(0);
    fixture_set(&f, "tools.executionSandbox", "{\"filesystem\":\"read-only\",\"network\":\"closed\"}");
    fixture_set(&f, "executor.limits.wallSeconds", "30");
    fixture_set(&f, "tools.approvalMode", "\"plan\"");
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    ok(qs_txn_require_policy(txn, true, &err));
    ok(qs_txn_commit(txn, NULL, NULL, &err));
    qs_txn_free(txn);
    assert_true(expect_event(watch, 2).policy_changed);
    assert_true(expect_event(watch, 3).policy_changed);
    assert_false(expect_event(watch, 4).policy_changed);
    assert_true(expect_event(watch, 5).policy_changed);
    qs_watch_close(watch);
}

static void remove_store(void)
{
    struct scratch s;
    (void)snprintf(s.dir, sizeof s.dir, "%s/system", f.root);
    scratch_remove(&s);
}

static void a_store_made_anew_is_told_as_another_one(void **state)
{
    (void)state;
    fixture_set(&f, "executor.limits.wallSeconds", "30");
    fixture_set(&f, "a", "1");
    struct qs_watch *watch = watch_from(0);
    remove_store();
    expect_wakes(watch);
    expect_none(watch); /* absent: waited for */
    ok(qs_store_init(f.store, NULL, &err));
    fixture_set(&f, "b", "1");
    expect_wakes(watch);
    struct qs_watch_event event = expect_event(watch, 1);
    assert_true(event.store_replaced);
    assert_true(event.policy_changed); /* the limit is gone */
    assert_false(expect_event(watch, 2).store_replaced);
    expect_none(watch);
    fixture_set(&f, "b", "2");
    expect_wakes(watch);
    expect_event(watch, 3);
    qs_watch_close(watch);
}

static void an_absent_store_is_waited_for(void **state)
{
    (void)state;
    remove_store();
    struct qs_watch *watch = watch_from(0);
    expect_none(watch);
    ok(qs_store_init(f.store, NULL, &err));
    expect_wakes(watch);
    expect_event(watch, 1);
    expect_none(watch);
    qs_watch_close(watch);
}

static void damage_is_an_error_and_the_watch_goes_on_after_repair(void **state)
{
    (void)state;
    struct qs_watch *watch = watch_from(0);
    struct qs_watch_event event = {.size = sizeof event};
    size_t len = 0;
    uint8_t *bytes = fixture_bytes(&f, &len);
    fixture_write_bytes(&f, "ruined", 6);
    fixture_fake_clock();
    assert_int_equal(qs_watch_next(watch, &event, &err), QS_DAMAGED);
    fixture_real_clock();
    fixture_write_bytes(&f, bytes, len);
    expect_none(watch);
    fixture_set(&f, "a", "1");
    expect_event(watch, 2);
    free(bytes);
    qs_watch_close(watch);
}

static void all_begins_with_the_first_generation_of_a_store_that_was_absent(void **state)
{
    (void)state;
    fixture_set(&f, "a", "1");
    struct qs_watch *watch = watch_from(QS_WATCH_ALL);
    expect_event(watch, 1);
    expect_event(watch, 2);
    expect_none(watch);
    qs_watch_close(watch);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_begins_with_the_first_generation_of_a_store_that_was_absent),
        TEST(each_generation_is_told_once_and_in_order),
        TEST(a_watch_can_begin_at_an_older_generation),
        TEST(compact_is_no_generation_and_what_comes_after_it_is_seen),
        TEST(a_restore_is_one_generation_and_tells_of_the_policy),
        TEST(policy_keys_and_the_demand_for_one_are_told),
        TEST(a_store_made_anew_is_told_as_another_one),
        TEST(an_absent_store_is_waited_for),
        TEST(damage_is_an_error_and_the_watch_goes_on_after_repair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
