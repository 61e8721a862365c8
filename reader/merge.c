/* SPDX-License-Identifier: Apache-2.0 */
/* Sifting the layers and putting the effective document together. */
#include "reader/merge.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "text/key_path.h"

#include <string.h>

/* ---- which leaves count ---- */

/* Does a lock of layer `holder` bind layer `layer`? */
static bool lock_binds(enum qs_layer holder, enum qs_layer layer)
{
    switch (holder) {
    case QS_LAYER_SYSTEM:
        return layer != QS_LAYER_SYSTEM;
    case QS_LAYER_DEFAULTS:
        return layer == QS_LAYER_USER || layer == QS_LAYER_WORKSPACE;
    case QS_LAYER_USER:
        return layer == QS_LAYER_WORKSPACE;
    case QS_LAYER_WORKSPACE:
    case QS_LAYER_COUNT:
        break;
    }
    return false;
}

bool merge_locked_by(const struct merge_layer *layer, const void *key, size_t len)
{
    for (size_t i = 0; i < layer->lock_count; i++) {
        if (key_covers(layer->locks[i].key.data, layer->locks[i].key.len, key, len))
            return true;
    }
    return false;
}

/* The index of the first leaf that is not before the key. */
static size_t lower_bound(const struct merge_layer *layer, const void *key, size_t len)
{
    size_t low = 0;
    size_t high = layer->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct qs_bytes *at = &layer->items[middle].key;
        if (key_compare(at->data, at->len, key, len) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct leaf *layer_find(const struct merge_layer *layer, const void *key, size_t len)
{
    size_t at = lower_bound(layer, key, len);
    bool found =
        at < layer->count && layer->items[at].key.len == len && memcmp(layer->items[at].key.data, key, len) == 0;
    return found ? &layer->items[at] : NULL;
}

void merge_range(const struct merge_layer *layer, const void *prefix, size_t len, size_t *ret_first, size_t *ret_end)
{
    size_t at = lower_bound(layer, prefix, len);
    *ret_first = at;
    while (at < layer->count && key_covers(prefix, len, layer->items[at].key.data, layer->items[at].key.len))
        at++;
    *ret_end = at;
}

/* Does an operator's layer set the execution policy? */
static bool policy_exists(const struct merge_input *input)
{
    static const char sandbox[] = "tools\0executionSandbox";
    for (int layer = 0; layer < QS_LAYER_COUNT; layer++) {
        const struct merge_layer *at = &input->layers[layer];
        for (size_t i = 0; layer != QS_LAYER_WORKSPACE && i < at->count; i++) {
            if (key_covers(sandbox, sizeof sandbox - 1, at->items[i].key.data, at->items[i].key.len))
                return true;
        }
    }
    return false;
}

static bool bytes_are(const struct qs_bytes *bytes, const char *text)
{
    return text && bytes->len == strlen(text) && memcmp(bytes->data, text, bytes->len) == 0;
}

/* A tighten-only key: the narrow value, or what holds without the workspace anyway. */
static bool narrows(const struct merge_input *input, const struct schema_entry *entry, const struct leaf *leaf)
{
    static const enum qs_layer order[] = {QS_LAYER_SYSTEM, QS_LAYER_USER, QS_LAYER_DEFAULTS};
    if (bytes_are(&leaf->value, entry->restriction == SCHEMA_TIGHTEN_TRUE ? "true" : "false"))
        return true;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        const struct leaf *below = layer_find(&input->layers[order[i]], leaf->key.data, leaf->key.len);
        if (below && merge_verdict(input, order[i], below, NULL) == MERGE_COUNTS)
            return below->value.len == leaf->value.len &&
                   memcmp(below->value.data, leaf->value.data, leaf->value.len) == 0;
    }
    return bytes_are(&leaf->value, entry->default_json);
}

static enum merge_verdict workspace_verdict(const struct merge_input *input, const struct leaf *leaf)
{
    const struct schema_entry *entry = schema_find_bytes(leaf->key.data, leaf->key.len, NULL);
    if (!entry)
        return MERGE_COUNTS;
    switch (entry->restriction) {
    case SCHEMA_ANYONE:
        return MERGE_COUNTS;
    case SCHEMA_OPERATOR:
        return MERGE_OPERATOR;
    case SCHEMA_OPERATOR_WITH_POLICY:
        return policy_exists(input) ? MERGE_OPERATOR : MERGE_COUNTS;
    case SCHEMA_TIGHTEN_TRUE:
    case SCHEMA_TIGHTEN_FALSE:
        return narrows(input, entry, leaf) ? MERGE_COUNTS : MERGE_TIGHTEN;
    }
    return MERGE_OPERATOR;
}

enum merge_verdict merge_verdict(const struct merge_input *input, enum qs_layer layer, const struct leaf *leaf,
                                 enum qs_layer *ret_binding)
{
    static const enum qs_layer order[] = {QS_LAYER_SYSTEM, QS_LAYER_DEFAULTS, QS_LAYER_USER};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        if (!lock_binds(order[i], layer) || !merge_locked_by(&input->layers[order[i]], leaf->key.data, leaf->key.len))
            continue;
        if (ret_binding)
            *ret_binding = order[i];
        return MERGE_LOCKED;
    }
    return layer == QS_LAYER_WORKSPACE ? workspace_verdict(input, leaf) : MERGE_COUNTS;
}

