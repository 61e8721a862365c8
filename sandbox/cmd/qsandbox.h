/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room sandbox/cmd/: What did the person ask qsandbox for?
 *
 * qsandbox: one invocation, and its commands. A command returns a status and fills err; main reports it.
 */
#ifndef SANDBOX_QSANDBOX_H
#define SANDBOX_QSANDBOX_H

#include "base/buf.h"
#include "base/error.h"
#include "sandbox/run/prepare.h"
#include "sandbox/run/run.h"
#include "terminal/voice.h"

#include <stdbool.h>
#include <stdint.h>

struct cli {
    struct command_line line;
    struct run_options run;
    uint64_t processes; /* session --processes N; 0: no limit */
    bool clear, seed;   /* caches */
    bool verify;        /* audit */
    bool yaml;          /* receipt: --yaml, and what only the caller knows */
    const char *compare, *agent, *host_group, *owner, *rollback;
    int exit_status; /* of a command that did its work; one that runs a program: that program's */
};

extern const struct program qsandbox_program;

command_function cmd_run, cmd_session, cmd_inspect, cmd_verify, cmd_receipt, cmd_caches, cmd_audit, cmd_doctor;

#endif
