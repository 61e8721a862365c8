/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox: its command table, options, and how it reports. */
#ifndef SANDBOX_QSANDBOX_H
#define SANDBOX_QSANDBOX_H

#include "base/buf.h"
#include "base/error.h"
#include "sandbox/run/prepare.h"

#include <stdbool.h>
#include <stdint.h>

#define EXIT_WALL_LIMIT 124
#define EXIT_REFUSED    125 /* the sandbox could not be set up; nothing was run */

struct options {
    struct run_options run; /* also --root of the commands that run nothing */
    uint64_t processes;     /* session --processes N; 0: no limit */
    bool json;              /* --json */
    bool clear, seed;       /* caches --clear, --seed */
    bool verify;            /* audit --verify */
    bool yaml;              /* receipt: --yaml, and what only the caller knows */
    const char *compare, *agent, *host_group, *owner, *rollback;
    int command_count; /* words of run.command */
};

struct command {
    const char *name;
    const char *usage; /* after the name */
    const char *summary;
    unsigned options; /* which it takes: OPTION_ bits */
    bool takes_command;
    int (*run)(const struct options *options);
};

enum {
    OPTION_PLACE = 1,  /* --workspace, --cwd */
    OPTION_NARROW = 2, /* --timeout, --network, --filesystem */
    OPTION_STATUS = 4,
    OPTION_APPROVER = 8,
    OPTION_JSON = 16,
    OPTION_CLEAR = 32,
    OPTION_VERIFY = 64,
    OPTION_RECEIPT = 128,
    OPTION_PROCESSES = 256,
    OPTION_ALL = 1 << 30, /* every command: --root */
};

int cmd_run(const struct options *options);
int cmd_session(const struct options *options);
int cmd_inspect(const struct options *options);
int cmd_verify(const struct options *options);
int cmd_receipt(const struct options *options);
int cmd_caches(const struct options *options);
int cmd_audit(const struct options *options);
int cmd_doctor(const struct options *options);

/* Parses argv for a command. Errors: QS_USAGE. */
enum qs_status options_parse(const struct command *command, int argc, char **argv, struct options *ret_options,
                             struct qs_error *err) QS_MUST_USE;

/* The options that a command takes, a line each, on standard output. */
void options_help(const struct command *command);
/* The candidates for the last of a command's words (at least one). */
void options_complete(const struct command *command, struct buf *out, int count, char **words);

/* completion SHELL: prints the script. Returns the exit status. */
int completion_print(const char *shell);
/* __complete: the candidates for the last of the words after "--", argv[0]. */
int completion_answer(const struct command *commands, size_t count, int argc, char **argv);

/* "qsandbox: status 4 (no policy): what, where; what to do" as one line on standard error. Returns exit_status. */
int report_error(const struct qs_error *err, int exit_status);

#endif
