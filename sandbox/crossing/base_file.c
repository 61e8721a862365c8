/* SPDX-License-Identifier: Apache-2.0 */
/* The base's bytes. */
#include "sandbox/crossing/base_file.h"

#include "base/digest.h"

#include <string.h>

#define MAGIC       "qsbase1\n"
#define MAGIC_BYTES 8
#define ABSENT      UINT64_MAX

enum qs_status base_encode(const struct base_signs *signs, const struct base_text *texts, size_t count, struct buf *out,
                           struct qs_error *err)
{
    uint8_t digest[QS_DIGEST_BYTES];
    buf_clear(out);
    buf_add(out, MAGIC, MAGIC_BYTES);
    buf_add(out, signs->private, QS_DIGEST_BYTES);
    buf_add(out, signs->host, QS_DIGEST_BYTES);
    for (size_t i = 0; i < count; i++) {
        buf_add_u64(out, texts[i].data ? texts[i].len : ABSENT);
        if (texts[i].data)
            buf_add(out, texts[i].data, texts[i].len);
    }
    if (out->failed)
        return error_memory(err);
    digest_of(out->data, out->len, digest);
    buf_add(out, digest, sizeof digest);
    return out->failed ? error_memory(err) : QS_OK;
}

bool base_decode_signs(const char *data, size_t len, struct base_signs *ret_signs)
{
    if (len < BASE_HEAD_BYTES || memcmp(data, MAGIC, MAGIC_BYTES) != 0)
        return false;
    memcpy(ret_signs->private, data + MAGIC_BYTES, QS_DIGEST_BYTES);
    memcpy(ret_signs->host, data + MAGIC_BYTES + QS_DIGEST_BYTES, QS_DIGEST_BYTES);
    return true;
}

enum qs_status base_decode(const char *data, size_t len, struct base_signs *ret_signs, struct base_text *ret_texts,
                           size_t count, struct qs_error *err)
{
    uint8_t digest[QS_DIGEST_BYTES];
    struct base_signs signs;
    struct base_text texts[BASE_TEXTS_MAX];
    struct cursor cursor;
    if (len < BASE_HEAD_BYTES + QS_DIGEST_BYTES || !base_decode_signs(data, len, &signs))
        return error_set(err, QS_DAMAGED, "the crossing's base is not of its form");
    digest_of(data, len - QS_DIGEST_BYTES, digest);
    if (memcmp(digest, data + len - QS_DIGEST_BYTES, QS_DIGEST_BYTES) != 0)
        return error_set(err, QS_DAMAGED, "the crossing's base does not have its digest");
    cursor_init(&cursor, data + BASE_HEAD_BYTES, len - BASE_HEAD_BYTES - QS_DIGEST_BYTES);
    for (size_t i = 0; i < count; i++) {
        uint64_t size = cursor_u64(&cursor);
        texts[i] = (struct base_text){0};
        if (size == ABSENT || cursor.failed)
            continue;
        if (size > cursor_left(&cursor))
            return error_set(err, QS_DAMAGED, "the crossing's base ends early");
        texts[i] = (struct base_text){(const char *)cursor_bytes(&cursor, (size_t)size), (size_t)size};
    }
    if (cursor.failed || cursor_left(&cursor) != 0)
        return error_set(err, QS_DAMAGED, "the crossing's base has another number of texts");
    *ret_signs = signs;
    memcpy(ret_texts, texts, count * sizeof *texts);
    return QS_OK;
}
