/* SPDX-License-Identifier: Apache-2.0 */
/* Reading history: collecting chunks, decoding records, checking the chain. */
#include "store/history_read.h"

#include "base/cleanup.h"
#include "base/digest.h"

#include "store/overlay.h"
#include <errno.h>
#include <string.h>

/* ---- collecting ---- */

static bool grow(void **items, size_t *cap, size_t count, size_t size)
{
    if (count < *cap)
        return true;
    size_t more = *cap ? *cap * 2 : 64;
    void *grown = realloc(*items, more * size);
    if (!grown)
        return false;
    *items = grown;
    *cap = more;
    return true;
}

enum qs_status history_visit(void *context, const struct node *node, struct qs_error *err)
{
    struct history_pages *p = context;
    uint64_t generation = 0;
    uint32_t chunk = 0;
    if (node->flags || !history_key_decode((struct qs_bytes){node->key, node->key_len}, &generation, &chunk))
        return error_page(err, -1, "an entry of the history is not a chunk of a record");
    struct history_slot *last = p->slot_count ? &p->slots[p->slot_count - 1] : NULL;
    if (last && last->generation == generation) {
        if (chunk != last->chunk_count)
            return error_page(err, -1, "a chunk of the record of generation %llu is missing",
                              (unsigned long long)generation);
        last->chunk_count++;
    } else {
        if (chunk != 0 || (last && generation <= last->generation))
            return error_page(err, -1, "the record of generation %llu does not begin where it should",
                              (unsigned long long)generation);
        if (!grow((void **)&p->slots, &p->slot_cap, p->slot_count, sizeof *p->slots))
            return error_memory(err);
        p->slots[p->slot_count++] = (struct history_slot){generation, p->chunk_count, 1};
    }
    if (!grow((void **)&p->chunks, &p->chunk_cap, p->chunk_count, sizeof *p->chunks))
        return error_memory(err);
    p->chunks[p->chunk_count++] = (struct qs_bytes){node->data, node->data_len};
    return QS_OK;
}

void history_restart(void *context)
{
    struct history_pages *p = context;
    p->chunk_count = 0;
    p->slot_count = 0;
}

void history_pages_release(struct history_pages *pages)
{
    free(pages->chunks);
    free(pages->slots);
    *pages = (struct history_pages){0};
}

/* ---- records ---- */

enum qs_status history_load(struct qs_history *history, size_t index, struct qs_error *err)
{
    if (index >= history->pages.slot_count)
        return error_set(err, QS_NOT_FOUND, "the history has %zu records", history->pages.slot_count);
    const struct history_slot *slot = &history->pages.slots[index];
    history->given = false;
    buf_clear(&history->bytes);
    for (size_t i = 0; i < slot->chunk_count; i++) {
        struct qs_bytes chunk = history->pages.chunks[slot->first_chunk + i];
        buf_add(&history->bytes, chunk.data, chunk.len);
    }
    if (history->bytes.failed)
        return error_memory(err);
    history_record_release(&history->current);
    enum qs_status status = history_record_decode(history->bytes.data, history->bytes.len, &history->current, err);
    if (!status && history->current.facts.generation != slot->generation)
        status = error_page(err, -1, "a record names generation %llu",
                            (unsigned long long)history->current.facts.generation);
    if (status == QS_DAMAGED && err) {
        char what[QS_ERROR_TEXT_BYTES];
        memcpy(what, err->message, sizeof what);
        return error_page(err, -1, "the record of generation %llu: %.600s", (unsigned long long)slot->generation, what);
    }
    return status;
}

static enum qs_status check_newest(struct qs_history *history, struct qs_error *err)
{
    const struct meta_record *record = &history->snapshot->record;
    if (history->pages.slot_count != record->history_count || history->pages.slot_count == 0)
        return error_page(err, -1, "the history has %zu records, but the meta record says %llu",
                          history->pages.slot_count, (unsigned long long)record->history_count);
    enum qs_status status = history_load(history, history->pages.slot_count - 1, err);
    if (status)
        return status;
    const struct qs_record *newest = &history->current.facts;
    if (newest->generation != record->generation ||
        memcmp(newest->digest, record->newest_history, QS_DIGEST_BYTES) != 0 ||
        memcmp(newest->content, record->content, QS_DIGEST_BYTES) != 0)
        return error_page(err, -1, "the newest history record is not that of generation %llu",
                          (unsigned long long)record->generation);
    return QS_OK;
}

enum qs_status history_make(struct qs_snapshot **snapshot, struct history_pages *pages, struct qs_history **ret_history,
                            struct qs_error *err)
{
    struct qs_history *history = calloc(1, sizeof *history);
    if (!history)
        return error_memory(err);
    history->snapshot = STEAL(*snapshot);
    history->pages = *pages;
    *pages = (struct history_pages){0};
    enum qs_status status = check_newest(history, err);
    if (status)
        qs_history_close(history);
    else
        *ret_history = history;
    return status;
}

