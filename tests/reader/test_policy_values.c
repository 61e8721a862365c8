/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every malformed value in every layer makes the policy invalid; and what must not matter does not: environment
 * variables, workspace files, approval modes.
 */
#include "base/cleanup.h"
#include "tests/support/as_user.h"
#include "tests/support/policy/policy_base.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>

#include <cmocka.h>

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
        policy_base_copy(&scopes);
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            struct qs_error err;
            scopes_force(&scopes, policy_base_scopes[s], values[i]);
            enum qs_status got = policy_base_state(scopes.scratch.dir, &err);
            if (got == QS_INVALID && err.path[0] && strstr(err.file, qs_scope_name(policy_base_scopes[s])))
                continue;
            print_message("# %s: %s: %s (%s: %s)\n", qs_scope_name(policy_base_scopes[s]), values[i],
                          qs_policy_status_name(got), err.path, err.message);
            failed++;
        }
        struct qs_error err;
        scopes_force(&scopes, policy_base_scopes[s],
                     POLICY_BASE_POLICY); /* it was the values, not the way they came there */
        assert_int_equal(policy_base_state(scopes.scratch.dir, &err), QS_OK);
    }
    assert_int_equal(failed, 0);
}

static void the_strongest_scopes_fault_is_the_one_that_is_told(void **state)
{
    (void)state;
    AUTO(scopes_remove) struct scopes scopes;
    struct qs_error err;
    policy_base_copy(&scopes);
    scopes_force(&scopes, QS_SCOPE_DEFAULTS, SANDBOX("null"));
    assert_int_equal(policy_base_state(scopes.scratch.dir, &err), QS_INVALID);
    assert_int_equal(truncate(scopes_path(&scopes, QS_SCOPE_USER, "data.mdb"), 0), 0);
    assert_int_equal(policy_base_state(scopes.scratch.dir, &err), QS_DAMAGED);
    assert_int_equal(chmod(scopes_path(&scopes, QS_SCOPE_SYSTEM, ""), 0777), 0);
    assert_int_equal(policy_base_state(scopes.scratch.dir, &err), QS_UNTRUSTED);
    assert_non_null(strstr(err.file, "system"));
}

/* ---- what must not matter ---- */

static void digest_at(const char *root, unsigned char digest[32])
{
    AUTO(policy_base_release) struct qs_policy_result *result = NULL;
    struct qs_policy_options options = {.size = sizeof options, .root = root};
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
    policy_base_copy(&open);
    digest_at(policy_base.scratch.dir, before);
    scopes_force(empty, QS_SCOPE_SYSTEM, "{}");
    scopes_force(empty, QS_SCOPE_DEFAULTS, "{}");
    assert_int_equal(policy_base_state(open.scratch.dir, &err), QS_NO_POLICY);
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *old = getenv(variables[i]);
        AUTO_FREE char *kept = old ? strdup(old) : NULL;
        static const char *const texts[] = {NULL, "", "bwrap", "yolo", "/nonexistent"};
        for (size_t t = 0; t < 6; t++) {
            const char *text = t < 5 ? texts[t] : policy_base.scratch.dir; /* a place with a policy */
            assert_int_equal(text ? setenv(variables[i], text, 1) : unsetenv(variables[i]), 0);
            digest_at(policy_base.scratch.dir, after);
            assert_memory_equal(before, after, 32);
            assert_int_equal(policy_base_state(open.scratch.dir, &err), QS_NO_POLICY);
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
    policy_base_copy(&scopes);
    digest_at(scopes.scratch.dir, before);
    assert_int_equal(mkdir(scratch_path(&scopes.scratch, ".qwen"), 0755), 0);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        scratch_write(scratch_path(&scopes.scratch, files[i]),
                      SANDBOX("{\"filesystem\":\"workspace-write\",\"network\":\"open\"}"));
    assert_int_equal(chdir(scopes.scratch.dir), 0);
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
        for (size_t s = 0; s < 3; s++) {
            (void)snprintf(json, sizeof json, "{\"tools\":{\"approvalMode\":\"%s\"}}", modes[m]);
            scopes_apply(&scopes, policy_base_scopes[s], json);
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
    struct qs_commit_info info = {.size = sizeof info};
    AUTO(policy_base_release) struct qs_policy_result *none = NULL;
    AUTO(policy_base_release) struct qs_policy_result *present = NULL;
    if (mount("none", "/root", "tmpfs", 0, "mode=0700") != 0 || setenv("HOME", "/root", 1) != 0)
        return 10;
    if (qs_store_open(QS_SCOPE_USER, NULL, &store, NULL) || qs_store_init(store, NULL, NULL))
        return 11;
    char xdg[128];
    (void)snprintf(xdg, sizeof xdg, "%s/.config", elsewhere->scratch.dir);
    if (setenv("HOME", elsewhere->scratch.dir, 1) != 0 || setenv("XDG_CONFIG_HOME", xdg, 1) != 0)
        return 12;
    if (qs_policy_read(NULL, &none, NULL) != QS_NO_POLICY || strncmp(qs_policy_source(none, 1)->path, "/root/", 6) != 0)
        return 13;
    /* A write with a HOME that is another's is refused; a read goes on where the password database says. */
    if (lchown(elsewhere->scratch.dir, POLICY_BASE_OTHER_UID, (gid_t)-1) != 0)
        return 17;
    if (qs_txn_begin(store, 0, &txn, NULL) != QS_UNTRUSTED || setenv("HOME", "/root", 1) != 0)
        return 14;
    if (qs_txn_begin(store, 0, &txn, NULL) ||
        qs_txn_apply(txn, "t", POLICY_BASE_POLICY, strlen(POLICY_BASE_POLICY), QS_FORMAT_JSON, false, NULL) ||
        qs_txn_commit(txn, &(struct qs_commit_options){.size = sizeof(struct qs_commit_options)}, &info, NULL))
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
    policy_base_run("mkdir", "-p", scratch_path(&elsewhere.scratch, ".config/qsettings"), "/tmp");
    policy_base_run("cp", "-a", scopes_path(&policy_base, QS_SCOPE_SYSTEM, ""),
                    scratch_path(&elsewhere.scratch, ".config/qsettings/user"));
    assert_int_equal(in_mount_namespace(read_at_fixed_places, &elsewhere), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_malformed_value_refuses_in_every_layer),
        cmocka_unit_test(the_strongest_scopes_fault_is_the_one_that_is_told),
        cmocka_unit_test(environment_variables_change_nothing),
        cmocka_unit_test(workspace_files_and_approval_modes_change_nothing),
        cmocka_unit_test(the_fixed_place_of_the_user_is_the_password_databases),
    };
    return cmocka_run_group_tests(tests, policy_base_setup, policy_base_teardown);
}
