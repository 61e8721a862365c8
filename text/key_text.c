/* SPDX-License-Identifier: Apache-2.0 */
/* Key grammar: the dotted spelling, the JSON Pointer, and back to the dotted spelling. */
#include "base/error.h"
#include "base/utf8.h"
#include "text/key_path.h"

#include <stdio.h>
#include <string.h>

/* What has been read of a text and what has been made of it. */
struct key_parser {
    const char *text, *at;
    struct qs_key *key;
    size_t segments, segment_start;
    struct qs_error *err;
};

static enum qs_status key_fault(struct key_parser *parser, const char *at, const char *message)
{
    error_set(parser->err, QS_INVALID, "%s", message);
    error_add_place(parser->err, 1, (unsigned)(at - parser->text) + 1);
    return QS_INVALID;
}

static enum qs_status add_bytes(struct key_parser *parser, const char *bytes, size_t len)
{
    if (parser->key->len + len > QS_KEY_MAX_BYTES) {
        error_set(parser->err, QS_INVALID, "a key is longer than %u bytes", QS_KEY_MAX_BYTES);
        error_add_place(parser->err, 1, (unsigned)(parser->at - parser->text) + 1);
        return QS_INVALID;
    }
    memcpy(parser->key->bytes + parser->key->len, bytes, len);
    parser->key->len += len;
    return QS_OK;
}

static enum qs_status begin_segment(struct key_parser *parser)
{
    if (parser->segments == QS_KEY_MAX_SEGMENTS) {
        error_set(parser->err, QS_INVALID, "a key has more than %u segments", QS_KEY_MAX_SEGMENTS);
        error_add_place(parser->err, 1, (unsigned)(parser->at - parser->text) + 1);
        return QS_INVALID;
    }
    if (parser->segments++ > 0 && add_bytes(parser, "", 1) != QS_OK)
        return QS_INVALID;
    parser->segment_start = parser->key->len;
    return QS_OK;
}

static enum qs_status end_segment(struct key_parser *parser)
{
    if (parser->key->len == parser->segment_start)
        return key_fault(parser, parser->at, "a segment of the key is empty");
    return QS_OK;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* \uXXXX or \UXXXXXXXX: parser->at is at the first digit. */
static enum qs_status add_code_point(struct key_parser *parser, unsigned digits)
{
    const char *escape = parser->at - 2;
    uint32_t code = 0;
    for (unsigned i = 0; i < digits; i++) {
        int v = hex_value(parser->at[i]);
        if (v < 0)
            return key_fault(parser, escape, "an escape in the key lacks hexadecimal digits");
        code = code << 4 | (uint32_t)v;
    }
    char bytes[4];
    size_t len = utf8_put(code, bytes);
    if (!code || !len)
        return key_fault(parser, escape, "an escape in the key does not name an allowed character");
    if (add_bytes(parser, bytes, len) != QS_OK)
        return QS_INVALID;
    parser->at += digits;
    return QS_OK;
}

static enum qs_status add_escape(struct key_parser *parser)
{
    static const char names[] = "btnfr\"\\";
    static const char values[] = "\b\t\n\f\r\"\\";
    const char *escape = parser->at++;
    char name = *parser->at;
    if (name == 'u' || name == 'U') {
        parser->at++;
        return add_code_point(parser, name == 'u' ? 4 : 8);
    }
    const char *found = name ? strchr(names, name) : NULL;
    if (!found)
        return key_fault(parser, escape,
                         "an unknown escape in the key; allowed: \\b \\t \\n \\f \\r \\\" \\\\ \\u \\U");
    parser->at++;
    return add_bytes(parser, &values[found - names], 1);
}

static enum qs_status parse_quoted(struct key_parser *parser)
{
    const char *open = parser->at++;
    enum qs_status status = QS_OK;
    while (*parser->at != '"') {
        if (!*parser->at)
            return key_fault(parser, open, "a quoted segment of the key is not closed");
        if ((unsigned char)*parser->at < 0x20 || *parser->at == 0x7f)
            return key_fault(parser, parser->at, "a control character in the key must be escaped");
        if (*parser->at == '\\') {
            status = add_escape(parser);
        } else {
            status = add_bytes(parser, parser->at, 1);
            parser->at++;
        }
        if (status)
            return status;
    }
    status = end_segment(parser);
    parser->at++;
    if (!status && *parser->at && *parser->at != '.')
        return key_fault(parser, parser->at, "a quoted segment of the key must be followed by a dot");
    return status;
}

static enum qs_status parse_bare(struct key_parser *parser)
{
    if (*parser->at == '\'')
        return key_fault(parser, parser->at, "a segment of the key that begins with ' must be put in double quotes");
    const char *start = parser->at;
    for (; *parser->at && *parser->at != '.'; parser->at++) {
        if (*parser->at == '"')
            return key_fault(parser, parser->at, "a bare segment of the key contains a quote");
        if ((unsigned char)*parser->at < 0x20 || *parser->at == 0x7f)
            return key_fault(parser, parser->at, "a control character in the key must be quoted and escaped");
    }
    enum qs_status status = add_bytes(parser, start, (size_t)(parser->at - start));
    return status ? status : end_segment(parser);
}

/* RFC 6901: "~1" is a slash, "~0" a tilde; all else stands for itself. parser->at is at a slash. */
static enum qs_status parse_pointer_segment(struct key_parser *parser)
{
    for (parser->at++; *parser->at && *parser->at != '/'; parser->at++) {
        char c = *parser->at;
        if (c == '~') {
            if (parser->at[1] != '0' && parser->at[1] != '1')
                return key_fault(parser, parser->at, "in a JSON Pointer ~ must be followed by 0 or 1");
            c = *++parser->at == '0' ? '~' : '/';
        }
        if (add_bytes(parser, &c, 1) != QS_OK)
            return QS_INVALID;
    }
    return end_segment(parser);
}

static enum qs_status parse_segments(struct key_parser *parser)
{
    bool pointer = *parser->at == '/';
    do {
        enum qs_status status = begin_segment(parser);
        if (!status && pointer)
            status = parse_pointer_segment(parser);
        else if (!status)
            status = *parser->at == '"' ? parse_quoted(parser) : parse_bare(parser);
        if (status)
            return status;
        if (!*parser->at)
            return QS_OK;
        if (!pointer)
            parser->at++; /* the dot */
    } while (true);
}

static bool is_plain(unsigned char c)
{
    /* a bit for each of '-', 0-9, A-Z, '_', a-z */
    static const uint64_t plain[4] = {UINT64_C(0x3ff) << 48 | UINT64_C(1) << 45,
                                      UINT64_C(0x7fffffe) | UINT64_C(1) << 31 | UINT64_C(0x7fffffe) << 32, 0, 0};
    return plain[c >> 6] >> (c & 63) & 1;
}

/* Most keys are ASCII letters, digits, '-', '_' and dots: they need no parsing. False: the parser shall look at it. */
static bool parse_plain(const char *text, struct qs_key *ret_key)
{
    uint16_t dots[QS_KEY_MAX_SEGMENTS];
    unsigned segments = 0;
    size_t at = 0;
    for (;;) {
        size_t start = at;
        while (is_plain((unsigned char)text[at]))
            at++;
        if (at == start || at > QS_KEY_MAX_BYTES || segments == QS_KEY_MAX_SEGMENTS || (text[at] && text[at] != '.'))
            return false;
        dots[segments++] = (uint16_t)at;
        if (!text[at])
            break;
        at++;
    }
    memcpy(ret_key->bytes, text, at);
    for (unsigned i = 0; i < segments; i++) /* the last is the end */
        ret_key->bytes[dots[i]] = 0;
    ret_key->len = at;
    return true;
}

enum qs_status qs_key_parse(const char *text, struct qs_key *ret_key, struct qs_error *err)
{
    if (!text || !ret_key)
        return error_misuse(err, __func__);
    if (parse_plain(text, ret_key))
        return QS_OK;
    struct qs_key key;
    key.len = 0;
    struct key_parser parser = {.text = text, .at = text, .key = &key, .err = err};
    size_t bad;
    if (!*text)
        return key_fault(&parser, text, "the key is empty");
    if (!utf8_valid(text, strlen(text), &bad))
        return key_fault(&parser, text + bad, "the key is not UTF-8");
    enum qs_status status = parse_segments(&parser);
    if (status)
        return status;
    key.bytes[key.len] = 0;
    ret_key->len = key.len;
    memcpy(ret_key->bytes, key.bytes, key.len + 1);
    return QS_OK;
}

/* Characters that would move or hide what is beside them on a terminal: controls, line separators, bidirectional
 * marks, the byte order mark. */
static bool must_escape(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x2069) || code == 0xfeff;
}

