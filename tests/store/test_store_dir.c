/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way to a store: each thing that can be wrong with a step, an owner or a mode has its own error, and only a
 * missing step in a directory that could be opened is absence.
 */
#include "base/os.h"
#include "tests/support/as_user.h"
#include "tests/support/scratch.h"
#include "tests/support/store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OTHER 65533u

/* TOP (0755) / above (0755) / root = the scopes' directory / system. Fresh for each case. */
struct ground {
    struct scratch top;
    char above[128], root[160], store[192], data[224];
};

/* Runs a shell command with $P naming path. */
static void shell(const char *command, const char *path)
{
    assert_int_equal(setenv("P", path, 1), 0);
    if (system(command) != 0)
        fail_msg("%s (P=%s)", command, path);
}

static void ground_make(struct ground *g)
{
    struct qs_error err = {0};
    struct qs_store *store = NULL;
    scratch_make(&g->top);
    (void)snprintf(g->above, sizeof g->above, "%s/above", g->top.dir);
    (void)snprintf(g->root, sizeof g->root, "%s/root", g->above);
    (void)snprintf(g->store, sizeof g->store, "%s/system", g->root);
    (void)snprintf(g->data, sizeof g->data, "%s/data.mdb", g->store);
    assert_int_equal(mkdir(g->above, 0755), 0);
    assert_int_equal(qs_store_open(QS_SCOPE_SYSTEM,
                                   &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = g->root},
                                   &store, &err),
                     QS_OK);
    assert_int_equal(qs_store_init(store, NULL, &err), QS_OK);
    qs_store_close(store);
}

static enum qs_status read_at(const char *root, struct qs_error *err)
{
    struct qs_store *store = NULL;
    struct qs_snapshot *snapshot = NULL;
    enum qs_status status =
        qs_store_open(QS_SCOPE_SYSTEM,
                      &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = root}, &store, err);
    if (!status)
        status = qs_snapshot_take(store, &snapshot, err);
    qs_snapshot_unref(snapshot);
    qs_store_close(store);
    return status;
}

static enum qs_status write_at(const char *root, struct qs_error *err)
{
    struct qs_store *store = NULL;
    struct qs_txn *txn = NULL;
    enum qs_status status =
        qs_store_open(QS_SCOPE_SYSTEM,
                      &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = root}, &store, err);
    if (!status)
        status = qs_txn_begin(store, 0, &txn, err);
    qs_txn_free(txn);
    qs_store_close(store);
    return status;
}

struct way {
    const char *name;
    const char *command; /* $P: the path it is done to */
    int target;          /* 0 above, 1 root, 2 store, 3 data */
    enum qs_status expect;
    const char *word; /* must stand in the message */
};

