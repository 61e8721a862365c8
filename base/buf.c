/* SPDX-License-Identifier: Apache-2.0 */
/* The growing buffer and the bounded reader. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_release(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){.max_bytes = buf->max_bytes};
}

void buf_clear(struct buf *buf)
{
    buf->len = 0;
    buf->failed = false;
    if (buf->data)
        buf->data[0] = '\0';
}

static bool buf_reserve(struct buf *buf, size_t more)
{
    size_t max = buf->max_bytes ? buf->max_bytes : BUF_DEFAULT_MAX_BYTES;
    if (buf->failed)
        return false;
    if (more > max || buf->len > max - more) {
        buf->failed = true;
        return false;
    }
    size_t need = buf->len + more + 1;
    if (need <= buf->cap)
        return true;
    size_t cap = buf->cap ? buf->cap : 64;
    while (cap < need)
        cap += cap / 2 + 1;
    char *data = realloc(buf->data, cap);
    if (!data) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->cap = cap;
    return true;
}

void buf_add(struct buf *buf, const void *data, size_t len)
{
    if (!buf_reserve(buf, len))
        return;
    if (len)
        memcpy(buf->data + buf->len, data, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void buf_add_str(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

void buf_add_char(struct buf *buf, char c)
{
    buf_add(buf, &c, 1);
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0)
        buf->failed = true;
    else if (buf_reserve(buf, (size_t)len)) {
        (void)vsnprintf(buf->data + buf->len, (size_t)len + 1, format, again);
        buf->len += (size_t)len;
    }
    va_end(again);
}

void buf_add_u8(struct buf *buf, uint8_t v)
{
    buf_add(buf, &v, 1);
}

void buf_add_u16(struct buf *buf, uint16_t v)
{
    uint8_t b[2] = {(uint8_t)v, (uint8_t)(v >> 8)};
    buf_add(buf, b, sizeof b);
}

void buf_add_u32(struct buf *buf, uint32_t v)
{
    buf_add_u16(buf, (uint16_t)v);
    buf_add_u16(buf, (uint16_t)(v >> 16));
}

void buf_add_u64(struct buf *buf, uint64_t v)
{
    buf_add_u32(buf, (uint32_t)v);
    buf_add_u32(buf, (uint32_t)(v >> 32));
}

char *buf_steal(struct buf *buf, size_t *ret_len)
{
    if (!buf_reserve(buf, 0))
        return NULL;
    buf->data[buf->len] = '\0';
    char *data = buf->data;
    if (ret_len)
        *ret_len = buf->len;
    *buf = (struct buf){.max_bytes = buf->max_bytes};
    return data;
}

void cursor_init(struct cursor *cursor, const void *data, size_t len)
{
    cursor->at = data;
    cursor->end = cursor->at + len;
    cursor->failed = false;
}

size_t cursor_left(const struct cursor *cursor)
{
    return cursor->failed ? 0 : (size_t)(cursor->end - cursor->at);
}

const uint8_t *cursor_bytes(struct cursor *cursor, size_t len)
{
    if (cursor->failed || (size_t)(cursor->end - cursor->at) < len) {
        cursor->failed = true;
        return NULL;
    }
    const uint8_t *p = cursor->at;
    cursor->at += len;
    return p;
}

uint8_t cursor_u8(struct cursor *cursor)
{
    const uint8_t *p = cursor_bytes(cursor, 1);
    return p ? *p : 0;
}

uint16_t cursor_u16(struct cursor *cursor)
{
    const uint8_t *p = cursor_bytes(cursor, 2);
    return p ? load_u16(p) : 0;
}

uint32_t cursor_u32(struct cursor *cursor)
{
    const uint8_t *p = cursor_bytes(cursor, 4);
    return p ? load_u32(p) : 0;
}

uint64_t cursor_u64(struct cursor *cursor)
{
    const uint8_t *p = cursor_bytes(cursor, 8);
    return p ? load_u64(p) : 0;
}
