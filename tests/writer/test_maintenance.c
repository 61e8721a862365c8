/* SPDX-License-Identifier: Apache-2.0 */
/* Care: init, compact, backup, restore, repair, fsck. */
#include "base/os.h"
#include "tests/support/faults.h"
#include "tests/support/one_store.h"
#include "tests/support/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct qs_fsck_report fsck(void)
{
    struct qs_fsck_report report = {.size = sizeof report};
    ok(qs_store_fsck(f.store, &report, &err));
    return report;
}

/* ---- init ---- */

static void init_makes_generation_one_and_refuses_to_do_it_twice(void **state)
{
    (void)state;
    struct qs_snapshot *first = fixture_read(&f);
    assert_int_equal(qs_snapshot_generation(first), 1);
    assert_int_equal(qs_snapshot_count(first), 0);
    assert_int_equal(qs_store_init(f.store, NULL, &err), QS_CONFLICT);
    struct qs_snapshot *again = fixture_read(&f);
    assert_true(fixture_same(first, again));
    qs_snapshot_unref(first);
    qs_snapshot_unref(again);
    assert_int_equal(fsck().records, 1);
    assert_int_equal(scratch_count(f.root, ".qsettings-init-"), 0);
}

static void init_of_the_system_scope_demands_the_store_unless_told_not_to(void **state)
{
    (void)state;
    bool required = false;
    ok(qs_store_is_required(f.store, &required, &err));
    assert_true(required);
    ok(qs_store_require(f.store, false, &err));
    ok(qs_store_require(f.store, false, &err)); /* twice is fine */
    ok(qs_store_is_required(f.store, &required, &err));
    assert_false(required);
    ok(qs_store_require(f.store, true, &err));
    ok(qs_store_is_required(f.store, &required, &err));
    assert_true(required);
    struct scratch s;
    struct qs_store *other = NULL;
    scratch_make(&s);
    ok(qs_store_open(QS_SCOPE_SYSTEM,
                     &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = s.dir}, &other, &err));
    ok(qs_store_init(other,
                     &(struct qs_init_options){.size = sizeof(struct qs_init_options),
                                               .no_require_store = true,
                                               .require_policy = true},
                     &err));
    ok(qs_store_is_required(other, &required, &err));
    assert_false(required);
    struct qs_snapshot *snapshot = NULL;
    ok(qs_snapshot_take(other, &snapshot, &err));
    assert_true(qs_snapshot_requires_policy(snapshot));
    qs_snapshot_unref(snapshot);
    qs_store_close(other);
    ok(qs_store_open(QS_SCOPE_USER, &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = s.dir},
                     &other, &err));
    assert_int_equal(qs_store_require(other, true, &err), QS_USAGE);
    qs_store_close(other);
    scratch_remove(&s);
}

static void init_clears_away_what_a_killed_init_left(void **state)
{
    (void)state;
    struct qs_store *other = NULL;
    char stray[160];
    (void)snprintf(stray, sizeof stray, "%s/.qsettings-init-0123456789abcdef", f.root);
    assert_int_equal(mkdir(stray, 0700), 0);
    strcat(stray, "/data.mdb");
    scratch_write(stray, "half");
    ok(qs_store_open(QS_SCOPE_DEFAULTS,
                     &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = f.root}, &other,
                     &err));
    ok(qs_store_init(other, NULL, &err));
    assert_int_equal(scratch_count(f.root, ".qsettings-init-"), 0);
    qs_store_close(other);
}

static void a_failed_init_leaves_no_store_or_one_that_is_demanded(void **state)
{
    (void)state;
    char root[128];
    bool hit = true;
    unsigned flushes = 0;
    for (unsigned n = 1; hit; n++) {
        struct qs_store *store = NULL;
        (void)snprintf(root, sizeof root, "%s/%u", f.root, n);
        assert_int_equal(mkdir(root, 0755), 0);
        ok(qs_store_open(QS_SCOPE_SYSTEM,
                         &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = root}, &store,
                         &err));
        faults_start(&(struct fault){.at = n, .only = "fsync", .code = EIO});
        enum qs_status status = qs_store_init(store, NULL, &err);
        hit = faults_were_hit();
        flushes = faults_stop();
        assert_int_equal(status, hit ? QS_IO : QS_OK);
        bool stands = scratch_exists(qs_store_path(store));
        assert_int_equal(scratch_count(root, "require-system"), stands ? 1 : 0);
        assert_int_equal(scratch_count(root, ".qsettings-init-"), 0);
        if (hit)
            assert_non_null(strstr(err.advice, stands ? "may not survive" : "no store was created"));
        qs_store_close(store);
    }
    assert_true(flushes >= 4);
}

