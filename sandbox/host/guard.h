/* SPDX-License-Identifier: Apache-2.0 */
/* A path that must not be exchanged or changed from inside: itself and every link on the way to it. */
#ifndef SANDBOX_GUARD_H
#define SANDBOX_GUARD_H

#include "sandbox/host/host_path.h"

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

/* The directories strictly between top and path, into pins. Errors: QS_IO, QS_INVALID (a link on the way). */
enum qs_status guard_way(const char *top, const char *path, struct path_facts *pins, struct qs_error *err) QS_MUST_USE;

/* Refuses what the runner cannot see in the writable top, for a directory is closed: from inside it can be opened, and
 * what is behind it would have no guard. Errors: QS_UNTRUSTED. */
enum qs_status guard_seen(const char *top, const struct path_fact *fact, struct qs_error *err) QS_MUST_USE;
enum qs_status guard_closed(const char *dir, struct qs_error *err); /* the error */

#endif
