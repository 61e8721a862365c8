/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the sandbox's own directories step by step, without following links. */
#include "sandbox/state.h"

#include "sandbox/hostpath.h"
#include "sandbox/sys.h"
#include "store/cleanup.h"
#include "store/digest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void state_workspace_name(const char *workspace, char name[STATE_WORKSPACE_BYTES])
{
    uint8_t digest[QS_DIGEST_BYTES];
    digest_of(workspace, strlen(workspace), digest);
    for (size_t i = 0; i < (STATE_WORKSPACE_BYTES - 1) / 2; i++)
        (void)snprintf(name + 2 * i, 3, "%02x", digest[i]);
}

struct state_place state_place_of(const char *home, const char *root, uid_t uid)
{
    struct stat st;
    bool own = root && stat(root, &st) == 0 && st.st_uid == uid;
    return (struct state_place){.home = home, .root = own ? root : NULL, .uid = uid};
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

enum qs_status state_open(const struct state_place *place, const char *name, bool make, int *ret_fd, char **ret_path,
                          struct qs_error *err)
{
    const char *start = place->root ? place->root : place->home;
    char way[1024];
    int len = snprintf(way, sizeof way, "%s/%s", place->root ? "sandbox" : ".local/state/qsettings/sandbox", name);
    if (len < 0 || (size_t)len >= sizeof way)
        return error_set(err, QS_USAGE, "the name %.64s... is too long", name);
    AUTO_FREE char *whole = path_join(start, way);
    AUTO_FD int fd = open(start, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!whole)
        return error_set(err, QS_IO, "out of memory");
    if (fd < 0)
        return error_sys(err, errno == ENOENT ? QS_ABSENT : QS_IO, errno, "cannot open %s", start);
    char *more = NULL;
    for (char *part = strtok_r(way, "/", &more); part; part = strtok_r(NULL, "/", &more)) {
        enum qs_status status = enter(&fd, part, make, whole, err);
        if (status != QS_OK)
            return status;
    }
    enum qs_status status = check_own(fd, whole, place->uid, err);
    if (status != QS_OK)
        return status;
    *ret_fd = steal_fd(&fd);
    if (ret_path)
        *ret_path = STEAL(whole);
    return QS_OK;
}
