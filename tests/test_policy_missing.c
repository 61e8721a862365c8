/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every way in which a policy can go missing, as tables: each step of the path in each state, each owner and mode, each
 * way a data file is broken, each malformed value, in each layer; and what must not matter: environment variables,
 * workspace files, approval modes. None gives "present", and none gives "none".
 *
 * The base that each row spoils: three healthy stores, the system's (required) and the defaults' with a policy, the
 * user's empty.
 */
#include "qsettings/policy.h"
#include "store/cleanup.h"
#include "store/error.h"
#include "tests/support/as_user.h"
#include "tests/support/scopes.h"
#include "tests/support/store_fixture.h"

#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

extern char **environ;

#define OTHER_UID 54321
#define POLICY    "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"read-only\",\"network\":\"closed\"}}}"

static struct scopes base;
static const enum qs_scope all_scopes[] = {QS_SCOPE_SYSTEM, QS_SCOPE_USER, QS_SCOPE_DEFAULTS};

static void result_release(struct qs_policy_result **result)
{
    qs_policy_free(*result);
}

static enum qs_policy_state state_at(const char *root, struct qs_error *err)
{
    AUTO(result_release) struct qs_policy_result *result = NULL;
    struct qs_policy_options options = {.root = root};
    *err = (struct qs_error){0};
    enum qs_status status = qs_policy_read(&options, &result, err);
    enum qs_policy_state state = qs_policy_state(result);
    /* Whatever is wrong: no policy is given out, and the reason is. */
    if ((status == QS_OK) != (qs_policy_get(result) != NULL) || (int)state != -(int)status ||
        (status && !err->message[0]))
        abort();
    return state;
}

static void run(const char *program, const char *a, const char *b, const char *c)
{
    char *const arguments[] = {(char *)program, (char *)a, (char *)b, (char *)c, NULL};
    pid_t child;
    int how = -1;
    assert_int_equal(posix_spawnp(&child, program, NULL, NULL, arguments, environ), 0);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
}

/* A copy of the base to spoil. */
static void copy_base(struct scopes *scopes)
{
    char from[80];
    scopes_make(scopes);
    (void)snprintf(from, sizeof from, "%s/.", base.scratch.dir);
    run("cp", "-a", from, scopes->scratch.dir);
}

static int group_setup(void **state)
{
    (void)state;
    scopes_make(&base);
    for (size_t i = 0; i < 3; i++)
        scopes_init(&base, all_scopes[i], true, false);
    scopes_apply(&base, QS_SCOPE_SYSTEM, POLICY);
    scopes_apply(&base, QS_SCOPE_DEFAULTS, POLICY);
    fixture_fake_clock(); /* damage is declared after 200 ms of it */
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    fixture_real_clock();
    scopes_remove(&base);
    return 0;
}

static void the_base_and_its_copy_have_a_policy(void **state)
{
    (void)state;
    AUTO(scopes_remove) struct scopes scopes;
    struct qs_error err;
    copy_base(&scopes);
    assert_int_equal(state_at(base.scratch.dir, &err), QS_POLICY_PRESENT);
    assert_int_equal(state_at(scopes.scratch.dir, &err), QS_POLICY_PRESENT);
}

/* ---- the path and the files ---- */

struct spot {
    const struct scopes *scopes;
    enum qs_scope scope;
    const char *dir, *data; /* of the store */
};

static void remove_dir(const struct spot *spot)
{
    run("rm", "-rf", "--", spot->dir);
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
    assert_int_equal(lchown(spot->dir, OTHER_UID, (gid_t)-1), 0);
}

static void root_of_another(const struct spot *spot)
{
    assert_int_equal(lchown(spot->scopes->scratch.dir, OTHER_UID, (gid_t)-1), 0);
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
    scratch_write(spot->data, POLICY);
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
    assert_int_equal(lchown(spot->data, OTHER_UID, (gid_t)-1), 0);
}

