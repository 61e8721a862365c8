/* SPDX-License-Identifier: Apache-2.0 */
/* restore: a backup's content as a new generation. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "qsettings/maintenance.h"
#include "text/key_path.h"
#include "writer/build.h"
#include "writer/maintenance_internal.h"
#include "writer/txn_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void add_change(struct qs_change *changes, size_t *count, int area, const struct leaf *old_leaf,
                       const struct leaf *new_leaf)
{
    if (old_leaf && new_leaf && old_leaf->value.len == new_leaf->value.len &&
        memcmp(old_leaf->value.data, new_leaf->value.data, old_leaf->value.len) == 0)
        return;
    const struct qs_bytes none = {NULL, 0};
    changes[(*count)++] = (struct qs_change){.area = (enum qs_area)(QS_AREA_SETTINGS + area),
                                             .key = old_leaf ? old_leaf->key : new_leaf->key,
                                             .old_value = old_leaf ? old_leaf->value : none,
                                             .new_value = new_leaf ? new_leaf->value : none};
}

static void diff_area(int area, const struct entry_list *from, const struct entry_list *to, struct qs_change *changes,
                      size_t *count)
{
    size_t f = 0;
    size_t t = 0;
    while (f < from->count || t < to->count) {
        const struct leaf *old_leaf = f < from->count ? &from->items[f] : NULL;
        const struct leaf *new_leaf = t < to->count ? &to->items[t] : NULL;
        int order = !old_leaf ? 1 : -1;
        if (old_leaf && new_leaf)
            order = key_compare(old_leaf->key.data, old_leaf->key.len, new_leaf->key.data, new_leaf->key.len);
        add_change(changes, count, area, order <= 0 ? old_leaf : NULL, order >= 0 ? new_leaf : NULL);
        f += order <= 0;
        t += order >= 0;
    }
}

/* The changes that lead from one content to another, settings, locks and targets; heap memory of the caller. */
static enum qs_status diff_contents(const struct qs_snapshot *from, const struct entry_list to[AREA_COUNT],
                                    uint32_t flags, struct qs_change **ret_changes, size_t *ret_count,
                                    struct qs_error *err)
{
    size_t most = 1;
    size_t count = 0;
    for (int area = 0; area < AREA_COUNT; area++)
        most += from->areas[area].count + to[area].count;
    struct qs_change *changes = malloc(most * sizeof *changes);
    if (!changes)
        return error_memory(err);
    for (int area = 0; area < AREA_COUNT; area++)
        diff_area(area, &from->areas[area], &to[area], changes, &count);
    bool was = from->record.flags & META_RECORD_REQUIRE_POLICY;
    bool is = flags & META_RECORD_REQUIRE_POLICY;
    if (was != is)
        changes[count++] = (struct qs_change){.area = QS_AREA_FLAGS,
                                              .key = {"requirePolicy", 13},
                                              .old_value = {was ? "true" : "false", was ? 4 : 5},
                                              .new_value = {is ? "true" : "false", is ? 4 : 5}};
    *ret_changes = changes;
    *ret_count = count;
    return QS_OK;
}

struct restore {
    struct qs_history *present; /* NULL: damaged */
    struct qs_history *backup;
    uint64_t known; /* the highest generation that anything names */
};

/* The history that goes on: the present one where it is the same store's and holds all that the backup's does. */
static const struct qs_history *history_to_keep(const struct restore *r)
{
    if (!r->present ||
        memcmp(r->present->snapshot->record.store_id, r->backup->snapshot->record.store_id, QS_STORE_ID_BYTES) != 0)
        return r->backup;
    bool longer = r->present->snapshot->record.generation >= r->backup->snapshot->record.generation;
    return longer ? r->present : r->backup;
}

/* The backup's settings, but for the key fleet, which stays what it is in the present store if that can be read. */
static enum qs_status settings_to_restore(const struct restore *r, struct entry_list *ret_list, struct qs_error *err)
{
    static const struct qs_key fleet = {.len = 5, .bytes = "fleet"};
    const struct entry_list *from = &r->backup->snapshot->areas[AREA_SETTINGS];
    const struct entry_list *kept = r->present ? &r->present->snapshot->areas[AREA_SETTINGS] : from;
    size_t first = 0, end = 0, kept_first = 0, kept_end = 0;
    snapshot_range(from, &fleet, &first, &end);
    snapshot_range(kept, &fleet, &kept_first, &kept_end);
    struct entry_list list = {calloc(from->count + kept_end - kept_first + 1, sizeof *list.items), 0};
    if (!list.items)
        return error_memory(err);
    for (size_t i = 0; i < first; i++)
        list.items[list.count++] = from->items[i];
    for (size_t i = kept_first; i < kept_end; i++)
        list.items[list.count++] = kept->items[i];
    for (size_t i = end; i < from->count; i++)
        list.items[list.count++] = from->items[i];
    *ret_list = list;
    return QS_OK;
}

