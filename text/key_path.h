/* SPDX-License-Identifier: Apache-2.0 */
/* Key grammar, inside view: comparing, prefixes, segments. */
#ifndef TEXT_KEY_PATH_H
#define TEXT_KEY_PATH_H

#include "qsettings/key.h"

#include <stdbool.h>
#include <string.h>

/* The store's order: bytewise, the shorter first (LMDB's default). */
static inline int key_compare(const void *a, size_t a_len, const void *b, size_t b_len)
{
    size_t common = a_len < b_len ? a_len : b_len;
    int order = common ? memcmp(a, b, common) : 0;
    return order ? order : (a_len > b_len) - (a_len < b_len);
}

/* Is key equal to prefix, or below it (prefix + zero byte + more)? The root (len 0) covers everything. */
bool key_covers(const void *prefix, size_t prefix_len, const void *key, size_t key_len);

/* Checks an encoded key that comes from a file: non-empty, within bounds, no empty segment, valid UTF-8. */
bool key_valid(const void *bytes, size_t len);

/* Iterates segments: *at starts at 0; false at the end. */
bool key_next_segment(const void *bytes, size_t len, size_t *at, struct qs_bytes *ret_segment);

#endif
