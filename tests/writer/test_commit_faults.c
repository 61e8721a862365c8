/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A failing disk below LMDB: each write and each flush of a commit, of compact, restore and init fails in turn, in
 * every way. Afterwards the store holds the old or the new generation, exactly; the error says which; the next writer
 * goes on.
 */
#include "tests/support/disk_faults.h"
#include "tests/support/scratch.h"
#include "tests/support/store_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct fixture f;

static int set_up(void **state)
{
    (void)state;
    fixture_init(&f, true);
    fixture_fill(&f);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fixture_release(&f);
    return 0;
}

typedef enum qs_status (*work)(struct qs_error *err);

static enum qs_status do_set(struct qs_error *err)
{
    struct qs_txn *txn = NULL;
    enum qs_status status = qs_txn_begin(f.store, 1000, &txn, err);
    if (!status)
        status = qs_txn_set(txn, "group1.setting001", "\"changed\"", 9, err);
    if (!status) /* a large value too, so that LMDB writes in more than one way */
        status = qs_txn_set(txn, "large.other", "\"0123456789012345678901234567890123456789\"", 42, err);
    if (!status)
        status = qs_txn_commit(txn, NULL, NULL, err);
    qs_txn_free(txn);
    return status;
}

static enum qs_status do_compact(struct qs_error *err)
{
    return qs_store_compact(f.store, 1000, err);
}

static enum qs_status do_purge(struct qs_error *err)
{
    return qs_store_purge(f.store, "group2", NULL, 1000, NULL, err);
}

static struct qs_snapshot *with_change(work change)
{
    struct qs_error err = {0};
    assert_int_equal(change(&err), QS_OK);
    return fixture_read(&f);
}

struct tally {
    unsigned failed, succeeded;
};

/* One run with a fault at call number at; false when the work ended before it. */
static bool run_with_fault(work change, unsigned at, bool onwards, enum disk_fault kind, int code,
                           const struct qs_snapshot *before, const struct qs_snapshot *after, struct tally *tally)
{
    struct qs_error err = {0};
    disk_faults_start(at, onwards, kind, code);
    enum qs_status status = change(&err);
    disk_faults_stop();
    bool hit = disk_faults_hit();
    struct qs_snapshot *now = fixture_read(&f);
    bool is_old = fixture_same(now, before);
    bool is_new = fixture_same(now, after);
    if (!is_old && !is_new)
        fail_msg("call %u, kind %d: neither the old nor the new generation", at, (int)kind);
    if (status == QS_OK && !is_new)
        fail_msg("call %u, kind %d: acknowledged, but not stored", at, (int)kind);
    if (status != QS_OK && (!err.message[0] || status != QS_IO))
        fail_msg("call %u, kind %d: %s: %s", at, (int)kind, qs_status_name(status), err.message);
    if (status != QS_OK && change == do_set) {
        bool says_old = strstr(err.advice, "nothing was changed") != NULL;
        if (says_old != is_old)
            fail_msg("call %u, kind %d: it says \"%s\"", at, (int)kind, err.advice);
    }
    status ? tally->failed++ : tally->succeeded++;
    qs_snapshot_unref(now);
    return hit;
}

static void restore_bytes(const uint8_t *bytes, size_t len)
{
    char *fresh = NULL;
    assert_true(asprintf(&fresh, "%s.fresh", f.data) > 0);
    scratch_write_bytes(fresh, bytes, len);
    assert_int_equal(rename(fresh, f.data),
                     0); /* a new file: the old one may be in use nowhere, but its pages are odd */
    free(fresh);
}

static void every_call_in_turn(const char *name, work change, bool onwards, enum disk_fault kind, int code,
                               bool may_fail)
{
    size_t len = 0;
    uint8_t *bytes = fixture_bytes(&f, &len);
    struct qs_snapshot *before = fixture_read(&f);
    struct qs_snapshot *after = with_change(change);
    struct tally tally = {0};
    unsigned at = 1;
    for (bool hit = true; hit; at++) {
        restore_bytes(bytes, len);
        hit = run_with_fault(change, at, onwards, kind, code, before, after, &tally);
        struct qs_error err = {0};
        if (change(&err) != QS_OK) /* the next writer goes on */
            fail_msg("after call %u, kind %d: %s: %s", at, (int)kind, err.message, err.advice);
        struct qs_fsck_report report = {.size = sizeof report};
        assert_int_equal(qs_store_fsck(f.store, &report, &err), QS_OK);
    }
    restore_bytes(bytes, len);
    printf("# %s, kind %d%s, errno %d: %u calls, %u failed, %u succeeded\n", name, (int)kind, onwards ? " onwards" : "",
           code, at - 2, tally.failed, tally.succeeded);
    assert_true(at > 6); /* pages, flush and meta: all of them were reached */
    if (may_fail)
        assert_true(tally.failed > 0);
    else
        assert_int_equal(tally.failed, 0);
    qs_snapshot_unref(before);
    qs_snapshot_unref(after);
    free(bytes);
}

