/* SPDX-License-Identifier: Apache-2.0 */
/* Link resolution: the same end as the kernel's own, or a refusal with its reason. */
#include "writer/resolve_target.h"

#include "base/cleanup.h"
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
#include <unistd.h>

#include <cmocka.h>

/*  a/file   a/b/   a/up -> ..   a/b/over -> ../file   top -> a   deep -> top/b/over   abs -> (absolute) a/file
 *  gone -> a/missing   far -> missing/file   self -> self   slash -> a/file/   dir -> a/b/  */
static int setup_links(void **state)
{
    (void)setup(state);
    assert_int_equal(mkdir(in("a"), 0755), 0);
    assert_int_equal(mkdir(in("a/b"), 0755), 0);
    scratch_write(in("a/file"), "text");
    assert_int_equal(symlink("..", in("a/up")), 0);
    assert_int_equal(symlink("../file", in("a/b/over")), 0);
    assert_int_equal(symlink("a", in("top")), 0);
    assert_int_equal(symlink("top/b/over", in("deep")), 0);
    assert_int_equal(symlink(in("a/file"), in("abs")), 0);
    assert_int_equal(symlink("a/missing", in("gone")), 0);
    assert_int_equal(symlink("missing/file", in("far")), 0);
    assert_int_equal(symlink("self", in("self")), 0);
    assert_int_equal(symlink("a/file/", in("slash")), 0);
    assert_int_equal(symlink("a/b/", in("dir")), 0);
    return 0;
}

