/* SPDX-License-Identifier: Apache-2.0 */
/* qstress powercut: the command, the lab, the report. */
#include "stress/powercut/powercut.h"

#include "stress/harness/stress.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct cut {
    const struct cli *cli;
    struct power_options options;
    const struct power_fs *fs;
    const struct power_work *work;
};

/* For the file ways a save is a replace. */
static const struct power_work *find_work(const struct power_options *options)
{
    const struct power_work *const lists[] = {power_store_works, power_file_works};
    bool store = strcmp(options->backend, "qsettings") == 0;
    const char *name = !store && strcmp(options->workload, "replace") == 0 ? "set" : options->workload;
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (const struct power_work *work = lists[l]; work->name; work++)
            if (strcmp(work->backend, options->backend) == 0 && strcmp(work->name, name) == 0)
                return work;
    return NULL;
}

/* ---- what must be there ---- */

static bool have_program(const char *name)
{
    static const char *const dirs[] = {"/usr/sbin", "/sbin", "/usr/bin", "/bin"};
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s/%s", dirs[i], name);
        if (access(path, X_OK) == 0)
            return true;
    }
    return false;
}

/* The kernel knows the file system already, or finds its module when the first image is mounted. */
static int check_host(const struct power_fs *fs)
{
    if (geteuid() != 0)
        return stress_fail(STRESS_FORBIDDEN, "needs root: it mounts file systems on loop devices");
    static const char *const nodes[] = {"/dev/fuse", "/dev/loop-control"};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        if (access(nodes[i], R_OK | W_OK) != 0)
            return stress_fail(STRESS_FORBIDDEN, "%s cannot be used: %s", nodes[i], strerrordesc_np(errno));
    if (!have_program(fs->mkfs[0]))
        return stress_fail(STRESS_FORBIDDEN, "%s is not installed, so no %s can be made", fs->mkfs[0], fs->name);
    struct stat st;
    if (stat(LAB, &st) != 0 || !S_ISDIR(st.st_mode))
        return stress_fail(STRESS_FORBIDDEN, "there is no directory " LAB " to mount over");
    return STRESS_CLEAN;
}

/* ---- the lab ---- */

/* Mounts are private, so nothing shows outside; /proc is the lab's own, since process ids in it are. */
static enum qs_status furnish(struct qs_error *err)
{
    static const char *const dirs[] = {LAB_DISK, LAB_FS, LAB_ASIDE};
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return error_sys(err, QS_IO, errno, "cannot make the mounts private");
    if (mount("qstress", LAB, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") != 0)
        return error_sys(err, QS_IO, errno, "cannot mount a tmpfs at " LAB);
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
        return error_sys(err, QS_IO, errno, "cannot mount /proc");
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
        if (mkdir(dirs[i], 0755) != 0)
            return error_sys(err, QS_IO, errno, "cannot make %s", dirs[i]);
    return QS_OK;
}

static enum qs_status run_in_lab(const struct cut *cut, struct power_result *result, struct qs_error *err)
{
    umask(022);
    enum qs_status status = furnish(err);
    if (status)
        return status;
    return cut->cli->meta_torn ? power_meta_torn(&cut->options, result, err)
                               : power_cut(&cut->options, cut->fs, cut->work, result, err);
}

/* The first process of the lab must not outlive the command: it waits until it is sure to be killed with it. */
static void lab_main(const struct cut *cut, struct power_result *result, int go_fd)
{
    struct qs_error err = {0};
    char byte;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(go_fd, &byte, 1) != 1)
        _exit(0);
    result->finished = run_in_lab(cut, result, &err) == QS_OK;
    if (!result->finished)
        (void)snprintf(result->failure, sizeof result->failure, "%.500s", err.message);
    _exit(0);
}

/* clone(2) without a stack is a fork into new namespaces. unshare(2) will not do: it would put all later children of
 * this process into the PID namespace too, which is dead as soon as the lab is. */
static pid_t fork_lab(void)
{
    return (pid_t)syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, NULL, NULL, NULL, NULL);
}

static int enter_lab(const struct cut *cut, struct power_result *result)
{
    int go[2];
    if (pipe2(go, O_CLOEXEC) != 0)
        return stress_fail(STRESS_FAILED, "cannot make a pipe: %s", strerrordesc_np(errno));
    pid_t pid = fork_lab();
    if (pid < 0)
        return stress_fail(STRESS_FORBIDDEN, "cannot make namespaces for mounts and processes: %s",
                           strerrordesc_np(errno));
    if (pid == 0) {
        (void)close(go[1]);
        lab_main(cut, result, go[0]);
    }
    (void)close(go[0]);
    bool told = write(go[1], "g", 1) == 1;
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    (void)close(go[1]);
    if (!told || !WIFEXITED(status))
        return stress_fail(STRESS_FAILED, "the harness died of signal %d", WTERMSIG(status));
    return STRESS_CLEAN;
}

