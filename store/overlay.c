/* SPDX-License-Identifier: Apache-2.0 */
/* Change sets over sorted lists. */
#include "store/overlay.h"

#include "store/snapshot.h"
#include "text/key_path.h"

#include <string.h>

#define CHUNK_BYTES ((size_t)16 * 1024)

struct overlay_chunk {
    struct overlay_chunk *next;
    size_t used, cap;
    uint8_t bytes[];
};

void overlay_release(struct overlay *overlay)
{
    for (struct overlay_chunk *chunk = overlay->chunks; chunk;) {
        struct overlay_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    free(overlay->items);
    *overlay = (struct overlay){0};
}

static bool keep(struct overlay *overlay, struct qs_bytes *bytes)
{
    struct overlay_chunk *chunk = overlay->chunks;
    if (!bytes->data)
        return true;
    if (!chunk || chunk->cap - chunk->used < bytes->len) {
        size_t cap = bytes->len > CHUNK_BYTES ? bytes->len : CHUNK_BYTES;
        chunk = malloc(sizeof *chunk + cap);
        if (!chunk)
            return false;
        *chunk = (struct overlay_chunk){overlay->chunks, 0, cap};
        overlay->chunks = chunk;
    }
    uint8_t *copy = chunk->bytes + chunk->used;
    if (bytes->len)
        memcpy(copy, bytes->data, bytes->len);
    chunk->used += bytes->len;
    bytes->data = copy;
    return true;
}

static size_t position(const struct overlay *overlay, struct qs_bytes key, bool *ret_found)
{
    size_t low = 0;
    size_t end = overlay->count;
    *ret_found = false;
    while (low < end) {
        /* Documents come in order: look at the end first. */
        size_t middle = low == 0 && end == overlay->count ? end - 1 : low + (end - low) / 2;
        const struct qs_bytes *at = &overlay->items[middle].key;
        int order = key_compare(at->data, at->len, key.data, key.len);
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            end = middle;
    }
    return low;
}

size_t overlay_find(const struct overlay *overlay, struct qs_bytes key)
{
    bool found = false;
    size_t at = position(overlay, key, &found);
    return found ? at : SIZE_MAX;
}

enum qs_status overlay_put(struct overlay *overlay, struct qs_bytes key, struct qs_bytes value, struct qs_error *err)
{
    bool found = false;
    size_t at = position(overlay, key, &found);
    if (!keep(overlay, &value) || (!found && !keep(overlay, &key)))
        return error_memory(err);
    if (found) {
        overlay->items[at].value = value;
        return QS_OK;
    }
    if (overlay->count == overlay->cap) {
        size_t cap = overlay->cap ? overlay->cap * 2 : 32;
        struct leaf *items = realloc(overlay->items, cap * sizeof *items);
        if (!items)
            return error_memory(err);
        overlay->items = items;
        overlay->cap = cap;
    }
    memmove(overlay->items + at + 1, overlay->items + at, (overlay->count - at) * sizeof *overlay->items);
    overlay->items[at] = (struct leaf){key, value};
    overlay->count++;
    return QS_OK;
}

struct qs_bytes overlay_value(const struct overlay *overlay, const struct entry_list *base, struct qs_bytes key)
{
    size_t at = overlay_find(overlay, key);
    if (at != SIZE_MAX)
        return overlay->items[at].value;
    at = snapshot_find(base, key.data, key.len);
    return at == SIZE_MAX ? (struct qs_bytes){NULL, 0} : base->items[at].value;
}

enum qs_status overlay_merge(const struct overlay *overlay, const struct entry_list *base, struct entry_list *ret_list,
                             struct qs_error *err)
{
    struct leaf *out = malloc((base->count + overlay->count + 1) * sizeof *out);
    size_t count = 0;
    size_t b = 0;
    size_t o = 0;
    if (!out)
        return error_memory(err);
    while (b < base->count || o < overlay->count) {
        int order = 0;
        if (b == base->count)
            order = 1;
        else if (o == overlay->count)
            order = -1;
        else
            order = key_compare(base->items[b].key.data, base->items[b].key.len, overlay->items[o].key.data,
                                overlay->items[o].key.len);
        if (order < 0) {
            out[count++] = base->items[b++];
            continue;
        }
        if (order == 0)
            b++;
        if (overlay->items[o].value.data)
            out[count++] = overlay->items[o];
        o++;
    }
    *ret_list = (struct entry_list){out, count};
    return QS_OK;
}

enum qs_status overlay_copy_list(const struct entry_list *list, struct leaves *ret_leaves, struct qs_error *err)
{
    size_t bytes = 0;
    for (size_t i = 0; i < list->count; i++)
        bytes += list->items[i].key.len + list->items[i].value.len;
    struct leaf *items = malloc((list->count + 1) * sizeof *items);
    uint8_t *arena = malloc(bytes + 1);
    if (!items || !arena) {
        free(items);
        free(arena);
        return error_memory(err);
    }
    uint8_t *at = arena;
    for (size_t i = 0; i < list->count; i++) {
        const struct leaf *from = &list->items[i];
        memcpy(at, from->key.data, from->key.len);
        memcpy(at + from->key.len, from->value.data, from->value.len);
        items[i] = (struct leaf){{at, from->key.len}, {at + from->key.len, from->value.len}};
        at += from->key.len + from->value.len;
    }
    *ret_leaves = (struct leaves){items, list->count, arena};
    return QS_OK;
}
