/* SPDX-License-Identifier: Apache-2.0 */
/* The document that races write: writing it, and telling a complete one from a torn one. */
#include "stress/ways/test_document.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t tag_text(const struct document *document, char *tag, size_t size)
{
    return (size_t)snprintf(tag, size, "%llu.%u:", (unsigned long long)document->generation, document->writer);
}

/* The length of values changes from save to save, so that a short text written over a long one is seen. */
static const char padding[] = "................................................................................";

static size_t padding_len(const struct document *document)
{
    return (size_t)(8 + (document->generation * 37 + document->writer * 11) % (sizeof padding - 9));
}

void document_write_counters(const struct document *document, struct document_shape shape, struct buf *out)
{
    char tag[48];
    (void)tag_text(document, tag, sizeof tag);
    buf_add_char(out, '{');
    for (unsigned i = 0; i < shape.writers; i++)
        buf_printf(out, "%s\"w%u\": \"%s%llu\"", i ? ", " : "", i, tag, (unsigned long long)document->counters[i]);
    buf_add_char(out, '}');
}

void document_write_values(const struct document *document, struct document_shape shape, struct buf *out)
{
    char tag[48];
    (void)tag_text(document, tag, sizeof tag);
    int pad = (int)padding_len(document);
    buf_add_char(out, '{');
    for (unsigned i = 0; i < shape.values; i++)
        buf_printf(out, "%s\"k%03u\": \"%s%.*s\"", i ? ",\n    " : "", i, tag, pad, padding);
    buf_add_char(out, '}');
}

void document_write(const struct document *document, struct document_shape shape, struct buf *out)
{
    buf_add_str(out, "{\n  \"counters\": ");
    document_write_counters(document, shape, out);
    buf_add_str(out, ",\n  \"values\": ");
    document_write_values(document, shape, out);
    buf_add_str(out, "\n}\n");
}

static void torn(struct document_reader *reader, const char *what, const char *detail)
{
    if (!reader->reason[0])
        (void)snprintf(reader->reason, sizeof reader->reason, "%s%s%s", what, detail ? ": " : "", detail ? detail : "");
}

void document_read_begin(struct document_reader *reader, struct document_shape shape)
{
    memset(reader, 0, sizeof *reader);
    reader->shape = shape;
}

/* The first entry's tag is the document's. */
static bool take_tag(struct document_reader *reader, const char *value, size_t len)
{
    const char *colon = memchr(value, ':', len);
    if (!colon || (size_t)(colon - value) + 1 >= sizeof reader->tag)
        return false;
    size_t tag_len = (size_t)(colon - value) + 1;
    memcpy(reader->tag, value, tag_len);
    reader->tag[tag_len] = '\0';
    char *dot = NULL;
    reader->document.generation = strtoull(reader->tag, &dot, 10);
    char *end = dot;
    if (dot && *dot == '.')
        reader->document.writer = (unsigned)strtoul(dot + 1, &end, 10);
    if (!end || *end != ':' || reader->document.writer > DOCUMENT_NOBODY)
        return false;
    reader->tag_len = tag_len;
    return true;
}

static void take_counter(struct document_reader *reader, const char *name, size_t name_len, const char *value,
                         size_t value_len)
{
    char text[32];
    char number[32];
    size_t len = value_len - reader->tag_len;
    if (name_len >= sizeof text || len >= sizeof number || !len) {
        torn(reader, "not a counter", NULL);
        return;
    }
    memcpy(text, name, name_len);
    text[name_len] = '\0';
    memcpy(number, value + reader->tag_len, len);
    number[len] = '\0';
    unsigned long index = strtoul(text + 1, NULL, 10);
    if (index >= reader->shape.writers) {
        torn(reader, "a counter of nobody", text);
        return;
    }
    reader->document.counters[index] = strtoull(number, NULL, 10);
    reader->counters++;
}

void document_read_entry(struct document_reader *reader, const char *name, size_t name_len, const char *value,
                         size_t value_len)
{
    if (!reader->tag_len && !take_tag(reader, value, value_len)) {
        torn(reader, "a value without a tag", NULL);
        return;
    }
    if (value_len < reader->tag_len || memcmp(value, reader->tag, reader->tag_len) != 0) {
        char detail[96];
        (void)snprintf(detail, sizeof detail, "%s and %.*s", reader->tag, (int)(value_len < 40 ? value_len : 40),
                       value);
        torn(reader, "values of two saves", detail);
        return;
    }
    if (name_len > 1 && name[0] == 'k' && value_len - reader->tag_len != padding_len(&reader->document))
        torn(reader, "a value of another length than its save gave it", NULL);
    else if (name_len > 1 && name[0] == 'k')
        reader->values++;
    else if (name_len > 1 && name[0] == 'w')
        take_counter(reader, name, name_len, value, value_len);
    else
        torn(reader, "an entry that nobody wrote", NULL);
}

bool document_read_end(struct document_reader *reader)
{
    if (reader->values != reader->shape.values || reader->counters != reader->shape.writers) {
        char detail[96];
        (void)snprintf(detail, sizeof detail, "%zu of %u values, %zu of %u counters", reader->values,
                       reader->shape.values, reader->counters, reader->shape.writers);
        torn(reader, "a part is missing", detail);
    }
    return !reader->reason[0];
}

bool document_read(struct document_reader *reader, struct document_shape shape, const char *text, size_t len)
{
    static const char *const parts[] = {"counters", "values"};
    document_read_begin(reader, shape);
    json_error_t error;
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        char detail[160];
        (void)snprintf(detail, sizeof detail, "%zu bytes, line %d: %.100s", len, error.line, error.text);
        torn(reader, "not JSON", detail);
        return false;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *name;
        json_t *value;
        json_object_foreach(json_object_get(root, parts[i]), name, value) if (json_is_string(value))
            document_read_entry(reader, name, strlen(name), json_string_value(value), json_string_length(value));
    }
    json_decref(root);
    return document_read_end(reader);
}
