/* SPDX-License-Identifier: Apache-2.0 */
/* Reading history: opening it, finding records, checking the chain. */
#include "store/history_read.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

/* ---- opening ---- */

static enum qs_status check_newest(struct qs_history *history, struct qs_error *err)
{
    const struct meta_record *record = &history->snapshot->record;
    const struct qs_record *newest = &history->current.facts;
    enum qs_status status = history_load(history, record->generation, err);
    if (status == QS_NOT_FOUND || (!status && (memcmp(newest->digest, record->newest_history, QS_DIGEST_BYTES) != 0 ||
                                               memcmp(newest->content, record->content, QS_DIGEST_BYTES) != 0)))
        return error_page(err, -1, "the newest history record is not that of generation %llu",
                          (unsigned long long)record->generation);
    if (!status)
        history->index = qs_history_count(history) - 1;
    return status;
}

enum qs_status history_make_unchecked(int *fd, struct qs_snapshot **snapshot, struct qs_history **ret_history,
                                      struct qs_error *err)
{
    AUTO(history_release) struct qs_history *history = calloc(1, sizeof *history);
    if (!history)
        return error_memory(err);
    history->fd = steal_fd(fd);
    history->index = SIZE_MAX;
    history->snapshot = STEAL(*snapshot);
    enum qs_status status = history_tree_init(&history->tree, history->fd, history->snapshot, err);
    if (!status)
        *ret_history = STEAL(history);
    return status;
}

enum qs_status history_make(int *fd, struct qs_snapshot **snapshot, struct qs_history **ret_history,
                            struct qs_error *err)
{
    AUTO(history_release) struct qs_history *history = NULL;
    enum qs_status status = history_make_unchecked(fd, snapshot, &history, err);
    if (!status && history->snapshot->record.history_count == 0)
        status = error_page(err, -1, "the meta record says that there is no history");
    if (!status)
        status = check_newest(history, err);
    if (!status)
        *ret_history = STEAL(history);
    return status;
}

enum qs_status qs_history_open(struct qs_store *store, struct qs_history **ret_history, struct qs_error *err)
{
    AUTO(snapshot_release) struct qs_snapshot *snapshot = NULL;
    AUTO_FD int fd = -1;
    if (!store || !ret_history)
        return error_misuse(err, __func__);
    enum qs_status status = snapshot_read(&store->dir, store->wait_ms, SNAPSHOT_HISTORY, &fd, &snapshot, err);
    if (!status)
        status = history_make(&fd, &snapshot, ret_history, err);
    if (status)
        error_add_file(err, store->dir.path);
    return status;
}

enum qs_status history_open_file(int fd, const char *name, struct qs_history **ret_history, struct qs_error *err)
{
    AUTO(snapshot_release) struct qs_snapshot *snapshot = NULL;
    AUTO_FD int own = -1;
    enum qs_status status = snapshot_read_file(fd, name, SNAPSHOT_HISTORY, &own, &snapshot, err);
    if (!status)
        status = history_make(&own, &snapshot, ret_history, err);
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
    history_tree_release(&history->tree);
    qs_snapshot_unref(history->later);
    qs_snapshot_unref(history->snapshot);
    if (history->fd >= 0)
        (void)close(history->fd);
    free(history);
    errno = saved;
}

void history_release(struct qs_history **history)
{
    qs_history_close(*history);
}

/* ---- one record ---- */

/* The chunks of a record, one behind the other, into history->bytes; the cursor stands behind them then. */
static enum qs_status gather(struct qs_history *history, uint64_t generation, struct history_cursor *cursor,
                             struct qs_error *err)
{
    buf_clear(&history->bytes);
    for (uint32_t chunk = 0;; chunk++) {
        history->chunks = chunk;
        struct history_place place = {0};
        struct qs_bytes bytes;
        enum qs_status status = cursor->beyond ? QS_OK : history_chunk(&history->tree, cursor, &place, &bytes, err);
        if (status)
            return status;
        bool there = !cursor->beyond && place.generation == generation;
        if (!there && chunk == 0)
            return error_set(err, QS_NOT_FOUND, "there is no generation %llu", (unsigned long long)generation);
        if (!there)
            return history->bytes.failed ? error_memory(err) : QS_OK;
        if (place.chunk != chunk)
            return error_page(err, -1, "a chunk of the record of generation %llu is missing",
                              (unsigned long long)generation);
        buf_add(&history->bytes, bytes.data, bytes.len);
        status = history_next(&history->tree, cursor, err);
        if (status)
            return status;
    }
}

