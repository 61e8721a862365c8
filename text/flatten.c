/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents as leaves: what the store keeps. A zero byte joins segments and sorts before every byte of a segment, so
 * walking objects by sorted keys yields the encoded keys in the store's order.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "text/doc.h"
#include "text/key_path.h"
#include "text/sorted_members.h"

#include <errno.h>
#include <string.h>

void leaves_release(struct leaves *leaves)
{
    free(leaves->items);
    free(leaves->arena);
    *leaves = (struct leaves){0};
}

/* Where a leaf's bytes are in the arena, while it may still move. */
struct span {
    size_t key, key_len, value, value_len;
};

struct splitter {
    struct qs_key key;
    unsigned prefix_segments, depth;                  /* depth: objects open below the prefix */
    struct qs_bytes below[QS_DOCUMENT_MAX_DEPTH + 1]; /* the segments below the prefix, to be found in doc */
    struct buf arena;
    struct span *spans;
    size_t count, room;
    const struct doc *doc;
    struct qs_error *err;
};

/* Adds path and place to an error about the value at hand; at_key: about its key. */
static enum qs_status split_blame(struct splitter *splitter, bool at_key, enum qs_status status)
{
    char path[QS_ERROR_PATH_BYTES];
    unsigned line, column;
    error_add_path(splitter->err, qs_key_format(splitter->key.bytes, splitter->key.len, path, sizeof path));
    if (!splitter->doc || !splitter->err)
        return status;
    doc_locate_segments(splitter->doc, splitter->below, splitter->depth, at_key, &line, &column);
    error_add_file(splitter->err, doc_file(splitter->doc));
    error_add_place(splitter->err, line, column);
    return status;
}

/* Containers in a value, one inside the other. */
static unsigned nesting(const json_t *value, unsigned enough)
{
    unsigned deepest = 0;
    unsigned depth;
    json_t *walked = (json_t *)value; /* jansson's iterators change nothing */
    if ((!json_is_object(value) && !json_is_array(value)) || !enough)
        return 0;
    for (size_t i = 0; i < json_array_size(value); i++)
        if ((depth = nesting(json_array_get(value, i), enough - 1)) > deepest)
            deepest = depth;
    for (void *iter = json_object_iter(walked); iter; iter = json_object_iter_next(walked, iter))
        if ((depth = nesting(json_object_iter_value(iter), enough - 1)) > deepest)
            deepest = depth;
    return deepest + 1;
}

static bool make_space(struct splitter *splitter)
{
    if (splitter->count < splitter->room)
        return true;
    size_t room = splitter->room ? 2 * splitter->room : 64;
    struct span *spans = realloc(splitter->spans, room * sizeof *spans);
    if (!spans)
        return false;
    splitter->spans = spans;
    splitter->room = room;
    return true;
}

static enum qs_status check_leaf(struct splitter *splitter, const json_t *value)
{
    unsigned around = splitter->prefix_segments + splitter->depth;
    if (!splitter->key.len)
        return error_set(splitter->err, QS_INVALID, "the whole document must be an object, but is of type %s",
                         value_type_name(value));
    if (around + nesting(value, QS_DOCUMENT_MAX_DEPTH + 1) > QS_DOCUMENT_MAX_DEPTH)
        return error_set(splitter->err, QS_INVALID, "the document is nested deeper than %u levels",
                         QS_DOCUMENT_MAX_DEPTH);
    if (splitter->count == QS_SETTINGS_MAX_ENTRIES)
        return error_set(splitter->err, QS_INVALID, "the document has more than %u values", QS_SETTINGS_MAX_ENTRIES);
    return QS_OK;
}

static enum qs_status add_leaf(struct splitter *splitter, const json_t *value)
{
    struct buf *arena = &splitter->arena;
    enum qs_status status = check_leaf(splitter, value);
    if (status)
        return split_blame(splitter, false, status);
    if (!make_space(splitter))
        return error_memory(splitter->err);
    struct span *span = &splitter->spans[splitter->count];
    span->key = arena->len;
    span->key_len = splitter->key.len;
    buf_add(arena, splitter->key.bytes, splitter->key.len);
    span->value = arena->len;
    status = value_encode(value, arena, splitter->err);
    if (status)
        return split_blame(splitter, false, status);
    span->value_len = arena->len - span->value;
    if (span->value_len > QS_VALUE_MAX_BYTES) {
        status = error_set(splitter->err, QS_INVALID, "a value is larger than %u bytes", QS_VALUE_MAX_BYTES);
        return split_blame(splitter, false, status);
    }
    splitter->count++;
    return QS_OK;
}

static enum qs_status split(struct splitter *splitter, const json_t *value);

static enum qs_status split_member(struct splitter *splitter, const struct sorted_member *member)
{
    size_t former = splitter->key.len;
    if (splitter->depth == QS_DOCUMENT_MAX_DEPTH) {
        enum qs_status failed =
            error_set(splitter->err, QS_INVALID, "the document is nested deeper than %u levels", QS_DOCUMENT_MAX_DEPTH);
        return split_blame(splitter, false, failed);
    }
    splitter->below[splitter->depth++] = (struct qs_bytes){.data = member->key, .len = member->key_len};
    enum qs_status status = qs_key_push(&splitter->key, member->key, member->key_len, splitter->err);
    if (status)
        return split_blame(splitter, true, status);
    status = split(splitter, member->value);
    splitter->key.len = former;
    splitter->key.bytes[former] = 0;
    splitter->depth--;
    return status;
}

static enum qs_status split(struct splitter *splitter, const json_t *value)
{
    if (!json_is_object(value) || (json_object_size(value) == 0 && splitter->key.len))
        return add_leaf(splitter, value);
    AUTO(sorted_members_release) struct sorted_members members;
    enum qs_status status = sorted_members_init(&members, value, splitter->err);
    for (size_t i = 0; !status && i < members.count; i++)
        status = split_member(splitter, &members.items[i]);
    return status;
}

/* Moves what was split to its final place. */
static enum qs_status finish(struct splitter *splitter, struct leaves *ret_leaves)
{
    struct leaf *items = NULL;
    if (splitter->arena.failed || (splitter->count && !(items = malloc(splitter->count * sizeof *items))))
        return error_memory(splitter->err);
    const char *bytes = splitter->arena.data;
    for (size_t i = 0; i < splitter->count; i++) {
        const struct span *span = &splitter->spans[i];
        items[i].key = (struct qs_bytes){.data = bytes + span->key, .len = span->key_len};
        items[i].value = (struct qs_bytes){.data = bytes + span->value, .len = span->value_len};
    }
    *ret_leaves = (struct leaves){.items = items, .count = splitter->count, .arena = splitter->arena.data};
    splitter->arena = (struct buf){0};
    return QS_OK;
}

enum qs_status flatten_value(const json_t *value, const struct qs_key *prefix, const struct doc *doc,
                             struct leaves *ret_leaves, struct qs_error *err)
{
    struct splitter splitter = {.doc = doc, .err = err};
    struct qs_bytes segment;
    if (prefix)
        splitter.key = *prefix;
    for (size_t at = 0; key_next_segment(splitter.key.bytes, splitter.key.len, &at, &segment);)
        splitter.prefix_segments++;
    enum qs_status status = split(&splitter, value);
    if (!status)
        status = finish(&splitter, ret_leaves);
    free(splitter.spans);
    buf_release(&splitter.arena);
    return status;
}
