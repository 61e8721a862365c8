/* SPDX-License-Identifier: Apache-2.0 */
/* Every option and every command of qsandbox, once. */
#include "sandbox/cmd/qsandbox.h"

#include "sandbox/run/run_session.h"

#include <fcntl.h>

static enum qs_status take_status_fd(struct cli *cli, const struct option_row *row, const char *value,
                                     struct qs_error *err)
{
    uint64_t number = 0;
    enum qs_status status = command_line_number("the descriptor of --status-fd", value, &number, err);
    if (status)
        return status;
    if (number < 1 || number > INT_MAX || fcntl((int)number, F_SETFD, FD_CLOEXEC) != 0)
        return error_set(err, QS_USAGE, "option '--%s' takes an open descriptor, not '%s'", row->name, value);
    cli->run.status_fd = (int)number;
    return QS_OK;
}

static const struct option_row options[] = {
    {.name = "workspace",
     SLOT(run.workspace),
     .value = "DIR",
     .help = "workspace directory (default: the current directory)"},
    {.name = "cwd", SLOT(run.cwd), .value = "DIR", .help = "directory in which the command starts"},
    {.name = "timeout",
     SLOT(run.timeout_s),
     .value = "SECONDS",
     .min = 1,
     .max = UINT32_MAX,
     .help = "end the command after so many seconds; cannot extend the policy's limit"},
    {.name = "network", SLOT(run.closed), .value = "closed", .help = "close the network, whatever the policy allows"},
    {.name = "filesystem",
     SLOT(run.read_only),
     .value = "read-only",
     .help = "make everything read-only, whatever the policy allows"},
    {.name = "status-fd", .value = "N", .take = take_status_fd, .help = "write the outcome to descriptor N, as JSON"},
    {.name = "claimed-approver",
     SLOT(run.approver),
     .value = "human|classifier|rule",
     .help = "record who approved the command"},
    {.name = "processes",
     SLOT(processes),
     .value = "N",
     .min = 1,
     .max = SESSION_PROCESSES_MAX,
     .help = "process limit across all runs of the session"},
    {.name = "verify", SLOT(verify), .help = "check the chain of the run log"},
    {.name = "clear", SLOT(clear), .help = "delete this workspace's private caches"},
    {.name = "seed", SLOT(seed), .help = "fill them with a copy of the home's caches"},
    {.name = "yaml", SLOT(yaml), .help = "print YAML (the default)"},
    {.name = "compare", SLOT(compare), .value = "FILE", .help = "show what has changed since this receipt"},
    {.name = "agent", SLOT(agent), .value = "PROGRAM", .help = "the agent that is deployed"},
    {.name = "host-group", SLOT(host_group), .value = "NAME", .help = "the machines that the receipt is for"},
    {.name = "owner", SLOT(owner), .value = "NAME", .help = "responsible person or team"},
    {.name = "rollback", SLOT(rollback), .value = "COMMAND", .help = "the command that rolls the change back"},
    {0},
};

#define PLACE  "workspace cwd "
#define NARROW "timeout network filesystem "

static const struct command commands[] = {
    {.name = "run",
     .run = cmd_run,
     .operands = "-- PROGRAM [ARGUMENT...]",
     .options = PLACE NARROW "status-fd claimed-approver",
     .summary = "run a command in the sandbox"},
    {.name = "session",
     .run = cmd_session,
     .operands = "-- PROGRAM [ARGUMENT...]",
     .options = "timeout processes",
     .summary = "freeze today's policy for every 'qsandbox run' that PROGRAM starts",
     .more = "PROGRAM itself runs on the host, unconfined."},
    {.name = "inspect",
     .run = cmd_inspect,
     .options = PLACE NARROW "json",
     .summary = "show what a run would allow and which protections work here"},
    {.name = "verify",
     .run = cmd_verify,
     .options = PLACE NARROW "json",
     .summary = "try known escapes from inside and report which were blocked"},
    {.name = "receipt",
     .run = cmd_receipt,
     .options = PLACE NARROW "yaml json compare agent host-group owner rollback",
     .summary = "print a rollout receipt, or compare it with an older one"},
    {.name = "audit", .run = cmd_audit, .options = "verify json", .summary = "show the run log, or check its chain"},
    {.name = "doctor",
     .run = cmd_doctor,
     .options = "json",
     .summary = "show what keeps sandboxes from working here, and suggest fixes"},
    {.name = "caches",
     .run = cmd_caches,
     .options = PLACE "clear seed",
     .summary = "delete a workspace's private caches, or fill them from the home's"},
    {0},
};

const struct program qsandbox_program = {
    .name = "qsandbox",
    .summary = "run commands under the stored policy, or not at all",
    .options = options,
    .common = "root color",
    .commands = commands,
    .closing = "\nExit status of run: the command's own; 124 time limit; 125 the sandbox could not be set up and\n"
               "nothing was run; 126 and 127 as from a shell; 128+N on signal N. Other commands: 0 done,\n"
               "1 a check failed or something is due, 2 usage, else as qsettings.\n",
};
