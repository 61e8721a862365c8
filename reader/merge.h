/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging layers into the effective document. Pure: leaves and locks in, a value out.
 *
 *     defaults < user < workspace < system
 *
 * Before merging, each layer's leaves are sifted:
 *  - a lock binds other layers: in system all, in defaults user and workspace, in user the workspace. What a bound
 *    layer holds at or below a locked key counts for nothing, for every merge kind;
 *  - of the workspace, operator-only keys are dropped, tools.sandbox too once an operator's layer sets a policy, and
 *    tighten-only keys unless they say the narrow value or nothing new.
 * Then layers are merged from the lowest up, each key as the schema says. In the end each locked subtree is set to what
 * the layers that the lock does not bind give alone, so that a bound layer cannot reach into it by replacing something
 * that holds it.
 */
#ifndef READER_MERGE_H
#define READER_MERGE_H

#include "qsettings/settings.h"
#include "schema/schema.h"
#include "text/doc.h"

struct merge_layer {
    const struct leaf *items; /* sorted; borrowed */
    size_t count;
    const struct leaf *locks; /* by their keys; borrowed. None in a workspace */
    size_t lock_count;
};

struct merge_input {
    struct merge_layer layers[QS_LAYER_COUNT];
};

enum merge_verdict {
    MERGE_COUNTS,
    MERGE_LOCKED,   /* bound by a lock of another layer */
    MERGE_OPERATOR, /* the workspace's, operator-only */
    MERGE_TIGHTEN,  /* the workspace's, and would widen */
};

/* Does this leaf of this layer count? *ret_binding (may be NULL) gets the layer that holds the lock. */
enum merge_verdict merge_verdict(const struct merge_input *input, enum qs_layer layer, const struct leaf *leaf,
                                 enum qs_layer *ret_binding);

/* Does the layer hold a lock on the key or on something above it? */
bool merge_locked_by(const struct merge_layer *layer, const void *key, size_t len);

/* The effective document; a new reference. With only (NULL: all) it is right at and below this key, and may lack the
 * rest: a large document need not be built for one get. Errors: QS_INVALID, QS_IO. */
enum qs_status merge_document(const struct merge_input *input, const struct qs_key *only, json_t **ret_value,
                              struct qs_error *err) QS_MUST_USE;

/* The leaves of a layer at and below the prefix (the root: all) are [*ret_first, *ret_end). */
void merge_range(const struct merge_layer *layer, const void *prefix, size_t len, size_t *ret_first, size_t *ret_end);

/* Two values of the node at key merged, high over low; a new reference, NULL without memory. */
json_t *merge_values(const struct qs_key *key, const json_t *low, const json_t *high);

/* The schema's way of merging at a key: that of its entry, or of the one above that replaces as a whole or shallowly.
 */
enum schema_merge merge_kind(const void *key, size_t len);

/* The member at a key of a document, or NULL. Borrowed. */
const json_t *merge_at(const json_t *document, const struct qs_key *key);

#endif
