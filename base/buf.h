/* SPDX-License-Identifier: Apache-2.0 */
/* A growing byte buffer with a hard cap and a sticky failure, and a bounded little-endian reader. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised is empty. After a failed append (no memory, or over max_bytes) failed is true, later appends do
 * nothing, and the content is not to be used. data is always followed by one zero byte that len does not count. */
struct buf {
    char *data;
    size_t len, cap;
    size_t max_bytes; /* 0: BUF_DEFAULT_MAX_BYTES */
    bool failed;
};

#define BUF_DEFAULT_MAX_BYTES ((size_t)1 << 31)

void buf_release(struct buf *buf);
void buf_clear(struct buf *buf); /* keeps the memory */
void buf_add(struct buf *buf, const void *data, size_t len);
void buf_add_str(struct buf *buf, const char *text);
void buf_add_char(struct buf *buf, char c);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_add_u8(struct buf *buf, uint8_t v);
void buf_add_u16(struct buf *buf, uint16_t v);
void buf_add_u32(struct buf *buf, uint32_t v);
void buf_add_u64(struct buf *buf, uint64_t v);
/* The content (never NULL) as a heap string of the caller; the buffer is empty afterwards. NULL if failed. */
char *buf_steal(struct buf *buf, size_t *ret_len);

/* Reads never pass end; the first one that would sets failed, and this and all later ones give zero or NULL. */
struct cursor {
    const uint8_t *at, *end;
    bool failed;
};

void cursor_init(struct cursor *cursor, const void *data, size_t len);
uint8_t cursor_u8(struct cursor *cursor);
uint16_t cursor_u16(struct cursor *cursor);
uint32_t cursor_u32(struct cursor *cursor);
uint64_t cursor_u64(struct cursor *cursor);
const uint8_t *cursor_bytes(struct cursor *cursor, size_t len);
size_t cursor_left(const struct cursor *cursor);

static inline uint16_t load_u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}
static inline uint32_t load_u32(const uint8_t *p)
{
    return (uint32_t)load_u16(p) | (uint32_t)load_u16(p + 2) << 16;
}
static inline uint64_t load_u64(const uint8_t *p)
{
    return (uint64_t)load_u32(p) | (uint64_t)load_u32(p + 4) << 32;
}

#endif
