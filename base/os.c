/* SPDX-License-Identifier: Apache-2.0 */
/* The real system calls behind the seam, and the wrappers that finish what a signal or a short transfer broke off. */
#include "base/os.h"

#include "base/buf.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>

/* openat2(2): with RESOLVE_BENEATH or RESOLVE_IN_ROOT the kernel may answer EAGAIN while something on the way is being
 * renamed; the manual says to try again. */
#define OPEN_RETRIES_MAX 64

static int real_openat2(int dir_fd, const char *path, struct open_how *how)
{
    return (int)syscall(SYS_openat2, dir_fd, path, how, sizeof *how);
}

static int real_fstat(int fd, struct stat *st)
{
    return fstat(fd, st);
}

static int real_fstatat(int dir_fd, const char *path, struct stat *st, int flags)
{
    return fstatat(dir_fd, path, st, flags);
}

static uint64_t real_monotonic_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void real_sleep_ms(unsigned ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
        ;
}

static int real_realtime(int64_t *ret_s, uint32_t *ret_ns)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    *ret_s = now.tv_sec;
    *ret_ns = (uint32_t)now.tv_nsec;
    return 0;
}

const struct os_calls os_real = {
    .openat2 = real_openat2,
    .pread = pread,
    .pwrite = pwrite,
    .read = read,
    .write = write,
    .fstat = real_fstat,
    .fstatat = real_fstatat,
    .fstatfs = fstatfs,
    .fsync = fsync,
    .fdatasync = fdatasync,
    .ftruncate = ftruncate,
    .renameat2 = renameat2,
    .unlinkat = unlinkat,
    .mkdirat = mkdirat,
    .linkat = linkat,
    .fchmod = fchmod,
    .fchown = fchown,
    .readlinkat = readlinkat,
    .flock = flock,
    .flistxattr = flistxattr,
    .fgetxattr = fgetxattr,
    .fsetxattr = fsetxattr,
    .fremovexattr = fremovexattr,
    .monotonic_ms = real_monotonic_ms,
    .sleep_ms = real_sleep_ms,
    .realtime = real_realtime,
    .geteuid = geteuid,
};

const struct os_calls *qs_os = &os_real;

int os_open_at(int dir_fd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
    bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    int fd;
    unsigned tries = 0;
    do {
        struct open_how how = {
            .flags = (uint64_t)(unsigned)flags | O_CLOEXEC,
            .mode = creates ? mode : 0, /* the kernel refuses a mode that has no use */
            .resolve = resolve,
        };
        fd = qs_os->openat2(dir_fd, path, &how);
    } while (fd < 0 && (errno == EINTR || (errno == EAGAIN && resolve != 0 && ++tries < OPEN_RETRIES_MAX)));
    return fd;
}

ssize_t os_pread_full(int fd, void *buf, size_t len, off_t at)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = qs_os->pread(fd, (char *)buf + done, len - done, at + (off_t)done);
        if (n == 0)
            break;
        if (n > 0)
            done += (size_t)n;
        else if (errno != EINTR)
            return -1;
    }
    return (ssize_t)done;
}

int os_pwrite_full(int fd, const void *buf, size_t len, off_t at)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = qs_os->pwrite(fd, (const char *)buf + done, len - done, at + (off_t)done);
        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0) {
            errno = EIO; /* a regular file never takes zero bytes of more; do not spin */
            return -1;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

int os_write_full(int fd, const void *buf, size_t len)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = qs_os->write(fd, (const char *)buf + done, len - done);
        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0) {
            errno = EIO;
            return -1;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

int os_fsync(int fd)
{
    int rc;
    do
        rc = qs_os->fsync(fd);
    while (rc != 0 && errno == EINTR);
    return rc;
}

int os_fsync_dir(int dir_fd)
{
    AUTO_FD int fd = os_open_at(dir_fd, ".", O_RDONLY | O_DIRECTORY, 0, 0);
    return fd < 0 ? -1 : os_fsync(fd);
}

int os_fdatasync(int fd)
{
    int rc;
    do
        rc = qs_os->fdatasync(fd);
    while (rc != 0 && errno == EINTR);
    return rc;
}

/* One byte more than a regular file's size, so that its end is seen in the same read. */
static size_t first_chunk(int fd, size_t max_bytes)
{
    struct stat st;
    size_t chunk = (size_t)64 * 1024;
    if (qs_os->fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        chunk = (uint64_t)st.st_size > max_bytes ? max_bytes : (size_t)st.st_size;
    return chunk + 1;
}

enum qs_status os_read_all(int fd, const char *name, size_t max_bytes, char **ret_data, size_t *ret_len,
                           struct qs_error *err)
{
    size_t len = 0;
    size_t cap = first_chunk(fd, max_bytes);
    AUTO_FREE char *data = malloc(cap + 1);
    if (!data)
        return error_memory(err);
    for (;;) {
        if (len == cap) {
            cap += cap / 2 + 1;
            char *grown = realloc(data, cap + 1);
            if (!grown)
                return error_memory(err);
            data = grown;
        }
        ssize_t n = qs_os->read(fd, data + len, cap - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_sys(err, QS_IO, errno, "cannot read %s", name);
        if (n == 0)
            break;
        len += (size_t)n;
        if (len > max_bytes) {
            error_set(err, QS_INVALID, "%s is larger than %zu bytes", name, max_bytes);
            error_add_file(err, name);
            return QS_INVALID;
        }
    }
    data[len] = '\0';
    *ret_data = STEAL(data);
    *ret_len = len;
    return QS_OK;
}

enum qs_status os_random(void *buf, size_t len, struct qs_error *err)
{
    size_t done = 0;
    while (done < len) {
        ssize_t n = getrandom((char *)buf + done, len - done, 0);
        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            return error_sys(err, QS_IO, errno, "cannot get random bytes");
    }
    return QS_OK;
}
