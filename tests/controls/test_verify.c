/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The negative controls of verify: with one barrier taken out of the plan, the check that is about it fails. Each is
 * tried as root and as a plain user.
 *
 * The program is its own executor, shim and probe. It works in namespaces of its own: a password database whose homes
 * are scratch, and a network with one interface beside lo, so that a control does not depend on the machine's.
 */
#include "base/cleanup.h"
#include "sandbox/cmd/qsandbox.h"
#include "sandbox/shim/shim.h"
#include "sandbox/verify/inside.h"
#include "sandbox/verify/verify.h"
#include "tests/support/own_uid.h"
#include "tests/support/scratch.h"
#include "tests/support/stores.h"
#include "text/value.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#define BASE_VARIABLE "QS_TEST_BATTERY_BASE" /* where the copy of this program lies */

static uid_t users[] = {0, 0};                       /* root, and one that nobody else is */
static char base[] = "/srv/qsandbox-battery.XXXXXX"; /* not below /tmp, which is private inside */
static char root[64];

/* ---- policies ---- */

enum policy { CLOSED, PRIVATE, PRIVATE_OPEN, READ_ONLY, OPEN, REPORT, POLICY_COUNT };
static const char *const policies[POLICY_COUNT] = {
    [CLOSED] = "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"workspace-write\",\"network\":\"closed\"}}}",
    [REPORT] = "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"workspace-write\",\"network\":\"closed\"}},"
               "\"executor\":{\"git\":{\"newRepositories\":\"report\"}}}",
    [PRIVATE] = "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"workspace-write\",\"network\":\"closed\"}},"
                "\"executor\":{\"unixSockets\":\"private\"}}",
    [PRIVATE_OPEN] = "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"workspace-write\",\"network\":\"open\"}},"
                     "\"executor\":{\"unixSockets\":\"private\",\"caches\":\"none\"}}",
    [READ_ONLY] = "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"read-only\",\"network\":\"closed\"}}}",
    [OPEN] = "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"workspace-write\",\"network\":\"open\"}},"
             "\"executor\":{\"unixSockets\":\"open\",\"audit\":\"off\",\"limits\":{\"wallSeconds\":0}}}",
};

static void set_policy(enum policy policy)
{
    static int current = -1;
    if (current == (int)policy)
        return;
    struct qs_store *store = stores_open(root, QS_SCOPE_SYSTEM);
    stores_become(store, policies[policy]);
    qs_store_close(store);
    current = (int)policy;
}

/* ---- hands on the plan ---- */

static void drop_mounts(struct plan *plan, bool (*drop)(const struct plan_mount *mount))
{
    size_t kept = 0;
    for (size_t i = 0; i < plan->count; i++)
        if (!drop(&plan->mounts[i]))
            plan->mounts[kept++] = plan->mounts[i];
    assert_true(kept < plan->count);
    plan->count = kept;
}

static bool is_workspace(const struct plan_mount *mount)
{
    return mount->kind == MOUNT_WRITABLE && strcmp(mount->reason, "the workspace") == 0;
}

static bool is_host_socket(const struct plan_mount *mount)
{
    return mount->kind == MOUNT_HIDDEN && strcmp(mount->reason, "a socket of the host") == 0;
}

static void no_workspace(struct plan *plan)
{
    drop_mounts(plan, is_workspace);
}

static void no_socket_masks(struct plan *plan)
{
    drop_mounts(plan, is_host_socket);
}

/* ---- the controls ---- */

