/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every way in which a policy can go missing on the way to it, as a table: each step of the path in each state, each
 * owner and mode, each way a data file is broken, in each layer. None gives "present", and none gives "none".
 */
#include "base/cleanup.h"
#include "tests/support/as_user.h"
#include "tests/support/faults.h"
#include "tests/support/policy/policy_base.h"
#include "tests/support/store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

static void the_base_and_its_copy_have_a_policy(void **state)
{
    (void)state;
    AUTO(scopes_remove) struct scopes scopes;
    struct qs_error err;
    policy_base_copy(&scopes);
    assert_int_equal(policy_base_state(policy_base.scratch.dir, &err), QS_OK);
    assert_int_equal(policy_base_state(scopes.scratch.dir, &err), QS_OK);
}

/* ---- the path and the files ---- */

struct spot {
    const struct scopes *scopes;
    enum qs_scope scope;
    const char *dir, *data; /* of the store */
};

static void remove_dir(const struct spot *spot)
{
    policy_base_run("rm", "-rf", "--", spot->dir);
}

static void move_away(const char *path, const struct spot *spot)
{
    assert_int_equal(rename(path, scratch_path(&spot->scopes->scratch, "elsewhere")), 0);
}

static void dir_dangling(const struct spot *spot)
{
    remove_dir(spot);
    assert_int_equal(symlink("/nonexistent/store", spot->dir), 0);
}

static void dir_link_to_good(const struct spot *spot)
{
    move_away(spot->dir, spot);
    assert_int_equal(symlink("elsewhere", spot->dir), 0);
}

static void dir_link_to_itself(const struct spot *spot)
{
    remove_dir(spot);
    assert_int_equal(symlink(qs_scope_name(spot->scope), spot->dir), 0);
}

static void dir_file(const struct spot *spot)
{
    remove_dir(spot);
    scratch_write(spot->dir, "");
}

static void dir_fifo(const struct spot *spot)
{
    remove_dir(spot);
    assert_int_equal(mkfifo(spot->dir, 0600), 0);
}

static void dir_empty(const struct spot *spot)
{
    remove_dir(spot);
    assert_int_equal(mkdir(spot->dir, 0755), 0);
}

static void dir_group_writable(const struct spot *spot)
{
    assert_int_equal(chmod(spot->dir, 0775), 0);
}

static void dir_world_writable(const struct spot *spot)
{
    assert_int_equal(chmod(spot->dir, 0777), 0);
}

static void dir_sticky(const struct spot *spot)
{
    assert_int_equal(chmod(spot->dir, 01777), 0);
}

static void dir_of_another(const struct spot *spot)
{
    assert_int_equal(lchown(spot->dir, POLICY_BASE_OTHER_UID, (gid_t)-1), 0);
}

static void root_of_another(const struct spot *spot)
{
    assert_int_equal(lchown(spot->scopes->scratch.dir, POLICY_BASE_OTHER_UID, (gid_t)-1), 0);
}

static void root_writable(const struct spot *spot)
{
    assert_int_equal(chmod(spot->scopes->scratch.dir, 0777), 0);
}

static void data_missing(const struct spot *spot)
{
    assert_int_equal(unlink(spot->data), 0);
}

static void data_empty(const struct spot *spot)
{
    assert_int_equal(truncate(spot->data, 0), 0);
}

static void data_cut_in_meta(const struct spot *spot)
{
    assert_int_equal(truncate(spot->data, 100), 0);
}

static void data_cut_in_half(const struct spot *spot)
{
    assert_int_equal(truncate(spot->data, scratch_stat(spot->data).st_size / 2), 0);
}

static void data_text(const struct spot *spot)
{
    scratch_write(spot->data, POLICY_BASE_POLICY);
}

static void data_zeros(const struct spot *spot)
{
    off_t size = scratch_stat(spot->data).st_size;
    data_empty(spot);
    assert_int_equal(truncate(spot->data, size), 0);
}

