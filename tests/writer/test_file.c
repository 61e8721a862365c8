/* SPDX-License-Identifier: Apache-2.0 */
/* The atomic file writer: what it replaces, what it refuses and why, backups, strays. */
#include "qsettings/file.h"
#include "tests/support/as_user.h"
#include "tests/support/faults.h"
#include "tests/support/one_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static enum qs_status replace_with(const char *file, const char *text, unsigned flags)
{
    struct qs_replace_options options = {.size = sizeof options, .flags = flags};
    err = (struct qs_error){0};
    return qs_file_replace(file, text, strlen(text), &options, &err);
}

static enum qs_status replace(const char *file, const char *text)
{
    return replace_with(file, text, 0);
}

static void assert_refused(const char *file, unsigned flags, enum qs_status status, const char *reason)
{
    enum qs_status got = replace_with(file, "new", flags);
    if (got != status || !strstr(err.message, reason))
        fail_msg("%s: %d '%s' instead of %d '%s'", file, got, err.message, status, reason);
    assert_int_equal(err.status, status);
    assert_string_equal(err.file, file);
    assert_int_equal(scratch_count(scratch.dir, ".qs-"), 0);
}

static void a_new_file_appears_with_the_umasks_mode(void **state)
{
    (void)state;
    mode_t old = umask(027);
    assert_int_equal(replace(in("new"), "text"), QS_OK);
    (void)umask(old);
    assert_true(scratch_holds(in("new"), "text"));
    assert_int_equal(scratch_stat(in("new")).st_mode & 07777, 0640);
    assert_int_equal(scratch_count(scratch.dir, ""), 1);
}

static void a_new_file_gets_the_mode_that_was_asked_for(void **state)
{
    (void)state;
    mode_t old = umask(077);
    struct qs_replace_options options = {.size = sizeof options, .mode = 0644};
    assert_int_equal(qs_file_replace(in("new"), "x", 1, &options, &err), QS_OK);
    (void)umask(old);
    assert_int_equal(scratch_stat(in("new")).st_mode & 07777, 0644);
}

static void the_content_is_replaced_and_a_shorter_one_leaves_no_tail(void **state)
{
    (void)state;
    scratch_write(in("file"), "a rather long former content");
    ino_t before = scratch_stat(in("file")).st_ino;
    assert_int_equal(replace(in("file"), "short"), QS_OK);
    assert_true(scratch_holds(in("file"), "short"));
    assert_int_not_equal(scratch_stat(in("file")).st_ino, before); /* a new file, not the old one rewritten */
    assert_int_equal(replace(in("file"), ""), QS_OK);
    assert_true(scratch_holds(in("file"), ""));
    assert_int_equal(scratch_count(scratch.dir, ""), 1);
}

static void bytes_of_any_kind_and_size_come_out_as_they_went_in(void **state)
{
    (void)state;
    size_t len = 3u * 1024 * 1024 + 7, got_len = 0;
    unsigned char *data = malloc(len);
    assert_non_null(data);
    for (size_t i = 0; i < len; i++)
        data[i] = (unsigned char)(i * 2654435761u >> 24);
    assert_int_equal(qs_file_replace(in("file"), data, len, NULL, &err), QS_OK);
    char *got = scratch_read(in("file"), &got_len);
    assert_int_equal(got_len, len);
    assert_memory_equal(got, data, len);
    free(got);
    free(data);
}

static void an_open_reader_keeps_the_old_content_whole(void **state)
{
    (void)state;
    char buf[16] = {0};
    scratch_write(in("file"), "old content");
    int fd = open(in("file"), O_RDONLY);
    assert_int_equal(replace(in("file"), "new"), QS_OK);
    assert_int_equal(read(fd, buf, sizeof buf), 11);
    assert_string_equal(buf, "old content");
    (void)close(fd);
}

static void links_are_followed_through_all_hops_and_stay(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("sub"), 0755), 0);
    scratch_write(in("sub/target"), "old");
    assert_int_equal(symlink("sub/middle", in("first")), 0);
    assert_int_equal(symlink("../last", in("sub/middle")), 0);
    assert_int_equal(symlink(in("sub/target"), in("last")), 0);
    assert_int_equal(replace(in("first"), "new"), QS_OK);
    assert_true(scratch_holds(in("sub/target"), "new"));
    assert_true(S_ISLNK(scratch_stat(in("first")).st_mode));
    assert_true(S_ISLNK(scratch_stat(in("sub/middle")).st_mode));
    assert_true(S_ISLNK(scratch_stat(in("last")).st_mode));
    assert_true(S_ISREG(scratch_stat(in("sub/target")).st_mode));
    assert_int_equal(scratch_count(in("sub"), ""), 2);
}

