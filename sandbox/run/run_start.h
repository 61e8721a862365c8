/* SPDX-License-Identifier: Apache-2.0 */
/* Starting bubblewrap with the pipes of one run. */
#ifndef SANDBOX_RUN_START_H
#define SANDBOX_RUN_START_H

#include "sandbox/run/run.h"

#include <signal.h>

/* Starts bubblewrap, in the group where there is one; all signals are blocked. old_mask is the signal mask that it
 * shall have. Errors: QS_IO. */
enum qs_status run_start(const struct run_request *request, const struct cgroup *group, const sigset_t *old_mask,
                         struct run_pipes *ret_pipes, pid_t *ret_pid, struct qs_error *err) QS_MUST_USE;

#endif
