/* SPDX-License-Identifier: Apache-2.0 */
/* Making, filling, ending and removing a group; which place is cgroup_look's affair. */
#include "sandbox/host/cgroup.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "sandbox/wire/sys.h"

#include <dirent.h>
#include <errno.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define NAME_PREFIX     "qsandbox-run-"
#define LEAF_NAME       "qsandbox-own" /* where an executor goes that was alone in a delegated group */
#define NAMES_MAX       16             /* attempts at a name; a sweep of another may take an empty new group away */
#define EMPTY_WAIT_MS   2000           /* for killed processes to be gone */
#define EMPTY_WAKES_MAX 64

static bool put(int dir, const char *file, const char *text)
{
    AUTO_FD int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static bool put_number(int dir, const char *file, uint64_t number)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    return put(dir, file, text);
}

void cgroup_kill(const struct cgroup *group)
{
    if (group->fd >= 0)
        (void)put(group->fd, "cgroup.kill", "1"); /* since Linux 5.14; before, the PID namespace is the only end */
}

/* The kernel says when the last process is gone, through poll(2) on the file. */
static void wait_empty(int group)
{
    AUTO_FD int fd = openat(group, "cgroup.events", O_RDONLY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < EMPTY_WAKES_MAX; i++) {
        char text[256] = "";
        struct pollfd polled = {.fd = fd, .events = POLLPRI};
        if (pread(fd, text, sizeof text - 1, 0) <= 0 || !strstr(text, "populated 1") ||
            poll(&polled, 1, EMPTY_WAIT_MS) <= 0)
            return;
    }
}

/* The groups below one that is to go: those of a session's runs. */
static void remove_below(int group)
{
    int copy = openat(group, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (!dir && copy >= 0)
        (void)close(copy);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_type == DT_DIR && strncmp(entry->d_name, NAME_PREFIX, sizeof NAME_PREFIX - 1) == 0)
            (void)unlinkat(group, entry->d_name, AT_REMOVEDIR);
    if (dir)
        (void)closedir(dir);
}

static void end_group(const struct cgroup *group)
{
    cgroup_kill(group);
    wait_empty(group->fd);
    remove_below(group->fd);
    (void)unlinkat(group->parent, group->name, AT_REMOVEDIR);
}

void cgroup_remove(struct cgroup *group)
{
    if (group->fd >= 0)
        end_group(group);
    cleanup_fd(&group->fd);
    cleanup_fd(&group->parent);
    *group = CGROUP_NONE;
}

/* A group whose maker is gone has no lock. What is still in it is a sandbox without its executor, and ends. */
static void sweep(int parent)
{
    int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (!dir && copy >= 0)
        (void)close(copy);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct cgroup litter = {.parent = parent};
        size_t len = strlen(entry->d_name);
        if (strncmp(entry->d_name, NAME_PREFIX, sizeof NAME_PREFIX - 1) != 0 || len >= sizeof litter.name)
            continue;
        memcpy(litter.name, entry->d_name, len + 1);
        litter.fd = openat(parent, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (litter.fd >= 0 && flock(litter.fd, LOCK_EX | LOCK_NB) == 0)
            end_group(&litter);
        cleanup_fd(&litter.fd);
    }
    if (dir)
        (void)closedir(dir);
}

/* One attempt: false with errno, EAGAIN where another name is to be tried. */
static bool make_named(struct cgroup *group)
{
    struct stat open_one, named;
    unsigned char random[8];
    char hex[2 * sizeof random + 1];
    if (os_random(random, sizeof random, NULL) != QS_OK)
        return false;
    for (size_t i = 0; i < sizeof random; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", random[i]);
    (void)snprintf(group->name, sizeof group->name, NAME_PREFIX "%s", hex);
    if (mkdirat(group->parent, group->name, 0755) != 0)
        return false;
    group->fd = openat(group->parent, group->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    /* Between mkdir and the lock it looks like litter, and may have been taken away. */
    if (group->fd >= 0 && flock(group->fd, LOCK_EX | LOCK_NB) == 0 && fstat(group->fd, &open_one) == 0 &&
        fstatat(group->parent, group->name, &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_ino == open_one.st_ino)
        return true;
    cleanup_fd(&group->fd);
    group->fd = -1;
    (void)unlinkat(group->parent, group->name, AT_REMOVEDIR);
    errno = EAGAIN;
    return false;
}

enum qs_status cgroup_settle(const struct cgroup_fact *fact, struct qs_error *err)
{
    if (!fact->settle)
        return QS_OK;
    if (mkdirat(fact->fd, LEAF_NAME, 0755) != 0 && errno != EEXIST)
        return error_sys(err, QS_IO, errno, "cannot make a control group in %s", fact->path);
    if (!put(fact->fd, LEAF_NAME "/cgroup.procs", "0"))
        return error_sys(err, QS_IO, errno, "cannot move to the control group %s/%s", fact->path, LEAF_NAME);
    return QS_OK;
}

/* Controllers for the groups below one; one that is on already does not matter. */
static bool enable(int group, bool memory, bool pids)
{
    return (!memory || put(group, "cgroup.subtree_control", "+memory")) &&
           (!pids || put(group, "cgroup.subtree_control", "+pids"));
}

static bool set_limits(const struct cgroup *group, const struct cgroup_fact *fact, const struct cgroup_limits *limits)
{
    if (limits->memory_bytes) {
        if (!put_number(group->fd, "memory.max", limits->memory_bytes))
            return false;
        /* Without swap of its own the limit is what it says; a kernel without swap has no such file. */
        if (!put(group->fd, "memory.swap.max", "0") && errno != ENOENT)
            return false;
    }
    if (limits->processes && !put_number(group->fd, "pids.max", limits->processes))
        return false;
    if (limits->divided) { /* what its runs may want; they look what there is */
        (void)enable(group->parent, fact->memory, false);
        (void)enable(group->parent, false, fact->pids);
        (void)enable(group->fd, fact->memory, false);
        (void)enable(group->fd, false, fact->pids);
    }
    return true;
}

enum qs_status cgroup_make(const struct cgroup_fact *fact, const struct cgroup_limits *limits, struct cgroup *ret_group,
                           struct qs_error *err)
{
    struct cgroup group = {.parent = openat(fact->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), .fd = -1};
    enum qs_status status = cgroup_settle(fact, err);
    if (status || group.parent < 0 || !enable(fact->fd, limits->memory_bytes != 0, limits->processes != 0)) {
        int error = errno;
        cleanup_fd(&group.parent);
        return status ? status : error_sys(err, QS_IO, error, "cannot have the controllers of %s", fact->path);
    }
    sweep(group.parent);
    bool made = false;
    for (int i = 0; i < NAMES_MAX && !made; i++)
        if (!(made = make_named(&group)) && errno != EAGAIN && errno != EEXIST)
            break;
    if (!made || !set_limits(&group, fact, limits)) {
        error_sys(err, QS_IO, errno, "cannot %s a control group in %s", made ? "limit" : "make", fact->path);
        cgroup_remove(&group);
        return QS_IO;
    }
    *ret_group = group;
    return QS_OK;
}

pid_t cgroup_fork(const struct cgroup *group)
{
    if (group->fd < 0)
        return fork();
    /* Born in it: moving a process there later makes the kernel wait for all others, some 20 ms (tried). */
    struct clone_args args = {.flags = CLONE_INTO_CGROUP,
                              .exit_signal = SIGCHLD,
                              .cgroup = (uint64_t)(unsigned)group->fd};
    return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}
