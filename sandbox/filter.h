/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filter, made by libseccomp and handed to the shim as a finished program.
 *
 * Everything is allowed but what is named in filter.c; a call by another architecture's entry (32-bit, x32) kills the
 * process. Arguments that the kernel takes as int are compared under the 32-bit mask: a comparison of 64 bits would let
 * socket(0x100000001, ...) past, since the kernel looks at the low half only.
 */
#ifndef SANDBOX_FILTER_H
#define SANDBOX_FILTER_H

#include "qsettings/policy.h"
#include "store/buf.h"

/* Appends an array of struct sock_filter. Errors: QS_IO (libseccomp; memory). */
enum qs_status filter_make(enum qs_unix_sockets unix_sockets, struct buf *out, struct qs_error *err) QS_MUST_USE;

#endif
