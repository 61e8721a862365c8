/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text. jansson decides what is valid and makes the value; the scanner here only bounds the depth before jansson
 * recurses, and afterwards finds place and key path of what jansson refused.
 */
#include "text/json.h"

#include "base/clocale.h"
#include "base/error.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>

/* The end of a string literal whose opening quote is at at: behind its closing quote, or len where it has none. */
static size_t string_end(const char *text, size_t len, size_t at, bool *ret_closed)
{
    for (at++; at < len; at++) {
        if (text[at] == '\\')
            at++;
        else if (text[at] == '"') {
            *ret_closed = true;
            return at + 1;
        }
    }
    *ret_closed = false;
    return len;
}

static size_t comment_end(const char *text, size_t len, size_t at)
{
    if (text[at + 1] == '/') {
        const char *newline = memchr(text + at, '\n', len - at);
        return newline ? (size_t)(newline - text) : len;
    }
    const char *end = memmem(text + at + 2, len - at - 2, "*/", 2);
    return end ? (size_t)(end - text) + 2 : 0;
}

enum qs_status jsontext_blank_comments(char *text, size_t len, struct qs_error *err)
{
    bool closed;
    for (size_t at = 0; at < len;) {
        if (text[at] == '"') {
            at = string_end(text, len, at, &closed);
        } else if (text[at] == '/' && at + 1 < len && (text[at + 1] == '/' || text[at + 1] == '*')) {
            size_t end = comment_end(text, len, at);
            if (!end) {
                unsigned line, column;
                parse_position_of(text, at, &line, &column);
                error_set(err, QS_INVALID, "a comment is not closed");
                error_add_place(err, line, column);
                return QS_INVALID;
            }
            for (; at < end; at++)
                if (text[at] != '\n' && text[at] != '\r')
                    text[at] = ' ';
        } else {
            at++;
        }
    }
    return QS_OK;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t token_end(const char *text, size_t len, size_t at, bool *ret_closed)
{
    *ret_closed = true;
    if (text[at] == '"')
        return string_end(text, len, at, ret_closed);
    if (text[at] && strchr("{}[]:,", text[at]))
        return at + 1;
    while (at < len && !is_space(text[at]) && !(text[at] && strchr("{}[]:,\"", text[at])))
        at++;
    return at;
}

/* The key of a literal; one that is none (bad escapes) tells nothing. */
static void tell_key(struct parse_position *position, const char *literal, size_t len, size_t at)
{
    json_t *key = json_loadb(literal, len, JSON_DECODE_ANY, NULL);
    if (json_is_string(key))
        parse_position_key(position, json_string_value(key), json_string_length(key), at);
    json_decref(key);
}

static bool in_object(const struct parse_position *position)
{
    return position->depth && position->frames[position->depth - 1].object;
}

/* What comes into being with a token. */
static void begin_token(struct parse_position *position, const char *text, size_t at, size_t end, bool key_expected)
{
    if (key_expected && text[at] == '"')
        tell_key(position, text + at, end - at, at);
    else if (!strchr("}]:,", text[at]) || !text[at])
        parse_position_value(position, at);
}

/* What ends with a token. Returns whether the next string is a key; false in *ret_going where the text is too deep. */
static bool end_token(struct parse_position *position, char c, bool key_expected, bool *ret_going)
{
    switch (c) {
    case '{':
    case '[':
        *ret_going = parse_position_open(position, c == '{');
        return c == '{';
    case '}':
    case ']':
        parse_position_close(position);
        parse_position_done(position);
        return false;
    case ',':
        parse_position_done(position);
        return in_object(position);
    case ':':
        return false;
    default:
        if (!key_expected)
            parse_position_done(position);
        return false;
    }
}

/* jansson stopped within a string: before a control character, or behind the end of a bad escape. */
static size_t within_token(const char *text, size_t at, size_t stop)
{
    if (stop <= at + 1)
        return at;
    return (unsigned char)text[stop] < 0x20 ? stop : stop - 1;
}

size_t jsontext_walk(const char *text, size_t len, size_t stop, struct parse_position *position)
{
    bool key_expected = false;
    bool going = true;
    bool closed;
    for (size_t at = 0; at < len && going;) {
        if (is_space(text[at])) {
            at++;
            continue;
        }
        size_t end = token_end(text, len, at, &closed);
        begin_token(position, text, at, end, key_expected);
        if (!closed || end >= stop)
            return stop < end ? within_token(text, at, stop) : at;
        if (position->target_count && position->found == position->target_count)
            return at;
        key_expected = end_token(position, text[at], key_expected && text[at] == '"', &going);
        at = end;
    }
    return len;
}

void jsontext_blame(const char *text, size_t len, size_t stop, bool exact, struct qs_error *err)
{
    if (!err)
        return;
    struct parse_position position;
    parse_position_init(&position, NULL, 0);
    size_t at = jsontext_walk(text, len, stop, &position);
    unsigned line, column;
    parse_position_of(text, exact ? stop - 1 : at, &line, &column);
    error_add_place(err, line, column);
    char path[QS_ERROR_PATH_BYTES];
    parse_position_path(&position, path, sizeof path);
    error_add_path(err, path);
    parse_position_release(&position);
}

/* jansson recurses, so the bound must hold before it sees the text. Up to jansson's first fault the brackets counted
 * here are the ones it opens. */
static bool too_deep(const char *text, size_t len, size_t *ret_at)
{
    unsigned depth = 0;
    bool closed;
    for (size_t at = 0; at < len;) {
        char c = text[at];
        if (c == '"') {
            at = string_end(text, len, at, &closed);
            continue;
        }
        if ((c == '{' || c == '[') && depth++ == QS_DOCUMENT_MAX_DEPTH) {
            *ret_at = at;
            return true;
        }
        if ((c == '}' || c == ']') && depth)
            depth--;
        at++;
    }
    return false;
}

/* jansson reads numbers by the thread's locale and gives up (an assertion) on a radix of several bytes. */
static json_t *load(const char *text, size_t len, json_error_t *fault)
{
    locale_t c_locale = clocale();
    locale_t former = c_locale ? uselocale(c_locale) : (locale_t)0;
    json_t *value = json_loadb(text, len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, fault);
    if (former)
        (void)uselocale(former);
    return value;
}

static const char *fault_text(const json_error_t *fault)
{
    switch (json_error_code(fault)) {
    case json_error_duplicate_key:
        return "a key occurs twice in one object";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "\\u0000 is not allowed";
    case json_error_numeric_overflow:
        return strstr(fault->text, "real") ? "a number is too large for a 64-bit real"
                                           : "an integer does not fit in 64 bits";
    default:
        return fault->text;
    }
}

enum qs_status jsontext_parse(const char *text, size_t len, json_t **ret_value, struct qs_error *err)
{
    size_t at;
    if (!utf8_valid(text, len, &at)) {
        error_set(err, QS_INVALID, "the text is not UTF-8");
        jsontext_blame(text, len, at + 1, true, err);
        return QS_INVALID;
    }
    const char *zero = memchr(text, 0, len); /* jansson takes one behind a number for the end */
    if (zero) {
        error_set(err, QS_INVALID, "the text contains a zero byte");
        jsontext_blame(text, len, (size_t)(zero - text) + 1, true, err);
        return QS_INVALID;
    }
    if (too_deep(text, len, &at)) {
        error_set(err, QS_INVALID, "the document is nested deeper than %u levels", QS_DOCUMENT_MAX_DEPTH);
        jsontext_blame(text, len, at + 1, true, err);
        return QS_INVALID;
    }
    json_error_t fault;
    json_t *value = load(text, len, &fault);
    if (value) {
        *ret_value = value;
        return QS_OK;
    }
    if (json_error_code(&fault) == json_error_out_of_memory)
        return error_memory(err);
    error_set(err, QS_INVALID, "invalid JSON: %s", fault_text(&fault));
    bool at_end = json_error_code(&fault) == json_error_premature_end_of_input || fault.position <= 0;
    jsontext_blame(text, len, at_end ? SIZE_MAX : (size_t)fault.position, false, err);
    return QS_INVALID;
}