static void a_dangling_link_is_refused_unless_asked_for(void **state)
{
    (void)state;
    assert_int_equal(symlink("nowhere", in("link")), 0);
    assert_refused(in("link"), 0, QS_INVALID, "link to a file that does not exist");
    assert_non_null(strstr(err.advice, "QS_REPLACE_DANGLING"));
    assert_false(scratch_exists(in("nowhere")));
    assert_int_equal(replace_with(in("link"), "new", QS_REPLACE_DANGLING), QS_OK);
    assert_true(scratch_holds(in("nowhere"), "new"));
    assert_true(S_ISLNK(scratch_stat(in("link")).st_mode));
}

static void a_loop_of_links_is_reported(void **state)
{
    (void)state;
    assert_int_equal(symlink("b", in("a")), 0);
    assert_int_equal(symlink("a", in("b")), 0);
    assert_refused(in("a"), 0, QS_INVALID, "40 symbolic links");
}

static void a_hard_linked_file_is_refused_unless_asked_for(void **state)
{
    (void)state;
    scratch_write(in("file"), "old");
    assert_int_equal(link(in("file"), in("other")), 0);
    assert_refused(in("file"), 0, QS_INVALID, "2 names");
    assert_non_null(strstr(err.advice, "QS_REPLACE_HARDLINKED"));
    assert_true(scratch_holds(in("file"), "old"));
    assert_int_equal(replace_with(in("file"), "new", QS_REPLACE_HARDLINKED), QS_OK);
    assert_true(scratch_holds(in("file"), "new"));
    assert_true(scratch_holds(in("other"), "old"));
}

static void what_is_no_regular_file_is_refused_by_its_kind(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("dir"), 0755), 0);
    assert_int_equal(mkfifo(in("fifo"), 0644), 0);
    assert_int_equal(mknod(in("device"), S_IFCHR | 0644, makedev(1, 3)), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%.80s/socket", scratch.dir);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    (void)close(fd);
    unsigned all = QS_REPLACE_DANGLING | QS_REPLACE_HARDLINKED | QS_REPLACE_OTHER_OWNER;
    assert_refused(in("dir"), all, QS_INVALID, "a directory");
    assert_refused(in("fifo"), all, QS_INVALID, "a FIFO");
    assert_refused(in("device"), all, QS_INVALID, "a device");
    assert_refused(in("socket"), all, QS_INVALID, "a socket");
    assert_refused(in("dir/"), all, QS_INVALID, "names a directory");
    assert_refused(in("dir/."), all, QS_INVALID, "names a directory");
    assert_refused(in("dir/.."), all, QS_INVALID, "names a directory");
    assert_refused("/", all, QS_INVALID, "names a directory");
}

static void a_missing_directory_a_file_as_directory_and_long_names_are_refused(void **state)
{
    (void)state;
    char name[400];
    scratch_write(in("file"), "x");
    assert_refused(in("missing/file"), 0, QS_NOT_FOUND, "missing");
    assert_refused(in("file/below"), 0, QS_INVALID, "Not a directory");
    assert_refused(in("file/"), 0, QS_INVALID, "names a directory");
    memset(name, 'n', sizeof name);
    name[256] = '\0';
    assert_refused(in(name), 0, QS_INVALID, "256 bytes");
    name[255] = '\0';
    assert_int_equal(replace(in(name), "new"), QS_OK); /* the longest there is */
    assert_int_equal(replace(in(name), "newer"), QS_OK);
    assert_refused(in(name), QS_REPLACE_BACKUP, QS_INVALID, "too long for a backup");
    assert_true(scratch_holds(in(name), "newer"));
}

static void a_call_without_sense_is_refused(void **state)
{
    (void)state;
    struct qs_replace_options setuid = {.size = sizeof setuid, .mode = 04755};
    struct qs_replace_options both = {.size = sizeof both,
                                      .flags = QS_REPLACE_NEW_ONLY,
                                      .expect = "x",
                                      .expect_len = 1};
    assert_int_equal(qs_file_replace(NULL, "x", 1, NULL, &err), QS_USAGE);
    assert_int_equal(qs_file_replace("", "x", 1, NULL, &err), QS_USAGE);
    assert_int_equal(qs_file_replace(in("a"), NULL, 1, NULL, NULL), QS_USAGE);
    assert_int_equal(qs_file_replace(in("a"), "x", 1, &setuid, &err), QS_USAGE);
    assert_int_equal(qs_file_replace(in("a"), "x", 1, &both, &err), QS_USAGE);
    assert_false(scratch_exists(in("a")));
}

