/* SPDX-License-Identifier: Apache-2.0 */
/* purge: a key's values out of settings and history, and the file rebuilt so that no free page keeps a copy. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "qsettings/maintenance.h"
#include "text/key_path.h"
#include "writer/build.h"
#include "writer/maintenance_internal.h"
#include "writer/txn_internal.h"

#include <string.h>

struct purge {
    struct qs_history *history;
    struct qs_key key;
    struct history_chunks *records; /* one per history record, rewritten */
    size_t record_count;
    struct entry_list kept; /* settings without the key */
    struct qs_change *gone;
    size_t gone_count;
    bool found;
};

static void purge_release(struct purge *p)
{
    for (size_t i = 0; i < p->record_count; i++)
        history_chunks_release(&p->records[i]);
    free(p->records);
    free(p->kept.items);
    free(p->gone);
    qs_history_close(p->history);
}

static enum qs_status rewrite_record(struct purge *p, size_t index, struct qs_error *err)
{
    AUTO(buf_release) struct buf bytes = {0};
    struct history_record *record = &p->history->current;
    enum qs_status status = history_load(p->history, index, err);
    if (status)
        return status;
    for (size_t i = 0; i < record->facts.change_count; i++) {
        struct history_change change = history_record_change(record, i);
        if (change.area != QS_AREA_SETTINGS || !key_covers(p->key.bytes, p->key.len, change.key.data, change.key.len))
            continue;
        p->found = true;
        status = history_record_purge(record, i, err);
        if (status)
            return status;
    }
    status = history_record_encode(record, &bytes, err);
    if (status)
        return status;
    status = history_cut(record->facts.generation, &bytes, &p->records[p->record_count], err);
    if (status)
        return status;
    p->record_count++;
    return QS_OK;
}

static enum qs_status split_settings(struct purge *p, struct qs_error *err)
{
    const struct entry_list *all = &p->history->snapshot->areas[AREA_SETTINGS];
    p->kept.items = malloc((all->count + 1) * sizeof *p->kept.items);
    p->gone = malloc((all->count + 1) * sizeof *p->gone);
    if (!p->kept.items || !p->gone)
        return error_memory(err);
    for (size_t i = 0; i < all->count; i++) {
        const struct leaf *leaf = &all->items[i];
        if (!key_covers(p->key.bytes, p->key.len, leaf->key.data, leaf->key.len)) {
            p->kept.items[p->kept.count++] = *leaf;
            continue;
        }
        p->found = true;
        p->gone[p->gone_count++] =
            (struct qs_change){.area = QS_AREA_SETTINGS, .key = leaf->key, .old_value = leaf->value};
    }
    return QS_OK;
}

static enum qs_status build_purged(struct qs_store *store, struct writer *writer, struct purge *p, const char *message,
                                   struct qs_commit_info *ret_info, struct qs_error *err)
{
    const struct qs_snapshot *base = p->history->snapshot;
    const struct entry_list areas[AREA_COUNT] = {p->kept, base->areas[AREA_LOCKS], base->areas[AREA_TARGETS]};
    struct build build = {.record = base->record,
                          .areas = areas,
                          .rewritten = p->records,
                          .rewritten_count = p->record_count};
    struct history_entry entry = {.action = HISTORY_PURGE,
                                  .previous = base->record.newest_history,
                                  .message = message,
                                  .changes = p->gone,
                                  .change_count = p->gone_count};
    build.record.generation++;
    enum qs_status status = build_next(&store->dir, writer, &build, &entry, NULL, err);
    if (status)
        return status;
    struct qs_commit_info info = history_commit_info(&build.record, p->gone_count);
    info.changed = true; /* the history, if not the settings */
    sized_give(ret_info, &info, sizeof info);
    return QS_OK;
}

static enum qs_status rewrite_all(struct purge *p, struct qs_error *err)
{
    size_t count = qs_history_count(p->history);
    p->records = calloc(count + 1, sizeof *p->records);
    if (!p->records)
        return error_memory(err);
    for (size_t i = 0; i < count; i++) {
        enum qs_status status = rewrite_record(p, i, err);
        if (status)
            return status;
    }
    return QS_OK;
}

enum qs_status qs_store_purge(struct qs_store *store, const char *key, const char *message, unsigned wait_ms,
                              struct qs_commit_info *ret_info, struct qs_error *err)
{
    AUTO(writer_close) struct writer writer = WRITER_NONE;
    AUTO(purge_release) struct purge p = {0};
    if (!store || !key)
        return error_misuse(err, __func__);
    enum qs_status status = history_check_info(ret_info, __func__, err);
    if (status)
        return status;
    status = qs_key_parse(key, &p.key, err);
    if (status)
        return status;
    status = maintenance_begin(store, wait_ms, &writer, &p.history, err);
    if (status)
        return status;
    status = rewrite_all(&p, err);
    if (status)
        return status;
    status = split_settings(&p, err);
    if (status)
        return status;
    if (!p.found) {
        error_set(err, QS_NOT_FOUND, "neither the settings nor the history contain this key");
        error_add_path(err, key);
        return QS_NOT_FOUND;
    }
    status = txn_check_fleet(&store->dir, p.history->snapshot, p.gone, p.gone_count, false, err);
    return status ? status : build_purged(store, &writer, &p, message, ret_info, err);
}
