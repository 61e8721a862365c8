/* SPDX-License-Identifier: Apache-2.0 */
/* Where a parser is within a document. */
#include "text/parse_position.h"

#include <stdio.h>
#include <string.h>

void parse_position_init(struct parse_position *position, const struct qs_bytes *target, size_t target_count)
{
    memset(position, 0, sizeof *position);
    position->target = target;
    position->target_count = target_count;
}

void parse_position_release(struct parse_position *position)
{
    for (unsigned i = 0; i < QS_DOCUMENT_MAX_DEPTH; i++)
        buf_release(&position->frames[i].key);
}

static struct parse_frame *top_of(struct parse_position *position)
{
    return position->depth ? &position->frames[position->depth - 1] : NULL;
}

static bool is_target(const struct parse_position *position, const char *segment, size_t len)
{
    size_t level = position->depth - 1;
    if (level >= position->target_count || (level > 0 && !position->frames[level - 1].on))
        return false;
    return position->target[level].len == len && memcmp(position->target[level].data, segment, len) == 0;
}

void parse_position_key(struct parse_position *position, const char *key, size_t len, size_t at)
{
    struct parse_frame *top = top_of(position);
    if (!top)
        return;
    buf_clear(&top->key);
    buf_add(&top->key, key, len);
    position->failed = position->failed || top->key.failed;
    top->key_at = at;
    top->inside = true;
    top->on = is_target(position, key, len);
}

void parse_position_value(struct parse_position *position, size_t at)
{
    struct parse_frame *top = top_of(position);
    if (!top) {
        position->key_at = position->value_at = at;
        return;
    }
    if (!top->object) {
        char text[24];
        top->index = top->elements++;
        top->inside = true;
        top->on = position->target_count >= position->depth &&
                  is_target(position, text, (size_t)snprintf(text, sizeof text, "%zu", top->index));
    }
    if (top->inside && top->on && position->depth > position->found) {
        position->found = position->depth;
        position->key_at = top->object ? top->key_at : at;
        position->value_at = at;
    }
}

bool parse_position_open(struct parse_position *position, bool object)
{
    if (position->depth == QS_DOCUMENT_MAX_DEPTH)
        return false;
    struct parse_frame *frame = &position->frames[position->depth++];
    frame->object = object;
    frame->inside = frame->on = false;
    frame->elements = 0;
    return true;
}

void parse_position_close(struct parse_position *position)
{
    if (position->depth)
        position->depth--;
}

void parse_position_done(struct parse_position *position)
{
    struct parse_frame *top = top_of(position);
    if (top)
        top->inside = top->on = false;
}

void parse_position_path(const struct parse_position *position, char *text, size_t size)
{
    struct qs_key key;
    key.len = 0;
    key.bytes[0] = 0;
    for (unsigned i = 0; i < position->depth && position->frames[i].inside; i++) {
        const struct parse_frame *frame = &position->frames[i];
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

void parse_position_of(const char *text, size_t offset, unsigned *ret_line, unsigned *ret_column)
{
    const char *at = text;
    const char *end = text + offset;
    const char *newline;
    unsigned line = 1;
    while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
        at = newline + 1;
        line++;
    }
    *ret_line = line;
    *ret_column = (unsigned)(end - at) + 1;
}