static void new_only_refuses_an_existing_file(void **state)
{
    (void)state;
    scratch_write(in("file"), "old");
    assert_refused(in("file"), QS_REPLACE_NEW_ONLY, QS_CONFLICT, "exists already");
    assert_true(scratch_holds(in("file"), "old"));
    assert_int_equal(replace_with(in("new"), "x", QS_REPLACE_NEW_ONLY), QS_OK);
}

static void make_file(unsigned number, const char *call, void *context)
{
    (void)number;
    (void)call;
    if (!scratch_exists(context))
        scratch_write(context, "theirs");
}

static void a_new_file_never_replaces_one_that_appeared_meanwhile(void **state)
{
    (void)state;
    char path[SCRATCH_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s", in("file"));
    struct fault appear = {.at = 1, .only = "renameat2", .kind = FAULT_NONE, .before = make_file, .context = path};
    faults_start(&appear);
    assert_int_equal(replace_with(path, "ours", QS_REPLACE_NEW_ONLY), QS_CONFLICT);
    (void)faults_stop();
    assert_true(scratch_holds(path, "theirs"));
    assert_int_equal(unlink(path), 0);
    /* Without the flag the call starts over, and replaces what has appeared as it would any file: it keeps its mode. */
    faults_start(&appear);
    struct qs_replace_options options = {.size = sizeof options, .mode = 0600};
    assert_int_equal(qs_file_replace(path, "ours", 4, &options, &err), QS_OK);
    (void)faults_stop();
    assert_true(scratch_holds(path, "ours"));
    assert_int_equal(scratch_stat(path).st_mode & 07777, 0644);
}

static void without_rename_flags_a_new_file_is_linked_into_place(void **state)
{
    (void)state;
    faults_start(&(struct fault){.only = "renameat2", .code = EINVAL});
    assert_int_equal(replace(in("new"), "text"), QS_OK);
    assert_true(faults_were_hit());
    (void)faults_stop();
    assert_true(scratch_holds(in("new"), "text"));
    assert_int_equal(scratch_stat(in("new")).st_nlink, 1);
    assert_int_equal(scratch_count(scratch.dir, ""), 1);
}

static void a_backup_keeps_the_former_file_itself(void **state)
{
    (void)state;
    scratch_write(in("file"), "first");
    ino_t first = scratch_stat(in("file")).st_ino;
    assert_int_equal(replace_with(in("file"), "second", QS_REPLACE_BACKUP), QS_OK);
    assert_true(scratch_holds(in("file.bak"), "first"));
    assert_int_equal(scratch_stat(in("file.bak")).st_ino, first);
    assert_int_equal(replace_with(in("file"), "third", QS_REPLACE_BACKUP), QS_OK);
    assert_true(scratch_holds(in("file"), "third"));
    assert_true(scratch_holds(in("file.bak"), "second"));
    assert_int_equal(scratch_stat(in("file.bak")).st_nlink, 1);
    assert_int_equal(scratch_count(scratch.dir, ""), 2);
    assert_int_equal(replace_with(in("new"), "x", QS_REPLACE_BACKUP), QS_OK);
    assert_false(scratch_exists(in("new.bak"))); /* there was nothing to keep */
}

static void must_exist(unsigned number, const char *call, void *context)
{
    char **paths = context;
    for (; *paths; paths++)
        if (!scratch_exists(*paths))
            fail_msg("%s is absent before call %u (%s)", *paths, number, call);
}

static void neither_file_nor_backup_is_ever_absent(void **state)
{
    (void)state;
    char *paths[] = {strdup(in("file")), strdup(in("file.bak")), NULL};
    scratch_write(paths[0], "old");
    scratch_write(paths[1], "older");
    for (int expecting = 0; expecting < 2; expecting++) {
        struct qs_replace_options options = {.size = sizeof options, .flags = QS_REPLACE_BACKUP};
        if (expecting) {
            options.expect = "new";
            options.expect_len = 3;
        }
        faults_start(&(struct fault){.kind = FAULT_NONE, .before = must_exist, .context = paths});
        assert_int_equal(qs_file_replace(paths[0], "new", 3, &options, &err), QS_OK);
        assert_true(faults_stop() > 10);
    }
    free(paths[0]);
    free(paths[1]);
}

static void a_backup_that_was_interrupted_is_no_hard_link_to_refuse(void **state)
{
    (void)state;
    scratch_write(in("file"), "old");
    assert_int_equal(link(in("file"), in("file.bak")), 0);
    assert_int_equal(replace(in("file"), "new"), QS_OK);
    assert_true(scratch_holds(in("file.bak"), "old"));
    assert_int_equal(unlink(in("file.bak")), 0);
    assert_int_equal(link(in("file"), in("file.bak")), 0);
    assert_int_equal(replace_with(in("file"), "newer", QS_REPLACE_BACKUP), QS_OK);
    assert_true(scratch_holds(in("file.bak"), "new"));
    assert_int_equal(scratch_count(scratch.dir, ""), 2);
}

static int small_disk(void *context)
{
    (void)context;
    char text[256 * 1024];
    memset(text, 'x', sizeof text);
    if (mount("tmpfs", scratch.dir, "tmpfs", 0, "size=64k,mode=0755") != 0)
        return 1;
    scratch_write(in("file"), "old");
    enum qs_status status = qs_file_replace(in("file"), text, sizeof text, NULL, &err);
    return !(status == QS_IO && err.sys_errno == ENOSPC && scratch_holds(in("file"), "old") &&
             scratch_count(scratch.dir, "") == 1);
}

static void a_full_disk_leaves_the_old_file_and_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(in_mount_namespace(small_disk, NULL), 0);
}

