/* SPDX-License-Identifier: Apache-2.0 */
/* The walk from a file name to its directory and last name, through links, by descriptors. */
#include "writer/resolve_target.h"

#include "base/cleanup.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>

#define PENDING_BYTES (2u * PATH_MAX)

struct walk {
    int dir_fd;
    char pending[PENDING_BYTES]; /* what is still to be walked */
    char *at;
    unsigned hops;
    bool via_link; /* the file name itself was a link, followed */
    bool strict;   /* root's rules */
    uid_t uid;
};

/* One name of the pending path. */
struct step {
    char name[NAME_MAX + 1];
    bool last;
    bool slash; /* slashes follow: it has to be a directory */
};

static enum qs_status lookup_failed(struct qs_error *err, int code, const char *name)
{
    switch (code) {
    case ENOENT:
        return error_sys(err, QS_NOT_FOUND, code, "directory '%s' on the way", name);
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
        return error_sys(err, QS_INVALID, code, "'%s' on the way", name);
    }
    return error_sys(err, QS_IO, code, "cannot look up '%s'", name);
}

/* Takes the next name off the pending path; false at its end. */
static bool next_step(struct walk *walk, struct step *step, enum qs_status *status, struct qs_error *err)
{
    *status = QS_OK;
    walk->at += strspn(walk->at, "/");
    size_t len = strcspn(walk->at, "/");
    if (len == 0)
        return false;
    if (len > NAME_MAX) {
        *status = error_set(err, QS_INVALID, "a name of %zu bytes on the way is longer than %d", len, NAME_MAX);
        return false;
    }
    memcpy(step->name, walk->at, len);
    step->name[len] = '\0';
    walk->at += len;
    step->slash = *walk->at == '/';
    step->last = walk->at[strspn(walk->at, "/")] == '\0';
    return true;
}

/* Before a name is looked up in a directory: could somebody else have placed that name? */
static enum qs_status check_dir(const struct walk *walk, struct qs_error *err)
{
    struct stat st;
    if (!walk->strict)
        return QS_OK;
    if (TEMP_FAILURE_RETRY(qs_os->fstat(walk->dir_fd, &st)) != 0)
        return error_sys(err, QS_IO, errno, "cannot examine a directory on the way");
    bool open_to_group = (st.st_mode & S_IWGRP) && st.st_gid != 0;
    if (st.st_uid != walk->uid)
        error_set(err, QS_UNTRUSTED, "a directory on the way belongs to another user (uid %u)", (unsigned)st.st_uid);
    else if ((open_to_group || (st.st_mode & S_IWOTH)) && !(st.st_mode & S_ISVTX))
        error_set(err, QS_UNTRUSTED, "a directory on the way is writable by other users (mode %04o)",
                  (unsigned)st.st_mode & 07777);
    else
        return QS_OK;
    error_add_advice(err, "allow it with QS_REPLACE_OTHER_OWNER (--other-owner)");
    return QS_UNTRUSTED;
}

static enum qs_status enter(struct walk *walk, int fd, struct qs_error *err)
{
    cleanup_fd(&walk->dir_fd);
    walk->dir_fd = fd;
    return check_dir(walk, err);
}

static enum qs_status start(struct walk *walk, struct qs_error *err)
{
    const char *from = *walk->at == '/' ? "/" : ".";
    int fd = os_open_at(AT_FDCWD, from, O_PATH | O_DIRECTORY, 0, 0);
    if (fd < 0)
        return lookup_failed(err, errno, from);
    return enter(walk, fd, err);
}

/* What fs.protected_symlinks does for links that the kernel follows (proc(5)). */
static enum qs_status check_link_owner(const struct walk *walk, const struct stat *link, struct qs_error *err)
{
    struct stat dir;
    if (link->st_uid == walk->uid)
        return QS_OK;
    if (TEMP_FAILURE_RETRY(qs_os->fstat(walk->dir_fd, &dir)) != 0)
        return error_sys(err, QS_IO, errno, "cannot examine a directory on the way");
    bool shared = (dir.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH);
    if (shared && link->st_uid != dir.st_uid)
        return error_set(err, QS_UNTRUSTED, "a link in a directory open to everyone belongs to another user (uid %u)",
                         (unsigned)link->st_uid);
    return QS_OK;
}

/* The links of /proc that lead to open files have a text, but the kernel does not follow that text: neither do we. */
static enum qs_status check_magic(const struct walk *walk, int link_fd, const char *name, struct qs_error *err)
{
    struct statfs fs;
    if (TEMP_FAILURE_RETRY(qs_os->fstatfs(link_fd, &fs)) != 0)
        return error_sys(err, QS_IO, errno, "cannot examine link '%s'", name);
    if (fs.f_type != PROC_SUPER_MAGIC)
        return QS_OK;
    AUTO_FD int fd = os_open_at(walk->dir_fd, name, O_PATH, 0, RESOLVE_NO_MAGICLINKS);
    if (fd >= 0 || errno == ENOENT || errno == ENOTDIR || errno == EACCES)
        return QS_OK;
    if (errno == ELOOP)
        return error_set(err, QS_INVALID, "link '%s' leads to an open file and not to a path", name);
    return error_sys(err, QS_IO, errno, "cannot look up link '%s'", name);
}

