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
    struct entry_list kept; /* settings without the key */
    struct qs_change *gone;
    size_t gone_count;
};

static void purge_release(struct purge *p)
{
    free(p->kept.items);
    free(p->gone);
    qs_history_close(p->history);
}

static bool is_covered(const struct qs_key *key, enum qs_area area, struct qs_bytes changed)
{
    return area == QS_AREA_SETTINGS && key_covers(key->bytes, key->len, changed.data, changed.len);
}

static enum qs_status rewrite_record(void *context, struct history_record *record, struct qs_error *err)
{
    const struct purge *p = context;
    for (size_t i = 0; i < record->facts.change_count; i++) {
        struct history_change change = history_record_change(record, i);
        if (!is_covered(&p->key, change.area, change.key))
            continue;
        enum qs_status status = history_record_purge(record, i, err);
        if (status)
            return status;
    }
    return QS_OK;
}

static bool concerns(const void *context, const struct change_head *head)
{
    return is_covered(context, head->area, head->key);
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
    struct build build = {
        .record = base->record, .areas = areas, .history = p->history, .rewrite = rewrite_record, .context = p};
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

/* Do settings or history contain the key? */
static enum qs_status check_found(struct purge *p, const char *key, struct qs_error *err)
{
    uint64_t generation = 0;
    enum qs_status status = p->gone_count ? QS_OK
                                          : history_search(p->history, p->history->snapshot->record.generation,
                                                           concerns, &p->key, &generation, err);
    if (status || p->gone_count || generation)
        return status;
    error_set(err, QS_NOT_FOUND, "neither the settings nor the history contain this key");
    error_add_path(err, key);
    return QS_NOT_FOUND;
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
    status = split_settings(&p, err);
    if (!status)
        status = check_found(&p, key, err);
    if (status)
        return status;
    status = txn_check_fleet(&store->dir, p.history->snapshot, p.gone, p.gone_count, false, err);
    return status ? status : build_purged(store, &writer, &p, message, ret_info, err);
}