static const struct way ways[] = {
    {"nothing wrong", "true $P", 0, QS_OK, ""},
    {"the parent is gone", "rm -r $P", 0, QS_ABSENT, "does not exist"},
    {"the root is gone", "rm -r $P", 1, QS_ABSENT, "does not exist"},
    {"the store is gone", "rm -r $P", 2, QS_ABSENT, "does not exist"},
    {"the data file is gone", "rm $P", 3, QS_DAMAGED, "no data.mdb"},
    {"the data file is empty", ": > $P", 3, QS_DAMAGED, "empty"},
    {"the data file is a dangling link", "rm $P && ln -s nowhere $P", 3, QS_DAMAGED, "symbolic link"},
    {"the data file is a link to a good one", "mv $P $P.real && ln -s data.mdb.real $P", 3, QS_DAMAGED,
     "symbolic link"},
    {"the data file is a FIFO", "rm $P && mkfifo -m 644 $P", 3, QS_DAMAGED, "not a regular file"},
    {"the data file is a directory", "rm $P && mkdir $P", 3, QS_DAMAGED, "not a regular file"},
    {"the data file is foreign", "chown 65533 $P", 3, QS_UNTRUSTED, "belongs to uid 65533"},
    {"the data file is group-writable", "chmod 664 $P", 3, QS_UNTRUSTED, "writable by group or others"},
    {"the data file is world-writable", "chmod 646 $P", 3, QS_UNTRUSTED, "writable by group or others"},
    {"the store is foreign", "chown 65533 $P", 2, QS_UNTRUSTED, "belongs to uid 65533"},
    {"the store is group-writable", "chmod 775 $P", 2, QS_UNTRUSTED, "writable by group or others"},
    {"the store is sticky and world-writable", "chmod 1777 $P", 2, QS_UNTRUSTED, "writable by group or others"},
    {"the store is a file", "rm -r $P && : > $P", 2, QS_UNTRUSTED, "not a directory"},
    {"the store is a link to a good one", "mv $P $P.real && ln -s system.real $P", 2, QS_UNTRUSTED, "symbolic link"},
    {"the store is a dangling link", "rm -r $P && ln -s nowhere $P", 2, QS_UNTRUSTED, "symbolic link"},
    {"the root is foreign", "chown 65533 $P", 1, QS_UNTRUSTED, "belongs to uid 65533"},
    {"the root is world-writable", "chmod 777 $P", 1, QS_UNTRUSTED, "writable by group or others"},
    {"the root is sticky and world-writable", "chmod 1777 $P", 1, QS_OK, ""},
    {"the root is a file", "rm -r $P && : > $P", 1, QS_UNTRUSTED, "not a directory"},
    {"the root is a dangling link", "rm -r $P && ln -s nowhere $P", 1, QS_UNTRUSTED, "leads to"},
    {"the root is a link in a loop", "rm -r $P && ln -s root $P", 1, QS_UNTRUSTED, "more than"},
    {"the root is a trusted link", "mv $P $P.real && ln -s root.real $P", 1, QS_OK, ""},
    {"the root is another user's link", "mv $P $P.real && ln -s root.real $P && chown -h 65533 $P", 1, QS_UNTRUSTED,
     "belongs to uid 65533"},
    {"the parent is world-writable", "chmod 777 $P", 0, QS_UNTRUSTED, "writable by group or others"},
    {"the parent is foreign", "chown 65533 $P", 0, QS_UNTRUSTED, "belongs to uid 65533"},
};

static void run_way(const struct way *way)
{
    struct ground g;
    struct qs_error err = {0};
    ground_make(&g);
    const char *const targets[] = {g.above, g.root, g.store, g.data};
    shell(way->command, targets[way->target]);
    enum qs_status status = read_at(g.root, &err);
    if (status != way->expect)
        fail_msg("%s: %s (%s) instead of %s", way->name, qs_status_name(status), err.message,
                 qs_status_name(way->expect));
    if (!strstr(err.message, way->word))
        fail_msg("%s: \"%s\" does not say \"%s\"", way->name, err.message, way->word);
    assert_true(status == QS_OK || err.file[0]);
    /* A writer is refused wherever a reader is. */
    enum qs_status write_status = write_at(g.root, &err);
    if (write_status != way->expect)
        fail_msg("%s: writing gives %s (%s)", way->name, qs_status_name(write_status), err.message);
    scratch_remove(&g.top);
}

static void each_way_to_spoil_the_path_has_its_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        run_way(&ways[i]);
}

/* ---- as another user ---- */

static int read_as(void *context)
{
    struct qs_error err = {0};
    enum qs_status status = read_at(context, &err);
    if (status)
        printf("# %s: %s\n", qs_status_name(status), err.message);
    return -(int)status;
}

static int write_as(void *context)
{
    struct qs_error err = {0};
    return -(int)write_at(context, &err);
}

static void an_unprivileged_user_reads_a_root_owned_store_and_cannot_write_it(void **state)
{
    (void)state;
    struct ground g;
    ground_make(&g);
    assert_int_equal(as_user(65534, 65534, read_as, g.root), 0);
    assert_int_equal(as_user(65534, 65534, write_as, g.root), -QS_UNTRUSTED);
    scratch_remove(&g.top);
}

