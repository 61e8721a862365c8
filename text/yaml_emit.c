/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value to YAML through libyaml's emitter: block style, one entry per line, strings plain where nobody could take
 * them for anything else and otherwise in double quotes, whose escapes can say all of Unicode. Lines are never folded.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "text/doc.h"
#include "text/sorted_members.h"
#include "text/yaml.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <yaml.h>

struct writer {
    yaml_emitter_t emitter;
    struct buf *out;
    struct buf number;
    unsigned depth;
    struct qs_error *err;
};

static int write_out(void *data, unsigned char *bytes, size_t len)
{
    struct buf *out = data;
    buf_add(out, bytes, len);
    return !out->failed;
}

/* ready: the event could be made. The emitter takes the event, also where it fails. */
static enum qs_status emit(struct writer *writer, int ready, yaml_event_t *event)
{
    if (ready && yaml_emitter_emit(&writer->emitter, event))
        return QS_OK;
    return error_memory(writer->err);
}

static enum qs_status emit_text(struct writer *writer, const char *text, size_t len, yaml_scalar_style_t style)
{
    yaml_event_t event;
    if (len > INT32_MAX)
        return error_set(writer->err, QS_INVALID, "a string is too long for YAML");
    int ready = yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)len, 1, 1, style);
    return emit(writer, ready, &event);
}

static enum qs_status emit_string(struct writer *writer, const char *text, size_t len)
{
    bool plain = yamltext_is_plain_string(text, len);
    return emit_text(writer, text, len, plain ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
}

/* Numbers, booleans and null are spelled as in canonical JSON, which the core schema reads as the same. */
static enum qs_status emit_other(struct writer *writer, const json_t *value)
{
    buf_clear(&writer->number);
    enum qs_status status = value_encode(value, &writer->number, writer->err);
    if (status)
        return status;
    return emit_text(writer, writer->number.data, writer->number.len, YAML_PLAIN_SCALAR_STYLE);
}

static enum qs_status emit_value(struct writer *writer, const json_t *value);

static enum qs_status emit_array(struct writer *writer, const json_t *value)
{
    yaml_event_t event;
    enum qs_status status =
        emit(writer, yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE), &event);
    for (size_t i = 0; !status && i < json_array_size(value); i++)
        status = emit_value(writer, json_array_get(value, i));
    if (status)
        return status;
    return emit(writer, yaml_sequence_end_event_initialize(&event), &event);
}

static enum qs_status emit_object(struct writer *writer, const json_t *value)
{
    yaml_event_t event;
    AUTO(sorted_members_release) struct sorted_members members;
    enum qs_status status = sorted_members_init(&members, value, writer->err);
    if (status)
        return status;
    status = emit(writer, yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE), &event);
    for (size_t i = 0; !status && i < members.count; i++) {
        status = emit_string(writer, members.items[i].key, members.items[i].key_len);
        if (!status)
            status = emit_value(writer, members.items[i].value);
    }
    if (status)
        return status;
    return emit(writer, yaml_mapping_end_event_initialize(&event), &event);
}

static enum qs_status emit_value(struct writer *writer, const json_t *value)
{
    if (json_is_string(value))
        return emit_string(writer, json_string_value(value), json_string_length(value));
    if (!json_is_object(value) && !json_is_array(value))
        return emit_other(writer, value);
    if (writer->depth == QS_DOCUMENT_MAX_DEPTH)
        return error_set(writer->err, QS_INVALID, "a value is nested deeper than %u levels", QS_DOCUMENT_MAX_DEPTH);
    writer->depth++;
    enum qs_status status = json_is_object(value) ? emit_object(writer, value) : emit_array(writer, value);
    writer->depth--;
    return status;
}

static enum qs_status emit_document(struct writer *writer, const json_t *value)
{
    yaml_event_t event;
    enum qs_status status = emit(writer, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING), &event);
    if (!status)
        status = emit(writer, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1), &event);
    if (!status)
        status = emit_value(writer, value);
    if (!status)
        status = emit(writer, yaml_document_end_event_initialize(&event, 1), &event);
    if (!status)
        status = emit(writer, yaml_stream_end_event_initialize(&event), &event);
    return status;
}

enum qs_status value_encode_yaml(const json_t *value, struct buf *out, struct qs_error *err)
{
    struct writer writer = {.out = out, .err = err};
    if (!yaml_emitter_initialize(&writer.emitter))
        return error_memory(err);
    yaml_emitter_set_output(&writer.emitter, write_out, out);
    yaml_emitter_set_unicode(&writer.emitter, 1);
    yaml_emitter_set_indent(&writer.emitter, 2);
    yaml_emitter_set_width(&writer.emitter, -1);
    enum qs_status status = emit_document(&writer, value);
    yaml_emitter_delete(&writer.emitter);
    buf_release(&writer.number);
    if (!status && out->failed)
        return error_memory(err);
    return status;
}
