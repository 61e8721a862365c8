/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishing while the world moves: an edit, a newer publisher, a fault or a kill at each system call; and the record
 * where a file system has no attributes.
 */
#include "qsettings/publish.h"
#include "tests/support/as_user.h"
#include "tests/support/faults.h"
#include "tests/support/scratch.h"
#include "tests/support/stores.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#define OLD_TEXT   "{\n  \"n\": 1\n}\n"
#define NEW_TEXT   "{\n  \"n\": 2\n}\n"
#define NEWER_TEXT "{\n  \"n\": 3\n}\n"

static struct scratch scratch;
static struct qs_store *store;
static struct qs_error err;
static char file[SCRATCH_PATH_BYTES], out[SCRATCH_PATH_BYTES];
static struct qs_target target;

/* The store holds n = 2, the file is what n = 1 gave. */
static void prepare(void)
{
    (void)snprintf(out, sizeof out, "%s", scratch_path(&scratch, "out"));
    (void)snprintf(file, sizeof file, "%s", scratch_path(&scratch, "out/settings.json"));
    target = (struct qs_target){.size = sizeof(struct qs_target), .file = file, .scope = QS_SCOPE_SYSTEM};
    stores_set(store, "n", "1");
    if (scratch_exists(file))
        assert_int_equal(unlink(file), 0);
    if (qs_publish(store, &target, 0, NULL, &err) != QS_OK)
        fail_msg("%s", err.message);
    assert_true(scratch_holds(file, OLD_TEXT));
    stores_set(store, "n", "2");
    err = (struct qs_error){0};
}

static int setup(void **state)
{
    (void)state;
    scratch_make_in_memory(&scratch);
    assert_int_equal(mkdir(scratch_path(&scratch, "out"), 0755), 0);
    store = stores_open(scratch.dir, QS_SCOPE_SYSTEM);
    prepare();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    qs_store_close(store);
    scratch_remove(&scratch);
    return 0;
}

static enum qs_status publish(void)
{
    err = (struct qs_error){0};
    return qs_publish(store, &target, 0, NULL, &err);
}

static unsigned count_calls(void)
{
    faults_start(&(struct fault){.kind = FAULT_NONE});
    assert_int_equal(publish(), QS_OK);
    unsigned calls = faults_stop();
    prepare();
    assert_in_range(calls, 20, 400);
    return calls;
}

static void edit(unsigned number, const char *call, void *context)
{
    (void)number;
    (void)call;
    char temp[SCRATCH_PATH_BYTES + 8];
    if (*(const bool *)context) {
        (void)snprintf(temp, sizeof temp, "%s.mine", file);
        scratch_write(temp, "my edit");
        assert_int_equal(rename(temp, file), 0);
    } else {
        scratch_write(file, "my edit");
    }
}

static void no_edit_at_any_moment_is_lost(void **state)
{
    (void)state;
    unsigned calls = count_calls(), conflicts = 0;
    for (unsigned at = 1; at <= calls; at++)
        for (int by_rename = 0; by_rename < 2; by_rename++) {
            bool how = by_rename;
            prepare();
            faults_start(&(struct fault){.at = at, .kind = FAULT_NONE, .before = edit, .context = &how});
            enum qs_status status = publish();
            (void)faults_stop();
            if (status != QS_OK && status != QS_CONFLICT)
                fail_msg("edit before call %u: %s", at, err.message);
            if (!scratch_holds(file, "my edit"))
                fail_msg("edit before call %u is lost", at);
            assert_int_equal(scratch_count(out, ""), 1);
            assert_int_equal(publish(), QS_CONFLICT); /* and it is told of from now on */
            conflicts += status == QS_CONFLICT;
        }
    assert_true(conflicts > calls / 2);
}

static void remove_file(unsigned number, const char *call, void *context)
{
    (void)number;
    (void)call;
    (void)context;
    if (scratch_exists(file))
        assert_int_equal(unlink(file), 0);
}

static void a_file_removed_at_any_moment_is_published_again(void **state)
{
    (void)state;
    unsigned calls = count_calls();
    for (unsigned at = 1; at <= calls; at++) {
        prepare();
        faults_start(&(struct fault){.at = at, .kind = FAULT_NONE, .before = remove_file});
        enum qs_status status = publish();
        (void)faults_stop();
        if (status != QS_OK)
            fail_msg("removed before call %u: %s", at, err.message);
        assert_int_equal(publish(), QS_OK);
        assert_true(scratch_holds(file, NEW_TEXT));
        assert_int_equal(scratch_count(out, ""), 1);
    }
}

