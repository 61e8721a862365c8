/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that glibc 2.36 does not wrap, and constants newer than its headers. Numbers and layouts are those of
 * the kernel's uapi headers (linux/mount.h, linux/openat2.h, linux/landlock.h).
 */
#ifndef SANDBOX_SYS_H
#define SANDBOX_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Opens with O_CLOEXEC and the RESOLVE_ flags given; -1 with errno. */
static inline int sys_open(int dir_fd, const char *path, int flags, uint64_t resolve)
{
    struct open_how how = {.flags = (uint64_t)(unsigned)flags | O_CLOEXEC, .resolve = resolve};
    return (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof how);
}

/* A detached copy of the mount at fd. */
static inline int sys_clone_tree(int fd, bool recursive)
{
    unsigned flags = AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (recursive ? AT_RECURSIVE : 0);
    return (int)syscall(SYS_open_tree, fd, "", flags);
}

static inline int sys_mount_setattr(int fd, bool recursive, const struct mount_attr *attr)
{
    unsigned flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0);
    return (int)syscall(SYS_mount_setattr, fd, "", flags, attr, sizeof *attr);
}

/* Puts the detached mount on top of what target_fd names. No path is followed. */
static inline int sys_attach(int tree_fd, int target_fd)
{
    return (int)syscall(SYS_move_mount, tree_fd, "", target_fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

static inline int sys_fsopen(const char *type)
{
    return (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
}

static inline int sys_pidfd_open(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Newer than Debian 12's headers. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#define SANDBOX_LANDLOCK_SCOPE_ABSTRACT (1ULL << 0)

/* struct landlock_ruleset_attr as of ABI 6. */
struct sys_landlock_attr {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

/* The ABI, 0 where the kernel has no Landlock or it is switched off. */
static inline int sys_landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return abi > 0 ? (int)abi : 0;
}

#endif
