/* SPDX-License-Identifier: Apache-2.0 */
/* Names that look alike: the same one in another spelling, or some typing errors apart. */
#ifndef TEXT_ALIKE_H
#define TEXT_ALIKE_H

#include <stdbool.h>
#include <stddef.h>

#define ALIKE_MAX_BYTES 96 /* longer names are never alike */

/* The same but for the case of ASCII letters, '-' and '_'. */
bool alike_spelt(const void *a, size_t a_len, const void *b, size_t b_len);

/* The edit distance (insert, delete, replace, swap of neighbours; ASCII case ignored), or limit + 1 if it is more. */
unsigned alike_distance(const void *a, size_t a_len, const void *b, size_t b_len, unsigned limit);

#endif