/* Decodes what stands at the cursor, which stands behind the record then. */
static enum qs_status load_here(struct qs_history *history, uint64_t generation, struct history_cursor *cursor,
                                struct qs_error *err)
{
    history->given = false;
    history->index = SIZE_MAX;
    enum qs_status status = gather(history, generation, cursor, err);
    if (status)
        return status;
    history_record_release(&history->current);
    status = history_record_decode(history->bytes.data, history->bytes.len, &history->current, err);
    if (!status && history->current.facts.generation != generation)
        status = error_page(err, -1, "a record names generation %llu",
                            (unsigned long long)history->current.facts.generation);
    if (status == QS_DAMAGED && err) {
        char what[QS_ERROR_TEXT_BYTES];
        memcpy(what, err->message, sizeof what);
        return error_page(err, -1, "the record of generation %llu: %.600s", (unsigned long long)generation, what);
    }
    return status;
}

static enum qs_status load_once(struct qs_history *history, uint64_t generation, struct qs_error *err)
{
    struct history_cursor cursor;
    enum qs_status status = history_seek(&history->tree, (struct history_place){generation, 0}, &cursor, err);
    return status ? status : load_here(history, generation, &cursor, err);
}

/* ---- a fault: damage, or a file that moved on ---- */

/* After this the tree is that of the file's newest generation, in which older records are the same. */
static enum qs_status follow(struct qs_history *history, struct qs_error *err)
{
    struct qs_snapshot *now = NULL;
    const struct verified_read how = {SLOT_NEWER, SNAPSHOT_HISTORY, 0};
    enum qs_status status = verified_read(history->fd, &how, &now, err);
    if (status)
        return status;
    history_tree_release(&history->tree);
    qs_snapshot_unref(history->later);
    history->later = now;
    return history_tree_init(&history->tree, history->fd, now, err);
}

/* After a fault: is it to be looked up again, in what the file holds now? Only a file that went back
 * gives pages of the history other use. Else *status is what the fault is. */
bool history_look_again(struct qs_history *history, enum qs_status *status, struct qs_error *err)
{
    enum snapshot_moves moves = SNAPSHOT_STILL;
    struct qs_error own = {0};
    if (*status != QS_DAMAGED)
        return false;
    enum qs_status looked =
        snapshot_moved(history->fd, history->later ? history->later : history->snapshot, &moves, &own);
    if (!looked && moves == SNAPSHOT_UNDONE)
        looked = error_set(&own, QS_BUSY, "the generation that was read was taken back by a commit that failed");
    if (!looked && moves == SNAPSHOT_OLDER)
        looked = follow(history, &own);
    if (looked && looked != QS_DAMAGED) {
        *status = looked;
        if (err)
            *err = own;
    }
    return !looked && moves == SNAPSHOT_OLDER;
}

enum qs_status history_load(struct qs_history *history, uint64_t generation, struct qs_error *err)
{
    enum qs_status status = load_once(history, generation, err);
    if (!history_look_again(history, &status, err))
        return status;
    status = load_once(history, generation, err);
    if (status == QS_NOT_FOUND)
        return error_set(err, QS_BUSY, "generation %llu was cut from the history meanwhile",
                         (unsigned long long)generation);
    return status;
}

/* ---- finding records ---- */

