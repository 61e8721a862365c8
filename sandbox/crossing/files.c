/* SPDX-License-Identifier: Apache-2.0 */
/* Files of git directories, by descriptor. */
#include "sandbox/crossing/files.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/os.h"
#include "sandbox/wire/sys.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#define COPY_STEP_BYTES ((size_t)1 << 20)
#define DEPTH_MAX       64u
#define BENEATH         (RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH)

int files_open_dir(int dir, const char *name)
{
    return sys_open(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, BENEATH);
}

static bool absent(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

enum qs_status files_read(int dir, const char *name, size_t max_bytes, char **ret_text, size_t *ret_len,
                          struct qs_error *err)
{
    AUTO_FD int fd = sys_open(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY, BENEATH);
    struct stat st;
    if (fd < 0 && absent(errno)) {
        *ret_text = NULL;
        *ret_len = 0;
        return QS_OK;
    }
    if (fd < 0 || fstat(fd, &st) != 0)
        return error_sys(err, errno == ELOOP ? QS_INVALID : QS_IO, errno, "cannot open %s", name);
    if (!S_ISREG(st.st_mode))
        return error_set(err, QS_INVALID, "%s is not a regular file", name);
    return os_read_all(fd, name, max_bytes, ret_text, ret_len, err);
}

enum qs_status files_read_text(int dir, const char *name, size_t max_bytes, char **ret_text, struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    enum qs_status status = files_read(dir, name, max_bytes, &text, &len, err);
    if (!status && text && strlen(text) != len)
        status = error_set(err, QS_INVALID, "%s has a zero byte", name);
    if (!status)
        *ret_text = STEAL(text);
    return status;
}

/* The directory in which name's last part lies, and that part. */
static int open_parent(int dir, const char *name, const char **ret_last)
{
    const char *slash = strrchr(name, '/');
    *ret_last = slash ? slash + 1 : name;
    AUTO_FREE char *way = slash ? strndup(name, (size_t)(slash - name)) : strdup(".");
    return way ? files_open_dir(dir, way) : -1;
}

enum qs_status files_write(int dir, const char *name, const void *data, size_t len, bool durable, struct qs_error *err)
{
    const char *last;
    char temporary[NAME_MAX + 1];
    AUTO_FD int parent = open_parent(dir, name, &last);
    (void)snprintf(temporary, sizeof temporary, ".%.200s.qsandbox-new", last);
    if (parent >= 0)
        (void)unlinkat(parent, temporary, 0); /* what a kill left */
    AUTO_FD int fd = parent < 0 ? -1 : openat(parent, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || os_write_full(fd, data ? data : "", len) != 0 || (durable && os_fsync(fd) != 0) ||
        renameat(parent, temporary, parent, last) != 0 || (durable && os_fsync_dir(parent) != 0))
        return error_sys(err, QS_IO, errno, "cannot write %s", name);
    return QS_OK;
}

enum qs_status files_remove(int dir, const char *name, struct qs_error *err)
{
    const char *last;
    AUTO_FD int parent = open_parent(dir, name, &last);
    if (parent < 0 && absent(errno))
        return QS_OK;
    if (parent < 0 || (unlinkat(parent, last, 0) != 0 && errno != ENOENT))
        return error_sys(err, QS_IO, errno, "cannot remove %s", name);
    return QS_OK;
}

/* ---- walking ---- */

static bool ends_in_lock(const char *name)
{
    size_t len = strlen(name);
    return len > 5 && strcmp(name + len - 5, ".lock") == 0;
}

/* Calls visit for each name of the directory; stops at the first error. */
typedef enum qs_status visit_name(void *context, int dir, const char *name, const struct stat *st, unsigned depth,
                                  struct qs_error *err);
static enum qs_status each(int dir, const char *name, unsigned depth, visit_name *visit, void *context,
                           struct qs_error *err)
{
    int fd = files_open_dir(dir, name);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    enum qs_status status = QS_OK;
    struct dirent *entry;
    struct stat st;
    if (!list) {
        int error = errno;
        cleanup_fd(&fd);
        return absent(error) || error == ELOOP ? QS_OK : error_sys(err, QS_IO, error, "cannot read %s", name);
    }
    while (!status && (entry = readdir(list)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            fstatat(dirfd(list), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            status = visit(context, dirfd(list), entry->d_name, &st, depth, err);
    (void)closedir(list);
    return status;
}

/* ---- copying ---- */

struct copying {
    int to;
    int64_t bytes; /* that may still be copied */
    unsigned entries;
};

static enum qs_status copy_file(struct copying *copying, int dir, const char *name, int to, struct qs_error *err)
{
    AUTO_FD int in = sys_open(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, BENEATH);
    if (in < 0 && errno == ENOENT)
        return QS_OK; /* gone meanwhile */
    struct stat st;
    bool regular = in >= 0 && fstat(in, &st) == 0 && S_ISREG(st.st_mode);
    AUTO_FD int out = !regular ? -1
                               : openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                        S_IRUSR | S_IWUSR | (st.st_mode & S_IXUSR));
    if (out < 0)
        return error_sys(err, QS_IO, errno, "cannot copy %s", name);
    for (ssize_t len; (len = sendfile(out, in, NULL, COPY_STEP_BYTES)) != 0;) {
        if (len < 0)
            return error_sys(err, QS_IO, errno, "cannot copy %s", name);
        if ((copying->bytes -= len) < 0)
            return error_set(err, QS_INVALID, "the git directory has more than %lld bytes to copy",
                             (long long)FILES_COPY_MAX_BYTES);
    }
    return QS_OK;
}

static enum qs_status copy_name(void *context, int dir, const char *name, const struct stat *st, unsigned depth,
                                struct qs_error *err)
{
    struct copying *copying = context;
    int to = copying->to;
    if (ends_in_lock(name) || depth == 0)
        return QS_OK;
    if (copying->entries-- == 0)
        return error_set(err, QS_INVALID, "the git directory has more than %u names to copy", FILES_COPY_MAX_ENTRIES);
    if (S_ISREG(st->st_mode))
        return copy_file(copying, dir, name, to, err);
    if (!S_ISDIR(st->st_mode))
        return QS_OK;
    if (mkdirat(to, name, 0700) != 0 && errno != EEXIST)
        return error_sys(err, QS_IO, errno, "cannot make %s", name);
    copying->to = files_open_dir(to, name);
    if (copying->to < 0)
        return error_sys(err, QS_IO, errno, "cannot open %s", name);
    enum qs_status status = each(dir, name, depth - 1, copy_name, copying, err);
    (void)close(copying->to);
    copying->to = to;
    return status;
}

static enum qs_status copy_one(int from, const char *name, int to, bool directory, struct qs_error *err)
{
    struct copying copying = {.to = to, .bytes = FILES_COPY_MAX_BYTES, .entries = FILES_COPY_MAX_ENTRIES};
    struct stat st;
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? QS_OK : error_sys(err, QS_IO, errno, "cannot look at %s", name);
    return S_ISDIR(st.st_mode) == directory ? copy_name(&copying, from, name, &st, DEPTH_MAX, err) : QS_OK;
}

enum qs_status files_copy(int from, const char *name, int to, struct qs_error *err)
{
    return copy_one(from, name, to, false, err);
}

enum qs_status files_copy_dir(int from, const char *name, int to, struct qs_error *err)
{
    return copy_one(from, name, to, true, err);
}

/* ---- locks ---- */

struct locks {
    bool remove, found, special;
};

static enum qs_status see_lock(void *context, int dir, const char *name, const struct stat *st, unsigned depth,
                               struct qs_error *err)
{
    struct locks *locks = context;
    if (S_ISDIR(st->st_mode))
        return depth ? each(dir, name, depth - 1, see_lock, context, err) : QS_OK;
    if (locks->special && !S_ISREG(st->st_mode) && !S_ISLNK(st->st_mode))
        (void)unlinkat(dir, name, 0);
    if (locks->special || !ends_in_lock(name))
        return QS_OK;
    locks->found = true;
    if (locks->remove)
        (void)unlinkat(dir, name, 0);
    return QS_OK;
}

void files_remove_locks(int dir, const char *name)
{
    struct locks locks = {.remove = true};
    enum qs_status status = each(dir, name, DEPTH_MAX, see_lock, &locks, NULL);
    (void)status; /* git names the lock that stops it */
}

void files_remove_special(int dir, const char *name)
{
    struct locks locks = {.special = true};
    enum qs_status status = each(dir, name, DEPTH_MAX, see_lock, &locks, NULL);
    (void)status; /* a git that waits for a pipe is ended by its limit of time */
}

bool files_have_lock(int dir, const char *name)
{
    struct locks locks = {0};
    return each(dir, name, DEPTH_MAX, see_lock, &locks, NULL) != QS_OK || locks.found;
}

/* ---- signatures ---- */

struct signing {
    struct digest digest;
    unsigned left;
};

static void sign_stat(struct signing *signing, const char *name, const struct stat *st)
{
    digest_add_field(&signing->digest, name, strlen(name));
    digest_add_u64(&signing->digest, st->st_dev);
    digest_add_u64(&signing->digest, st->st_ino);
    digest_add_u64(&signing->digest, S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_size);
    digest_add_u64(&signing->digest, S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_ctim.tv_sec);
    digest_add_u64(&signing->digest, S_ISDIR(st->st_mode) ? 0 : (uint64_t)st->st_ctim.tv_nsec);
}

static enum qs_status sign_name(void *context, int dir, const char *name, const struct stat *st, unsigned depth,
                                struct qs_error *err)
{
    struct signing *signing = context;
    if (ends_in_lock(name) || signing->left == 0)
        return QS_OK;
    signing->left--;
    sign_stat(signing, name, st);
    return S_ISDIR(st->st_mode) && depth ? each(dir, name, depth - 1, sign_name, context, err) : QS_OK;
}

enum qs_status files_sign(int dir, const char *const *names, uint8_t ret_sign[QS_DIGEST_BYTES], struct qs_error *err)
{
    struct signing signing = {.left = FILES_SIGN_MAX};
    struct stat st;
    enum qs_status status = QS_OK;
    digest_init(&signing.digest);
    for (; *names && !status; names++)
        if (fstatat(dir, *names, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            sign_stat(&signing, *names, &st);
            if (S_ISDIR(st.st_mode))
                status = each(dir, *names, DEPTH_MAX, sign_name, &signing, err);
        }
    if (!status && signing.left == 0) {
        uint8_t salt[16];
        status = os_random(salt, sizeof salt, err);
        digest_add(&signing.digest, salt, sizeof salt);
    }
    digest_finish(&signing.digest, ret_sign);
    return status;
}