/* A healthy store, but of another scope. */
static void data_of_another_scope(const struct spot *spot)
{
    enum qs_scope other = spot->scope == QS_SCOPE_SYSTEM ? QS_SCOPE_DEFAULTS : QS_SCOPE_SYSTEM;
    run("cp", "--", scopes_path(spot->scopes, other, "data.mdb"), spot->data);
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
    enum qs_policy_state expected;
} paths[] = {
    {"store directory: a dangling link", dir_dangling, QS_POLICY_UNTRUSTED},
    {"store directory: a link to a good store", dir_link_to_good, QS_POLICY_UNTRUSTED},
    {"store directory: a link to itself", dir_link_to_itself, QS_POLICY_UNTRUSTED},
    {"store directory: a file", dir_file, QS_POLICY_UNTRUSTED},
    {"store directory: a fifo", dir_fifo, QS_POLICY_UNTRUSTED},
    {"store directory: empty", dir_empty, QS_POLICY_DAMAGED},
    {"store directory: writable by the group", dir_group_writable, QS_POLICY_UNTRUSTED},
    {"store directory: writable by all", dir_world_writable, QS_POLICY_UNTRUSTED},
    {"store directory: writable by all, sticky", dir_sticky, QS_POLICY_UNTRUSTED},
    {"store directory: of another user", dir_of_another, QS_POLICY_UNTRUSTED},
    {"directory above: of another user", root_of_another, QS_POLICY_UNTRUSTED},
    {"directory above: writable by all", root_writable, QS_POLICY_UNTRUSTED},
    {"data.mdb: missing", data_missing, QS_POLICY_DAMAGED},
    {"data.mdb: empty", data_empty, QS_POLICY_DAMAGED},
    {"data.mdb: cut in the first meta", data_cut_in_meta, QS_POLICY_DAMAGED},
    {"data.mdb: cut in half", data_cut_in_half, QS_POLICY_DAMAGED},
    {"data.mdb: a text", data_text, QS_POLICY_DAMAGED},
    {"data.mdb: zeros", data_zeros, QS_POLICY_DAMAGED},
    {"data.mdb: a dangling link", data_dangling, QS_POLICY_DAMAGED},
    {"data.mdb: a link to a good file", data_link_to_good, QS_POLICY_DAMAGED},
    {"data.mdb: a directory", data_dir, QS_POLICY_DAMAGED},
    {"data.mdb: a fifo", data_fifo, QS_POLICY_DAMAGED},
    {"data.mdb: a socket", data_socket, QS_POLICY_DAMAGED},
    {"data.mdb: writable by the group", data_group_writable, QS_POLICY_UNTRUSTED},
    {"data.mdb: writable by all", data_world_writable, QS_POLICY_UNTRUSTED},
    {"data.mdb: of another user", data_of_another, QS_POLICY_UNTRUSTED},
    {"data.mdb: another scope's", data_of_another_scope, QS_POLICY_DAMAGED},
    {"data.mdb: metas zeroed", data_metas_gone, QS_POLICY_DAMAGED},
    {"data.mdb: pages overwritten", data_pages_gone, QS_POLICY_DAMAGED},
    {"data.mdb: records changed", data_content_changed, QS_POLICY_DAMAGED},
};

static void every_state_of_every_step_of_the_path_refuses_in_every_layer(void **state)
{
    (void)state;
    size_t failed = 0;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        for (size_t s = 0; s < 3; s++) {
            AUTO(scopes_remove) struct scopes scopes;
            struct qs_error err;
            copy_base(&scopes);
            char dir[128], data[160];
            (void)snprintf(dir, sizeof dir, "%s", scopes_path(&scopes, all_scopes[s], ""));
            (void)snprintf(data, sizeof data, "%s/data.mdb", dir);
            paths[i].spoil(&(struct spot){&scopes, all_scopes[s], dir, data});
            enum qs_policy_state got = state_at(scopes.scratch.dir, &err);
            if (got == paths[i].expected)
                continue;
            print_message("# %s, %s: %s, not %s (%s)\n", qs_scope_name(all_scopes[s]), paths[i].name,
                          qs_policy_state_name(got), qs_policy_state_name(paths[i].expected), err.message);
            failed++;
        }
    }
    assert_int_equal(failed, 0);
}

/* A missing store of a scope is an empty layer; the required one is an error, and the others still count. */
static void a_store_that_is_gone_is_absent_only_where_it_may_be(void **state)
{
    (void)state;
    static const enum qs_policy_state expected[] = {QS_POLICY_ABSENT, QS_POLICY_PRESENT, QS_POLICY_PRESENT};
    for (size_t s = 0; s < 3; s++) {
        AUTO(scopes_remove) struct scopes scopes;
        struct qs_error err;
        copy_base(&scopes);
        run("rm", "-rf", "--", scopes_path(&scopes, all_scopes[s], ""));
        assert_int_equal(state_at(scopes.scratch.dir, &err), expected[s]);
    }
}

