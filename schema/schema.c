/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema table, and the tree of segments that finds an entry for a key. The tree lies in static memory and is built
 * once, so that looking up never fails and never allocates.
 */
#include "schema/schema_defaults.h"
#include "schema/schema_internal.h"

#include "text/key_path.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define X(path_, type_, allowed_, default_, merge_, restriction_, flags_, description_) \
    {.path = (path_), \
     .type = SCHEMA_##type_, \
     .allowed = (allowed_), \
     .default_json = (default_), \
     .merge = SCHEMA_##merge_, \
     .restriction = SCHEMA_##restriction_, \
     .flags = (flags_), \
     .description = (description_)},
static const struct schema_entry table[] = {
#include "schema/schema_table.h"
};
#undef X

#define TABLE_COUNT (sizeof table / sizeof table[0])
_Static_assert(TABLE_COUNT <= SCHEMA_MAX_ENTRIES, "raise SCHEMA_MAX_ENTRIES");

static struct schema_node nodes[SCHEMA_MAX_NODES];
static size_t node_count;
static pthread_once_t nodes_once = PTHREAD_ONCE_INIT;

const struct schema_entry *schema_table(size_t *ret_count)
{
    if (ret_count)
        *ret_count = TABLE_COUNT;
    return table;
}

static uint16_t node_add(uint16_t parent, const char *segment, size_t len)
{
    uint16_t *link = &nodes[parent].child;
    for (; *link; link = &nodes[*link].sibling) {
        if (nodes[*link].len == len && memcmp(nodes[*link].segment, segment, len) == 0)
            return *link;
    }
    if (node_count == SCHEMA_MAX_NODES)
        return 0;
    uint16_t at = (uint16_t)node_count++;
    nodes[at] = (struct schema_node){
        .segment = segment, .len = (uint16_t)len, .wild = segment[0] == '<', .entry = -1, .parent = parent};
    *link = at;
    return at;
}

static void nodes_build(void)
{
    nodes[0] = (struct schema_node){.segment = "", .entry = -1};
    node_count = 1;
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        uint16_t at = 0;
        for (const char *segment = table[i].path; *segment;) {
            size_t len = strcspn(segment, ".");
            at = node_add(at, segment, len);
            segment += len + (segment[len] == '.');
        }
        nodes[at].entry = (int16_t)i;
    }
    nodes[0].entry = -1;
}

const struct schema_node *schema_nodes(size_t *ret_count)
{
    (void)pthread_once(&nodes_once, nodes_build);
    if (ret_count)
        *ret_count = node_count;
    return nodes;
}

const struct schema_entry *schema_node_entry(const struct schema_node *node)
{
    return node->entry < 0 ? NULL : &table[node->entry];
}

bool schema_node_is_object(const struct schema_node *node)
{
    const struct schema_entry *entry = schema_node_entry(node);
    return !entry || entry->type == SCHEMA_OBJECT || entry->type == SCHEMA_CLOSED || entry->type == SCHEMA_STRING_MAP ||
           entry->type == SCHEMA_ENVIRONMENT;
}

/* The child for a segment, its own before the wild one; NULL: none. */
static const struct schema_node *child_of(const struct schema_node *node, const void *segment, size_t len)
{
    const struct schema_node *wild = NULL;
    for (uint16_t at = node->child; at; at = nodes[at].sibling) {
        if (nodes[at].wild)
            wild = &nodes[at];
        else if (nodes[at].len == len && memcmp(nodes[at].segment, segment, len) == 0)
            return &nodes[at];
    }
    return wild;
}

struct schema_walk schema_walk(const void *key, size_t len)
{
    struct schema_walk walk = {.node = schema_nodes(NULL)};
    struct qs_bytes segment;
    size_t at = 0;
    while (key_next_segment(key, len, &at, &segment)) {
        const struct schema_node *child = child_of(walk.node, segment.data, segment.len);
        if (!child)
            return walk;
        walk.node = child;
        walk.matched = (size_t)((const char *)segment.data - (const char *)key) + segment.len;
        const struct schema_entry *entry = schema_node_entry(child);
        if (entry) {
            walk.entry = entry;
            walk.flags |= entry->flags;
        }
    }
    walk.complete = true;
    return walk;
}

