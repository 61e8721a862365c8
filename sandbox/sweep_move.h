/* SPDX-License-Identifier: Apache-2.0 */
/* Moving one swept name out of a writable root. */
#ifndef SANDBOX_SWEEP_MOVE_H
#define SANDBOX_SWEEP_MOVE_H

#include "sandbox/sweep.h"

/*
 * If root/name (or a link on the way to it) exists, moves it to the quarantine of the workspace and adds a violation.
 * Works by descriptors beneath root and follows no link. Across file systems, where nothing can be moved in one step,
 * it is renamed beside itself so that it no longer bears the name. Errors: QS_IO.
 */
enum qs_status sweep_name(struct sweep *sweep, const char *root, const char *name, struct qs_error *err) QS_MUST_USE;

#endif
