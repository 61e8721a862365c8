/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner shim: the last program before the command, and PID 1 of the sandbox.
 *
 *   read the specification -> place the inner mounts, check every pin -> close the ways out (keyring, /proc, user
 *   namespaces, capabilities, Landlock, seccomp) -> start the command in a process group of its own -> wait, report,
 * relay
 *
 * It runs inside bubblewrap with three capabilities of the new user namespace, nothing confined runs beside it until
 * all of that is done, and any failure ends it before the command starts. It is not dumpable, so nothing inside can
 * look into it.
 */
#ifndef SANDBOX_SHIM_H
#define SANDBOX_SHIM_H

#include "sandbox/plan/spec.h"

/* `qsandbox --inner SPEC EVENTS CONTROL STDERR`, each a descriptor. Never returns to the caller's main but with an exit
 * status. */
int shim_main(int argc, char **argv);

/* ---- its steps, in order; each is called once, by shim_main ---- */

/* New mount namespace, inner mounts, masks, read-only parts of /proc; checks of device, inode and flags.
 * Errors: QS_CONFLICT (something is no longer what was planned), QS_IO (the kernel refused). */
enum qs_status shim_mounts(const struct spec *spec, struct qs_error *err) QS_MUST_USE;

/* A new session keyring, no further user namespaces, no capabilities, no new privileges, Landlock, and last the system
 * call filter. Errors: QS_IO (the kernel refused), QS_CONFLICT (a check afterwards failed). */
enum qs_status shim_close_userns(const struct spec *spec, struct qs_error *err) QS_MUST_USE;
enum qs_status shim_confine(const struct spec *spec, struct qs_error *err) QS_MUST_USE;
/* for_init: PID 1's rules, which also allow what it does in git's common directory. The command takes a second layer
 * without that. */
enum qs_status shim_landlock(const struct spec *spec, bool for_init, struct qs_error *err) QS_MUST_USE;

/* The limits of the policy; in the command's own process, so that PID 1 is not bound by them. */
enum qs_status shim_limits(const struct spec *spec, struct qs_error *err) QS_MUST_USE;

struct shim_fds {
    int events, control, error, terminal; /* terminal: -1 where none is handed over */
};
void shim_event(int fd, enum event_type type, int value, const char *text);
void shim_ended(int fd, int wait_status, bool alone);

/* Starts the command and stays until it has ended; returns the exit status of PID 1. */
int shim_run(const struct spec *spec, const struct shim_fds *fds);

#endif
