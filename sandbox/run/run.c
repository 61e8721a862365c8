/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seeing one run to its end: a loop over signals, the shim's events, bubblewrap's messages, the caller's life and the
 * clock.
 *
 *   SETUP --(EVENT_STARTED)--> RUNNING --(limit, signal, caller gone)--> ENDING --(grace over)--> killed
 *     |                           |                                         |
 *     +-- bubblewrap ends --------+-----------------------------------------+--> FINISHED
 */
#include "sandbox/run/run.h"

#include "base/cleanup.h"
#include "sandbox/host/probe.h"
#include "sandbox/run/run_start.h"
#include "sandbox/wire/spec.h"
#include "sandbox/wire/sys.h"
#include "sandbox/wire/tty.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#define ERROR_TEXT_BYTES 400
#define CHILDREN_MAX     256
#define KILL_STEP_MS     2000 /* before the next, harsher step */
#define REAP_STEP_MS     500
#define REAP_MS          5000 /* for what is left of the namespace after a kill */

struct run {
    const struct run_request *request;
    struct run_result *result;
    struct qs_error *err;
    enum qs_status status; /* of the set-up */
    struct run_pipes pipes;
    struct tty tty;
    struct buf spec;
    size_t spec_sent;
    struct cgroup group;
    pid_t bwrap;
    bool bwrap_ended, failed;
    int signals, caller;  /* signalfd; pidfd of the caller, -1 where it cannot be watched */
    int session;          /* pidfd of the session, the request's; -1 */
    uint64_t deadline_ms; /* 0: none */
    bool ending, killed;
    sigset_t mask;               /* the caller's */
    pid_t foreign[CHILDREN_MAX]; /* children from before the run */
    size_t foreign_count;
    char error_text[ERROR_TEXT_BYTES];
    size_t error_len;
};

static void tell(struct run *run, unsigned char word)
{
    if (run->pipes.control >= 0 && write(run->pipes.control, &word, 1) != 1 && errno == EPIPE) {
        (void)close(run->pipes.control);
        run->pipes.control = -1;
    }
}

/* Ends the run: politely first; when the grace is over, with certainty. */
static void end_run(struct run *run, int signal)
{
    if (run->ending)
        return;
    run->ending = true;
    run->result->ended_by = signal;
    if (run->result->started)
        tell(run, (unsigned char)signal);
    run->deadline_ms = run_now_ms() + (run->result->started ? RUN_GRACE_MS : 0);
}

/* The children of this process that this run brought: proc(5), task/children. Those from before (a shell that became
 * this program may leave some) are not ours to end. A kernel without that file lists none. */
static size_t new_children(const struct run *run, pid_t *pids, size_t max)
{
    char text[8192] = "", *more = NULL;
    size_t count = 0;
    AUTO_FD int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return 0;
    for (char *word = strtok_r(text, " ", &more); word && count < max; word = strtok_r(NULL, " ", &more)) {
        pid_t pid = (pid_t)strtol(word, NULL, 10);
        bool foreign = false;
        for (size_t i = 0; i < run->foreign_count; i++)
            foreign |= run->foreign[i] == pid;
        if (!foreign)
            pids[count++] = pid;
    }
    return count;
}

/* bubblewrap, and what fell to this process when bubblewrap was killed. */
static void kill_children(const struct run *run)
{
    pid_t pids[CHILDREN_MAX];
    size_t count = new_children(run, pids, CHILDREN_MAX);
    if (!run->bwrap_ended)
        (void)kill(run->bwrap, SIGKILL);
    for (size_t i = 0; i < count; i++)
        (void)kill(pids[i], SIGKILL);
}

/* Ends everything. First by closing the pipes: the shim ends, or cannot begin. bubblewrap itself is killed only when
 * that did not help, since killing it before it has released its child would leave the child waiting. */
static void kill_run(struct run *run)
{
    if (run->killed)
        kill_children(run);
    if (run->ending || run->killed)
        cgroup_kill(&run->group); /* bubblewrap and all it made were born in it: nothing is left waiting */
    run->killed = true;
    cleanup_fd(&run->pipes.control);
    cleanup_fd(&run->pipes.spec);
    run->pipes.control = run->pipes.spec = -1;
    run->deadline_ms = run_now_ms() + KILL_STEP_MS;
}

static uint64_t session_deadline(const struct run *run)
{
    return run->request->session ? run->request->session->record.deadline_ms : 0;
}

