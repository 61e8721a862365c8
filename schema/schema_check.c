/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging a document, leaf by leaf: where does the key lead in the table, is it a near miss of a name that is known
 * there, is the value of its type; and in the end, is each closed object complete.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "schema/schema_internal.h"
#include "text/alike.h"
#include "text/key_path.h"

#include <stdio.h>
#include <string.h>

struct check {
    const struct doc *doc;
    unsigned flags;
    struct qs_error *err;
    struct qs_bytes accepted;    /* an unknown key that was looked at and accepted: so is all below it */
    bool seen[SCHEMA_MAX_NODES]; /* nodes that the document holds something at or below */
};

static struct qs_key key_of_bytes(const void *bytes, size_t len)
{
    struct qs_key key = {.len = len <= QS_KEY_MAX_BYTES ? len : 0};
    memcpy(key.bytes, bytes, key.len);
    return key;
}

/* Reports a fault at the value (or with at_key the key) of these encoded bytes. The message is set already. */
static enum qs_status blame(const struct doc *doc, const void *bytes, size_t len, bool at_key, struct qs_error *err)
{
    char text[QS_KEY_TEXT_BYTES];
    if (!err)
        return QS_INVALID;
    error_add_path(err, qs_key_format(bytes, len, text, sizeof text));
    if (doc) {
        struct qs_key key = key_of_bytes(bytes, len);
        doc_blame(doc, &key, at_key, err);
    }
    return err->status;
}

/* The names that a node knows, for messages: "filesystem, network, backend". */
static const char *children_text(const struct schema_node *node, char *text, size_t size)
{
    const struct schema_node *nodes = schema_nodes(NULL);
    size_t len = 0;
    text[0] = '\0';
    for (uint16_t at = node->child; at && len < size; at = nodes[at].sibling)
        len +=
            (size_t)snprintf(text + len, size - len, "%s%.*s", len ? ", " : "", (int)nodes[at].len, nodes[at].segment);
    return text;
}

/* The known child that a segment may be meant for: in another spelling, or (edits > 0) with a slip or two. */
static const struct schema_node *nearest_child(const struct schema_node *node, const struct qs_bytes *segment,
                                               unsigned edits)
{
    const struct schema_node *nodes = schema_nodes(NULL);
    const struct schema_node *nearest = NULL;
    for (uint16_t at = node->child; at; at = nodes[at].sibling) {
        if (nodes[at].wild)
            continue;
        if (alike_spelt(segment->data, segment->len, nodes[at].segment, nodes[at].len))
            return &nodes[at];
        if (!edits)
            continue;
        unsigned distance = alike_distance(segment->data, segment->len, nodes[at].segment, nodes[at].len, edits);
        if (distance <= edits) {
            edits = distance;
            nearest = &nodes[at];
        }
    }
    return nearest;
}

/* The segment of key that walk could not follow; its end is *ret_end bytes into the key. */
static struct qs_bytes stray_segment(const struct leaf *leaf, const struct schema_walk *walk, size_t *ret_end)
{
    size_t at = walk->matched ? walk->matched + 1 : 0;
    struct qs_bytes segment = {.data = leaf->key.data, .len = 0};
    (void)key_next_segment(leaf->key.data, leaf->key.len, &at, &segment);
    *ret_end = (size_t)((const char *)segment.data - (const char *)leaf->key.data) + segment.len;
    return segment;
}

/* {"tools.executionSandbox": ...} where {"tools": {"executionSandbox": ...}} is meant. */
static enum qs_status refuse_flat(struct check *check, const struct leaf *leaf, const struct schema_node *node,
                                  const struct qs_bytes *segment, size_t end)
{
    const char *dot = memchr(segment->data, '.', segment->len);
    struct qs_bytes head = {.data = segment->data, .len = dot ? (size_t)(dot - (const char *)segment->data) : 0};
    const struct schema_node *child = head.len ? nearest_child(node, &head, 0) : NULL;
    if (!child || !schema_node_is_object(child))
        return QS_OK;
    error_set(check->err, QS_INVALID, "\"%.*s\" is a single flat key, which no program reads as a setting",
              (int)segment->len, (const char *)segment->data);
    error_add_advice(check->err, "did you mean {\"%.*s\": {\"%.*s\": ...}}?", (int)child->len, child->segment,
                     (int)(segment->len - head.len - 1), dot + 1);
    return blame(check->doc, leaf->key.data, end, true, check->err);
}

static enum qs_status refuse_spelling(struct check *check, const struct leaf *leaf, const struct schema_node *meant,
                                      size_t end)
{
    char text[QS_KEY_TEXT_BYTES];
    error_set(check->err, QS_INVALID, "unknown key %s: no program reads this spelling",
              qs_key_format(leaf->key.data, end, text, sizeof text));
    error_add_advice(check->err, "did you mean \"%.*s\"?", (int)meant->len, meant->segment);
    return blame(check->doc, leaf->key.data, end, true, check->err);
}