static void data_dangling(const struct spot *spot)
{
    data_missing(spot);
    assert_int_equal(symlink("/nonexistent/data.mdb", spot->data), 0);
}

static void data_link_to_good(const struct spot *spot)
{
    move_away(spot->data, spot);
    assert_int_equal(symlink("../elsewhere", spot->data), 0);
}

static void data_dir(const struct spot *spot)
{
    data_missing(spot);
    assert_int_equal(mkdir(spot->data, 0755), 0);
}

static void data_fifo(const struct spot *spot)
{
    data_missing(spot);
    assert_int_equal(mkfifo(spot->data, 0644), 0);
}

static void data_socket(const struct spot *spot)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    data_missing(spot);
    assert_true(strlen(spot->data) < sizeof address.sun_path);
    memcpy(address.sun_path, spot->data, strlen(spot->data));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
}

static void data_group_writable(const struct spot *spot)
{
    assert_int_equal(chmod(spot->data, 0664), 0);
}

static void data_world_writable(const struct spot *spot)
{
    assert_int_equal(chmod(spot->data, 0646), 0);
}

static void data_of_another(const struct spot *spot)
{
    assert_int_equal(lchown(spot->data, POLICY_BASE_OTHER_UID, (gid_t)-1), 0);
}

/* A healthy store, but of another scope. */
static void data_of_another_scope(const struct spot *spot)
{
    enum qs_scope other = spot->scope == QS_SCOPE_SYSTEM ? QS_SCOPE_DEFAULTS : QS_SCOPE_SYSTEM;
    policy_base_run("cp", "--", scopes_path(spot->scopes, other, "data.mdb"), spot->data);
}

static void data_metas_gone(const struct spot *spot)
{
    static const char zeros[8192];
    AUTO_FD int fd = open(spot->data, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, zeros, sizeof zeros, 0), sizeof zeros);
}

static void data_pages_gone(const struct spot *spot)
{
    off_t size = scratch_stat(spot->data).st_size;
    AUTO_FD int fd = open(spot->data, O_WRONLY | O_CLOEXEC);
    for (off_t at = 8192; at < size; at += 64)
        assert_int_equal(pwrite(fd, "\xff\xff\xff\xff", 4, at), 4);
}

/* The first bytes of the content, all of them, changed. */
static void data_content_changed(const struct spot *spot)
{
    size_t len = 0;
    AUTO_FREE char *bytes = scratch_read(spot->data, &len);
    size_t changed = 0;
    for (size_t i = 0; i + 8 < len; i++) {
        if (memcmp(bytes + i, "QSETMETA", 8) == 0) {
            bytes[i + 30] ^= 1;
            changed++;
        }
    }
    assert_true(changed > 0);
    scratch_write_bytes(spot->data, bytes, len);
}

