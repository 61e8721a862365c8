/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON as the bytes it is: a strict check, and the members of an object as spans of the text, so that a value can be
 * passed on exactly as it came (numbers keep their form). For messages between other programs; settings go through
 * text/json.h.
 */
#ifndef TEXT_JSON_SPAN_H
#define TEXT_JSON_SPAN_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct json_span {
    const char *text; /* points into the message; NULL: absent */
    size_t len;
};

/* One JSON value with white space around it, RFC 8259, in UTF-8, at most max_depth levels, no name twice in one object
 * (after its escapes are resolved), no lone surrogate. Errors: QS_INVALID with the column, QS_IO (memory). */
enum qs_status json_span_check(const char *text, size_t len, unsigned max_depth, struct json_span *ret_value,
                               struct qs_error *err) QS_MUST_USE;

/* The functions below take spans of a checked text. */
static inline char json_span_type(struct json_span span) /* '{', '[', '"', 't', 'f', 'n', or '0' for a number */
{
    char first = span.len ? *span.text : 'n';
    return first == '-' || (first >= '0' && first <= '9') ? '0' : first;
}

/* Goes through an object's members or an array's elements; begin with at NULL. name is the string as it stands, quotes
 * included, and absent in an array. */
struct json_span_item {
    const char *at; /* internal */
    struct json_span name, value;
};
bool json_span_next(struct json_span container, struct json_span_item *item);

/* The member with this name (plain ASCII, compared after escapes are resolved); absent if there is none. */
struct json_span json_span_member(struct json_span object, const char *name);

/* Is this string equal to text (ASCII), letter case counting or not? */
bool json_span_equals(struct json_span string, const char *text);
bool json_span_equals_any_case(struct json_span string, const char *text);

/* A string with its escapes resolved, into out, zero-terminated; false if it does not fit or has a zero character. */
bool json_span_string(struct json_span string, char *out, size_t size);

#endif
