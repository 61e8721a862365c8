/* SPDX-License-Identifier: Apache-2.0 */
/* qs_file_replace: one attempt after another, until one was not disturbed. writer/atomic_file.h has the picture. */
#include "writer/atomic_file.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "base/sized.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define REPLACE_ALL_FLAGS \
    (QS_REPLACE_BACKUP | QS_REPLACE_DANGLING | QS_REPLACE_HARDLINKED | QS_REPLACE_OTHER_OWNER | QS_REPLACE_NEW_ONLY)

#define ATTEMPTS_MAX 16

static void job_init(struct file_job *job)
{
    job->target = (struct resolved_target){.dir_fd = -1};
    job->dir_fd = job->old_fd = job->temp_fd = job->swap_fd = -1;
    job->temp_name[0] = job->swap_name[0] = '\0';
    job->again = job->keep_swap = false;
}

/* Nothing is left behind. What cannot be removed now is removed by the next call for the same FILE. */
static void job_release(struct file_job *job)
{
    int saved = errno;
    if (job->temp_name[0] && !job->keep_swap)
        (void)TEMP_FAILURE_RETRY(qs_os->unlinkat(job->swap_fd >= 0 ? job->swap_fd : job->dir_fd, job->temp_name, 0));
    if (job->swap_name[0] && !job->keep_swap)
        (void)TEMP_FAILURE_RETRY(qs_os->unlinkat(job->dir_fd, job->swap_name, AT_REMOVEDIR));
    cleanup_fd(&job->swap_fd);
    cleanup_fd(&job->temp_fd);
    cleanup_fd(&job->old_fd);
    cleanup_fd(&job->dir_fd);
    resolved_target_release(&job->target);
    job_init(job);
    errno = saved;
}

static enum qs_status check_kind(mode_t mode, struct qs_error *err)
{
    const char *what = NULL;
    switch (mode & S_IFMT) {
    case S_IFREG:
        return QS_OK;
    case S_IFDIR:
        what = "a directory";
        break;
    case S_IFIFO:
        what = "a FIFO";
        break;
    case S_IFSOCK:
        what = "a socket";
        break;
    case S_IFCHR:
    case S_IFBLK:
        what = "a device";
        break;
    }
    return error_set(err, QS_INVALID, "not a regular file (%s)", what ? what : "of an unknown kind");
}

enum qs_status file_backup_name(const struct file_job *job, char name[NAME_MAX + 1], struct qs_error *err)
{
    size_t len = strlen(job->target.name);
    if (len + 4 > NAME_MAX)
        return error_set(err, QS_INVALID, "the file's name is too long for a backup beside it");
    memcpy(name, job->target.name, len);
    memcpy(name + len, ".bak", 5);
    return QS_OK;
}

/* A call that was killed between making FILE.bak and renaming leaves one inode with both names; that is no reason to
 * refuse. */
static bool is_only_backup(const struct file_job *job)
{
    char bak[NAME_MAX + 1];
    struct stat st;
    return job->old.st_nlink == 2 && file_backup_name(job, bak, NULL) == QS_OK &&
           TEMP_FAILURE_RETRY(qs_os->fstatat(job->dir_fd, bak, &st, AT_SYMLINK_NOFOLLOW)) == 0 &&
           st.st_ino == job->old.st_ino && st.st_dev == job->old.st_dev;
}

static enum qs_status check_old(const struct file_job *job, struct qs_error *err)
{
    unsigned flags = job->options.flags;
    enum qs_status status = check_kind(job->old.st_mode, err);
    if (status)
        return status;
    if (job->old.st_uid != qs_os->geteuid() && !(flags & QS_REPLACE_OTHER_OWNER)) {
        error_set(err, QS_UNTRUSTED, "the file belongs to another user (uid %u)", (unsigned)job->old.st_uid);
        error_add_advice(err, "allow it with QS_REPLACE_OTHER_OWNER (--other-owner)");
        return QS_UNTRUSTED;
    }
    if (job->old.st_nlink > 1 && !(flags & QS_REPLACE_HARDLINKED) && !is_only_backup(job)) {
        error_set(err, QS_INVALID, "the file has %lu names (hard links); the others would keep the old content",
                  (unsigned long)job->old.st_nlink);
        error_add_advice(err, "allow it with QS_REPLACE_HARDLINKED (--hard-linked)");
        return QS_INVALID;
    }
    return QS_OK;
}

