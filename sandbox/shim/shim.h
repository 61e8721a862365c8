/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room sandbox/shim/: What runs inside, before the command?
 *
 * The inner shim: the last program before the command, and PID 1 of the sandbox.
 *
 *   read the specification -> place the inner mounts, check every pin -> close the ways out (keyring, /proc, user
 *   namespaces, capabilities, Landlock, seccomp) -> start the command in a process group of its own -> wait, report,
 *   relay
 *
 * It runs inside bubblewrap with three capabilities of the new user namespace, nothing confined runs beside it until
 * all of that is done, and any failure ends it before the command starts. It is not dumpable, so nothing inside can
 * look into it.
 *
 * What the inside trusts is this folder, sandbox/wire/ and base/, and nothing else: the program is linked from them.
 */
#ifndef SANDBOX_SHIM_H
#define SANDBOX_SHIM_H

/* `qsandbox --inner SPEC EVENTS CONTROL STDERR`, each a descriptor. Never returns to the caller's main but with an exit
 * status. */
int shim_main(int argc, char **argv);

#endif
