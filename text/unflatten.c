/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves back to a document. They come sorted, so the objects on the way to the last leaf are all that must be kept
 * open. */
#include "base/error.h"
#include "text/doc.h"
#include "text/key_path.h"

#include <errno.h>
#include <string.h>

struct joiner {
    json_t *root;                      /* owned */
    json_t *open[QS_KEY_MAX_SEGMENTS]; /* open[i]: the object that holds segment i of the last key; owned by root */
    const struct leaf *last;
    size_t prefix_len;
    struct qs_error *err;
};

static enum qs_status join_damage(struct joiner *joiner, const struct leaf *leaf, const char *reason)
{
    char path[QS_ERROR_PATH_BYTES];
    error_page(joiner->err, -1, "%s", reason);
    error_add_path(joiner->err, qs_key_format(leaf->key.data, leaf->key.len, path, sizeof path));
    return QS_DAMAGED;
}

static enum qs_status check_order(struct joiner *joiner, const struct leaf *leaf)
{
    const struct leaf *last = joiner->last;
    if (!last)
        return QS_OK;
    if (key_compare(last->key.data, last->key.len, leaf->key.data, leaf->key.len) >= 0)
        return join_damage(joiner, leaf, "keys are not in order");
    /* What lies below a key follows it at once in the order, so looking at the last one finds every conflict. */
    if (key_covers(last->key.data, last->key.len, leaf->key.data, leaf->key.len))
        return join_damage(joiner, leaf, "a key lies below another key that has a value");
    return QS_OK;
}

static enum qs_status decode_leaf(struct joiner *joiner, const struct leaf *leaf, json_t **ret_value)
{
    struct qs_error inner = {0};
    enum qs_status status = value_decode(leaf->value.data, leaf->value.len, ret_value, &inner);
    if (status == QS_INVALID)
        return join_damage(joiner, leaf, "a stored value is not JSON");
    return !status ? QS_OK : error_memory(joiner->err);
}

/* How many whole segments the last key and this one have in common, from the prefix on. */
static size_t common_segments(const struct joiner *joiner, const struct leaf *leaf)
{
    if (!joiner->last)
        return 0;
    size_t count = 0;
    size_t at = joiner->prefix_len;
    size_t other_at = joiner->prefix_len;
    struct qs_bytes segment, other;
    while (key_next_segment(leaf->key.data, leaf->key.len, &at, &segment) &&
           key_next_segment(joiner->last->key.data, joiner->last->key.len, &other_at, &other) &&
           segment.len == other.len && memcmp(segment.data, other.data, segment.len) == 0)
        count++;
    return count;
}

/* Puts value (taking it) at the leaf's key, opening the objects on the way. */
static enum qs_status place_leaf(struct joiner *joiner, const struct leaf *leaf, json_t *value)
{
    size_t common = common_segments(joiner, leaf);
    size_t at = joiner->prefix_len;
    size_t depth = 0;
    struct qs_bytes segment;
    struct qs_bytes next = {0};
    bool more = key_next_segment(leaf->key.data, leaf->key.len, &at, &segment);
    for (; more; segment = next, depth++) {
        more = key_next_segment(leaf->key.data, leaf->key.len, &at, &next);
        if (depth < common)
            continue;
        json_t *member = more ? json_object() : value;
        if (json_object_setn_new_nocheck(joiner->open[depth], segment.data, segment.len, member) != 0) {
            if (more)
                json_decref(value);
            return error_memory(joiner->err);
        }
        if (more)
            joiner->open[depth + 1] = member;
    }
    return QS_OK;
}

static enum qs_status join_leaf(struct joiner *joiner, const struct leaf *leaf, const struct qs_key *prefix)
{
    json_t *value = NULL;
    if (!key_valid(leaf->key.data, leaf->key.len))
        return join_damage(joiner, leaf, "a key is not valid");
    if (prefix && !key_covers(prefix->bytes, prefix->len, leaf->key.data, leaf->key.len))
        return join_damage(joiner, leaf, "a key lies outside the subtree");
    enum qs_status status = check_order(joiner, leaf);
    if (!status)
        status = decode_leaf(joiner, leaf, &value);
    if (status)
        return status;
    if (json_is_object(value) && json_object_size(value)) {
        json_decref(value);
        return join_damage(joiner, leaf, "a stored value is an object with members");
    }
    if (prefix && leaf->key.len == prefix->len) { /* the subtree is this leaf; one below it fails check_order */
        json_decref(joiner->root);
        joiner->root = value;
    } else {
        status = place_leaf(joiner, leaf, value);
    }
    joiner->last = leaf;
    return status;
}

enum qs_status unflatten_leaves(const struct leaf *items, size_t count, const struct qs_key *prefix, json_t **ret_value,
                                struct qs_error *err)
{
    struct joiner joiner = {.root = json_object(), .err = err};
    if (!joiner.root)
        return error_memory(err);
    joiner.open[0] = joiner.root;
    joiner.prefix_len = prefix && prefix->len ? prefix->len + 1 : 0;
    if (prefix && !prefix->len)
        prefix = NULL;
    enum qs_status status = QS_OK;
    for (size_t i = 0; !status && i < count; i++)
        status = join_leaf(&joiner, &items[i], prefix);
    if (status) {
        json_decref(joiner.root);
        return status;
    }
    *ret_value = joiner.root;
    return QS_OK;
}
