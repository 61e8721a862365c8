/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rollout receipt: what was in force on this machine for this repository, what `verify` found, and what is to be
 * done. A document to keep; a later one is held against it.
 */
#ifndef SANDBOX_RECEIPT_H
#define SANDBOX_RECEIPT_H

#include "sandbox/verify/verify.h"

#include <jansson.h>

#define RECEIPT_FORMAT    "qsandbox-receipt-1"
#define RECEIPT_MAX_BYTES ((size_t)4 << 20)

/* What only the caller knows; each may be NULL. */
struct receipt_given {
    const char *host_group, *agent, *owner, *rollback;
};

/*
 * result: rollback where a check failed; hold where all hold but the owner or the rollback command was not given;
 * promote otherwise. The agent's program is asked for its version on the host. A new reference.
 * Errors: QS_USAGE (no such agent program), QS_INVALID (a given text, or a path, is not UTF-8), QS_IO.
 */
enum qs_status receipt_make(const struct prepared *prepared, const struct verify_report *report,
                            const struct receipt_given *given, json_t **ret_receipt, struct qs_error *err) QS_MUST_USE;

/* Reads a receipt, JSON or YAML by the file's ending. A new reference. Errors: QS_USAGE (no such file), QS_INVALID (not
 * a receipt), those of doc_read. */
enum qs_status receipt_read(const char *file, json_t **ret_receipt, struct qs_error *err) QS_MUST_USE;

/*
 * {old, changes: [{field, old, new}], due, result}: what differs, but for the dates and the words of checks. A new
 * receipt is due when anything differs that is not just a name for people (owner, host group, rollback command).
 * A new reference; NULL without memory.
 */
json_t *receipt_compare(const json_t *old, const json_t *now);

#endif
