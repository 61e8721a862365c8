/* SPDX-License-Identifier: Apache-2.0 */
/* The meta record's bytes, and the digest over a store's content. */
#include "store/meta_record.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "text/doc.h"

#include <string.h>

static void put_u32(uint8_t *at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(v >> (8 * i));
}

static void put_u64(uint8_t *at, uint64_t v)
{
    put_u32(at, (uint32_t)v);
    put_u32(at + 4, (uint32_t)(v >> 32));
}

void meta_record_encode(const struct meta_record *record, uint8_t out[META_RECORD_BYTES])
{
    memset(out, 0, META_RECORD_BYTES);
    memcpy(out, META_RECORD_MAGIC, META_RECORD_MAGIC_BYTES);
    put_u32(out + 8, META_RECORD_VERSION);
    put_u32(out + 12, record->flags);
    put_u32(out + 16, (uint32_t)record->scope);
    memcpy(out + 24, record->store_id, QS_STORE_ID_BYTES);
    put_u64(out + 40, record->generation);
    put_u64(out + 48, record->txn_id);
    put_u64(out + 56, (uint64_t)record->time_s);
    put_u32(out + 64, record->time_ns);
    for (int i = 0; i < AREA_COUNT; i++)
        put_u64(out + 72 + 8 * i, record->counts[i]);
    put_u64(out + 96, record->history_count);
    memcpy(out + 104, record->content, QS_DIGEST_BYTES);
    memcpy(out + 136, record->newest_history, QS_DIGEST_BYTES);
    digest_of(out, 168, out + 168);
}

/* What a later version may have put there. The hash was checked: whoever wrote it meant it. */
static enum qs_status check_known(const uint8_t *p, size_t len, struct qs_error *err)
{
    uint32_t version = load_u32(p + 8);
    uint32_t unknown;
    uint32_t scope;
    if (version > META_RECORD_VERSION)
        return error_newer(err, "the store is of format version %u; this program reads version %u", version,
                           META_RECORD_VERSION);
    if (version != META_RECORD_VERSION || len != META_RECORD_BYTES)
        return error_page(err, -1, "the meta record has %zu bytes and version %u", len, version);
    if ((unknown = load_u32(p + 12) & ~META_RECORD_FLAGS))
        return error_newer(err, "the store has a feature that this program does not know (flags %#x)", unknown);
    if (load_u32(p + 20) || load_u32(p + 68))
        return error_newer(err, "the store uses a field that this program does not know");
    if ((scope = load_u32(p + 16)) < QS_SCOPE_DEFAULTS || scope > QS_SCOPE_SYSTEM)
        return error_newer(err, "the store is of a scope that this program does not know (number %u)", scope);
    if (load_u64(p + 40) == 0 || load_u64(p + 40) > GENERATION_MAX)
        return error_page(err, -1, "the meta record names an impossible generation, %llu",
                          (unsigned long long)load_u64(p + 40));
    return QS_OK;
}

enum qs_status meta_record_decode(const void *data, size_t len, struct meta_record *ret_record, struct qs_error *err)
{
    const uint8_t *p = data;
    if (len < META_RECORD_LEAST_BYTES || len > META_RECORD_MOST_BYTES ||
        memcmp(p, META_RECORD_MAGIC, META_RECORD_MAGIC_BYTES) != 0)
        return error_page(err, -1, "the meta record is malformed (%zu bytes)", len);
    uint8_t hash[QS_DIGEST_BYTES];
    digest_of(p, len - sizeof hash, hash);
    if (memcmp(hash, p + len - sizeof hash, sizeof hash) != 0)
        return error_page(err, -1, "the meta record does not match its hash");
    enum qs_status status = check_known(p, len, err);
    if (status)
        return status;
    struct meta_record record = {
        .flags = load_u32(p + 12),
        .scope = (enum qs_scope)load_u32(p + 16),
        .generation = load_u64(p + 40),
        .txn_id = load_u64(p + 48),
        .time_s = (int64_t)load_u64(p + 56),
        .time_ns = load_u32(p + 64),
        .history_count = load_u64(p + 96),
    };
    memcpy(record.store_id, p + 24, sizeof record.store_id);
    for (int i = 0; i < AREA_COUNT; i++)
        record.counts[i] = load_u64(p + 72 + 8 * i);
    memcpy(record.content, p + 104, QS_DIGEST_BYTES);
    memcpy(record.newest_history, p + 136, QS_DIGEST_BYTES);
    *ret_record = record;
    return QS_OK;
}

static void add_entries(struct digest *digest, const struct entry_list *area, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) {
        const struct leaf *leaf = &area->items[i];
        digest_add_field(digest, leaf->key.data, leaf->key.len);
        digest_add_field(digest, leaf->value.data, leaf->value.len);
    }
}

static void add_areas_after_settings(struct digest *digest, const struct entry_list areas[AREA_COUNT])
{
    for (int area = AREA_SETTINGS + 1; area < AREA_COUNT; area++) {
        digest_add_u64(digest, areas[area].count);
        add_entries(digest, &areas[area], 0, areas[area].count);
    }
}

void entry_list_release(struct entry_list *list)
{
    cleanup_free(&list->items);
}

void content_digest(const struct entry_list areas[AREA_COUNT], uint8_t out[QS_DIGEST_BYTES])
{
    struct digest digest;
    digest_init(&digest);
    digest_add_u64(&digest, areas[AREA_SETTINGS].count);
    add_entries(&digest, &areas[AREA_SETTINGS], 0, areas[AREA_SETTINGS].count);
    add_areas_after_settings(&digest, areas);
    digest_finish(&digest, out);
}

void content_digest_marked(const struct entry_list areas[AREA_COUNT], struct content_marks *marks,
                           uint8_t out[QS_DIGEST_BYTES])
{
    const struct entry_list *settings = &areas[AREA_SETTINGS];
    struct digest digest;
    marks->settings = settings->count;
    marks->step = settings->count / CONTENT_MARKS + 1;
    digest_init(&digest);
    digest_add_u64(&digest, settings->count);
    for (size_t at = 0, mark = 0; mark < CONTENT_MARKS && at < settings->count; mark++) {
        size_t end = at + marks->step < settings->count ? at + marks->step : settings->count;
        digest_save(&digest, &marks->states[mark]);
        add_entries(&digest, settings, at, end);
        at = end;
    }
    add_areas_after_settings(&digest, areas);
    digest_finish(&digest, out);
}

void content_digest_again(const struct entry_list areas[AREA_COUNT], const struct content_marks *marks, size_t same,
                          uint8_t out[QS_DIGEST_BYTES])
{
    const struct entry_list *settings = &areas[AREA_SETTINGS];
    struct digest digest;
    /* The count stands at the beginning: where it is another one, so is every state. */
    if (!settings->count || settings->count != marks->settings) {
        content_digest(areas, out);
        return;
    }
    size_t mark = (same < settings->count ? same : settings->count - 1) / marks->step;
    digest_resume(&digest, &marks->states[mark]);
    add_entries(&digest, settings, mark * marks->step, settings->count);
    add_areas_after_settings(&digest, areas);
    digest_finish(&digest, out);
}
