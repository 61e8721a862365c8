/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room sandbox/run/: How is it started, watched and recorded?
 *
 * Running a plan: bubblewrap, the shim in it, the command in that; and seeing all of it to its end.
 *
 *   executor --- bubblewrap (own process group) --- shim = PID 1 --- command (own process group) --- ...
 *
 * bubblewrap begins at once, or has begun before there was a plan; meanwhile the executor lets the caller make its
 * record durable. The shim waits for the specification, so that the command cannot start before that is done: whatever
 * ends the executor earlier, at any moment, leaves bubblewrap without arguments or the shim without its specification.
 *
 * Ends: the command's end ends the namespace; where nothing else is left in it, bubblewrap is killed beside it, and
 * PID 1 falls to the executor (PR_SET_CHILD_SUBREAPER), which waits for it. SIGTERM, SIGHUP, the end of the caller and
 * the wall limit give the command SIGTERM, and RUN_GRACE_MS later the kernel takes everything. Whatever ends the
 * executor, SIGKILL included, closes the control pipe, and the shim ends at that, or never starts the command.
 * bubblewrap's --die-with-parent is not used: when it strikes early, between bubblewrap's clone and the release of its
 * child, that child waits for ever (tried, 0.8.0).
 */
#ifndef SANDBOX_RUN_H
#define SANDBOX_RUN_H

#include "sandbox/plan/plan.h"
#include "sandbox/plan/plan_env.h"
#include "sandbox/run/run_session.h"

#include <time.h>

#define RUN_GRACE_MS 2000  /* between SIGTERM and the end */
#define RUN_SETUP_MS 60000 /* a sandbox that is not up by then is refused */

/* The executor's ends; -1 where closed. */
struct run_pipes {
    int spec;    /* write: the specification */
    int events;  /* read: struct event */
    int control; /* write: signals */
    int error;   /* read: what bubblewrap says before the shim takes over */
};

void run_pipes_release(struct run_pipes *pipes);

/*
 * A bubblewrap that is started when the descriptors it will bind are known, and the plan is not yet: its own start and
 * the rest of the executor's work go on side by side. It waits for its arguments at a pipe and has made no namespace;
 * cancelling kills it. Where the plan needs a descriptor that it does not have, another one is started.
 */
#define RUN_EARLY_MAX 64
struct run_early {
    pid_t pid; /* 0: none */
    int args;  /* write end */
    struct run_pipes pipes;
    struct bound {
        int fd;
        uint64_t dev, ino;
    } bound[RUN_EARLY_MAX];
    size_t count;
    bool overflow;
};
#define RUN_EARLY_NONE \
    { \
        .args = -1, .pipes = { -1, -1, -1, -1 } \
    }

/* Without success there is none, and nothing is said: the start after the plan finds the reason. One from before is
 * cancelled. */
void run_early_start(const struct host_facts *facts, struct run_early *early);
void run_early_cancel(struct run_early *early);

struct run_request {
    const struct plan *plan;
    const struct env *env;
    char *const *argv;
    bool by_name;                      /* this bubblewrap cannot bind by descriptor */
    struct run_early *early;           /* used up, or cancelled; may be NULL */
    const struct run_session *session; /* whose end, and whose time, is the run's too; NULL */
    /* Called once, while bubblewrap sets up; anything but QS_OK and the command does not start. May be NULL. */
    enum qs_status (*before_start)(void *context, struct qs_error *err);
    /* Called at most once, when the command has ended and left no process, while the namespaces are taken down. May be
     * NULL. */
    void (*after_end)(void *context);
    void *context;
};

struct run_result {
    bool started;    /* the executor saw the command start */
    bool ended;      /* and end: then wait_status is its own */
    int wait_status; /* as waitpid(2) gives it */
    int not_run;     /* errno of the exec that failed; 0 otherwise */
    bool timed_out;
    bool session_over; /* with timed_out: the session's time, not the run's */
    int ended_by;      /* the signal, or 0, that made the executor end the run */
    bool bwrap_failed; /* bubblewrap ended before the shim spoke; bwrap_status is its exit status */
    int bwrap_status;
    struct timespec start, end;
};

/*
 * Errors: nothing was run. QS_IO, QS_CONFLICT, QS_INVALID from the shim or the system; before_start's own; with
 * ret_result->bwrap_failed set, QS_IO with bubblewrap's text (probe_explain knows more). With QS_OK the command was
 * started or could not be executed (not_run).
 */
enum qs_status run_plan(const struct run_request *request, struct run_result *ret_result,
                        struct qs_error *err) QS_MUST_USE;

/* The exit status that stands for this result: DESIGN's, or a shell's. */
int run_exit_status(const struct run_result *result);

#endif
