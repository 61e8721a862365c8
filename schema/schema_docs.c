/* SPDX-License-Identifier: Apache-2.0 */
/* The schema table as documents: as it is, and as a JSON Schema (draft 2020-12, json-schema.org). */
#include "base/cleanup.h"
#include "base/error.h"
#include "schema/schema_internal.h"

#include <string.h>

static json_t *default_of(const struct schema_entry *entry)
{
    return entry->default_json ? json_loads(entry->default_json, JSON_DECODE_ANY, NULL) : json_null();
}

static json_t *allowed_of(const struct schema_entry *entry)
{
    json_t *list = json_array();
    char word[64];
    for (size_t i = 0; entry->type == SCHEMA_ENUM && schema_allowed_at(entry, i, word, sizeof word); i++)
        (void)json_array_append_new(list, json_string(word));
    return list;
}

static json_t *entry_json(const struct schema_entry *entry)
{
    const char *narrow = entry->restriction == SCHEMA_TIGHTEN_TRUE    ? "true"
                         : entry->restriction == SCHEMA_TIGHTEN_FALSE ? "false"
                                                                      : "";
    return json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:s, s:b, s:b, s:b, s:s}", "path", entry->path, "type",
                     entry->type == SCHEMA_ENUM ? "string" : schema_type_text(entry), "allowed", allowed_of(entry),
                     "default", default_of(entry), "merge", schema_merge_name(entry->merge), "restriction",
                     schema_restriction_text(entry->restriction), "narrow", narrow, "secret",
                     (entry->flags & SCHEMA_SECRET) != 0, "required", (entry->flags & SCHEMA_REQUIRED) != 0, "closed",
                     entry->type == SCHEMA_CLOSED, "description", entry->description);
}

static enum qs_status add_below(json_t *keys, const struct schema_node *node, struct qs_error *err)
{
    const struct schema_node *nodes = schema_nodes(NULL);
    const struct schema_entry *entry = schema_node_entry(node);
    if (entry && json_array_append_new(keys, entry_json(entry)))
        return error_memory(err);
    for (uint16_t at = node->child; at; at = nodes[at].sibling) {
        enum qs_status status = add_below(keys, &nodes[at], err);
        if (status)
            return status;
    }
    return QS_OK;
}

enum qs_status schema_json(const struct qs_key *key, json_t **ret_value, struct qs_error *err)
{
    AUTO(value_release) json_t *keys = json_array();
    struct schema_walk walk = schema_walk(key ? key->bytes : NULL, key ? key->len : 0);
    char text[QS_KEY_TEXT_BYTES];
    enum qs_status status = QS_OK;
    if (walk.complete)
        status = add_below(keys, walk.node, err);
    else if (walk.entry && (walk.entry->type == SCHEMA_STRING_MAP || walk.entry->type == SCHEMA_ENVIRONMENT ||
                            walk.entry->type == SCHEMA_OBJECT))
        status = json_array_append_new(keys, entry_json(walk.entry)) ? error_memory(err) : QS_OK;
    else
        return error_set(err, QS_NOT_FOUND, "the schema has no key %s",
                         qs_key_format(key->bytes, key->len, text, sizeof text));
    if (status)
        return status;
    json_t *value = json_pack("{s:O}", "keys", keys);
    if (!value)
        return error_memory(err);
    *ret_value = value;
    return QS_OK;
}

/* ---- JSON Schema ---- */

static json_t *string_with(const char *pattern)
{
    return pattern ? json_pack("{s:s, s:s}", "type", "string", "pattern", pattern)
                   : json_pack("{s:s}", "type", "string");
}

static json_t *array_of(json_t *items)
{
    return json_pack("{s:s, s:o}", "type", "array", "items", items);
}

#define LITERAL_PATTERN  "^(?!.*\\$[A-Za-z_{])"
#define NO_DOTDOT        "(?!(.*/)?\\.\\.(/|$))"
#define PATH_PATTERN     LITERAL_PATTERN NO_DOTDOT "(/|~$|~/)"
#define RELATIVE_PATTERN LITERAL_PATTERN NO_DOTDOT "[^/~].*"
#define GLOB_PATTERN     "^[^=\\[\\]\\s]+$"
#define NAME_PATTERN     "^[A-Za-z_][A-Za-z0-9_]*$"

