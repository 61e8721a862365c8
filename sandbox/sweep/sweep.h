/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room sandbox/sweep/: What did the run leave behind?
 *
 * The sweep: names in a writable root that would make a program on the host do something later, and that cannot be
 * mounted over because they do not exist yet. What was not there before the run and is there afterwards is moved out of
 * the root. Repositories are another matter: sandbox/crossing/.
 *
 *   first one in:   exclusive lock -> make good a sweep that a killed executor left -> write down what is absent ->
 *                   shared lock
 *   others:         shared lock; the first one's list holds
 *   last one out:   exclusive lock -> sweep -> forget the list
 *
 * The list lies in the sandbox's state, so a SIGKILL in between is made good by the next start. What the host reads
 * while the command runs is a residual risk that the sweep does not remove.
 */
#ifndef SANDBOX_SWEEP_H
#define SANDBOX_SWEEP_H

#include "sandbox/host/facts.h"
#include "sandbox/sweep/quarantine.h"

struct sweep {
    int lock;    /* -1: nothing is writable, or done */
    bool first;  /* holds the lock alone until the list is written */
    bool last;   /* holds it alone again: all others have left */
    int pending; /* the directory that holds the list */
    struct sweep_findings found;
};
#define SWEEP_NONE ((struct sweep){.lock = -1, .pending = -1})

/* Enters, and makes good what an earlier run left; nothing under a policy that is read-only. Errors: QS_UNTRUSTED,
 * QS_IO. */
enum qs_status sweep_begin(const struct qs_policy *policy, const struct host_facts *facts, struct sweep *ret_sweep,
                           struct qs_error *err) QS_MUST_USE;
/* Writes the list, if this is the first one in; before the command starts, and while bubblewrap sets up. Errors: QS_IO:
 * the command must not start. */
enum qs_status sweep_write(const struct qs_policy *policy, const struct host_facts *facts, struct sweep *sweep,
                           struct qs_error *err) QS_MUST_USE;
/* Is this the last one out? Nobody else enters then before sweep_end. */
bool sweep_last(struct sweep *sweep);
/* Leaves; the last one sweeps. Errors: QS_IO (something could not be moved; the list stays for the next start). */
enum qs_status sweep_end(struct sweep *sweep, struct qs_error *err) QS_MUST_USE;
void sweep_release(struct sweep *sweep);

#endif
