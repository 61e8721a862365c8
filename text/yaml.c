/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML text to a value. libyaml reads YAML 1.1 syntax; types are those of YAML 1.2's core schema. What JSON cannot say
 * (aliases, anchors, tags, several documents, keys that are no scalars) is refused, and so is what libyaml would change
 * in silence: it takes U+0085, U+2028 and U+2029 for line breaks, which YAML 1.2 (section 5.4) no longer does.
 */
#include "text/yaml.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/utf8.h"

#include "base/clocale.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

struct reader {
    yaml_parser_t parser;
    const char *text;
    size_t len;
    struct parse_position *position;
    bool locating;
    json_t *open[QS_DOCUMENT_MAX_DEPTH]; /* the containers of the position; owned by root */
    bool key_next;                       /* the innermost container is an object and awaits a key */
    json_t *root;
    size_t seen_index, seen_offset; /* a mark's index (in characters) and its offset (in bytes), to go on from */
    bool anchored;
    size_t anchor_at;
    struct qs_error *err;
};

/* libyaml counts characters. Marks mostly grow, so the walk goes on from the last one. */
static size_t offset_of(struct reader *reader, const yaml_mark_t *mark)
{
    if (mark->index < reader->seen_index)
        reader->seen_index = reader->seen_offset = 0;
    size_t at = reader->seen_offset;
    size_t index = reader->seen_index;
    for (; index < mark->index && at < reader->len; index++)
        for (at++; at < reader->len && ((unsigned char)reader->text[at] & 0xc0) == 0x80;)
            at++;
    reader->seen_index = index;
    reader->seen_offset = at;
    return at;
}

static enum qs_status fault_at(struct reader *reader, size_t at, const char *message)
{
    unsigned line, column;
    char path[QS_ERROR_PATH_BYTES];
    error_set(reader->err, QS_INVALID, "invalid YAML: %s", message);
    parse_position_of(reader->text, at, &line, &column);
    error_add_place(reader->err, line, column);
    parse_position_path(reader->position, path, sizeof path);
    error_add_path(reader->err, path);
    return QS_INVALID;
}

static enum qs_status fault(struct reader *reader, const yaml_event_t *event, const char *message)
{
    return fault_at(reader, offset_of(reader, &event->start_mark), message);
}

static enum qs_status no_memory(struct reader *reader)
{
    return error_memory(reader->err);
}

static enum qs_status parser_fault(struct reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    char message[256];
    if (parser->error == YAML_MEMORY_ERROR)
        return no_memory(reader);
    (void)snprintf(message, sizeof message, "%s%s%s", parser->problem ? parser->problem : "not understood",
                   parser->context ? " " : "", parser->context ? parser->context : "");
    size_t at = parser->error == YAML_READER_ERROR ? parser->problem_offset : offset_of(reader, &parser->problem_mark);
    if (at < reader->len && reader->text[at] == '\t' && parser->error == YAML_SCANNER_ERROR)
        return fault_at(reader, at, "a tab is used to indent; only spaces are allowed");
    return fault_at(reader, at < reader->len ? at : reader->len, message);
}

/* Puts a value where the position says; takes the reference. */
static enum qs_status attach(struct reader *reader, json_t *value)
{
    struct parse_position *position = reader->position;
    if (!value)
        return no_memory(reader);
    if (!position->depth) {
        reader->root = value;
        return QS_OK;
    }
    const struct parse_frame *frame = &position->frames[position->depth - 1];
    json_t *container = reader->open[position->depth - 1];
    int rc = frame->object ? json_object_setn_new_nocheck(container, frame->key.data, frame->key.len, value)
                           : json_array_append_new(container, value);
    return rc == 0 ? QS_OK : no_memory(reader);
}

static void begin_value(struct reader *reader, const yaml_event_t *event)
{
    parse_position_value(reader->position, reader->locating ? offset_of(reader, &event->start_mark) : 0);
}

