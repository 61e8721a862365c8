/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json_span.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

struct scan {
    const char *start, *at, *end;
    unsigned depth, max_depth;
    struct qs_error *err;
};

static enum qs_status fault(const struct scan *scan, const char *what)
{
    enum qs_status status = error_set(scan->err, QS_INVALID, "%s", what);
    size_t column = (size_t)(scan->at - scan->start) + 1;
    error_add_place(scan->err, 1, column > UINT32_MAX ? UINT32_MAX : (unsigned)column);
    return status;
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
        at++;
    return at;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- characters of a string ---- */

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static bool take_hex4(const char **at, const char *end, uint32_t *ret_unit)
{
    uint32_t unit = 0;
    if (end - *at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(*(*at)++);
        if (digit < 0)
            return false;
        unit = unit << 4 | (uint32_t)digit;
    }
    *ret_unit = unit;
    return true;
}

/* Behind "\u": one code point, of a pair of surrogates if need be. */
static bool take_unicode(const char **at, const char *end, uint32_t *ret_code)
{
    uint32_t unit = 0;
    uint32_t low = 0;
    if (!take_hex4(at, end, &unit) || (unit >= 0xdc00 && unit < 0xe000))
        return false;
    if (unit >= 0xd800 && unit < 0xdc00) {
        if (end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u')
            return false;
        *at += 2;
        if (!take_hex4(at, end, &low) || low < 0xdc00 || low >= 0xe000)
            return false;
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
    *ret_code = unit;
    return true;
}

/* One character of a string's inside, escapes resolved. False: malformed. */
static bool take_character(const char **at, const char *end, uint32_t *ret_code)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    if (**at == '\\') {
        if (end - *at < 2)
            return false;
        char letter = (*at)[1];
        *at += 2;
        if (letter == 'u')
            return take_unicode(at, end, ret_code);
        const char *known = letter ? strchr(letters, letter) : NULL;
        if (!known)
            return false;
        *ret_code = (uint32_t)meanings[known - letters];
        return true;
    }
    if ((unsigned char)**at < ' ')
        return false;
    size_t len = utf8_decode((const unsigned char *)*at, (const unsigned char *)end, ret_code);
    *at += len;
    return len > 0;
}

/* ---- the check ---- */

static enum qs_status scan_string(struct scan *scan)
{
    scan->at++;
    while (scan->at < scan->end && *scan->at != '"') {
        uint32_t code;
        const char *at = scan->at;
        if (!take_character(&at, scan->end, &code))
            return fault(scan, "malformed string");
        scan->at = at;
    }
    if (scan->at == scan->end)
        return fault(scan, "the string does not end");
    scan->at++;
    return QS_OK;
}

static size_t scan_digits(struct scan *scan)
{
    const char *start = scan->at;
    while (scan->at < scan->end && is_digit(*scan->at))
        scan->at++;
    return (size_t)(scan->at - start);
}

static enum qs_status scan_number(struct scan *scan)
{
    if (*scan->at == '-')
        scan->at++;
    const char *first = scan->at;
    size_t whole = scan_digits(scan);
    if (!whole || (whole > 1 && *first == '0'))
        return fault(scan, "malformed number");
    if (scan->at < scan->end && *scan->at == '.') {
        scan->at++;
        if (!scan_digits(scan))
            return fault(scan, "malformed number");
    }
    if (scan->at < scan->end && (*scan->at | 0x20) == 'e') {
        scan->at++;
        if (scan->at < scan->end && (*scan->at == '+' || *scan->at == '-'))
            scan->at++;
        if (!scan_digits(scan))
            return fault(scan, "malformed number");
    }
    return QS_OK;
}

static enum qs_status scan_word(struct scan *scan)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i]);
        if ((size_t)(scan->end - scan->at) >= len && memcmp(scan->at, words[i], len) == 0) {
            scan->at += len;
            return QS_OK;
        }
    }
    return fault(scan, "a JSON value is expected");
}

/* Names of one object by digest, so that any number of them is compared in one sort. */
struct names {
    uint64_t *hashes;
    size_t count, cap;
};

static void names_release(struct names *names)
{
    free(names->hashes);
}

