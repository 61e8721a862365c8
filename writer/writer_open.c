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
    if (qs_os->unlinkat(dir_fd, PLACE_TEMP_FILE, 0) && errno != ENOENT)
        return error_sys(err, QS_IO, errno, "the leftover %s cannot be removed", PLACE_TEMP_FILE);
    return QS_OK;
}

static enum qs_status absent_advice(const struct place *place, enum qs_status status, struct qs_error *err)
{
    if (status == QS_ABSENT)
        error_add_advice(err, "create the store with: qsettings --%s init", qs_scope_name(place->scope));
    return status;
}

/* The lock of the directory that stands there now. QS_OK with lock->fd -1: it was another by the time the lock was
 * held. */
static enum qs_status lock_present(const struct place *place, unsigned wait_ms, struct hold *hold, int *ret_dir_fd,
                                   struct qs_error *err)
{
    AUTO_FD int dir_fd = -1;
    AUTO_FD int again = -1;
    enum qs_status status = absent_advice(place, place_open_dir(place, &dir_fd, err), err);
    if (!status)
        status = place_check_writable(place, dir_fd, err);
    if (status)
        return status;
    status = writer_lock_take(&hold->lock, dir_fd, wait_ms, err);
    if (status)
        return status == QS_ABSENT ? QS_OK : status;
    /* While we waited the store may have been removed and made anew: then the lock is that of a dead one. */
    if (!leads_to(AT_FDCWD, place->dir, dir_fd))
        status = absent_advice(place, place_open_dir(place, &again, err), err);
    if (!status && again >= 0 && !leads_to(again, "", dir_fd)) {
        writer_lock_drop(&hold->lock);
        return QS_OK;
    }
    if (!status)
        status = remove_leftovers(dir_fd, err);
    if (status)
        writer_lock_drop(&hold->lock);
    else
        *ret_dir_fd = steal_fd(&dir_fd);
    return status;
}

/* How often a store may be removed and made anew while one writer waits. */
#define MOVES_MAX 100u

enum qs_status hold_take(const struct place *place, unsigned wait_ms, struct hold *hold, struct qs_error *err)
{
    uint64_t deadline = qs_os->monotonic_ms() + wait_ms;
    unsigned left_ms = wait_ms;
    enum qs_status status = QS_OK;
    for (unsigned moves = 0; !status && hold->lock.fd < 0; moves++) {
        status = moves < MOVES_MAX ? lock_present(place, left_ms, hold, &hold->dir_fd, err)
                                   : error_set(err, QS_BUSY, "the store is removed and made anew again and again");
        uint64_t now = qs_os->monotonic_ms();
        left_ms = now < deadline ? (unsigned)(deadline - now) : 0;
    }
    if (status)
        error_add_file(err, place->dir);
    return status;
}

enum qs_status hold_read(const struct place *place, struct hold *hold, struct qs_snapshot **ret_base,
                         struct qs_error *err)
{
    struct stat st;
    struct qs_snapshot *base = NULL;
    enum qs_status status = place_open_data(place, hold->dir_fd, true, &hold->data_fd, &st, err);
    if (!status)
        status = snapshot_walk(hold->data_fd, -1, SNAPSHOT_WRITER, NULL, NULL, &base, err);
    if (!status && base->record.scope != place->scope) {
        status = error_page(err, -1, "the store says it is of scope %s, but stands in the place of %s",
                            qs_scope_name(base->record.scope), qs_scope_name(place->scope));
        qs_snapshot_unref(base);
    }
    if (status) {
        error_add_file(err, place->dir);
        if (status == QS_DAMAGED)
            error_add_advice(err,
                             "nothing was written; qsettings repair looks for the newest generation that verifies");
        return status;
    }
    base->device = st.st_dev;
    base->inode = st.st_ino;
    *ret_base = base;
    return QS_OK;
}

void hold_drop(struct hold *hold)
{
    int saved = errno;
    if (hold->data_fd >= 0)
        (void)close(hold->data_fd);
    if (hold->dir_fd >= 0)
        (void)close(hold->dir_fd);
    hold->data_fd = -1;
    hold->dir_fd = -1;
    writer_lock_drop(&hold->lock);
    errno = saved;
}