static void end_value(struct reader *reader)
{
    parse_position_done(reader->position);
    unsigned depth = reader->position->depth;
    reader->key_next = depth && reader->position->frames[depth - 1].object;
}

static enum qs_status on_key(struct reader *reader, const yaml_event_t *event)
{
    const char *key = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;
    parse_position_key(reader->position, key, len, reader->locating ? offset_of(reader, &event->start_mark) : 0);
    if (reader->position->failed)
        return no_memory(reader);
    if (memchr(key, 0, len))
        return fault(reader, event, "a key contains a zero byte");
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && len == 2 && memcmp(key, "<<", 2) == 0)
        return fault(reader, event, "merge keys are not allowed; put << in quotes if it is meant as a name");
    if (json_object_getn(reader->open[reader->position->depth - 1], key, len))
        return fault(reader, event, "a key occurs twice in one mapping");
    reader->key_next = false;
    return QS_OK;
}

static enum qs_status on_scalar(struct reader *reader, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    const char *reason = NULL;
    size_t len = event->data.scalar.length;
    if (event->data.scalar.tag)
        return fault(reader, event, "tags are not allowed");
    if (reader->key_next)
        return on_key(reader, event);
    begin_value(reader, event);
    if (memchr(text, 0, len))
        return fault(reader, event, "a string contains a zero byte");
    json_t *value = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? yamltext_resolve(text, len, &reason)
                                                                        : json_stringn_nocheck(text, len);
    if (!value && reason)
        return fault(reader, event, reason);
    enum qs_status status = attach(reader, value);
    end_value(reader);
    return status;
}

static enum qs_status on_open(struct reader *reader, const yaml_event_t *event, bool object)
{
    if (object ? event->data.mapping_start.tag != NULL : event->data.sequence_start.tag != NULL)
        return fault(reader, event, "tags are not allowed");
    if (reader->key_next)
        return fault(reader, event, "a key must be a scalar");
    begin_value(reader, event);
    json_t *container = object ? json_object() : json_array();
    if (container && reader->position->depth == QS_DOCUMENT_MAX_DEPTH) {
        json_decref(container);
        return fault(reader, event, "the document is nested deeper than 64 levels");
    }
    enum qs_status status = attach(reader, container);
    if (status)
        return status;
    reader->open[reader->position->depth] = container;
    (void)parse_position_open(reader->position, object);
    reader->key_next = object;
    return QS_OK;
}

static const yaml_char_t *anchor_of(const yaml_event_t *event)
{
    if (event->type == YAML_SCALAR_EVENT)
        return event->data.scalar.anchor;
    if (event->type == YAML_SEQUENCE_START_EVENT)
        return event->data.sequence_start.anchor;
    return event->type == YAML_MAPPING_START_EVENT ? event->data.mapping_start.anchor : NULL;
}

/* An anchor is harmless until an alias uses it, and the alias is the better place to show: the anchor is refused at the
 * end of the document. */
static void note_anchor(struct reader *reader, const yaml_event_t *event)
{
    if (reader->anchored || !anchor_of(event))
        return;
    reader->anchored = true;
    reader->anchor_at = offset_of(reader, &event->start_mark);
}

static enum qs_status on_event(struct reader *reader, const yaml_event_t *event)
{
    note_anchor(reader, event);
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return reader->root ? fault(reader, event, "a second document begins; only one is allowed") : QS_OK;
    case YAML_DOCUMENT_END_EVENT:
        return reader->anchored ? fault_at(reader, reader->anchor_at, "anchors are not allowed") : QS_OK;
    case YAML_ALIAS_EVENT:
        return fault(reader, event, "aliases are not allowed");
    case YAML_SCALAR_EVENT:
        return on_scalar(reader, event);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return on_open(reader, event, event->type == YAML_MAPPING_START_EVENT);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        parse_position_close(reader->position);
        end_value(reader);
        return QS_OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
        return QS_OK;
    }
    return QS_OK;
}