static enum qs_status open_old(struct file_job *job, struct qs_error *err)
{
    enum qs_status status = check_kind(job->target.st.st_mode, err); /* before a device or a FIFO is opened */
    if (status)
        return status;
    job->old_fd = os_open_at(job->dir_fd, job->target.name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, 0);
    if (job->old_fd < 0) {
        job->again = errno == ENOENT || errno == ELOOP;
        return error_sys(err, QS_IO, errno, "the file cannot be opened, so its attributes cannot be kept");
    }
    if (TEMP_FAILURE_RETRY(qs_os->fstat(job->old_fd, &job->old)) != 0)
        return error_sys(err, QS_IO, errno, "the file cannot be examined");
    return check_old(job, err);
}

static enum qs_status check_wishes(const struct file_job *job, struct qs_error *err)
{
    unsigned flags = job->options.flags;
    if (job->target.exists)
        return flags & QS_REPLACE_NEW_ONLY ? error_set(err, QS_CONFLICT, "the file exists already") : QS_OK;
    if (job->options.expect)
        return error_set(err, QS_CONFLICT, "the file does not exist");
    if (job->target.dangling && !(flags & QS_REPLACE_DANGLING)) {
        error_set(err, QS_INVALID, "the path is a link to a file that does not exist");
        error_add_advice(err, "allow it with QS_REPLACE_DANGLING (--dangling)");
        return QS_INVALID;
    }
    return QS_OK;
}

/* Everything that is looked at before anything is written. */
static enum qs_status job_open(struct file_job *job, struct qs_error *err)
{
    unsigned foreign = job->options.flags & QS_REPLACE_OTHER_OWNER ? RESOLVE_FOREIGN : 0;
    enum qs_status status = resolve_target(job->file, foreign, &job->target, err);
    if (!status)
        status = check_wishes(job, err);
    if (status)
        return status;
    job->dir_fd = os_open_at(job->target.dir_fd, ".", O_RDONLY | O_DIRECTORY, 0, 0);
    if (job->dir_fd < 0)
        return error_sys(err, QS_IO, errno, "the file's directory cannot be opened");
    file_hash(job->target.name, job->hash);
    file_stray_clean(job);
    return job->target.exists ? open_old(job, err) : QS_OK;
}

static enum qs_status pick_random(struct file_job *job, struct qs_error *err)
{
    uint64_t random;
    enum qs_status status = os_random(&random, sizeof random, err);
    (void)snprintf(job->random, sizeof job->random, "%016llx", (unsigned long long)random);
    return status;
}

static enum qs_status temp_create(struct file_job *job, struct qs_error *err)
{
    bool swap = job->swap_fd >= 0;
    char name[FILE_TEMP_BYTES];
    if (swap)
        (void)snprintf(name, sizeof name, "%s", FILE_PART);
    else
        (void)snprintf(name, sizeof name, ".qs-tmp-%.16s-%.16s", job->hash, job->random);
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
    job->temp_fd = os_open_at(swap ? job->swap_fd : job->dir_fd, name, flags, 0600, 0);
    if (job->temp_fd < 0) {
        job->again = errno == EEXIST || (swap && errno == ENOENT);
        return error_sys(err, QS_IO, errno, "cannot make a temporary file beside it");
    }
    memcpy(job->temp_name, name, sizeof name);
    if (!swap && TEMP_FAILURE_RETRY(qs_os->flock(job->temp_fd, LOCK_EX | LOCK_NB)) != 0 && errno == EWOULDBLOCK) {
        job->again = true; /* another call took it for a dead one's before it could be locked */
        return error_set(err, QS_IO, "another call is cleaning up");
    }
    if (TEMP_FAILURE_RETRY(qs_os->fstat(job->temp_fd, &job->temp)) != 0)
        return error_sys(err, QS_IO, errno, "cannot examine the temporary file");
    job->again = job->temp.st_nlink == 0; /* likewise, and it was quick */
    return job->again ? error_set(err, QS_IO, "another call has cleaned up") : QS_OK;
}

