/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON value codec, outward: canonical text, and the same indented for people. */
#include "base/cleanup.h"
#include "base/error.h"
#include "text/sorted_members.h"
#include "text/value.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

struct encoder {
    struct buf *out;
    struct qs_error *err;
    bool pretty;
    unsigned depth; /* of open containers */
};

/* What a byte of a string becomes: 0 stands for itself, 'u' for \u00xx, else the letter after the backslash. */
static const char escape_of[256] = {
    [0] = 'u',  [1] = 'u',  [2] = 'u',  [3] = 'u',  [4] = 'u',  [5] = 'u',   [6] = 'u',     [7] = 'u',  ['\b'] = 'b',
    [9] = 't',  [10] = 'n', [11] = 'u', [12] = 'f', [13] = 'r', [14] = 'u',  [15] = 'u',    [16] = 'u', [17] = 'u',
    [18] = 'u', [19] = 'u', [20] = 'u', [21] = 'u', [22] = 'u', [23] = 'u',  [24] = 'u',    [25] = 'u', [26] = 'u',
    [27] = 'u', [28] = 'u', [29] = 'u', [30] = 'u', [31] = 'u', ['"'] = '"', ['\\'] = '\\',
};

void value_encode_string(const char *text, size_t len, struct buf *out)
{
    static const char hex[] = "0123456789abcdef";
    const char *end = text + len;
    const char *run = text;
    buf_add_char(out, '"');
    for (const char *p = text; p < end; p++) {
        unsigned char c = (unsigned char)*p;
        char escape = escape_of[c];
        if (!escape)
            continue;
        buf_add(out, run, (size_t)(p - run));
        run = p + 1;
        char bytes[6] = {'\\', escape, '0', '0', hex[c >> 4], hex[c & 15]};
        buf_add(out, bytes, escape == 'u' ? 6 : 2);
    }
    buf_add(out, run, (size_t)(end - run));
    buf_add_char(out, '"');
}

static void encode_integer(json_int_t integer, struct buf *out)
{
    char text[24];
    buf_add(out, text, (size_t)snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, integer));
}

/* A new line of a container's inside or end; nothing in canonical text. */
static void encode_break(struct encoder *encoder)
{
    if (!encoder->pretty)
        return;
    buf_add_char(encoder->out, '\n');
    for (unsigned i = 0; i < encoder->depth; i++)
        buf_add(encoder->out, "  ", 2);
}

static enum qs_status encode_any(struct encoder *encoder, const json_t *value);

static enum qs_status encode_array(struct encoder *encoder, const json_t *value)
{
    size_t count = json_array_size(value);
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_add_char(encoder->out, ',');
        encode_break(encoder);
        enum qs_status status = encode_any(encoder, json_array_get(value, i));
        if (status)
            return status;
    }
    return QS_OK;
}

static enum qs_status encode_members(struct encoder *encoder, const json_t *value)
{
    AUTO(sorted_members_release) struct sorted_members members;
    enum qs_status status = sorted_members_init(&members, value, encoder->err);
    for (size_t i = 0; !status && i < members.count; i++) {
        if (i)
            buf_add_char(encoder->out, ',');
        encode_break(encoder);
        value_encode_string(members.items[i].key, members.items[i].key_len, encoder->out);
        buf_add(encoder->out, ": ", encoder->pretty ? 2 : 1);
        status = encode_any(encoder, members.items[i].value);
    }
    return status;
}

static enum qs_status encode_container(struct encoder *encoder, const json_t *value)
{
    bool object = json_is_object(value);
    if (encoder->depth == QS_DOCUMENT_MAX_DEPTH)
        return error_set(encoder->err, QS_INVALID, "a value is nested deeper than %u levels", QS_DOCUMENT_MAX_DEPTH);
    if ((object ? json_object_size(value) : json_array_size(value)) == 0) {
        buf_add(encoder->out, object ? "{}" : "[]", 2);
        return QS_OK;
    }
    buf_add_char(encoder->out, object ? '{' : '[');
    encoder->depth++;
    enum qs_status status = object ? encode_members(encoder, value) : encode_array(encoder, value);
    encoder->depth--;
    if (status)
        return status;
    encode_break(encoder);
    buf_add_char(encoder->out, object ? '}' : ']');
    return QS_OK;
}

static enum qs_status encode_any(struct encoder *encoder, const json_t *value)
{
    if (!value)
        return error_set(encoder->err, QS_INVALID, "a value is missing");
    switch (json_typeof(value)) {
    case JSON_OBJECT:
    case JSON_ARRAY:
        return encode_container(encoder, value);
    case JSON_STRING:
        value_encode_string(json_string_value(value), json_string_length(value), encoder->out);
        return QS_OK;
    case JSON_INTEGER:
        encode_integer(json_integer_value(value), encoder->out);
        return QS_OK;
    case JSON_REAL:
        if (!isfinite(json_real_value(value)))
            return error_set(encoder->err, QS_INVALID, "a number is infinite or not a number");
        value_encode_real(json_real_value(value), encoder->out);
        return QS_OK;
    case JSON_TRUE:
        buf_add_str(encoder->out, "true");
        return QS_OK;
    case JSON_FALSE:
        buf_add_str(encoder->out, "false");
        return QS_OK;
    case JSON_NULL:
        buf_add_str(encoder->out, "null");
        return QS_OK;
    }
    return error_set(encoder->err, QS_INVALID, "a value has an unknown type");
}

static enum qs_status encode(const json_t *value, bool pretty, struct buf *out, struct qs_error *err)
{
    struct encoder encoder = {.out = out, .err = err, .pretty = pretty};
    enum qs_status status = encode_any(&encoder, value);
    if (!status && out->failed)
        return error_memory(err);
    return status;
}

enum qs_status value_encode(const json_t *value, struct buf *out, struct qs_error *err)
{
    return encode(value, false, out, err);
}

enum qs_status value_encode_text(const json_t *value, char **ret_text, size_t *ret_len, struct qs_error *err)
{
    AUTO(buf_release) struct buf out = {0};
    enum qs_status status = encode(value, false, &out, err);
    if (status)
        return status;
    char *text = buf_steal(&out, ret_len);
    if (!text)
        return error_memory(err);
    *ret_text = text;
    return QS_OK;
}

enum qs_status value_encode_pretty(const json_t *value, struct buf *out, struct qs_error *err)
{
    return encode(value, true, out, err);
}
