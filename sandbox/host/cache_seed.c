/* SPDX-License-Identifier: Apache-2.0 */
/* Filling a private cache from the tree of the host that it stands in for. */
#include "sandbox/host/cache_seed.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "sandbox/wire/sys.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#define DEPTH_MAX 64 /* caches are shallow; each level holds two descriptors */
#define PIECE     ((size_t)1 << 20)

static enum qs_status failed(const char *what, const char *name, struct qs_error *err)
{
    return error_sys(err, QS_IO, errno, "cannot %s %s of a cache", what, name);
}

/* Shares the blocks where the file system can, else copies. */
static bool copy_content(int in, int out, uint64_t *bytes)
{
    struct stat st;
    if (fstat(in, &st) != 0)
        return false;
    *bytes = (uint64_t)st.st_size;
    if (ioctl(out, FICLONE, in) == 0)
        return true;
    AUTO_FREE char *piece = malloc(PIECE);
    for (;;) {
        ssize_t len = piece ? read(in, piece, PIECE) : -1;
        if (len <= 0)
            return len == 0;
        for (ssize_t done = 0, more; done < len; done += more)
            if ((more = write(out, piece + done, (size_t)(len - done))) <= 0)
                return false;
    }
}

/* Whole under its name, or not there: the file has no name until it is complete. */
static enum qs_status copy_file(int from, int to, const char *name, struct seed_count *count, struct qs_error *err)
{
    struct stat st;
    uint64_t bytes = 0;
    char self[64];
    AUTO_FD int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (in < 0 || fstat(in, &st) != 0)
        return failed("read", name, err);
    if (!S_ISREG(st.st_mode) || faccessat(to, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return QS_OK;
    AUTO_FD int out = openat(to, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (out < 0 || !copy_content(in, out, &bytes) || fchmod(out, st.st_mode & 0777) != 0)
        return failed("copy", name, err);
    const struct timespec times[2] = {st.st_atim, st.st_mtim}; /* cargo and ccache look at them */
    (void)futimens(out, times);
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", out);
    if (linkat(AT_FDCWD, self, to, name, AT_SYMLINK_FOLLOW) != 0)
        return errno == EEXIST ? QS_OK : failed("name", name, err);
    count->files++;
    count->bytes += bytes;
    return QS_OK;
}

static enum qs_status copy_link(int from, int to, const char *name, struct qs_error *err)
{
    char target[PATH_MAX];
    ssize_t len = readlinkat(from, name, target, sizeof target - 1);
    if (len < 0)
        return failed("read", name, err);
    target[len] = '\0';
    return symlinkat(target, to, name) == 0 || errno == EEXIST ? QS_OK : failed("make", name, err);
}

static enum qs_status copy_all(int from, int to, int depth, struct seed_count *count, struct qs_error *err);

static enum qs_status copy_directory(int from, int to, const char *name, int depth, struct seed_count *count,
                                     struct qs_error *err)
{
    struct stat st;
    AUTO_FD int below = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below < 0 || fstat(below, &st) != 0)
        return failed("read", name, err);
    if (depth >= DEPTH_MAX)
        return error_set(err, QS_IO, "%s of a cache lies too deep", name);
    bool made = mkdirat(to, name, 0700) == 0;
    if (!made && errno != EEXIST)
        return failed("make", name, err);
    AUTO_FD int there = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (there < 0) /* a command has something else there, and it stays */
        return errno == ENOTDIR || errno == ELOOP ? QS_OK : failed("open", name, err);
    enum qs_status status = copy_all(below, there, depth + 1, count, err);
    if (status)
        return status;
    if (made && fchmod(there, st.st_mode & 0777) != 0) /* Go's are read-only */
        return failed("finish", name, err);
    return QS_OK;
}

static enum qs_status copy_all(int from, int to, int depth, struct seed_count *count, struct qs_error *err)
{
    int copy = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    enum qs_status status = QS_OK;
    if (!dir) {
        status = failed("read", "a directory", err);
        cleanup_fd(&copy);
        return status;
    }
    for (struct dirent *entry; !status && (entry = readdir(dir));) {
        const char *name = entry->d_name;
        struct stat st;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            status = errno == ENOENT ? QS_OK : failed("look at", name, err); /* the host's tool has removed it */
        else if (S_ISDIR(st.st_mode))
            status = copy_directory(from, to, name, depth, count, err);
        else if (S_ISLNK(st.st_mode))
            status = copy_link(from, to, name, err);
        else if (S_ISREG(st.st_mode))
            status = copy_file(from, to, name, count, err);
    }
    (void)closedir(dir);
    return status;
}

enum qs_status seed_tree(int from, int to, struct seed_count *count, struct qs_error *err)
{
    enum qs_status status = copy_all(from, to, 0, count, err);
    (void)close(to);
    return status;
}
