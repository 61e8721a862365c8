/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 (RFC 3629), one code point at a time. The check of whole texts is utf8_valid in store/key.h. */
#ifndef STORE_UTF8_H
#define STORE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length of the well-formed sequence that begins at p (at least one byte before end), 0 where there is none. ret_code
 * (may be NULL) gets its code point. */
size_t utf8_decode(const unsigned char *p, const unsigned char *end, uint32_t *ret_code);

/* Writes 1 to 4 bytes and returns how many; 0 for surrogates and what lies beyond U+10FFFF. */
size_t utf8_put(uint32_t code, char out[4]);

#endif
