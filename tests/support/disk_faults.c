/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interposed writing and flushing calls. liblmdb calls pwrite, what is built with 64-bit offsets calls pwrite64: both
 * must be here, so this file is built without the macro that makes one of the other.
 */
#undef _FILE_OFFSET_BITS
#include "tests/support/disk_faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT ssize_t pwrite(int fd, const void *data, size_t len, off_t at);
EXPORT ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at);
EXPORT ssize_t write(int fd, const void *data, size_t len);
EXPORT ssize_t writev(int fd, const struct iovec *parts, int count);
EXPORT int fdatasync(int fd);
EXPORT int fsync(int fd);

static struct {
    bool active, onwards, hit;
    unsigned at, seen;
    enum disk_fault kind;
    int code;
} plan;

void disk_faults_start(unsigned at, bool onwards, enum disk_fault kind, int code)
{
    memset(&plan, 0, sizeof plan);
    plan.at = at;
    plan.onwards = onwards;
    plan.kind = kind;
    plan.code = code;
    plan.active = true;
}

unsigned disk_faults_stop(void)
{
    plan.active = false;
    return plan.seen;
}

bool disk_faults_hit(void)
{
    return plan.hit;
}

static bool strikes(int fd)
{
    struct stat st;
    if (!plan.active || fstat(fd, &st) || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
        return false;
    plan.seen++;
    bool now = plan.seen == plan.at || (plan.onwards && plan.seen > plan.at);
    if (plan.kind == DISK_COUNT_ONLY || !now)
        return false;
    plan.hit = true;
    return true;
}

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* A pointer to an object cannot be converted to one to a function in ISO C; POSIX's dlsym(3) shows this way. */
#define REAL(variable, name) *(void **)&(variable) = real(name)

static ssize_t struck_write(ssize_t (*do_write)(int, const void *, size_t, off_t, bool), int fd, const void *data,
                            size_t len, off_t at, bool positioned)
{
    switch (plan.kind) {
    case DISK_FAIL:
    case DISK_INTERRUPTED:
        break;
    case DISK_FAIL_AFTER:
        (void)do_write(fd, data, len, at, positioned);
        break;
    case DISK_HALF:
        (void)do_write(fd, data, len / 2, at, positioned);
        break;
    case DISK_SHORT:
        return do_write(fd, data, len > 1 ? len / 2 : len, at, positioned);
    case DISK_COUNT_ONLY:
        return do_write(fd, data, len, at, positioned);
    }
    errno = plan.kind == DISK_INTERRUPTED ? EINTR : plan.code;
    return -1;
}

static ssize_t real_write(int fd, const void *data, size_t len, off_t at, bool positioned)
{
    static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
    static ssize_t (*plain_write)(int, const void *, size_t);
    if (!real_pwrite) {
        REAL(real_pwrite, "pwrite");
        REAL(plain_write, "write");
    }
    return positioned ? real_pwrite(fd, data, len, at) : plain_write(fd, data, len);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
    return strikes(fd) ? struck_write(real_write, fd, data, len, at, true) : real_write(fd, data, len, at, true);
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at)
{
    return pwrite(fd, data, len, at);
}

ssize_t write(int fd, const void *data, size_t len)
{
    return strikes(fd) ? struck_write(real_write, fd, data, len, 0, false) : real_write(fd, data, len, 0, false);
}

/* LMDB writes neighbouring pages with one writev: a struck one is judged by its first part. */
ssize_t writev(int fd, const struct iovec *parts, int count)
{
    static ssize_t (*real_writev)(int, const struct iovec *, int);
    if (!real_writev)
        REAL(real_writev, "writev");
    if (!strikes(fd))
        return real_writev(fd, parts, count);
    if (plan.kind == DISK_FAIL_AFTER)
        (void)real_writev(fd, parts, count);
    else
        return struck_write(real_write, fd, parts[0].iov_base, parts[0].iov_len, 0, false);
    errno = plan.code;
    return -1;
}

static int flush(int fd, const char *name, int (**real_flush)(int))
{
    if (!*real_flush)
        *(void **)real_flush = real(name);
    if (!strikes(fd) || plan.kind == DISK_SHORT)
        return (*real_flush)(fd);
    if (plan.kind == DISK_FAIL_AFTER)
        (void)(*real_flush)(fd);
    errno = plan.kind == DISK_INTERRUPTED ? EINTR : plan.code;
    return -1;
}

int fdatasync(int fd)
{
    static int (*real_fdatasync)(int);
    return flush(fd, "fdatasync", &real_fdatasync);
}

int fsync(int fd)
{
    static int (*real_fsync)(int);
    return flush(fd, "fsync", &real_fsync);
}
