/* SPDX-License-Identifier: Apache-2.0 */
/* Every option and every command of qstress, once. */
#include "stress/fleet/fleet_command.h"
#include "stress/harness/stress.h"
#include "stress/kill/kill.h"
#include "stress/powercut/powercut.h"
#include "stress/race/race.h"
#include "stress/sessions/sessions.h"
#include "stress/ways/backend.h"
#include "stress/ways/test_document.h"
#include "terminal/voice.h"

static const struct option_row options[] = {
    {.name = "backend",
     SLOT(backend),
     .value = BACKEND_CHOICES "|rename-over-fsync",
     .only = "powercut",
     .help = "how the file is saved; the ways known to be bad lose"},
    {.name = "backend", SLOT(backend), .value = BACKEND_CHOICES, .help = "how the file is saved"},
    {.name = "dir",
     SLOT(dir),
     .value = "DIR",
     .only = "kill",
     .help = "make the scratch directory in DIR (default: /dev/shm, else $TMPDIR or /tmp)"},
    {.name = "dir", SLOT(dir), .value = "DIR", .help = "make the scratch directory in DIR (default: $TMPDIR or /tmp)"},
    {.name = "seed", SLOT(seed), .value = "N", .help = "seed of everything that is chosen at random"},
    {.name = "as-user", SLOT(as_user), .value = "NAME", .help = "run the readers as this user (needs root)"},
    {.name = "writers",
     SLOT(writers),
     .value = "N",
     .max = DOCUMENT_WRITERS_MAX,
     .help = "number of writing processes"},
    {.name = "expect-violation", SLOT(expect_violation), .help = "exit with 0 if there is a violation, and 1 if not"},
    {.name = "junit", SLOT(junit), .value = "FILE", .help = "write a JUnit report to FILE"},
    {.name = "html", SLOT(html), .value = "FILE", .help = "write a page with histogram and timeline to FILE"},
    /* race */
    {.name = "readers", SLOT(readers), .value = "N", .max = 256, .help = "number of reading processes"},
    {.name = "seconds", SLOT(seconds), .value = "S", .max = 86400, .help = "duration"},
    {.name = "values", SLOT(values), .value = "N", .min = 1, .max = 100000, .help = "number of values in the document"},
    {.name = "path",
     SLOT(path),
     .value = "FILE",
     .only = "kill",
     .help = "the file that CMD writes; restored before each run"},
    {.name = "path",
     SLOT(path),
     .value = "FILE",
     .help = "test another program, which saves FILE, instead of --backend"},
    {.name = "writer-cmd", SLOT(writer_command), .value = "CMD", .help = "shell command that saves FILE once"},
    {.name = "reader-cmd", SLOT(reader_command), .value = "CMD", .help = "shell command whose exit status judges FILE"},
    {.name = "must-have",
     SLOT(must_have),
     .value = "POINTER",
     .help = "JSON Pointer to a value that FILE must always contain"},
    /* sessions */
    {.name = "reader", SLOT(reader), .value = "once|twice|sandbox", .help = "how a session reads its policy"},
    {.name = "starts", SLOT(starts), .value = "N", .min = 1, .max = 1000000000, .help = "number of sessions to start"},
    {.name = "starters",
     SLOT(starters),
     .value = "N",
     .min = 1,
     .max = STARTERS_MAX,
     .help = "number of processes that start them"},
    {.name = "qsandbox",
     SLOT(qsandbox),
     .value = "PROGRAM",
     .help = "the program for --reader sandbox (default: the one beside qstress)"},
    /* kill */
    {.name = "operation",
     SLOT(operation),
     .value = "all|set|apply|rollback|compact|restore|publish|replace|init|save",
     .help = "the operation to kill; files have only 'save'"},
    {.name = "mode",
     SLOT(mode),
     .value = "kill|stop|both",
     .help = "kill at each call, or stop there while a reader reads"},
    {.name = "waiter",
     SLOT(waiter),
     .value = "no|yes|both",
     .help = "let a second writer wait while the first is killed"},
    {.name = "every", SLOT(every), .value = "N", .min = 1, .max = 1000000, .help = "kill only at every N-th stop"},
    {.name = "command", SLOT(command), .value = "CMD", .help = "test this shell command, which writes --path"},
    {.name = "check",
     SLOT(check),
     .value = "CMD",
     .help = "command whose exit status shows whether FILE is whole (default: FILE is JSON)"},
    /* powercut */
    {.name = "fs", SLOT(fs), .value = "ext4|xfs|btrfs", .help = "file system to test"},
    {.name = "workload", SLOT(workload), .value = "set|init|compact|restore|replace", .help = "what the writer does"},
    {.name = "commits", SLOT(commits), .value = "N", .min = 1, .max = 10000, .help = "number of steps of the workload"},
    {.name = "max-states",
     SLOT(max_states),
     .value = "N",
     .min = 1,
     .max = 1000000,
     .help = "judge at most N crash states, chosen by the seed"},
    {.name = "drop-flush",
     SLOT(drop_flush),
     .value = "K",
     .max = 1000000,
     .help = "let the disk ignore every K-th flush (0: none)"},
    {.name = "alone", SLOT(alone), .help = "run no second program that writes and flushes beside the writer"},
    {.name = "meta-torn",
     SLOT(meta_torn),
     .help = "test the store file alone, with its meta writes torn at every byte"},
    /* fleet */
    {.name = "hosts", SLOT(hosts), .value = "N", .min = 1, .max = 20000, .help = "number of machines"},
    {.name = "carrier", SLOT(carrier), .value = "file|https|etcd", .help = "what carries the documents"},
    {.name = "control", SLOT(control), .value = FLEET_CONTROLS, .help = "a fault that must be caught"},
    {.name = "keep", SLOT(keep), .value = "FILE", .help = "write the image of the first bad state to FILE"},
    {0},
};

