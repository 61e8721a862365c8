/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A change set over a sorted list: which keys get another value, which go. Pure data; owns copies of its bytes.
 *
 * Cost: putting a key costs the number of changes after it in order (a move in memory), so a document in order is
 * linear.
 */
#ifndef STORE_OVERLAY_H
#define STORE_OVERLAY_H

#include "store/meta_record.h"

#include "text/doc.h"

struct overlay_chunk;
struct overlay {
    struct leaf *items; /* sorted; value.data NULL: gone */
    size_t count, cap;
    struct overlay_chunk *chunks;
};

void overlay_release(struct overlay *overlay);

/* The key's value becomes value (data NULL: gone), whatever an earlier call said. */
enum qs_status overlay_put(struct overlay *overlay, struct qs_bytes key, struct qs_bytes value,
                           struct qs_error *err) QS_MUST_USE;

/* Index of key in items, or SIZE_MAX. */
size_t overlay_find(const struct overlay *overlay, struct qs_bytes key);

/* The value of key after the changes; data NULL: none. */
struct qs_bytes overlay_value(const struct overlay *overlay, const struct entry_list *base, struct qs_bytes key);

/* Base with the changes made, sorted. items is heap memory of the caller, the bytes are borrowed from both. */
enum qs_status overlay_merge(const struct overlay *overlay, const struct entry_list *base, struct entry_list *ret_list,
                             struct qs_error *err) QS_MUST_USE;

/* Copies a list into one that owns its bytes. */
enum qs_status overlay_copy_list(const struct entry_list *list, struct leaves *ret_leaves,
                                 struct qs_error *err) QS_MUST_USE;

#endif
