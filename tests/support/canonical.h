/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical text, as an oracle for tests and fuzz targets. */
#ifndef TESTS_SUPPORT_CANONICAL_H
#define TESTS_SUPPORT_CANONICAL_H

#include <stdbool.h>
#include <stddef.h>

/* Is text exactly the canonical form of a value that may stand in a leaf (scalar, array, or the empty object)? */
bool is_canonical_leaf(const void *text, size_t len);

#endif