static enum qs_status temp_fill(struct file_job *job, struct qs_error *err)
{
    if (os_write_full(job->temp_fd, job->data, job->len) != 0)
        return error_sys(err, QS_IO, errno, "cannot write the new content; the file was left as it was");
    enum qs_status status = job->target.exists ? file_attr_keep(job, err) : file_attr_new(job, err);
    if (status)
        return status;
    if (os_fsync(job->temp_fd) != 0)
        return error_sys(err, QS_IO, errno, "cannot flush the new content; the file was left as it was");
    return QS_OK;
}

enum qs_status file_content_is(int fd, const void *data, size_t len, bool *ret_same, struct qs_error *err)
{
    char buf[16 * 1024];
    size_t at = 0;
    for (;;) {
        ssize_t n = os_pread_full(fd, buf, sizeof buf, (off_t)at);
        if (n < 0)
            return error_sys(err, QS_IO, errno, "cannot read the present content");
        if ((size_t)n > len - at || memcmp((const char *)data + at, buf, (size_t)n) != 0) {
            *ret_same = false;
            return QS_OK;
        }
        at += (size_t)n;
        if ((size_t)n < sizeof buf)
            break;
    }
    *ret_same = at == len;
    return QS_OK;
}

/* An edit that is there already is found before anything is written. */
static enum qs_status check_expected(const struct file_job *job, struct qs_error *err)
{
    bool same = false;
    if (!job->options.expect)
        return QS_OK;
    enum qs_status status = file_content_is(job->old_fd, job->options.expect, job->options.expect_len, &same, err);
    if (!status && !same)
        return error_set(err, QS_CONFLICT, "the file does not contain what was expected; the file was left as it was");
    return status;
}

