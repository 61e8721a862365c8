/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8: the well-formed sequences are those of table 3-7 of the Unicode Standard (chapter 3, D92). */
#include "base/utf8.h"

#include <string.h>

static bool is_tail(const unsigned char *p)
{
    return (*p & 0xc0) == 0x80;
}

size_t utf8_decode(const unsigned char *p, const unsigned char *end, uint32_t *ret_code)
{
    size_t left = (size_t)(end - p);
    size_t len;
    uint32_t code;
    if (p[0] < 0x80) {
        len = 1;
        code = p[0];
    } else if (p[0] >= 0xc2 && p[0] <= 0xdf && left >= 2 && is_tail(p + 1)) {
        len = 2;
        code = (uint32_t)(p[0] & 0x1f) << 6 | (p[1] & 0x3f);
    } else if ((p[0] & 0xf0) == 0xe0 && left >= 3 && is_tail(p + 1) && is_tail(p + 2)) {
        len = 3;
        code = (uint32_t)(p[0] & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
        if (code < 0x800 || (code >= 0xd800 && code <= 0xdfff))
            return 0;
    } else if (p[0] >= 0xf0 && p[0] <= 0xf4 && left >= 4 && is_tail(p + 1) && is_tail(p + 2) && is_tail(p + 3)) {
        len = 4;
        code = (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3f) << 12 | (uint32_t)(p[2] & 0x3f) << 6 |
               (p[3] & 0x3f);
        if (code < 0x10000 || code > 0x10ffff)
            return 0;
    } else {
        return 0;
    }
    if (ret_code)
        *ret_code = code;
    return len;
}

bool utf8_valid(const void *data, size_t len, size_t *ret_offset)
{
    const unsigned char *start = data;
    const unsigned char *p = start;
    const unsigned char *end = start + len;
    while (p < end) {
        uint64_t word;
        if (end - p >= 8) { /* settings are nearly all ASCII: eight at a time */
            memcpy(&word, p, sizeof word);
            if (!(word & 0x8080808080808080u)) {
                p += 8;
                continue;
            }
        }
        size_t step = utf8_decode(p, end, NULL);
        if (!step) {
            if (ret_offset)
                *ret_offset = (size_t)(p - start);
            return false;
        }
        p += step;
    }
    return true;
}

size_t utf8_put(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        if (code >= 0xd800 && code <= 0xdfff)
            return 0;
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    if (code > 0x10ffff)
        return 0;
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}
