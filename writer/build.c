/* SPDX-License-Identifier: Apache-2.0 */
/* Building a whole store file, and swapping it in. */
#include "writer/build.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "store/env.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct op_list {
    struct env_op *ops;
    size_t count;
    uint8_t (*keys)[HISTORY_KEY_BYTES]; /* of kept history entries */
};

static void op_list_release(struct op_list *list)
{
    free(list->ops);
    free(list->keys);
}

static size_t history_entries(const struct build *build)
{
    size_t count = build->newest ? build->newest->count : 0;
    for (size_t i = 0; i < build->rewritten_count; i++)
        count += build->rewritten[i].count;
    for (size_t i = 0; build->history && i < build->history_count; i++)
        count += build->history->pages.slots[i].chunk_count;
    return count;
}

static void add_chunks(struct op_list *list, const struct history_chunks *chunks)
{
    for (size_t i = 0; i < chunks->count; i++)
        list->ops[list->count++] = (struct env_op){DB_HISTORY, chunks->items[i].key, chunks->items[i].value};
}

static void add_kept_history(struct op_list *list, const struct build *build)
{
    const struct history_pages *pages = &build->history->pages;
    size_t key = 0;
    for (size_t i = 0; i < build->history_count; i++) {
        const struct history_slot *slot = &pages->slots[i];
        for (size_t c = 0; c < slot->chunk_count; c++, key++) {
            history_key(slot->generation, (uint32_t)c, list->keys[key]);
            list->ops[list->count++] =
                (struct env_op){DB_HISTORY, {list->keys[key], HISTORY_KEY_BYTES}, pages->chunks[slot->first_chunk + c]};
        }
    }
}

static void add_area(struct op_list *list, enum store_db db, const struct entry_list *area)
{
    for (size_t i = 0; i < area->count; i++)
        list->ops[list->count++] = (struct env_op){db, area->items[i].key, area->items[i].value};
}

static enum qs_status list_ops(const struct build *build, struct op_list *list, struct qs_error *err)
{
    size_t history = history_entries(build);
    size_t count = history;
    for (int i = 0; i < AREA_COUNT; i++)
        count += build->areas[i].count;
    list->ops = malloc((count + 1) * sizeof *list->ops);
    list->keys = malloc((history + 1) * sizeof *list->keys);
    if (!list->ops || !list->keys)
        return error_memory(err);
    if (build->history)
        add_kept_history(list, build);
    for (size_t i = 0; i < build->rewritten_count; i++)
        add_chunks(list, &build->rewritten[i]);
    if (build->newest)
        add_chunks(list, build->newest);
    add_area(list, DB_LOCKS, &build->areas[AREA_LOCKS]); /* in the order of enum store_db */
    add_area(list, DB_SETTINGS, &build->areas[AREA_SETTINGS]);
    add_area(list, DB_TARGETS, &build->areas[AREA_TARGETS]);
    return QS_OK;
}

enum qs_status build_file(int fd, struct build *build, struct qs_error *err)
{
    AUTO(op_list_release) struct op_list list = {0};
    uint8_t first[META_RECORD_BYTES];
    uint8_t second[META_RECORD_BYTES];
    struct meta_record *record = &build->record;
    record->history_count =
        build->rewritten_count + (build->history ? build->history_count : 0) + (build->newest != NULL);
    for (int i = 0; i < AREA_COUNT; i++)
        record->counts[i] = build->areas[i].count;
    record->txn_id = 1;
    meta_record_encode(record, first);
    record->txn_id = 2;
    meta_record_encode(record, second);
    enum qs_status status = list_ops(build, &list, err);
    return status ? status : env_build(fd, list.ops, list.count, first, second, err);
}

static enum qs_status finish_file(const struct store_dir *dir, int dir_fd, int fd, struct qs_error *err)
{
    struct stat st;
    if (qs_os->fstat(dir_fd, &st))
        return error_sys(err, QS_IO, errno, "the store's directory cannot be examined");
    if (qs_os->geteuid() == 0 && st.st_uid != 0 && qs_os->fchown(fd, st.st_uid, st.st_gid))
        return error_sys(err, QS_IO, errno, "the new store cannot be given to its owner");
    if (qs_os->fchmod(fd, store_dir_data_mode(dir)) || os_fsync(fd))
        return error_sys(err, QS_IO, errno, "the new store cannot be finished");
    return QS_OK;
}

static enum qs_status swap_in(int dir_fd, const char *keep_aside, struct qs_error *err)
{
    if (keep_aside && qs_os->linkat(dir_fd, STORE_DATA_FILE, dir_fd, keep_aside, 0))
        return error_sys(err, QS_IO, errno, "the former file cannot be kept as %s", keep_aside);
    if (qs_os->renameat2(dir_fd, STORE_TEMP_FILE, dir_fd, STORE_DATA_FILE, 0))
        return error_sys(err, QS_IO, errno, "the new store cannot be put in place");
    if (os_fsync_dir(dir_fd)) {
        enum qs_status status = error_sys(err, QS_IO, errno, "the store's directory cannot be flushed");
        error_add_advice(err, "the disk fails: the new store is in place, but may not survive a power cut");
        return status;
    }
    return QS_OK;
}

static enum qs_status build_and_swap(const struct store_dir *dir, int dir_fd, struct build *build,
                                     const char *keep_aside, struct qs_error *err)
{
    AUTO_FD int fd = os_open_at(dir_fd, STORE_TEMP_FILE, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600,
                                RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    if (fd < 0)
        return error_sys(err, QS_IO, errno, "%s cannot be created", STORE_TEMP_FILE);
    enum qs_status status = build_file(fd, build, err);
    if (!status)
        status = finish_file(dir, dir_fd, fd, err);
    if (!status)
        status = swap_in(dir_fd, keep_aside, err);
    if (status) /* gone already if only the flush after the rename failed */
        (void)qs_os->unlinkat(dir_fd, STORE_TEMP_FILE, 0);
    return status;
}

enum qs_status build_replace(const struct store_dir *dir, struct writer *writer, struct build *build,
                             const char *keep_aside, struct qs_error *err)
{
    enum qs_status status = build_and_swap(dir, writer->dir_fd, build, keep_aside, err);
    if (status) {
        error_add_advice(err, "nothing was changed: the store is as it was");
        error_add_file(err, dir->path);
    }
    return status;
}

enum qs_status build_next(const struct store_dir *dir, struct writer *writer, struct build *build,
                          const struct history_entry *entry, const char *keep_aside, struct qs_error *err)
{
    AUTO(history_chunks_release) struct history_chunks newest = {0};
    content_digest(build->areas, build->record.content);
    enum qs_status status = history_build(&build->record, entry, &newest, err);
    if (status)
        return status;
    build->newest = &newest;
    status = build_replace(dir, writer, build, keep_aside, err);
    build->newest = NULL;
    return status;
}
