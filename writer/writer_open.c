/* SPDX-License-Identifier: Apache-2.0 */
/* The store opened for writing: place, lock, leftovers, verified base. */
#include "writer/writer_open.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>

/* Is what the name leads to the directory open at dir_fd? Whether it can be trusted was looked at before. */
static bool leads_to(int at_fd, const char *name, int dir_fd)
{
    struct stat ours, named;
    return qs_os->fstat(dir_fd, &ours) == 0 && qs_os->fstatat(at_fd, name, &named, AT_EMPTY_PATH) == 0 &&
           ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

/* Under the lock nobody else builds a file here: one that is there was left by a writer that was killed. */
static enum qs_status remove_leftovers(int dir_fd, struct qs_error *err)
{
    if (qs_os->unlinkat(dir_fd, STORE_TEMP_FILE, 0) && errno != ENOENT)
        return error_sys(err, QS_IO, errno, "%s, left by a killed writer, cannot be removed", STORE_TEMP_FILE);
    return QS_OK;
}

static enum qs_status absent_advice(const struct store_dir *dir, enum qs_status status, struct qs_error *err)
{
    if (status == QS_ABSENT)
        error_add_advice(err, "create the store with 'qsettings --%s init'", qs_scope_name(dir->scope));
    return status;
}

/* The lock of the directory that stands there now. QS_OK with lock->fd -1: it was another by the time the lock was
 * held. */
static enum qs_status lock_present(const struct store_dir *dir, unsigned wait_ms, struct writer *writer,
                                   int *ret_dir_fd, struct qs_error *err)
{
    AUTO_FD int dir_fd = -1;
    AUTO_FD int again = -1;
    enum qs_status status = absent_advice(dir, store_dir_open(dir, &dir_fd, err), err);
    if (!status)
        status = store_dir_check_writable(dir, dir_fd, err);
    if (status)
        return status;
    status = writer_lock_take(&writer->lock, dir_fd, wait_ms, err);
    if (status)
        return status == QS_ABSENT ? QS_OK : status;
    /* While we waited the store may have been removed and made anew: then the lock is that of a dead one. */
    if (!leads_to(AT_FDCWD, dir->path, dir_fd))
        status = absent_advice(dir, store_dir_open(dir, &again, err), err);
    if (!status && again >= 0 && !leads_to(again, "", dir_fd)) {
        writer_lock_drop(&writer->lock);
        return QS_OK;
    }
    if (!status)
        status = remove_leftovers(dir_fd, err);
    if (status)
        writer_lock_drop(&writer->lock);
    else
        *ret_dir_fd = steal_fd(&dir_fd);
    return status;
}

/* How often a store may be removed and made anew while one writer waits. */
#define MOVES_MAX 100u

enum qs_status writer_open(const struct store_dir *dir, unsigned wait_ms, struct writer *writer, struct qs_error *err)
{
    uint64_t deadline = qs_os->monotonic_ms() + wait_ms;
    writer->deadline_ms = deadline + PAGE_CACHE_GRACE_MS;
    unsigned left_ms = wait_ms;
    enum qs_status status = QS_OK;
    for (unsigned moves = 0; !status && writer->lock.fd < 0; moves++) {
        status = moves < MOVES_MAX
                     ? lock_present(dir, left_ms, writer, &writer->dir_fd, err)
                     : error_set(err, QS_BUSY, "the store keeps being removed and created again; giving up");
        uint64_t now = qs_os->monotonic_ms();
        left_ms = now < deadline ? (unsigned)(deadline - now) : 0;
    }
    if (status)
        error_add_file(err, dir->path);
    return status;
}

enum qs_status writer_read(const struct store_dir *dir, struct writer *writer, struct qs_snapshot **ret_base,
                           struct qs_error *err)
{
    struct stat st;
    struct qs_snapshot *base = NULL;
    enum qs_status status = store_dir_open_data(dir, writer->dir_fd, true, &writer->data_fd, &st, err);
    if (!status)
        status = verified_read(writer->data_fd,
                               &(struct verified_read){.slot = SLOT_NEWER,
                                                       .flags = SNAPSHOT_WRITER,
                                                       .deadline_ms = writer->deadline_ms},
                               &base, err);
    if (!status && base->record.scope != dir->scope) {
        status = error_page(err, -1, "the store is of scope %s, but lies in the directory of scope %s",
                            qs_scope_name(base->record.scope), qs_scope_name(dir->scope));
        qs_snapshot_unref(base);
    }
    if (status) {
        error_add_file(err, dir->path);
        if (status == QS_DAMAGED)
            error_add_advice(err, "nothing was written; 'qsettings repair' finds the newest recoverable generation");
        return status;
    }
    base->device = st.st_dev;
    base->inode = st.st_ino;
    *ret_base = base;
    return QS_OK;
}

void writer_close(struct writer *writer)
{
    int saved = errno;
    if (writer->data_fd >= 0)
        (void)close(writer->data_fd);
    if (writer->dir_fd >= 0)
        (void)close(writer->dir_fd);
    writer->data_fd = -1;
    writer->dir_fd = -1;
    writer_lock_drop(&writer->lock);
    errno = saved;
}
