/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counting writes and flushes: this program's own write, writev, pwrite, pwritev, fsync and fdatasync stand before the
 * C library's (it is linked with -rdynamic), so that calls from liblmdb and libsqlite3 come through here as well.
 */
#include "bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_bool counting;
static struct io_count so_far;

void count_start(void)
{
    so_far = (struct io_count){0};
    atomic_store(&counting, true);
}

struct io_count count_stop(void)
{
    atomic_store(&counting, false);
    return so_far;
}

static void note_write(int fd, long written)
{
    struct stat st;
    int saved = errno;
    if (atomic_load_explicit(&counting, memory_order_relaxed) && written > 0 && fstat(fd, &st) == 0 &&
        S_ISREG(st.st_mode)) {
        so_far.writes++;
        so_far.bytes += (uint64_t)written;
        int flags = fcntl(fd, F_GETFL);
        if (flags >= 0 && flags & O_DSYNC) /* O_SYNC has this bit, too */
            so_far.flushes++;
    }
    errno = saved;
}

static void note_flush(void)
{
    if (atomic_load_explicit(&counting, memory_order_relaxed))
        so_far.flushes++;
}

/* The names are given to the linker as they are: with 64-bit offsets the headers would make pwrite64 of pwrite. */
#define SEEN(symbol) __asm__(symbol) __attribute__((visibility("default")))
ssize_t seen_write(int fd, const void *data, size_t len) SEEN("write");
ssize_t seen_pwrite(int fd, const void *data, size_t len, off_t at) SEEN("pwrite");
ssize_t seen_pwrite64(int fd, const void *data, size_t len, off_t at) SEEN("pwrite64");
ssize_t seen_writev(int fd, const struct iovec *parts, int count) SEEN("writev");
ssize_t seen_pwritev(int fd, const struct iovec *parts, int count, off_t at) SEEN("pwritev");
ssize_t seen_pwritev64(int fd, const struct iovec *parts, int count, off_t at) SEEN("pwritev64");
int seen_fsync(int fd) SEEN("fsync");
int seen_fdatasync(int fd) SEEN("fdatasync");

ssize_t seen_write(int fd, const void *data, size_t len)
{
    long n = syscall(SYS_write, fd, data, len);
    note_write(fd, n);
    return n;
}

ssize_t seen_pwrite(int fd, const void *data, size_t len, off_t at)
{
    long n = syscall(SYS_pwrite64, fd, data, len, at);
    note_write(fd, n);
    return n;
}

ssize_t seen_pwrite64(int fd, const void *data, size_t len, off_t at)
{
    return seen_pwrite(fd, data, len, at);
}

ssize_t seen_writev(int fd, const struct iovec *parts, int count)
{
    long n = syscall(SYS_writev, fd, parts, count);
    note_write(fd, n);
    return n;
}

ssize_t seen_pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
    long n = syscall(SYS_pwritev, fd, parts, count, at, at >> 32);
    note_write(fd, n);
    return n;
}

ssize_t seen_pwritev64(int fd, const struct iovec *parts, int count, off_t at)
{
    return seen_pwritev(fd, parts, count, at);
}

int seen_fsync(int fd)
{
    note_flush();
    return (int)syscall(SYS_fsync, fd);
}

int seen_fdatasync(int fd)
{
    note_flush();
    return (int)syscall(SYS_fdatasync, fd);
}