static enum qs_status add_name(struct scan *scan, struct names *names, const char *start, const char *end)
{
    struct digest digest;
    uint8_t out[QS_DIGEST_BYTES];
    digest_init(&digest);
    while (start < end) {
        uint32_t code = 0;
        if (!take_character(&start, end, &code))
            return fault(scan, "malformed string");
        digest_add(&digest, &code, sizeof code);
    }
    digest_finish(&digest, out);
    if (names->count == names->cap) {
        size_t cap = names->cap ? 2 * names->cap : 16;
        uint64_t *grown = realloc(names->hashes, cap * sizeof *grown);
        if (!grown)
            return error_memory(scan->err);
        names->hashes = grown;
        names->cap = cap;
    }
    memcpy(&names->hashes[names->count++], out, sizeof *names->hashes);
    return QS_OK;
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static enum qs_status refuse_twins(const struct scan *scan, struct names *names)
{
    if (names->count > 1)
        qsort(names->hashes, names->count, sizeof *names->hashes, compare_hashes);
    for (size_t i = 1; i < names->count; i++)
        if (names->hashes[i] == names->hashes[i - 1])
            return fault(scan, "an object has a name twice");
    return QS_OK;
}

static enum qs_status scan_value(struct scan *scan);

static enum qs_status expect(struct scan *scan, char c)
{
    scan->at = skip_space(scan->at, scan->end);
    if (scan->at == scan->end || *scan->at != c)
        return fault(scan, c == ':' ? "':' is expected" : "',' or the end of the value is expected");
    scan->at++;
    return QS_OK;
}

static enum qs_status scan_name(struct scan *scan, struct names *names)
{
    scan->at = skip_space(scan->at, scan->end);
    if (scan->at == scan->end || *scan->at != '"')
        return fault(scan, "a name in quotes is expected");
    const char *start = scan->at + 1;
    enum qs_status status = scan_string(scan);
    if (!status)
        status = add_name(scan, names, start, scan->at - 1);
    return status ? status : expect(scan, ':');
}

/* The inside of an object or array, behind its opening bracket. */
static enum qs_status scan_items(struct scan *scan, char close, struct names *names)
{
    scan->at = skip_space(scan->at, scan->end);
    if (scan->at < scan->end && *scan->at == close) {
        scan->at++;
        return QS_OK;
    }
    for (;;) {
        enum qs_status status = close == '}' ? scan_name(scan, names) : QS_OK;
        if (!status)
            status = scan_value(scan);
        if (status)
            return status;
        scan->at = skip_space(scan->at, scan->end);
        if (scan->at < scan->end && *scan->at == close) {
            scan->at++;
            return refuse_twins(scan, names);
        }
        status = expect(scan, ',');
        if (status)
            return status;
    }
}

static enum qs_status scan_container(struct scan *scan, char close)
{
    AUTO(names_release) struct names names = {0};
    if (++scan->depth > scan->max_depth)
        return fault(scan, "the value is nested too deeply");
    scan->at++;
    enum qs_status status = scan_items(scan, close, &names);
    scan->depth--;
    return status;
}

static enum qs_status scan_value(struct scan *scan)
{
    scan->at = skip_space(scan->at, scan->end);
    if (scan->at == scan->end)
        return fault(scan, "a JSON value is expected");
    switch (*scan->at) {
    case '{':
        return scan_container(scan, '}');
    case '[':
        return scan_container(scan, ']');
    case '"':
        return scan_string(scan);
    default:
        return *scan->at == '-' || is_digit(*scan->at) ? scan_number(scan) : scan_word(scan);
    }
}

enum qs_status json_span_check(const char *text, size_t len, unsigned max_depth, struct json_span *ret_value,
                               struct qs_error *err)
{
    struct scan scan = {.start = text, .at = text, .end = text + len, .max_depth = max_depth, .err = err};
    scan.at = skip_space(scan.at, scan.end);
    const char *start = scan.at;
    enum qs_status status = scan_value(&scan);
    if (status)
        return status;
    struct json_span value = {start, (size_t)(scan.at - start)};
    scan.at = skip_space(scan.at, scan.end);
    if (scan.at != scan.end)
        return fault(&scan, "something follows the value");
    *ret_value = value;
    return QS_OK;
}

/* ---- spans of a checked text ---- */

static const char *string_end(const char *at)
{
    for (at++; *at != '"'; at++)
        at += *at == '\\';
    return at + 1;
}

/* The end of the value at at, which is right JSON. */
static const char *value_end(const char *at, const char *end)
{
    unsigned depth = 0;
    do {
        if (*at == '"') {
            at = string_end(at);
            continue;
        }
        if (*at == '{' || *at == '[')
            depth++;
        else if (*at == '}' || *at == ']')
            depth--;
        else if (!depth)
            while (at + 1 < end && !strchr(",]} \t\r\n", at[1]))
                at++;
        at++;
    } while (depth && at < end);
    return at;
}

bool json_span_next(struct json_span container, struct json_span_item *item)
{
    const char *end = container.text + container.len - 1; /* the closing bracket */
    const char *at = skip_space(item->at ? item->at : container.text + 1, end);
    if (item->at && at < end)
        at = skip_space(at + 1, end); /* the comma */
    if (at >= end)
        return false;
    item->name = (struct json_span){0};
    if (*container.text == '{') {
        item->name = (struct json_span){at, (size_t)(string_end(at) - at)};
        at = skip_space(skip_space(at + item->name.len, end) + 1, end); /* the colon */
    }
    item->value = (struct json_span){at, (size_t)(value_end(at, end) - at)};
    item->at = at + item->value.len;
    return true;
}

static uint32_t folded(uint32_t code, bool any_case)
{
    return any_case && code >= 'A' && code <= 'Z' ? code - 'A' + 'a' : code;
}

static bool equals(struct json_span string, const char *text, bool any_case)
{
    if (json_span_type(string) != '"')
        return false;
    const char *at = string.text + 1;
    const char *end = string.text + string.len - 1;
    for (; at < end && *text; text++) {
        uint32_t code = 0;
        if (!take_character(&at, end, &code) || folded(code, any_case) != folded((unsigned char)*text, any_case))
            return false;
    }
    return at == end && !*text;
}

bool json_span_equals(struct json_span string, const char *text)
{
    return equals(string, text, false);
}

bool json_span_equals_any_case(struct json_span string, const char *text)
{
    return equals(string, text, true);
}

struct json_span json_span_member(struct json_span object, const char *name)
{
    struct json_span_item item = {0};
    if (json_span_type(object) != '{')
        return (struct json_span){0};
    while (json_span_next(object, &item))
        if (json_span_equals(item.name, name))
            return item.value;
    return (struct json_span){0};
}

bool json_span_string(struct json_span string, char *out, size_t size)
{
    if (json_span_type(string) != '"')
        return false;
    const char *at = string.text + 1;
    const char *end = string.text + string.len - 1;
    size_t len = 0;
    while (at < end) {
        uint32_t code = 0;
        char bytes[4];
        size_t count = take_character(&at, end, &code) && code ? utf8_put(code, bytes) : 0;
        if (!count || len + count >= size)
            return false;
        memcpy(out + len, bytes, count);
        len += count;
    }
    if (len >= size)
        return false;
    out[len] = '\0';
    return true;
}
