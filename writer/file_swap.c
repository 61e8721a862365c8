/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacing what is expected and nothing else: exchange, look at what came out, put it back if somebody's edit did.
 *
 * Comparing before a rename leaves a window; after an exchange there is none: what is compared is out of everybody's
 * reach. That nobody still has it open for writing is asked of the kernel by a read lease (fcntl(2), F_SETLEASE).
 */
#include "base/cleanup.h"
#include "base/os.h"
#include "writer/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define MARK_BYTES (32 + 1) /* half a digest in hex */

static void mark_of(const uint8_t digest[QS_DIGEST_BYTES], char mark[MARK_BYTES])
{
    for (unsigned i = 0; i < 16; i++)
        (void)snprintf(mark + 2 * (size_t)i, 3, "%02x", digest[i]);
}

static void mark_text(const void *data, size_t len, char mark[MARK_BYTES])
{
    uint8_t digest[QS_DIGEST_BYTES];
    digest_of(data, len, digest);
    mark_of(digest, mark);
}

enum qs_status file_swap_create(struct file_job *job, struct qs_error *err)
{
    char ours[MARK_BYTES];
    char expected[MARK_BYTES];
    mark_text(job->data, job->len, ours);
    mark_text(job->options.expect, job->options.expect_len, expected);
    char name[FILE_SWAP_BYTES];
    (void)snprintf(name, sizeof name, ".qs-swp-%.16s-%.16s-%s-%s", job->hash, job->random, ours, expected);
    if (TEMP_FAILURE_RETRY(qs_os->mkdirat(job->dir_fd, name, 0700)) != 0)
        return error_sys(err, QS_IO, errno, "cannot make a directory beside it");
    memcpy(job->swap_name, name, sizeof name);
    job->swap_fd = os_open_at(job->dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0);
    if (job->swap_fd < 0) {
        job->again = errno == ENOENT; /* taken for a dead call's before it could be locked */
        return error_sys(err, QS_IO, errno, "cannot open the directory made beside it");
    }
    if (TEMP_FAILURE_RETRY(qs_os->flock(job->swap_fd, LOCK_EX | LOCK_NB)) != 0 && errno == EWOULDBLOCK) {
        job->again = true;
        return error_set(err, QS_IO, "another call is cleaning up");
    }
    return QS_OK;
}

/* Nobody has it open for writing, and as long as fd stays open nobody can without our being asked. A file system
 * without leases cannot tell: then it is as after any rename. */
static bool is_at_rest(int fd)
{
    (void)fcntl(fd, F_SETSIG, SIGURG); /* ignored by default, unlike SIGIO */
    return fcntl(fd, F_SETLEASE, F_RDLCK) == 0 || errno != EAGAIN;
}

/* Is the entry a regular file at rest with exactly this content? */
static enum qs_status entry_is(int dir_fd, const char *name, const void *data, size_t len, bool *ret_same,
                               struct qs_error *err)
{
    struct stat st;
    AUTO_FD int fd = os_open_at(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, 0);
    *ret_same = false;
    if (fd < 0 && (errno == ELOOP || errno == ENXIO || errno == EACCES))
        return QS_OK; /* a link, a socket, what may not be read: not what was expected */
    if (fd < 0 || TEMP_FAILURE_RETRY(qs_os->fstat(fd, &st)) != 0)
        return error_sys(err, QS_IO, errno, "cannot examine the former file");
    if (!S_ISREG(st.st_mode) || !is_at_rest(fd))
        return QS_OK;
    return file_content_is(fd, data, len, ret_same, err);
}

/* Is the entry there? Only a definite no is one. */
static bool is_there(int dir_fd, const char *name)
{
    struct stat st;
    return TEMP_FAILURE_RETRY(qs_os->fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW)) == 0 || errno != ENOENT;
}

/* Keeps what nobody may lose beside FILE, as FILE.conflict-RANDOM. */
static int keep_aside(int dir_fd, const char *name, int swap_fd, char aside[NAME_MAX + 1])
{
    uint32_t random;
    if (os_random(&random, sizeof random, NULL) != QS_OK)
        return -1;
    (void)snprintf(aside, NAME_MAX + 1, "%.200s.conflict-%08x", name, random);
    return file_rename_new(swap_fd, FILE_SWAP, dir_fd, aside);
}

