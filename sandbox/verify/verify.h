/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The battery: proof of the boundary on the spot. Decoys are prepared on the host, a probe (this program again) is run
 * under exactly the plan that `run` would make, tries each way out, and both sides say what they saw.
 *
 *   scene MAIN      a scratch workspace with a checkout (or --workspace): nearly all checks
 *   scene WORKTREE  a linked worktree: a commit must work
 *   scene WALL      a wall limit of a second, and processes that will not end
 *
 * A check that gave no result counts as failed.
 */
#ifndef SANDBOX_BATTERY_H
#define SANDBOX_BATTERY_H

#include "sandbox/run/prepare.h"

#include <jansson.h>

#define BATTERY_CHECKS(X) \
    X(WORKSPACE_WRITE, "workspace-write", MAIN, inside_workspace_write) \
    X(OUTSIDE_WRITE, "outside-write-erofs", MAIN, inside_outside_write) \
    X(PROTECTED_HOOKS, "protected-hooks", MAIN, inside_protected_hooks) \
    X(PROTECTED_CONFIG, "protected-config", MAIN, inside_protected_config) \
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
    X(JOURNAL, "journal-not-writable", MAIN, inside_journal) \
    X(CAPABILITIES, "capabilities-none", MAIN, inside_capabilities) \
    X(NO_NEW_PRIVS, "no-new-privs", MAIN, inside_no_new_privs) \
    X(WALL_LIMIT, "wall-limit", WALL, inside_wall_limit) \
    X(POLICY, "policy-not-visible", MAIN, inside_policy) \
    X(WORKTREE_COMMIT, "worktree-commit", WORKTREE, inside_worktree_commit)

enum battery_check {
#define BATTERY_ENUM(name, text, scene, function) CHECK_##name,
    BATTERY_CHECKS(BATTERY_ENUM)
#undef BATTERY_ENUM
        CHECK_COUNT
};
const char *battery_check_name(enum battery_check check);

enum battery_scene { SCENE_MAIN, SCENE_WORKTREE, SCENE_WALL, SCENE_COUNT };
enum battery_scene battery_check_scene(enum battery_check check);

enum battery_result {
    BATTERY_MISSING, /* no word of it came back */
    BATTERY_PASS,
    BATTERY_FAIL,
    BATTERY_NOT_APPLICABLE, /* the policy does not ask for it, or the machine has no such thing */
};

#define BATTERY_DETAIL_BYTES 256

struct battery_entry {
    enum battery_result result;
    int error; /* errno of the attempt that the check is about; 0: none */
    char detail[BATTERY_DETAIL_BYTES];
};

struct battery_report {
    struct battery_entry checks[CHECK_COUNT];
};

struct battery_request {
    const struct options *options;
    unsigned scenes; /* bits 1 << enum battery_scene; 0: all */
    /* Tests alone use these: barriers to leave out, and a hand on the finished plan. */
    unsigned without;
    void (*alter)(struct plan *plan);
};

/*
 * Runs the scenes at once; takes as long as the wall limit's scene, about 3 s. What was made on the host is removed
 * again. Errors: those of context_open and run_plan where the main scene could not be run: nothing is known then.
 */
enum qs_status battery_run(const struct battery_request *request, struct battery_report *ret_report,
                           struct qs_error *err) QS_MUST_USE;

bool battery_passed(const struct battery_report *report);

/* {checks: [{name, result, detail}], result}. A new reference; NULL without memory. */
json_t *battery_json(const struct battery_report *report);
const char *battery_result_name(enum battery_result result); /* a missing check is a "fail" */

#endif