/* ---- the document ---- */

/* The part of a key that is enough to ask for: as long as every place above is merged deep, what stands there and at
 * and below the key decides alone. */
static struct qs_bytes part_of(const struct qs_key *key)
{
    struct qs_bytes part = {key->bytes, 0};
    struct qs_bytes segment;
    size_t at = 0;
    while (key_next_segment(key->bytes, key->len, &at, &segment)) {
        if (part.len && merge_kind(key->bytes, part.len) != SCHEMA_DEEP)
            break;
        part.len = (size_t)((const unsigned char *)segment.data - key->bytes) + segment.len;
    }
    return part;
}

/* The document of one layer, of the leaves that count: those at and below only (the root: all), and those above it,
 * which may stand in its way. */
static enum qs_status layer_document(const struct merge_input *input, enum qs_layer layer, struct qs_bytes only,
                                     json_t **ret_value, struct qs_error *err)
{
    const struct merge_layer *from = &input->layers[layer];
    const unsigned char *bytes = only.data;
    size_t count = 0;
    size_t first;
    size_t end;
    merge_range(from, only.data, only.len, &first, &end);
    AUTO_FREE struct leaf *kept = malloc((end - first + QS_KEY_MAX_SEGMENTS) * sizeof *kept);
    if (!kept)
        return error_memory(err);
    for (size_t i = 1; i < only.len; i++) {
        const struct leaf *above = bytes[i] == 0 ? layer_find(from, bytes, i) : NULL;
        if (above && merge_verdict(input, layer, above, NULL) == MERGE_COUNTS)
            kept[count++] = *above;
    }
    for (size_t i = first; i < end; i++) {
        if (merge_verdict(input, layer, &from->items[i], NULL) == MERGE_COUNTS)
            kept[count++] = from->items[i];
    }
    return unflatten_leaves(kept, count, NULL, ret_value, err);
}

/* The layers of a set (bits 1 << layer) merged, locks aside. */
static enum qs_status merge_some(json_t *const documents[QS_LAYER_COUNT], unsigned layers, json_t **ret_value,
                                 struct qs_error *err)
{
    static const struct qs_key root = {0};
    AUTO(value_release) json_t *merged = json_object();
    for (int layer = 0; layer < QS_LAYER_COUNT && merged; layer++) {
        if (!(layers & 1u << layer))
            continue;
        json_t *next = merge_values(&root, merged, documents[layer]);
        json_decref(merged);
        merged = next;
    }
    if (!merged)
        return error_memory(err);
    *ret_value = STEAL(merged);
    return QS_OK;
}

/* Puts value (NULL: nothing) at key; merged values share their parts, so every object on the way is copied first. What
 * stands in the way of a value gives way to an object; what became empty by taking out goes too. */
static int put_at(json_t **slot, const struct qs_key *key, size_t at, const json_t *value)
{
    struct qs_bytes segment;
    if (!key_next_segment(key->bytes, key->len, &at, &segment)) {
        json_decref(*slot);
        *slot = json_incref((json_t *)value);
        return 0;
    }
    const json_t *old = json_is_object(*slot) ? json_object_getn(*slot, segment.data, segment.len) : NULL;
    if (!value && !old)
        return 0;
    AUTO(value_release) json_t *copy = json_is_object(*slot) ? json_copy(*slot) : json_object();
    json_t *child = json_incref((json_t *)old);
    if (!copy || put_at(&child, key, at, value)) {
        json_decref(child);
        return -1;
    }
    bool gone = !child || (!value && json_is_object(child) && json_object_size(child) == 0);
    int failed = gone ? json_object_deln(copy, segment.data, segment.len)
                      : json_object_setn(copy, segment.data, segment.len, child);
    json_decref(child);
    if (failed && !gone)
        return -1;
    json_decref(*slot);
    *slot = STEAL(copy);
    return 0;
}

/* Sets each subtree that a layer locks to what the layers give that the lock does not bind. */
static enum qs_status apply_locks(const struct merge_input *input, enum qs_layer holder,
                                  json_t *const documents[QS_LAYER_COUNT], json_t **merged, struct qs_error *err)
{
    AUTO(value_release) json_t *free_layers = NULL;
    const struct merge_layer *layer = &input->layers[holder];
    unsigned mask = 0;
    if (!layer->lock_count)
        return QS_OK;
    for (int other = 0; other < QS_LAYER_COUNT; other++)
        mask |= lock_binds(holder, (enum qs_layer)other) ? 0 : 1u << other;
    enum qs_status status = merge_some(documents, mask, &free_layers, err);
    for (size_t i = 0; i < layer->lock_count && !status; i++) {
        struct qs_key key = {.len = layer->locks[i].key.len};
        if (!key.len || key.len > QS_KEY_MAX_BYTES)
            return error_set(err, QS_INVALID, "a lock's key is out of bounds");
        memcpy(key.bytes, layer->locks[i].key.data, key.len);
        if (put_at(merged, &key, 0, merge_at(free_layers, &key)))
            return error_memory(err);
    }
    return status;
}

