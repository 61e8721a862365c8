/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the journal, as far as it is needed to append to it. Internal to the journal. */
#ifndef SANDBOX_AUDIT_CHAIN_H
#define SANDBOX_AUDIT_CHAIN_H

#include "base/digest.h"
#include "sandbox/run/run_log.h"

struct audit_tail {
    off_t end;  /* after the last whole line */
    off_t size; /* of the file; more than end where a line is unfinished */
    uint64_t number;
    char digest[DIGEST_TEXT_BYTES];
};

/* Errors: QS_DAMAGED (the last line is no record, or longer than one may be), QS_IO. Cost: a look at the last 8 KiB. */
enum qs_status audit_tail(int fd, struct audit_tail *ret_tail, struct qs_error *err) QS_MUST_USE;

#endif
