/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam to the system: every call by which the library reads or changes a file, and its clock. Tests put in their
 * own table to inject faults; nothing else ever assigns qs_os.
 */
#ifndef BASE_OS_H
#define BASE_OS_H

#include "base/error.h"

#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/types.h>

struct os_calls {
    int (*openat2)(int dir_fd, const char *path, struct open_how *how);
    ssize_t (*pread)(int fd, void *buf, size_t len, off_t at);
    ssize_t (*pwrite)(int fd, const void *buf, size_t len, off_t at);
    ssize_t (*read)(int fd, void *buf, size_t len);
    ssize_t (*write)(int fd, const void *buf, size_t len);
    int (*fstat)(int fd, struct stat *st);
    int (*fstatat)(int dir_fd, const char *path, struct stat *st, int flags);
    int (*fstatfs)(int fd, struct statfs *st);
    int (*fsync)(int fd);
    int (*fdatasync)(int fd);
    int (*ftruncate)(int fd, off_t len);
    int (*renameat2)(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
    int (*unlinkat)(int dir_fd, const char *path, int flags);
    int (*mkdirat)(int dir_fd, const char *path, mode_t mode);
    int (*linkat)(int from_fd, const char *from, int to_fd, const char *to, int flags);
    int (*fchmod)(int fd, mode_t mode);
    int (*fchown)(int fd, uid_t uid, gid_t gid);
    ssize_t (*readlinkat)(int dir_fd, const char *path, char *buf, size_t size);
    int (*flock)(int fd, int operation);
    ssize_t (*flistxattr)(int fd, char *list, size_t size);
    ssize_t (*fgetxattr)(int fd, const char *name, void *value, size_t size);
    int (*fsetxattr)(int fd, const char *name, const void *value, size_t size, int flags);
    int (*fremovexattr)(int fd, const char *name);
    uint64_t (*monotonic_ms)(void);
    void (*sleep_ms)(unsigned ms);
    int (*realtime)(int64_t *ret_s, uint32_t *ret_ns);
    uid_t (*geteuid)(void);
};

extern const struct os_calls *qs_os; /* the real calls unless a test says otherwise */
extern const struct os_calls os_real;

/* Wrappers that retry EINTR and finish short transfers. -1 with errno on failure. */
int os_open_at(int dir_fd, const char *path, int flags, mode_t mode, uint64_t resolve); /* O_CLOEXEC is added */
ssize_t os_pread_full(int fd, void *buf, size_t len, off_t at); /* less than len only at end of file */
int os_pwrite_full(int fd, const void *buf, size_t len, off_t at);
int os_write_full(int fd, const void *buf, size_t len);
int os_fsync(int fd);
int os_fdatasync(int fd);
int os_fsync_dir(int dir_fd); /* a directory that may be open with O_PATH */

/* Reads a whole descriptor to its end into heap memory (zero-terminated), QS_INVALID above max_bytes. */
enum qs_status os_read_all(int fd, const char *name, size_t max_bytes, char **ret_data, size_t *ret_len,
                           struct qs_error *err) QS_MUST_USE;

/* Random bytes from the kernel, for names of temporaries and ids. */
enum qs_status os_random(void *buf, size_t len, struct qs_error *err) QS_MUST_USE;

#endif
