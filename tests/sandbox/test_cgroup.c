/* SPDX-License-Identifier: Apache-2.0 */
/* Control groups: where they may be made, from directories that look like a hierarchy; and making, ending and removing
 * them in a real one, which needs no controller. */
#include "sandbox/host/cgroup.h"

#include "base/cleanup.h"
#include "tests/support/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

struct scene {
    struct scratch scratch;
    char self[300], mount[300], systemd[300];
    struct cgroup_seam seam;
    struct cgroup_fact fact;
};

static void put(const char *dir, const char *file, const char *text)
{
    AUTO_FREE char *path = NULL;
    assert_true(asprintf(&path, "%s/%s", dir, file) > 0);
    scratch_write(path, text);
}

/* A directory that looks like a group. */
static void group(const struct scene *scene, const char *name, const char *procs, const char *controllers)
{
    char path[1000];
    (void)snprintf(path, sizeof path, "%s%s", scene->mount, name);
    assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
    put(path, "cgroup.procs", procs);
    put(path, "cgroup.controllers", controllers);
    put(path, "cgroup.subtree_control", "");
    if (*name)
        put(path, "cgroup.type", "domain\n");
}

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    if (!scene)
        return -1;
    scratch_make(&scene->scratch);
    const char *dir = scene->scratch.dir;
    (void)snprintf(scene->self, sizeof scene->self, "%s/self", dir);
    (void)snprintf(scene->mount, sizeof scene->mount, "%s/mount", dir);
    (void)snprintf(scene->systemd, sizeof scene->systemd, "%s/systemd", dir);
    scene->seam = (struct cgroup_seam){.self = scene->self,
                                       .mounts = {"/nowhere", scene->mount},
                                       .systemd = scene->systemd,
                                       .any_filesystem = true};
    scene->fact.fd = -1;
    put(scene->scratch.dir, "self", "4:memory:/elsewhere\n0::/svc/own\n");
    group(scene, "", "1\n2\n", "memory pids\n");
    group(scene, "/svc", "", "cpu memory pids\n");
    group(scene, "/svc/own", "77\n78\n", "");
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    cgroup_fact_release(&scene->fact);
    scratch_remove(&scene->scratch);
    free(scene);
    return 0;
}

static void look(struct scene *scene)
{
    cgroup_fact_release(&scene->fact);
    cgroup_look(&scene->seam, geteuid(), &scene->fact);
}

static void an_empty_parent_that_is_the_runners_is_divided(void **state)
{
    struct scene *scene = *state;
    look(scene);
    assert_true(scene->fact.fd >= 0);
    assert_true(scene->fact.memory && scene->fact.pids);
    assert_false(scene->fact.settle);
    assert_string_equal(scene->fact.why, "");
    assert_non_null(strstr(scene->fact.path, "/mount/svc"));
}

static void a_group_of_somebody_else_is_not(void **state)
{
    struct scene *scene = *state;
    cgroup_look(&scene->seam, geteuid() + 1, &scene->fact);
    assert_int_equal(scene->fact.fd, -1);
    assert_false(scene->fact.memory || scene->fact.pids);
    assert_non_null(strstr(scene->fact.why, "/svc/own is not delegated"));
}

static void a_process_that_is_alone_in_its_group_may_leave_it(void **state)
{
    struct scene *scene = *state;
    char alone[32];
    (void)snprintf(alone, sizeof alone, "%d\n", (int)getpid());
    group(scene, "/svc/own", alone, "pids\n");
    look(scene);
    assert_false(scene->fact.settle); /* the parent will do */
    group(scene, "/svc", "5\n", "memory pids\n");
    look(scene);
    assert_true(scene->fact.settle);
    assert_true(scene->fact.pids);
    assert_false(scene->fact.memory);
    assert_non_null(strstr(scene->fact.why, "no controller for memory"));
}

static void a_parent_with_processes_cannot_be_divided(void **state)
{
    struct scene *scene = *state;
    group(scene, "/svc", "5\n", "memory pids\n");
    look(scene);
    assert_int_equal(scene->fact.fd, -1);
    assert_non_null(strstr(scene->fact.why, "/svc/own is delegated, but other processes are in it"));
}

static void the_root_of_all_may_hold_processes(void **state)
{
    struct scene *scene = *state;
    put(scene->scratch.dir, "self", "0::/\n");
    look(scene);
    assert_true(scene->fact.fd >= 0);
    assert_false(scene->fact.settle);
    assert_true(scene->fact.memory && scene->fact.pids);
}

static void under_systemd_only_what_it_has_delegated_counts(void **state)
{
    struct scene *scene = *state;
    char svc[1000];
    put(scene->scratch.dir, "systemd", "");
    look(scene);
    assert_int_equal(scene->fact.fd, -1);
    (void)snprintf(svc, sizeof svc, "%s/svc", scene->mount);
    if (setxattr(svc, "user.delegate", "0", 1, 0) != 0)
        skip(); /* no such attributes on this file system */
    look(scene);
    assert_int_equal(scene->fact.fd, -1);
    assert_int_equal(setxattr(svc, "user.delegate", "1", 1, 0), 0);
    look(scene);
    assert_true(scene->fact.fd >= 0);
}