static bool is_target_found(const struct reader *reader)
{
    return reader->locating && reader->position->target_count &&
           reader->position->found == reader->position->target_count;
}

static enum qs_status read_events(struct reader *reader)
{
    enum qs_status status = QS_OK;
    bool ended = false;
    while (!status && !ended && !is_target_found(reader)) {
        yaml_event_t event;
        if (!yaml_parser_parse(&reader->parser, &event))
            return parser_fault(reader);
        status = on_event(reader, &event);
        ended = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    return status;
}

/* The value (NULL for an empty stream) as far as it was read. */
static enum qs_status run(struct reader *reader, json_t **ret_value)
{
    if (!yaml_parser_initialize(&reader->parser))
        return no_memory(reader);
    yaml_parser_set_encoding(&reader->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader->parser, (const unsigned char *)reader->text, reader->len);
    enum qs_status status = read_events(reader);
    yaml_parser_delete(&reader->parser);
    *ret_value = STEAL(reader->root);
    return status;
}

/* The first raw U+0085, U+2028 or U+2029. In UTF-8 no sequence of bytes lies across two characters. */
static bool find_line_separator(const char *text, size_t len, size_t *ret_at)
{
    static const char *const separators[] = {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
    size_t first = len;
    for (size_t i = 0; i < sizeof separators / sizeof *separators; i++) {
        const char *found = memmem(text, first, separators[i], strlen(separators[i]));
        if (found)
            first = (size_t)(found - text);
    }
    *ret_at = first;
    return first < len;
}

/* Without tags %TAG directives say nothing, but libyaml compares each with all before it: a megabyte of them took it
 * half a minute. So at most this many lines may begin with one. */
#define TAG_DIRECTIVES_MAX 64

static bool find_too_many_directives(const char *text, size_t len, size_t *ret_at)
{
    const char *at = text;
    const char *end = text + len;
    unsigned count = 0;
    while ((at = memmem(at, (size_t)(end - at), "%TAG", 4))) {
        if ((at == text || at[-1] == '\n' || at[-1] == '\r') && count++ == TAG_DIRECTIVES_MAX) {
            *ret_at = (size_t)(at - text);
            return true;
        }
        at += 4;
    }
    return false;
}

enum qs_status yamltext_parse(const char *text, size_t len, json_t **ret_value, struct qs_error *err)
{
    AUTO(parse_position_release) struct parse_position position;
    struct reader reader = {.text = text, .len = len, .position = &position, .err = err};
    AUTO(json_decrefp) json_t *value = NULL;
    size_t at;
    parse_position_init(&position, NULL, 0);
    if (!utf8_valid(text, len, &at))
        return fault_at(&reader, at, "the text is not UTF-8");
    if (find_line_separator(text, len, &at))
        return fault_at(&reader, at, "a raw U+0085, U+2028 or U+2029; write it as \\N, \\L or \\P in double quotes");
    if (find_too_many_directives(text, len, &at))
        return fault_at(&reader, at, "more than 64 %TAG directives");
    enum qs_status status = run(&reader, &value);
    if (status)
        return status;
    if (!value)
        return fault_at(&reader, 0, "the document is empty");
    *ret_value = STEAL(value);
    return QS_OK;
}

void yamltext_locate(const char *text, size_t len, struct parse_position *position)
{
    struct reader reader = {.text = text, .len = len, .position = position, .locating = true};
    json_t *value = NULL;
    (void)run(&reader, &value);
    json_decref(value);
}

/* ---- plain scalars: core schema, YAML 1.2.2 section 10.3.2 ---- */

static bool one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

static size_t span_digits(const char *text)
{
    return strspn(text, "0123456789");
}

static const char *skip_sign(const char *text)
{
    return *text == '-' || *text == '+' ? text + 1 : text;
}

static bool is_decimal_integer(const char *text)
{
    const char *digits = skip_sign(text);
    size_t count = span_digits(digits);
    return count && !digits[count];
}

/* 0o17 and 0xff; no sign. Returns the base, 0 where text is neither. */
static int prefixed_base(const char *text)
{
    if (text[0] != '0' || !text[1] || !text[2])
        return 0;
    if (text[1] == 'o' && !text[2 + strspn(text + 2, "01234567")])
        return 8;
    if (text[1] == 'x' && !text[2 + strspn(text + 2, "0123456789abcdefABCDEF")])
        return 16;
    return 0;
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool is_float(const char *text)
{
    text = skip_sign(text);
    size_t before = span_digits(text);
    size_t after = 0;
    text += before;
    if (*text == '.') {
        after = span_digits(++text);
        text += after;
    }
    if (!before && !after)
        return false;
    if (*text == 'e' || *text == 'E') {
        text = skip_sign(text + 1);
        size_t digits = span_digits(text);
        if (!digits)
            return false;
        text += digits;
    }
    return !*text;
}

static bool is_not_finite(const char *text)
{
    static const char *const words[] = {".inf", ".Inf", ".INF", NULL};
    static const char *const nans[] = {".nan", ".NaN", ".NAN", NULL};
    return one_of(skip_sign(text), words) || one_of(text, nans);
}

static json_t *resolve_integer(const char *digits, int base, const char **ret_fault)
{
    errno = 0;
    long long integer = strtoll(digits, NULL, base);
    if (errno == ERANGE) {
        *ret_fault = "an integer does not fit in 64 bits";
        return NULL;
    }
    return json_integer(integer);
}

static json_t *resolve_float(const char *text, const char **ret_fault)
{
    double real = strtod_l(text, NULL, clocale());
    if (!isfinite(real)) {
        *ret_fault = "a number is too large for a 64-bit real";
        return NULL;
    }
    return json_real(real);
}

json_t *yamltext_resolve(const char *text, size_t len, const char **ret_fault)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    *ret_fault = NULL;
    if (*text && !strchr("~nNtTfF+-.0123456789", *text))
        return json_stringn(text, len);
    if (one_of(text, nulls))
        return json_null();
    if (one_of(text, trues))
        return json_true();
    if (one_of(text, falses))
        return json_false();
    if (is_decimal_integer(text))
        return resolve_integer(text, 10, ret_fault);
    int base = prefixed_base(text);
    if (base)
        return resolve_integer(text + 2, base, ret_fault);
    if (is_float(text))
        return resolve_float(text, ret_fault);
    if (is_not_finite(text)) {
        *ret_fault = "an infinite number or NaN cannot be stored";
        return NULL;
    }
    return json_stringn(text, len);
}

/* YAML 1.1 readers (https://yaml.org/type/bool.html, null.html) take these for booleans and null, in some cases of
 * letters; all cases are quoted. */
static bool is_reserved_word(const char *text, size_t len)
{
    static const char *const words[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", NULL};
    for (const char *const *word = words; *word; word++)
        if (strlen(*word) == len && strncasecmp(text, *word, len) == 0)
            return true;
    return false;
}

/* Begins with a letter, '_', '/' or '$', so it is no number, date, indicator or merge key; and goes on with characters
 * that mean nothing special anywhere in a plain scalar. Anything else stands in quotes. */
bool yamltext_is_plain_string(const char *text, size_t len)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/$";
    static const char others[] = "0123456789.-+*@()~=;%^<>";
    if (!len || !text[0] || !strchr(letters, text[0]) || is_reserved_word(text, len))
        return false;
    for (size_t i = 1; i < len; i++) {
        char c = text[i];
        bool fits = c && (strchr(letters, c) || strchr(others, c));
        if (c == ' ' || c == ':') /* neither at the end nor before a space */
            fits = i + 1 < len && text[i + 1] != ' ' && text[i + 1] != ':';
        if (!fits)
            return false;
    }
    return true;
}