static enum qs_status merge_locked(const struct merge_input *input, json_t *const documents[QS_LAYER_COUNT],
                                   json_t **ret_value, struct qs_error *err)
{
    AUTO(value_release) json_t *merged = NULL;
    enum qs_status status = merge_some(documents, (1u << QS_LAYER_COUNT) - 1, &merged, err);
    if (!status)
        status = apply_locks(input, QS_LAYER_USER, documents, &merged, err);
    if (!status)
        status = apply_locks(input, QS_LAYER_DEFAULTS, documents, &merged, err);
    if (!status)
        status = apply_locks(input, QS_LAYER_SYSTEM, documents, &merged, err);
    if (!status)
        *ret_value = STEAL(merged);
    return status;
}

enum qs_status merge_document(const struct merge_input *input, const struct qs_key *only, json_t **ret_value,
                              struct qs_error *err)
{
    json_t *documents[QS_LAYER_COUNT] = {NULL};
    struct qs_bytes part = only ? part_of(only) : (struct qs_bytes){"", 0};
    enum qs_status status = QS_OK;
    for (int layer = 0; layer < QS_LAYER_COUNT && !status; layer++)
        status = layer_document(input, (enum qs_layer)layer, part, &documents[layer], err);
    if (!status)
        status = merge_locked(input, documents, ret_value, err);
    for (int layer = 0; layer < QS_LAYER_COUNT; layer++)
        json_decref(documents[layer]);
    return status;
}

/* ---- two values of one key, as the schema says for it ---- */

enum schema_merge merge_kind(const void *key, size_t len)
{
    bool exact = false;
    const struct schema_entry *entry = schema_find_bytes(key, len, &exact);
    if (!entry)
        return SCHEMA_DEEP;
    /* Below an entry that the table does not describe further, its parts are merged as it says for the whole. */
    return exact || entry->merge == SCHEMA_REPLACE || entry->merge == SCHEMA_SHALLOW ? entry->merge : SCHEMA_DEEP;
}

static bool array_holds(const json_t *array, const json_t *value)
{
    size_t index;
    json_t *item;
    json_array_foreach(array, index, item)
    {
        if (value_equal(item, value))
            return true;
    }
    return false;
}

static json_t *join_arrays(const json_t *low, const json_t *high, bool distinct)
{
    AUTO(value_release) json_t *joined = json_array();
    const json_t *parts[] = {low, high};
    for (size_t i = 0; joined && i < 2; i++) {
        size_t index;
        json_t *item;
        json_array_foreach(parts[i], index, item)
        {
            if (!(distinct && array_holds(joined, item)) && json_array_append(joined, item))
                return NULL;
        }
    }
    return STEAL(joined);
}

static json_t *join_objects(const struct qs_key *key, const json_t *low, const json_t *high, bool deep)
{
    AUTO(value_release) json_t *joined = json_copy((json_t *)low);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)high, name, value)
    {
        const json_t *under = deep ? json_object_get(low, name) : NULL;
        struct qs_key child = *key;
        if (under && qs_key_push(&child, name, strlen(name), NULL))
            under = NULL; /* no key of a store has such a segment; the higher value as a whole then */
        json_t *merged = under ? merge_values(&child, under, value) : json_incref(value);
        if (!joined || json_object_set_new(joined, name, merged))
            return NULL;
    }
    return STEAL(joined);
}

json_t *merge_values(const struct qs_key *key, const json_t *low, const json_t *high)
{
    enum schema_merge kind = merge_kind(key->bytes, key->len);
    bool arrays = json_is_array(low) && json_is_array(high);
    bool objects = json_is_object(low) && json_is_object(high);
    switch (kind) {
    case SCHEMA_UNION:
    case SCHEMA_CONCAT:
        if (arrays)
            return join_arrays(low, high, kind == SCHEMA_UNION);
        break;
    case SCHEMA_SHALLOW:
    case SCHEMA_DEEP:
        if (objects)
            return join_objects(key, low, high, kind == SCHEMA_DEEP);
        break;
    case SCHEMA_REPLACE:
        break;
    }
    return json_incref((json_t *)high);
}

const json_t *merge_at(const json_t *document, const struct qs_key *key)
{
    struct qs_bytes segment;
    size_t at = 0;
    while (document && key_next_segment(key->bytes, key->len, &at, &segment))
        document = json_object_getn(document, segment.data, segment.len);
    return document;
}
