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

/* ---- the entries, one after the other ---- */

enum part { PART_KEPT, PART_REWRITTEN, PART_NEWEST, PART_LOCKS, PART_SETTINGS, PART_TARGETS, PART_END };

struct entries {
    struct build *build;
    enum part part;
    size_t at;                    /* in the chunks or the list at hand */
    struct history_cursor cursor; /* of what is kept as it is */
    struct history_chunks chunks; /* of the record that was rewritten last */
    uint64_t generation;          /* of the record that was given last */
    uint8_t key[HISTORY_KEY_BYTES];
};

static void entries_release(struct entries *e)
{
    history_chunks_release(&e->chunks);
}

static void go_on(struct entries *e, enum part part)
{
    e->part = part;
    e->at = 0;
}

static enum qs_status begin(struct entries *e, struct qs_error *err)
{
    struct build *build = e->build;
    e->generation = build->first ? build->first - 1 : 0;
    go_on(e, !build->history ? PART_NEWEST : build->rewrite ? PART_REWRITTEN : PART_KEPT);
    return e->part != PART_KEPT
               ? QS_OK
               : history_seek(&build->history->tree, (struct history_place){build->first, 0}, &e->cursor, err);
}

static bool is_kept(const struct build *build, uint64_t generation)
{
    uint64_t last = build->last ? build->last : build->history->snapshot->record.generation;
    return generation != 0 && generation <= last;
}

/* Records as they are: chunk by chunk. */
static enum qs_status next_kept(struct entries *e, struct env_op *ret_op, struct qs_error *err)
{
    struct history_tree *tree = &e->build->history->tree;
    struct history_place place = {0};
    struct qs_bytes bytes = {NULL, 0};
    enum qs_status status = QS_OK;
    if (e->at++ > 0)
        status = history_next(tree, &e->cursor, err);
    if (!status && !e->cursor.beyond)
        status = history_chunk(tree, &e->cursor, &place, &bytes, err);
    if (status)
        return status;
    if (!is_kept(e->build, place.generation)) {
        go_on(e, PART_NEWEST);
        return QS_OK;
    }
    e->build->record.history_count += place.chunk == 0;
    history_key(place.generation, place.chunk, e->key);
    *ret_op = (struct env_op){DB_HISTORY, {e->key, HISTORY_KEY_BYTES}, bytes};
    return QS_OK;
}

static struct env_op chunk_op(const struct history_chunks *chunks, size_t index)
{
    return (struct env_op){DB_HISTORY, chunks->items[index].key, chunks->items[index].value};
}

/* The next record, through the caller's hands. Past the last one: part moves on. */
static enum qs_status rewrite_next(struct entries *e, struct qs_error *err)
{
    struct build *build = e->build;
    struct qs_history *history = build->history;
    AUTO(buf_release) struct buf bytes = {0};
    enum qs_status status = history_after(history, e->generation, &e->generation, err);
    if (status)
        return status;
    if (!is_kept(build, e->generation)) {
        go_on(e, PART_NEWEST);
        return QS_OK;
    }
    status = history_load(history, e->generation, err);
    if (!status)
        status = build->rewrite(build->context, &history->current, err);
    if (!status)
        status = history_record_encode(&history->current, &bytes, err);
    if (status)
        return status;
    history_chunks_release(&e->chunks);
    build->record.history_count++;
    e->at = 0;
    return history_cut(e->generation, &bytes, &e->chunks, err);
}

static enum qs_status next_rewritten(struct entries *e, struct env_op *ret_op, struct qs_error *err)
{
    enum qs_status status = e->at < e->chunks.count ? QS_OK : rewrite_next(e, err);
    if (!status && e->part == PART_REWRITTEN)
        *ret_op = chunk_op(&e->chunks, e->at++);
    return status;
}

static void next_of_list(struct entries *e, enum store_db db, const struct entry_list *list, struct env_op *ret_op)
{
    if (e->at == list->count) {
        go_on(e, (enum part)(e->part + 1));
        return;
    }
    *ret_op = (struct env_op){db, list->items[e->at].key, list->items[e->at].value};
    e->at++;
}

static enum qs_status next_entry(void *context, struct env_op *ret_op, struct qs_error *err)
{
    struct entries *e = context;
    const struct build *build = e->build;
    enum qs_status status = QS_OK;
    while (!status && !ret_op->key.data && e->part != PART_END) {
        switch (e->part) {
        case PART_KEPT:
            status = next_kept(e, ret_op, err);
            break;
        case PART_REWRITTEN:
            status = next_rewritten(e, ret_op, err);
            break;
        case PART_NEWEST:
            if (build->newest && e->at < build->newest->count)
                *ret_op = chunk_op(build->newest, e->at++);
            else
                go_on(e, PART_LOCKS);
            break;
        case PART_LOCKS:
            next_of_list(e, DB_LOCKS, &build->areas[AREA_LOCKS], ret_op);
            break;
        case PART_SETTINGS:
            next_of_list(e, DB_SETTINGS, &build->areas[AREA_SETTINGS], ret_op);
            break;
        case PART_TARGETS:
            next_of_list(e, DB_TARGETS, &build->areas[AREA_TARGETS], ret_op);
            break;
        case PART_END:
            break;
        }
    }
    return status;
}

enum qs_status build_file(int fd, struct build *build, struct qs_error *err)
{
    AUTO(entries_release) struct entries entries = {.build = build};
    struct meta_record *record = &build->record;
    record->history_count = build->newest != NULL;
    for (int i = 0; i < AREA_COUNT; i++)
        record->counts[i] = build->areas[i].count;
    enum qs_status status = begin(&entries, err);
    const struct env_source source = {next_entry, &entries, record};
    return status ? status : env_build(fd, &source, err);
}

/* ---- the file in its place ---- */

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
