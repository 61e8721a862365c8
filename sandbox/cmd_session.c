/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox session: keeps one frozen policy for all runs of one program, which itself runs on the host. */
#include "sandbox/sandbox.h"

#include "qsettings/policy.h"
#include "reader/session.h"
#include "store/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define GRACE_SECONDS 2

static enum qs_status freeze(const struct options *options, int *ret_fd, struct qs_error *err)
{
    const struct qs_policy_options where = {.root = options->root};
    struct qs_policy_result *result = NULL;
    enum qs_status status = qs_policy_read(&where, &result, err);
    if (status == QS_OK && (options->closed || options->read_only))
        status = error_set(err, QS_USAGE, "a session freezes the policy as it is; narrow each run instead");
    if (status == QS_OK)
        status = qs_policy_freeze(result, ret_fd, err);
    qs_policy_free(result);
    return status;
}

static enum qs_status name_session(int fd, struct qs_error *err)
{
    char text[96];
    pid_t parent;
    unsigned long long start = 0;
    if (!session_process(getpid(), &parent, &start))
        return error_set(err, QS_IO, "cannot read this process's start time from /proc");
    (void)snprintf(text, sizeof text, "%d:%llu:%d", (int)getpid(), start, fd);
    return setenv(QS_SESSION_VARIABLE, text, 1) == 0 ? QS_OK : error_set(err, QS_IO, "out of memory");
}

static _Noreturn void become_program(const struct options *options, pid_t session, const sigset_t *mask)
{
    /* The runs below it look for the session; when that is gone, the program has no policy any more. */
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != session)
        _exit(EXIT_REFUSED);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(options->command[0], options->command);
    int error = errno;
    (void)fprintf(stderr, "qsandbox: %s: %s\n", options->command[0], strerrordesc_np(error));
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

int cmd_session(const struct options *options)
{
    struct qs_error err = {0};
    sigset_t watched, old;
    AUTO_FD int frozen = -1;
    if (getenv(QS_SESSION_VARIABLE)) {
        error_set(&err, QS_USAGE, "this is a session already");
        return report_error(&err, EXIT_REFUSED);
    }
    if (freeze(options, &frozen, &err) != QS_OK || name_session(frozen, &err) != QS_OK)
        return report_error(&err, EXIT_REFUSED);
    sigemptyset(&watched);
    const int signals[] = {SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaddset(&watched, signals[i]);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigprocmask(SIG_BLOCK, &watched, &old);
    pid_t session = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become_program(options, session, &old);
    if (pid < 0) {
        error_sys(&err, QS_IO, errno, "cannot start %s", options->command[0]);
        return report_error(&err, EXIT_REFUSED);
    }
    return wait_for(pid, options->timeout_s, &watched);
}
