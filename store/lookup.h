/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookup in a snapshot: an index over the sorted entries of a large snapshot: a hash table of positions, open
 * addressing, linear probing.
 *
 * A search in 100,000 sorted entries touches some thirty cache lines, a lookup here four. It is made only when a
 * snapshot has been asked often enough to pay for it, so a program that asks once never has it.
 */
#ifndef STORE_LOOKUP_H
#define STORE_LOOKUP_H

#include "store/meta_record.h"
#include "text/doc.h"

#include <stddef.h>
#include <stdint.h>

struct key_index;

/* NULL where there is no memory, or where the keys happen to share their hashes: searching does then. free() releases.
 */
struct key_index *index_make(const struct entry_list *list);

/* Position of the exact key, or SIZE_MAX. */
size_t index_find(const struct key_index *index, const struct entry_list *list, const void *key, size_t len);

#endif
