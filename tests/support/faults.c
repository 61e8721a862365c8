/* SPDX-License-Identifier: Apache-2.0 */
/* Faults at the seam: a table of calls, each of which asks judge() first. */
#include "tests/support/faults.h"

#include "base/os.h"

#include <errno.h>
#include <string.h>

static struct fault plan;
static unsigned counted;
static const char *hit = "";

/* What is to happen to this call. */
static enum fault_kind judge(const char *call)
{
    if (plan.only && strcmp(plan.only, call) != 0)
        return FAULT_NONE;
    counted++;
    unsigned last = plan.last ? plan.last : plan.at;
    if (plan.at && (counted < plan.at || counted > last))
        return FAULT_NONE;
    hit = call;
    if (plan.before) {
        const struct os_calls *table = qs_os;
        qs_os = &os_real; /* what happens in between is not counted */
        plan.before(counted, call, plan.context);
        qs_os = table;
    }
    return plan.kind;
}

#define DECIDE(result, name, call) \
    enum fault_kind kind = judge(name); \
    if (kind == FAULT_FAIL) { \
        errno = plan.code; \
        return -1; \
    } \
    result rc = (call); \
    if (kind == FAULT_AFTER && rc != (result)-1) { \
        errno = plan.code; \
        return -1; \
    } \
    return rc

/* A transfer that was made is never reported as failed: a signal in the middle gives the count. */
#define DECIDE_TRANSFER(name, call) \
    enum fault_kind kind = judge(name); \
    if (kind == FAULT_FAIL || kind == FAULT_AFTER) { \
        errno = plan.code; \
        return -1; \
    } \
    return (call)

static size_t cut(size_t len)
{
    bool in_range = !plan.at || (counted >= plan.at && counted <= (plan.last ? plan.last : plan.at));
    return plan.kind == FAULT_SHORT && in_range && len > 1 ? 1 : len;
}

static int f_openat2(int dir_fd, const char *path, struct open_how *how)
{
    enum fault_kind kind = judge("openat2");
    if (kind == FAULT_FAIL || kind == FAULT_AFTER) { /* an open that is made and then fails would only leak */
        errno = plan.code;
        return -1;
    }
    return os_real.openat2(dir_fd, path, how);
}
static ssize_t f_pread(int fd, void *buf, size_t len, off_t at)
{
    DECIDE_TRANSFER("pread", os_real.pread(fd, buf, cut(len), at));
}
static ssize_t f_pwrite(int fd, const void *buf, size_t len, off_t at)
{
    DECIDE_TRANSFER("pwrite", os_real.pwrite(fd, buf, cut(len), at));
}
static ssize_t f_read(int fd, void *buf, size_t len)
{
    DECIDE_TRANSFER("read", os_real.read(fd, buf, cut(len)));
}
static ssize_t f_write(int fd, const void *buf, size_t len)
{
    DECIDE_TRANSFER("write", os_real.write(fd, buf, cut(len)));
}
static int f_fstat(int fd, struct stat *st)
{
    DECIDE(int, "fstat", os_real.fstat(fd, st));
}
static int f_fstatat(int dir_fd, const char *path, struct stat *st, int flags)
{
    DECIDE(int, "fstatat", os_real.fstatat(dir_fd, path, st, flags));
}
static int f_fstatfs(int fd, struct statfs *st)
{
    DECIDE(int, "fstatfs", os_real.fstatfs(fd, st));
}
static int f_fsync(int fd)
{
    DECIDE(int, "fsync", os_real.fsync(fd));
}
static int f_fdatasync(int fd)
{
    DECIDE(int, "fdatasync", os_real.fdatasync(fd));
}
static int f_ftruncate(int fd, off_t len)
{
    DECIDE(int, "ftruncate", os_real.ftruncate(fd, len));
}
static int f_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    DECIDE(int, "renameat2", os_real.renameat2(from_fd, from, to_fd, to, flags));
}
static int f_unlinkat(int dir_fd, const char *path, int flags)
{
    DECIDE(int, "unlinkat", os_real.unlinkat(dir_fd, path, flags));
}
static int f_mkdirat(int dir_fd, const char *path, mode_t mode)
{
    DECIDE(int, "mkdirat", os_real.mkdirat(dir_fd, path, mode));
}
static int f_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    DECIDE(int, "linkat", os_real.linkat(from_fd, from, to_fd, to, flags));
}
static int f_fchmod(int fd, mode_t mode)
{
    DECIDE(int, "fchmod", os_real.fchmod(fd, mode));
}
static int f_fchown(int fd, uid_t uid, gid_t gid)
{
    DECIDE(int, "fchown", os_real.fchown(fd, uid, gid));
}
static ssize_t f_readlinkat(int dir_fd, const char *path, char *buf, size_t size)
{
    DECIDE(ssize_t, "readlinkat", os_real.readlinkat(dir_fd, path, buf, size));
}
static int f_flock(int fd, int operation)
{
    DECIDE(int, "flock", os_real.flock(fd, operation));
}
static ssize_t f_flistxattr(int fd, char *list, size_t size)
{
    DECIDE(ssize_t, "flistxattr", os_real.flistxattr(fd, list, size));
}
static ssize_t f_fgetxattr(int fd, const char *name, void *value, size_t size)
{
    DECIDE(ssize_t, "fgetxattr", os_real.fgetxattr(fd, name, value, size));
}
static int f_fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
    DECIDE(int, "fsetxattr", os_real.fsetxattr(fd, name, value, size, flags));
}
static int f_fremovexattr(int fd, const char *name)
{
    DECIDE(int, "fremovexattr", os_real.fremovexattr(fd, name));
}

static struct os_calls table;

void faults_start(const struct fault *fault)
{
    plan = *fault;
    counted = 0;
    hit = "";
    table = os_real; /* the clock and the like stay real */
    table.openat2 = f_openat2;
    table.pread = f_pread;
    table.pwrite = f_pwrite;
    table.read = f_read;
    table.write = f_write;
    table.fstat = f_fstat;
    table.fstatat = f_fstatat;
    table.fstatfs = f_fstatfs;
    table.fsync = f_fsync;
    table.fdatasync = f_fdatasync;
    table.ftruncate = f_ftruncate;
    table.renameat2 = f_renameat2;
    table.unlinkat = f_unlinkat;
    table.mkdirat = f_mkdirat;
    table.linkat = f_linkat;
    table.fchmod = f_fchmod;
    table.fchown = f_fchown;
    table.readlinkat = f_readlinkat;
    table.flock = f_flock;
    table.flistxattr = f_flistxattr;
    table.fgetxattr = f_fgetxattr;
    table.fsetxattr = f_fsetxattr;
    table.fremovexattr = f_fremovexattr;
    qs_os = &table;
}

unsigned faults_stop(void)
{
    qs_os = &os_real;
    return counted;
}

bool faults_were_hit(void)
{
    return *hit != '\0';
}

const char *faults_call_hit(void)
{
    return hit;
}
