/* SPDX-License-Identifier: Apache-2.0 */
/* purge: a key's values out of settings and history, and the file rebuilt so that no free page keeps a copy. */
#include "base/cleanup.h"
#include "base/error.h"
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
}

static enum qs_status rewrite_record(struct purge *p, size_t index, struct qs_error *err)
{
    struct buf bytes = {0};
    enum qs_status status = history_load(p->history, index, err);
    struct history_record *record = &p->history->current;
    for (size_t i = 0; !status && i < record->facts.change_count; i++) {
        struct history_change change = history_record_change(record, i);
        if (change.area != QS_AREA_SETTINGS || !key_covers(p->key.bytes, p->key.len, change.key.data, change.key.len))
            continue;
        p->found = true;
        status = history_record_purge(record, i, err);
    }
    if (!status)
        status = history_record_encode(record, &bytes, err);
    if (!status)
        status = history_cut(record->facts.generation, &bytes, &p->records[p->record_count], err);
    if (!status)
        p->record_count++;
    buf_release(&bytes);
    return status;
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
    struct history_chunks newest = {0};
    struct history_identity identity;
    history_identity_now(NULL, &identity);
    struct build build = {.record = base->record,
                          .areas = areas,
                          .rewritten = p->records,
                          .rewritten_count = p->record_count,
                          .newest = &newest};
    build.record.generation++;
    build.record.time_s = identity.time_s;
    build.record.time_ns = identity.time_ns;
    content_digest(areas, build.record.content);
    enum qs_status status = history_build(&build.record, base->record.newest_history, HISTORY_PURGE, &identity, message,
                                          p->gone, p->gone_count, &newest, err);
    if (!status)
        status = build_replace(&store->dir, writer, &build, NULL, err);
    if (!status && ret_info) {
        *ret_info = history_commit_info(&build.record, p->gone_count);
        ret_info->changed = true; /* the history, if not the settings */
    }
    history_chunks_release(&newest);
    return status;
}

enum qs_status qs_store_purge(struct qs_store *store, const char *key, const char *message, unsigned wait_ms,
                              struct qs_commit_info *ret_info, struct qs_error *err)
{
    struct writer writer = WRITER_NONE;
    struct purge p = {0};
    enum qs_status status = qs_key_parse(key, &p.key, err);
    if (!status)
        status = maintenance_begin(store, wait_ms, &writer, &p.history, err);
    if (!status) {
        p.records = calloc(qs_history_count(p.history) + 1, sizeof *p.records);
        if (!p.records)
            status = error_memory(err);
    }
    for (size_t i = 0; !status && i < qs_history_count(p.history); i++)
        status = rewrite_record(&p, i, err);
    if (!status)
        status = split_settings(&p, err);
    if (!status && !p.found) {
        status = error_set(err, QS_NOT_FOUND, "neither the settings nor the history know this key");
        error_add_path(err, key);
    }
    if (!status)
        status = txn_check_fleet(&store->dir, p.history->snapshot, p.gone, p.gone_count, false, err);
    if (!status)
        status = build_purged(store, &writer, &p, message, ret_info, err);
    purge_release(&p);
    qs_history_close(p.history);
    writer_close(&writer);
    return status;
}