const struct schema_entry *schema_find_bytes(const void *key, size_t len, bool *ret_exact)
{
    struct schema_walk walk = schema_walk(key, len);
    if (ret_exact)
        *ret_exact = walk.complete && walk.entry && schema_node_entry(walk.node) == walk.entry;
    return walk.entry;
}

const struct schema_entry *schema_find(const struct qs_key *key, bool *ret_exact)
{
    return schema_find_bytes(key->bytes, key->len, ret_exact);
}

static bool secret_below(const struct schema_node *node)
{
    const struct schema_entry *entry = schema_node_entry(node);
    if (entry && entry->flags & SCHEMA_SECRET)
        return true;
    for (uint16_t at = node->child; at; at = nodes[at].sibling) {
        if (secret_below(&nodes[at]))
            return true;
    }
    return false;
}

bool schema_secret(const void *key, size_t len)
{
    struct schema_walk walk = schema_walk(key, len);
    return (walk.flags & SCHEMA_SECRET) != 0 || (walk.complete && secret_below(walk.node));
}

const char *schema_type_text(const struct schema_entry *entry)
{
    switch (entry->type) {
    case SCHEMA_BOOL:
        return "boolean";
    case SCHEMA_INTEGER:
        return "integer";
    case SCHEMA_COUNT:
        return "integer from 0 up";
    case SCHEMA_STRING:
        return "string";
    case SCHEMA_ENUM:
        return entry->allowed;
    case SCHEMA_BOOL_OR_STRING:
        return "boolean or string";
    case SCHEMA_STRINGS:
        return "array of strings";
    case SCHEMA_PATHS:
        return "array of paths, absolute or beginning with ~/";
    case SCHEMA_RELATIVE_PATHS:
        return "array of relative paths";
    case SCHEMA_GLOBS:
        return "array of names and globs of environment variables";
    case SCHEMA_STRING_MAP:
        return "object of strings";
    case SCHEMA_ENVIRONMENT:
        return "object of strings by environment name";
    case SCHEMA_MATCHERS:
        return "array of {matcher, sequential, hooks[]}";
    case SCHEMA_OBJECT:
        return "object";
    case SCHEMA_CLOSED:
        return "closed object";
    }
    return "";
}

const char *schema_merge_name(enum schema_merge merge)
{
    switch (merge) {
    case SCHEMA_DEEP:
        return "deep";
    case SCHEMA_UNION:
        return "union";
    case SCHEMA_CONCAT:
        return "concat";
    case SCHEMA_SHALLOW:
        return "shallow";
    case SCHEMA_REPLACE:
        return "replace";
    }
    return "";
}

const char *schema_restriction_text(enum schema_restriction restriction)
{
    switch (restriction) {
    case SCHEMA_ANYONE:
        return "";
    case SCHEMA_OPERATOR:
        return "operator";
    case SCHEMA_OPERATOR_WITH_POLICY:
        return "operator once a policy exists";
    case SCHEMA_TIGHTEN_TRUE:
    case SCHEMA_TIGHTEN_FALSE:
        return "tighten";
    }
    return "";
}

bool schema_allowed_at(const struct schema_entry *entry, size_t index, char *text, size_t size)
{
    const char *allowed = entry->allowed;
    if (entry->type == SCHEMA_BOOL || entry->type == SCHEMA_BOOL_OR_STRING)
        allowed = "true|false";
    for (; allowed && index > 0; index--) {
        allowed = strchr(allowed, '|');
        allowed = allowed ? allowed + 1 : NULL;
    }
    if (!allowed)
        return false;
    (void)snprintf(text, size, "%.*s", (int)strcspn(allowed, "|"), allowed);
    return true;
}

unsigned schema_flags_of(enum qs_scope scope)
{
    return scope == QS_SCOPE_USER ? 0 : SCHEMA_NO_SECRETS;
}