static void publish_newer(unsigned number, const char *call, void *context)
{
    (void)number;
    (void)call;
    (void)context;
    stores_set(store, "n", "3");
    if (qs_publish(store, &target, 0, NULL, NULL) != QS_OK)
        abort();
}

static void an_older_text_is_never_put_over_a_newer_one(void **state)
{
    (void)state;
    unsigned calls = count_calls();
    for (unsigned at = 1; at <= calls; at++) {
        prepare();
        faults_start(&(struct fault){.at = at, .kind = FAULT_NONE, .before = publish_newer});
        enum qs_status status = publish();
        (void)faults_stop();
        /* The other one must not be taken for somebody who edits. */
        if (status != QS_OK)
            fail_msg("a newer publisher before call %u: %s", at, err.message);
        if (!scratch_holds(file, NEWER_TEXT))
            fail_msg("a newer publisher before call %u was overwritten", at);
        assert_int_equal(scratch_count(out, ""), 1);
    }
}

static void check_made_good(const char *what, unsigned at)
{
    char *text = scratch_read(file, NULL);
    if (!text || (strcmp(text, OLD_TEXT) != 0 && strcmp(text, NEW_TEXT) != 0))
        fail_msg("%s call %u: the file is %s", what, at, text ? text : "absent");
    free(text);
    if (publish() != QS_OK)
        fail_msg("%s call %u: the next call: %s", what, at, err.message);
    if (!scratch_holds(file, NEW_TEXT))
        fail_msg("%s call %u: not made good", what, at);
}

static void each_call_failing_is_made_good_by_the_next(void **state)
{
    (void)state;
    unsigned calls = count_calls();
    for (unsigned at = 1; at <= calls; at++) {
        prepare();
        faults_start(&(struct fault){.at = at, .code = EIO});
        enum qs_status status = publish();
        (void)faults_stop();
        if (status == QS_OK && !scratch_holds(file, NEW_TEXT))
            fail_msg("call %u (%s): done, it says", at, faults_call_hit());
        check_made_good("EIO at", at);
        stores_set(store, "n", "3"); /* what could not be removed goes when something is written next */
        assert_int_equal(publish(), QS_OK);
        assert_int_equal(scratch_count(out, ""), 1);
    }
}

static void die_here(unsigned number, const char *call, void *context)
{
    (void)number;
    (void)call;
    (void)context;
    (void)kill(getpid(), SIGKILL);
}

static void a_kill_at_each_call_is_made_good_by_the_next(void **state)
{
    (void)state;
    unsigned calls = count_calls();
    for (unsigned at = 1; at <= calls; at++) {
        int how = 0;
        prepare();
        pid_t child = fork();
        if (child == 0) {
            faults_start(&(struct fault){.at = at, .kind = FAULT_NONE, .before = die_here});
            (void)!publish();
            _exit(0);
        }
        assert_int_equal(waitpid(child, &how, 0), child);
        assert_true(WIFSIGNALED(how));
        check_made_good("killed before", at);
        /* The next call that writes leaves nothing of the dead one. */
        stores_set(store, "n", "3");
        assert_int_equal(publish(), QS_OK);
        assert_int_equal(scratch_count(out, ""), 1);
    }
}

static void a_crash_between_commit_and_publishing_is_made_good(void **state)
{
    (void)state;
    size_t written = 0;
    assert_int_equal(qs_publish_register(store, &target, NULL, 1000, NULL, &err), QS_OK);
    assert_int_equal(qs_publish_registered(store, NULL, &err), QS_OK);
    stores_set(store, "n", "3"); /* and the one who committed dies here */
    assert_int_equal(qs_publish_registered(store, &written, &err), QS_OK);
    assert_int_equal(written, 1);
    assert_true(scratch_holds(file, NEWER_TEXT));
}

/* ---- a file system without attributes: ramfs ---- */

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            (void)fprintf(stderr, "# line %d: %s: %s\n", __LINE__, #condition, err.message); \
            return 1; \
        } \
    } while (0)

static int mount_plain(void)
{
    if (mount("ramfs", out, "ramfs", 0, NULL) != 0 || chmod(out, 0755) != 0)
        return 1;
    errno = 0;
    return setxattr(out, "user.x", "", 0, 0) == 0 || errno != EOPNOTSUPP; /* it must be what this test is about */
}