static const struct {
    const char *name;
    void (*spoil)(const struct spot *spot);
    enum qs_status expected;
} paths[] = {
    {"store directory: a dangling link", dir_dangling, QS_UNTRUSTED},
    {"store directory: a link to a good store", dir_link_to_good, QS_UNTRUSTED},
    {"store directory: a link to itself", dir_link_to_itself, QS_UNTRUSTED},
    {"store directory: a file", dir_file, QS_UNTRUSTED},
    {"store directory: a fifo", dir_fifo, QS_UNTRUSTED},
    {"store directory: empty", dir_empty, QS_DAMAGED},
    {"store directory: writable by the group", dir_group_writable, QS_UNTRUSTED},
    {"store directory: writable by all", dir_world_writable, QS_UNTRUSTED},
    {"store directory: writable by all, sticky", dir_sticky, QS_UNTRUSTED},
    {"store directory: of another user", dir_of_another, QS_UNTRUSTED},
    {"directory above: of another user", root_of_another, QS_UNTRUSTED},
    {"directory above: writable by all", root_writable, QS_UNTRUSTED},
    {"data.mdb: missing", data_missing, QS_DAMAGED},
    {"data.mdb: empty", data_empty, QS_DAMAGED},
    {"data.mdb: cut in the first meta", data_cut_in_meta, QS_DAMAGED},
    {"data.mdb: cut in half", data_cut_in_half, QS_DAMAGED},
    {"data.mdb: a text", data_text, QS_DAMAGED},
    {"data.mdb: zeros", data_zeros, QS_DAMAGED},
    {"data.mdb: a dangling link", data_dangling, QS_DAMAGED},
    {"data.mdb: a link to a good file", data_link_to_good, QS_DAMAGED},
    {"data.mdb: a directory", data_dir, QS_DAMAGED},
    {"data.mdb: a fifo", data_fifo, QS_DAMAGED},
    {"data.mdb: a socket", data_socket, QS_DAMAGED},
    {"data.mdb: writable by the group", data_group_writable, QS_UNTRUSTED},
    {"data.mdb: writable by all", data_world_writable, QS_UNTRUSTED},
    {"data.mdb: of another user", data_of_another, QS_UNTRUSTED},
    {"data.mdb: another scope's", data_of_another_scope, QS_DAMAGED},
    {"data.mdb: metas zeroed", data_metas_gone, QS_DAMAGED},
    {"data.mdb: pages overwritten", data_pages_gone, QS_DAMAGED},
    {"data.mdb: records changed", data_content_changed, QS_DAMAGED},
};

static void every_state_of_every_step_of_the_path_refuses_in_every_layer(void **state)
{
    (void)state;
    size_t failed = 0;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        for (size_t s = 0; s < 3; s++) {
            AUTO(scopes_remove) struct scopes scopes;
            struct qs_error err;
            policy_base_copy(&scopes);
            char dir[128], data[160];
            (void)snprintf(dir, sizeof dir, "%s", scopes_path(&scopes, policy_base_scopes[s], ""));
            (void)snprintf(data, sizeof data, "%s/data.mdb", dir);
            paths[i].spoil(&(struct spot){&scopes, policy_base_scopes[s], dir, data});
            enum qs_status got = policy_base_state(scopes.scratch.dir, &err);
            if (got == paths[i].expected)
                continue;
            print_message("# %s, %s: %s, not %s (%s)\n", qs_scope_name(policy_base_scopes[s]), paths[i].name,
                          qs_policy_status_name(got), qs_policy_status_name(paths[i].expected), err.message);
            failed++;
        }
    }
    assert_int_equal(failed, 0);
}

/* A missing store of a scope is an empty layer; the required one is an error, and the others still count. */
static void a_store_that_is_gone_is_absent_only_where_it_may_be(void **state)
{
    (void)state;
    static const enum qs_status expected[] = {QS_ABSENT, QS_OK, QS_OK};
    for (size_t s = 0; s < 3; s++) {
        AUTO(scopes_remove) struct scopes scopes;
        struct qs_error err;
        policy_base_copy(&scopes);
        policy_base_run("rm", "-rf", "--", scopes_path(&scopes, policy_base_scopes[s], ""));
        assert_int_equal(policy_base_state(scopes.scratch.dir, &err), expected[s]);
    }
}

static void the_demand_counts_in_whatever_shape_its_file_is(void **state)
{
    (void)state;
    for (int shape = 0; shape < 4; shape++) {
        AUTO(scopes_remove) struct scopes scopes;
        struct qs_error err;
        policy_base_copy(&scopes);
        const char *file = scratch_path(&scopes.scratch, "require-system");
        policy_base_run("rm", "-rf", "--", scopes_path(&scopes, QS_SCOPE_SYSTEM, ""));
        assert_int_equal(unlink(file), 0);
        if (shape == 0)
            assert_int_equal(symlink("/nonexistent", file), 0);
        else if (shape == 1)
            assert_int_equal(mkdir(file, 0700), 0);
        else if (shape == 2)
            assert_int_equal(mkfifo(file, 0000), 0);
        else
            scratch_write(file, "anything");
        assert_int_equal(policy_base_state(scopes.scratch.dir, &err), QS_ABSENT);
    }
}

/* ---- what a plain user may not open ---- */

