/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Negative controls: each barrier is tried from inside with everything in place, and again with that one barrier (and,
 * where two hold the same thing, its second) left out of the plan. The first must hold; the second must not, or the
 * attempt proves nothing. The program is its own shim.
 */
#include "sandbox/context.h"
#include "sandbox/run.h"
#include "sandbox/shim.h"

#include "tests/support/policy_fixture.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LEAKED_FD 50

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
    static const char *const dirs[] = {"home", "store", "home/.ssh", "home/ws", "home/ws/.git", "home/ws/.git/hooks"};
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", base, dirs[i]);
        if (mkdir(path, 0755) != 0)
            return -1;
    }
    (void)snprintf(path, sizeof path, "%s/.ssh/id", home);
    make(path, "private key\n");
    (void)snprintf(path, sizeof path, "%s/data", store);
    make(path, "data\n");
    int leak = open(path, O_RDONLY | O_CLOEXEC);
    return leak >= 0 && dup2(leak, LEAKED_FD) == LEAKED_FD && close(leak) == 0 && setenv("QS_TEST_MARK", "1", 1) == 0 &&
                   setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1) == 0
               ? 0
               : -1;
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

/* The exit status of the script in a sandbox without these barriers; 0 says that what it tried was stopped. */
static int attempt(const char *script, unsigned left_out, bool *ret_timed_out)
{
    struct qs_policy policy = fixture_policy();
    policy.limits.wall_seconds = 1;
    struct facts_request request = {
        .policy = &policy, .workspace = workspace, .root = store, .home = home, .make_caches = false};
    struct host_facts facts;
    struct plan plan = {0};
    struct env env = {0};
    struct qs_error err = {0};
    struct run_result result;
    char net[64] = "", pid[64] = "";
    (void)!readlink("/proc/self/ns/net", net, sizeof net - 1);
    (void)!readlink("/proc/self/ns/pid", pid, sizeof pid - 1);
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)script, net, pid, store, NULL};
    if (host_facts_collect(&request, &facts, &err) != QS_OK ||
        plan_make(&policy, &facts, left_out, &plan, &err) != QS_OK ||
        env_make(&policy, &facts, &plan, environ, &env, &err) != QS_OK)
        fail_msg("%s", err.message);
    const struct run_request run = {.plan = &plan, .env = &env, .argv = argv};
    if (run_plan(&run, &result, &err) != QS_OK)
        fail_msg("%s (without %x): %s", script, left_out, err.message);
    env_release(&env);
    plan_release(&plan);
    host_facts_release(&facts);
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

static void the_repository_is_pinned(void **state)
{
    (void)state;
    control("! mv .git moved", WITHOUT(PINS));
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

static void the_wall_limit_ends_the_run(void **state)
{
    (void)state;
    bool timed_out = false;
    assert_int_equal(attempt("exec sleep 1000", 0, &timed_out), 124);
    assert_true(timed_out);
    assert_int_equal(attempt("sleep 1.2", WITHOUT(WALL), &timed_out), 0);
    assert_false(timed_out);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--inner") == 0)
        return shim_main(argc - 2, argv + 2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_outside_are_stopped_twice),
        cmocka_unit_test(hooks_are_read_only),
        cmocka_unit_test(the_repository_is_pinned),
        cmocka_unit_test(hidden_paths_and_stores_are_masked),
        cmocka_unit_test(the_environment_is_new),
        cmocka_unit_test(network_and_processes_are_apart),
        cmocka_unit_test(the_command_leads_its_group),
        cmocka_unit_test(devices_are_few),
        cmocka_unit_test(the_filter_filters),
        cmocka_unit_test(user_namespaces_are_stopped_twice),
        cmocka_unit_test(no_capability_is_left),
        cmocka_unit_test(descriptors_are_closed),
        cmocka_unit_test(the_wall_limit_ends_the_run),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
