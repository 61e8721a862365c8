/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Going through records without their values: who changed a key last, and what an older generation held.
 *
 * A value is passed over by its length, its pages unread, so that a record costs a page or two however large it is.
 * What is passed over is not verified. An older generation is, by the digest that its own record holds; and a record
 * that was found is decoded and verified as any other.
 */
#include "store/history_read.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "store/overlay.h"

#include <string.h>

/* ---- the bytes of one record, in order ---- */

struct stream {
    struct qs_history *history;
    struct history_cursor cursor;
    struct history_place place;
    uint8_t bytes[HISTORY_CHUNK_BYTES]; /* of the chunk at the cursor */
    size_t len, at;
};

static enum qs_status cut_short(const struct stream *s, struct qs_error *err)
{
    return error_page(err, -1, "the record of generation %llu: it is cut short",
                      (unsigned long long)s->place.generation);
}

/* Takes in the chunk at the cursor, which must be this one of this record. */
static enum qs_status take_chunk(struct stream *s, struct history_place wanted, struct qs_error *err)
{
    struct history_place place = {0};
    struct qs_bytes bytes = {NULL, 0};
    enum qs_status status =
        s->cursor.beyond ? QS_OK : history_chunk(&s->history->tree, &s->cursor, &place, &bytes, err);
    if (status)
        return status;
    if (place.generation != wanted.generation || place.chunk != wanted.chunk || bytes.len > sizeof s->bytes)
        return cut_short(s, err);
    memcpy(s->bytes, bytes.data, bytes.len);
    s->place = wanted;
    s->len = bytes.len;
    s->at = 0;
    return QS_OK;
}

static enum qs_status stream_to(struct stream *s, struct history_place place, struct qs_error *err)
{
    enum qs_status status = history_seek(&s->history->tree, place, &s->cursor, err);
    return status ? status : take_chunk(s, place, err);
}

static enum qs_status stream_read(struct stream *s, void *to, size_t len, struct qs_error *err)
{
    for (uint8_t *out = to; len > 0;) {
        size_t part = s->len - s->at < len ? s->len - s->at : len;
        memcpy(out, s->bytes + s->at, part);
        s->at += part;
        out += part;
        len -= part;
        if (len == 0)
            break;
        enum qs_status status = history_next(&s->history->tree, &s->cursor, err);
        if (!status)
            status = take_chunk(s, (struct history_place){s->place.generation, s->place.chunk + 1}, err);
        if (status)
            return status;
    }
    return QS_OK;
}

/* All chunks but the last are full. */
static enum qs_status stream_skip(struct stream *s, size_t len, struct qs_error *err)
{
    size_t to = s->at + len;
    if (to <= s->len) {
        s->at = to;
        return QS_OK;
    }
    if (s->len != HISTORY_CHUNK_BYTES || to / HISTORY_CHUNK_BYTES > UINT32_MAX - s->place.chunk)
        return cut_short(s, err);
    struct history_place place = {s->place.generation, s->place.chunk + (uint32_t)(to / HISTORY_CHUNK_BYTES)};
    enum qs_status status = stream_to(s, place, err);
    if (!status && to % HISTORY_CHUNK_BYTES > s->len)
        status = cut_short(s, err);
    s->at = to % HISTORY_CHUNK_BYTES;
    return status;
}

static enum qs_status stream_number(struct stream *s, size_t bytes, uint32_t *ret_number, struct qs_error *err)
{
    uint8_t raw[4] = {0};
    enum qs_status status = stream_read(s, raw, bytes, err);
    *ret_number = load_u32(raw);
    return status;
}

/* ---- one record ---- */

/* What is done with a change: passed over, its old value taken, or the scan ended. */
enum scan_answer { SCAN_PASS, SCAN_TAKE, SCAN_END };
struct scan {
    enum scan_answer (*look)(void *context, const struct change_head *head);
    enum qs_status (*take)(void *context, const struct change_head *head, struct qs_bytes old_value,
                           struct qs_error *err);
    void *context;
    struct buf value;
    bool ended;
};

#define HEAD_BYTES_TO_TEXTS 36u /* version to pid */

