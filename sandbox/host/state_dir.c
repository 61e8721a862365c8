/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the sandbox's own directories step by step, without following links. */
#include "sandbox/host/state_dir.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "sandbox/host/host_path.h"
#include "sandbox/wire/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void state_workspace_name(const char *workspace, char name[STATE_WORKSPACE_BYTES])
{
    static const char hex[] = "0123456789abcdef";
    uint8_t digest[QS_DIGEST_BYTES];
    digest_of(workspace, strlen(workspace), digest);
    for (size_t i = 0; i < STATE_WORKSPACE_BYTES - 1; i++)
        name[i] = hex[i % 2 ? digest[i / 2] & 15 : digest[i / 2] >> 4];
    name[STATE_WORKSPACE_BYTES - 1] = '\0';
}

struct state_base state_base_of(const char *home, const char *root, uid_t uid)
{
    struct stat st;
    bool own = root && stat(root, &st) == 0 && st.st_uid == uid;
    return (struct state_base){.home = home, .root = own ? root : NULL, .uid = uid};
}

static enum qs_status check_own(int fd, const char *path, uid_t uid, struct qs_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return error_sys(err, QS_IO, errno, "cannot look at %s", path);
    if (st.st_uid != uid)
        return error_set(err, QS_UNTRUSTED, "%s belongs to uid %u, not to the runner", path, (unsigned)st.st_uid);
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return error_set(err, QS_UNTRUSTED, "%s is writable by group or others", path);
    return QS_OK;
}

static enum qs_status enter(int *fd, const char *segment, bool make, const char *whole, struct qs_error *err)
{
    const uint64_t resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
    int next = sys_open(*fd, segment, O_RDONLY | O_DIRECTORY, resolve);
    if (next < 0 && errno == ENOENT && make) {
        if (mkdirat(*fd, segment, 0700) != 0 && errno != EEXIST)
            return error_sys(err, QS_IO, errno, "cannot make %s of %s", segment, whole);
        next = sys_open(*fd, segment, O_RDONLY | O_DIRECTORY, resolve);
    }
    if (next < 0 && errno == ENOENT)
        return error_set(err, QS_ABSENT, "%s does not exist", whole);
    if (next < 0)
        return error_sys(err, QS_IO, errno, "cannot open %s of %s", segment, whole);
    (void)close(*fd);
    *fd = next;
    return QS_OK;
}

/* From fd, which it takes over, down to way, which it cuts; whole is for messages. */
static enum qs_status descend(int fd, char *way, const char *whole, bool make, uid_t uid, int *ret_fd,
                              struct qs_error *err)
{
    AUTO_FD int at = fd;
    char *more = NULL;
    for (char *part = strtok_r(way, "/", &more); part; part = strtok_r(NULL, "/", &more)) {
        enum qs_status status = enter(&at, part, make, whole, err);
        if (status)
            return status;
    }
    enum qs_status status = check_own(at, whole, uid, err);
    if (!status)
        *ret_fd = steal_fd(&at);
    return status;
}

enum qs_status state_open(const struct state_base *base, const char *name, bool make, int *ret_fd, char **ret_path,
                          struct qs_error *err)
{
    const char *start = base->root ? base->root : base->home;
    char way[1024];
    int len = snprintf(way, sizeof way, "%s/%s", base->root ? "sandbox" : ".local/state/qsettings/sandbox", name);
    if (len < 0 || (size_t)len >= sizeof way)
        return error_set(err, QS_USAGE, "the name %.64s... is too long", name);
    AUTO_FREE char *whole = path_join(start, way);
    AUTO_FD int fd = open(start, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!whole)
        return error_memory(err);
    if (fd < 0)
        return error_sys(err, errno == ENOENT ? QS_ABSENT : QS_IO, errno, "cannot open %s", start);
    enum qs_status status = descend(steal_fd(&fd), way, whole, make, base->uid, ret_fd, err);
    if (status)
        return status;
    if (ret_path)
        *ret_path = STEAL(whole);
    return QS_OK;
}

enum qs_status state_open_below(int dir, const char *dir_path, uid_t uid, const char *name, bool make, int *ret_fd,
                                char **ret_path, struct qs_error *err)
{
    AUTO_FREE char *way = strdup(name), *whole = path_join(dir_path, name);
    if (!way || !whole)
        return error_memory(err);
    int fd = fcntl(dir, F_DUPFD_CLOEXEC, 3);
    if (fd < 0)
        return error_sys(err, QS_IO, errno, "cannot open %s", dir_path);
    enum qs_status status = descend(fd, way, whole, make, uid, ret_fd, err);
    if (status)
        return status;
    *ret_path = STEAL(whole);
    return QS_OK;
}
