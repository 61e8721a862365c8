/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about a run: for the journal, and on the status descriptor. */
#ifndef SANDBOX_RECORD_H
#define SANDBOX_RECORD_H

#include "sandbox/run/prepare.h"
#include "sandbox/run/run.h"
#include "sandbox/sweep/sweep.h"

#include <jansson.h>

/* Which barriers this plan raises on this machine, and with what: {filesystem, network, unixSockets, seccomp, landlock,
 * ...}. A new reference; NULL without memory. */
json_t *record_enforcement(const struct context *context);

/* The journal's record of a start: who asks, what is to run, under which policy. A new reference. */
json_t *record_start(const struct options *options, const struct context *context);

/* What became of it. violations may be NULL. A new reference. */
json_t *record_outcome(const struct run_result *result, const struct sweep *sweep);

/*
 * Writes the one object of --status-fd, {status, reason, policyDigest, generation, enforcement, started, ended, exit,
 * signal, timedOut, confirmed, violations}, and a newline. err: why nothing was run, or NULL. Errors: QS_IO.
 */
enum qs_status record_status(const struct options *options, const struct context *context,
                             const struct run_result *result, const struct sweep *sweep, const struct qs_error *why,
                             struct qs_error *err) QS_MUST_USE;

/* Heap text in RFC 3339, UTC; NULL where at is zero. */
json_t *record_time(const struct timespec *at);

#endif
