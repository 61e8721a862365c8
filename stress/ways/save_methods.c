/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How programs save a settings file, faithful step by step; what is wrong with each is the point of it.
 *
 * rename-away is the way of Qwen Code 0.24.4 (packages/cli, its settings writer): the temp and the backup have fixed
 * names that all writers share, there is no lock, and between the two renames the file does not exist.
 */
#include "stress/harness/backend.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool failed(char *reason, const char *step, const char *path)
{
    (void)snprintf(reason, STRESS_REASON_BYTES, "%s %.100s: %s", step, path, strerrordesc_np(errno));
    return false;
}

char *file_load(const char *path, size_t *ret_len)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct buf text = {0};
    for (;;) {
        char chunk[16384];
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            buf_release(&text);
            return NULL;
        }
        if (n == 0)
            break;
        buf_add(&text, chunk, (size_t)n);
    }
    char *data = buf_steal(&text, ret_len);
    if (!data)
        errno = ENOMEM;
    return data;
}

static bool write_all(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

static bool write_file(const char *path, int flags, bool flush, const void *data, size_t len, char *reason)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
    if (fd < 0)
        return failed(reason, "open", path);
    bool ok = write_all(fd, data, len) && (!flush || fsync(fd) == 0);
    int saved = errno;
    if (close(fd) != 0 && ok)
        return failed(reason, "close", path);
    errno = saved;
    return ok || failed(reason, "write", path);
}

static bool flush_directory(const char *path, char *reason)
{
    char copy[4096];
    (void)snprintf(copy, sizeof copy, "%s", path);
    AUTO_FD int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return (fd >= 0 && fsync(fd) == 0) || failed(reason, "flush the directory of", path);
}

static bool rename_away(bool flush, const char *path, const void *data, size_t len, char *reason)
{
    char temp[4096];
    char backup[4096];
    (void)snprintf(temp, sizeof temp, "%s.tmp", path);
    (void)snprintf(backup, sizeof backup, "%s.orig", path);
    if (!write_file(temp, O_TRUNC, flush, data, len, reason))
        return false;
    if (access(path, F_OK) == 0 && rename(path, backup) != 0)
        return failed(reason, "rename away", path);
    if (rename(temp, path) != 0) {
        int saved = errno;
        /* It puts the backup back when that is still there, and reports the failure. */
        if (access(path, F_OK) != 0)
            (void)rename(backup, path);
        errno = saved;
        return failed(reason, "rename into place", path);
    }
    (void)unlink(backup);
    return !flush || flush_directory(path, reason);
}

static bool rename_over(bool flush, const char *path, const void *data, size_t len, char *reason)
{
    char temp[4096];
    (void)snprintf(temp, sizeof temp, "%s.%ld.tmp", path, (long)getpid());
    if (!write_file(temp, O_TRUNC, flush, data, len, reason))
        return false;
    if (rename(temp, path) != 0) {
        (void)failed(reason, "rename over", path);
        (void)unlink(temp);
        return false;
    }
    return !flush || flush_directory(path, reason);
}

static bool copy_backup(bool flush, const char *path, const void *data, size_t len, char *reason)
{
    char backup[4096];
    (void)snprintf(backup, sizeof backup, "%s.orig", path);
    size_t old_len = 0;
    AUTO_FREE char *old = file_load(path, &old_len);
    if (!old && errno != ENOENT)
        return failed(reason, "read", path);
    if (old && !write_file(backup, O_TRUNC, flush, old, old_len, reason))
        return false;
    return rename_over(flush, path, data, len, reason);
}

bool file_save(enum file_way way, bool flush, const char *path, const void *data, size_t len, char *reason)
{
    switch (way) {
    case FILE_RENAME_AWAY:
        return rename_away(flush, path, data, len, reason);
    case FILE_IN_PLACE:
        return write_file(path, O_TRUNC, flush, data, len, reason);
    case FILE_COPY_BACKUP:
        return copy_backup(flush, path, data, len, reason);
    case FILE_RENAME_OVER:
        return rename_over(flush, path, data, len, reason);
    }
    return false;
}
