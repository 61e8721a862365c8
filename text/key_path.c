/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key grammar: the encoded form, its order, and pushing and popping segments. The spellings people type are in
 * key_text.c.
 */
#include "text/key_path.h"

#include "base/error.h"
#include "base/utf8.h"

#include <string.h>

bool key_covers(const void *prefix, size_t prefix_len, const void *key, size_t key_len)
{
    if (!prefix_len)
        return true;
    if (key_len < prefix_len || memcmp(prefix, key, prefix_len) != 0)
        return false;
    return key_len == prefix_len || ((const unsigned char *)key)[prefix_len] == 0;
}

bool key_next_segment(const void *bytes, size_t len, size_t *at, struct qs_bytes *ret_segment)
{
    if (*at >= len)
        return false;
    const unsigned char *start = (const unsigned char *)bytes + *at;
    const unsigned char *zero = memchr(start, 0, len - *at);
    size_t segment_len = zero ? (size_t)(zero - start) : len - *at;
    *ret_segment = (struct qs_bytes){.data = start, .len = segment_len};
    *at += segment_len + 1;
    return true;
}

bool key_valid(const void *bytes, size_t len)
{
    if (!len || len > QS_KEY_MAX_BYTES || ((const unsigned char *)bytes)[len - 1] == 0)
        return false;
    size_t at = 0;
    size_t segments = 0;
    struct qs_bytes segment;
    while (key_next_segment(bytes, len, &at, &segment))
        if (!segment.len || ++segments > QS_KEY_MAX_SEGMENTS)
            return false;
    return utf8_valid(bytes, len, NULL); /* a zero byte ends no sequence, so the whole is valid if each segment is */
}

static size_t count_segments(const struct qs_key *key)
{
    size_t at = 0;
    size_t count = 0;
    struct qs_bytes segment;
    while (key_next_segment(key->bytes, key->len, &at, &segment))
        count++;
    return count;
}

enum qs_status qs_key_push(struct qs_key *key, const char *segment, size_t len, struct qs_error *err)
{
    if (!key || key->len > QS_KEY_MAX_BYTES || (!segment && len))
        return error_misuse(err, __func__);
    if (!len)
        return error_set(err, QS_INVALID, "a segment of a key is empty");
    if (memchr(segment, 0, len))
        return error_set(err, QS_INVALID, "a segment of a key contains a zero byte");
    if (!utf8_valid(segment, len, NULL))
        return error_set(err, QS_INVALID, "a key is not UTF-8");
    size_t joint = key->len ? 1 : 0;
    if (len > QS_KEY_MAX_BYTES || key->len + joint + len > QS_KEY_MAX_BYTES)
        return error_set(err, QS_INVALID, "a key is longer than %u bytes", QS_KEY_MAX_BYTES);
    if (count_segments(key) >= QS_KEY_MAX_SEGMENTS)
        return error_set(err, QS_INVALID, "a key has more than %u segments", QS_KEY_MAX_SEGMENTS);
    if (joint)
        key->bytes[key->len++] = 0;
    memcpy(key->bytes + key->len, segment, len);
    key->len += len;
    key->bytes[key->len] = 0;
    return QS_OK;
}

void qs_key_pop(struct qs_key *key)
{
    if (!key || key->len > QS_KEY_MAX_BYTES)
        return;
    const unsigned char *zero = key->len ? memrchr(key->bytes, 0, key->len) : NULL;
    key->len = zero ? (size_t)(zero - key->bytes) : 0;
    key->bytes[key->len] = 0;
}
