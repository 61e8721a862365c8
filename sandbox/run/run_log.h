/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run log of runs: one JSON document a line, appended, each with the digest of the line before it. The record of a
 * start is durable before the command starts; that of the end is written after it and made durable by the next flush.
 *
 * The chain shows accidents and edits. Whoever can write the file could rebuild it; inside a sandbox nobody can, for
 * the sandbox's state is hidden there.
 *
 * Cost: a look at the last line, one append, one fdatasync; the same at the millionth record as at the first.
 */
#ifndef SANDBOX_RUN_LOG_H
#define SANDBOX_RUN_LOG_H

#include "sandbox/host/state_dir.h"

#include <jansson.h>
#include <stdint.h>

#define RUN_LOG_RECORD_MAX_BYTES ((size_t)1 << 20)
#define RUN_LOG_ID_BYTES         33 /* 16 random bytes in hex */

struct run_log {
    int fd;                    /* -1: closed */
    char id[RUN_LOG_ID_BYTES]; /* of the run */
};

/* Opens the run log, making it where it does not exist (0600). Errors: QS_UNTRUSTED, QS_IO. */
enum qs_status run_log_open(const struct state_base *base, struct run_log *ret_log, struct qs_error *err) QS_MUST_USE;
void run_log_close(struct run_log *log);

/*
 * Appends a record: the fields given (an object, which is changed), with type, number, run, time and previous added. A
 * line that a crash left unfinished is cut off first, which the record then says. Durability: with durable, after
 * return the record survives a power cut. Errors: QS_INVALID (over RUN_LOG_RECORD_MAX_BYTES), QS_DAMAGED (the last line
 * is no record), QS_BUSY (the lock), QS_IO (nothing was recorded).
 */
enum qs_status run_log_append(struct run_log *log, const char *type, json_t *fields, bool durable,
                              struct qs_error *err) QS_MUST_USE;

struct run_log_check {
    uint64_t records;
    uint64_t bad_line; /* 1-based; 0: none */
    bool torn;         /* the last line is unfinished */
};
/* Reads the whole run log, calling each (may be NULL) for every line. Errors: QS_DAMAGED (the chain breaks, in
 * ret_check->bad_line), QS_IO. */
enum qs_status run_log_read(int fd, void (*each)(void *context, const char *line, size_t len, const json_t *record),
                            void *context, struct run_log_check *ret_check, struct qs_error *err) QS_MUST_USE;

#endif
