/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 (RFC 3629): the check that all text input shares, and one code point at a time. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Valid UTF-8 (RFC 3629: no surrogates, no overlong forms, at most U+10FFFF)? ret_offset (may be NULL) gets the first
 * bad byte's offset. */
bool utf8_valid(const void *data, size_t len, size_t *ret_offset);

/* Length of the well-formed sequence that begins at p (at least one byte before end), 0 where there is none. ret_code
 * (may be NULL) gets its code point. */
size_t utf8_decode(const unsigned char *p, const unsigned char *end, uint32_t *ret_code);

/* Writes 1 to 4 bytes and returns how many; 0 for surrogates and what lies beyond U+10FFFF. */
size_t utf8_put(uint32_t code, char out[4]);

#endif
