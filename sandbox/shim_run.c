/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PID 1 of the sandbox: starts the command, waits, reaps, reports, relays.
 *
 * The command has a process group of its own, so that a confined kill(0, ...) reaches neither PID 1 nor bubblewrap nor
 * the executor. When PID 1 ends, the kernel kills all that is left in the namespace. It ends when the command has, and
 * when the control pipe is closed, which is when the executor is gone, however it went.
 */
#include "sandbox/shim.h"

#include "store/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SHIM_FAILED              125
#define TOLD_ALREADY             (-1) /* instead of an errno: the child has sent its event */
#define EXIT_NOT_FOUND           127
#define EXIT_NOT_EXECUTABLE      126
#define CLOSE_RANGE_CLOEXEC_FLAG 4u /* linux/close_range.h */

static void default_signals(void)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    for (int signal = 1; signal < NSIG; signal++)
        if (signal != SIGKILL && signal != SIGSTOP)
            (void)sigaction(signal, &action, NULL);
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void take_terminal(int terminal, pid_t group)
{
    sigset_t mask, old;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTTOU); /* else a background group is stopped for asking */
    (void)sigprocmask(SIG_BLOCK, &mask, &old);
    if (terminal >= 0)
        (void)tcsetpgrp(terminal, group);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
}

/* execvp says EACCES for a name that is nowhere when a directory of PATH cannot be searched; a shell says "not found".
 */
static int exec_error(const char *name, int error)
{
    const char *path = getenv("PATH");
    if (error != EACCES || strchr(name, '/') || !path)
        return error;
    AUTO_FREE char *places = strdup(path);
    char *more = NULL;
    for (char *place = places ? strtok_r(places, ":", &more) : NULL; place; place = strtok_r(NULL, ":", &more)) {
        AUTO_FREE char *file = path_join(place, name);
        if (file && access(file, F_OK) == 0)
            return error;
    }
    return ENOENT;
}

/* In the child. Reports the errno of a failed exec through the pipe, which a successful one closes. */
static _Noreturn void start_command(const struct spec *spec, const struct shim_fds *fds, int report)
{
    if (!(spec->without & WITHOUT(GROUP))) {
        (void)setpgid(0, 0);
        take_terminal(fds->terminal, getpid());
    }
    default_signals();
    struct qs_error err = {0};
    const int told = TOLD_ALREADY;
    if (shim_limits(spec, &err) != QS_OK) {
        shim_event(fds->events, EVENT_FAILED, err.status, err.message);
        _exit(write(report, &told, sizeof told) == (ssize_t)sizeof told ? SHIM_FAILED : EXIT_NOT_FOUND);
    }
    if (!(spec->without & WITHOUT(DESCRIPTORS)))
        (void)syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC_FLAG);
    execvp(spec->argv[0], spec->argv);
    int error = exec_error(spec->argv[0], errno);
    ssize_t done = write(report, &error, sizeof error);
    _exit(done == (ssize_t)sizeof error ? EXIT_NOT_EXECUTABLE : EXIT_NOT_FOUND);
}

struct init {
    const struct spec *spec;
    const struct shim_fds *fds;
    pid_t command;
    bool ended;
};

static void signal_command(const struct init *init, int signal)
{
    if (kill(-init->command, signal) != 0)
        (void)kill(init->command, signal);
}

static void reap(struct init *init)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
        if (pid != init->command)
            continue;
        if (WIFSTOPPED(status)) {
            shim_event(init->fds->events, EVENT_STOPPED, WSTOPSIG(status), "");
        } else if (WIFCONTINUED(status)) {
            shim_event(init->fds->events, EVENT_CONTINUED, 0, "");
        } else {
            shim_event(init->fds->events, EVENT_ENDED, status, "");
            init->ended = true;
        }
    }
}

/* A byte from the executor is a signal for the command; 0: the terminal is the command's again. False when the executor
 * is gone. */
static bool obey(const struct init *init)
{
    unsigned char word;
    ssize_t len = read(init->fds->control, &word, 1);
    if (len < 0 && errno == EINTR)
        return true;
    if (len <= 0)
        return false;
    if (word == 0)
        take_terminal(init->fds->terminal, init->command);
    else
        signal_command(init, word);
    return true;
}

static void wait_for_end(struct init *init, int signals)
{
    struct pollfd polled[2] = {{.fd = signals, .events = POLLIN}, {.fd = init->fds->control, .events = POLLIN}};
    while (!init->ended) {
        if (poll(polled, 2, -1) < 0 && errno != EINTR)
            return;
        struct signalfd_siginfo info;
        if (polled[0].revents & POLLIN)
            (void)!read(signals, &info, sizeof info);
        reap(init);
        if (!init->ended && (polled[1].revents & (POLLIN | POLLHUP)) && !obey(init))
            return;
    }
}

int shim_run(const struct spec *spec, const struct shim_fds *fds)
{
    int report[2];
    sigset_t all;
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)signal(SIGCHLD, SIG_DFL); /* a caller that ignores it would leave us nothing to wait for */
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    AUTO_FD int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    struct init init = {.spec = spec, .fds = fds};
    struct pollfd control = {.fd = fds->control, .events = POLLIN};
    if (poll(&control, 1, 0) > 0 && (control.revents & POLLHUP))
        return SHIM_FAILED; /* the executor is gone already */
    if (signals < 0 || pipe2(report, O_CLOEXEC) != 0 || (init.command = fork()) < 0) {
        shim_event(fds->events, EVENT_FAILED, QS_IO, "cannot start a process inside");
        return SHIM_FAILED;
    }
    if (init.command == 0)
        start_command(spec, fds, report[1]);
    (void)close(report[1]);
    int error = 0;
    if (read(report[0], &error, sizeof error) == (ssize_t)sizeof error) {
        if (error == TOLD_ALREADY)
            return SHIM_FAILED;
        shim_event(fds->events, EVENT_NOT_RUN, error, spec->argv[0]);
        return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    }
    shim_event(fds->events, EVENT_STARTED, 0, "");
    for (int fd = 0; fd <= 2; fd++) /* a pipe of the command's is not held open here */
        (void)close(fd);
    wait_for_end(&init, signals);
    return 0;
}