static const struct control {
    enum verify_check check;
    unsigned without;
    void (*alter)(struct plan *plan);
    enum policy policy;
} controls[] = {
    {CHECK_WORKSPACE_WRITE, 0, no_workspace, CLOSED},
    {CHECK_OUTSIDE_WRITE, WITHOUT(READ_ONLY), NULL, CLOSED},
    {CHECK_OUTSIDE_WRITE, WITHOUT(READ_ONLY) | WITHOUT(LANDLOCK), NULL, CLOSED},
    {CHECK_PROTECTED_HOOKS, WITHOUT(GUARDS), NULL, CLOSED},
    {CHECK_GIT_PINNED, WITHOUT(PRIVATE_GIT), NULL, CLOSED},
    {CHECK_HIDDEN, WITHOUT(MASKS), NULL, CLOSED},
    {CHECK_ENV_SECRET, WITHOUT(ENVIRONMENT), NULL, CLOSED},
    {CHECK_ENV_LOADER, WITHOUT(ENVIRONMENT), NULL, CLOSED},
    {CHECK_POLICY, WITHOUT(ENVIRONMENT), NULL, CLOSED},
    {CHECK_INTERFACES, WITHOUT(NETWORK), NULL, CLOSED},
    {CHECK_CONNECT, WITHOUT(NETWORK), NULL, CLOSED},
    {CHECK_DNS, WITHOUT(NETWORK), NULL, CLOSED},
    {CHECK_UNIX_PATH, WITHOUT(SECCOMP), NULL, CLOSED},
    {CHECK_UNIX_PATH, 0, no_socket_masks, PRIVATE},
    {CHECK_UNIX_ABSTRACT, WITHOUT(SECCOMP), NULL, CLOSED},
    {CHECK_UNIX_ABSTRACT, WITHOUT(LANDLOCK), NULL, PRIVATE_OPEN},
    {CHECK_UNIX_ABSTRACT, WITHOUT(LANDLOCK) | WITHOUT(NETWORK), NULL, PRIVATE},
    {CHECK_SOCKETPAIR, WITHOUT(SECCOMP), NULL, CLOSED},
    {CHECK_PID_NAMESPACE, WITHOUT(PID), NULL, CLOSED},
    {CHECK_OUTSIDE_SIGNAL, WITHOUT(PID), NULL, CLOSED},
    {CHECK_GROUP_SIGNAL, WITHOUT(GROUP), NULL, CLOSED},
    {CHECK_USER_NAMESPACE, WITHOUT(SECCOMP), NULL, CLOSED},
    {CHECK_USER_NAMESPACE, WITHOUT(USERNS_LIMIT), NULL, CLOSED},
    {CHECK_MOUNT, WITHOUT(SECCOMP), NULL, CLOSED},
    {CHECK_DESCRIPTOR, WITHOUT(DESCRIPTORS), NULL, CLOSED},
    {CHECK_TIOCSTI, WITHOUT(SECCOMP), NULL, CLOSED},
    {CHECK_IO_URING, WITHOUT(SECCOMP), NULL, CLOSED},
    {CHECK_DEV, WITHOUT(DEV), NULL, CLOSED},
    {CHECK_STORE, WITHOUT(STORE_MASKS), NULL, CLOSED},
    {CHECK_RUN_LOG, WITHOUT(STORE_MASKS), NULL, CLOSED},
    {CHECK_CAPABILITIES, WITHOUT(CAPABILITIES), NULL, CLOSED},
    {CHECK_WALL_LIMIT, WITHOUT(WALL), NULL, CLOSED},
    {CHECK_WORKTREE_COMMIT, WITHOUT(PRIVATE_GIT), NULL, CLOSED},
    {CHECK_CROSSING_CONFIG, WITHOUT(PRIVATE_GIT), NULL, CLOSED},
    {CHECK_CROSSING_INDEX, WITHOUT(PRIVATE_GIT), NULL, CLOSED},
    {CHECK_CROSSING_LINK, WITHOUT(PRIVATE_GIT), NULL, CLOSED},
    {CHECK_CROSSING_REF, WITHOUT(PRIVATE_GIT), NULL, CLOSED},
    {CHECK_CROSSING_HOOK, 0, NULL, REPORT},
    {CHECK_CROSSING_REPOSITORY, 0, NULL, REPORT},
};
#define CONTROL_COUNT (sizeof controls / sizeof controls[0])

/* ---- running as somebody ---- */

struct answer {
    enum qs_status status;
    struct qs_error err;
    struct verify_report report;
};