static enum qs_status pass_text(struct stream *s, size_t bytes_of_length, struct qs_error *err)
{
    uint32_t len = 0;
    enum qs_status status = stream_number(s, bytes_of_length, &len, err);
    return status ? status : stream_skip(s, len, err);
}

static enum qs_status pass_head(struct stream *s, uint32_t *ret_changes, struct qs_error *err)
{
    uint8_t fixed[HEAD_BYTES_TO_TEXTS];
    enum qs_status status = stream_read(s, fixed, sizeof fixed, err);
    if (status)
        return status;
    if (load_u16(fixed) != HISTORY_VERSION) /* which it is, damage or a later version's, decoding tells */
        return history_load(s->history, s->place.generation, err);
    status = pass_text(s, 2, err);
    if (!status)
        status = pass_text(s, 2, err);
    if (!status)
        status = pass_text(s, 4, err);
    if (!status)
        status = stream_skip(s, (size_t)2 * QS_DIGEST_BYTES, err);
    return status ? status : stream_number(s, 4, ret_changes, err);
}

/* One value, if there is one: passed over, or into buf. */
static enum qs_status scan_value(struct stream *s, bool there, bool purged, struct buf *into, struct qs_error *err)
{
    uint32_t len = 0;
    if (!there)
        return QS_OK;
    if (purged)
        return stream_skip(s, QS_DIGEST_BYTES, err);
    enum qs_status status = stream_skip(s, HISTORY_SALT_BYTES, err);
    if (!status)
        status = stream_number(s, 4, &len, err);
    if (status || !into)
        return status ? status : stream_skip(s, len, err);
    if (len > QS_VALUE_MAX_BYTES)
        return error_page(err, -1, "the record of generation %llu has a value of %u bytes",
                          (unsigned long long)s->place.generation, len);
    char *space = malloc(len ? len : 1);
    if (!space)
        return error_memory(err);
    status = stream_read(s, space, len, err);
    if (!status)
        buf_add(into, space, len);
    free(space);
    return status ? status : into->failed ? error_memory(err) : QS_OK;
}

static enum qs_status scan_change(struct stream *s, struct scan *scan, struct qs_error *err)
{
    uint8_t fixed[4], key[QS_KEY_MAX_BYTES];
    enum qs_status status = stream_read(s, fixed, sizeof fixed, err);
    if (status)
        return status;
    unsigned bits = fixed[1];
    struct change_head head = {.area = fixed[0],
                               .key = {key, load_u16(fixed + 2)},
                               .old_there = bits & CHANGE_OLD_THERE,
                               .new_there = bits & CHANGE_NEW_THERE,
                               .old_purged = bits & CHANGE_OLD_PURGED};
    if (head.area < QS_AREA_SETTINGS || head.area > HISTORY_AREA_LAST || bits > 15 || head.key.len > sizeof key)
        return error_page(err, -1, "the record of generation %llu: a change is malformed",
                          (unsigned long long)s->place.generation);
    status = stream_read(s, key, head.key.len, err);
    if (status)
        return status;
    enum scan_answer answer = scan->look(scan->context, &head);
    scan->ended = answer == SCAN_END;
    if (scan->ended)
        return QS_OK;
    buf_clear(&scan->value);
    bool take = answer == SCAN_TAKE;
    status = scan_value(s, head.old_there, head.old_purged, take ? &scan->value : NULL, err);
    if (!status && take)
        status = scan->take(scan->context, &head,
                            head.old_there && !head.old_purged ? (struct qs_bytes){scan->value.data, scan->value.len}
                                                               : (struct qs_bytes){NULL, 0},
                            err);
    return status ? status : scan_value(s, head.new_there, bits & CHANGE_NEW_PURGED, NULL, err);
}

static enum qs_status scan_once(struct qs_history *history, uint64_t generation, struct scan *scan,
                                struct qs_error *err)
{
    struct stream s = {.history = history, .place = {generation, 0}};
    uint32_t changes = 0;
    enum qs_status status = stream_to(&s, s.place, err);
    if (!status)
        status = pass_head(&s, &changes, err);
    for (uint32_t i = 0; i < changes && !status && !scan->ended; i++)
        status = scan_change(&s, scan, err);
    return status;
}

