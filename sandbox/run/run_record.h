/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about a run: for the run log, and on the status descriptor. */
#ifndef SANDBOX_RUN_RECORD_H
#define SANDBOX_RUN_RECORD_H

#include "sandbox/run/prepare.h"
#include "sandbox/run/run.h"
#include "sandbox/sweep/quarantine.h"

#include <jansson.h>

/* Which barriers this plan raises on this machine, and with what: {filesystem, network, unixSockets, seccomp, landlock,
 * ...}. A new reference; NULL without memory. */
json_t *run_record_enforcement(const struct prepared *prepared);

/* The run log's record of a start: who asks, what is to run, under which policy. A new reference. */
json_t *run_record_start(const struct run_options *options, const struct prepared *prepared);

/* What became of it. violations may be NULL. A new reference. */
json_t *run_record_outcome(const struct run_result *result, const struct sweep_findings *found,
                           const struct crossing_report *git);

/*
 * Writes the one object of --status-fd, {status, reason, policyDigest, generation, enforcement, started, ended, exit,
 * signal, timedOut, confirmed, violations, notices, git}, and a newline. err: why nothing was run, or NULL. Errors:
 * QS_IO.
 */
enum qs_status run_record_status(const struct run_options *options, const struct prepared *prepared,
                                 const struct run_result *result, const struct sweep_findings *found,
                                 const struct qs_error *why, struct qs_error *err) QS_MUST_USE;

/* Heap text in RFC 3339, UTC; NULL where at is zero. */
json_t *run_record_time(const struct timespec *at);

#endif
