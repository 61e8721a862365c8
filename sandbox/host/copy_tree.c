/* SPDX-License-Identifier: Apache-2.0 */
/* Removing and copying trees by descriptor. */
#include "sandbox/host/copy_tree.h"

#include "base/cleanup.h"
#include "sandbox/wire/sys.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#define COPY_STEP_BYTES ((size_t)1 << 20)

/* Opens a directory of the same file system, made readable first: Go's modules are read-only directories. */
static int enter(int dir, const char *name, dev_t device)
{
    char self[64];
    struct stat st;
    AUTO_FD int place = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (place < 0 || fstat(place, &st) != 0 || st.st_dev != device)
        return -1;
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", place);
    return chmod(self, 0700) == 0 ? openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

enum qs_status empty_tree(int fd, struct qs_error *err)
{
    DIR *dir = fdopendir(fd);
    enum qs_status status = QS_OK;
    struct dirent *entry;
    struct stat here;
    if (!dir) {
        (void)close(fd);
        return error_sys(err, QS_IO, errno, "cannot read a directory that is to be emptied");
    }
    if (fstat(dirfd(dir), &here) != 0 || fchmod(dirfd(dir), 0700) != 0)
        status = error_sys(err, QS_IO, errno, "cannot open a directory that is to be emptied");
    while (!status && (entry = readdir(dir))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), name, 0) == 0)
            continue;
        int child = errno == EISDIR ? enter(dirfd(dir), name, here.st_dev) : -1;
        if (child < 0)
            status = error_sys(err, QS_IO, errno, "cannot remove %s", name);
        else if ((status = empty_tree(child, err)) == QS_OK && unlinkat(dirfd(dir), name, AT_REMOVEDIR) != 0)
            status = error_sys(err, QS_IO, errno, "cannot remove %s", name);
    }
    (void)closedir(dir);
    return status;
}

enum qs_status remove_tree(int parent, const char *name, struct qs_error *err)
{
    struct stat here;
    if (unlinkat(parent, name, 0) == 0)
        return QS_OK;
    int child = errno == EISDIR && fstat(parent, &here) == 0 ? enter(parent, name, here.st_dev) : -1;
    if (child < 0)
        return error_sys(err, QS_IO, errno, "cannot remove %s", name);
    enum qs_status status = empty_tree(child, err);
    if (status)
        return status;
    if (unlinkat(parent, name, AT_REMOVEDIR) != 0)
        return error_sys(err, QS_IO, errno, "cannot remove %s", name);
    return QS_OK;
}

/* ---- copying ---- */

struct copying {
    int64_t bytes; /* that may still be copied */
    unsigned entries;
};

static enum qs_status copy_entry(struct copying *copying, int from, const char *name, int to, const char *as_name,
                                 unsigned depth, struct qs_error *err);

static enum qs_status copy_link(int from, const char *name, int to, const char *as_name, struct qs_error *err)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(from, name, target, sizeof target - 1);
    if (len < 0)
        return error_sys(err, QS_IO, errno, "cannot read the link %s", name);
    target[len] = '\0';
    return symlinkat(target, to, as_name) == 0 ? QS_OK : error_sys(err, QS_IO, errno, "cannot copy the link %s", name);
}

static enum qs_status copy_file(struct copying *copying, int place, const struct stat *st, int to, const char *as_name,
                                struct qs_error *err)
{
    char self[64];
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", place);
    AUTO_FD int from = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (from < 0 && errno == EACCES && chmod(self, (st->st_mode & 0777) | S_IRUSR) == 0)
        from = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    AUTO_FD int out = openat(to, as_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st->st_mode & 0777);
    if (from < 0 || out < 0)
        return error_sys(err, QS_IO, errno, "cannot copy %s", as_name);
    for (ssize_t len; (len = sendfile(out, from, NULL, COPY_STEP_BYTES)) != 0;) {
        if (len < 0)
            return error_sys(err, QS_IO, errno, "cannot copy %s", as_name);
        if ((copying->bytes -= len) < 0)
            return error_set(err, QS_INVALID, "more than %lld bytes", (long long)COPY_TREE_MAX_BYTES);
    }
    return QS_OK;
}

static enum qs_status copy_entries(struct copying *copying, int fd, int to, unsigned depth, struct qs_error *err)
{
    DIR *dir = fdopendir(fd);
    if (!dir) {
        (void)close(fd);
        return error_sys(err, QS_IO, errno, "cannot read a directory that is to be copied");
    }
    enum qs_status status = QS_OK;
    struct dirent *entry;
    while (!status && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = copy_entry(copying, dirfd(dir), entry->d_name, to, entry->d_name, depth, err);
    (void)closedir(dir);
    return status;
}

static enum qs_status copy_dir(struct copying *copying, int from, const char *name, const struct stat *st, int to,
                               const char *as_name, unsigned depth, struct qs_error *err)
{
    if (depth == 0)
        return error_set(err, QS_INVALID, "more than %u directories deep", COPY_TREE_MAX_DEPTH);
    if (mkdirat(to, as_name, 0700) != 0)
        return error_sys(err, QS_IO, errno, "cannot make %s", as_name);
    AUTO_FD int copy = openat(to, as_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int fd = enter(from, name, st->st_dev);
    if (copy < 0 || fd < 0) {
        int error = errno;
        cleanup_fd(&fd);
        return error_sys(err, QS_IO, error, "cannot open %s", name);
    }
    return copy_entries(copying, fd, copy, depth - 1, err);
}

static enum qs_status copy_entry(struct copying *copying, int from, const char *name, int to, const char *as_name,
                                 unsigned depth, struct qs_error *err)
{
    struct stat st;
    AUTO_FD int place = openat(from, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (place < 0 || fstat(place, &st) != 0)
        return error_sys(err, QS_IO, errno, "cannot look at %s", name);
    if (copying->entries-- == 0)
        return error_set(err, QS_INVALID, "more than %u entries", COPY_TREE_MAX_ENTRIES);
    if (S_ISLNK(st.st_mode))
        return copy_link(from, name, to, as_name, err);
    if (S_ISDIR(st.st_mode))
        return copy_dir(copying, from, name, &st, to, as_name, depth, err);
    return S_ISREG(st.st_mode) ? copy_file(copying, place, &st, to, as_name, err) : QS_OK;
}

enum qs_status copy_tree(int from, const char *name, int to, const char *as_name, struct qs_error *err)
{
    struct copying copying = {.bytes = COPY_TREE_MAX_BYTES, .entries = COPY_TREE_MAX_ENTRIES};
    return copy_entry(&copying, from, name, to, as_name, COPY_TREE_MAX_DEPTH, err);
}