static json_t *matchers_schema(void)
{
    return array_of(json_pack("{s:s, s:{s:{s:s}, s:{s:s}, s:{s:s, s:{s:s}}}}", "type", "object", "properties",
                              "matcher", "type", "string", "sequential", "type", "boolean", "hooks", "type", "array",
                              "items", "type", "object"));
}

static json_t *type_schema(const struct schema_entry *entry)
{
    switch (entry->type) {
    case SCHEMA_BOOL:
        return json_pack("{s:s}", "type", "boolean");
    case SCHEMA_INTEGER:
        return json_pack("{s:s}", "type", "integer");
    case SCHEMA_COUNT:
        return json_pack("{s:s, s:i}", "type", "integer", "minimum", 0);
    case SCHEMA_STRING:
        return string_with(NULL);
    case SCHEMA_ENUM:
        return json_pack("{s:o}", "enum", allowed_of(entry));
    case SCHEMA_BOOL_OR_STRING:
        return json_pack("{s:[s, s], s:{s:[s, s]}}", "type", "boolean", "string", "not", "enum", "bwrap", "bubblewrap");
    case SCHEMA_STRINGS:
        return array_of(string_with(NULL));
    case SCHEMA_PATHS:
        return array_of(string_with(PATH_PATTERN));
    case SCHEMA_RELATIVE_PATHS:
        return array_of(string_with(RELATIVE_PATTERN));
    case SCHEMA_GLOBS:
        return array_of(string_with(GLOB_PATTERN));
    case SCHEMA_STRING_MAP:
        return json_pack("{s:s, s:{s:s}}", "type", "object", "additionalProperties", "type", "string");
    case SCHEMA_ENVIRONMENT:
        return json_pack("{s:s, s:{s:s}, s:o}", "type", "object", "propertyNames", "pattern", NAME_PATTERN,
                         "additionalProperties", string_with(LITERAL_PATTERN));
    case SCHEMA_MATCHERS:
        return matchers_schema();
    case SCHEMA_OBJECT:
    case SCHEMA_CLOSED:
        return json_pack("{s:s}", "type", "object");
    }
    return NULL;
}

static json_t *node_schema(const struct schema_node *node);

static int add_children(json_t *object, const struct schema_node *node)
{
    const struct schema_node *nodes = schema_nodes(NULL);
    json_t *properties = json_object();
    json_t *required = json_array();
    int failed = 0;
    for (uint16_t at = node->child; at; at = nodes[at].sibling) {
        const struct schema_entry *entry = schema_node_entry(&nodes[at]);
        json_t *child = node_schema(&nodes[at]);
        failed |= nodes[at].wild ? json_object_set_new(object, "additionalProperties", child)
                                 : json_object_setn_new(properties, nodes[at].segment, nodes[at].len, child);
        if (entry && entry->flags & SCHEMA_REQUIRED)
            failed |= json_array_append_new(required, json_stringn(nodes[at].segment, nodes[at].len));
    }
    if (json_array_size(required))
        failed |= json_object_set(object, "required", required);
    if (json_object_size(properties))
        failed |= json_object_set(object, "properties", properties);
    json_decref(properties);
    json_decref(required);
    return failed;
}

static json_t *node_schema(const struct schema_node *node)
{
    const struct schema_entry *entry = schema_node_entry(node);
    json_t *object = entry ? type_schema(entry) : json_pack("{s:s}", "type", "object");
    int failed = 0;
    if (!object)
        return NULL;
    if (entry)
        failed |= json_object_set_new(object, "description", json_string(entry->description));
    if (entry && entry->default_json)
        failed |= json_object_set_new(object, "default", default_of(entry));
    if (entry && entry->flags & SCHEMA_SECRET)
        failed |= json_object_set_new(object, "writeOnly", json_true());
    if (entry && entry->type == SCHEMA_CLOSED)
        failed |= json_object_set_new(object, "additionalProperties", json_false());
    if (node->child)
        failed |= add_children(object, node);
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

enum qs_status schema_json_schema(json_t **ret_value, struct qs_error *err)
{
    AUTO(value_release) json_t *value = node_schema(schema_nodes(NULL));
    if (!value || json_object_set_new(value, "$schema", json_string("https://json-schema.org/draft/2020-12/schema")) ||
        json_object_set_new(value, "title", json_string("qsettings")))
        return error_memory(err);
    *ret_value = STEAL(value);
    return QS_OK;
}
