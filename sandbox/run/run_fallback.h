/* SPDX-License-Identifier: Apache-2.0 */
/* Running a plan with whatever bubblewrap is here, and saying why where that cannot be. */
#ifndef SANDBOX_RUN_TRY_H
#define SANDBOX_RUN_TRY_H

#include "sandbox/run/run.h"

/*
 * run_plan; where this bubblewrap knows no --bind-fd, again by name, which is refused for what was reached through a
 * link. Errors: those of probe_bwrap, run_plan and probe_explain; QS_INVALID (a link). Nothing was run then.
 */
enum qs_status run_try(const struct run_request *request, const struct host_facts *facts, struct run_result *ret_result,
                       struct qs_error *err) QS_MUST_USE;

#endif