int file_rename_new(int from_fd, const char *from, int to_fd, const char *to)
{
    if (TEMP_FAILURE_RETRY(qs_os->renameat2(from_fd, from, to_fd, to, RENAME_NOREPLACE)) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return -1;
    if (TEMP_FAILURE_RETRY(qs_os->linkat(from_fd, from, to_fd, to, 0)) != 0)
        return -1;
    (void)TEMP_FAILURE_RETRY(qs_os->unlinkat(from_fd, from, 0));
    return 0;
}

/* FILE gets a second name, which then replaces FILE.bak: both exist at every moment. */
static enum qs_status make_backup(struct file_job *job, struct qs_error *err)
{
    char bak[NAME_MAX + 1];
    char link[FILE_TEMP_BYTES];
    enum qs_status status = file_backup_name(job, bak, err);
    if (status)
        return status;
    (void)snprintf(link, sizeof link, ".qs-bak-%.16s-%.16s", job->hash, job->random);
    if (TEMP_FAILURE_RETRY(qs_os->linkat(job->dir_fd, job->target.name, job->dir_fd, link, 0)) != 0) {
        job->again = errno == ENOENT;
        return error_sys(err, QS_IO, errno, "cannot link the former file as a backup; the file was left as it was");
    }
    if (TEMP_FAILURE_RETRY(qs_os->renameat2(job->dir_fd, link, job->dir_fd, bak, 0)) != 0)
        status = error_sys(err, QS_IO, errno, "cannot make '%s'; the file was left as it was", bak);
    /* rename(2): where both are names of one file already, it does nothing and says so to nobody. */
    if (status || job->old.st_nlink > 1)
        (void)TEMP_FAILURE_RETRY(qs_os->unlinkat(job->dir_fd, link, 0));
    return status;
}

/* A rename that reports a failure may have been made all the same: the inode tells. */
static bool is_in_place(const struct file_job *job)
{
    struct stat st;
    return TEMP_FAILURE_RETRY(qs_os->fstatat(job->dir_fd, job->target.name, &st, AT_SYMLINK_NOFOLLOW)) == 0 &&
           st.st_dev == job->temp.st_dev && st.st_ino == job->temp.st_ino;
}

static enum qs_status rename_over(struct file_job *job, struct qs_error *err)
{
    int rc =
        job->target.exists
            ? (int)TEMP_FAILURE_RETRY(qs_os->renameat2(job->dir_fd, job->temp_name, job->dir_fd, job->target.name, 0))
            : file_rename_new(job->dir_fd, job->temp_name, job->dir_fd, job->target.name);
    int code = errno;
    if (rc == 0 || is_in_place(job)) {
        job->temp_name[0] = '\0';
        return QS_OK;
    }
    if (code == EEXIST && (job->options.flags & QS_REPLACE_NEW_ONLY))
        return error_set(err, QS_CONFLICT, "the file exists already");
    job->again = code == EEXIST;
    error_sys(err, QS_IO, code, "cannot rename the new content into place; the file was left as it was");
    if (code == EBUSY)
        error_add_advice(err, "is it a mount point?");
    return err ? err->status : QS_IO;
}

static enum qs_status job_commit(struct file_job *job, struct qs_error *err)
{
    if (job->swap_fd >= 0)
        return file_swap_commit(job, err);
    enum qs_status status = QS_OK;
    if (job->target.exists && (job->options.flags & QS_REPLACE_BACKUP))
        status = make_backup(job, err);
    return status ? status : rename_over(job, err);
}

static enum qs_status attempt(struct file_job *job, struct qs_error *err)
{
    enum qs_status status = job_open(job, err);
    if (!status)
        status = check_expected(job, err);
    if (!status)
        status = pick_random(job, err);
    if (!status && job->options.expect)
        status = file_swap_create(job, err);
    if (!status)
        status = temp_create(job, err);
    if (!status)
        status = temp_fill(job, err);
    if (!status)
        status = job_commit(job, err);
    if (!status && os_fsync(job->dir_fd) != 0)
        status = error_sys(err, QS_IO, errno,
                           "the file has the new content, but its directory cannot be flushed: a power "
                           "cut may bring the old one back");
    return status;
}

static enum qs_status check_call(const char *file, const void *data, size_t len,
                                 const struct qs_replace_options *options, struct qs_error *err)
{
    if (!file || (!data && len) || options->flags & ~REPLACE_ALL_FLAGS)
        return error_misuse(err, "qs_file_replace");
    if (options->mode & ~0777u)
        return error_set(err, QS_USAGE, "mode %o has more than permission bits", (unsigned)options->mode);
    if (options->expect && (options->flags & QS_REPLACE_NEW_ONLY))
        return error_set(err, QS_USAGE, "give expect or QS_REPLACE_NEW_ONLY, not both: a new file has no content");
    return QS_OK;
}

enum qs_status file_replace(const char *file, const void *data, size_t len, const struct qs_replace_options *options,
                            const struct file_extra *extra, struct qs_error *err)
{
    struct file_job job = {.file = file, .data = data, .len = len, .extra = extra};
    struct qs_error own = {0};
    enum qs_status status = sized_take(options, &job.options, sizeof job.options,
                                       SIZED_FIRST(struct qs_replace_options, expect_len), "qs_file_replace", &own);
    if (!status)
        status = check_call(file, data, len, &job.options, &own);
    bool again = !status;
    job_init(&job);
    for (int tries = 0; again && tries < ATTEMPTS_MAX; tries++) {
        status = attempt(&job, &own);
        again = status && job.again;
        job_release(&job);
    }
    if (!status)
        return QS_OK;
    error_add_file(&own, file);
    if (err)
        *err = own;
    return status;
}

enum qs_status qs_file_replace(const char *file, const void *data, size_t len, const struct qs_replace_options *options,
                               struct qs_error *err)
{
    return file_replace(file, data, len, options, NULL, err);
}