enum exchange_result { EXCHANGED, NOT_EXCHANGED, UNKNOWN };

/* An exchange that reports a failure may have been made all the same (a signal on a file system that is far away), and
 * doing it again would undo it: the entry's inode tells. errno is the exchange's. */
static enum exchange_result exchange(int dir_fd, const char *name, int swap_fd)
{
    struct stat before, now;
    if (TEMP_FAILURE_RETRY(qs_os->fstatat(swap_fd, FILE_SWAP, &before, AT_SYMLINK_NOFOLLOW)) != 0)
        return NOT_EXCHANGED;
    for (;;) {
        if (qs_os->renameat2(swap_fd, FILE_SWAP, dir_fd, name, RENAME_EXCHANGE) == 0)
            return EXCHANGED;
        int code = errno;
        if (TEMP_FAILURE_RETRY(qs_os->fstatat(swap_fd, FILE_SWAP, &now, AT_SYMLINK_NOFOLLOW)) != 0)
            return UNKNOWN;
        if (now.st_ino != before.st_ino || now.st_dev != before.st_dev)
            return EXCHANGED;
        errno = code;
        if (code != EINTR)
            return NOT_EXCHANGED;
    }
}

/* Somebody's edit goes back to its place. FILE may have vanished meanwhile; then without replacing. */
static int give_back(int dir_fd, const char *name, int swap_fd)
{
    enum { TRIES = 8 };
    for (int i = 0; i < TRIES; i++) {
        if (exchange(dir_fd, name, swap_fd) == EXCHANGED)
            return 0;
        if (errno != ENOENT)
            return -1;
        if (file_rename_new(swap_fd, FILE_SWAP, dir_fd, name) == 0)
            return 0;
        if (errno != EEXIST)
            return -1;
    }
    errno = EBUSY;
    return -1;
}

/* What came out when an edit was put back should be our own text, which goes. If somebody has been quick, it is a
 * second edit, or nothing. */
static void settle(struct file_job *job, struct qs_error *err)
{
    char aside[NAME_MAX + 1];
    bool ours = false;
    enum qs_status status = entry_is(job->swap_fd, FILE_SWAP, job->data, job->len, &ours, NULL);
    if ((!status && ours) || !is_there(job->swap_fd, FILE_SWAP)) {
        job->keep_swap = false;
        return;
    }
    if (keep_aside(job->dir_fd, job->target.name, job->swap_fd, aside) == 0) {
        job->keep_swap = false;
        error_add_advice(err, "the file was edited twice; the later edit is kept as %s beside it", aside);
    }
}

/* Not what was expected, or (why) not known to be. */
static enum qs_status put_back(struct file_job *job, const struct qs_error *why, struct qs_error *err)
{
    job->keep_swap = true;
    if (give_back(job->dir_fd, job->target.name, job->swap_fd) != 0) {
        error_sys(err, QS_IO, errno, "somebody's edit cannot be put back; the file has the new content");
        error_add_advice(err, "the edit is kept as %s/%s beside it; the next call puts it back", job->swap_name,
                         FILE_SWAP);
        return QS_IO;
    }
    if (err && why->status)
        *err = *why;
    enum qs_status status = why->status;
    if (!status)
        status = error_set(err, QS_CONFLICT, "the file was edited in the meantime; the file was left as it was");
    settle(job, err);
    return status;
}

/* The displaced file is what was expected: it goes, or becomes FILE.bak. */
static enum qs_status dispose(struct file_job *job, struct qs_error *err)
{
    char bak[NAME_MAX + 1];
    if (!(job->options.flags & QS_REPLACE_BACKUP))
        return QS_OK; /* removed with the swap directory */
    struct qs_error why = {0};
    enum qs_status status = file_backup_name(job, bak, &why);
    if (!status && TEMP_FAILURE_RETRY(qs_os->renameat2(job->swap_fd, FILE_SWAP, job->dir_fd, bak, 0)) != 0 &&
        is_there(job->swap_fd, FILE_SWAP))
        status = error_sys(&why, QS_IO, errno, "cannot make '%s'; the file was left as it was", bak);
    return !status ? QS_OK : put_back(job, &why, err);
}

