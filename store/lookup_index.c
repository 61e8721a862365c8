/* SPDX-License-Identifier: Apache-2.0 */
/* The hash index over sorted entries. */
#include "store/lookup_index.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

/* A slot holds position + 1 in its low bits, and above them a few bits of the hash, which spare most looks at a key
 * that is another one. 0 is free. */
#define POSITION_BITS 20u
#define POSITION_MASK ((UINT32_C(1) << POSITION_BITS) - 1)
#define PROBES_MAX    128u

_Static_assert(QS_SETTINGS_MAX_ENTRIES < POSITION_MASK, "a position must fit its bits");

struct key_index {
    size_t mask;
    uint32_t slots[];
};

static uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= UINT64_C(0x9e3779b97f4a7c15); /* 2^64 divided by the golden ratio: Knuth, TAOCP vol. 3, 6.4 */
    return h ^ h >> 29;
}

static uint64_t hash(const uint8_t *key, size_t len)
{
    uint64_t h = len * UINT64_C(0x9e3779b97f4a7c15);
    for (; len >= 8; key += 8, len -= 8)
        h = mix(h ^ load_u64(key)) + h;
    uint64_t rest = 0;
    for (size_t i = 0; i < len; i++)
        rest |= (uint64_t)key[i] << (8 * i);
    return mix(mix(h ^ rest) + h);
}

static uint32_t tag(uint64_t h)
{
    return (uint32_t)(h >> 32) & ~POSITION_MASK;
}

static bool put(struct key_index *index, uint64_t h, size_t position)
{
    size_t at = (size_t)h & index->mask;
    for (unsigned probes = 0; index->slots[at]; probes++) {
        if (probes == PROBES_MAX)
            return false;
        at = (at + 1) & index->mask;
    }
    index->slots[at] = tag(h) | (uint32_t)(position + 1);
    return true;
}

struct key_index *index_make(const struct entry_list *list)
{
    size_t slots = 16;
    while (slots < 2 * list->count)
        slots *= 2;
    struct key_index *index = calloc(1, sizeof *index + slots * sizeof index->slots[0]);
    if (!index)
        return NULL;
    index->mask = slots - 1;
    for (size_t i = 0; i < list->count; i++) {
        if (!put(index, hash(list->items[i].key.data, list->items[i].key.len), i)) {
            free(index);
            return NULL;
        }
    }
    return index;
}

size_t index_find(const struct key_index *index, const struct entry_list *list, const void *key, size_t len)
{
    uint64_t h = hash(key, len);
    for (size_t at = (size_t)h & index->mask; index->slots[at]; at = (at + 1) & index->mask) {
        uint32_t slot = index->slots[at];
        if (((slot ^ tag(h)) & ~POSITION_MASK) != 0)
            continue;
        size_t position = (slot & POSITION_MASK) - 1;
        const struct qs_bytes *found = &list->items[position].key;
        if (found->len == len && memcmp(found->data, key, len) == 0)
            return position;
    }
    return SIZE_MAX;
}