/* The lesser of the run's own time and of what its session has left; 0: neither. */
static uint64_t wall_deadline(const struct run *run)
{
    const struct plan *plan = run->request->plan;
    uint64_t end = session_deadline(run);
    if (LEFT_OUT(plan, WALL))
        return 0;
    uint64_t own = plan->wall_seconds ? run_now_ms() + plan->wall_seconds * 1000 : 0;
    return own && (!end || own < end) ? own : end;
}

static void deadline(struct run *run)
{
    if (run->ending || run->killed) {
        kill_run(run);
    } else if (!run->result->started) {
        run->failed = true;
        run->status = error_set(run->err, QS_BUSY, "the sandbox was not set up within %d s", RUN_SETUP_MS / 1000);
        kill_run(run);
    } else {
        run->result->timed_out = true;
        run->result->session_over = session_deadline(run) && run_now_ms() >= session_deadline(run);
        end_run(run, SIGTERM);
    }
}

/* ---- events of the shim ---- */

static void on_stopped(struct run *run, int signal)
{
    (void)signal;
    if (!run->tty.given)
        return; /* nobody's job control: a confined program stopped itself, and that is its own affair */
    tty_take_back(&run->tty);
    (void)kill(0, SIGSTOP); /* this job, as the shell knows it; SIGCONT goes on here */
    if (tty_foreground(&run->tty))
        tell(run, 0);
    tell(run, SIGCONT);
}

/* The namespace holds PID 1 alone, which ends now. bubblewrap has nothing left to do but to see that and end too, one
 * after the other: both end at once, and PID 1 becomes this process's child, which waits for it (reap_all). */
static void on_alone(struct run *run)
{
    if (!run->bwrap_ended)
        (void)kill(run->bwrap, SIGKILL);
}

static void on_event(struct run *run, const struct event *event)
{
    struct run_result *result = run->result;
    struct timespec at = {.tv_sec = event->seconds, .tv_nsec = event->nanoseconds};
    switch ((enum event_type)event->type) {
    case EVENT_FAILED:
        if (run->failed)
            break; /* the shim ends for want of a message; why it was not sent is known already */
        run->failed = true;
        run->status = error_set(run->err, (enum qs_status)event->value, "%s", event->text);
        break;
    case EVENT_STARTED:
        result->started = true;
        result->start = at;
        run->deadline_ms = wall_deadline(run);
        break;
    case EVENT_NOT_RUN:
        result->not_run = event->value;
        break;
    case EVENT_STOPPED:
        on_stopped(run, event->value);
        break;
    case EVENT_CONTINUED:
        break;
    case EVENT_ENDED:
        result->ended = true;
        result->wait_status = event->value;
        result->end = at;
        if (event->alone)
            on_alone(run);
        break;
    }
}

/* False at the end of the pipe. */
static bool read_events(struct run *run)
{
    struct event event;
    ssize_t len = read(run->pipes.events, &event, sizeof event);
    if (len < 0)
        return errno == EINTR || errno == EAGAIN;
    if (len != (ssize_t)sizeof event)
        return false;
    event.text[sizeof event.text - 1] = '\0';
    on_event(run, &event);
    return true;
}

/* ---- signals ---- */

static void reap(struct run *run)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != run->bwrap)
            continue; /* PID 1 of the sandbox, handed to us when bubblewrap was killed */
        run->bwrap_ended = true;
        run->result->bwrap_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
}

static void on_signal(struct run *run, int signal)
{
    switch (signal) {
    case SIGCHLD:
        reap(run);
        break;
    case SIGTERM:
    case SIGHUP:
        end_run(run, signal);
        break;
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU: /* somebody stops this program: the command stops too, and goes on with it */
        tell(run, SIGTSTP);
        (void)kill(getpid(), SIGSTOP);
        tell(run, SIGCONT);
        break;
    case SIGPIPE:
    case SIGWINCH: /* the terminal tells the command's group itself */
        break;
    default:
        if (run->result->started)
            tell(run, (unsigned char)signal);
        else if (signal == SIGINT || signal == SIGQUIT)
            end_run(run, signal);
        break;
    }
}

static void read_signals(struct run *run)
{
    struct signalfd_siginfo info;
    while (read(run->signals, &info, sizeof info) == (ssize_t)sizeof info)
        on_signal(run, (int)info.ssi_signo);
}

/* ---- the other descriptors ---- */

static void read_error_text(struct run *run)
{
    char piece[512];
    ssize_t len = read(run->pipes.error, piece, sizeof piece);
    if (len <= 0 && !(len < 0 && (errno == EINTR || errno == EAGAIN))) {
        (void)close(run->pipes.error);
        run->pipes.error = -1;
        return;
    }
    for (ssize_t i = 0; i < len && run->error_len + 1 < sizeof run->error_text; i++)
        run->error_text[run->error_len++] = piece[i];
    run->error_text[run->error_len] = '\0';
}

