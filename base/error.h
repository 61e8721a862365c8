/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room base/: What does every room use: buffers, errors, descriptors, digests, UTF-8, the seam to the system calls?
 *
 * Filling a struct qs_error. Set the message where the fact is known; upper layers pass the record on and add only
 * what they alone know (the file, the key path).
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "qsettings/status.h"

#include <stddef.h>

/* Fills err (if not NULL) afresh: status and message, everything else cleared. Returns status. Keeps errno. */
enum qs_status error_set(struct qs_error *err, enum qs_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As error_set, with a system errno: ": strerror" is added to the message. EACCES, EPERM, EROFS give QS_UNTRUSTED when
 * status is QS_IO, since the caller is not permitted; all else stays as given. */
enum qs_status error_sys(struct qs_error *err, enum qs_status status, int sys_errno, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* QS_NEWER, with the advice that goes with it: what is found is no damage, and is left alone. */
enum qs_status error_newer(struct qs_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* QS_USAGE: a public function was called with an argument that is NULL or out of range (__func__). */
enum qs_status error_misuse(struct qs_error *err, const char *function);

/* QS_IO: no memory could be had. */
enum qs_status error_memory(struct qs_error *err);

/* QS_DAMAGED on a page (-1: none). */
enum qs_status error_page(struct qs_error *err, int64_t page, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* These add to a record that is set already (NULL is fine). An addition that is already there is kept, not overwritten:
 * the innermost layer knew best. */
void error_add_file(struct qs_error *err, const char *file);
void error_add_path(struct qs_error *err, const char *key_path);
void error_add_place(struct qs_error *err, unsigned line, unsigned column);
void error_add_advice(struct qs_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
