/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Negative controls: each barrier is tried from inside with everything in place, and again with that one barrier (and,
 * where two hold the same thing, its second) left out of the plan. The first must hold; the second must not, or the
 * attempt proves nothing. The program is its own shim.
 */
#include "sandbox/crossing/run_git.h"
#include "sandbox/run/prepare.h"
#include "sandbox/run/run.h"
#include "sandbox/shim/shim.h"

#include "tests/support/policy/policy_fixture.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/keyctl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LEAKED_FD 50
#define KEY_NAME  "qsandbox-control"

/* Outside /tmp, which is private in every sandbox. */
static char base[] = "/srv/qsandbox-controls.XXXXXX";
static char home[128], workspace[128], store[128];

static void make(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

static int setup(void **state)
{
    (void)state;
    char path[256];
    if (!mkdtemp(base))
        return -1;
    (void)snprintf(home, sizeof home, "%s/home", base);
    (void)snprintf(workspace, sizeof workspace, "%s/home/ws", base);
    (void)snprintf(store, sizeof store, "%s/store", base);
    static const char *const dirs[] = {"home",
                                       "store",
                                       "home/.ssh",
                                       "home/ws",
                                       "home/ws/.git",
                                       "home/ws/.git/hooks",
                                       "home/ws/.git/objects",
                                       "home/ws/.git/refs"};
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", base, dirs[i]);
        if (mkdir(path, 0755) != 0)
            return -1;
    }
    (void)snprintf(path, sizeof path, "%s/.ssh/id", home);
    make(path, "private key\n");
    (void)snprintf(path, sizeof path, "%s/.git/HEAD", workspace);
    make(path, "ref: refs/heads/main\n");
    (void)snprintf(path, sizeof path, "%s/data", store);
    make(path, "data\n");
    int leak = open(path, O_RDONLY | O_CLOEXEC);
    return leak >= 0 && dup2(leak, LEAKED_FD) == LEAKED_FD && close(leak) == 0 && setenv("QS_TEST_MARK", "1", 1) == 0 &&
                   setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1) == 0
               ? 0
               : -1;
}

/* 1: the key is found. */
static int seek_key(void)
{
    return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", KEY_NAME, 0) >= 0;
}

/* This program in the workspace, where the command can see it; the checkout may lie in a place that is private inside.
 */
static void copy_self(void)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/self", workspace);
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    assert_true(from >= 0 && to >= 0);
    char piece[65536];
    for (ssize_t len; (len = read(from, piece, sizeof piece)) != 0;)
        assert_true(len > 0 && write(to, piece, (size_t)len) == len);
    assert_int_equal(close(from) | close(to), 0);
}

static int forget(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    return nftw(base, forget, 16, FTW_DEPTH | FTW_PHYS);
}

struct stage {
    struct host_facts facts;
    struct run_git git;
    struct plan plan;
    struct env env;
};

static void set_stage(struct stage *stage)
{
    struct qs_policy policy = fixture_policy();
    struct qs_error err = {0};
    policy.limits.wall_seconds = 1;
    const struct facts_request request = {.policy = &policy, .workspace = workspace, .root = store, .home = home};
    *stage = (struct stage){.facts = HOST_FACTS_NONE, .git = RUN_GIT_NONE};
    const char *roots[] = {workspace};
    struct run_git_request git = {.uid = getuid(), .roots = roots, .root_count = 1};
    if (host_facts_collect(&request, &stage->facts, &err) != QS_OK)
        fail_msg("%s", err.message);
    git.base = stage->facts.state;
    if (run_git_begin(&git, &stage->git, &err) != QS_OK || run_git_show(&stage->git, &stage->facts, &err) != QS_OK ||
        plan_make(&policy, &stage->facts, &stage->plan, &err) != QS_OK ||
        env_make(&policy, &stage->facts, &stage->plan, environ, &stage->env, &err) != QS_OK)
        fail_msg("%s", err.message);
}

static void release_stage(struct stage *stage)
{
    run_git_release(&stage->git);
    env_release(&stage->env);
    plan_release(&stage->plan);
    host_facts_release(&stage->facts);
}

