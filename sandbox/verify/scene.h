/* SPDX-License-Identifier: Apache-2.0 */
/* One scene of verify: an executor in a process of its own, which runs the probe under the plan of a run. */
#ifndef SANDBOX_VERIFY_SCENE_H
#define SANDBOX_VERIFY_SCENE_H

#include "sandbox/run/prepare.h"
#include "sandbox/run/run.h"
#include "sandbox/verify/checks.h"
#include "sandbox/verify/decoy.h"

struct verify_request {
    const struct run_options *options;
    unsigned scenes; /* bits 1 << enum verify_scene; 0: all */
};

#ifdef QS_SANDBOX_CONTROLS
extern void (*verify_alter)(struct plan *plan); /* a hand on the finished plan */
#endif

struct scene {
    enum verify_scene kind;
    pid_t pid;      /* of the executor; 0: not started */
    int records;    /* read: struct inside_record */
    int outcome_fd; /* read: struct scene_outcome, once */
};

struct scene_outcome {
    enum qs_status status; /* QS_OK: the probe was started */
    bool skipped;          /* the policy gives nothing to try; the record says why */
    struct run_result result;
    struct qs_error err;
};

/* Starts it. mask: the signals' state that the run is to have. Errors: QS_IO. */
enum qs_status scene_start(const struct verify_request *request, const struct decoys *decoys, const sigset_t *mask,
                           enum verify_scene kind, struct scene *ret_scene, struct qs_error *err) QS_MUST_USE;

/* Waits for its end, and puts the probe's records into report. ret_held_open: something of it still lives, for its
 * standard output is not closed. */
void scene_finish(struct scene *scene, struct verify_report *report, struct scene_outcome *ret_outcome,
                  bool *ret_held_open);

#endif