static enum qs_status build_restored(struct qs_store *store, struct writer *writer, struct restore *r,
                                     struct qs_commit_info *ret_info, struct qs_error *err)
{
    const struct qs_history *keep = history_to_keep(r);
    AUTO_FREE struct qs_change *changes = NULL;
    size_t change_count = 0;
    char message[80];
    struct history_identity identity;
    struct history_chunks newest = {0};
    struct entry_list areas[AREA_COUNT] = {{NULL, 0},
                                           r->backup->snapshot->areas[AREA_LOCKS],
                                           r->backup->snapshot->areas[AREA_TARGETS]};
    enum qs_status status = settings_to_restore(r, &areas[AREA_SETTINGS], err);
    AUTO_FREE struct leaf *settings = areas[AREA_SETTINGS].items;
    struct build build = {.areas = areas,
                          .history = keep,
                          .history_count = qs_history_count(keep),
                          .newest = &newest,
                          .record = keep->snapshot->record};
    if (!status)
        status = diff_contents(keep->snapshot, areas, r->backup->snapshot->record.flags, &changes, &change_count, err);
    if (!status)
        status =
            txn_check_fleet(&store->dir, r->present ? r->present->snapshot : NULL, changes, change_count, true, err);
    history_identity_now(NULL, &identity);
    (void)snprintf(message, sizeof message, "restored from a backup of generation %llu",
                   (unsigned long long)r->backup->snapshot->record.generation);
    build.record.generation = r->known + 1;
    build.record.time_s = identity.time_s;
    build.record.time_ns = identity.time_ns;
    build.record.flags = r->backup->snapshot->record.flags;
    if (!status) {
        content_digest(build.areas, build.record.content);
        status = history_build(&build.record, keep->snapshot->record.newest_history, HISTORY_RESTORE, &identity,
                               message, changes, change_count, &newest, err);
    }
    if (!status)
        status = build_replace(&store->dir, writer, &build, NULL, err);
    if (!status && ret_info) {
        *ret_info = history_commit_info(&build.record, change_count);
        ret_info->changed = true; /* a new generation even if the content is the same */
    }
    history_chunks_release(&newest);
    return status;
}

static enum qs_status read_present(struct qs_store *store, struct writer *writer, struct restore *r,
                                   struct qs_error *err)
{
    struct stat st;
    struct qs_error damage = {0}; /* is what restore is for, not a failure of it */
    enum qs_status status = store_dir_open_data(&store->dir, writer->dir_fd, true, &writer->data_fd, &st, &damage);
    if (!status)
        status = maintenance_read(writer->data_fd, &r->present, &damage);
    if (!status)
        r->known = r->present->snapshot->record.generation;
    if (status && status != QS_DAMAGED && err)
        *err = damage;
    if (status != QS_DAMAGED)
        return status;
    if (writer->data_fd >= 0)
        r->known = highest_generation(writer->data_fd, store->dir.scope) + 1; /* its record may be what was damaged */
    return QS_OK;
}

static enum qs_status read_backup(const char *file, struct restore *r, struct qs_error *err)
{
    AUTO_FD int fd = os_open_at(AT_FDCWD, file, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, 0);
    struct stat st;
    enum qs_status status = QS_OK;
    if (fd < 0)
        status = error_sys(err, errno == ENOENT ? QS_NOT_FOUND : QS_IO, errno, "the backup cannot be opened");
    else if (qs_os->fstat(fd, &st))
        status = error_sys(err, QS_IO, errno, "the backup cannot be examined");
    else if (!S_ISREG(st.st_mode))
        status = error_set(err, QS_INVALID, "the backup is no regular file");
    if (!status)
        status = history_open_file(fd, file, &r->backup, err);
    if (!status)
        status = qs_history_check(r->backup, err);
    if (status) {
        error_add_file(err, file);
        if (err && status == QS_DAMAGED) /* repair and fsck are for stores */
            err->advice[0] = '\0';
        error_add_advice(err, "the store was left as it is; restore needs a file that backup wrote");
    }
    return status;
}

enum qs_status qs_store_restore(struct qs_store *store, const char *file, unsigned wait_ms,
                                struct qs_commit_info *ret_info, struct qs_error *err)
{
    struct writer writer = WRITER_NONE;
    struct restore r = {0};
    enum qs_status status = read_backup(file, &r, err);
    if (!status && r.backup->snapshot->record.scope != store->dir.scope) {
        status = error_set(err, QS_INVALID, "the backup is of scope %s, not %s",
                           qs_scope_name(r.backup->snapshot->record.scope), qs_scope_name(store->dir.scope));
        error_add_file(err, file);
    }
    if (!status)
        status = writer_open(&store->dir, wait_ms, &writer, err);
    if (!status)
        status = read_present(store, &writer, &r, err);
    if (!status && r.backup->snapshot->record.generation > r.known)
        r.known = r.backup->snapshot->record.generation;
    if (!status)
        status = build_restored(store, &writer, &r, ret_info, err);
    if (status)
        error_add_file(err, store->dir.path);
    qs_history_close(r.present);
    qs_history_close(r.backup);
    writer_close(&writer);
    return status;
}
