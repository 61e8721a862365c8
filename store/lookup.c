/* SPDX-License-Identifier: Apache-2.0 */
/* Looking things up in a snapshot: searches over the sorted entries, no system call. */
#include "store/lookup.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/snapshot.h"
#include "text/key_path.h"

#include <stdlib.h>
#include <string.h>

#define INDEX_LEAST_ENTRIES 64u

enum qs_scope qs_snapshot_scope(const struct qs_snapshot *snapshot)
{
    return snapshot ? snapshot->record.scope : QS_SCOPE_EFFECTIVE;
}

uint64_t qs_snapshot_generation(const struct qs_snapshot *snapshot)
{
    return snapshot ? snapshot->record.generation : 0;
}

const unsigned char *qs_snapshot_digest(const struct qs_snapshot *snapshot)
{
    return snapshot ? snapshot->record.content : NULL;
}

const unsigned char *qs_snapshot_store_id(const struct qs_snapshot *snapshot)
{
    return snapshot ? snapshot->record.store_id : NULL;
}

int64_t qs_snapshot_time(const struct qs_snapshot *snapshot)
{
    return snapshot ? snapshot->record.time_s : 0;
}

size_t qs_snapshot_count(const struct qs_snapshot *snapshot)
{
    return snapshot ? snapshot->areas[AREA_SETTINGS].count : 0;
}

bool qs_snapshot_requires_policy(const struct qs_snapshot *snapshot)
{
    return snapshot && (snapshot->record.flags & META_RECORD_REQUIRE_POLICY) != 0;
}

unsigned qs_snapshot_retries(const struct qs_snapshot *snapshot)
{
    return snapshot ? snapshot->retries : 0;
}