static void send_spec(struct run *run)
{
    ssize_t len = write(run->pipes.spec, run->spec.data + run->spec_sent, run->spec.len - run->spec_sent);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len > 0)
        run->spec_sent += (size_t)len;
    if (len > 0 && run->spec_sent < run->spec.len)
        return;
    (void)close(run->pipes.spec); /* all sent, or nobody reads any more */
    run->pipes.spec = -1;
}

static int wait_ms(const struct run *run)
{
    if (!run->deadline_ms)
        return -1;
    uint64_t now = run_now_ms();
    uint64_t left = run->deadline_ms > now ? run->deadline_ms - now : 0;
    return left > 1000000 ? 1000000 : (int)left; /* a longer limit is asked for again */
}

static void loop(struct run *run)
{
    while (run->pipes.events >= 0) {
        struct pollfd polled[] = {{.fd = run->signals, .events = POLLIN},
                                  {.fd = run->pipes.events, .events = POLLIN},
                                  {.fd = run->pipes.error, .events = POLLIN},
                                  {.fd = run->pipes.spec, .events = POLLOUT},
                                  {.fd = run->caller, .events = POLLIN},
                                  {.fd = run->session, .events = POLLIN}};
        (void)poll(polled, sizeof polled / sizeof polled[0], wait_ms(run));
        if (polled[0].revents)
            read_signals(run);
        if (polled[3].revents)
            send_spec(run);
        if (polled[2].revents)
            read_error_text(run);
        if (polled[4].revents || polled[5].revents) {
            run->caller = run->session = -1;
            end_run(run, SIGHUP);
        }
        if (run->deadline_ms && run_now_ms() >= run->deadline_ms)
            deadline(run);
        if (polled[1].revents && !read_events(run)) {
            (void)close(run->pipes.events); /* the shim has ended, and all copies of its end with it */
            run->pipes.events = -1;
        }
    }
}

/* ---- begin and finish ---- */

static void look_around(struct run *run, const sigset_t *all)
{
    run->signals = signalfd(-1, all, SFD_CLOEXEC | SFD_NONBLOCK);
    pid_t parent = getppid();
    /* A caller that is gone already was replaced by a reaper, which is nobody's caller. */
    run->caller = parent > 1 ? sys_pidfd_open(parent) : -1;
    /* What is left of the namespace when bubblewrap is killed becomes this process's child and can be waited for. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    run->foreign_count = new_children(run, run->foreign, CHILDREN_MAX);
    tty_open(&run->tty);
}

static enum qs_status make_group(struct run *run, struct qs_error *err)
{
    const struct plan *plan = run->request->plan;
    const struct cgroup_limits limits = {.memory_bytes = plan->memory_by_group ? plan->memory_bytes : 0,
                                         .processes = plan->processes_by_group ? plan->processes + CGROUP_OVERHEAD : 0};
    return plan->group ? cgroup_make(plan->group, &limits, &run->group, err) : QS_OK;
}

/* Waits until bubblewrap and all that fell to this process have ended. */
static void reap_all(struct run *run)
{
    uint64_t until = run_now_ms() + REAP_MS;
    pid_t pids[CHILDREN_MAX];
    for (;;) {
        reap(run);
        if (run->bwrap_ended && new_children(run, pids, CHILDREN_MAX) == 0)
            return;
        uint64_t now = run_now_ms();
        if (now >= until)
            kill_children(run);
        if (now >= until + REAP_MS)
            return;
        struct pollfd polled = {.fd = run->signals, .events = POLLIN};
        if (poll(&polled, 1, REAP_STEP_MS) > 0)
            read_signals(run);
    }
}

static enum qs_status finish(struct run *run)
{
    struct run_result *result = run->result;
    kill_run(run); /* closes the pipes; the shim has ended already */
    reap_all(run);
    while (run->pipes.error >= 0 && run->error_len + 1 < sizeof run->error_text && !result->started)
        read_error_text(run);
    tty_release(&run->tty);
    if (run->failed)
        return run->status;
    if (result->started || result->not_run)
        return QS_OK;
    if (run->ending)
        return error_set(run->err, QS_BUSY, "ended by a signal before the command was started");
    result->bwrap_failed = true;
    run->error_text[strcspn(run->error_text, "\n")] = '\0';
    return error_set(run->err, QS_IO, "%s", run->error_text);
}

/* A pipe to a bubblewrap that is gone already: its signal, still pending, would end this process at the unblocking. */
static void forget_broken_pipes(void)
{
    const struct timespec now = {0};
    sigset_t pipes;
    sigemptyset(&pipes);
    sigaddset(&pipes, SIGPIPE);
    while (sigtimedwait(&pipes, NULL, &now) > 0)
        continue;
}

enum qs_status run_begin(const struct run_request *request, struct run **ret_run, struct qs_error *err)
{
    AUTO(run_free) struct run *run = calloc(1, sizeof *run);
    if (!run)
        return error_memory(err);
    *run = (struct run){.request = request,
                        .pipes = RUN_PIPES_NONE,
                        .tty.fd = -1,
                        .signals = -1,
                        .caller = -1,
                        .session = request->session ? request->session->process : -1,
                        .group = CGROUP_NONE,
                        .bwrap_ended = true};
    sigset_t all;
    sigfillset(&all);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &all, &run->mask);
    look_around(run, &all);
    enum qs_status status =
        plan_encode(request->plan, run->tty.given, request->argv, request->env->items, &run->spec, err);
    if (status)
        return status;
    status = make_group(run, err);
    if (status)
        return status;
    status = run_start(request->plan, request->by_name, &run->group, &run->mask, &run->pipes, &run->bwrap, err);
    if (status)
        return status;
    run->bwrap_ended = false;
    run->deadline_ms = run_now_ms() + RUN_SETUP_MS;
    (void)fcntl(run->pipes.spec, F_SETFL, O_NONBLOCK);
    *ret_run = STEAL(run);
    return QS_OK;
}

