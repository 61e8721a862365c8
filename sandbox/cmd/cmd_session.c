/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox session: keeps one frozen policy for all runs of one program, which itself runs on the host. */
#include "sandbox/cmd/qsandbox.h"

#include "base/cleanup.h"
#include "qsettings/policy.h"
#include "sandbox/host/cgroup.h"
#include "sandbox/run/run_session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define GRACE_SECONDS 2

/* What is open while the program runs. */
struct keeper {
    int policy, record;
    struct session_record limits;
    struct cgroup group;
};

static void release_keeper(struct keeper *keeper)
{
    cleanup_fd(&keeper->policy);
    cleanup_fd(&keeper->record);
    cgroup_remove(&keeper->group);
}

static enum qs_status freeze(const struct cli *cli, struct keeper *keeper, bool *ret_limited, struct qs_error *err)
{
    const struct qs_policy_options where = {.size = sizeof where, .root = cli->run.root};
    struct qs_policy_result *result = NULL;
    enum qs_status status = qs_policy_read(&where, &result, err);
    if (!status)
        status = qs_policy_freeze(result, &keeper->policy, err);
    if (!status)
        *ret_limited = qs_policy_get(result)->limits.memory_bytes || qs_policy_get(result)->limits.processes;
    qs_policy_free(result);
    return status;
}

/* The limit of processes over all runs: a control group where there is one, else the record as a pool of what the
 * kernel counts by user, which is nothing for root. */
static enum qs_status limit(const struct cli *cli, bool limited, struct keeper *keeper, struct qs_error *err)
{
    AUTO(cgroup_fact_release) struct cgroup_fact fact = {.fd = -1};
    keeper->limits.policy = keeper->policy;
    keeper->limits.seconds = cli->run.timeout_s;
    keeper->limits.deadline_ms = cli->run.timeout_s ? run_now_ms() + cli->run.timeout_s * 1000 : 0;
    keeper->limits.processes = cli->processes;
    if (!cli->processes && !limited)
        return QS_OK;
    cgroup_look(&cgroup_here, geteuid(), &fact);
    if (!cli->processes) /* the runs make their own groups: this process is not to be in their way */
        return fact.fd >= 0 ? cgroup_settle(&fact, err) : QS_OK;
    if (fact.pids) {
        const struct cgroup_limits limits = {.processes = cli->processes, .divided = true};
        enum qs_status status = cgroup_make(&fact, &limits, &keeper->group, err);
        keeper->limits.group = keeper->group.fd;
        return status;
    }
    if (geteuid() != 0)
        return QS_OK;
    error_set(err, QS_INVALID, "--processes would not bind: the kernel exempts uid 0 from RLIMIT_NPROC, and %s",
              fact.why);
    error_add_advice(err, "run as another user, or in a delegated control group; see docs/sandbox.md");
    return QS_INVALID;
}

static enum qs_status name_session(int fd, struct qs_error *err)
{
    char text[96];
    pid_t parent;
    unsigned long long start = 0;
    if (!session_process(getpid(), &parent, &start))
        return error_set(err, QS_IO, "cannot read this process's start time from /proc");
    (void)snprintf(text, sizeof text, "%d:%llu:%d", (int)getpid(), start, fd);
    return setenv(QS_SESSION_VARIABLE, text, 1) == 0 ? QS_OK : error_memory(err);
}

static _Noreturn void become_program(const struct cli *cli, pid_t session, const sigset_t *mask)
{
    /* The runs below it look for the session; when that is gone, the program has no policy any more. */
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != session)
        _exit(EXIT_REFUSED);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(cli->run.command[0], cli->run.command);
    int error = errno;
    (void)fprintf(stderr, "qsandbox: %s: %s\n", cli->run.command[0], strerrordesc_np(error));
    _exit(error == ENOENT ? 127 : 126);
}

/* Waits for the program, passing signals on that were meant for this process alone. */
static int wait_for(pid_t pid, uint64_t timeout_s, const sigset_t *watched)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    time_t end = timeout_s ? now.tv_sec + (time_t)timeout_s : 0;
    bool timed_out = false;
    for (;;) {
        int status;
        if (waitpid(pid, &status, WNOHANG) == pid) {
            if (timed_out)
                return EXIT_WALL_LIMIT;
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
        struct timespec wait = {.tv_sec = 3600};
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        if (end && now.tv_sec >= end) {
            (void)kill(pid, timed_out ? SIGKILL : SIGTERM);
            timed_out = true;
            end = now.tv_sec + GRACE_SECONDS;
        }
        if (end)
            wait.tv_sec = end - now.tv_sec;
        siginfo_t info;
        int signal = sigtimedwait(watched, &info, &wait);
        /* From the terminal the program has it already; from a process it was sent to this one alone. */
        if (signal > 0 && signal != SIGCHLD && info.si_code <= 0)
            (void)kill(pid, signal);
    }
}

enum qs_status cmd_session(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    sigset_t watched, old;
    bool limited = false;
    AUTO(release_keeper)
    struct keeper keeper = {.policy = -1, .record = -1, .limits.group = -1, .group = CGROUP_NONE};
    (void)count;
    (void)operands;
    if (getenv(QS_SESSION_VARIABLE))
        return error_set(err, QS_USAGE, "this is a session already");
    enum qs_status status = freeze(cli, &keeper, &limited, err);
    if (!status)
        status = limit(cli, limited, &keeper, err);
    if (!status)
        status = session_record_write(&keeper.limits, &keeper.record, err);
    if (!status)
        status = name_session(keeper.record, err);
    if (status)
        return status;
    sigemptyset(&watched);
    const int signals[] = {SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaddset(&watched, signals[i]);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigprocmask(SIG_BLOCK, &watched, &old);
    pid_t session = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become_program(cli, session, &old);
    if (pid < 0)
        return error_sys(err, QS_IO, errno, "cannot start '%s'", cli->run.command[0]);
    cli->exit_status = wait_for(pid, cli->run.timeout_s, &watched);
    return QS_OK;
}
