/* SPDX-License-Identifier: Apache-2.0 */
/* Starting bubblewrap with the pipes of one run. */
#ifndef SANDBOX_RUN_START_H
#define SANDBOX_RUN_START_H

#include "sandbox/run.h"

#include <signal.h>

/* The executor's ends; -1 where closed. */
struct run_pipes {
    int spec;    /* write: the specification */
    int events;  /* read: struct event */
    int control; /* write: signals */
    int error;   /* read: what bubblewrap says before the shim takes over */
};

/* Starts bubblewrap, in the group where there is one; all signals are blocked. old_mask is the signal mask that it
 * shall have. Errors: QS_IO. */
enum qs_status run_start(const struct run_request *request, const struct cgroup *group, const sigset_t *old_mask,
                         struct run_pipes *ret_pipes, pid_t *ret_pid, struct qs_error *err) QS_MUST_USE;
void run_pipes_release(struct run_pipes *pipes);

#endif
