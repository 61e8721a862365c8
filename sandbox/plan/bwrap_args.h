/* SPDX-License-Identifier: Apache-2.0 */
/* bubblewrap's arguments for a plan. Pure; tests hold them against golden files. */
#ifndef SANDBOX_BWRAP_ARGS_H
#define SANDBOX_BWRAP_ARGS_H

#include "base/buf.h"
#include "sandbox/plan/plan.h"

/*
 * Appends the arguments, each ended by a zero byte, as `bwrap --args FD` reads them (bwrap(1)). The command is not
 * among them. use_fds: bind sources by descriptor (--bind-fd), else by name. Errors: QS_INVALID (a source that cannot
 * be named without a descriptor), QS_IO (memory).
 */
enum qs_status bwrap_args(const struct plan *plan, bool use_fds, struct buf *out, struct qs_error *err) QS_MUST_USE;

#endif
