/* SPDX-License-Identifier: Apache-2.0 */
/* Merging two values of one key, as the schema says for it. */
#include "reader/merge.h"

#include "base/cleanup.h"
#include "text/key_path.h"

#include <string.h>

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
    bool arrays = json_is_array(low) && json_is_array(high), objects = json_is_object(low) && json_is_object(high);
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