static void the_demand_counts_in_whatever_shape_its_file_is(void **state)
{
    (void)state;
    for (int shape = 0; shape < 4; shape++) {
        AUTO(scopes_remove) struct scopes scopes;
        struct qs_error err;
        copy_base(&scopes);
        const char *file = scratch_path(&scopes.scratch, "require-system");
        run("rm", "-rf", "--", scopes_path(&scopes, QS_SCOPE_SYSTEM, ""));
        assert_int_equal(unlink(file), 0);
        if (shape == 0)
            assert_int_equal(symlink("/nonexistent", file), 0);
        else if (shape == 1)
            assert_int_equal(mkdir(file, 0700), 0);
        else if (shape == 2)
            assert_int_equal(mkfifo(file, 0000), 0);
        else
            scratch_write(file, "anything");
        assert_int_equal(state_at(scopes.scratch.dir, &err), QS_POLICY_ABSENT);
    }
}

/* ---- what a plain user may not open ---- */

static int read_as_user(void *context)
{
    struct qs_error err;
    fixture_fake_clock();
    return (int)state_at(context, &err);
}

static void what_may_not_be_searched_or_read_is_untrusted_for_a_plain_user(void **state)
{
    (void)state;
    AUTO(scopes_remove) struct scopes scopes;
    copy_base(&scopes);
    run("chown", "-R", "54321", scopes_path(&scopes, QS_SCOPE_USER, ""));
    assert_int_equal(as_user(OTHER_UID, OTHER_UID, read_as_user, scopes.scratch.dir), QS_POLICY_PRESENT);
    static const char *const locked[] = {"system",   "system/data.mdb",   "user", "user/data.mdb",
                                         "defaults", "defaults/data.mdb", ""};
    for (size_t i = 0; i < sizeof locked / sizeof locked[0]; i++) {
        const char *path = scratch_path(&scopes.scratch, locked[i]);
        mode_t mode = scratch_stat(path).st_mode & 07777;
        assert_int_equal(chmod(path, 0), 0);
        assert_int_equal(as_user(OTHER_UID, OTHER_UID, read_as_user, scopes.scratch.dir), QS_POLICY_UNTRUSTED);
        /* A directory that may be searched but holds a file that may not be read, and the other way round. */
        assert_int_equal(chmod(path, S_ISDIR(scratch_stat(path).st_mode) ? 0444 : 0111), 0);
        assert_int_equal(as_user(OTHER_UID, OTHER_UID, read_as_user, scopes.scratch.dir), QS_POLICY_UNTRUSTED);
        assert_int_equal(chmod(path, mode), 0);
    }
    assert_int_equal(as_user(OTHER_UID, OTHER_UID, read_as_user, scopes.scratch.dir), QS_POLICY_PRESENT);
}

/* ---- values ---- */

#define SANDBOX(text)  "{\"tools\":{\"executionSandbox\":" text "}}"
#define BESIDE(text)   "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"read-only\",\"network\":\"closed\"}}," text "}"
#define EXECUTOR(text) BESIDE("\"executor\":" text)