static int read_as_user(void *context)
{
    struct qs_error err;
    fixture_fake_clock();
    return -(int)policy_base_state(context, &err);
}

static void what_may_not_be_searched_or_read_is_untrusted_for_a_plain_user(void **state)
{
    (void)state;
    AUTO(scopes_remove) struct scopes scopes;
    policy_base_copy(&scopes);
    policy_base_run("chown", "-R", "54321", scopes_path(&scopes, QS_SCOPE_USER, ""));
    assert_int_equal(as_user(POLICY_BASE_OTHER_UID, POLICY_BASE_OTHER_UID, read_as_user, scopes.scratch.dir), QS_OK);
    static const char *const locked[] = {"system",   "system/data.mdb",   "user", "user/data.mdb",
                                         "defaults", "defaults/data.mdb", ""};
    for (size_t i = 0; i < sizeof locked / sizeof locked[0]; i++) {
        const char *path = scratch_path(&scopes.scratch, locked[i]);
        mode_t mode = scratch_stat(path).st_mode & 07777;
        assert_int_equal(chmod(path, 0), 0);
        assert_int_equal(as_user(POLICY_BASE_OTHER_UID, POLICY_BASE_OTHER_UID, read_as_user, scopes.scratch.dir),
                         -QS_UNTRUSTED);
        /* A directory that may be searched but holds a file that may not be read, and the other way round. */
        assert_int_equal(chmod(path, S_ISDIR(scratch_stat(path).st_mode) ? 0444 : 0111), 0);
        assert_int_equal(as_user(POLICY_BASE_OTHER_UID, POLICY_BASE_OTHER_UID, read_as_user, scopes.scratch.dir),
                         -QS_UNTRUSTED);
        assert_int_equal(chmod(path, mode), 0);
    }
    assert_int_equal(as_user(POLICY_BASE_OTHER_UID, POLICY_BASE_OTHER_UID, read_as_user, scopes.scratch.dir), QS_OK);
}

/* ---- calls that fail ---- */

static void any_call_that_fails_on_the_way_refuses(void **state)
{
    (void)state;
    static const int codes[] = {EIO, EACCES, EPERM, EMFILE, ENFILE, ENOMEM, ELOOP, ENOTDIR, ESTALE, EBADF};
    struct qs_error err;
    unsigned hits = 0;
    fixture_real_clock(); /* the seam is the faults' now */
    faults_start(&(struct fault){.kind = FAULT_NONE});
    assert_int_equal(policy_base_state(policy_base.scratch.dir, &err), QS_OK);
    unsigned calls = faults_stop();
    print_message("# %u calls\n", calls);
    assert_true(calls > 20);
    for (size_t c = 0; c < sizeof codes / sizeof codes[0]; c++) {
        for (unsigned n = 1; n <= calls; n++) {
            faults_start(&(struct fault){.at = n, .code = codes[c]});
            enum qs_status got = policy_base_state(policy_base.scratch.dir, &err);
            (void)faults_stop();
            hits += faults_were_hit();
            if (got == QS_OK || got == QS_NO_POLICY)
                fail_msg("call %u (%s) fails with %s: %s", n, faults_call_hit(), strerror(codes[c]),
                         qs_policy_status_name(got));
        }
    }
    assert_int_equal(hits, calls * (sizeof codes / sizeof codes[0]));
    fixture_fake_clock();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_base_and_its_copy_have_a_policy),
        cmocka_unit_test(every_state_of_every_step_of_the_path_refuses_in_every_layer),
        cmocka_unit_test(a_store_that_is_gone_is_absent_only_where_it_may_be),
        cmocka_unit_test(the_demand_counts_in_whatever_shape_its_file_is),
        cmocka_unit_test(what_may_not_be_searched_or_read_is_untrusted_for_a_plain_user),
        cmocka_unit_test(any_call_that_fails_on_the_way_refuses),
    };
    return cmocka_run_group_tests(tests, policy_base_setup, policy_base_teardown);
}