static enum qs_status refuse_field(struct check *check, const struct leaf *leaf, const struct schema_walk *walk,
                                   const struct qs_bytes *segment, size_t end)
{
    char text[QS_KEY_TEXT_BYTES];
    char names[256];
    const struct schema_node *meant = nearest_child(walk->node, segment, 2);
    error_set(check->err, QS_INVALID, "%s has no key \"%.*s\"; allowed: %s",
              qs_key_format(leaf->key.data, walk->matched, text, sizeof text), (int)segment->len,
              (const char *)segment->data, children_text(walk->node, names, sizeof names));
    if (meant)
        error_add_advice(check->err, "did you mean \"%.*s\"?", (int)meant->len, meant->segment);
    return blame(check->doc, leaf->key.data, end, true, check->err);
}

static enum qs_status refuse_not_object(struct check *check, const struct leaf *leaf, size_t len)
{
    char text[QS_KEY_TEXT_BYTES];
    error_set(check->err, QS_INVALID, "%s is %s; allowed: object",
              qs_key_format(leaf->key.data, len, text, sizeof text), schema_found_text(&leaf->value));
    return blame(check->doc, leaf->key.data, len, false, check->err);
}

/* An object (since the key goes on) at an entry that takes none. */
static enum qs_status refuse_object(struct check *check, const struct leaf *leaf, size_t len,
                                    const struct schema_entry *entry)
{
    char text[QS_KEY_TEXT_BYTES];
    error_set(check->err, QS_INVALID, "%s is an object; allowed: %s",
              qs_key_format(leaf->key.data, len, text, sizeof text), schema_type_text(entry));
    return blame(check->doc, leaf->key.data, len, false, check->err);
}

static bool environment_name(const struct qs_bytes *segment)
{
    const char *name = segment->data;
    for (size_t i = 0; i < segment->len; i++) {
        char c = name[i];
        bool letter = c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(i && c >= '0' && c <= '9'))
            return false;
    }
    return segment->len > 0;
}

/* An entry of an object of strings. */
static enum qs_status check_map_entry(struct check *check, const struct leaf *leaf, const struct schema_walk *walk,
                                      const struct qs_bytes *segment, size_t end)
{
    static const struct schema_entry string = {.path = "", .type = SCHEMA_STRING};
    char text[QS_KEY_TEXT_BYTES];
    size_t element;
    if (end < leaf->key.len)
        return refuse_object(check, leaf, end, &string);
    if (schema_node_entry(walk->node)->type == SCHEMA_ENVIRONMENT && !environment_name(segment)) {
        error_set(check->err, QS_INVALID, "%s: \"%.*s\" is not a variable name; allowed: letters, digits and _",
                  qs_key_format(leaf->key.data, walk->matched, text, sizeof text), (int)segment->len,
                  (const char *)segment->data);
        return blame(check->doc, leaf->key.data, end, true, check->err);
    }
    if (schema_judge(&string, walk->flags, &leaf->key, &leaf->value, &element, check->err))
        return blame(check->doc, leaf->key.data, end, false, check->err);
    return QS_OK;
}

/* The key leaves the table's tree at walk->node. */
static enum qs_status check_stray(struct check *check, const struct leaf *leaf, const struct schema_walk *walk)
{
    size_t end;
    struct qs_bytes segment = stray_segment(leaf, walk, &end);
    const struct schema_entry *entry = schema_node_entry(walk->node);
    if (entry && entry->type == SCHEMA_CLOSED)
        return refuse_field(check, leaf, walk, &segment, end);
    if (entry && (entry->type == SCHEMA_STRING_MAP || entry->type == SCHEMA_ENVIRONMENT))
        return check_map_entry(check, leaf, walk, &segment, end);
    if (!schema_node_is_object(walk->node))
        return refuse_object(check, leaf, walk->matched, entry);
    const struct schema_node *meant = nearest_child(walk->node, &segment, 0);
    if (meant)
        return refuse_spelling(check, leaf, meant, end);
    enum qs_status status = refuse_flat(check, leaf, walk->node, &segment, end);
    if (!status)
        check->accepted = (struct qs_bytes){leaf->key.data, end};
    return status;
}

/* The place of one element; its path in the error is that of the array. */
static void blame_element(struct check *check, const struct leaf *leaf, size_t element)
{
    char text[QS_KEY_TEXT_BYTES];
    char index[24];
    struct qs_key key = key_of_bytes(leaf->key.data, leaf->key.len);
    int len = snprintf(index, sizeof index, "%zu", element);
    error_add_path(check->err, qs_key_format(leaf->key.data, leaf->key.len, text, sizeof text));
    if (!qs_key_push(&key, index, (size_t)len, NULL))
        doc_blame(check->doc, &key, false, check->err);
}