static void an_unsearchable_directory_is_not_absence(void **state)
{
    (void)state;
    const int modes[] = {0000, 0600, 0644};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct ground g;
        ground_make(&g);
        const char *const dirs[] = {g.above, g.root, g.store};
        for (size_t d = 0; d < 3; d++) {
            assert_int_equal(chmod(dirs[d], (mode_t)modes[i]), 0);
            assert_int_equal(as_user(65534, 65534, read_as, g.root), -QS_UNTRUSTED);
            assert_int_equal(chmod(dirs[d], 0755), 0);
        }
        assert_int_equal(chmod(g.data, 0600), 0);
        assert_int_equal(as_user(65534, 65534, read_as, g.root), -QS_UNTRUSTED);
        scratch_remove(&g.top);
    }
}

static void a_store_of_its_own_user_is_trusted_by_that_user_and_not_by_root(void **state)
{
    (void)state;
    struct ground g;
    struct qs_error err = {0};
    ground_make(&g);
    shell("chown -R 65533 $P", g.root);
    assert_int_equal(as_user(OTHER, OTHER, read_as, g.root), 0);
    assert_int_equal(as_user(OTHER, OTHER, write_as, g.root), 0);
    assert_int_equal(read_at(g.root, &err), QS_UNTRUSTED);
    assert_int_equal(as_user(65534, 65534, read_as, g.root), -QS_UNTRUSTED);
    scratch_remove(&g.top);
}

/* In a user namespace that maps only this one user, root's files show the overflow uid: they could be anybody's. */
static int read_in_user_namespace(void *context)
{
    struct qs_error err = {0};
    if (unshare(CLONE_NEWUSER))
        return 99;
    enum qs_status status = read_at(context, &err);
    printf("# in a user namespace: %s\n", err.message);
    return status == QS_UNTRUSTED && strstr(err.message, "overflow uid") && strstr(err.message, "user namespace") ? 42
                                                                                                                  : 1;
}

static void in_a_user_namespace_the_overflow_uid_is_nobodys(void **state)
{
    (void)state;
    struct ground g;
    ground_make(&g);
    assert_int_equal(as_user(65534, 65534, read_in_user_namespace, g.root), 42);
    scratch_remove(&g.top);
}

/* ---- where a store may not be written ---- */

static struct os_calls table;

static int nfs_statfs(int fd, struct statfs *fs)
{
    int code = os_real.fstatfs(fd, fs);
    fs->f_type = 0x6969;
    return code;
}

static void a_network_file_system_is_read_but_not_written(void **state)
{
    (void)state;
    struct ground g;
    struct qs_error err = {0};
    ground_make(&g);
    table = os_real;
    table.fstatfs = nfs_statfs;
    qs_os = &table;
    enum qs_status reading = read_at(g.root, &err);
    enum qs_status writing = write_at(g.root, &err);
    qs_os = &os_real;
    assert_int_equal(reading, QS_OK);
    assert_int_equal(writing, QS_UNTRUSTED);
    assert_non_null(strstr(err.message, "NFS"));
    scratch_remove(&g.top);
}