static void a_rebuild_that_fails_says_what_is_stored(void **state)
{
    (void)state;
    fixture_set(&f, "a", "1");
    ok(qs_store_backup(f.store, f.backup, false, &err));
    for (unsigned n = 1;; n++) {
        struct stat before = scratch_stat(f.data);
        faults_start(&(struct fault){.at = n, .only = "fsync", .code = ENOSPC});
        enum qs_status status = qs_store_compact(f.store, 0, &err);
        bool hit = faults_were_hit();
        (void)faults_stop();
        if (!hit) {
            assert_true(n > 3);
            break;
        }
        assert_int_equal(status, QS_IO);
        bool swapped = scratch_stat(f.data).st_ino != before.st_ino;
        assert_non_null(strstr(err.advice, swapped ? "is in place, but may not survive" : "nothing was changed"));
        assert_int_equal(scratch_count(f.root, "data.mdb"), 0);
        store_is("{\"a\":1}");
        assert_int_equal(fsck().generation, 2);
    }
}

static void no_stray_backup(unsigned number, const char *call, void *context)
{
    (void)number;
    (void)call;
    (void)context;
    assert_int_equal(scratch_count(f.root, ".qsettings-backup-"), 0);
}

static void a_backup_has_no_name_before_it_is_whole(void **state)
{
    (void)state;
    fixture_set(&f, "a", "1");
    for (int replace = 0; replace < 2; replace++) { /* whoever is killed then leaves nothing */
        faults_start(&(struct fault){.only = "fsync", .kind = FAULT_NONE, .before = no_stray_backup});
        enum qs_status status = qs_store_backup(f.store, f.backup, replace, &err);
        assert_true(faults_stop() >= 2);
        ok(status);
        no_stray_backup(0, NULL, NULL);
        assert_int_equal(scratch_stat(f.backup).st_mode, S_IFREG | 0600);
    }
    assert_int_equal(qs_store_backup(f.store, f.backup, false, &err), QS_CONFLICT);
    assert_non_null(strstr(err.advice, "--force"));
}

static void a_backup_is_written_where_files_without_a_name_are_not_known(void **state)
{
    (void)state;
    unsigned written = 0;
    bool hit = true;
    fixture_set(&f, "a", "1");
    for (unsigned n = 1; hit; n++) {
        faults_start(&(struct fault){.at = n, .only = "openat2", .code = EOPNOTSUPP});
        enum qs_status status = qs_store_backup(f.store, f.backup, false, &err);
        hit = faults_were_hit();
        (void)faults_stop();
        no_stray_backup(0, NULL, NULL);
        assert_int_equal(scratch_exists(f.backup), status == QS_OK);
        if (status == QS_OK) {
            ok(qs_store_restore(f.store, f.backup, 0, NULL, &err));
            assert_int_equal(unlink(f.backup), 0);
            written++;
        }
    }
    assert_int_equal(written, 2); /* without the one kind of file, and without a fault */
}

static void numbers_are_not_used_twice_after_all_damage(void **state)
{
    (void)state;
    struct qs_commit_info info = {.size = sizeof info};
    fixture_set(&f, "a", "1");
    ok(qs_store_backup(f.store, f.backup, false, &err));
    for (int i = 0; i < 7; i++)
        fixture_set(&f, "a", i % 2 ? "1" : "2"); /* 9 */
    size_t len = 0;
    uint8_t *bytes = fixture_bytes(&f, &len);
    memset(bytes, 0, 8192); /* both metas */
    fixture_write_bytes(&f, bytes, len);
    assert_int_equal(truncate(f.data, (off_t)1 << 40), 0); /* and a hole behind, which is not read through */
    free(bytes);
    fixture_fake_clock();
    ok(qs_store_restore(f.store, f.backup, 0, &info, &err));
    assert_int_equal(info.generation, 11); /* 10 may have been under way */
    store_is("{\"a\":1}");
    assert_true(scratch_stat(f.data).st_size < 1 << 20);
}

