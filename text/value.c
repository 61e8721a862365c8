/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON value codec, inward: text to value, the canonical check, equality. */
#include "text/value.h"

#include "text/json.h"

#include <errno.h>
#include <string.h>

void value_release(json_t **value)
{
    int saved = errno;
    json_decref(*value);
    *value = NULL;
    errno = saved;
}

const char *value_type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "integer";
    case JSON_REAL:
        return "real";
    case JSON_TRUE:
    case JSON_FALSE:
        return "boolean";
    case JSON_NULL:
        return "null";
    }
    return "unknown";
}

static bool is_word(const char *text, size_t len, const char *word)
{
    return len == strlen(word) && memcmp(text, word, len) == 0;
}

/* An integer of at most 18 digits, which always fits, in the only spelling JSON allows. */
static bool plain_integer(const char *text, size_t len, json_int_t *ret_integer)
{
    bool negative = len && *text == '-';
    size_t at = negative ? 1 : 0;
    json_int_t integer = 0;
    if (len == at || len - at > 18 || (text[at] == '0' && len - at > 1))
        return false;
    for (; at < len; at++) {
        if (text[at] < '0' || text[at] > '9')
            return false;
        integer = integer * 10 + (text[at] - '0');
    }
    *ret_integer = negative ? -integer : integer;
    return true;
}

/* Is text a string literal without escapes? Its UTF-8 is not looked at. */
static bool plain_string(const char *text, size_t len)
{
    if (len < 2 || text[0] != '"' || text[len - 1] != '"')
        return false;
    for (size_t i = 1; i < len - 1; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == '"' || text[i] == '\\')
            return false;
    return true;
}

/* Most leaves are scalars that need no parser. NULL: not one of them, or not UTF-8, or no memory; ask the parser. */
static json_t *decode_plain(const char *text, size_t len)
{
    json_int_t integer;
    if (plain_string(text, len))
        return json_stringn(text + 1, len - 2);
    if (plain_integer(text, len, &integer))
        return json_integer(integer);
    if (is_word(text, len, "true"))
        return json_true();
    if (is_word(text, len, "false"))
        return json_false();
    if (is_word(text, len, "null"))
        return json_null();
    if (is_word(text, len, "{}"))
        return json_object();
    return NULL;
}

enum qs_status value_decode(const void *text, size_t len, json_t **ret_value, struct qs_error *err)
{
    json_t *value = decode_plain(text, len);
    if (!value)
        return jsontext_parse(text, len, ret_value, err);
    *ret_value = value;
    return QS_OK;
}

static bool equal_objects(const json_t *a, const json_t *b)
{
    json_t *walked = (json_t *)a; /* jansson's iterators change nothing */
    if (json_object_size(a) != json_object_size(b))
        return false;
    for (void *iter = json_object_iter(walked); iter; iter = json_object_iter_next(walked, iter)) {
        const json_t *other = json_object_getn(b, json_object_iter_key(iter), json_object_iter_key_len(iter));
        if (!other || !value_equal(json_object_iter_value(iter), other))
            return false;
    }
    return true;
}

static bool equal_arrays(const json_t *a, const json_t *b)
{
    size_t count = json_array_size(a);
    if (count != json_array_size(b))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!value_equal(json_array_get(a, i), json_array_get(b, i)))
            return false;
    return true;
}

/* Not json_equal: that finds 0.0 and -0.0 equal, whose canonical texts differ. */
bool value_equal(const json_t *a, const json_t *b)
{
    if (!a || !b || json_typeof(a) != json_typeof(b))
        return false;
    double left = json_real_value(a);
    double right = json_real_value(b);
    switch (json_typeof(a)) {
    case JSON_OBJECT:
        return equal_objects(a, b);
    case JSON_ARRAY:
        return equal_arrays(a, b);
    case JSON_STRING:
        return json_string_length(a) == json_string_length(b) &&
               memcmp(json_string_value(a), json_string_value(b), json_string_length(a)) == 0;
    case JSON_INTEGER:
        return json_integer_value(a) == json_integer_value(b);
    case JSON_REAL:
        /* 0.0 is not -0.0 here. */
        // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
        return memcmp(&left, &right, sizeof left) == 0;
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
        return true;
    }
    return false;
}
