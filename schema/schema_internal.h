/* SPDX-License-Identifier: Apache-2.0 */
/* The schema's own insides: the table as a tree of segments, and the checks of single values. */
#ifndef SCHEMA_INTERNAL_H
#define SCHEMA_INTERNAL_H

#include "schema/schema.h"

/* Bounds of the tree; a test checks that the table fits. */
#define SCHEMA_MAX_NODES   512
#define SCHEMA_MAX_ENTRIES 256

/* A node is one segment; node 0 is the root. Links are indices, 0 for none (the root is nobody's child). */
struct schema_node {
    const char *segment; /* within an entry's path; not terminated */
    uint16_t len;
    bool wild;        /* <name>: any segment */
    int16_t entry;    /* index into the table, -1: only an object on the way to others */
    uint16_t child;   /* first child */
    uint16_t sibling; /* next child of the same parent */
    uint16_t parent;
};

const struct schema_node *schema_nodes(size_t *ret_count);
const struct schema_entry *schema_node_entry(const struct schema_node *node); /* NULL where it has none */

/* Does the node take children that the table does not know? (open objects and what the table does not describe) */
bool schema_node_is_object(const struct schema_node *node);

/* How far a key leads into the tree. */
struct schema_walk {
    const struct schema_node *node;   /* the deepest node reached */
    const struct schema_entry *entry; /* the deepest entry on the way, NULL: none */
    unsigned flags;                   /* of all entries on the way */
    size_t matched;                   /* bytes of the key that lead to node, without a final zero byte */
    bool complete;                    /* the whole key was matched */
};
struct schema_walk schema_walk(const void *key, size_t len);

/* One value, as canonical text, against an entry. key is for messages. *ret_element gets the index of the array element
 * that is at fault, if it is one. */
enum qs_status schema_judge(const struct schema_entry *entry, unsigned flags, const struct qs_bytes *key,
                            const struct qs_bytes *value, size_t *ret_element, struct qs_error *err);

/* "string", "object", ... by the first byte of canonical text, with its article: "a string". */
const char *schema_found_text(const struct qs_bytes *value);

#endif
