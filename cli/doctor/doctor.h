/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room cli/doctor/: What is wrong with this machine's stores?
 *
 * doctor: what could keep stores, policy, published files and the sandbox from working here. It looks and changes
 * nothing.
 *
 * Each look is a process of its own, so that one which meets a dead file server or crashes is a finding and not the
 * end.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/cli.h"
#include "terminal/findings.h"

#define DOCTOR_WAIT_MS 30000 /* for each look, unless --wait says otherwise */

typedef void doctor_look(struct cli *cli, struct findings *findings);

/* Runs look apart and takes its findings over. name stands for it where it does not come back: "fail", no answer. */
void doctor_apart(struct cli *cli, const char *name, doctor_look *look, struct findings *findings);

/* The looks. */
doctor_look doctor_system, doctor_defaults, doctor_user; /* cli/doctor/doctor_store.c */
doctor_look doctor_policy;                               /* cli/doctor/doctor_policy.c: the policy, the environment */
doctor_look doctor_files;                    /* cli/doctor/doctor_files.c: what is registered to be published */
doctor_look doctor_sandbox;                  /* cli/doctor/doctor_child.c: `qsandbox doctor`, which it becomes */
doctor_look doctor_fleet;                    /* the same of `qfleet doctor` */
bool doctor_in_fleet(const struct cli *cli); /* else it is not asked for */

/* "qsettings --root R --system WHAT": a command to run, for an advice. Heap text of the caller; NULL without memory. */
char *doctor_command(const struct cli *cli, const char *scope, const char *what);

/* What the file system under a store means for it (statfs(2)); pure, for tests. */
void doctor_judge_file_system(const char *name, uint32_t magic, struct findings *findings);

#endif