static void modes_do_not_depend_on_the_umask(void **state)
{
    (void)state;
    const mode_t masks[] = {0077, 0000, 0777};
    for (size_t i = 0; i < 3; i++) {
        struct ground g;
        struct qs_error err = {0};
        mode_t before = umask(masks[i]);
        memset(&g, 0, sizeof g);
        umask(022);
        scratch_make(&g.top);
        umask(masks[i]);
        struct qs_store *system = NULL;
        struct qs_store *user = NULL;
        struct qs_store_options options = {.size = sizeof options, .root = g.top.dir};
        assert_int_equal(qs_store_open(QS_SCOPE_SYSTEM, &options, &system, &err), QS_OK);
        assert_int_equal(qs_store_open(QS_SCOPE_USER, &options, &user, &err), QS_OK);
        assert_int_equal(qs_store_init(system, NULL, &err), QS_OK);
        assert_int_equal(qs_store_init(user, NULL, &err), QS_OK);
        assert_int_equal(qs_store_compact(system, 0, &err), QS_OK);
        umask(before);
        const struct {
            const char *name;
            mode_t mode;
        } expect[] = {{"system", 0755},        {"system/data.mdb", 0644},  {"system/writer.lock", 0600}, {"user", 0700},
                      {"user/data.mdb", 0600}, {"user/writer.lock", 0600}, {"require-system", 0644}};
        for (size_t e = 0; e < sizeof expect / sizeof expect[0]; e++) {
            mode_t mode = scratch_stat(scratch_path(&g.top, expect[e].name)).st_mode & 07777;
            if (mode != expect[e].mode)
                fail_msg("umask %04o: %s has mode %04o", (unsigned)masks[i], expect[e].name, (unsigned)mode);
        }
        qs_store_close(system);
        qs_store_close(user);
        scratch_remove(&g.top);
    }
}

static void bad_calls_are_usage_errors(void **state)
{
    (void)state;
    struct qs_store *store = NULL;
    struct qs_error err = {0};
    assert_int_equal(qs_store_open((enum qs_scope)9, NULL, &store, &err), QS_USAGE);
    assert_int_equal(qs_store_open(QS_SCOPE_USER,
                                   &(struct qs_store_options){.size = sizeof(struct qs_store_options),
                                                              .root = "relative"},
                                   &store, &err),
                     QS_USAGE);
    assert_null(store);
}

static unsigned calls_left;
static int fail_code;

static bool fails_now(void)
{
    if (calls_left == 0 || --calls_left)
        return false;
    errno = fail_code;
    return true;
}

static int failing_openat2(int dir_fd, const char *path, struct open_how *how)
{
    return fails_now() ? -1 : os_real.openat2(dir_fd, path, how);
}
static int failing_fstat(int fd, struct stat *st)
{
    return fails_now() ? -1 : os_real.fstat(fd, st);
}
static ssize_t failing_pread(int fd, void *buf, size_t len, off_t at)
{
    return fails_now() ? -1 : os_real.pread(fd, buf, len, at);
}

static void fail_at(unsigned call, int code)
{
    table = os_real;
    table.openat2 = failing_openat2;
    table.fstat = failing_fstat;
    table.pread = failing_pread;
    calls_left = call;
    fail_code = code;
    qs_os = &table;
}

static void each_failing_call_on_the_way_is_an_error_and_never_absence(void **state)
{
    (void)state;
    struct ground g;
    ground_make(&g);
    for (unsigned call = 1; call < 40; call++) {
        struct qs_error err = {0};
        fail_at(call, EIO);
        enum qs_status status = read_at(g.root, &err);
        bool done = status == QS_OK;
        qs_os = &os_real;
        if (done) {
            assert_true(call > 8);
            break;
        }
        assert_int_equal(status, QS_IO);
        assert_int_equal(err.sys_errno, EIO);
    }
    scratch_remove(&g.top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_way_to_spoil_the_path_has_its_error),
        cmocka_unit_test(an_unprivileged_user_reads_a_root_owned_store_and_cannot_write_it),
        cmocka_unit_test(an_unsearchable_directory_is_not_absence),
        cmocka_unit_test(a_store_of_its_own_user_is_trusted_by_that_user_and_not_by_root),
        cmocka_unit_test(in_a_user_namespace_the_overflow_uid_is_nobodys),
        cmocka_unit_test(a_network_file_system_is_read_but_not_written),
        cmocka_unit_test(modes_do_not_depend_on_the_umask),
        cmocka_unit_test(bad_calls_are_usage_errors),
        cmocka_unit_test(each_failing_call_on_the_way_is_an_error_and_never_absence),
    };
    if (geteuid() != 0) {
        printf("1..0 # SKIP owners and modes can be tested by root only\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