enum qs_status run_watch(struct run *run, struct run_result *ret_result, struct qs_error *err)
{
    *ret_result = (struct run_result){0};
    run->result = ret_result;
    run->err = err;
    loop(run);
    return finish(run);
}

void run_free(struct run **slot)
{
    struct run *run = *slot;
    struct run_result unseen = {0};
    if (!run)
        return;
    if (!run->bwrap_ended) { /* it was not watched */
        run->result = &unseen;
        run->err = NULL;
        kill_run(run);
        loop(run);
        reap_all(run);
    }
    tty_release(&run->tty);
    run_pipes_release(&run->pipes);
    cleanup_fd(&run->signals);
    cleanup_fd(&run->caller);
    buf_release(&run->spec);
    cgroup_remove(&run->group);
    forget_broken_pipes();
    (void)sigprocmask(SIG_SETMASK, &run->mask, NULL);
    free(run);
    *slot = NULL;
}

/* ---- again, or why not ---- */

/* Roots that were reached through a link cannot be bound by name alone. */
static enum qs_status check_by_name(const struct host_facts *facts, struct qs_error *err)
{
    for (size_t i = 0; i < facts->root_count; i++)
        if (facts->roots[i].dir.link_count)
            return error_set(err, QS_INVALID, "%s is reached through a link, and this bubblewrap has no --bind-fd",
                             facts->roots[i].dir.given);
    return QS_OK;
}

bool run_retry(struct run_request *request, const struct host_facts *facts, struct run_result *result,
               enum qs_status *status, struct qs_error *err)
{
    char text[QS_ERROR_TEXT_BYTES];
    if (!result->bwrap_failed)
        return false;
    if (request->by_name || probe_bind_fd(PROBE_BWRAP)) {
        (void)snprintf(text, sizeof text, "%s", err->message);
        *status = probe_explain(PROBE_BWRAP, result->bwrap_status, text, err);
        return false;
    }
    result->bwrap_failed = false;
    request->by_name = true;
    *status = check_by_name(facts, err);
    return !*status;
}

enum qs_status run_plan(const struct run_request *request, const struct host_facts *facts,
                        struct run_result *ret_result, struct qs_error *err)
{
    struct run_request attempt = *request;
    enum qs_status status;
    do {
        AUTO(run_free) struct run *run = NULL;
        status = run_begin(&attempt, &run, err);
        if (status)
            return status;
        status = run_watch(run, ret_result, err);
    } while (run_retry(&attempt, facts, ret_result, &status, err));
    return status;
}

int run_exit_status(const struct run_result *result)
{
    if (result->not_run)
        return result->not_run == ENOENT ? 127 : 126;
    if (result->timed_out)
        return EXIT_WALL_LIMIT;
    if (!result->ended)
        return result->ended_by ? 128 + result->ended_by : 128 + SIGKILL;
    if (WIFSIGNALED(result->wait_status))
        return 128 + WTERMSIG(result->wait_status);
    return WEXITSTATUS(result->wait_status);
}
