/* SPDX-License-Identifier: Apache-2.0 */
/* fsck, compact, backup; and reading all of a store, which every command that rebuilds one begins with. */
#include "qsettings/maintenance.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "base/sized.h"
#include "writer/build.h"
#include "writer/maintenance_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- fsck ---- */

enum qs_status qs_store_fsck(struct qs_store *store, struct qs_fsck_report *ret_report, struct qs_error *err)
{
    AUTO(snapshot_release) struct qs_snapshot *snapshot = NULL;
    AUTO(history_release) struct qs_history *history = NULL;
    AUTO_FD int fd = -1;
    if (!store)
        return error_misuse(err, __func__);
    enum qs_status status = sized_check(ret_report, SIZED_FIRST(struct qs_fsck_report, digest), __func__, err);
    if (status)
        return status;
    status = snapshot_read(&store->dir, store->wait_ms, SNAPSHOT_HISTORY | SNAPSHOT_WRITER, &fd, &snapshot, err);
    if (!status)
        status = history_make(&fd, &snapshot, &history, err);
    if (!status)
        status = qs_history_check(history, err);
    if (status) {
        error_add_file(err, store->dir.path);
        return status;
    }
    const struct qs_snapshot *s = history->snapshot;
    struct qs_fsck_report report = {.generation = s->record.generation,
                                    .txn_id = s->meta.txn_id,
                                    .pages = s->used_pages + 2,
                                    .free_pages = s->free_pages,
                                    .entries = s->record.counts[AREA_SETTINGS],
                                    .records = qs_history_count(history)};
    memcpy(report.digest, s->record.content, QS_DIGEST_BYTES);
    sized_give(ret_report, &report, sizeof report);
    return QS_OK;
}

/* ---- what all rebuilding commands begin with ---- */

enum qs_status maintenance_read(int fd, struct qs_history **ret_history, struct qs_error *err)
{
    AUTO(snapshot_release) struct qs_snapshot *snapshot = NULL;
    AUTO(history_release) struct qs_history *history = NULL;
    const struct verified_read how = {SLOT_NEWER, SNAPSHOT_WRITER | SNAPSHOT_HISTORY, 0};
    enum qs_status status = verified_read(fd, &how, &snapshot, err);
    if (status)
        return status;
    AUTO_FD int own = dup(fd);
    if (own < 0)
        return error_sys(err, QS_IO, errno, "the store cannot be kept open");
    status = history_make(&own, &snapshot, &history, err);
    if (!status)
        status = qs_history_check(history, err);
    if (!status)
        *ret_history = STEAL(history);
    return status;
}

enum qs_status maintenance_begin(struct qs_store *store, unsigned wait_ms, struct writer *writer,
                                 struct qs_history **ret_history, struct qs_error *err)
{
    struct stat st;
    enum qs_status status = writer_open(&store->dir, wait_ms, writer, err);
    if (!status)
        status = store_dir_open_data(&store->dir, writer->dir_fd, true, &writer->data_fd, &st, err);
    if (!status)
        status = maintenance_read(writer->data_fd, ret_history, err);
    if (status)
        error_add_file(err, store->dir.path);
    return status;
}

/* ---- compact ---- */

enum qs_status qs_store_compact(struct qs_store *store, unsigned wait_ms, struct qs_error *err)
{
    AUTO(writer_close) struct writer writer = WRITER_NONE;
    AUTO(history_release) struct qs_history *history = NULL;
    if (!store)
        return error_misuse(err, __func__);
    enum qs_status status = maintenance_begin(store, wait_ms, &writer, &history, err);
    if (status)
        return status;
    struct build build = {.record = history->snapshot->record, .areas = history->snapshot->areas, .history = history};
    return build_replace(&store->dir, &writer, &build, NULL, err);
}

/* ---- backup ---- */

/* A file without a name yet, so that a killed backup leaves nothing behind; where the file system has none such, one
 * with a name. */
static int open_backup(int dir_fd, const char *temp, bool *ret_named)
{
    int fd = os_open_at(dir_fd, ".", O_RDWR | O_TMPFILE, 0600, 0);
    *ret_named = fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL);
    return *ret_named ? os_open_at(dir_fd, temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, 0) : fd;
}

/* Gives the file its name: over another one by way of temp, since a link replaces nothing. See open(2), O_TMPFILE. */
static enum qs_status name_backup(int dir_fd, int fd, const char *temp, bool named, const char *name, bool replace,
                                  struct qs_error *err)
{
    char path[32];
    int code = 0;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!named)
        code = qs_os->linkat(AT_FDCWD, path, dir_fd, replace ? temp : name, AT_SYMLINK_FOLLOW);
    if (!code && (named || replace))
        code = qs_os->renameat2(dir_fd, temp, dir_fd, name, replace ? 0 : RENAME_NOREPLACE);
    if (!code)
        return QS_OK;
    if (errno != EEXIST)
        return error_sys(err, QS_IO, errno, "the backup cannot be put in place");
    error_set(err, QS_CONFLICT, "the file exists already");
    error_add_advice(err, "name another file, or replace it with --force");
    return QS_CONFLICT;
}

