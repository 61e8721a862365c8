/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A start through qsandbox: its command tries to write a file outside the workspace. What the host then finds decides:
 * the file is there, so the command ran unconfined; it is not, so it was confined or, by qsandbox's status, never ran.
 */
#include "stress/harness/command.h"
#include "stress/sessions/sessions.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE_WROTE  42 /* it could write there, by its own view; under a private /tmp that is not the host's */
#define PROBE_BARRED 43

enum start session_sandbox(const struct sessions_config *config, uint64_t number, char *reason)
{
    char outside[4096];
    char workspace[4096];
    char root[4096];
    char output[4096];
    char program[4096];
    (void)snprintf(outside, sizeof outside, "%s/outside-%llu", config->dir, (unsigned long long)number);
    (void)snprintf(workspace, sizeof workspace, "%s/workspace-%ld", config->dir, (long)getpid());
    (void)snprintf(output, sizeof output, "%s/output-%ld", config->dir, (long)getpid());
    (void)snprintf(root, sizeof root, "%s/root", config->dir);
    (void)snprintf(program, sizeof program, "%s", config->qsandbox);
    if (mkdir(workspace, 0755) != 0 && errno != EEXIST) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "workspace: %s", strerrordesc_np(errno));
        return START_REFUSED;
    }
    char *argv[] = {program,
                    (char[]){"--root"},
                    root,
                    (char[]){"run"},
                    (char[]){"--workspace"},
                    workspace,
                    (char[]){"--"},
                    (char[]){"/bin/sh"},
                    (char[]){"-c"},
                    (char[]){"(: >\"$1\") 2>/dev/null && exit 42; exit 43"},
                    (char[]){"probe"},
                    outside,
                    NULL};
    int status = command_run(argv, output);
    if (access(outside, F_OK) == 0) {
        (void)unlink(outside);
        (void)snprintf(reason, STRESS_REASON_BYTES, "the command wrote outside its workspace");
        return START_UNCONFINED;
    }
    if (status == PROBE_WROTE || status == PROBE_BARRED)
        return START_CONFINED;
    command_describe(reason, STRESS_REASON_BYTES, "qsandbox", status);
    command_first_line(reason, STRESS_REASON_BYTES, output);
    return START_REFUSED;
}
