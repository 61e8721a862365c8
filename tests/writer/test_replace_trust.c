/* SPDX-License-Identifier: Apache-2.0 */
/* What a replace relies on: nobody else could have placed the way to the file, no living writer is disturbed, and what
 * gets the file's name is on the disk before. */
#include "base/cleanup.h"
#include "qsettings/file.h"
#include "tests/support/as_user.h"
#include "tests/support/faults.h"
#include "tests/support/one_directory.h"
#include "tests/support/own_uid.h"
#include "writer/atomic_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

static uid_t ann; /* somebody else */

static void own(const char *path, uid_t uid, gid_t gid, mode_t mode)
{
    assert_int_equal(lchown(path, uid, gid), 0);
    if (!S_ISLNK(scratch_stat(path).st_mode))
        assert_int_equal(chmod(path, mode), 0);
}

static enum qs_status replace(const char *path)
{
    err = (struct qs_error){0};
    return qs_file_replace(path, "new", 3, NULL, &err);
}

static void refused(const char *path, const char *words)
{
    enum qs_status status = replace(path);
    if (status != QS_UNTRUSTED || !strstr(err.message, words))
        fail_msg("%s: %s: %s", path, qs_status_name(status), err.message);
}

static void replaced(const char *path)
{
    if (replace(path) != QS_OK)
        fail_msg("%s: %s: %s", path, qs_status_name(err.status), err.message);
}

static void root_goes_through_no_directory_that_others_may_write(void **state)
{
    (void)state;
    static const struct {
        bool foreign_owner, foreign_group;
        mode_t mode;
        const char *refusal; /* NULL: it is good */
    } rows[] = {
        {false, false, 0755, NULL},
        {false, false, 0775, NULL},
        {false, true, 0755, NULL},
        {false, true, 0775, "writable by other users"},
        {false, false, 0757, "writable by"},
        {false, true, 01775, NULL},
        {false, false, 01777, NULL},
        {true, false, 0755, "belongs to another user"},
        {true, true, 0700, "belongs to another user"},
    };
    assert_int_equal(mkdir(in("way"), 0755), 0);
    assert_int_equal(mkdir(in("way/to"), 0755), 0);
    scratch_write(in("way/to/file"), "old");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        own(in("way"), rows[i].foreign_owner ? ann : 0, rows[i].foreign_group ? ann : 0, rows[i].mode);
        if (rows[i].refusal)
            refused(in("way/to/file"), rows[i].refusal);
        else
            replaced(in("way/to/file"));
        struct qs_replace_options anyway = {.size = sizeof anyway, .flags = QS_REPLACE_OTHER_OWNER};
        assert_int_equal(qs_file_replace(in("way/to/file"), "new", 3, &anyway, &err), QS_OK);
    }
}

/* As fs.protected_symlinks has it. */
static void a_link_in_a_shared_directory_is_followed_for_its_owner_alone(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("shared"), 0755), 0);
    scratch_write(in("file"), "old");
    assert_int_equal(symlink("../file", in("shared/link")), 0);
    own(in("shared"), 0, 0, 01777);
    replaced(in("shared/link"));
    own(in("shared/link"), ann, ann, 0);
    refused(in("shared/link"), "open to everyone belongs to another user");
    own(in("shared"), 0, 0, 0755); /* where only root can have put it */
    replaced(in("shared/link"));
}

static int ann_replaces(void *path)
{
    return replace(path) == QS_UNTRUSTED && strstr(err.message, "another user") ? 0 : 1;
}

static void nobodys_file_is_replaced_by_another_user(void **state)
{
    (void)state;
    scratch_write(in("anns"), "old");
    own(in("anns"), ann, ann, 0644);
    refused(in("anns"), "belongs to another user");
    assert_true(scratch_holds(in("anns"), "old"));
    assert_int_equal(mkdir(in("home"), 0755), 0);
    scratch_write(in("home/roots"), "old");
    own(in("home"), ann, ann, 0755);
    assert_int_equal(as_user(ann, ann, ann_replaces, (void *)(uintptr_t)in("home/roots")), 0);
    assert_true(scratch_holds(in("home/roots"), "old"));
}

static void what_a_living_writer_works_on_stays(void **state)
{
    (void)state;
    char hash[FILE_HASH_BYTES], name[64];
    file_hash("file", hash);
    (void)snprintf(name, sizeof name, ".qs-tmp-%s-0123456789abcdef", hash);
    scratch_write(in(name), "half");
    int fd = open(in(name), O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    replaced(in("file"));
    assert_true(scratch_holds(in(name), "half"));
    (void)close(fd); /* it died */
    replaced(in("file"));
    assert_false(scratch_exists(in(name)));
}

/* ---- order ---- */

static char calls[256]; /* of those that matter: one letter each */

static void note(unsigned number, const char *call, void *context)
{
    static const struct {
        const char *name, *letter;
    } letters[] = {{"write", "w"}, {"fsync", "f"}, {"renameat2", "r"}};
    (void)number;
    (void)context;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (strcmp(call, letters[i].name) == 0)
            (void)strcat(calls, letters[i].letter);
}

/* Content, its flush, the name, the directory's flush. */
static void content_is_flushed_before_it_gets_its_name_and_the_directory_after(void **state)
{
    (void)state;
    for (int there = 0; there < 2; there++) {
        calls[0] = '\0';
        faults_start(&(struct fault){.kind = FAULT_NONE, .before = note});
        enum qs_status status = replace(in("file"));
        (void)faults_stop();
        assert_int_equal(status, QS_OK);
        assert_string_equal(calls, "wfrf");
    }
}

static int set_up_users(void **state)
{
    (void)state;
    ann = own_uid();
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(root_goes_through_no_directory_that_others_may_write),
        TEST(a_link_in_a_shared_directory_is_followed_for_its_owner_alone),
        TEST(nobodys_file_is_replaced_by_another_user),
        TEST(what_a_living_writer_works_on_stays),
        TEST(content_is_flushed_before_it_gets_its_name_and_the_directory_after),
    };
    if (geteuid() != 0) {
        printf("1..0 # SKIP other users can be had by root only\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, set_up_users, NULL);
}
