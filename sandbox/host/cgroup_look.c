/* SPDX-License-Identifier: Apache-2.0 */
/* Where groups may be made: reading only. */
#include "sandbox/host/cgroup.h"

#include "base/cleanup.h"
#include "sandbox/host/host_path.h"
#include "sandbox/wire/sys.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#define TEXT_MAX 8192

const struct cgroup_seam cgroup_here = {.self = "/proc/self/cgroup",
                                        .mounts = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"},
                                        .systemd = "/run/systemd/system"};

void cgroup_fact_release(struct cgroup_fact *fact)
{
    cleanup_fd(&fact->fd);
    free(fact->path);
    *fact = (struct cgroup_fact){.fd = -1};
}

__attribute__((format(printf, 2, 3))) static void say(struct cgroup_fact *fact, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(fact->why, sizeof fact->why, format, args);
    va_end(args);
}

static bool read_text(int dir, const char *file, char text[TEXT_MAX])
{
    AUTO_FD int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, TEXT_MAX - 1);
    text[len > 0 ? len : 0] = '\0';
    return len >= 0;
}

static bool has_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += len)
        if ((at == text || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\n' || at[len] == '\0'))
            return true;
    return false;
}

/* The path of this process's group, "0::/PATH" in the file; cut out of text. */
static char *own_path(char *text)
{
    char *line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    if (!line)
        return NULL;
    line += *line == '\n' ? 4 : 3;
    line[strcspn(line, "\n")] = '\0';
    return line;
}

static int open_mount(const struct cgroup_seam *seam, const char **ret_mount)
{
    for (size_t i = 0; seam->mounts[i]; i++) {
        struct statfs fs;
        AUTO_FD int fd = open(seam->mounts[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0 && fstatfs(fd, &fs) == 0 && (seam->any_filesystem || fs.f_type == CGROUP2_SUPER_MAGIC)) {
            *ret_mount = seam->mounts[i];
            return steal_fd(&fd);
        }
    }
    return -1;
}

/* Is it the runner's to divide? */
static bool delegated(const struct cgroup_seam *seam, int group, uid_t uid)
{
    static const char *const names[] = {"user.delegate", "trusted.delegate"};
    struct stat st;
    if (faccessat(group, ".", W_OK | X_OK, AT_EACCESS) != 0 ||
        faccessat(group, "cgroup.procs", W_OK, AT_EACCESS) != 0 ||
        faccessat(group, "cgroup.subtree_control", W_OK, AT_EACCESS) != 0 || fstat(group, &st) != 0)
        return false;
    if (access(seam->systemd, F_OK) != 0)
        return st.st_uid == uid;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char value[8] = "";
        if (fgetxattr(group, names[i], value, sizeof value - 1) > 0 && strcmp(value, "1") == 0)
            return true;
    }
    return false;
}

/* May groups with controllers be made in it? The root of all may hold processes beside them; any other must be empty,
 * or hold this process alone, which then moves. */
static bool divisible(int group, bool own, bool *ret_settle)
{
    char procs[TEXT_MAX], alone[32], type[TEXT_MAX];
    *ret_settle = false;
    if (!read_text(group, "cgroup.type", type))
        return true;
    if (!read_text(group, "cgroup.procs", procs) || strcmp(type, "domain\n") != 0)
        return false;
    (void)snprintf(alone, sizeof alone, "%d\n", (int)getpid());
    *ret_settle = own && strcmp(procs, alone) == 0;
    return procs[0] == '\0' || *ret_settle;
}

static void controllers(int group, const char *file, struct cgroup_fact *fact)
{
    char text[TEXT_MAX];
    (void)read_text(group, file, text);
    fact->memory = has_word(text, "memory");
    fact->pids = has_word(text, "pids");
    if (!fact->memory || !fact->pids)
        say(fact, "%s has no controller for %s", fact->path,
            fact->memory ? "processes"
            : fact->pids ? "memory"
                         : "memory and processes");
}

/* Takes the group where it fits. */
static bool take(const struct cgroup_seam *seam, uid_t uid, int *fd, const char *mount, const char *path, bool own,
                 struct cgroup_fact *fact)
{
    bool settle = false;
    if (*fd < 0 || !delegated(seam, *fd, uid)) {
        say(fact, "the control group %s is not delegated to this user", path);
        return false;
    }
    if (!divisible(*fd, own, &settle)) {
        say(fact, "the control group %s is delegated, but other processes are in it", path);
        return false;
    }
    fact->why[0] = '\0';
    fact->path = path[1] ? path_join(mount, path + 1) : strdup(mount);
    fact->fd = steal_fd(fd);
    fact->settle = settle;
    controllers(fact->fd, "cgroup.controllers", fact);
    return true;
}

void cgroup_look(const struct cgroup_seam *seam, uid_t uid, struct cgroup_fact *ret_fact)
{
    char text[TEXT_MAX];
    const char *mount = NULL;
    *ret_fact = (struct cgroup_fact){.fd = -1};
    char *path = read_text(AT_FDCWD, seam->self, text) ? own_path(text) : NULL;
    AUTO_FD int root = path ? open_mount(seam, &mount) : -1;
    if (root < 0 || strncmp(path, "/..", 3) == 0) {
        say(ret_fact, "no control groups of version 2 can be seen here");
        return;
    }
    AUTO_FD int own = openat(root, path[1] ? path + 1 : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_FREE char *above = strdup(path);
    if (!above)
        return;
    *strrchr(above, '/') = '\0';
    AUTO_FD int parent = path[1] ? openat(root, above[0] ? above + 1 : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    /* The parent first: it has all controllers that its child has, and nobody needs to move. */
    if (!path[1] || !take(seam, uid, &parent, mount, above[0] ? above : "/", false, ret_fact))
        (void)take(seam, uid, &own, mount, path, true, ret_fact);
}

void cgroup_adopt(int fd, struct cgroup_fact *ret_fact)
{
    *ret_fact = (struct cgroup_fact){.fd = fd, .path = strdup("the session's control group")};
    controllers(fd, "cgroup.subtree_control", ret_fact);
}
