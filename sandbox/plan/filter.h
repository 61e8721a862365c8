/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filter, made by libseccomp when the program is built and handed to the shim as a finished table.
 *
 * Everything is allowed but what is named in filter.c; a call by another architecture's entry (32-bit, x32) kills the
 * process. Arguments that the kernel takes as int are compared under the 32-bit mask: a comparison of 64 bits would let
 * socket(0x100000001, ...) past, since the kernel looks at the low half only.
 */
#ifndef SANDBOX_FILTER_H
#define SANDBOX_FILTER_H

#include "base/buf.h"
#include "qsettings/policy.h"

struct sock_filter; /* linux/filter.h */

/* By enum qs_unix_sockets. The array is generated (tools/filter_tables.c); a test compares it with filter_make. */
struct filter_table {
    const struct sock_filter *steps;
    size_t bytes;
};
extern const struct filter_table filter_tables[];

/* Appends an array of struct sock_filter, made now; only the generator and tests call it, so that no program that is
 * installed needs libseccomp. Errors: QS_IO (libseccomp; memory). */
enum qs_status filter_make(enum qs_unix_sockets unix_sockets, struct buf *out, struct qs_error *err) QS_MUST_USE;

#endif