/* Runs the command under the plan, which alter (may be NULL) may change. */
static enum qs_status run_altered(char *const *argv, void (*alter)(struct plan *plan, size_t which), size_t which,
                                  struct run_result *result, struct qs_error *err)
{
    struct stage stage;
    set_stage(&stage);
    if (alter)
        alter(&stage.plan, which);
    const struct run_request request = {.plan = &stage.plan, .env = &stage.env, .argv = argv};
    enum qs_status status = run_plan(&request, &stage.facts, result, err);
    release_stage(&stage);
    return status;
}

/* The exit status of the script in a sandbox without these barriers; 0 says that what it tried was stopped. */
static int attempt(const char *script, unsigned left_out, bool *ret_timed_out)
{
    struct qs_error err = {0};
    struct run_result result;
    char net[64] = "", pid[64] = "", self[512] = "";
    (void)!readlink("/proc/self/ns/net", net, sizeof net - 1);
    (void)!readlink("/proc/self/ns/pid", pid, sizeof pid - 1);
    (void)!readlink("/proc/self/exe", self, sizeof self - 1);
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)script, net, pid, store, self, NULL};
    barriers_left_out = left_out;
    enum qs_status status = run_altered(argv, NULL, 0, &result, &err);
    barriers_left_out = 0;
    if (status != QS_OK)
        fail_msg("%s (without %x): %s", script, left_out, err.message);
    if (ret_timed_out)
        *ret_timed_out = result.timed_out;
    return run_exit_status(&result);
}

static void control(const char *script, unsigned left_out)
{
    int with = attempt(script, 0, NULL), none = attempt(script, left_out, NULL);
    if (with != 0)
        fail_msg("not stopped (%d): %s", with, script);
    if (none == 0)
        fail_msg("stopped even without the barriers %x: %s", left_out, script);
}

static void held_by_either(const char *script, unsigned first, unsigned second)
{
    assert_int_equal(attempt(script, first, NULL), 0);
    assert_int_equal(attempt(script, second, NULL), 0);
    control(script, first | second);
}

static void writes_outside_are_stopped_twice(void **state)
{
    (void)state;
    held_by_either("! touch ../outside", WITHOUT(READ_ONLY), WITHOUT(LANDLOCK));
}

static void hooks_are_read_only(void **state)
{
    (void)state;
    control("! touch .git/hooks/pre-commit", WITHOUT(GUARDS));
}

static void the_repository_is_private(void **state)
{
    (void)state;
    control("! mv .git moved", WITHOUT(PRIVATE_GIT));
    char from[256], to[256];
    (void)snprintf(from, sizeof from, "%s/moved", workspace);
    (void)snprintf(to, sizeof to, "%s/.git", workspace);
    assert_int_equal(rename(from, to), 0);
}

static void hidden_paths_and_stores_are_masked(void **state)
{
    (void)state;
    control("! cat ../.ssh/id", WITHOUT(MASKS));
    control("! cat \"$2\"/data", WITHOUT(STORE_MASKS));
}

static void the_environment_is_new(void **state)
{
    (void)state;
    control("test -z \"$QS_TEST_MARK\"", WITHOUT(ENVIRONMENT));
}

static void network_and_processes_are_apart(void **state)
{
    (void)state;
    control("test \"$(readlink /proc/self/ns/net)\" != \"$0\"", WITHOUT(NETWORK));
    control("test \"$(readlink /proc/self/ns/pid)\" != \"$1\"", WITHOUT(PID));
}

static void the_command_leads_its_group(void **state)
{
    (void)state;
    control("pid=$$; set -- $(cat /proc/$$/stat); test \"$5\" = $pid", WITHOUT(GROUP));
}

static void devices_are_few(void **state)
{
    (void)state;
    control("test ! -e /dev/kmsg", WITHOUT(DEV));
}

static void the_filter_filters(void **state)
{
    (void)state;
    control("! python3 -c 'import socket; socket.socket(socket.AF_UNIX)'", WITHOUT(SECCOMP));
}

static void user_namespaces_are_stopped_twice(void **state)
{
    (void)state;
    held_by_either("! unshare -U true", WITHOUT(SECCOMP), WITHOUT(USERNS_LIMIT));
}

