/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of qfleet: options and commands, each once. */
#include "fleet/cmd/qfleet.h"

#include "base/error.h"

static const struct option_row options[] = {
    {.name = "wait", SLOT(wait), .value = "MS", .max = 3600000, .help = "wait for another qfleet"},
    {.name = "adopt", SLOT(adopt), .help = "give up what stands there: settings, or another fleet"},
    {.name = "once", SLOT(once), .help = "fetch once and end"},
    {.name = "hours", SLOT(hours), .value = "N", .min = 1, .max = BREAK_GLASS_HOURS_MAX, .help = "for how long"},
    {.name = "end", SLOT(end), .help = "end it now"},
    {.name = "message", .letter = 'm', SLOT(message), .value = "WHY", .help = "the reason, one line"},
    {.name = "work", SLOT(work), .value = "DIR", .help = "the operator's work directory"},
    {.name = "rings", SLOT(rings), .value = "RINGS", .help = "GROUP, N%, GROUP:N% or all, between commas"},
    {.name = "locks", SLOT(locks), .value = "KEYS", .help = "lock these keys, between commas"},
    {.name = "rollout", SLOT(rollout), .value = "NAME", .help = "who is drawn hangs on this name"},
    {.name = "battery", SLOT(battery), .value = "hold|report", .help = "what a machine does if the battery fails"},
    {.name = "open", SLOT(open), .value = "N", .max = FLEET_RINGS_MAX, .help = "open so many rings"},
    {.name = "days", SLOT(days), .value = "N", .max = 36500, .help = "valid for so many days"},
    {.name = "to", SLOT(to), .value = "N", .min = 1, .max = FLEET_RINGS_MAX, .help = "open rings up to this number"},
    {.name = "need", SLOT(need), .value = "PERCENT", .max = 100, .help = "of the open rings must report success"},
    {.name = "force", SLOT(force), .help = "promote all the same; needs -m"},
    {.name = "keys", SLOT(keys), .value = "FILE", .help = "the key document to verify with"},
    {.name = "label", SLOT(label), .value = "TEXT", .help = "how status calls the machine"},
    {.name = "html", SLOT(html), .value = "FILE", .help = "write a page for a browser, too"},
    {.name = "group", SLOT(group), .value = "GROUP", .help = "its group"},
    {0},
};

enum group { MACHINE, OPERATOR };
static const char *const groups[] = {"On a machine", "For the operator", "Help", NULL};

static const struct command commands[] = {
    {.name = "enrol",
     .run = cmd_enrol,
     .operands = "CONFIG KEYS",
     .options = "root json wait=10000 adopt",
     .summary = "put this machine into a fleet",
     .more = "Checks both files, makes the machine's key, and prints its id and public key. As root. Refused with 8 if "
             "another fleet or settings of the system scope stand there; --adopt gives them up."},
    {.name = "fetch",
     .run = cmd_fetch,
     .options = "root once",
     .summary = "bring documents from the carrier, and the report to it",
     .more = "As the user qfleet, with a network. It never opens the store. Without --once it goes on until SIGTERM."},
    {.name = "apply",
     .run = cmd_apply,
     .options = "root json wait=10000",
     .summary = "verify what was fetched, and make it the system scope",
     .more = "As root, without a network. What a kill leaves undone, the next run does."},
    {.name = "state", .run = cmd_state, .options = "root json", .summary = "show which bundle holds here, and why"},
    {.name = "doctor",
     .run = cmd_doctor,
     .options = "root json",
     .summary = "check what could keep the fleet from working here",
     .more = "Exit status 1 if a check fails. 'qsettings doctor' shows these lines, too."},
    {.name = "break-glass",
     .run = cmd_break_glass,
     .options = "root wait=10000 hours message end",
     .summary = "allow local writes for some hours",
     .more = "For 1 to 72 hours the system scope can be written here, and the fleet changes nothing. Start, end and "
             "reason go to the history and to the report. --end ends it."},
    {.name = "leave",
     .run = cmd_leave,
     .options = "root wait=10000 message",
     .summary = "take this machine out of its fleet",
     .more = "A last report is written; settings and locks stay, as the machine's own."},
    {.name = "build",
     .run = cmd_build,
     .group = OPERATOR,
     .operands = "FILE",
     .options = "work=. rings locks rollout battery open=1 days=30",
     .summary = "write the next bundle, unsigned",
     .more = "Prints what changes and how many machines each ring has. Then sign it with minisign -S, and push."},
    {.name = "promote",
     .run = cmd_promote,
     .group = OPERATOR,
     .options = "work=. to need=95 force message days=0",
     .summary = "write the next bundle: the same document, one ring more",
     .more = "Refused unless enough machines of the open rings report success and none failed. A report that is "
             "withheld never counts as success."},
    {.name = "pause",
     .run = cmd_pause,
     .group = OPERATOR,
     .options = "work=. days=0",
     .summary = "write the next bundle: the same document, no ring open",
     .more = "Machines that have the document keep it; all others get the last one that was fully open."},
    {.name = "rollback",
     .run = cmd_rollback,
     .group = OPERATOR,
     .operands = "SERIAL",
     .options = "work=. rollout days=0",
     .summary = "write the next bundle: the document of an older one, for all"},
    {.name = "verify",
     .run = cmd_verify,
     .group = OPERATOR,
     .operands = "FILE",
     .options = "root json keys",
     .summary = "check a bundle or a key document as a machine would",
     .more = "FILE.minisig must lie beside it. Without --keys the key document of this machine's enrolment is used."},
    {.name = "push",
     .run = cmd_push,
     .group = OPERATOR,
     .options = "work=.",
     .summary = "verify the newest bundle, and carry it: documents first, head last"},
    {.name = "status",
     .run = cmd_status,
     .group = OPERATOR,
     .options = "work=. json html",
     .summary = "show where each machine is",
     .more = "Exit status 1 if any machine is behind, held, refused, drifting, expired, silent, unknown, went back, or "
             "is a duplicate."},
    {.name = "admit",
     .run = cmd_admit,
     .group = OPERATOR,
     .operands = "ID",
     .options = "work=. label group",
     .summary = "take a machine that reports into the registry"},
    {0},
};

static const char *advice(const struct qs_error *err)
{
    switch (err->status) {
    case QS_DAMAGED:
        return "'qsettings --system fsck' shows more";
    case QS_BUSY:
        return "try again, or wait longer with --wait";
    case QS_UNTRUSTED:
        return "look at who signed it, and at the owner and mode of each file";
    case QS_OK:
    case QS_NOT_FOUND:
    case QS_USAGE:
    case QS_INVALID:
    case QS_NO_POLICY:
    case QS_ABSENT:
    case QS_CONFLICT:
    case QS_IO:
    case QS_FOLLOW_UP:
    case QS_NEWER:
    case QS_STALE:
        return NULL;
    }
    return NULL;
}

const struct program qfleet_program = {
    .name = "qfleet",
    .summary = "one signed policy on many machines",
    .options = options,
    .common = "color",
    .commands = commands,
    .leading = "root",
    .groups = groups,
    .closing = "Exit status: 0 done, 1 held or not well, 2 usage, 3 malformed, 5 not enrolled or nothing fetched, 6 "
               "damaged,\n7 refused, 8 conflict, 9 busy, 10 input/output, 11 committed but a follow-up failed.\n",
    .advice = advice,
};