/* Each command reports its own errors and gives its exit status. */
#define COMMAND(name) \
    static enum qs_status run_##name(struct cli *cli, int count, char **operands, struct qs_error *err) \
    { \
        (void)count; \
        (void)operands; \
        (void)err; \
        cli->exit_status = stress_cmd_##name(cli); \
        return QS_OK; \
    }
COMMAND(race)
COMMAND(sessions)
COMMAND(kill)
COMMAND(powercut)
COMMAND(fleet)

static const struct command commands[] = {
    {.name = "race",
     .run = run_race,
     .options = "backend=qsettings writers=2 readers=2 seconds=5 seed=1 values=64 as-user dir path writer-cmd "
                "reader-cmd must-have expect-violation json junit html",
     .summary = "writers save while readers read; also with other programs",
     .more = "Writers save, readers read, and a watcher looks for moments in which the file is missing. The result is "
             "printed as TAP, or as JSON."},
    {.name = "sessions",
     .run = run_sessions,
     .options = "backend=qsettings reader=once starts=1000 starters=2 writers=1 seed=1 as-user dir qsandbox "
                "expect-violation json junit html",
     .summary = "sessions start while their policy is being saved",
     .more =
         "Saves a policy that always confines, and counts the sessions that start without it. The result is printed "
         "as TAP, or as JSON."},
    {.name = "kill",
     .run = run_kill,
     .options = "operation=all backend=qsettings mode=both waiter=both every=1 command path check dir expect-violation "
                "json",
     .summary = "a writer is killed, or stopped, at each of its system calls",
     .more = "Kills a writer before and after each of its system calls, in one run for each, and judges what is left; "
             "or stops it there and reads."},
    {.name = "powercut",
     .run = run_powercut,
     .options = "fs=ext4 workload=set backend=qsettings commits=20 max-states=1000 seed=1 drop-flush=0 alone meta-torn "
                "keep expect-violation json",
     .summary = "the power is cut at every write, on ext4, XFS and btrfs",
     .more = "Cuts the power at every point of a workload on a real file system, and judges what is left. Needs root, "
             "/dev/fuse, loop devices and the file system's mkfs."},
    {.name = "fleet",
     .run = run_fleet,
     .options = "hosts=8 seconds=10 carrier=file control=none seed=1 json",
     .summary = "machines, an operator who signs, and an adversary who has the carrier",
     .more = "Each machine reads its policy all the while: always there, one that it may have, and never going back. "
             "--carrier https needs nginx and openssl, etcd needs etcd and openssl."},
    {0},
};

static const char *kind(enum qs_status status)
{
    return status == QS_IO ? "the harness failed" : qs_status_name(status);
}

const struct program qstress_program = {
    .name = "qstress",
    .summary = "does a way of saving ever show a missing or torn document?",
    .options = options,
    .common = "color",
    .commands = commands,
    .closing = "\nExit status: 0 no violation, 1 violation, 2 usage, 7 not permitted, 10 the harness failed.\n",
    .kind = kind,
};