static void become(uid_t uid)
{
    char home[96];
    (void)snprintf(home, sizeof home, "%s/home-%u", base, (unsigned)uid);
    if (setgroups(0, NULL) != 0 || setresgid(uid, uid, uid) != 0 || setresuid(uid, uid, uid) != 0 || chdir(home) != 0)
        _exit(1);
}

struct call {
    unsigned scenes, without;
    void (*alter)(struct plan *plan);
};

/* In a process of its own: verify changes environment and signals, and a plain user cannot become root again. */
static int start_as(uid_t uid, const struct call *call, pid_t *ret_pid)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    *ret_pid = fork();
    assert_true(*ret_pid >= 0);
    if (*ret_pid == 0) {
        const struct run_options options = {.root = root, .status_fd = -1};
        const struct verify_request request = {.options = &options, .scenes = call->scenes};
        struct answer mine = {0};
        become(uid);
        barriers_left_out = call->without;
        verify_alter = call->alter;
        mine.status = verify_run(&request, &mine.report, &mine.err);
        _exit(write(ends[1], &mine, sizeof mine) == (ssize_t)sizeof mine ? 0 : 1);
    }
    (void)close(ends[1]);
    return ends[0];
}

/* As both users, at once. */
static void verify_as_both(const struct call *call, struct answer answers[2])
{
    pid_t pids[2];
    int fds[2];
    for (size_t u = 0; u < 2; u++)
        fds[u] = start_as(users[u], call, &pids[u]);
    for (size_t u = 0; u < 2; u++) {
        size_t len = 0;
        ssize_t got;
        while ((got = read(fds[u], (char *)&answers[u] + len, sizeof answers[u] - len)) > 0)
            len += (size_t)got;
        (void)close(fds[u]);
        if (waitpid(pids[u], NULL, 0) != pids[u] || len != sizeof answers[u])
            answers[u] = (struct answer){.status = QS_IO, .err.message = "no answer came back"};
    }
    for (size_t u = 0; u < 2; u++) {
        if (answers[u].status != QS_OK)
            print_error("uid %u: %s\n", (unsigned)users[u], answers[u].err.message);
        assert_int_equal(answers[u].status, QS_OK);
    }
}

static void expect(const struct answer *answer, uid_t uid, enum verify_check check, enum verify_result result)
{
    const struct verify_entry *entry = &answer->report.checks[check];
    if (entry->result != result)
        print_error("uid %u: %s is %s: %s\n", (unsigned)uid, verify_check_name(check),
                    verify_result_name(entry->result), entry->detail);
    assert_int_equal(entry->result, result);
}

/* ---- tests ---- */

/* Checks that no barrier of the plan can be taken from: they have tests of their own below. */
static bool has_other_control(enum verify_check check)
{
    return check == CHECK_NO_NEW_PRIVS;
}

static void every_check_has_a_negative_control(void **state)
{
    (void)state;
    for (unsigned check = 0; check < CHECK_COUNT; check++) {
        bool found = has_other_control((enum verify_check)check);
        for (size_t i = 0; i < CONTROL_COUNT; i++)
            found = found || controls[i].check == check;
        if (!found)
            print_error("%s has none\n", verify_check_name((enum verify_check)check));
        assert_true(found);
    }
}

static void without_its_barrier_each_check_fails(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONTROL_COUNT; i++) {
        const struct control *control = &controls[i];
        const struct call call = {1u << verify_check_scene(control->check), control->without, control->alter};
        struct answer answers[2];
        set_policy(control->policy);
        verify_as_both(&call, answers);
        for (size_t u = 0; u < 2; u++) {
            print_message("# %s: %s\n", verify_check_name(control->check),
                          answers[u].report.checks[control->check].detail);
            expect(&answers[u], users[u], control->check, VERIFY_FAIL);
            assert_false(verify_passed(&answers[u].report));
        }
    }
}