/* The first index whose key is not below the given one. */
static size_t lower_bound(const struct entry_list *list, const void *key, size_t len)
{
    size_t low = 0;
    size_t count = list->count;
    while (count > 0) {
        size_t half = count / 2;
        const struct qs_bytes *at = &list->items[low + half].key;
        if (key_compare(at->data, at->len, key, len) < 0) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}

size_t snapshot_find(const struct entry_list *list, const void *key, size_t len)
{
    size_t at = lower_bound(list, key, len);
    if (at < list->count && list->items[at].key.len == len && memcmp(list->items[at].key.data, key, len) == 0)
        return at;
    return SIZE_MAX;
}

void snapshot_range(const struct entry_list *list, const struct qs_key *prefix, size_t *ret_first, size_t *ret_end)
{
    if (!prefix || prefix->len == 0) {
        *ret_first = 0;
        *ret_end = list->count;
        return;
    }
    /* prefix itself, then prefix \0 ..., up to prefix \1; between the first two nothing can stand, for no key's byte
     * sorts before the zero. */
    unsigned char next[QS_KEY_MAX_BYTES + 1];
    memcpy(next, prefix->bytes, prefix->len);
    next[prefix->len] = 1;
    size_t first = lower_bound(list, prefix->bytes, prefix->len);
    *ret_first = first;
    *ret_end = lower_bound(list, next, prefix->len + 1);
}

/* The index, made once a snapshot of some size was asked an eighth as often as it has entries; NULL: there is none
 * (yet). Threads that ask at the same time may both make one; the first to put it in place wins. */
static const struct key_index *index_of(const struct qs_snapshot *snapshot)
{
    struct qs_snapshot *s = (struct qs_snapshot *)snapshot; /* what it caches is no part of its content */
    struct key_index *index = atomic_load_explicit(&s->index, memory_order_acquire);
    const struct entry_list *list = &s->areas[AREA_SETTINGS];
    if (index || list->count < INDEX_LEAST_ENTRIES)
        return index;
    /* Not one atomic step: a few questions of other threads that go uncounted do no harm. */
    unsigned asked = atomic_load_explicit(&s->asked, memory_order_relaxed) + 1;
    bool enough = asked > list->count / 8;
    atomic_store_explicit(&s->asked, enough ? 0 : asked, memory_order_relaxed);
    if (!enough)
        return NULL;
    struct key_index *made = index_make(list);
    if (!made ||
        atomic_compare_exchange_strong_explicit(&s->index, &index, made, memory_order_acq_rel, memory_order_acquire))
        return made;
    free(made);
    return index;
}

enum qs_status qs_snapshot_get_key(const struct qs_snapshot *snapshot, const struct qs_key *key,
                                   struct qs_bytes *ret_value)
{
    if (!snapshot || !key || key->len > QS_KEY_MAX_BYTES || !ret_value)
        return QS_USAGE;
    const struct entry_list *list = &snapshot->areas[AREA_SETTINGS];
    const struct key_index *index = index_of(snapshot);
    size_t at = index ? index_find(index, list, key->bytes, key->len) : snapshot_find(list, key->bytes, key->len);
    if (at == SIZE_MAX)
        return QS_NOT_FOUND;
    *ret_value = list->items[at].value;
    return QS_OK;
}

enum qs_status qs_snapshot_get(const struct qs_snapshot *snapshot, const char *key, struct qs_bytes *ret_value,
                               struct qs_error *err)
{
    struct qs_key parsed;
    if (!snapshot || !key || !ret_value)
        return error_misuse(err, __func__);
    enum qs_status status = qs_key_parse(key, &parsed, err);
    if (status)
        return status;
    status = qs_snapshot_get_key(snapshot, &parsed, ret_value);
    if (status == QS_NOT_FOUND) {
        error_set(err, QS_NOT_FOUND, "there is no such setting in scope %s", qs_scope_name(snapshot->record.scope));
        error_add_path(err, key);
    }
    return status;
}

enum qs_status qs_snapshot_json(const struct qs_snapshot *snapshot, const char *key, char **ret_text, size_t *ret_len,
                                struct qs_error *err)
{
    struct qs_key parsed = {0};
    if (!snapshot || !ret_text)
        return error_misuse(err, __func__);
    const struct entry_list *list = &snapshot->areas[AREA_SETTINGS];
    enum qs_status status = key ? qs_key_parse(key, &parsed, err) : QS_OK;
    if (status)
        return status;
    size_t first = 0;
    size_t end = 0;
    snapshot_range(list, &parsed, &first, &end);
    if (first == end && key) {
        error_set(err, QS_NOT_FOUND, "there is no such setting in scope %s", qs_scope_name(snapshot->record.scope));
        error_add_path(err, key);
        return QS_NOT_FOUND;
    }
    AUTO(value_release) json_t *value = NULL;
    status = unflatten_leaves(list->items + first, end - first, &parsed, &value, err);
    return status ? status : value_encode_text(value, ret_text, ret_len, err);
}

struct qs_iter qs_snapshot_iter(const struct qs_snapshot *snapshot, const struct qs_key *prefix)
{
    struct qs_iter iter = {.snapshot = snapshot};
    if (snapshot && (!prefix || prefix->len <= QS_KEY_MAX_BYTES))
        snapshot_range(&snapshot->areas[AREA_SETTINGS], prefix, &iter.at, &iter.end);
    return iter;
}

bool qs_iter_next(struct qs_iter *iter, struct qs_bytes *ret_key, struct qs_bytes *ret_value)
{
    if (!iter || !ret_key || !ret_value || iter->at >= iter->end)
        return false;
    const struct leaf *leaf = &iter->snapshot->areas[AREA_SETTINGS].items[iter->at++];
    *ret_key = leaf->key;
    *ret_value = leaf->value;
    return true;
}

size_t qs_snapshot_lock_count(const struct qs_snapshot *snapshot)
{
    return snapshot ? snapshot->areas[AREA_LOCKS].count : 0;
}

struct qs_bytes qs_snapshot_lock_at(const struct qs_snapshot *snapshot, size_t index)
{
    const struct qs_bytes none = {NULL, 0};
    return index < qs_snapshot_lock_count(snapshot) ? snapshot->areas[AREA_LOCKS].items[index].key : none;
}

size_t snapshot_target_count(const struct qs_snapshot *snapshot)
{
    return snapshot->areas[AREA_TARGETS].count;
}

void snapshot_target_at(const struct qs_snapshot *snapshot, size_t index, struct qs_bytes *ret_key,
                        struct qs_bytes *ret_value)
{
    *ret_key = snapshot->areas[AREA_TARGETS].items[index].key;
    *ret_value = snapshot->areas[AREA_TARGETS].items[index].value;
}

/* ---- the index of a large snapshot ---- */

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