static int mounted_file(void *context)
{
    (void)context;
    if (mount(in("other"), in("file"), NULL, MS_BIND, NULL) != 0)
        return 1;
    enum qs_status status = replace(in("file"), "new");
    return !(status == QS_IO && err.sys_errno == EBUSY && strstr(err.advice, "mount point") &&
             scratch_holds(in("other"), "other") && scratch_count(scratch.dir, ".qs-") == 0);
}

static void a_file_that_is_a_mount_point_is_refused_with_the_reason(void **state)
{
    (void)state;
    scratch_write(in("file"), "old");
    scratch_write(in("other"), "other");
    assert_int_equal(in_mount_namespace(mounted_file, NULL), 0);
    assert_true(scratch_holds(in("file"), "old"));
}

static int read_only_disk(void *context)
{
    (void)context;
    if (mount(scratch.dir, scratch.dir, NULL, MS_BIND, NULL) != 0 ||
        mount(NULL, scratch.dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
        return 1;
    return !(replace(in("file"), "new") == QS_UNTRUSTED && err.sys_errno == EROFS);
}

static void a_read_only_file_system_is_not_permitted(void **state)
{
    (void)state;
    scratch_write(in("file"), "old");
    assert_int_equal(in_mount_namespace(read_only_disk, NULL), 0);
    assert_true(scratch_holds(in("file"), "old"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_new_file_appears_with_the_umasks_mode),
        TEST(a_new_file_gets_the_mode_that_was_asked_for),
        TEST(the_content_is_replaced_and_a_shorter_one_leaves_no_tail),
        TEST(bytes_of_any_kind_and_size_come_out_as_they_went_in),
        TEST(an_open_reader_keeps_the_old_content_whole),
        TEST(links_are_followed_through_all_hops_and_stay),
        TEST(a_dangling_link_is_refused_unless_asked_for),
        TEST(a_loop_of_links_is_reported),
        TEST(a_hard_linked_file_is_refused_unless_asked_for),
        TEST(what_is_no_regular_file_is_refused_by_its_kind),
        TEST(a_missing_directory_a_file_as_directory_and_long_names_are_refused),
        TEST(a_call_without_sense_is_refused),
        TEST(new_only_refuses_an_existing_file),
        TEST(a_new_file_never_replaces_one_that_appeared_meanwhile),
        TEST(without_rename_flags_a_new_file_is_linked_into_place),
        TEST(a_backup_keeps_the_former_file_itself),
        TEST(neither_file_nor_backup_is_ever_absent),
        TEST(a_backup_that_was_interrupted_is_no_hard_link_to_refuse),
        TEST(a_full_disk_leaves_the_old_file_and_nothing_else),
        TEST(a_file_that_is_a_mount_point_is_refused_with_the_reason),
        TEST(a_read_only_file_system_is_not_permitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