/* Puts the link's text before what is still to be walked. */
static enum qs_status put_before(struct walk *walk, const char *text, size_t len, struct qs_error *err)
{
    size_t rest = strlen(walk->at);
    if (len == 0)
        return error_set(err, QS_INVALID, "a link on the way is empty");
    if (len + rest >= sizeof walk->pending)
        return error_set(err, QS_INVALID, "links on the way add up to a path longer than %u bytes", PENDING_BYTES - 1);
    memmove(walk->pending + len, walk->at, rest + 1);
    memcpy(walk->pending, text, len);
    walk->at = walk->pending;
    return QS_OK;
}

static enum qs_status follow(struct walk *walk, int link_fd, const struct stat *st, const struct step *step,
                             struct qs_error *err)
{
    char text[PATH_MAX];
    if (++walk->hops > QS_LINK_HOPS_MAX)
        return error_set(err, QS_INVALID, "more than %u symbolic links on the way: a loop?", QS_LINK_HOPS_MAX);
    enum qs_status status = check_link_owner(walk, st, err);
    if (!status)
        status = check_magic(walk, link_fd, step->name, err);
    if (status)
        return status;
    ssize_t len = TEMP_FAILURE_RETRY(qs_os->readlinkat(link_fd, "", text, sizeof text));
    if (len < 0)
        return error_sys(err, QS_IO, errno, "cannot read link '%s'", step->name);
    if ((size_t)len == sizeof text || memchr(text, '\0', (size_t)len))
        return error_set(err, QS_INVALID, "link '%s' has an invalid target", step->name);
    status = put_before(walk, text, (size_t)len, err);
    if (status)
        return status;
    walk->via_link = walk->via_link || step->last;
    return *walk->at == '/' ? start(walk, err) : QS_OK;
}

/* A name with more to come. Most are directories, so that is tried first. */
static enum qs_status step_through(struct walk *walk, const struct step *step, struct qs_error *err)
{
    int fd = os_open_at(walk->dir_fd, step->name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, 0);
    if (fd >= 0)
        return enter(walk, fd, err);
    if (errno != ENOTDIR && errno != ELOOP)
        return lookup_failed(err, errno, step->name);
    AUTO_FD int link_fd = os_open_at(walk->dir_fd, step->name, O_PATH | O_NOFOLLOW, 0, 0);
    struct stat st;
    if (link_fd < 0)
        return lookup_failed(err, errno, step->name);
    if (TEMP_FAILURE_RETRY(qs_os->fstat(link_fd, &st)) != 0)
        return error_sys(err, QS_IO, errno, "cannot examine '%s'", step->name);
    if (!S_ISLNK(st.st_mode))
        return lookup_failed(err, ENOTDIR, step->name);
    return follow(walk, link_fd, &st, step, err);
}

/* The last name: done (*ret_done), or one link further. */
static enum qs_status step_last(struct walk *walk, const struct step *step, struct resolved_target *target,
                                bool *ret_done, struct qs_error *err)
{
    if (step->slash || !strcmp(step->name, ".") || !strcmp(step->name, ".."))
        return error_set(err, QS_INVALID, "the path names a directory");
    AUTO_FD int fd = os_open_at(walk->dir_fd, step->name, O_PATH | O_NOFOLLOW, 0, 0);
    if (fd < 0 && errno != ENOENT)
        return lookup_failed(err, errno, step->name);
    if (fd >= 0) {
        if (TEMP_FAILURE_RETRY(qs_os->fstat(fd, &target->st)) != 0)
            return error_sys(err, QS_IO, errno, "cannot examine '%s'", step->name);
        if (S_ISLNK(target->st.st_mode))
            return follow(walk, fd, &target->st, step, err);
    }
    memcpy(target->name, step->name, sizeof target->name);
    target->exists = fd >= 0;
    target->dangling = fd < 0 && walk->via_link;
    target->hops = walk->hops;
    target->dir_fd = steal_fd(&walk->dir_fd);
    *ret_done = true;
    return QS_OK;
}

static enum qs_status walk_all(struct walk *walk, struct resolved_target *target, struct qs_error *err)
{
    enum qs_status status = start(walk, err);
    bool done = false;
    while (!status && !done) {
        struct step step;
        if (!next_step(walk, &step, &status, err))
            return status ? status : error_set(err, QS_INVALID, "the path names a directory");
        if (step.last)
            status = step_last(walk, &step, target, &done, err);
        else
            status = step_through(walk, &step, err);
    }
    return status;
}

enum qs_status resolve_target(const char *file, unsigned flags, struct resolved_target *ret_target,
                              struct qs_error *err)
{
    if (!file || !*file)
        return error_set(err, QS_USAGE, "no file name given");
    size_t len = strlen(file);
    if (len > QS_PATH_MAX_BYTES)
        return error_set(err, QS_INVALID, "a file name of %zu bytes is longer than %u", len, QS_PATH_MAX_BYTES);
    struct walk walk = {.dir_fd = -1, .uid = qs_os->geteuid()};
    walk.strict = walk.uid == 0 && !(flags & RESOLVE_FOREIGN);
    memcpy(walk.pending, file, len + 1);
    walk.at = walk.pending;
    struct resolved_target target = {.dir_fd = -1};
    enum qs_status status = walk_all(&walk, &target, err);
    cleanup_fd(&walk.dir_fd);
    if (!status)
        *ret_target = target;
    else
        error_add_file(err, file);
    return status;
}

void resolved_target_release(struct resolved_target *target)
{
    cleanup_fd(&target->dir_fd);
    target->dir_fd = -1;
}