enum qs_status qs_history_open(struct qs_store *store, struct qs_history **ret_history, struct qs_error *err)
{
    AUTO(history_pages_release) struct history_pages pages = {0};
    AUTO(snapshot_release) struct qs_snapshot *snapshot = NULL;
    if (!store || !ret_history)
        return error_misuse(err, __func__);
    enum qs_status status = snapshot_read(&store->dir, store->wait_ms, SNAPSHOT_HISTORY, history_visit, history_restart,
                                          &pages, &snapshot, err);
    if (!status)
        status = history_make(&snapshot, &pages, ret_history, err);
    if (status)
        error_add_file(err, store->dir.path);
    return status;
}

enum qs_status history_open_file(int fd, const char *name, struct qs_history **ret_history, struct qs_error *err)
{
    AUTO(history_pages_release) struct history_pages pages = {0};
    AUTO(snapshot_release) struct qs_snapshot *snapshot = NULL;
    enum qs_status status = snapshot_read_file(fd, name, history_visit, history_restart, &pages, &snapshot, err);
    if (!status)
        status = history_make(&snapshot, &pages, ret_history, err);
    if (status)
        error_add_file(err, name);
    return status;
}

void qs_history_close(struct qs_history *history)
{
    if (!history)
        return;
    int saved = errno;
    history_record_release(&history->current);
    buf_release(&history->bytes);
    history_pages_release(&history->pages);
    qs_snapshot_unref(history->snapshot);
    free(history);
    errno = saved;
}

void history_release(struct qs_history **history)
{
    qs_history_close(*history);
}

size_t qs_history_count(const struct qs_history *history)
{
    return history ? history->pages.slot_count : 0;
}

const struct qs_snapshot *qs_history_snapshot(const struct qs_history *history)
{
    return history ? history->snapshot : NULL;
}

enum qs_status qs_history_record(struct qs_history *history, size_t index, const struct qs_record **ret_record,
                                 struct qs_error *err)
{
    if (!history || !ret_record)
        return error_misuse(err, __func__);
    enum qs_status status = history_load(history, index, err);
    if (status)
        return status;
    history->given = true;
    *ret_record = &history->current.facts;
    return QS_OK;
}

static size_t index_of(const struct qs_history *history, uint64_t generation)
{
    size_t low = 0;
    size_t end = history->pages.slot_count;
    while (low < end) {
        size_t middle = low + (end - low) / 2;
        if (history->pages.slots[middle].generation < generation)
            low = middle + 1;
        else
            end = middle;
    }
    bool found = low < history->pages.slot_count && history->pages.slots[low].generation == generation;
    return found ? low : SIZE_MAX;
}

enum qs_status qs_history_find(struct qs_history *history, uint64_t generation, const struct qs_record **ret_record,
                               struct qs_error *err)
{
    if (!history || !ret_record)
        return error_misuse(err, __func__);
    size_t index = index_of(history, generation);
    if (index == SIZE_MAX)
        return error_set(err, QS_NOT_FOUND, "there is no generation %llu; the history goes from %llu to %llu",
                         (unsigned long long)generation, (unsigned long long)history->pages.slots[0].generation,
                         (unsigned long long)history->pages.slots[history->pages.slot_count - 1].generation);
    return qs_history_record(history, index, ret_record, err);
}

const struct qs_change *qs_history_change(const struct qs_history *history, size_t index)
{
    if (!history || !history->given || index >= history->current.facts.change_count)
        return NULL;
    struct history_change change = history_record_change(&history->current, index);
    struct qs_change *shown = &((struct qs_history *)history)->shown; /* no part of what the history contains */
    *shown = (struct qs_change){
        .area = change.area,
        .key = change.key,
        .old_value = change.old_value.bytes,
        .new_value = change.new_value.bytes,
        .old_purged = change.old_value.purged,
        .new_purged = change.new_value.purged,
    };
    return shown;
}

enum qs_status qs_history_check(struct qs_history *history, struct qs_error *err)
{
    uint8_t previous[QS_DIGEST_BYTES] = {0};
    if (!history)
        return error_misuse(err, __func__);
    for (size_t i = 0; i < history->pages.slot_count; i++) {
        enum qs_status status = history_load(history, i, err);
        if (status)
            return status;
        const struct qs_record *record = &history->current.facts;
        /* Repair and restore may begin with an older stretch cut off: the first record stands by itself. */
        if (i > 0 && memcmp(record->previous, previous, sizeof previous) != 0)
            return error_page(err, -1, "the chain breaks at the record of generation %llu",
                              (unsigned long long)record->generation);
        memcpy(previous, record->digest, sizeof previous);
    }
    return check_newest(history, err);
}

/* ---- the content of an older generation ---- */

struct undo {
    struct overlay areas[AREA_COUNT];
    uint32_t flags;
};