static void no_capability_is_left(void **state)
{
    (void)state;
    control("! grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb):.*[1-9a-f]' /proc/self/status", WITHOUT(CAPABILITIES));
}

static void descriptors_are_closed(void **state)
{
    (void)state;
    control("test ! -e /proc/self/fd/50", WITHOUT(DESCRIPTORS));
}

/* A key of the caller's session. The filter denies keyctl(2), too. */
static void the_callers_keys_are_out_of_reach_twice(void **state)
{
    (void)state;
    assert_true(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0);
    assert_true(syscall(SYS_add_key, "user", KEY_NAME, "secret", 6, KEY_SPEC_SESSION_KEYRING) >= 0);
    assert_int_equal(seek_key(), 1); /* where it was made, it is found */
    copy_self();
    held_by_either("./self --seek-key", WITHOUT(SECCOMP), WITHOUT(KEYRING));
}

static void the_wall_limit_ends_the_run(void **state)
{
    (void)state;
    bool timed_out = false;
    assert_int_equal(attempt("exec sleep 1000", 0, &timed_out), 124);
    assert_true(timed_out);
    assert_int_equal(attempt("sleep 1.2", WITHOUT(WALL), &timed_out), 0);
    assert_false(timed_out);
}

/* ---- what the shim refuses ---- */

static void another_inode(struct plan *plan, size_t which)
{
    assert_true(which < plan->count);
    plan->mounts[which].ino++;
}

static void another_device(struct plan *plan, size_t which)
{
    assert_true(which < plan->count);
    plan->mounts[which].dev++;
}

static size_t mount_count;
static void count_mounts(struct plan *plan, size_t which)
{
    (void)which;
    mount_count = plan->count;
}

/* Each mount of the plan, outer and inner, by its inode and by its device. */
static void a_mount_that_is_not_what_was_planned_ends_the_run_before_it_begins(void **state)
{
    (void)state;
    char *const argv[] = {(char[]){"touch"}, (char[]){"begun"}, NULL};
    void (*const alters[])(struct plan *, size_t) = {another_inode, another_device};
    struct run_result result;
    struct qs_error err = {0};
    char begun[256];
    (void)snprintf(begun, sizeof begun, "%s/begun", workspace);
    assert_int_equal(run_altered(argv, count_mounts, 0, &result, &err), QS_OK);
    assert_int_equal(unlink(begun), 0);
    assert_true(mount_count > 3);
    for (size_t i = 0; i < 2 * mount_count; i++) {
        assert_int_equal(run_altered(argv, alters[i % 2], i / 2, &result, &err), QS_CONFLICT);
        assert_non_null(strstr(err.message, "another inode"));
        assert_false(result.started);
        assert_int_equal(access(begun, F_OK), -1);
    }
}