/* ---- the report ---- */

static void print_json(const struct cut *cut, const struct power_result *r)
{
    (void)printf("{\"fs\": \"%s\", \"backend\": \"%s\", \"commits\": %llu, \"writes\": %llu, \"flushes\": %llu, "
                 "\"states\": %llu, \"ok\": %llu, \"absent\": %llu, \"damaged\": %llu, \"torn\": %llu, \"lost\": %llu, "
                 "\"nomount\": %llu}\n",
                 cut->cli->meta_torn ? "none" : cut->options.fs, cut->options.backend,
                 (unsigned long long)cut->options.commits, (unsigned long long)r->writes,
                 (unsigned long long)r->flushes, (unsigned long long)r->states, (unsigned long long)r->count[POWER_OK],
                 (unsigned long long)r->count[POWER_ABSENT], (unsigned long long)r->count[POWER_DAMAGED],
                 (unsigned long long)r->count[POWER_TORN], (unsigned long long)r->count[POWER_LOST],
                 (unsigned long long)r->count[POWER_NOMOUNT]);
}

static void print_text(const struct cut *cut, const struct power_result *r)
{
    const struct power_options *o = &cut->options;
    if (cut->cli->meta_torn) {
        (void)printf("store file alone: %llu meta writes torn at every byte, %llu states refused and repaired\n",
                     (unsigned long long)r->writes, (unsigned long long)r->refused);
    } else {
        (void)printf("%s, %s, %s: %llu steps gave %llu writes and %llu flushes (%llu ignored); %llu prefixes, "
                     "%llu tears, seed %llu%s\n",
                     o->fs, o->backend, o->workload, (unsigned long long)o->commits, (unsigned long long)r->writes,
                     (unsigned long long)r->flushes, (unsigned long long)r->ignored, (unsigned long long)r->prefixes,
                     (unsigned long long)r->tears, (unsigned long long)o->seed,
                     r->plan_complete ? ", every subset" : "");
    }
    (void)printf("%llu states: %llu ok, %llu absent, %llu damaged, %llu torn, %llu lost, %llu did not mount\n",
                 (unsigned long long)r->states, (unsigned long long)r->count[POWER_OK],
                 (unsigned long long)r->count[POWER_ABSENT], (unsigned long long)r->count[POWER_DAMAGED],
                 (unsigned long long)r->count[POWER_TORN], (unsigned long long)r->count[POWER_LOST],
                 (unsigned long long)r->count[POWER_NOMOUNT]);
}

static int report(const struct cut *cut, const struct power_result *result)
{
    if (!result->finished)
        return stress_fail(STRESS_FAILED, "%s", result->failure[0] ? result->failure : "it did not finish");
    if (cut->cli->line.json)
        print_json(cut, result);
    else
        print_text(cut, result);
    for (unsigned i = 0; i < result->sightings; i++)
        (void)fprintf(stderr, "%s\n", result->sighting[i]);
    if (result->prefix_unmountable)
        return stress_fail(STRESS_FAILED, "the file system did not mount although the log was whole up to the cut");
    bool violated = result->count[POWER_OK] + result->count[POWER_NOMOUNT] != result->states;
    return violated == cut->cli->expect_violation ? STRESS_CLEAN : STRESS_VIOLATION;
}

int stress_cmd_powercut(const struct cli *cli)
{
    struct cut cut = {.cli = cli,
                      .options = {.fs = cli->fs,
                                  .workload = cli->workload,
                                  .backend = cli->backend,
                                  .commits = cli->commits,
                                  .max_states = cli->max_states,
                                  .seed = cli->seed,
                                  .drop_flush = cli->drop_flush,
                                  .keep = cli->keep,
                                  .alone = cli->alone}};
    cut.fs = power_fs_find(cli->fs);
    cut.work = find_work(&cut.options);
    if (!cut.work)
        return stress_fail(STRESS_USAGE, "backend '%s' has no workload '%s'", cli->backend, cli->workload);
    int status = check_host(cut.fs);
    if (status != STRESS_CLEAN)
        return status;
    struct power_result *result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (result == MAP_FAILED)
        return stress_fail(STRESS_FAILED, "out of memory");
    status = enter_lab(&cut, result);
    if (status == STRESS_CLEAN)
        status = report(&cut, result);
    (void)munmap(result, sizeof *result);
    return status;
}