static void undo_release(struct undo *undo)
{
    for (int i = 0; i < AREA_COUNT; i++)
        overlay_release(&undo->areas[i]);
}

/* Stands for a value that was purged: not known, until an older record says what was there before. No leaf's text is
 * a zero byte. */
static const struct qs_bytes unknown = {"", 1};

/* A generation that held a purged value cannot be rebuilt; those before and after it can. */
static enum qs_status refuse_unknown(const struct overlay *overlay, uint64_t generation, struct qs_error *err)
{
    char text[QS_KEY_TEXT_BYTES];
    for (size_t i = 0; i < overlay->count; i++) {
        const struct leaf *item = &overlay->items[i];
        if (item->value.len != unknown.len || memcmp(item->value.data, unknown.data, unknown.len) != 0)
            continue;
        error_set(err, QS_INVALID, "generation %llu held a value that was purged since, so it cannot be rebuilt",
                  (unsigned long long)generation);
        error_add_path(err, qs_key_format(item->key.data, item->key.len, text, sizeof text));
        return QS_INVALID;
    }
    return QS_OK;
}

static enum qs_status undo_change(const struct history_change *change, struct undo *undo, struct qs_error *err)
{
    if (change->area == QS_AREA_FLAGS) {
        bool required = change->old_value.there && change->old_value.bytes.len == 4;
        undo->flags = required ? undo->flags | META_RECORD_REQUIRE_POLICY : undo->flags & ~META_RECORD_REQUIRE_POLICY;
        return QS_OK;
    }
    int area = (int)change->area - QS_AREA_SETTINGS;
    struct qs_bytes before = change->old_value.purged ? unknown : change->old_value.bytes;
    return overlay_put(&undo->areas[area], change->key, before, err);
}

static enum qs_status undo_current(const struct qs_history *history, struct undo *undo, struct qs_error *err)
{
    for (size_t i = 0; i < history->current.facts.change_count; i++) {
        struct history_change change = history_record_change(&history->current, i);
        enum qs_status status = undo_change(&change, undo, err);
        if (status)
            return status;
    }
    return QS_OK;
}

static enum qs_status undo_area(const struct qs_history *history, const struct overlay *undone, int area,
                                uint64_t generation, struct leaves *ret_leaves, struct qs_error *err)
{
    AUTO(entry_list_release) struct entry_list merged = {0};
    enum qs_status status = refuse_unknown(undone, generation, err);
    if (status)
        return status;
    status = overlay_merge(undone, &history->snapshot->areas[area], &merged, err);
    if (status)
        return status;
    return overlay_copy_list(&merged, ret_leaves, err);
}

static enum qs_status build(struct qs_history *history, const struct undo *undo, const struct qs_record *target,
                            struct qs_snapshot **ret_snapshot, struct qs_error *err)
{
    struct leaves areas[AREA_COUNT] = {0};
    AUTO(snapshot_release) struct qs_snapshot *snapshot = NULL;
    struct meta_record record = history->snapshot->record;
    record.generation = target->generation;
    record.time_s = target->time_s;
    record.time_ns = target->time_ns;
    record.flags = undo->flags;
    enum qs_status status = QS_OK;
    for (int i = 0; i < AREA_COUNT && !status; i++)
        status = undo_area(history, &undo->areas[i], i, target->generation, &areas[i], err);
    if (!status)
        status = snapshot_make(&record, areas, &snapshot, err);
    for (int i = 0; i < AREA_COUNT; i++)
        leaves_release(&areas[i]);
    if (status)
        return status;
    if (memcmp(snapshot->record.content, target->content, QS_DIGEST_BYTES) != 0)
        return error_page(err, -1, "undoing the history does not lead to the digest of generation %llu",
                          (unsigned long long)target->generation);
    *ret_snapshot = STEAL(snapshot);
    return QS_OK;
}

/* Undoes record after record, the newest first, until generation is the newest. */
static enum qs_status undo_until(struct qs_history *history, uint64_t generation, struct undo *undo,
                                 struct qs_error *err)
{
    for (size_t i = qs_history_count(history); i > 0; i--) {
        enum qs_status status = history_load(history, i - 1, err);
        if (status || history->current.facts.generation <= generation)
            return status;
        status = undo_current(history, undo, err);
        if (status)
            return status;
    }
    return QS_OK;
}

enum qs_status qs_history_at(struct qs_history *history, uint64_t generation, struct qs_snapshot **ret_snapshot,
                             struct qs_error *err)
{
    const struct qs_record *record = NULL;
    if (!history || !ret_snapshot)
        return error_misuse(err, __func__);
    enum qs_status status = qs_history_find(history, generation, &record, err);
    if (status)
        return status;
    struct qs_record target = *record; /* without its texts, which go when the next one is loaded */
    AUTO(undo_release) struct undo undo = {.flags = history->snapshot->record.flags};
    status = undo_until(history, generation, &undo, err);
    return status ? status : build(history, &undo, &target, ret_snapshot, err);
}