/* Gives the message to a program's shim and returns the event that comes back. */
static struct event ask_shim(const char *program, const struct buf *message)
{
    struct event event = {0};
    int spec[2], events[2], control[2];
    char fds[3][16];
    assert_int_equal(pipe(spec) | pipe(events) | pipe(control), 0);
    (void)snprintf(fds[0], sizeof fds[0], "%d", spec[0]);
    (void)snprintf(fds[1], sizeof fds[1], "%d", events[1]);
    (void)snprintf(fds[2], sizeof fds[2], "%d", control[0]);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(spec[1]);
        (void)execl(program, program, "--inner", fds[0], fds[1], fds[2], fds[1], (char *)NULL);
        _exit(127);
    }
    assert_int_equal(write(spec[1], message->data, message->len), (ssize_t)message->len);
    (void)close(spec[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(read(events[0], &event, sizeof event), (ssize_t)sizeof event);
    for (size_t i = 0; i < 2; i++) {
        (void)close(events[i]);
        (void)close(control[i]);
    }
    (void)close(spec[0]);
    return event;
}

static void the_installed_program_takes_no_message_that_could_leave_a_barrier_out(void **state)
{
    (void)state;
    char *const argv[] = {(char[]){"true"}, NULL};
    char *env[] = {NULL};
    char installed[512];
    const char *build = getenv("QS_BUILD");
    struct spec_mount mount = {.kind = MOUNT_READ_ONLY, .dest = "/"};
    struct buf message = {0};
    struct spec read;
    const struct spec spec = {.mounts = &mount, .mount_count = 1, .cwd = "/", .argv = argv, .env = env, .filter = ""};
    (void)snprintf(installed, sizeof installed, "%s/bin/qsandbox", build ? build : "build");
    assert_int_equal(spec_encode(&spec, &message, NULL), QS_OK);
    assert_int_equal(spec_decode(memcpy(malloc(message.len), message.data, message.len), message.len, &read, NULL),
                     QS_OK);
    spec_release(&read);
    const struct event refused = ask_shim(installed, &message); /* when it has read it, and before it does anything */
    assert_int_equal(refused.type, EVENT_FAILED);
    assert_int_equal(refused.value, QS_INVALID);
    assert_non_null(strstr(refused.text, "of another version"));
    buf_release(&message);
}

/* ---- the course of a run ---- */

static void follow(char *const *argv)
{
    struct run_result result;
    struct qs_error err = {0};
    assert_int_equal(run_altered(argv, NULL, 0, &result, &err), QS_OK);
    assert_int_equal(run_exit_status(&result), 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

/* The C library copies the list of arguments onto the stack to try a shell. */
static void a_script_without_an_interpreter_may_have_many_arguments(void **state)
{
    (void)state;
    enum { COUNT = 60000 };
    char *const make[] = {(char[]){"sh"}, (char[]){"-c"},
                          (char[]){"printf 'test $# -eq 60000' >plain && chmod 755 plain"}, NULL};
    char word[] = "x", name[] = "./plain";
    char **argv = calloc(COUNT + 2, sizeof *argv);
    assert_non_null(argv);
    for (size_t i = 0; i <= COUNT; i++)
        argv[i] = word;
    argv[0] = name;
    follow(make);
    follow(argv);
    free(argv);
}

/* Begun and not watched, as if a record could not be made. */
static void a_run_that_is_not_watched_starts_nothing_and_leaves_no_process(void **state)
{
    (void)state;
    char *const argv[] = {(char[]){"touch"}, (char[]){"begun"}, NULL};
    struct stage stage;
    struct qs_error err = {0};
    char begun[256];
    sigset_t before = {0}, after = {0};
    (void)snprintf(begun, sizeof begun, "%s/begun", workspace);
    (void)sigprocmask(SIG_SETMASK, NULL, &before);
    set_stage(&stage);
    const struct run_request request = {.plan = &stage.plan, .env = &stage.env, .argv = argv};
    struct run *run = NULL;
    assert_int_equal(run_begin(&request, &run, &err), QS_OK);
    run_free(&run);
    assert_null(run);
    release_stage(&stage);
    (void)sigprocmask(SIG_SETMASK, NULL, &after);
    assert_memory_equal(&before, &after, sizeof before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(access(begun, F_OK), -1);
    follow(argv);
    assert_int_equal(unlink(begun), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--inner") == 0)
        return shim_main(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "--seek-key") == 0)
        return seek_key();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_outside_are_stopped_twice),
        cmocka_unit_test(hooks_are_read_only),
        cmocka_unit_test(the_repository_is_private),
        cmocka_unit_test(hidden_paths_and_stores_are_masked),
        cmocka_unit_test(the_environment_is_new),
        cmocka_unit_test(network_and_processes_are_apart),
        cmocka_unit_test(the_command_leads_its_group),
        cmocka_unit_test(devices_are_few),
        cmocka_unit_test(the_filter_filters),
        cmocka_unit_test(user_namespaces_are_stopped_twice),
        cmocka_unit_test(no_capability_is_left),
        cmocka_unit_test(descriptors_are_closed),
        cmocka_unit_test(the_callers_keys_are_out_of_reach_twice),
        cmocka_unit_test(the_wall_limit_ends_the_run),
        cmocka_unit_test(a_mount_that_is_not_what_was_planned_ends_the_run_before_it_begins),
        cmocka_unit_test(the_installed_program_takes_no_message_that_could_leave_a_barrier_out),
        cmocka_unit_test(a_script_without_an_interpreter_may_have_many_arguments),
        cmocka_unit_test(a_run_that_is_not_watched_starts_nothing_and_leaves_no_process),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