static void init_makes_missing_parents(void **state)
{
    (void)state;
    struct qs_store *other = NULL;
    char root[160];
    (void)snprintf(root, sizeof root, "%s/deep/er/root", f.root);
    ok(qs_store_open(QS_SCOPE_SYSTEM, &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = root},
                     &other, &err));
    ok(qs_store_init(other, NULL, &err));
    struct qs_snapshot *snapshot = NULL;
    ok(qs_snapshot_take(other, &snapshot, &err));
    qs_snapshot_unref(snapshot);
    qs_store_close(other);
    assert_int_equal(scratch_stat(root).st_mode & 07777, 0755);
}

/* ---- compact ---- */

static void compact_keeps_everything_but_the_free_pages(void **state)
{
    (void)state;
    fixture_fill(&f);
    for (int i = 0; i < 30; i++)
        fixture_set(&f, "group1.setting001", i % 2 ? "1" : "2");
    struct qs_snapshot *before = fixture_read(&f);
    struct qs_fsck_report had = fsck();
    ok(qs_store_compact(f.store, 0, &err));
    struct qs_snapshot *after = fixture_read(&f);
    struct qs_fsck_report has = fsck();
    assert_true(fixture_same(before, after));
    assert_true(qs_snapshot_changed(before, f.store)); /* another file */
    assert_int_equal(has.records, had.records);
    assert_true(has.pages + has.free_pages < had.pages + had.free_pages);
    fixture_set(&f, "next", "1"); /* and writing goes on */
    assert_int_equal(fsck().generation, had.generation + 1);
    qs_snapshot_unref(before);
    qs_snapshot_unref(after);
}

/* ---- backup and restore ---- */

static void a_restore_is_a_new_generation_above_all_known_ones(void **state)
{
    (void)state;
    struct qs_commit_info info = {.size = sizeof info};
    fixture_set(&f, "a", "1");
    ok(qs_store_backup(f.store, f.backup, false, &err));
    assert_int_equal(scratch_stat(f.backup).st_mode & 07777, 0600);
    assert_int_equal(qs_store_backup(f.store, f.backup, false, &err), QS_CONFLICT);
    ok(qs_store_backup(f.store, f.backup, true, &err));
    fixture_set(&f, "a", "2");
    fixture_set(&f, "b", "3");
    ok(qs_store_restore(f.store, f.backup, 0, &info, &err));
    assert_int_equal(info.generation, 5);
    store_is("{\"a\":1}");
    assert_int_equal(fsck().records, 5); /* the present history goes on: nothing of it is lost */
    struct qs_history *history = NULL;
    struct qs_snapshot *then = NULL;
    ok(qs_history_open(f.store, &history, &err));
    ok(qs_history_at(history, 4, &then, &err));
    char *text = NULL;
    ok(qs_snapshot_json(then, NULL, &text, NULL, &err));
    assert_string_equal(text, "{\"a\":2,\"b\":3}");
    free(text);
    qs_snapshot_unref(then);
    qs_history_close(history);
    fixture_set(&f, "a", "4");
    assert_int_equal(fsck().generation, 6);
}

static void a_backup_restores_a_damaged_or_emptied_store(void **state)
{
    (void)state;
    struct qs_commit_info info = {.size = sizeof info};
    fixture_set(&f, "a", "1");
    ok(qs_store_backup(f.store, f.backup, false, &err));
    fixture_set(&f, "a", "2");
    scratch_write(f.data, "this is no store");
    fixture_fake_clock();
    ok(qs_store_restore(f.store, f.backup, 0, &info, &err));
    store_is("{\"a\":1}");
    assert_true(info.generation > 2);
    assert_int_equal(unlink(f.data), 0);
    ok(qs_store_restore(f.store, f.backup, 0, &info, &err));
    store_is("{\"a\":1}");
    assert_int_equal(fsck().generation, info.generation);
}