static enum qs_status write_backup(int dir_fd, const char *name, bool replace, struct qs_history *history,
                                   struct qs_error *err)
{
    char temp[64];
    uint64_t random = 0;
    bool named = false;
    enum qs_status status = os_random(&random, sizeof random, err);
    if (status)
        return status;
    (void)snprintf(temp, sizeof temp, ".qsettings-backup-%016llx", (unsigned long long)random);
    AUTO_FD int fd = open_backup(dir_fd, temp, &named);
    if (fd < 0)
        return error_sys(err, QS_IO, errno, "the backup cannot be created");
    struct build build = {.record = history->snapshot->record, .areas = history->snapshot->areas, .history = history};
    status = build_file(fd, &build, err);
    if (!status && (qs_os->fchmod(fd, 0600) || os_fsync(fd)))
        status = error_sys(err, QS_IO, errno, "the backup cannot be flushed");
    if (!status)
        status = name_backup(dir_fd, fd, temp, named, name, replace, err);
    if (status) {
        (void)qs_os->unlinkat(dir_fd, temp, 0);
        error_add_advice(err, "no backup was written");
        return status;
    }
    if (os_fsync(dir_fd)) {
        status = error_sys(err, QS_IO, errno, "the backup's directory cannot be flushed");
        error_add_advice(err, "the backup is in place, but may not survive a power cut");
    }
    return status;
}

static enum qs_status backup(struct qs_store *store, const char *file, bool replace, struct qs_error *err)
{
    AUTO(history_release) struct qs_history *history = NULL;
    const char *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file;
    AUTO_FREE char *dir = slash ? strndup(file, (size_t)(slash - file) + 1) : strdup(".");
    if (!dir)
        return error_memory(err);
    if (!name[0])
        return error_set(err, QS_USAGE, "%s names a directory", file);
    AUTO_FD int dir_fd = os_open_at(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0, 0);
    if (dir_fd < 0)
        return error_sys(err, errno == ENOENT ? QS_NOT_FOUND : QS_IO, errno, "the backup's directory cannot be opened");
    enum qs_status status = qs_history_open(store, &history, err);
    if (status)
        return status;
    status = qs_history_check(history, err);
    if (status) {
        error_add_file(err, store->dir.path);
        return status;
    }
    return write_backup(dir_fd, name, replace, history, err);
}

enum qs_status qs_store_backup(struct qs_store *store, const char *file, bool replace, struct qs_error *err)
{
    if (!store || !file)
        return error_misuse(err, __func__);
    enum qs_status status = backup(store, file, replace, err);
    if (status)
        error_add_file(err, file);
    return status;
}

/* ---- the highest generation ---- */

#define SCAN_BYTES ((size_t)64 * 1024)

/* A meta record carries its own hash and lies whole within one page: it is found without any tree that leads to it. A
 * settings text cannot pass for one, for it holds no zero bytes. */
static void scan(const uint8_t *data, size_t len, enum qs_scope scope, uint64_t *newest)
{
    const uint8_t *end = data + len;
    for (const uint8_t *at = data; (size_t)(end - at) >= META_RECORD_BYTES; at++) {
        struct meta_record record;
        at = memmem(at, (size_t)(end - at), META_RECORD_MAGIC, META_RECORD_MAGIC_BYTES);
        if (!at || (size_t)(end - at) < META_RECORD_BYTES)
            return;
        if (meta_record_decode(at, META_RECORD_BYTES, &record, NULL) == QS_OK && record.scope == scope &&
            record.generation > *newest)
            *newest = record.generation;
    }
}

enum qs_status highest_generation(int fd, enum qs_scope scope, uint64_t *ret_generation, struct qs_error *err)
{
    uint8_t chunk[SCAN_BYTES + META_RECORD_BYTES];
    uint64_t newest = 0;
    ssize_t got = sizeof chunk;
    for (off_t at = 0; got == (ssize_t)sizeof chunk; at += (off_t)SCAN_BYTES) { /* they overlap by one record */
        off_t data = lseek(fd, at, SEEK_DATA);                                  /* a hole of a terabyte is soon made */
        if (data < 0 && errno == ENXIO)
            break;
        at = data > at ? data : at;
        got = os_pread_full(fd, chunk, sizeof chunk, at);
        if (got < 0)
            return error_sys(err, QS_IO, errno, "the store cannot be read");
        scan(chunk, (size_t)got, scope, &newest);
    }
    *ret_generation = newest;
    return QS_OK;
}