static int without_attributes(void *context)
{
    (void)context;
    if (mount_plain() != 0)
        return 1;
    EXPECT(publish() == QS_OK);
    EXPECT(scratch_holds(file, NEW_TEXT));
    EXPECT(scratch_count(out, ".qs-pub-") == 1 && scratch_count(out, "") == 2);
    EXPECT(publish() == QS_OK);
    stores_set(store, "n", "3");
    EXPECT(publish() == QS_OK);
    EXPECT(scratch_holds(file, NEWER_TEXT));
    scratch_write(file, NEW_TEXT); /* what was published before the last one is somebody's edit, too */
    EXPECT(publish() == QS_CONFLICT);
    EXPECT(scratch_holds(file, NEW_TEXT));
    EXPECT(qs_publish(store, &target, QS_PUBLISH_FORCE, NULL, &err) == QS_OK);
    EXPECT(publish() == QS_OK);
    EXPECT(scratch_count(out, "") == 2);
    return 0;
}

static void without_attributes_the_record_stands_beside(void **state)
{
    (void)state;
    assert_int_equal(in_mount_namespace(without_attributes, NULL), 0);
}

static int killed_without_attributes(void *context)
{
    (void)context;
    if (mount_plain() != 0)
        return 1;
    EXPECT(publish() == QS_OK);
    stores_set(store, "n", "3");
    faults_start(&(struct fault){.kind = FAULT_NONE});
    EXPECT(publish() == QS_OK);
    unsigned calls = faults_stop();
    for (unsigned at = 1; at <= calls; at++) {
        int how = 0;
        stores_set(store, "n", "2");
        EXPECT(publish() == QS_OK);
        stores_set(store, "n", "3");
        pid_t child = fork();
        if (child == 0) {
            faults_start(&(struct fault){.at = at, .kind = FAULT_NONE, .before = die_here});
            (void)!publish();
            _exit(0);
        }
        EXPECT(waitpid(child, &how, 0) == child && WIFSIGNALED(how));
        char *text = scratch_read(file, NULL);
        bool complete = text && (!strcmp(text, NEW_TEXT) || !strcmp(text, NEWER_TEXT));
        free(text);
        EXPECT(complete);
        EXPECT(publish() == QS_OK); /* never taken for an edit */
        EXPECT(scratch_holds(file, NEWER_TEXT));
    }
    return 0;
}

static void without_attributes_a_kill_at_each_call_is_made_good(void **state)
{
    (void)state;
    assert_int_equal(in_mount_namespace(killed_without_attributes, NULL), 0);
}

static int forced_without_attributes(void *context)
{
    (void)context;
    if (mount_plain() != 0)
        return 1;
    scratch_write(file, "my edit");
    /* Forcing fails after it was announced: the edit must not count as published now. */
    faults_start(&(struct fault){.at = 1, .only = "mkdirat", .code = EIO});
    EXPECT(qs_publish(store, &target, QS_PUBLISH_FORCE, NULL, &err) == QS_IO);
    (void)faults_stop();
    EXPECT(publish() == QS_CONFLICT);
    EXPECT(scratch_holds(file, "my edit"));
    return 0;
}

static void without_attributes_a_forcing_that_failed_makes_no_edit_ours(void **state)
{
    (void)state;
    assert_int_equal(in_mount_namespace(forced_without_attributes, NULL), 0);
}

/* Without an exchange an edit could be lost: refused, but not where overwriting is what was asked for. */
static void without_exchange_only_forcing_publishes(void **state)
{
    (void)state;
    /* Per replacement the second rename is the exchange: calls 2, 4, ... */
    faults_start(&(struct fault){.at = 2, .only = "renameat2", .code = EINVAL});
    assert_int_equal(publish(), QS_INVALID);
    (void)faults_stop();
    assert_true(scratch_holds(file, OLD_TEXT));
    faults_start(&(struct fault){.at = 2, .only = "renameat2", .code = EINVAL});
    assert_int_equal(qs_publish(store, &target, QS_PUBLISH_FORCE, NULL, &err), QS_OK);
    (void)faults_stop();
    assert_true(scratch_holds(file, NEW_TEXT));
    assert_int_equal(publish(), QS_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_edit_at_any_moment_is_lost),
        TEST(a_file_removed_at_any_moment_is_published_again),
        TEST(an_older_text_is_never_put_over_a_newer_one),
        TEST(each_call_failing_is_made_good_by_the_next),
        TEST(a_kill_at_each_call_is_made_good_by_the_next),
        TEST(a_crash_between_commit_and_publishing_is_made_good),
        TEST(without_attributes_the_record_stands_beside),
        TEST(without_attributes_a_kill_at_each_call_is_made_good),
        TEST(without_attributes_a_forcing_that_failed_makes_no_edit_ours),
        TEST(without_exchange_only_forcing_publishes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
