/* SPDX-License-Identifier: Apache-2.0 */
/* restore: a backup's content as a new generation. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "base/sized.h"
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

/* The history that goes on: the present one if it is the same store's and has all that the backup's has. */
static struct qs_history *history_to_keep(const struct restore *r)
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
    size_t first = 0;
    size_t end = 0;
    size_t kept_first = 0;
    size_t kept_end = 0;
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
    struct qs_history *keep = history_to_keep(r);
    const struct qs_snapshot *content = r->backup->snapshot;
    const struct qs_snapshot *present = r->present ? r->present->snapshot : NULL;
    AUTO(entry_list_release) struct entry_list settings = {0};
    AUTO_FREE struct qs_change *changes = NULL;
    char message[80];
    enum qs_status status = settings_to_restore(r, &settings, err);
    if (status)
        return status;
    struct entry_list areas[AREA_COUNT] = {settings, content->areas[AREA_LOCKS], content->areas[AREA_TARGETS]};
    struct build build = {.areas = areas, .history = keep, .record = keep->snapshot->record};
    struct history_entry entry = {.action = HISTORY_RESTORE,
                                  .previous = keep->snapshot->record.newest_history,
                                  .message = message};
    build.record.flags = content->record.flags;
    status = diff_contents(keep->snapshot, areas, build.record.flags, &changes, &entry.change_count, err);
    if (status)
        return status;
    entry.changes = changes;
    status = txn_check_fleet(&store->dir, present, changes, entry.change_count, true, err);
    if (status)
        return status;
    (void)snprintf(message, sizeof message, "restored from a backup of generation %llu",
                   (unsigned long long)content->record.generation);
    build.record.generation = r->known + 1;
    status = build_next(&store->dir, writer, &build, &entry, NULL, err);
    if (status)
        return status;
    struct qs_commit_info info = history_commit_info(&build.record, entry.change_count);
    info.changed = true; /* a new generation even if the content is the same */
    sized_give(ret_info, &info, sizeof info);
    return QS_OK;
}

static enum qs_status read_present(struct qs_store *store, struct writer *writer, struct restore *r,
                                   struct qs_error *err)
{
    struct stat st;
    struct qs_error damage = {0}; /* is what restore is for, not a failure of it */
    enum qs_status status = store_dir_open_data(&store->dir, writer->dir_fd, true, &writer->data_fd, &st, &damage);
    if (!status)
        status = maintenance_read(writer->data_fd, &r->present, &damage);
    if (!status) {
        r->known = r->present->snapshot->record.generation;
        return QS_OK;
    }
    if (status != QS_DAMAGED) {
        if (err)
            *err = damage;
        return status;
    }
    if (writer->data_fd < 0)
        return QS_OK;
    status = highest_generation(writer->data_fd, store->dir.scope, &r->known, err);
    r->known++; /* its record may be what was damaged */
    return status;
}

static enum qs_status open_backup(const char *file, enum qs_scope scope, struct restore *r, struct qs_error *err)
{
    struct stat st;
    AUTO_FD int fd = os_open_at(AT_FDCWD, file, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, 0);
    if (fd < 0)
        return error_sys(err, errno == ENOENT ? QS_NOT_FOUND : QS_IO, errno, "the backup cannot be opened");
    if (qs_os->fstat(fd, &st))
        return error_sys(err, QS_IO, errno, "the backup cannot be examined");
    if (!S_ISREG(st.st_mode))
        return error_set(err, QS_INVALID, "the backup is not a regular file");
    enum qs_status status = history_open_file(fd, file, &r->backup, err);
    if (status)
        return status;
    if (r->backup->snapshot->record.scope != scope)
        return error_set(err, QS_INVALID, "the backup is of scope %s, not %s",
                         qs_scope_name(r->backup->snapshot->record.scope), qs_scope_name(scope));
    return qs_history_check(r->backup, err);
}

static enum qs_status read_backup(const char *file, enum qs_scope scope, struct restore *r, struct qs_error *err)
{
    enum qs_status status = open_backup(file, scope, r, err);
    if (status) {
        error_add_file(err, file);
        if (err && status == QS_DAMAGED) /* repair and fsck are for stores */
            err->advice[0] = '\0';
        error_add_advice(err, "the store was left as it is; restore needs a file that backup wrote");
    }
    return status;
}

static void restore_release(struct restore *r)
{
    qs_history_close(r->present);
    qs_history_close(r->backup);
}

static enum qs_status restore(struct qs_store *store, unsigned wait_ms, struct restore *r,
                              struct qs_commit_info *ret_info, struct qs_error *err)
{
    AUTO(writer_close) struct writer writer = WRITER_NONE;
    enum qs_status status = writer_open(&store->dir, wait_ms, &writer, err);
    if (status)
        return status;
    status = read_present(store, &writer, r, err);
    if (status)
        return status;
    if (r->backup->snapshot->record.generation > r->known)
        r->known = r->backup->snapshot->record.generation;
    return build_restored(store, &writer, r, ret_info, err);
}

enum qs_status qs_store_restore(struct qs_store *store, const char *file, unsigned wait_ms,
                                struct qs_commit_info *ret_info, struct qs_error *err)
{
    AUTO(restore_release) struct restore r = {0};
    if (!store || !file)
        return error_misuse(err, __func__);
    enum qs_status status = history_check_info(ret_info, __func__, err);
    if (status)
        return status;
    status = read_backup(file, store->dir.scope, &r, err);
    if (status)
        return status;
    status = restore(store, wait_ms, &r, ret_info, err);
    if (status)
        error_add_file(err, store->dir.path);
    return status;
}
