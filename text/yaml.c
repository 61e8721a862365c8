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

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

struct reader {
    yaml_parser_t parser;
    const char *text;
    size_t len;
    struct trail *trail;
    bool locating;
    json_t *open[QS_DOCUMENT_MAX_DEPTH]; /* the containers of the trail; owned by root */
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
    size_t at = reader->seen_offset, index = reader->seen_index;
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
    (void)error_set(reader->err, QS_INVALID, "invalid YAML: %s", message);
    text_place(reader->text, at, &line, &column);
    error_add_place(reader->err, line, column);
    trail_path(reader->trail, path, sizeof path);
    error_add_path(reader->err, path);
    return QS_INVALID;
}

static enum qs_status fault(struct reader *reader, const yaml_event_t *event, const char *message)
{
    return fault_at(reader, offset_of(reader, &event->start_mark), message);
}

static enum qs_status no_memory(struct reader *reader)
{
    return error_sys(reader->err, QS_IO, ENOMEM, "cannot parse YAML");
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
        return fault_at(reader, at, "a tab where only spaces may indent");
    return fault_at(reader, at < reader->len ? at : reader->len, message);
}

/* Puts a value where the trail says; takes the reference. */
static enum qs_status attach(struct reader *reader, json_t *value)
{
    struct trail *trail = reader->trail;
    if (!value)
        return no_memory(reader);
    if (!trail->depth) {
        reader->root = value;
        return QS_OK;
    }
    const struct trail_frame *frame = &trail->frames[trail->depth - 1];
    json_t *container = reader->open[trail->depth - 1];
    int rc = frame->object ? json_object_setn_new_nocheck(container, frame->key.data, frame->key.len, value)
                           : json_array_append_new(container, value);
    return rc == 0 ? QS_OK : no_memory(reader);
}

static void begin_value(struct reader *reader, const yaml_event_t *event)
{
    trail_value(reader->trail, reader->locating ? offset_of(reader, &event->start_mark) : 0);
}

static void end_value(struct reader *reader)
{
    trail_done(reader->trail);
    unsigned depth = reader->trail->depth;
    reader->key_next = depth && reader->trail->frames[depth - 1].object;
}

static enum qs_status on_key(struct reader *reader, const yaml_event_t *event)
{
    const char *key = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;
    trail_key(reader->trail, key, len, reader->locating ? offset_of(reader, &event->start_mark) : 0);
    if (reader->trail->failed)
        return no_memory(reader);
    if (memchr(key, 0, len))
        return fault(reader, event, "a zero byte in a key");
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && len == 2 && memcmp(key, "<<", 2) == 0)
        return fault(reader, event, "merge keys are not allowed; put << in quotes if it is meant as a name");
    if (json_object_getn(reader->open[reader->trail->depth - 1], key, len))
        return fault(reader, event, "a key stands twice in one mapping");
    reader->key_next = false;
    return QS_OK;
}

static enum qs_status on_scalar(struct reader *reader, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value, *reason = NULL;
    size_t len = event->data.scalar.length;
    if (event->data.scalar.tag)
        return fault(reader, event, "tags are not allowed");
    if (reader->key_next)
        return on_key(reader, event);
    begin_value(reader, event);
    if (memchr(text, 0, len))
        return fault(reader, event, "a zero byte in a string");
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
    if (container && reader->trail->depth == QS_DOCUMENT_MAX_DEPTH) {
        json_decref(container);
        return fault(reader, event, "nested too deep (the bound is 64)");
    }
    enum qs_status status = attach(reader, container);
    if (status != QS_OK)
        return status;
    reader->open[reader->trail->depth] = container;
    (void)trail_open(reader->trail, object);
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
        trail_close(reader->trail);
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
    return reader->locating && reader->trail->target_count && reader->trail->found == reader->trail->target_count;
}

static enum qs_status read_events(struct reader *reader)
{
    enum qs_status status = QS_OK;
    bool ended = false;
    while (status == QS_OK && !ended && !is_target_found(reader)) {
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
    const char *at = text, *end = text + len;
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
    AUTO(trail_release) struct trail trail;
    struct reader reader = {.text = text, .len = len, .trail = &trail, .err = err};
    AUTO(json_decrefp) json_t *value = NULL;
    size_t at;
    trail_init(&trail, NULL, 0);
    if (!utf8_valid(text, len, &at))
        return fault_at(&reader, at, "the text is not UTF-8");
    if (find_line_separator(text, len, &at))
        return fault_at(&reader, at, "a raw U+0085, U+2028 or U+2029; write it as \\N, \\L or \\P in double quotes");
    if (find_too_many_directives(text, len, &at))
        return fault_at(&reader, at, "more than 64 %TAG directives");
    enum qs_status status = run(&reader, &value);
    if (status != QS_OK)
        return status;
    if (!value)
        return fault_at(&reader, 0, "the document is empty");
    *ret_value = STEAL(value);
    return QS_OK;
}

void yamltext_locate(const char *text, size_t len, struct trail *trail)
{
    struct reader reader = {.text = text, .len = len, .trail = trail, .locating = true};
    json_t *value = NULL;
    (void)run(&reader, &value);
    json_decref(value);
}