static enum qs_status exchange_failed(struct qs_error *err, int code)
{
    if (code == ENOENT)
        return error_set(err, QS_CONFLICT, "the file was removed in the meantime");
    if (code == EINVAL || code == ENOSYS || code == EOPNOTSUPP) {
        error_sys(err, QS_INVALID, code, "this file system cannot exchange two files, so an edit could be lost");
        error_add_advice(err, "replace it without comparing (--force)");
        return QS_INVALID;
    }
    return error_sys(err, QS_IO, code, "the file cannot be exchanged; the file was left as it was");
}

enum qs_status file_swap_commit(struct file_job *job, struct qs_error *err)
{
    bool same = false;
    cleanup_fd(&job->temp_fd); /* else the lease would find ourselves writing */
    job->temp_fd = -1;
    if (TEMP_FAILURE_RETRY(qs_os->renameat2(job->swap_fd, FILE_PART, job->swap_fd, FILE_SWAP, 0)) != 0)
        return error_sys(err, QS_IO, errno, "cannot rename the temporary");
    (void)snprintf(job->temp_name, sizeof job->temp_name, "%s", FILE_SWAP);
    enum exchange_result result = exchange(job->dir_fd, job->target.name, job->swap_fd);
    job->keep_swap = result == UNKNOWN;
    if (result != EXCHANGED)
        return exchange_failed(err, errno);
    struct qs_error why = {0};
    enum qs_status status =
        entry_is(job->swap_fd, FILE_SWAP, job->options.expect, job->options.expect_len, &same, &why);
    if (!status && same)
        return dispose(job, err);
    return put_back(job, &why, err);
}

/* ---- after a crash ---- */

static bool mark_file(int dir_fd, const char *name, char mark[MARK_BYTES])
{
    char buf[16 * 1024];
    struct stat st;
    AUTO_FD int fd = os_open_at(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, 0);
    if (fd < 0 || TEMP_FAILURE_RETRY(qs_os->fstat(fd, &st)) != 0 || !S_ISREG(st.st_mode))
        return false;
    struct digest digest;
    uint8_t out[QS_DIGEST_BYTES];
    ssize_t len;
    digest_init(&digest);
    for (off_t at = 0; (len = os_pread_full(fd, buf, sizeof buf, at)) > 0; at += len)
        digest_add(&digest, buf, (size_t)len);
    if (len < 0)
        return false;
    digest_finish(&digest, out);
    mark_of(out, mark);
    return true;
}

static bool remove_in(int dir_fd, const char *name)
{
    return TEMP_FAILURE_RETRY(qs_os->unlinkat(dir_fd, name, 0)) == 0 || errno == ENOENT;
}

bool file_swap_recover(int dir_fd, const char *name, int swap_fd, const char *digests)
{
    char found[MARK_BYTES];
    char aside[NAME_MAX + 1];
    const char *ours = digests;
    const char *expected = digests + MARK_BYTES;
    if (!remove_in(swap_fd, FILE_PART))
        return false;
    if (!is_there(swap_fd, FILE_SWAP))
        return true;
    if (mark_file(swap_fd, FILE_SWAP, found) && (!strncmp(found, ours, 32) || !strncmp(found, expected, 32)))
        return remove_in(swap_fd, FILE_SWAP);
    /* An edit. It goes back if FILE is still the dead call's text. */
    if (mark_file(dir_fd, name, found) && !strncmp(found, ours, 32) && give_back(dir_fd, name, swap_fd) == 0) {
        if (!is_there(swap_fd, FILE_SWAP))
            return true;
        if (mark_file(swap_fd, FILE_SWAP, found) && !strncmp(found, ours, 32))
            return remove_in(swap_fd, FILE_SWAP);
    }
    return keep_aside(dir_fd, name, swap_fd, aside) == 0;
}
