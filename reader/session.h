/* SPDX-License-Identifier: Apache-2.0 */
/* What naming a session and trusting one (qs_policy_session) share. */
#ifndef READER_SESSION_H
#define READER_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

/* Parent and start time (clock ticks since boot) of a process: proc(5), /proc/PID/stat. False where it is gone. */
bool session_process(pid_t pid, pid_t *ret_parent, unsigned long long *ret_start);

#endif