static void what_is_no_backup_of_this_scope_is_refused_and_nothing_changes(void **state)
{
    (void)state;
    struct qs_store *defaults = NULL;
    fixture_set(&f, "a", "1");
    ok(qs_store_open(QS_SCOPE_DEFAULTS,
                     &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = f.root}, &defaults,
                     &err));
    ok(qs_store_init(defaults, NULL, &err));
    ok(qs_store_backup(defaults, f.backup, false, &err));
    fixture_fake_clock();
    assert_int_equal(qs_store_restore(f.store, f.backup, 0, NULL, &err), QS_INVALID);
    assert_int_equal(qs_store_restore(f.store, "/nonexistent/file", 0, NULL, &err), QS_NOT_FOUND);
    assert_int_equal(qs_store_restore(f.store, f.root, 0, NULL, &err), QS_INVALID);
    scratch_write(f.backup, "garbage");
    assert_int_equal(qs_store_restore(f.store, f.backup, 0, NULL, &err), QS_DAMAGED);
    assert_int_equal(qs_store_backup(f.store, "/nonexistent/file", false, &err), QS_NOT_FOUND);
    store_is("{\"a\":1}");
    assert_int_equal(fsck().generation, 2);
    qs_store_close(defaults);
}

/* ---- repair ---- */