static void without_version_2_there_is_none(void **state)
{
    struct scene *scene = *state;
    static const char *const lines[] = {"4:memory:/x\n", "\n", "0::/../outside\n", "0::/svc/gone/deeper\n"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        put(scene->scratch.dir, "self", lines[i]);
        look(scene);
        assert_int_equal(scene->fact.fd, -1);
        assert_string_not_equal(scene->fact.why, "");
    }
    put(scene->scratch.dir, "self", "0::/svc/own\n");
    scene->seam.any_filesystem = false; /* an ordinary directory is no hierarchy */
    look(scene);
    assert_int_equal(scene->fact.fd, -1);
}

/* ---- a real hierarchy ---- */

/* Mounts one for this process alone; the fact of a new group in it that stands for what was delegated. */
static void real(struct scene *scene, char path[400])
{
    char own[] = "qsandbox-test-XXXXXX";
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", scene->mount, "cgroup2", 0, NULL) != 0) {
        print_message("version 2 cannot be mounted here (%s)\n", strerror(errno));
        skip();
    }
    (void)snprintf(path, 400, "%s/%s", scene->mount, own);
    assert_non_null(mkdtemp(path));
    scene->fact = (struct cgroup_fact){.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .path = strdup(path)};
    assert_true(scene->fact.fd >= 0);
}

static size_t children(const struct scene *scene)
{
    struct stat st;
    assert_int_equal(fstat(scene->fact.fd, &st), 0);
    return (size_t)st.st_nlink - 2;
}

static void done(struct scene *scene, const char *path)
{
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(umount2(scene->mount, MNT_DETACH), 0);
}

static void what_is_born_in_a_group_ends_with_it(void **state)
{
    struct scene *scene = *state;
    char path[400];
    struct cgroup made = CGROUP_NONE;
    const struct cgroup_limits none = {0};
    int status = 0;
    real(scene, path);
    assert_int_equal(cgroup_make(&scene->fact, &none, &made, NULL), QS_OK);
    assert_int_equal(children(scene), 1);
    pid_t pid = cgroup_fork(&made);
    if (pid == 0) {
        pid_t child = fork(); /* and what it starts, in a session of its own */
        (void)setsid();
        for (;;)
            (void)pause();
        _exit(child < 0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0); /* nothing else ends it */
    cgroup_remove(&made);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(made.fd, -1);
    assert_int_equal(children(scene), 0);
    done(scene, path);
}

static void a_group_without_its_maker_goes_with_the_next(void **state)
{
    struct scene *scene = *state;
    char path[400];
    struct cgroup litter = CGROUP_NONE, held = CGROUP_NONE, next = CGROUP_NONE;
    const struct cgroup_limits none = {0};
    int status = 0;
    real(scene, path);
    assert_int_equal(cgroup_make(&scene->fact, &none, &litter, NULL), QS_OK);
    pid_t pid = cgroup_fork(&litter);
    if (pid == 0) {
        (void)close(litter.fd);
        for (;;)
            (void)pause();
    }
    assert_true(pid > 0);
    assert_int_equal(cgroup_make(&scene->fact, &none, &held, NULL), QS_OK);
    assert_int_equal(children(scene), 2); /* whose maker lives stays */
    (void)close(litter.fd);               /* as the kernel does when it is killed */
    (void)close(litter.parent);
    /* The child may not have closed its copy yet; then the group is not litter yet. */
    for (int i = 0; i < 1000 && children(scene) > 1; i++) {
        assert_int_equal(cgroup_make(&scene->fact, &none, &next, NULL), QS_OK);
        cgroup_remove(&next);
    }
    assert_int_equal(children(scene), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    cgroup_remove(&held);
    assert_int_equal(children(scene), 0);
    done(scene, path);
}

static void a_limit_without_its_controller_is_refused(void **state)
{
    struct scene *scene = *state;
    char path[400];
    struct cgroup made = CGROUP_NONE;
    const struct cgroup_limits limits = {.processes = 3}, memory = {.memory_bytes = 1 << 20}, none = {0};
    struct qs_error err = {0};
    real(scene, path);
    /* Nothing is handed down to a group below one in which nothing was switched on. */
    assert_int_equal(mkdirat(scene->fact.fd, "below", 0755), 0);
    int below = openat(scene->fact.fd, "below", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct cgroup_fact fact = {.fd = below, .path = strdup("below"), .pids = true, .memory = true};
    assert_int_equal(cgroup_make(&fact, &limits, &made, &err), QS_IO);
    assert_int_equal(cgroup_make(&fact, &memory, &made, &err), QS_IO);
    assert_int_equal(made.fd, -1);
    assert_int_equal(cgroup_make(&fact, &none, &made, &err), QS_OK); /* the limit alone made the difference */
    cgroup_remove(&made);
    cgroup_fact_release(&fact);
    assert_int_equal(unlinkat(scene->fact.fd, "below", AT_REMOVEDIR), 0); /* so nothing was left in it */
    done(scene, path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_empty_parent_that_is_the_runners_is_divided),
        TEST(a_group_of_somebody_else_is_not),
        TEST(a_process_that_is_alone_in_its_group_may_leave_it),
        TEST(a_parent_with_processes_cannot_be_divided),
        TEST(the_root_of_all_may_hold_processes),
        TEST(under_systemd_only_what_it_has_delegated_counts),
        TEST(without_version_2_there_is_none),
        TEST(what_is_born_in_a_group_ends_with_it),
        TEST(a_group_without_its_maker_goes_with_the_next),
        TEST(a_limit_without_its_controller_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