/* by: 1: the first record behind generation; -1: the last one before it. */
static enum qs_status near_once(struct qs_history *history, uint64_t generation, int by, uint64_t *ret_generation,
                                struct qs_error *err)
{
    struct history_cursor cursor;
    struct history_place place = {generation, by > 0 ? UINT32_MAX : 0};
    struct qs_bytes bytes;
    enum qs_status status = history_seek(&history->tree, place, &cursor, err);
    if (!status && by < 0)
        status = history_previous(&history->tree, &cursor, err);
    place = (struct history_place){0};
    if (!status && !cursor.beyond)
        status = history_chunk(&history->tree, &cursor, &place, &bytes, err);
    if (!status && by > 0 && place.chunk != 0)
        status = error_page(err, -1, "the record of generation %llu does not begin where it should",
                            (unsigned long long)place.generation);
    if (!status)
        *ret_generation = place.generation;
    return status;
}

static enum qs_status near(struct qs_history *history, uint64_t generation, int by, uint64_t *ret_generation,
                           struct qs_error *err)
{
    enum qs_status status = near_once(history, generation, by, ret_generation, err);
    return history_look_again(history, &status, err) ? near_once(history, generation, by, ret_generation, err) : status;
}

enum qs_status history_after(struct qs_history *history, uint64_t generation, uint64_t *ret_generation,
                             struct qs_error *err)
{
    return near(history, generation, 1, ret_generation, err);
}

enum qs_status history_before(struct qs_history *history, uint64_t generation, uint64_t *ret_generation,
                              struct qs_error *err)
{
    return near(history, generation, -1, ret_generation, err);
}

size_t qs_history_count(const struct qs_history *history)
{
    return history ? (size_t)history->snapshot->record.history_count : 0;
}

const struct qs_snapshot *qs_history_snapshot(const struct qs_history *history)
{
    return history ? history->snapshot : NULL;
}

/* A record whose place among all is known. */
struct known {
    size_t index;
    uint64_t generation;
};

static enum qs_status fewer(const struct qs_history *history, struct qs_error *err)
{
    return error_page(err, -1, "the history has fewer records than the %llu of the meta record",
                      (unsigned long long)history->snapshot->record.history_count);
}

/* From one known record to another, step by step: there are gaps between them. */
static enum qs_status step_to(struct qs_history *history, struct known from, size_t index, uint64_t *ret_generation,
                              struct qs_error *err)
{
    uint64_t generation = from.generation;
    while (from.index != index) {
        bool on = from.index < index;
        enum qs_status status = on ? history_after(history, generation, &generation, err)
                                   : history_before(history, generation, &generation, err);
        if (status)
            return status;
        if (!generation)
            return fewer(history, err);
        from.index = on ? from.index + 1 : from.index - 1;
    }
    *ret_generation = generation;
    return QS_OK;
}

/* The generation of a record by its index. Generations without a record in between are rare (repair, restore): from the
 * nearest records that are known it is mostly a difference. */
static enum qs_status generation_of(struct qs_history *history, size_t index, uint64_t *ret_generation,
                                    struct qs_error *err)
{
    struct known low = {0}, high = {qs_history_count(history) - 1, history->snapshot->record.generation};
    struct known current = {history->index, history->current.facts.generation};
    enum qs_status status = QS_OK;
    if (current.index != SIZE_MAX && current.index >= index)
        high = current;
    if (current.index != SIZE_MAX && current.index <= index)
        low = current;
    else
        status = history_after(history, 0, &low.generation, err);
    if (!status && !low.generation)
        status = fewer(history, err);
    if (status)
        return status;
    if (high.generation - low.generation == high.index - low.index) {
        *ret_generation = low.generation + (index - low.index);
        return QS_OK;
    }
    return step_to(history, high.index - index < index - low.index ? high : low, index, ret_generation, err);
}

enum qs_status qs_history_record(struct qs_history *history, size_t index, const struct qs_record **ret_record,
                                 struct qs_error *err)
{
    uint64_t generation = 0;
    if (!history || !ret_record)
        return error_misuse(err, __func__);
    if (index >= qs_history_count(history))
        return error_set(err, QS_NOT_FOUND, "the history has %zu records", qs_history_count(history));
    enum qs_status status = generation_of(history, index, &generation, err);
    if (!status)
        status = history_load(history, generation, err);
    if (status)
        return status == QS_NOT_FOUND ? fewer(history, err) : status;
    history->index = index;
    history->given = true;
    *ret_record = &history->current.facts;
    return QS_OK;
}