static enum qs_status check_known(struct check *check, const struct leaf *leaf, const struct schema_walk *walk)
{
    const struct schema_entry *entry = schema_node_entry(walk->node);
    if (!entry) {
        bool object = leaf->value.len && *(const char *)leaf->value.data == '{';
        return object ? QS_OK : refuse_not_object(check, leaf, leaf->key.len);
    }
    size_t element = SIZE_MAX;
    enum qs_status status = schema_judge(entry, walk->flags, &leaf->key, &leaf->value, &element, check->err);
    if (!status)
        return QS_OK;
    if (element != SIZE_MAX && check->doc)
        blame_element(check, leaf, element);
    (void)blame(check->doc, leaf->key.data, leaf->key.len, false, check->err);
    return status;
}

static enum qs_status check_leaf(struct check *check, const struct leaf *leaf)
{
    if (check->accepted.len && key_covers(check->accepted.data, check->accepted.len, leaf->key.data, leaf->key.len))
        return QS_OK;
    const struct schema_node *nodes = schema_nodes(NULL);
    struct schema_walk walk = schema_walk(leaf->key.data, leaf->key.len);
    for (uint16_t at = (uint16_t)(walk.node - nodes); !check->seen[at]; at = nodes[at].parent)
        check->seen[at] = true;
    if (check->flags & SCHEMA_NO_SECRETS && walk.flags & SCHEMA_SECRET) {
        char text[QS_KEY_TEXT_BYTES];
        error_set(check->err, QS_INVALID, "%s is a secret, and everyone can read this scope",
                  qs_key_format(leaf->key.data, leaf->key.len, text, sizeof text));
        error_add_advice(check->err, "keep it in the user scope");
        return blame(check->doc, leaf->key.data, leaf->key.len, false, check->err);
    }
    return walk.complete ? check_known(check, leaf, &walk) : check_stray(check, leaf, &walk);
}

/* An entry's path (never with patterns here) as an encoded key. */
static size_t encode_path(const char *path, size_t len, unsigned char key[QS_KEY_MAX_BYTES])
{
    len = len < QS_KEY_MAX_BYTES ? len : QS_KEY_MAX_BYTES;
    for (size_t i = 0; i < len; i++)
        key[i] = path[i] == '.' ? '\0' : (unsigned char)path[i];
    return len;
}

static enum qs_status check_required(struct check *check)
{
    size_t count;
    const struct schema_node *nodes = schema_nodes(&count);
    for (size_t i = 1; i < count; i++) {
        const struct schema_entry *entry = schema_node_entry(&nodes[i]);
        if (!entry || !(entry->flags & SCHEMA_REQUIRED) || check->seen[i] || !check->seen[nodes[i].parent])
            continue;
        unsigned char key[QS_KEY_MAX_BYTES];
        size_t parent_len = (size_t)(nodes[i].segment - entry->path) - 1;
        error_set(check->err, QS_INVALID, "%.*s lacks the required key \"%.*s\"; allowed: %s", (int)parent_len,
                  entry->path, (int)nodes[i].len, nodes[i].segment, schema_type_text(entry));
        return blame(check->doc, key, encode_path(entry->path, parent_len, key), false, check->err);
    }
    return QS_OK;
}

enum qs_status schema_check_leaves(const struct leaf *items, size_t count, const struct doc *doc, unsigned flags,
                                   struct qs_error *err)
{
    struct qs_error scratch = {0}; /* the fault's status is read back from it, also for a caller without a record */
    struct check check = {.doc = doc, .flags = flags, .err = err ? err : &scratch, .seen = {[0] = true}};
    (void)schema_nodes(NULL);
    for (size_t i = 0; i < count; i++) {
        enum qs_status status = check_leaf(&check, &items[i]);
        if (status)
            return status;
    }
    return flags & SCHEMA_PARTIAL ? QS_OK : check_required(&check);
}

enum qs_status schema_check_document(const json_t *root, const struct doc *doc, unsigned flags, struct qs_error *err)
{
    AUTO(leaves_release) struct leaves leaves = {0};
    if (!json_is_object(root))
        return error_set(err, QS_INVALID, "the document is not an object");
    enum qs_status status = flatten_value(root, NULL, doc, &leaves, err);
    return status ? status : schema_check_leaves(leaves.items, leaves.count, doc, flags, err);
}

enum qs_status schema_check_value(const struct qs_key *key, const json_t *value, unsigned flags, struct qs_error *err)
{
    AUTO(leaves_release) struct leaves leaves = {0};
    enum qs_status status = flatten_value(value, key, NULL, &leaves, err);
    return status ? status : schema_check_leaves(leaves.items, leaves.count, NULL, flags | SCHEMA_PARTIAL, err);
}
