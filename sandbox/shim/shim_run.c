/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PID 1 of the sandbox: starts the command, waits, reaps, reports, relays.
 *
 * The command has a process group of its own, so that a confined kill(0, ...) reaches neither PID 1 nor bubblewrap nor
 * the executor. When PID 1 ends, the kernel kills all that is left in the namespace. It ends when the command has, and
 * when the control pipe is closed, which is when the executor is gone, however it went.
 */
#include "sandbox/shim/shim_run.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "sandbox/shim/shim_steps.h"
#include "sandbox/wire/spawn.h"
#include "sandbox/wire/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define EXIT_NOT_FOUND           127
#define EXIT_NOT_EXECUTABLE      126
#define CLOSE_RANGE_CLOEXEC_FLAG 4u /* linux/close_range.h */

/* ---- what the executor is told ---- */

static void send_record(int fd, struct event *event)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    event->seconds = now.tv_sec;
    event->nanoseconds = (uint32_t)now.tv_nsec;
    (void)!write(fd, event, sizeof *event); /* the executor is gone: the control pipe says so, and ends us */
}

void shim_event(int fd, enum event_type type, int value, const char *text)
{
    struct event event = {.type = type, .value = value};
    (void)snprintf(event.text, sizeof event.text, "%s", text);
    send_record(fd, &event);
}

static void send_end(int fd, int wait_status, bool alone)
{
    struct event event = {.type = EVENT_ENDED, .value = wait_status, .alone = alone};
    send_record(fd, &event);
}

/* ---- the command ---- */

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

/* What the child that becomes the command is given, and what it leaves behind where it could not. */
struct start {
    const struct spec *spec;
    const struct shim_fds *fds;
    struct qs_error err; /* what could not be set */
    int error;           /* errno of the exec */
};

/* In the child. */
static int become_command(void *context)
{
    struct start *start = context;
    const struct spec *spec = start->spec;
    if (!LEFT_OUT(spec, GROUP)) {
        /* Without a terminal among what it was given, none by /dev/tty either: keys are typed there for the caller. */
        if (tty_among_stdio() || setsid() < 0)
            (void)setpgid(0, 0);
        tty_give(start->fds->terminal, getpid());
    }
    default_signals();
    if (shim_limits(spec, &start->err) != QS_OK)
        return SHIM_FAILED;
    if (!LEFT_OUT(spec, DESCRIPTORS))
        (void)syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC_FLAG);
    (void)execvp(spec->argv[0], spec->argv);
    start->error = errno;
    return EXIT_NOT_EXECUTABLE;
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
    int status, end = 0;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED | __WALL)) > 0) {
        if (pid != init->command)
            continue;
        if (WIFSTOPPED(status)) {
            shim_event(init->fds->events, EVENT_STOPPED, WSTOPSIG(status), "");
        } else if (WIFCONTINUED(status)) {
            shim_event(init->fds->events, EVENT_CONTINUED, 0, "");
        } else {
            end = status;
            init->ended = true;
        }
    }
    /* Every process of the namespace is a descendant, and what lost its parent is a child of PID 1. */
    if (init->ended)
        send_end(init->fds->events, end, pid < 0 && errno == ECHILD && getpid() == 1);
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
        tty_give(init->fds->terminal, init->command);
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

/* 0: the command runs. Otherwise the exit status of PID 1, after the event that says why. */
static int start_command(struct init *init)
{
    struct start start = {.spec = init->spec, .fds = init->fds};
    size_t argc = 0;
    while (init->spec->argv[argc])
        argc++;
    init->command = spawn_child(become_command, &start, argc);
    if (init->command < 0)
        error_set(&start.err, QS_IO, "cannot start a process inside");
    if (start.err.status != QS_OK) {
        shim_event(init->fds->events, EVENT_FAILED, start.err.status, start.err.message);
        return SHIM_FAILED;
    }
    if (start.error) {
        int error = exec_error(init->spec->argv[0], start.error);
        shim_event(init->fds->events, EVENT_NOT_RUN, error, init->spec->argv[0]);
        return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    }
    shim_event(init->fds->events, EVENT_STARTED, 0, "");
    return 0;
}

int shim_run(const struct spec *spec, const struct shim_fds *fds)
{
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
    if (signals < 0) {
        shim_event(fds->events, EVENT_FAILED, QS_IO, "cannot wait for a process inside");
        return SHIM_FAILED;
    }
    int failed = start_command(&init);
    if (failed)
        return failed;
    for (int fd = 0; fd <= 2; fd++) /* a pipe of the command's is not held open here */
        (void)close(fd);
    wait_for_end(&init, signals);
    return 0;
}