static void expect_all(enum policy policy, const enum verify_check *skipped, size_t skipped_count)
{
    static const struct call call = {0};
    struct answer answers[2];
    set_policy(policy);
    verify_as_both(&call, answers);
    for (size_t u = 0; u < 2; u++) {
        for (unsigned check = 0; check < CHECK_COUNT; check++) {
            enum verify_result result = VERIFY_PASS;
            for (size_t i = 0; i < skipped_count; i++)
                if (skipped[i] == check)
                    result = VERIFY_NOT_APPLICABLE;
            expect(&answers[u], users[u], (enum verify_check)check, result);
        }
        assert_true(verify_passed(&answers[u].report));
    }
}

static void with_all_barriers_every_check_passes(void **state)
{
    (void)state;
    expect_all(CLOSED, NULL, 0);
    expect_all(PRIVATE, NULL, 0);
}

static void what_the_policy_opens_is_not_applicable_and_all_else_passes(void **state)
{
    (void)state;
    static const enum verify_check by_open_network[] = {CHECK_INTERFACES, CHECK_CONNECT, CHECK_DNS};
    static const enum verify_check by_read_only[] = {CHECK_WORKSPACE_WRITE, CHECK_WORKTREE_COMMIT,
                                                     CHECK_CROSSING_CONFIG, CHECK_CROSSING_INDEX,
                                                     CHECK_CROSSING_LINK,   CHECK_CROSSING_REF,
                                                     CHECK_CROSSING_HOOK,   CHECK_CROSSING_REPOSITORY};
    static const enum verify_check by_open_sockets[] = {CHECK_INTERFACES, CHECK_CONNECT,       CHECK_DNS,
                                                        CHECK_UNIX_PATH,  CHECK_UNIX_ABSTRACT, CHECK_RUN_LOG,
                                                        CHECK_WALL_LIMIT};
    expect_all(PRIVATE_OPEN, by_open_network, 3);
    expect_all(READ_ONLY, by_read_only, 8);
    expect_all(OPEN, by_open_sockets, 7);
}

static void a_check_that_gives_no_result_is_a_failure(void **state)
{
    (void)state;
    static const struct call call = {.scenes = 1u << SCENE_WORKTREE};
    struct answer answers[2];
    set_policy(CLOSED);
    verify_as_both(&call, answers);
    expect(&answers[0], 0, CHECK_WORKTREE_COMMIT, VERIFY_PASS);
    expect(&answers[0], 0, CHECK_MOUNT, VERIFY_MISSING);
    assert_false(verify_passed(&answers[0].report));
    AUTO(value_release) json_t *json = verify_json(&answers[0].report);
    assert_string_equal(json_string_value(json_object_get(json, "result")), "fail");
    json_t *first = json_array_get(json_object_get(json, "checks"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "result")), "fail");
}

/* bubblewrap and the kernel each insist on no_new_privs, so this control is a process without any sandbox. */
static void without_a_sandbox_no_new_privs_fails(void **state)
{
    (void)state;
    const struct inside_brief brief = {.secret = "s"};
    struct inside_record record;
    inside_check(CHECK_NO_NEW_PRIVS, &brief, &record);
    assert_int_equal(record.result, VERIFY_FAIL);
}

