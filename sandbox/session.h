/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: a policy frozen once for all runs of one program.
 *
 * `qsandbox session` keeps the frozen policy open and stays as the program's ancestor.
 * QSANDBOX_SESSION=PID:STARTTIME:FD names it; a run opens it through /proc/PID/fd/FD, so that it works for programs
 * that close inherited descriptors.
 */
#ifndef SANDBOX_SESSION_H
#define SANDBOX_SESSION_H

#include "qsettings/policy.h"

#include <stdbool.h>
#include <sys/types.h>

#define SESSION_VARIABLE "QSANDBOX_SESSION"

/* Parent and start time (clock ticks since boot) of a process: proc(5), /proc/PID/stat. False where it is gone. */
bool session_process(pid_t pid, pid_t *ret_parent, unsigned long long *ret_start);

/*
 * The policy of the session that text names. It must be an ancestor of this process, have the start time named, be the
 * same program file as this one, and hold a frozen policy with all seals. Errors: QS_UNTRUSTED (any of that),
 * QS_DAMAGED, QS_INVALID. There is no falling back to the stores.
 */
enum qs_status session_policy(const char *text, struct qs_policy_result **ret_result, struct qs_error *err) QS_MUST_USE;

#endif
