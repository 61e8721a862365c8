/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of `verify`: their names, the scene each belongs to, and what came of them. */
#ifndef SANDBOX_VERIFY_CHECKS_H
#define SANDBOX_VERIFY_CHECKS_H

#include <jansson.h>
#include <stdbool.h>

#define VERIFY_CHECKS(X) \
    X(WORKSPACE_WRITE, "workspace-write", MAIN, inside_workspace_write) \
    X(OUTSIDE_WRITE, "outside-write-erofs", MAIN, inside_outside_write) \
    X(PROTECTED_HOOKS, "protected-hooks", MAIN, inside_protected_hooks) \
    X(GIT_PINNED, "git-pinned", MAIN, inside_git_pinned) \
    X(HIDDEN, "hidden-unreadable", MAIN, inside_hidden) \
    X(ENV_SECRET, "env-secret-absent", MAIN, inside_env_secret) \
    X(ENV_LOADER, "env-loader-absent", MAIN, inside_env_loader) \
    X(INTERFACES, "network-interfaces", MAIN, inside_interfaces) \
    X(CONNECT, "network-connect", MAIN, inside_connect) \
    X(DNS, "dns-closed", MAIN, inside_dns) \
    X(UNIX_PATH, "unix-path-connect", MAIN, inside_unix_path) \
    X(UNIX_ABSTRACT, "unix-abstract-connect", MAIN, inside_unix_abstract) \
    X(SOCKETPAIR, "unix-socketpair-works", MAIN, inside_socketpair) \
    X(PID_NAMESPACE, "pid-namespace", MAIN, inside_pid_namespace) \
    X(OUTSIDE_SIGNAL, "outside-signal", MAIN, inside_outside_signal) \
    X(GROUP_SIGNAL, "group-signal", MAIN, inside_group_signal) \
    X(USER_NAMESPACE, "user-namespace-denied", MAIN, inside_user_namespace) \
    X(MOUNT, "mount-denied", MAIN, inside_mount) \
    X(DESCRIPTOR, "fd-not-inherited", MAIN, inside_descriptor) \
    X(TIOCSTI, "tiocsti-denied", MAIN, inside_tiocsti) \
    X(IO_URING, "io-uring-denied", MAIN, inside_io_uring) \
    X(DEV, "dev-minimal", MAIN, inside_dev) \
    X(STORE, "store-not-visible", MAIN, inside_store) \
    X(RUN_LOG, "journal-not-writable", MAIN, inside_run_log) \
    X(CAPABILITIES, "capabilities-none", MAIN, inside_capabilities) \
    X(NO_NEW_PRIVS, "no-new-privs", MAIN, inside_no_new_privs) \
    X(WALL_LIMIT, "wall-limit", WALL, inside_wall_limit) \
    X(POLICY, "policy-not-visible", MAIN, inside_policy) \
    X(WORKTREE_COMMIT, "worktree-commit", WORKTREE, inside_worktree_commit) \
    X(CROSSING_CONFIG, "crossing-config", WORKTREE, inside_crossing_config) \
    X(CROSSING_INDEX, "crossing-index", WORKTREE, inside_crossing_index) \
    X(CROSSING_LINK, "crossing-link", WORKTREE, inside_crossing_link) \
    X(CROSSING_REF, "crossing-ref", WORKTREE, inside_crossing_ref) \
    X(CROSSING_HOOK, "crossing-hook", WORKTREE, inside_crossing_hook) \
    X(CROSSING_REPOSITORY, "crossing-repository", WORKTREE, inside_crossing_repository)

enum verify_check {
#define VERIFY_ENUM(name, text, scene, function) CHECK_##name,
    VERIFY_CHECKS(VERIFY_ENUM)
#undef VERIFY_ENUM
        CHECK_COUNT
};
const char *verify_check_name(enum verify_check check);

enum verify_scene { SCENE_MAIN, SCENE_WORKTREE, SCENE_WALL, SCENE_COUNT };
enum verify_scene verify_check_scene(enum verify_check check);

enum verify_result {
    VERIFY_MISSING, /* no word of it came back */
    VERIFY_PASS,
    VERIFY_FAIL,
    VERIFY_NOT_APPLICABLE, /* the policy does not ask for it, or the machine has no such thing */
};

#define VERIFY_DETAIL_BYTES 256

struct verify_entry {
    enum verify_result result;
    int error; /* errno of the attempt that the check is about; 0: none */
    char detail[VERIFY_DETAIL_BYTES];
};

struct verify_report {
    struct verify_entry checks[CHECK_COUNT];
};

bool verify_passed(const struct verify_report *report);

/* {checks: [{name, result, detail}], result}. A new reference; NULL without memory. */
json_t *verify_json(const struct verify_report *report);
const char *verify_result_name(enum verify_result result); /* a missing check is a "fail" */

#endif
