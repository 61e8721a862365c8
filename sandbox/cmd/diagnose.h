/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qsandbox doctor: can a sandbox be made here, and is what earlier runs left in order? It looks and changes nothing.
 *
 * Facts are collected first and judged by pure functions, so that a test can show each judgement.
 */
#ifndef SANDBOX_DIAGNOSE_H
#define SANDBOX_DIAGNOSE_H

#include "sandbox/host/state_dir.h"
#include "terminal/findings.h"

#include <stdint.h>

/* ---- the machine: doctor_host.c ---- */

struct doctor_sysctls {
    long max_user_namespaces;       /* user.max_user_namespaces; -1: there is none */
    long unprivileged_userns_clone; /* kernel.unprivileged_userns_clone (Debian's) */
    long apparmor_restrict_userns;  /* kernel.apparmor_restrict_unprivileged_userns */
};

/* bubblewrap at path: its owner and mode, version, what it knows, whether it can make a sandbox now. */
void doctor_bwrap(const char *path, struct findings *findings);
/* What the kernel is told to refuse to others than root; the runner's own case is tried by doctor_bwrap. */
void doctor_judge_sysctls(const struct doctor_sysctls *sysctls, bool is_root, struct findings *findings);
void doctor_judge_landlock(int abi, struct findings *findings);
void doctor_host(struct findings *findings);

/* ---- what runs left behind: doctor_state.c ---- */

/* The state directories, pending sweeps, the quarantine, the run log. */
void doctor_state(const struct state_base *base, struct findings *findings);

#endif