static const char *const values[] = {
    SANDBOX("null"),
    SANDBOX("true"),
    SANDBOX("0"),
    SANDBOX("\"read-only\""),
    SANDBOX("[]"),
    SANDBOX("{}"),
    SANDBOX("{\"filesystem\":\"read-only\"}"),
    SANDBOX("{\"network\":\"closed\"}"),
    SANDBOX("{\"backend\":\"auto\"}"),
    SANDBOX("{\"filesystem\":\"read-only\",\"network\":null}"),
    SANDBOX("{\"filesystem\":null,\"network\":\"closed\"}"),
    SANDBOX("{\"filesystem\":\"read-only\",\"network\":false}"),
    SANDBOX("{\"filesystem\":\"read-only\",\"network\":\"off\"}"),
    SANDBOX("{\"filesystem\":\"read-only\",\"network\":\"Closed\"}"),
    SANDBOX("{\"filesystem\":\"read-only\",\"network\":\"$NET\"}"),
    SANDBOX("{\"filesystem\":\"read-only\",\"network\":[\"closed\"]}"),
    SANDBOX("{\"filesystem\":\"read-only\",\"network\":{\"x\":1}}"),
    SANDBOX("{\"filesystem\":\"read-write\",\"network\":\"closed\"}"),
    SANDBOX("{\"filesystem\":\"\",\"network\":\"closed\"}"),
    SANDBOX("{\"filesystem\":\"read-only\",\"network\":\"closed\",\"backend\":\"docker\"}"),
    SANDBOX("{\"filesystem\":\"read-only\",\"network\":\"closed\",\"paths\":[]}"),
    SANDBOX("{\"filesystem\":\"read-only\",\"network\":\"closed\",\"Network\":\"closed\"}"),
    "{\"tools\":null}",
    "{\"tools\":[]}",
    "{\"tools\":\"x\"}",
    "{\"tools\":{\"ExecutionSandbox\":{}}}",
    "{\"tools\":{\"execution_sandbox\":{}}}",
    "{\"Tools\":{\"executionSandbox\":{}}}",
    "{\"tools.executionSandbox\":{\"filesystem\":\"read-only\",\"network\":\"closed\"}}",
    "{\"tools\":{\"sandbox\":\"bwrap\"}}",
    "{\"tools\":{\"approvalMode\":\"yes\"}}",
    "{\"executor\":null}",
    "{\"executor\":{\"hidenPaths\":[]}}",
    EXECUTOR("[]"),
    EXECUTOR("{\"unixSockets\":\"none\"}"),
    EXECUTOR("{\"writableRoots\":\"/a\"}"),
    EXECUTOR("{\"writableRoots\":[\"a\"]}"),
    EXECUTOR("{\"writableRoots\":[\"/a/../b\"]}"),
    EXECUTOR("{\"writableRoots\":[1]}"),
    EXECUTOR("{\"hiddenPaths\":[\"$HOME\"]}"),
    EXECUTOR("{\"hiddenPaths\":null}"),
    EXECUTOR("{\"protectedPaths\":[\"/a\"]}"),
    EXECUTOR("{\"environment\":[]}"),
    EXECUTOR("{\"environment\":{\"pass\":\"PATH\"}}"),
    EXECUTOR("{\"environment\":{\"set\":{\"A\":1}}}"),
    EXECUTOR("{\"environment\":{\"set\":{\"A=B\":\"1\"}}}"),
    EXECUTOR("{\"environment\":{\"secrets\":[\"[A]\"]}}"),
    EXECUTOR("{\"limits\":{\"wallSeconds\":-1}}"),
    EXECUTOR("{\"limits\":{\"wallSeconds\":\"60\"}}"),
    EXECUTOR("{\"limits\":{\"wallSeconds\":1.5}}"),
    EXECUTOR("{\"limits\":{\"wall\":1}}"),
    EXECUTOR("{\"audit\":false}"),
    EXECUTOR("{\"caches\":\"Private\"}"),
    EXECUTOR("{\"devices\":{}}"),
};

static void every_malformed_value_refuses_in_every_layer(void **state)
{
    (void)state;
    size_t failed = 0;
    for (size_t s = 0; s < 3; s++) {
        AUTO(scopes_remove) struct scopes scopes;
        copy_base(&scopes);
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            struct qs_error err;
            scopes_force(&scopes, all_scopes[s], values[i]);
            enum qs_policy_state got = state_at(scopes.scratch.dir, &err);
            if (got == QS_POLICY_INVALID && err.path[0] && strstr(err.file, qs_scope_name(all_scopes[s])))
                continue;
            print_message("# %s: %s: %s (%s: %s)\n", qs_scope_name(all_scopes[s]), values[i], qs_policy_state_name(got),
                          err.path, err.message);
            failed++;
        }
        struct qs_error err;
        scopes_force(&scopes, all_scopes[s], POLICY); /* it was the values, not the way they came there */
        assert_int_equal(state_at(scopes.scratch.dir, &err), QS_POLICY_PRESENT);
    }
    assert_int_equal(failed, 0);
}

