/* SPDX-License-Identifier: Apache-2.0 */
/* Where a parser is within a document. */
#include "text/parse_position.h"

#include <stdio.h>
#include <string.h>

void trail_init(struct trail *trail, const struct qs_bytes *target, size_t target_count)
{
    memset(trail, 0, sizeof *trail);
    trail->target = target;
    trail->target_count = target_count;
}

void trail_release(struct trail *trail)
{
    for (unsigned i = 0; i < QS_DOCUMENT_MAX_DEPTH; i++)
        buf_release(&trail->frames[i].key);
}

static struct trail_frame *top_of(struct trail *trail)
{
    return trail->depth ? &trail->frames[trail->depth - 1] : NULL;
}

static bool is_target(const struct trail *trail, const char *segment, size_t len)
{
    size_t level = trail->depth - 1;
    if (level >= trail->target_count || (level > 0 && !trail->frames[level - 1].on))
        return false;
    return trail->target[level].len == len && memcmp(trail->target[level].data, segment, len) == 0;
}

void trail_key(struct trail *trail, const char *key, size_t len, size_t at)
{
    struct trail_frame *top = top_of(trail);
    if (!top)
        return;
    buf_clear(&top->key);
    buf_add(&top->key, key, len);
    trail->failed = trail->failed || top->key.failed;
    top->key_at = at;
    top->inside = true;
    top->on = is_target(trail, key, len);
}

void trail_value(struct trail *trail, size_t at)
{
    struct trail_frame *top = top_of(trail);
    if (!top) {
        trail->key_at = trail->value_at = at;
        return;
    }
    if (!top->object) {
        char text[24];
        top->index = top->elements++;
        top->inside = true;
        top->on = trail->target_count >= trail->depth &&
                  is_target(trail, text, (size_t)snprintf(text, sizeof text, "%zu", top->index));
    }
    if (top->inside && top->on && trail->depth > trail->found) {
        trail->found = trail->depth;
        trail->key_at = top->object ? top->key_at : at;
        trail->value_at = at;
    }
}

bool trail_open(struct trail *trail, bool object)
{
    if (trail->depth == QS_DOCUMENT_MAX_DEPTH)
        return false;
    struct trail_frame *frame = &trail->frames[trail->depth++];
    frame->object = object;
    frame->inside = frame->on = false;
    frame->elements = 0;
    return true;
}

void trail_close(struct trail *trail)
{
    if (trail->depth)
        trail->depth--;
}

void trail_done(struct trail *trail)
{
    struct trail_frame *top = top_of(trail);
    if (top)
        top->inside = top->on = false;
}

void trail_path(const struct trail *trail, char *text, size_t size)
{
    struct qs_key key;
    key.len = 0;
    key.bytes[0] = 0;
    for (unsigned i = 0; i < trail->depth && trail->frames[i].inside; i++) {
        const struct trail_frame *frame = &trail->frames[i];
        char index[24];
        const char *segment = index;
        size_t len;
        if (frame->object) {
            segment = frame->key.data ? frame->key.data : "";
            len = frame->key.len;
        } else {
            len = (size_t)snprintf(index, sizeof index, "%zu", frame->index);
        }
        if (qs_key_push(&key, segment, len, NULL) != QS_OK)
            break;
    }
    (void)qs_key_format(key.bytes, key.len, text, size);
}

void text_place(const char *text, size_t offset, unsigned *ret_line, unsigned *ret_column)
{
    const char *at = text, *end = text + offset, *newline;
    unsigned line = 1;
    while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
        at = newline + 1;
        line++;
    }
    *ret_line = line;
    *ret_column = (unsigned)(end - at) + 1;
}
