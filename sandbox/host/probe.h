/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bubblewrap on this machine: whether it may be trusted, what it can, and why the machine refuses a sandbox. Features
 * are found by trying, and only exit statuses decide; the texts of other programs are shown to people, never read.
 */
#ifndef SANDBOX_PROBE_H
#define SANDBOX_PROBE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define PROBE_BWRAP "/usr/bin/bwrap"

/* A regular file of root, executable, not set-user-ID, writable by nobody else, in directories of the same kind.
 * Errors: QS_ABSENT (not installed), QS_UNTRUSTED. */
enum qs_status probe_bwrap(const char *path, struct qs_error *err) QS_MUST_USE;

/* Does it know this option (with these operands, ended by NULL)? Starts it once; makes no sandbox. */
bool probe_option(const char *path, const char *const *option);

/* --bind-fd and --ro-bind-fd. */
bool probe_bind_fd(const char *path);

/* What --version says, for people; "bubblewrap" where it says nothing. */
void probe_version(const char *path, char *text, size_t size);

/* The number in /proc/sys/NAME; -1 where there is none. */
long probe_sysctl(const char *name);

/* Can it make the namespaces of a sandbox now? Tries smaller and smaller ones; QS_UNTRUSTED with the step that this
 * machine refuses, and with what to do. */
enum qs_status probe_namespaces(const char *path, struct qs_error *err) QS_MUST_USE;

/*
 * After a sandbox could not be made: tries smaller and smaller ones to find the step that this machine refuses, and
 * fills err with it and with what to do. text is bubblewrap's own message, for people. Returns err's status,
 * QS_UNTRUSTED.
 */
enum qs_status probe_explain(const char *path, int exit_status, const char *text, struct qs_error *err) QS_MUST_USE;

#endif