static void the_strongest_scopes_fault_is_the_one_that_is_told(void **state)
{
    (void)state;
    AUTO(scopes_remove) struct scopes scopes;
    struct qs_error err;
    copy_base(&scopes);
    scopes_force(&scopes, QS_SCOPE_DEFAULTS, SANDBOX("null"));
    assert_int_equal(state_at(scopes.scratch.dir, &err), QS_POLICY_INVALID);
    assert_int_equal(truncate(scopes_path(&scopes, QS_SCOPE_USER, "data.mdb"), 0), 0);
    assert_int_equal(state_at(scopes.scratch.dir, &err), QS_POLICY_DAMAGED);
    assert_int_equal(chmod(scopes_path(&scopes, QS_SCOPE_SYSTEM, ""), 0777), 0);
    assert_int_equal(state_at(scopes.scratch.dir, &err), QS_POLICY_UNTRUSTED);
    assert_non_null(strstr(err.file, "system"));
}

/* ---- what must not matter ---- */

static void digest_at(const char *root, unsigned char digest[32])
{
    AUTO(result_release) struct qs_policy_result *result = NULL;
    struct qs_policy_options options = {.root = root};
    assert_int_equal(qs_policy_read(&options, &result, NULL), QS_OK);
    memcpy(digest, qs_policy_digest(result), 32);
}

static const char *const variables[] = {"HOME",
                                        "XDG_CONFIG_HOME",
                                        "XDG_CONFIG_DIRS",
                                        "XDG_DATA_HOME",
                                        "XDG_RUNTIME_DIR",
                                        "USER",
                                        "LOGNAME",
                                        "QS_ROOT",
                                        "QSETTINGS_ROOT",
                                        "QSETTINGS_SYSTEM",
                                        "QWEN_SANDBOX",
                                        "QWEN_HOME",
                                        "QWEN_CODE_SYSTEM_SETTINGS_PATH",
                                        "QWEN_CODE_SYSTEM_DEFAULTS_PATH",
                                        "QWEN_SANDBOX_IMAGE",
                                        "GEMINI_SANDBOX",
                                        "SANDBOX",
                                        "BUILD_SANDBOX",
                                        "TMPDIR",
                                        "QWEN_APPROVAL_MODE",
                                        "QWEN_YOLO",
                                        "NODE_OPTIONS"};

static void environment_variables_change_nothing(void **state)
{
    (void)state;
    AUTO(scopes_remove) struct scopes open;
    struct scopes *empty = &open;
    struct qs_error err;
    unsigned char before[32], after[32];
    copy_base(&open);
    digest_at(base.scratch.dir, before);
    scopes_force(empty, QS_SCOPE_SYSTEM, "{}");
    scopes_force(empty, QS_SCOPE_DEFAULTS, "{}");
    assert_int_equal(state_at(open.scratch.dir, &err), QS_POLICY_NONE);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *old = getenv(variables[i]);
        AUTO_FREE char *kept = old ? strdup(old) : NULL;
        static const char *const texts[] = {NULL, "", "bwrap", "yolo", "/nonexistent"};
        for (size_t t = 0; t < 6; t++) {
            const char *text = t < 5 ? texts[t] : base.scratch.dir; /* a place with a policy */
            assert_int_equal(text ? setenv(variables[i], text, 1) : unsetenv(variables[i]), 0);
            digest_at(base.scratch.dir, after);
            assert_memory_equal(before, after, 32);
            assert_int_equal(state_at(open.scratch.dir, &err), QS_POLICY_NONE);
        }
        assert_int_equal(kept ? setenv(variables[i], kept, 1) : unsetenv(variables[i]), 0);
    }
}

static void workspace_files_and_approval_modes_change_nothing(void **state)
{
    (void)state;
    AUTO(scopes_remove) struct scopes scopes;
    AUTO_FD int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    static const char *const files[] = {
        "settings.json", "qsettings.json", ".qwen/settings.json", "system/settings.json", "user/settings.json",
        "policy.json",   ".envrc"};
    static const char *const modes[] = {"plan", "default", "auto-edit", "auto", "yolo"};
    unsigned char before[32], after[32];
    char json[128];
    copy_base(&scopes);
    digest_at(scopes.scratch.dir, before);
    assert_int_equal(mkdir(scratch_path(&scopes.scratch, ".qwen"), 0755), 0);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        scratch_write(scratch_path(&scopes.scratch, files[i]),
                      SANDBOX("{\"filesystem\":\"workspace-write\",\"network\":\"open\"}"));
    assert_int_equal(chdir(scopes.scratch.dir), 0);
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        for (size_t s = 0; s < 3; s++) {
            (void)snprintf(json, sizeof json, "{\"tools\":{\"approvalMode\":\"%s\"}}", modes[m]);
            scopes_apply(&scopes, all_scopes[s], json);
            digest_at(scopes.scratch.dir, after);
            assert_memory_equal(before, after, 32);
        }
    }
    assert_int_equal(fchdir(here), 0);
}

