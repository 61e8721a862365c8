/* SPDX-License-Identifier: Apache-2.0 */
/* Moving one swept name out of a writable root. */
#ifndef SANDBOX_SWEEP_MOVE_H
#define SANDBOX_SWEEP_MOVE_H

#include "sandbox/sweep/sweep.h"

/*
 * If root/name (or a link on the way to it) exists, moves it to the quarantine of the workspace and adds a violation:
 * "root/name WHY moved to ...". Works by descriptors beneath root and follows no link. Where the quarantine is on
 * another file system it is renamed beside itself, so that it no longer bears the name, copied and removed; what is
 * over the bounds of tree_copy stays there, and the violation says so. Errors: QS_IO.
 */
enum qs_status sweep_away(struct sweep *sweep, const char *root, const char *name, const char *why,
                          struct qs_error *err) QS_MUST_USE;
enum qs_status sweep_name(struct sweep *sweep, const char *root, const char *name, struct qs_error *err) QS_MUST_USE;

#endif