/* The pair must work, so its other control is a filter that is too strict. */
static void a_filter_that_denies_socket_pairs_fails_the_check(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct inside_brief brief = {.secret = "s"};
        struct inside_record record = {0};
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
        if (!filter || seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socketpair), 0) != 0 ||
            seccomp_load(filter) != 0)
            _exit(2);
        inside_check(CHECK_SOCKETPAIR, &brief, &record);
        _exit(record.result == VERIFY_FAIL && record.error == EPERM ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void nothing_is_left_on_the_host(void **state)
{
    (void)state;
    for (size_t u = 0; u < 2; u++) {
        char home[96];
        (void)snprintf(home, sizeof home, "%s/home-%u", base, (unsigned)users[u]);
        assert_int_equal(scratch_count(home, ".qsandbox"), 0);
    }
    assert_int_equal(scratch_count("/tmp", ".qsandbox-verify"), 0);
}

/* ---- the stage ---- */

static int write_passwd(const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return -1;
    for (size_t u = 0; u < 2; u++)
        (void)fprintf(file, "%s:x:%u:%u::%s/home-%u:/bin/sh\n", u ? "ann" : "root", (unsigned)users[u],
                      (unsigned)users[u], base, (unsigned)users[u]);
    return fclose(file);
}

/* lo, and an interface that leads nowhere. */
static int make_network(void)
{
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    AUTO_FD int socket_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC); /* the interface lives as long as this is open */
    if (socket_fd < 0 || tun < 0 || ioctl(tun, TUNSETIFF, &request) != 0)
        return -1;
    struct ifreq lo = {.ifr_flags = IFF_UP | IFF_RUNNING};
    (void)snprintf(lo.ifr_name, sizeof lo.ifr_name, "lo");
    return ioctl(socket_fd, SIOCSIFFLAGS, &lo);
}

static int setup(void **state)
{
    (void)state;
    char path[96];
    umask(022);
    users[1] = own_uid();
    if (unshare(CLONE_NEWNS | CLONE_NEWNET) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmp", "/tmp", "tmpfs", 0, NULL) != 0 || make_network() != 0)
        return -1;
    for (size_t u = 0; u < 2; u++) {
        (void)snprintf(path, sizeof path, "%s/home-%u", base, (unsigned)users[u]);
        if (mkdir(path, 0700) != 0 || chown(path, users[u], users[u]) != 0)
            return -1;
    }
    (void)snprintf(path, sizeof path, "%s/passwd", base);
    (void)snprintf(root, sizeof root, "%s/root", base);
    if (mkdir(root, 0755) != 0 || write_passwd(path) != 0 || mount(path, "/etc/passwd", NULL, MS_BIND, NULL) != 0)
        return -1;
    qs_store_close(stores_open(root, QS_SCOPE_SYSTEM));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    struct scratch scratch;
    (void)snprintf(scratch.dir, sizeof scratch.dir, "%s", base);
    scratch_remove(&scratch);
    return 0;
}

/* The plain user runs this program too, so it goes on as a copy in base: where it was built, one may not be let in. */
static int go_where_users_may(char **argv)
{
    char copy[96];
    struct stat st;
    off_t at = 0;
    umask(022);
    if (!mkdtemp(base) || chmod(base, 0755) != 0)
        return -1;
    (void)snprintf(copy, sizeof copy, "%s/test_verify", base);
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    bool copied = from >= 0 && to >= 0 && fstat(from, &st) == 0;
    while (copied && at < st.st_size)
        copied = sendfile(to, from, &at, (size_t)(st.st_size - at)) > 0;
    if (to >= 0)
        (void)close(to);
    if (copied && setenv(BASE_VARIABLE, base, 1) == 0)
        (void)execv(copy, argv);
    (void)teardown(NULL);
    return -1;
}

int main(int argc, char **argv)
{
    const char *there = getenv(BASE_VARIABLE);
    if (argc > 1 && strcmp(argv[1], "--inner") == 0)
        return shim_main(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "--probe") == 0)
        return inside_main(argc - 2, argv + 2);
    if (!there || strlen(there) >= sizeof base) {
        (void)go_where_users_may(argv);
        return 1;
    }
    (void)snprintf(base, sizeof base, "%s", there);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_check_has_a_negative_control),
        cmocka_unit_test(with_all_barriers_every_check_passes),
        cmocka_unit_test(what_the_policy_opens_is_not_applicable_and_all_else_passes),
        cmocka_unit_test(without_its_barrier_each_check_fails),
        cmocka_unit_test(a_check_that_gives_no_result_is_a_failure),
        cmocka_unit_test(without_a_sandbox_no_new_privs_fails),
        cmocka_unit_test(a_filter_that_denies_socket_pairs_fails_the_check),
        cmocka_unit_test(nothing_is_left_on_the_host),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
