/* SPDX-License-Identifier: Apache-2.0 */
/* Undoing history records, newest first, and checking the result against the digest that the older record holds. */
#include "store/history_at.h"

#include "base/cleanup.h"
#include "store/overlay.h"

#include <string.h>

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

static enum qs_status undo_change(const struct journal_change *change, struct undo *undo, struct qs_error *err)
{
    if (change->area == QS_AREA_FLAGS) {
        bool required = change->old_value.there && change->old_value.bytes.len == 4;
        undo->flags = required ? undo->flags | RECORD_REQUIRE_POLICY : undo->flags & ~RECORD_REQUIRE_POLICY;
        return QS_OK;
    }
    int area = (int)change->area - QS_AREA_SETTINGS;
    struct qs_bytes before = change->old_value.purged ? unknown : change->old_value.bytes;
    return overlay_put(&undo->areas[area], change->key, before, err);
}

static enum qs_status undo_current(const struct qs_history *history, struct undo *undo, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < history->current.facts.change_count && !status; i++)
        status = undo_change(&history->current.changes[i], undo, err);
    return status;
}

static enum qs_status build(struct qs_history *history, const struct undo *undo, const struct qs_record *target,
                            struct qs_snapshot **ret_snapshot, struct qs_error *err)
{
    struct leaves areas[AREA_COUNT] = {0};
    AUTO(snapshot_release) struct qs_snapshot *snapshot = NULL;
    enum qs_status status = QS_OK;
    for (int i = 0; i < AREA_COUNT && !status; i++) {
        struct entry_list merged = {0};
        if ((status = refuse_unknown(&undo->areas[i], target->generation, err)))
            break;
        status = overlay_merge(&undo->areas[i], &history->snapshot->areas[i], &merged, err);
        if (!status)
            status = overlay_copy_list(&merged, &areas[i], err);
        free(merged.items);
    }
    struct record record = history->snapshot->record;
    record.generation = target->generation;
    record.time_s = target->time_s;
    record.time_ns = target->time_ns;
    record.flags = undo->flags;
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

enum qs_status rewind_to(struct qs_history *history, uint64_t generation, struct qs_snapshot **ret_snapshot,
                         struct qs_error *err)
{
    struct qs_record target;
    enum qs_status status = qs_history_find(history, generation, &target, err);
    struct undo undo = {.flags = history->snapshot->record.flags};
    for (size_t i = qs_history_count(history); i > 0 && !status; i--) {
        status = history_load(history, i - 1, err);
        if (status || history->current.facts.generation <= generation)
            break;
        status = undo_current(history, &undo, err);
    }
    if (!status)
        status = build(history, &undo, &target, ret_snapshot, err);
    undo_release(&undo);
    return status;
}

enum qs_status qs_history_at(struct qs_history *history, uint64_t generation, struct qs_snapshot **ret_snapshot,
                             struct qs_error *err)
{
    return rewind_to(history, generation, ret_snapshot, err);
}
