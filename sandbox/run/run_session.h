/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Being in a session: its policy, and the limits over all its runs, from its record (reader/policy_session.h).
 *
 * Time: a run ends by the moment that the record holds, and with the session process.
 * Processes: where the session has a control group, all runs are born in it. Elsewhere the record is a pool: a run
 * takes as many bytes of it as it may have processes, by locks that the kernel gives back when the run is gone.
 */
#ifndef SANDBOX_RUN_SESSION_H
#define SANDBOX_RUN_SESSION_H

#include "qsettings/policy.h"
#include "reader/policy_session.h"

#define SESSION_PROCESSES_MAX 1000000

struct run_session {
    int pool;    /* the record, opened for its locks; -1: no session */
    int process; /* pidfd of the session */
    int group;   /* its control group; -1 */
    struct session_record record;
};
#define RUN_SESSION_NONE ((struct run_session){.pool = -1, .process = -1, .group = -1})
void run_session_release(struct run_session *session);

/* The session that text names, and its policy. Errors: those of qs_policy_session; QS_UNTRUSTED (its time is over).
 * There is no falling back to the stores. */
enum qs_status run_session_enter(const char *text, struct run_session *ret_session,
                                 struct qs_policy_result **ret_result, struct qs_error *err) QS_MUST_USE;

/* Takes up to `wanted` processes (0: all that are free) out of the pool, held until run_session_release. Errors:
 * QS_BUSY (none is free). */
enum qs_status run_session_take(const struct run_session *session, uint64_t wanted, uint64_t *ret_taken,
                                struct qs_error *err) QS_MUST_USE;

uint64_t run_now_ms(void); /* the clock of deadline_ms */

#endif
