/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What naming a session and trusting one (qs_policy_session) share.
 *
 * A session is named PID:STARTTIME:FD. FD is its record: a sealed memory file that names the descriptor of the frozen
 * policy and holds the limits, so that the program of the session can exchange or widen neither.
 */
#ifndef READER_SESSION_H
#define READER_SESSION_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct session_record {
    int policy, group;    /* descriptors of the session process; group is -1 where there is none */
    uint64_t seconds;     /* its --timeout; 0: none */
    uint64_t deadline_ms; /* when that is over, CLOCK_MONOTONIC; 0: never */
    uint64_t processes;   /* its --processes; 0: none */
};

/* Parent and start time (clock ticks since boot) of a process: proc(5), /proc/PID/stat. False where it is gone. */
bool session_process(pid_t pid, pid_t *ret_parent, unsigned long long *ret_start);

/* Puts the record into a sealed memory file, close-on-exec. Errors: QS_IO. */
enum qs_status session_record_write(const struct session_record *record, int *ret_fd, struct qs_error *err) QS_MUST_USE;

struct session_found {
    pid_t pid;
    unsigned long long start;
    int record_fd, policy_fd; /* opened anew; -1 */
    struct session_record record;
};
void session_found_release(struct session_found *found);
/* Finds it and checks what qs_policy_session promises, but for the policy's own seals and digest. Errors: QS_UNTRUSTED.
 */
enum qs_status session_find(const char *text, const char *program, struct session_found *ret_found,
                            struct qs_error *err) QS_MUST_USE;
/* A descriptor of the session process, opened anew; -1. True afterwards of session_still: it was the session's. */
int session_open_of(const struct session_found *found, int fd, int flags);
bool session_still(const struct session_found *found);
enum qs_status session_refuse(const char *why, struct qs_error *err);

#endif
