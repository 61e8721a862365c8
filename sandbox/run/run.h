/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room sandbox/run/: How is it started, watched and recorded?
 *
 * Running a plan: bubblewrap, the shim in it, the command in that; and seeing all of it to its end.
 *
 *   executor --- bubblewrap (own process group) --- shim = PID 1 --- command (own process group) --- ...
 *
 *   run_begin   bubblewrap sets up, and the shim waits for the specification
 *   ...         meanwhile the caller makes its records durable
 *   run_watch   the specification is sent, the command starts, and all ends
 *
 * So the command cannot start before the records are there: whatever ends the executor earlier, at any moment, leaves
 * the shim without its specification.
 *
 * Ends: the command's end ends the namespace; if nothing else is left in it, bubblewrap is killed beside it, and PID 1
 * falls to the executor (PR_SET_CHILD_SUBREAPER), which waits for it. SIGTERM, SIGHUP, the end of the caller and the
 * wall limit give the command SIGTERM, and RUN_GRACE_MS later the kernel takes everything. Whatever ends the executor,
 * SIGKILL included, closes the control pipe, and the shim ends at that, or never starts the command. bubblewrap's
 * --die-with-parent is not used: if it strikes between bubblewrap's clone and the release of its child, that child
 * waits for ever (tried, 0.8.0).
 */
#ifndef SANDBOX_RUN_H
#define SANDBOX_RUN_H

#include "sandbox/plan/plan.h"
#include "sandbox/plan/plan_env.h"
#include "sandbox/run/run_session.h"

#include <time.h>

#define RUN_GRACE_MS 2000  /* between SIGTERM and the end */
#define RUN_SETUP_MS 60000 /* a sandbox that is not up by then is refused */

#define EXIT_WALL_LIMIT 124
#define EXIT_REFUSED    125 /* the sandbox could not be set up; nothing was run */

struct run_request {
    const struct plan *plan;
    const struct env *env;
    char *const *argv;
    const struct run_session *session; /* whose end, and whose time, is the run's too; NULL */
    bool by_name;                      /* this bubblewrap cannot bind by descriptor: run_retry */
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

struct run;

/*
 * Starts bubblewrap. Until run_free all signals are blocked. request, and what it names, must live as long as the run.
 * Errors: those of plan_encode, cgroup_make and run_start.
 */
enum qs_status run_begin(const struct run_request *request, struct run **ret_run, struct qs_error *err) QS_MUST_USE;

/*
 * Lets the command start and sees it to its end. With QS_OK it was started or could not be executed (not_run). Errors:
 * nothing was run. QS_IO, QS_CONFLICT, QS_INVALID from the shim or the system; with ret_result->bwrap_failed set,
 * QS_IO with bubblewrap's text, of which run_retry knows more.
 */
enum qs_status run_watch(struct run *run, struct run_result *ret_result, struct qs_error *err) QS_MUST_USE;

/* Of a run that was not watched nothing is left: the command never starts. NULL is fine. */
void run_free(struct run **run);

/*
 * After run_watch: is the run to be begun again, by name, since this bubblewrap knows no --bind-fd? Then request is
 * changed for that. If not, and bubblewrap failed, status and err get the reason: those of probe_explain, or QS_INVALID
 * (a root that was reached through a link cannot be bound by name). A probe costs a start, and is made only here.
 */
bool run_retry(struct run_request *request, const struct host_facts *facts, struct run_result *result,
               enum qs_status *status, struct qs_error *err) QS_MUST_USE;

/* All of the above, for a run of which no record is made. */
enum qs_status run_plan(const struct run_request *request, const struct host_facts *facts,
                        struct run_result *ret_result, struct qs_error *err) QS_MUST_USE;

/* The exit status that tells this result, as a shell would; EXIT_WALL_LIMIT for a limit. */
int run_exit_status(const struct run_result *result);

#endif