static enum qs_status scan_record(struct qs_history *history, uint64_t generation, struct scan *scan,
                                  struct qs_error *err)
{
    enum qs_status status = scan_once(history, generation, scan, err);
    return history_look_again(history, &status, err) ? scan_once(history, generation, scan, err) : status;
}

/* ---- who changed it last ---- */

struct search {
    history_match match;
    const void *context;
};

static enum scan_answer look_for(void *context, const struct change_head *head)
{
    const struct search *search = context;
    return search->match(search->context, head) ? SCAN_END : SCAN_PASS;
}

enum qs_status history_search(struct qs_history *history, uint64_t from, history_match match, const void *context,
                              uint64_t *ret_generation, struct qs_error *err)
{
    struct search search = {match, context};
    struct scan scan = {.look = look_for, .context = &search};
    uint64_t generation = from + 1;
    while (!scan.ended) {
        enum qs_status status = history_before(history, generation, &generation, err);
        if (!status && generation == 0)
            break;
        if (!status)
            status = scan_record(history, generation, &scan, err);
        if (status)
            return status;
    }
    *ret_generation = generation;
    return QS_OK;
}

/* ---- the content of an older generation ---- */

/* What the keys held that changed since: the first change after the generation has it as its old value. */
struct undo {
    struct overlay areas[AREA_COUNT];
    uint32_t flags;
    bool flags_known;
};

static void undo_release(struct undo *undo)
{
    for (int i = 0; i < AREA_COUNT; i++)
        overlay_release(&undo->areas[i]);
}

/* Stands for a value that was purged. No leaf's text is a zero byte. */
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

static enum scan_answer look_back(void *context, const struct change_head *head)
{
    const struct undo *undo = context;
    if (head->area == QS_AREA_HISTORY)
        return SCAN_PASS;
    if (head->area == QS_AREA_FLAGS)
        return undo->flags_known ? SCAN_PASS : SCAN_TAKE;
    return overlay_find(&undo->areas[head->area - QS_AREA_SETTINGS], head->key) == SIZE_MAX ? SCAN_TAKE : SCAN_PASS;
}

static enum qs_status take_back(void *context, const struct change_head *head, struct qs_bytes old_value,
                                struct qs_error *err)
{
    struct undo *undo = context;
    if (head->area == QS_AREA_FLAGS) {
        bool required = old_value.data && old_value.len == 4; /* "true" */
        undo->flags = required ? undo->flags | META_RECORD_REQUIRE_POLICY : undo->flags & ~META_RECORD_REQUIRE_POLICY;
        undo->flags_known = true;
        return QS_OK;
    }
    return overlay_put(&undo->areas[head->area - QS_AREA_SETTINGS], head->key, head->old_purged ? unknown : old_value,
                       err);
}

/* Goes over the records after generation, the oldest first. */
static enum qs_status undo_since(struct qs_history *history, uint64_t generation, struct undo *undo,
                                 struct qs_error *err)
{
    struct scan scan = {.look = look_back, .take = take_back, .context = undo};
    enum qs_status status = QS_OK;
    while (!status && generation < history->snapshot->record.generation) {
        status = history_after(history, generation, &generation, err);
        if (!status && generation == 0)
            status = error_page(err, -1, "the newest history record is missing");
        if (!status)
            status = scan_record(history, generation, &scan, err);
    }
    buf_release(&scan.value);
    return status;
}

static enum qs_status undo_area(const struct qs_history *history, const struct overlay *undone, int area,
                                uint64_t generation, struct leaves *ret_leaves, struct qs_error *err)
{
    struct entry_list merged = {0};
    enum qs_status status = refuse_unknown(undone, generation, err);
    if (status)
        return status;
    status = overlay_merge(undone, &history->snapshot->areas[area], &merged, err);
    if (!status)
        status = overlay_copy_list(&merged, ret_leaves, err);
    free(merged.items);
    return status;
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
    status = undo_since(history, generation, &undo, err);
    return status ? status : build(history, &undo, &target, ret_snapshot, err);
}