/* At the fixed places, in a mount namespace where home is a scratch file system: HOME and XDG_CONFIG_HOME lead to a
 * store with a policy, the password database's home to an empty one, and later to one with a policy. */
static int read_at_fixed_places(void *context)
{
    struct scopes *elsewhere = context;
    struct qs_store *store = NULL;
    struct qs_txn *txn = NULL;
    struct qs_commit_info info;
    AUTO(result_release) struct qs_policy_result *none = NULL;
    AUTO(result_release) struct qs_policy_result *present = NULL;
    if (mount("none", "/root", "tmpfs", 0, "mode=0700") != 0 || setenv("HOME", "/root", 1) != 0)
        return 10;
    if (qs_store_open(QS_SCOPE_USER, NULL, &store, NULL) || qs_store_init(store, NULL, NULL))
        return 11;
    char xdg[128];
    (void)snprintf(xdg, sizeof xdg, "%s/.config", elsewhere->scratch.dir);
    if (setenv("HOME", elsewhere->scratch.dir, 1) != 0 || setenv("XDG_CONFIG_HOME", xdg, 1) != 0)
        return 12;
    if (qs_policy_read(NULL, &none, NULL) != QS_NO_POLICY ||
        strncmp(qs_policy_source(none, 1)->place, "/root/", 6) != 0)
        return 13;
    /* A write with a HOME that is another's is refused; a read goes on where the password database says. */
    if (lchown(elsewhere->scratch.dir, OTHER_UID, (gid_t)-1) != 0)
        return 17;
    if (qs_txn_begin(store, 0, &txn, NULL) != QS_UNTRUSTED || setenv("HOME", "/root", 1) != 0)
        return 14;
    if (qs_txn_begin(store, 0, &txn, NULL) ||
        qs_txn_apply(txn, "t", POLICY, strlen(POLICY), QS_FORMAT_JSON, false, NULL) ||
        qs_txn_commit(txn, &(struct qs_commit_options){0}, &info, NULL))
        return 15;
    qs_txn_free(txn);
    qs_store_close(store);
    if (setenv("HOME", "/nonexistent", 1) != 0 || qs_policy_read(NULL, &present, NULL) != QS_OK)
        return 16;
    return 0;
}

static void the_fixed_place_of_the_user_is_the_password_databases(void **state)
{
    (void)state;
    AUTO(scopes_remove) struct scopes elsewhere;
    scopes_make(&elsewhere);
    run("mkdir", "-p", scratch_path(&elsewhere.scratch, ".config/qsettings"), "/tmp");
    run("cp", "-a", scopes_path(&base, QS_SCOPE_SYSTEM, ""),
        scratch_path(&elsewhere.scratch, ".config/qsettings/user"));
    assert_int_equal(in_mount_namespace(read_at_fixed_places, &elsewhere), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_base_and_its_copy_have_a_policy),
        cmocka_unit_test(every_state_of_every_step_of_the_path_refuses_in_every_layer),
        cmocka_unit_test(a_store_that_is_gone_is_absent_only_where_it_may_be),
        cmocka_unit_test(the_demand_counts_in_whatever_shape_its_file_is),
        cmocka_unit_test(what_may_not_be_searched_or_read_is_untrusted_for_a_plain_user),
        cmocka_unit_test(every_malformed_value_refuses_in_every_layer),
        cmocka_unit_test(the_strongest_scopes_fault_is_the_one_that_is_told),
        cmocka_unit_test(environment_variables_change_nothing),
        cmocka_unit_test(workspace_files_and_approval_modes_change_nothing),
        cmocka_unit_test(the_fixed_place_of_the_user_is_the_password_databases),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