enum qs_status qs_history_find(struct qs_history *history, uint64_t generation, const struct qs_record **ret_record,
                               struct qs_error *err)
{
    uint64_t first = 0;
    if (!history || !ret_record)
        return error_misuse(err, __func__);
    uint64_t last = history->snapshot->record.generation;
    enum qs_status status = generation <= last ? history_load(history, generation, err) : QS_NOT_FOUND;
    if (!status) {
        history->given = true;
        *ret_record = &history->current.facts;
    }
    if (status != QS_NOT_FOUND)
        return status;
    status = history_after(history, 0, &first, err);
    return status ? status
                  : error_set(err, QS_NOT_FOUND, "there is no generation %llu; the history goes from %llu to %llu",
                              (unsigned long long)generation, (unsigned long long)first, (unsigned long long)last);
}

const struct qs_change *qs_history_change(const struct qs_history *history, size_t index)
{
    if (!history || !history->given || index >= history->current.facts.change_count)
        return NULL;
    struct qs_change *shown = (struct qs_change *)&history->shown; /* which is no part of what is read */
    struct history_change change = history_record_change(&history->current, index);
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

/* ---- all records ---- */

struct chain {
    uint8_t previous[QS_DIGEST_BYTES];
    uint64_t generation; /* of the record before */
    uint64_t records, chunks;
};

static enum qs_status check_link(struct qs_history *history, struct chain *chain, struct qs_error *err)
{
    const struct qs_record *record = &history->current.facts;
    /* Repair and restore may begin with an older stretch cut off: the first record stands by itself. */
    if (chain->records++ > 0 && memcmp(record->previous, chain->previous, QS_DIGEST_BYTES) != 0)
        return error_page(err, -1, "the chain breaks at the record of generation %llu",
                          (unsigned long long)record->generation);
    memcpy(chain->previous, record->digest, QS_DIGEST_BYTES);
    chain->generation = record->generation;
    chain->chunks += history->chunks;
    return QS_OK;
}

/* From the record behind chain->generation on, page after page. */
static enum qs_status check_from(struct qs_history *history, struct chain *chain, struct qs_error *err)
{
    struct history_cursor cursor;
    struct history_place place = {chain->generation, UINT32_MAX};
    struct qs_bytes bytes;
    enum qs_status status = history_seek(&history->tree, place, &cursor, err);
    while (!status && !cursor.beyond && chain->generation < history->snapshot->record.generation) {
        status = history_chunk(&history->tree, &cursor, &place, &bytes, err);
        if (!status)
            status = load_here(history, place.generation, &cursor, err);
        if (!status)
            status = check_link(history, chain, err);
    }
    return status;
}

/* Every page of the tree was gone over once, then, and held what the tree says. */
static enum qs_status check_counts(const struct qs_history *history, const struct chain *chain, struct qs_error *err)
{
    const struct db *db = &history->snapshot->dbs[DB_HISTORY];
    if (history->later)
        return QS_OK; /* the file moved on: what was read is no longer one tree */
    if (chain->records != history->snapshot->record.history_count)
        return error_page(err, -1, "the history has %llu records, but the meta record says %llu",
                          (unsigned long long)chain->records,
                          (unsigned long long)history->snapshot->record.history_count);
    if (chain->chunks != db->entries || history->tree.leaves != db->leaf_pages)
        return error_page(err, (int64_t)db->root, "the counts of the tree at page %llu differ from those recorded",
                          (unsigned long long)db->root);
    return QS_OK;
}

enum qs_status qs_history_check(struct qs_history *history, struct qs_error *err)
{
    struct chain chain = {0};
    if (!history)
        return error_misuse(err, __func__);
    history->tree.leaves = 0;
    enum qs_status status = check_from(history, &chain, err);
    while (history_look_again(history, &status, err))
        status = check_from(history, &chain, err);
    if (!status)
        status = check_counts(history, &chain, err);
    return status ? status : check_newest(history, err);
}
