/* SPDX-License-Identifier: Apache-2.0 */
/* A path that must not be exchanged or changed from inside: itself and every link on the way to it. */
#ifndef SANDBOX_HOSTGUARD_H
#define SANDBOX_HOSTGUARD_H

#include "sandbox/hostpath.h"

/*
 * Adds what exists of path to facts: each symbolic link on the way (PATH_LINK) and what is at its end. Nothing at all
 * where path does not exist. Errors: QS_INVALID (a dangling link: what it leads to could be made from inside), QS_IO.
 */
enum qs_status guard_path(const char *path, struct path_facts *facts, struct qs_error *err) QS_MUST_USE;

/*
 * The same for a path in the directory top, a writable one. Whoever may rename a directory on the way could put another
 * in its place, so each of those strictly between top and what is guarded is added to pins, once.
 */
enum qs_status guard_below(const char *top, const char *path, struct path_facts *facts, struct path_facts *pins,
                           struct qs_error *err) QS_MUST_USE;

#endif