static void flip(off_t at)
{
    uint8_t byte;
    int fd = open(f.data, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static off_t newer_meta(void)
{
    struct qs_fsck_report report = fsck();
    return report.txn_id % 2 ? 4096 : 0;
}

static void repair_of_a_healthy_store_changes_nothing(void **state)
{
    (void)state;
    struct qs_repair_report *report = NULL;
    fixture_set(&f, "a", "1");
    ok(qs_store_repair(f.store, true, 0, &report, &err));
    assert_true(report->healthy);
    assert_int_equal(report->generation, 2);
    assert_int_equal(report->new_generation, 0);
    assert_int_equal(fsck().generation, 2);
    qs_repair_report_free(report);
}

static void repair_names_what_verifies_and_goes_back_only_when_told(void **state)
{
    (void)state;
    struct qs_repair_report *report = NULL;
    fixture_set(&f, "a", "1");     /* 2 */
    fixture_set(&f, "a", "2");     /* 3 */
    flip(newer_meta() + 16 + 130); /* within the newer meta's transaction id */
    fixture_fake_clock();
    struct qs_snapshot *snapshot = NULL;
    assert_int_equal(qs_snapshot_take(f.store, &snapshot, &err), QS_DAMAGED);
    ok(qs_store_repair(f.store, false, 0, &report, &err));
    assert_false(report->healthy);
    assert_int_equal(report->generation, 2);
    assert_int_equal(report->newest_known, 3);
    assert_int_equal(report->new_generation, 0);
    assert_true(report->damage->message[0]);
    qs_repair_report_free(report);
    assert_int_equal(qs_snapshot_take(f.store, &snapshot, &err), QS_DAMAGED); /* not yet */
    ok(qs_store_repair(f.store, true, 0, &report, &err));
    assert_int_equal(report->new_generation, 4);
    store_is("{\"a\":1}");
    struct qs_fsck_report after = fsck();
    assert_int_equal(after.generation, 4);
    assert_int_equal(after.records, 3); /* init, set, repair */
    char kept[400];
    (void)snprintf(kept, sizeof kept, "%s/system/%s", f.root, report->kept_aside);
    assert_true(scratch_exists(kept));
    fixture_set(&f, "b", "1");
    assert_int_equal(fsck().generation, 5);
    qs_repair_report_free(report);
}

static void repair_keeps_as_much_of_a_broken_history_as_it_can(void **state)
{
    (void)state;
    struct qs_repair_report *report = NULL;
    size_t len = 0;
    for (int i = 0; i < 6; i++) {
        char json[40];
        (void)snprintf(json, sizeof json, "\"marker-%d\"", i);
        fixture_set(&f, "a", json);
    }
    uint8_t *bytes = fixture_bytes(&f, &len);
    for (size_t at = 0; at + 8 < len; at++) /* every copy of the third change, in settings and history */
        if (memcmp(bytes + at, "marker-2", 8) == 0)
            bytes[at] = 'M';
    fixture_write_bytes(&f, bytes, len);
    free(bytes);
    store_is("{\"a\":\"marker-5\"}"); /* the settings themselves are whole: reading goes on */
    struct qs_fsck_report ignored = {.size = sizeof ignored};
    fixture_fake_clock();
    assert_int_equal(qs_store_fsck(f.store, &ignored, &err), QS_DAMAGED);
    assert_non_null(strstr(err.message, "generation 4"));
    ok(qs_store_repair(f.store, true, 0, &report, &err));
    assert_int_equal(report->generation, 7);
    assert_int_equal(report->records, 3);
    assert_int_equal(report->lost_records, 4);
    store_is("{\"a\":\"marker-5\"}");
    assert_int_equal(fsck().records, 4);
    qs_repair_report_free(report);
}

static void where_nothing_verifies_repair_says_so_and_offers_restore(void **state)
{
    (void)state;
    struct qs_repair_report *report = NULL;
    fixture_set(&f, "a", "1");
    flip(16 + 130);
    flip(4096 + 16 + 130);
    flip(16 + 24 + 40);
    flip(4096 + 16 + 24 + 40);
    flip(16 + 24 + 48 + 40);
    flip(4096 + 16 + 24 + 48 + 40);
    fixture_fake_clock();
    assert_int_equal(qs_store_repair(f.store, true, 0, &report, &err), QS_DAMAGED);
    assert_non_null(strstr(err.advice, "restore"));
    scratch_write(f.data, "");
    assert_int_equal(qs_store_repair(f.store, true, 0, &report, &err), QS_DAMAGED);
    assert_non_null(strstr(err.advice, "restore"));
    qs_repair_report_free(report);
}

static void a_store_in_the_place_of_another_scope_is_refused(void **state)
{
    (void)state;
    char to[160];
    char from[160];
    struct qs_store *defaults = NULL;
    struct qs_snapshot *snapshot = NULL;
    struct qs_txn *txn = NULL;
    (void)snprintf(from, sizeof from, "%s/system", f.root);
    (void)snprintf(to, sizeof to, "%s/defaults", f.root);
    assert_int_equal(rename(from, to), 0);
    ok(qs_store_open(QS_SCOPE_DEFAULTS,
                     &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = f.root}, &defaults,
                     &err));
    assert_int_equal(qs_snapshot_take(defaults, &snapshot, &err), QS_DAMAGED);
    assert_non_null(strstr(err.message, "scope system"));
    assert_int_equal(qs_txn_begin(defaults, 0, &txn, &err), QS_DAMAGED);
    qs_store_close(defaults);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(init_makes_generation_one_and_refuses_to_do_it_twice),
        TEST(init_of_the_system_scope_demands_the_store_unless_told_not_to),
        TEST(init_clears_away_what_a_killed_init_left),
        TEST(a_failed_init_leaves_no_store_or_one_that_is_demanded),
        TEST(a_rebuild_that_fails_says_what_is_stored),
        TEST(a_backup_has_no_name_before_it_is_whole),
        TEST(a_backup_is_written_where_files_without_a_name_are_not_known),
        TEST(numbers_are_not_used_twice_after_all_damage),
        TEST(init_makes_missing_parents),
        TEST(compact_keeps_everything_but_the_free_pages),
        TEST(a_restore_is_a_new_generation_above_all_known_ones),
        TEST(a_backup_restores_a_damaged_or_emptied_store),
        TEST(what_is_no_backup_of_this_scope_is_refused_and_nothing_changes),
        TEST(repair_of_a_healthy_store_changes_nothing),
        TEST(repair_names_what_verifies_and_goes_back_only_when_told),
        TEST(repair_keeps_as_much_of_a_broken_history_as_it_can),
        TEST(where_nothing_verifies_repair_says_so_and_offers_restore),
        TEST(a_store_in_the_place_of_another_scope_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
