/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room sandbox/verify/: Does the boundary hold on this machine?
 *
 * Verify: proof of the boundary on the spot. Decoys are prepared on the host, a probe (this program again) is run
 * under exactly the plan that `run` would make, tries each way out, and both sides say what they saw.
 *
 *   scene MAIN      a scratch workspace with a checkout (or --workspace): nearly all checks
 *   scene WORKTREE  a linked worktree: a commit must work
 *   scene WALL      a wall limit of a second, and processes that will not end
 *
 * A check that gave no result counts as failed.
 */
#ifndef SANDBOX_VERIFY_H
#define SANDBOX_VERIFY_H

#include "sandbox/verify/scene.h"

/*
 * Runs the scenes at once; takes as long as the wall limit's scene, about 3 s. What was made on the host is removed
 * again. Errors: those of prepare_run and run_plan where the main scene could not be run: nothing is known then.
 */
enum qs_status verify_run(const struct verify_request *request, struct verify_report *ret_report,
                          struct qs_error *err) QS_MUST_USE;

#endif