static void an_io_error_in_any_call_of_a_commit_leaves_old_or_new(void **state)
{
    (void)state;
    every_call_in_turn("set", do_set, false, DISK_FAIL, EIO, true);
    every_call_in_turn("set", do_set, false, DISK_FAIL_AFTER, EIO, true);
    every_call_in_turn("set", do_set, false, DISK_HALF, EIO, true);
}

static void a_disk_that_dies_during_a_commit_leaves_old_or_new(void **state)
{
    (void)state;
    every_call_in_turn("set", do_set, true, DISK_FAIL, EIO, true);
    every_call_in_turn("set", do_set, true, DISK_FAIL_AFTER, EIO, true);
}

static void a_full_disk_in_any_call_of_a_commit_leaves_the_old_generation(void **state)
{
    (void)state;
    every_call_in_turn("set", do_set, false, DISK_FAIL, ENOSPC, true);
    every_call_in_turn("set", do_set, true, DISK_FAIL, ENOSPC, true);
    every_call_in_turn("set", do_set, false, DISK_HALF, ENOSPC, true);
}

static void interrupted_calls_are_made_again(void **state)
{
    (void)state;
    struct qs_error err = {0};
    size_t len = 0;
    uint8_t *bytes = fixture_bytes(&f, &len);
    struct qs_snapshot *before = fixture_read(&f);
    struct qs_snapshot *after = with_change(do_set);
    struct tally tally = {0};
    unsigned at = 1;
    for (bool hit = true; hit; at++) {
        restore_bytes(bytes, len);
        hit = run_with_fault(do_set, at, false, DISK_INTERRUPTED, EINTR, before, after, &tally);
        assert_int_equal(do_set(&err), QS_OK);
    }
    /* LMDB repeats its writes, but not its fdatasync: a signal there fails the commit, and the old generation stands.
     */
    printf("# EINTR: %u failed, %u succeeded\n", tally.failed, tally.succeeded);
    assert_true(tally.succeeded >= 2); /* the first write, and the run that no signal reached */
    restore_bytes(bytes, len);
    qs_snapshot_unref(before);
    qs_snapshot_unref(after);
    free(bytes);
}

static void an_io_error_in_any_call_of_compact_or_purge_leaves_old_or_new(void **state)
{
    (void)state;
    every_call_in_turn("compact", do_compact, false, DISK_FAIL, EIO, true);
    every_call_in_turn("compact", do_compact, false, DISK_HALF, ENOSPC, true);
    every_call_in_turn("purge", do_purge, false, DISK_FAIL, EIO, true);
}

static void an_io_error_in_any_call_of_init_leaves_no_store_or_a_whole_one(void **state)
{
    (void)state;
    struct scratch s;
    unsigned failed = 0;
    bool hit = true;
    for (unsigned at = 1; hit; at++) {
        struct qs_error err = {0};
        struct qs_store *store = NULL;
        struct qs_snapshot *snapshot = NULL;
        scratch_make(&s);
        assert_int_equal(qs_store_open(QS_SCOPE_DEFAULTS,
                                       &(struct qs_store_options){.size = sizeof(struct qs_store_options),
                                                                  .root = s.dir},
                                       &store, &err),
                         QS_OK);
        disk_faults_start(at, false, DISK_FAIL, EIO);
        enum qs_status status = qs_store_init(store, NULL, &err);
        disk_faults_stop();
        hit = disk_faults_hit();
        failed += status != QS_OK;
        enum qs_status read = qs_snapshot_take(store, &snapshot, &err);
        assert_true(read == QS_OK || read == QS_ABSENT);
        assert_true(status != QS_OK || read == QS_OK);
        if (read == QS_ABSENT)
            assert_int_equal(qs_store_init(store, NULL, &err), QS_OK);
        assert_int_equal(scratch_count(s.dir, ".qsettings-init-"), 0);
        qs_snapshot_unref(snapshot);
        qs_store_close(store);
        scratch_remove(&s);
    }
    assert_true(failed > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_io_error_in_any_call_of_a_commit_leaves_old_or_new),
        cmocka_unit_test(a_disk_that_dies_during_a_commit_leaves_old_or_new),
        cmocka_unit_test(a_full_disk_in_any_call_of_a_commit_leaves_the_old_generation),
        cmocka_unit_test(interrupted_calls_are_made_again),
        cmocka_unit_test(an_io_error_in_any_call_of_compact_or_purge_leaves_old_or_new),
        cmocka_unit_test(an_io_error_in_any_call_of_init_leaves_no_store_or_a_whole_one),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
