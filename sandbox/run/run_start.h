/* SPDX-License-Identifier: Apache-2.0 */
/* Starting bubblewrap with the pipes of one run. */
#ifndef SANDBOX_RUN_START_H
#define SANDBOX_RUN_START_H

#include "sandbox/plan/plan.h"

#include <signal.h>

/* The executor's ends; -1 where closed. */
struct run_pipes {
    int spec;    /* write: the specification */
    int events;  /* read: struct event */
    int control; /* write: signals */
    int error;   /* read: what bubblewrap says before the shim takes over */
};
#define RUN_PIPES_NONE ((struct run_pipes){-1, -1, -1, -1})
void run_pipes_release(struct run_pipes *pipes);

/* Starts bubblewrap under the plan, in the group if there is one; all signals are blocked. by_name: this bubblewrap
 * cannot bind by descriptor. mask: the signal mask that it shall have. Errors: QS_USAGE (a socket among standard input,
 * output and error that reaches what the policy closes), those of probe_bwrap and bwrap_args; QS_IO. */
enum qs_status run_start(const struct plan *plan, bool by_name, const struct cgroup *group, const sigset_t *mask,
                         struct run_pipes *ret_pipes, pid_t *ret_pid, struct qs_error *err) QS_MUST_USE;

#endif