static bool needs_quotes(const unsigned char *p, const unsigned char *end, bool first)
{
    if (*p == '\'' || (first && *p == '/'))
        return true;
    while (p < end) {
        uint32_t code = 0xfffd;
        size_t step = utf8_decode(p, end, &code);
        if (code == '.' || code == '"' || code == ' ' || must_escape(code))
            return true;
        p += step ? step : 1;
    }
    return false;
}

/* Text of fixed size; what does not fit any more is left out, whole characters at a time. */
struct key_text {
    char *text;
    size_t size, len;
    bool full;
};

static void put_text(struct key_text *out, const char *bytes, size_t len)
{
    if (out->full || out->size - out->len <= len) {
        out->full = true;
        return;
    }
    memcpy(out->text + out->len, bytes, len);
    out->len += len;
}

static void put_quoted(struct key_text *out, const unsigned char *p, const unsigned char *end)
{
    put_text(out, "\"", 1);
    while (p < end) {
        uint32_t code = 0xfffd;
        size_t step = utf8_decode(p, end, &code);
        char escape[8];
        if (code == '"' || code == '\\')
            put_text(out, code == '"' ? "\\\"" : "\\\\", 2);
        else if (must_escape(code))
            put_text(out, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)code & 0xffff));
        else
            put_text(out, (const char *)p, step ? step : 1);
        p += step ? step : 1;
    }
    put_text(out, "\"", 1);
}

const char *qs_key_format(const void *bytes, size_t len, char *text, size_t size)
{
    if (!text || !size)
        return text;
    len = bytes ? len : 0;
    struct key_text out = {.text = text, .size = size};
    size_t at = 0;
    struct qs_bytes segment;
    for (bool first = true; key_next_segment(bytes, len, &at, &segment); first = false) {
        const unsigned char *start = segment.data;
        const unsigned char *end = start + segment.len;
        if (!first)
            put_text(&out, ".", 1);
        if (!segment.len || needs_quotes(start, end, first))
            put_quoted(&out, start, end);
        else
            put_text(&out, segment.data, segment.len);
    }
    text[out.len] = '\0';
    return text;
}
