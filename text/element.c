/* SPDX-License-Identifier: Apache-2.0 */
#include "text/element.h"

#include "text/key_path.h"
#include "text/value.h"

/* Decimal without a leading zero, as RFC 6901 has it. */
static bool index_of(struct qs_bytes segment, size_t *ret_index)
{
    const char *digits = segment.data;
    size_t index = 0;
    if (!segment.len || segment.len > 9 || (segment.len > 1 && digits[0] == '0'))
        return false;
    for (size_t i = 0; i < segment.len; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return false;
        index = index * 10 + (size_t)(digits[i] - '0');
    }
    *ret_index = index;
    return true;
}

static bool is_dash(struct qs_bytes segment)
{
    return segment.len == 1 && *(const char *)segment.data == '-';
}

static json_t *child(json_t *value, struct qs_bytes segment)
{
    size_t index = 0;
    if (json_is_object(value))
        return json_object_getn(value, segment.data, segment.len);
    return json_is_array(value) && index_of(segment, &index) ? json_array_get(value, index) : NULL;
}

json_t *element_find(json_t *value, struct qs_bytes rest)
{
    size_t at = 0;
    struct qs_bytes segment;
    while (value && key_next_segment(rest.data, rest.len, &at, &segment))
        value = child(value, segment);
    return value;
}

/* The container of what rest names, and rest's last segment. */
static json_t *parent_of(json_t *value, struct qs_bytes rest, struct qs_bytes *ret_last)
{
    size_t at = 0;
    struct qs_bytes segment;
    bool more = key_next_segment(rest.data, rest.len, &at, &segment);
    struct qs_bytes next;
    while (value && more && key_next_segment(rest.data, rest.len, &at, &next)) {
        value = child(value, segment);
        segment = next;
    }
    *ret_last = segment;
    return more ? value : NULL;
}

static enum qs_status no_index(const json_t *array, struct qs_error *err)
{
    error_set(err, QS_INVALID, "the array has %zu elements, and this is the index of none of them",
              json_array_size(array));
    error_add_advice(err, "append with 'qsettings add KEY VALUE', or set the whole array");
    return QS_INVALID;
}

enum qs_status element_put(json_t *value, struct qs_bytes rest, json_t *element, struct qs_error *err)
{
    struct qs_bytes last = {NULL, 0};
    size_t index = 0;
    json_t *parent = parent_of(value, rest, &last);
    int failed = 0;
    if (json_is_object(parent)) {
        failed = json_object_setn(parent, last.data, last.len, element);
    } else if (json_is_array(parent)) {
        size_t count = json_array_size(parent);
        bool append = is_dash(last) || (index_of(last, &index) && index == count);
        if (!append && (!index_of(last, &index) || index > count))
            return no_index(parent, err);
        failed = append ? json_array_append(parent, element) : json_array_set(parent, index, element);
    } else {
        return error_set(err, QS_INVALID, "the way leads through %s, which has nothing inside",
                         parent ? value_type_name(parent) : "an element that does not exist");
    }
    return failed ? error_memory(err) : QS_OK;
}

enum qs_status element_remove(json_t *value, struct qs_bytes rest, struct qs_error *err)
{
    struct qs_bytes last = {NULL, 0};
    size_t index = 0;
    json_t *parent = parent_of(value, rest, &last);
    if (json_is_object(parent) && json_object_deln(parent, last.data, last.len) == 0)
        return QS_OK;
    if (json_is_array(parent) && index_of(last, &index) && json_array_remove(parent, index) == 0)
        return QS_OK;
    return error_set(err, QS_NOT_FOUND, "there is no such element");
}
