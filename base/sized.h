/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures of callers that may have been compiled against another version of the library. Their first field is their
 * size; a later version only adds fields at the end.
 */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include "base/error.h"

#include <stddef.h>

/* Copies a caller's options (NULL: all zero) to known. Fields that an older caller does not have are zero.
 * Errors: QS_USAGE (its size is one of no version, or a field is set that this version does not know). */
enum qs_status sized_take(const void *given, void *known, size_t size, size_t first_size, const char *function,
                          struct qs_error *err) QS_MUST_USE;

/* Can a result be stored at given (NULL: none is wanted)? Errors: as sized_take. */
enum qs_status sized_check(const void *given, size_t first_size, const char *function,
                           struct qs_error *err) QS_MUST_USE;

/* Stores a result at given (NULL: nothing happens): as much of it as the caller knows, and zero beyond. */
void sized_give(void *given, const void *known, size_t size);

/* The size that type had in its first version, which ended with the field last. */
#define SIZED_FIRST(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

#define SIZED_TAKE(given, own, last, err) \
    sized_take((given), &(own), sizeof(own), SIZED_FIRST(__typeof__(own), last), __func__, (err))

#endif
