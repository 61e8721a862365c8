/* SPDX-License-Identifier: Apache-2.0 */
/* Moving one swept name out of a writable root. */
#include "sandbox/sweep/quarantine.h"

#include "base/cleanup.h"
#include "sandbox/host/copy_tree.h"
#include "sandbox/wire/sys.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Linux's own value; stdio.h hides it behind feature macros. */
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

enum qs_status sweep_line(struct sweep_lines *lines, char *text, struct qs_error *err)
{
    char **grown = text ? reallocarray(lines->items, lines->count + 1, sizeof *grown) : NULL;
    if (!grown) {
        free(text);
        return error_memory(err);
    }
    lines->items = grown;
    lines->items[lines->count++] = text;
    return QS_OK;
}

static void take_lines(struct sweep_lines *lines, struct sweep_lines *other)
{
    for (size_t i = 0; i < other->count; i++)
        (void)!sweep_line(lines, other->items[i], NULL);
    free(other->items);
    *other = (struct sweep_lines){0};
}

void sweep_findings_add(struct sweep_findings *found, struct sweep_findings *other)
{
    take_lines(&found->violations, &other->violations);
    take_lines(&found->notices, &other->notices);
}

void sweep_findings_release(struct sweep_findings *found)
{
    struct sweep_lines *const all[] = {&found->violations, &found->notices};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        for (size_t j = 0; j < all[i]->count; j++)
            free(all[i]->items[j]);
        free(all[i]->items);
    }
    free((void *)(uintptr_t)found->base.home);
    *found = (struct sweep_findings){0};
}

/* ---- moving ---- */

/*
 * Walks name beneath root_fd as long as it leads through directories. ret_last gets the segment that exists and is to
 * be moved: the last one, or a link on the way. False where nothing of that name is there.
 */
static bool find(int root_fd, const char *name, int *ret_parent, char *ret_path, char ret_last[NAME_MAX + 1])
{
    AUTO_FD int at = fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
    const char *rest = name;
    while (at >= 0) {
        size_t len = strcspn(rest, "/");
        struct stat st;
        if (len == 0 || len > NAME_MAX)
            return false;
        memcpy(ret_last, rest, len);
        ret_last[len] = '\0';
        if (fstatat(at, ret_last, &st, AT_SYMLINK_NOFOLLOW) != 0)
            return false;
        bool last = rest[len + strspn(rest + len, "/")] == '\0';
        if (last || S_ISLNK(st.st_mode)) {
            size_t whole = (size_t)(rest - name) + len;
            memcpy(ret_path, name, whole);
            ret_path[whole] = '\0';
            *ret_parent = steal_fd(&at);
            return true;
        }
        int next = sys_open(at, ret_last, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
        (void)close(at);
        at = next;
        rest += len + strspn(rest + len, "/");
    }
    return false;
}

static void stamp(char text[64])
{
    struct timespec now;
    struct tm tm;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &tm);
    size_t len = strftime(text, 64, "%Y%m%dT%H%M%S", &tm);
    (void)snprintf(text + len, 64 - len, ".%09ldZ", now.tv_nsec);
}

/* A directory that its owner may not write cannot be moved, nor can anything out of it; inside, that takes one chmod.
 */
static bool make_movable(int parent, const char *last)
{
    struct stat st;
    char self[64];
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", parent);
    if (fstat(parent, &st) != 0 || chmod(self, (st.st_mode & 07777) | S_IRWXU) != 0)
        return false;
    AUTO_FD int fd = sys_open(parent, last, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    return fd < 0 || (fstat(fd, &st) == 0 && chmod(self, (st.st_mode & 07777) | S_IRWXU) == 0);
}

/* What is to be moved, and how that is said. */
struct leaving {
    struct sweep_findings *found;
    int parent;
    const char *last; /* its name in parent */
    const char *root, *path, *why;
};

static enum qs_status note(const struct leaving *leaving, const char *where, const char *more, struct qs_error *err)
{
    char *text = NULL;
    if (asprintf(&text, "%s/%s %s moved to %s%s", leaving->root, leaving->path, leaving->why, where, more) < 0)
        text = NULL;
    return sweep_line(&leaving->found->violations, text, err);
}

/* The quarantine is on another file system: the name goes at once, then what bears it. What is too large to be copied
 * stays beside its old name. */
static enum qs_status move_across(const struct leaving *leaving, int quarantine, const char *place, const char *when,
                                  struct qs_error *err)
{
    char beside[NAME_MAX + 1];
    struct qs_error why = {0};
    (void)snprintf(beside, sizeof beside, "%.150s.quarantined-%.60s", leaving->last, when);
    if (renameat2(leaving->parent, leaving->last, leaving->parent, beside, RENAME_NOREPLACE) != 0)
        return error_sys(err, QS_IO, errno, "cannot move %s of %s away", leaving->path, leaving->root);
    enum qs_status status = copy_tree(leaving->parent, beside, quarantine, leaving->last, &why);
    if (!status)
        status = remove_tree(leaving->parent, beside, &why);
    if (!status)
        return note(leaving, place, "", err);
    char more[QS_ERROR_TEXT_BYTES + 80];
    (void)snprintf(more, sizeof more, " beside it: it cannot be copied to the quarantine (%s)", why.message);
    status = remove_tree(quarantine, leaving->last, NULL); /* what was copied of it, if anything */
    (void)status;
    return note(leaving, beside, more, err);
}

static enum qs_status move(const struct leaving *leaving, struct qs_error *err)
{
    char when[64], whole[128];
    AUTO_FD int quarantine = -1;
    AUTO_FREE char *place = NULL;
    const char *last = leaving->last;
    int parent = leaving->parent;
    stamp(when);
    (void)snprintf(whole, sizeof whole, "quarantine/%s/%s", leaving->found->workspace, when);
    enum qs_status status = state_open(&leaving->found->base, whole, true, &quarantine, &place, err);
    if (status)
        return status;
    int code = renameat2(parent, last, quarantine, last, RENAME_NOREPLACE);
    if (code != 0 && (errno == EACCES || errno == EPERM) && make_movable(parent, last))
        code = renameat2(parent, last, quarantine, last, RENAME_NOREPLACE);
    if (code == 0)
        return note(leaving, place, "", err);
    if (errno == ENOENT)
        return QS_OK; /* gone by itself */
    if (errno == EXDEV && make_movable(parent, last))
        return move_across(leaving, quarantine, place, when, err);
    return error_sys(err, QS_IO, errno, "cannot move %s of %s to the quarantine", leaving->path, leaving->root);
}

enum qs_status sweep_away(struct sweep_findings *found, const char *root, const char *name, const char *why,
                          struct qs_error *err)
{
    AUTO_FD int root_fd = sys_open(AT_FDCWD, root, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
    AUTO_FD int parent = -1;
    char path[PATH_MAX], last[NAME_MAX + 1];
    if (root_fd < 0 && errno == ENOENT)
        return QS_OK; /* the whole root is gone */
    if (root_fd < 0)
        return error_sys(err, QS_IO, errno, "cannot open %s to sweep it", root);
    if (strlen(name) >= sizeof path || !find(root_fd, name, &parent, path, last))
        return QS_OK;
    const struct leaving leaving = {
        .found = found, .parent = parent, .last = last, .root = root, .path = path, .why = why};
    return move(&leaving, err);
}