/* Where the kernel ends must be where we end. */
static void assert_same_end(const char *path, unsigned hops)
{
    AUTO(resolved_target_release) struct resolved_target target = {.dir_fd = -1};
    struct stat kernel, ours;
    err = (struct qs_error){0};
    if (resolve_target(path, 0, &target, &err) != QS_OK)
        fail_msg("%s: %s", path, err.message);
    assert_true(target.exists);
    assert_int_equal(target.hops, hops);
    assert_int_equal(stat(path, &kernel), 0);
    assert_int_equal(fstatat(target.dir_fd, target.name, &ours, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(ours.st_ino == kernel.st_ino && ours.st_dev == kernel.st_dev);
    assert_true(target.st.st_ino == kernel.st_ino);
}

static void assert_refused(const char *path, enum qs_status status, const char *reason)
{
    struct resolved_target target = {.dir_fd = -77};
    err = (struct qs_error){0};
    enum qs_status got = resolve_target(path, 0, &target, &err);
    if (got != status || !strstr(err.message, reason))
        fail_msg("%s: %d '%s' instead of %d '%s'", path, got, err.message, status, reason);
    assert_int_equal(target.dir_fd, -77); /* untouched on failure */
}

static void names_end_where_the_kernel_ends(void **state)
{
    (void)state;
    assert_same_end(in("a/file"), 0);
    assert_same_end(in("a//b/..///file"), 0);
    assert_same_end(in("./a/./b/../file"), 0);
    assert_same_end(in("a/up/a/up/a/file"), 2);
    assert_same_end(in("top/file"), 1);
    assert_same_end(in("top/up/top/b/over"), 4);
    assert_same_end(in("deep"), 3);
    assert_same_end(in("abs"), 1);
    assert_same_end("/../../proc/version", 0);
    assert_same_end("/proc/self/status", 1); /* an ordinary link of /proc is followed */
}

static void relative_names_start_at_the_working_directory(void **state)
{
    (void)state;
    int before = open(".", O_PATH | O_DIRECTORY);
    assert_int_equal(chdir(in("a/b")), 0);
    assert_same_end("over", 1);
    assert_same_end("../file", 0);
    assert_same_end("../up/deep", 4);
    assert_int_equal(fchdir(before), 0);
    (void)close(before);
}

static void what_does_not_exist_is_told_apart(void **state)
{
    (void)state;
    AUTO(resolved_target_release) struct resolved_target fresh = {.dir_fd = -1};
    AUTO(resolved_target_release) struct resolved_target through = {.dir_fd = -1};
    AUTO(resolved_target_release) struct resolved_target dangling = {.dir_fd = -1};
    assert_int_equal(resolve_target(in("a/fresh"), 0, &fresh, &err), QS_OK);
    assert_false(fresh.exists || fresh.dangling);
    assert_int_equal(resolve_target(in("top/fresh"), 0, &through, &err), QS_OK);
    assert_false(through.exists || through.dangling); /* a link on the way does not dangle */
    assert_int_equal(resolve_target(in("gone"), 0, &dangling, &err), QS_OK);
    assert_true(!dangling.exists && dangling.dangling);
    assert_string_equal(dangling.name, "missing");
    assert_refused(in("far"), QS_NOT_FOUND, "missing");
    assert_refused(in("none/file"), QS_NOT_FOUND, "none");
}

static void directories_loops_and_links_without_a_path_are_refused(void **state)
{
    (void)state;
    assert_refused("", QS_USAGE, "no file name");
    assert_refused("/", QS_INVALID, "directory");
    assert_refused("..", QS_INVALID, "directory");
    assert_refused(in("a/."), QS_INVALID, "directory");
    assert_refused(in("a/file/"), QS_INVALID, "directory");
    assert_refused(in("slash"), QS_INVALID, "directory");
    assert_refused(in("dir"), QS_INVALID, "directory");
    assert_refused(in("self"), QS_INVALID, "loop");
    assert_refused(in("self/x"), QS_INVALID, "loop");
    assert_refused(in("a/file/x"), QS_INVALID, "Not a directory");
    assert_refused("/proc/self/fd/0", QS_INVALID, "open file");
    assert_refused("/proc/self/root/etc/passwd", QS_INVALID, "open file");
}

static void a_directory_at_the_end_is_found_and_left_to_the_caller(void **state)
{
    (void)state;
    assert_same_end(in("a/b"), 0);
    assert_same_end(in("top"), 1);
}

static void as_many_links_as_the_kernel_follows_and_not_one_more(void **state)
{
    (void)state;
    char name[16], to[16];
    scratch_write(in("l0"), "end");
    for (unsigned i = 1; i <= 41; i++) {
        (void)snprintf(name, sizeof name, "l%u", i);
        (void)snprintf(to, sizeof to, "l%u", i - 1);
        assert_int_equal(symlink(to, in(name)), 0);
    }
    assert_same_end(in("l40"), 40);
    struct stat st;
    assert_int_equal(stat(in("l41"), &st), -1);
    assert_int_equal(errno, ELOOP); /* the kernel says the same */
    assert_refused(in("l41"), QS_INVALID, "40");
}

static void long_names_and_paths_are_refused_with_their_bounds(void **state)
{
    (void)state;
    char *path = malloc(6000);
    assert_non_null(path);
    memset(path, 'x', 5999);
    path[5999] = '\0';
    assert_refused(path, QS_INVALID, "4095");
    path[4095] = '\0';
    path[0] = '/';
    assert_refused(path, QS_INVALID, "255");
    path[257] = '\0';
    assert_refused(path, QS_INVALID, "255");
    free(path);
}

/* prefix, then "./" up to len bytes, then suffix */
static const char *padded(char *text, const char *prefix, size_t len, const char *suffix)
{
    size_t at = (size_t)sprintf(text, "%s", prefix);
    while (at + 2 <= len)
        at += (size_t)sprintf(text + at, "./");
    (void)sprintf(text + at, "%s", suffix);
    return text;
}

static void links_that_add_up_to_a_long_path_are_refused(void **state)
{
    (void)state;
    char text[5000];
    assert_int_equal(symlink(padded(text, "", 4000, "a"), in("long")), 0);
    assert_same_end(in("long/file"), 1);
    assert_int_equal(symlink(padded(text, "long/", 4000, "b"), in("longer")), 0);
    int before = open(".", O_PATH | O_DIRECTORY);
    assert_int_equal(chdir(scratch.dir), 0);
    assert_refused(padded(text, "longer/", 4000, "over"), QS_INVALID, "8191");
    assert_int_equal(fchdir(before), 0);
    (void)close(before);
}

static void each_call_failing_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    char path[SCRATCH_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s", in("deep"));
    faults_start(&(struct fault){.kind = FAULT_NONE});
    AUTO(resolved_target_release) struct resolved_target first = {.dir_fd = -1};
    assert_int_equal(resolve_target(path, 0, &first, &err), QS_OK);
    unsigned calls = faults_stop();
    int probe = dup(0);
    (void)close(probe);
    for (unsigned at = 1; at <= calls; at++) {
        struct resolved_target target = {.dir_fd = -1};
        err = (struct qs_error){0};
        faults_start(&(struct fault){.at = at, .code = EIO});
        enum qs_status status = resolve_target(path, 0, &target, &err);
        (void)faults_stop();
        if (status == QS_OK) /* only whether a link is one of /proc's may stay open */
            fail_msg("call %u (%s) failed and nobody noticed", at, faults_call_hit());
        assert_int_equal(status, QS_IO);
        assert_int_equal(err.sys_errno, EIO);
        int again = dup(0);
        assert_int_equal(again, probe); /* the lowest free descriptor is still the same */
        (void)close(again);
    }
}

/* A directory is swapped for a link while the walk is in it: what was opened is what is used. */
static void swap_directory(unsigned number, const char *call, void *context)
{
    (void)number;
    (void)call;
    (void)context;
    if (rename(in("a"), in("moved")) != 0)
        return; /* done already */
    assert_int_equal(mkdir(in("evil"), 0755), 0);
    scratch_write(in("evil/file"), "evil");
    assert_int_equal(symlink("evil", in("a")), 0);
}

static void a_directory_swapped_for_a_link_on_the_way_changes_nothing(void **state)
{
    (void)state;
    char path[SCRATCH_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s", in("a/file"));
    ino_t good = scratch_stat(path).st_ino;
    AUTO(resolved_target_release) struct resolved_target target = {.dir_fd = -1};
    /* "/", "tmp", the scratch directory and "a" are opened and examined (root's rules): then the file is looked up. */
    faults_start(&(struct fault){.at = 9, .kind = FAULT_NONE, .before = swap_directory});
    assert_int_equal(resolve_target(path, 0, &target, &err), QS_OK);
    assert_true(faults_were_hit());
    (void)faults_stop();
    assert_true(scratch_exists(in("evil/file"))); /* it did happen */
    assert_int_equal(target.st.st_ino, good);
    struct stat st;
    assert_int_equal(fstatat(target.dir_fd, target.name, &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_ino, good);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_links, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_end_where_the_kernel_ends),
        TEST(relative_names_start_at_the_working_directory),
        TEST(what_does_not_exist_is_told_apart),
        TEST(directories_loops_and_links_without_a_path_are_refused),
        TEST(a_directory_at_the_end_is_found_and_left_to_the_caller),
        TEST(as_many_links_as_the_kernel_follows_and_not_one_more),
        TEST(long_names_and_paths_are_refused_with_their_bounds),
        TEST(links_that_add_up_to_a_long_path_are_refused),
        TEST(each_call_failing_is_reported_and_leaks_nothing),
        TEST(a_directory_swapped_for_a_link_on_the_way_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
