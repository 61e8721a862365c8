/* SPDX-License-Identifier: Apache-2.0 */
/* Stepping a process tree by system calls. */
#include "stress/kill/trace.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLLOW \
    (PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | \
     PTRACE_O_TRACEEXEC)
#define CALL_STOP (SIGTRAP | 0x80) /* TRACESYSGOOD marks system-call stops so */

static pid_t wait_tree(const struct trace *trace, int *status)
{
    pid_t pid;
    do
        pid = waitpid(-trace->pid, status, __WALL);
    while (pid < 0 && errno == EINTR);
    return pid;
}

bool trace_start(struct trace *trace, int (*work)(void *arg), void *arg)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)setpgid(0, 0);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(127);
        (void)raise(SIGSTOP);
        _exit(work(arg));
    }
    if (pid < 0)
        return false;
    int status = 0;
    pid_t seen;
    do
        seen = waitpid(pid, &status, 0);
    while (seen < 0 && errno == EINTR);
    *trace = (struct trace){.pid = pid, .at = pid};
    if (seen == pid && WIFSTOPPED(status) && ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(intptr_t)FOLLOW) == 0)
        return true;
    int saved = errno;
    trace_kill(trace);
    errno = saved;
    return false;
}

/* The signal to hand on when going on from a stop: its own, unless the stop is ptrace's own doing. A new thread or
 * child of the tree begins with a SIGSTOP of that kind. */
static int signal_of(const struct trace *trace, pid_t pid, int status)
{
    int sig = WSTOPSIG(status);
    bool event = status >> 16 != 0;
    if (event || sig == SIGTRAP || (sig == SIGSTOP && pid != trace->pid))
        return 0;
    return sig;
}

enum trace_event trace_step(struct trace *trace)
{
    if (trace->ended)
        return TRACE_END;
    pid_t pid = trace->at;
    int sig = 0;
    for (;;) {
        /* ESRCH: somebody else killed it; the wait below shows that. */
        if (pid > 0 && ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(intptr_t)sig) != 0 && errno != ESRCH)
            return TRACE_FAILED;
        int status = 0;
        pid = wait_tree(trace, &status);
        if (pid < 0)
            return TRACE_FAILED;
        if (WIFSTOPPED(status) && WSTOPSIG(status) == CALL_STOP) {
            trace->at = pid;
            trace->stops++;
            return TRACE_CALL;
        }
        if (!WIFSTOPPED(status)) {
            if (pid == trace->pid) {
                trace->ended = true;
                trace->wait_status = status;
                return TRACE_END;
            }
            pid = -1; /* another one of the tree has ended; the others run on */
            continue;
        }
        sig = signal_of(trace, pid, status);
    }
}

void trace_kill(struct trace *trace)
{
    /* The leader's group may have no other member left, or not exist yet: so both. */
    (void)kill(-trace->pid, SIGKILL);
    if (!trace->ended)
        (void)kill(trace->pid, SIGKILL);
    for (int status; !trace->ended;) {
        pid_t pid = waitpid(trace->pid, &status, __WALL);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0 || !WIFSTOPPED(status)) {
            trace->ended = true;
            trace->wait_status = pid < 0 ? 0 : status;
        }
    }
    while (waitpid(-trace->pid, NULL, __WALL) > 0)
        continue;
}
