/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at one path of the host: links followed by hand, the result opened without following any. */
#include "sandbox/host/host_path.h"

#include "base/cleanup.h"
#include "qsettings/limits.h"
#include "sandbox/wire/sys.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void path_fact_release(struct path_fact *fact)
{
    int saved = errno;
    free(fact->given);
    free(fact->path);
    free(fact->closed);
    for (size_t i = 0; i < fact->link_count; i++)
        free(fact->links[i]);
    free(fact->links);
    if (fact->fd >= 0)
        (void)close(fact->fd);
    *fact = (struct path_fact){.fd = -1};
    errno = saved;
}

bool path_facts_add(struct path_facts *facts, struct path_fact *fact)
{
    if (facts->count == facts->cap) {
        size_t cap = facts->cap ? 2 * facts->cap : 8;
        struct path_fact *grown = reallocarray(facts->items, cap, sizeof *grown);
        if (!grown) {
            path_fact_release(fact);
            return false;
        }
        facts->items = grown;
        facts->cap = cap;
    }
    facts->items[facts->count++] = *fact;
    *fact = (struct path_fact){.fd = -1};
    return true;
}

void path_facts_release(struct path_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++)
        path_fact_release(&facts->items[i]);
    free(facts->items);
    *facts = (struct path_facts){0};
}

/* ---- walking ---- */

struct walk {
    char done[PATH_MAX]; /* resolved so far; "" is the root */
    char rest[PATH_MAX]; /* still to be resolved */
    unsigned hops;
};

/* Takes the next segment off rest; false at the end. */
static bool next_segment(struct walk *walk, char *segment)
{
    char *at = walk->rest + strspn(walk->rest, "/");
    size_t len = strcspn(at, "/");
    if (len == 0)
        return false;
    if (len > NAME_MAX)
        len = NAME_MAX + 1; /* lstat will say ENAMETOOLONG */
    memcpy(segment, at, len);
    segment[len] = '\0';
    memmove(walk->rest, at + len, strlen(at + len) + 1);
    return true;
}

static enum qs_status remember_link(struct path_fact *fact, const char *link, struct qs_error *err)
{
    char **grown = reallocarray(fact->links, fact->link_count + 1, sizeof *grown);
    char *copy = strdup(link);
    if (grown)
        fact->links = grown;
    if (!grown || !copy) {
        free(copy);
        return error_memory(err);
    }
    fact->links[fact->link_count++] = copy;
    return QS_OK;
}

static enum qs_status follow_link(struct walk *walk, const char *link, struct path_fact *fact, struct qs_error *err)
{
    char target[PATH_MAX];
    ssize_t len = readlink(link, target, sizeof target - 1);
    if (len < 0)
        return error_sys(err, QS_IO, errno, "cannot read the link %s", link);
    target[len] = '\0';
    if (++walk->hops > QS_LINK_HOPS_MAX)
        return error_set(err, QS_INVALID, "%s: more than %u symbolic links on the way", fact->given, QS_LINK_HOPS_MAX);
    enum qs_status status = remember_link(fact, link, err);
    if (status)
        return status;
    char rest[PATH_MAX];
    int need = snprintf(rest, sizeof rest, "%s/%s", target, walk->rest);
    if (need < 0 || (size_t)need >= sizeof rest)
        return error_set(err, QS_INVALID, "%s: the path is too long once its links are resolved", fact->given);
    memcpy(walk->rest, rest, (size_t)need + 1);
    if (target[0] == '/')
        walk->done[0] = '\0';
    return QS_OK;
}

static enum qs_status close_at(struct path_fact *fact, const char *dir, struct qs_error *err)
{
    fact->closed = strdup(dir[0] ? dir : "/");
    return fact->closed ? QS_OK : error_memory(err);
}

/* One segment further. *ret_absent: there is nothing at this path, or nothing that the runner can reach. */
static enum qs_status step(struct walk *walk, const char *segment, struct path_fact *fact, bool *ret_absent,
                           struct qs_error *err)
{
    if (strcmp(segment, ".") == 0)
        return QS_OK;
    if (strcmp(segment, "..") == 0) {
        char *slash = strrchr(walk->done, '/');
        if (slash)
            *slash = '\0';
        return QS_OK;
    }
    char next[PATH_MAX];
    int need = snprintf(next, sizeof next, "%s/%s", walk->done, segment);
    if (need < 0 || (size_t)need >= sizeof next)
        return error_set(err, QS_INVALID, "%s: the path is too long", fact->given);
    struct stat st;
    if (lstat(next, &st) != 0) {
        if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
            return error_sys(err, QS_IO, errno, "cannot look at %s", next);
        *ret_absent = true;
        return errno == EACCES ? close_at(fact, walk->done, err) : QS_OK;
    }
    if (S_ISLNK(st.st_mode))
        return follow_link(walk, next, fact, err);
    memcpy(walk->done, next, (size_t)need + 1);
    return QS_OK;
}

static enum path_kind kind_of(mode_t mode)
{
    if (S_ISDIR(mode))
        return PATH_DIR;
    if (S_ISREG(mode))
        return PATH_FILE;
    if (S_ISLNK(mode))
        return PATH_LINK;
    if (S_ISSOCK(mode))
        return PATH_SOCKET;
    if (S_ISCHR(mode) || S_ISBLK(mode))
        return PATH_DEVICE;
    return PATH_OTHER;
}

/* Fills a fact from an open descriptor, which it takes over. */
static enum qs_status fill(struct path_fact *fact, int fd, char *path, bool keep_fd, struct qs_error *err)
{
    AUTO_FD int own = fd;
    AUTO_FREE char *own_path = path;
    if (!own_path)
        return error_memory(err);
    struct stat st;
    if (fstat(own, &st) != 0)
        return error_sys(err, QS_IO, errno, "cannot look at %s", own_path);
    fact->path = STEAL(own_path);
    fact->kind = kind_of(st.st_mode);
    fact->dev = st.st_dev;
    fact->ino = st.st_ino;
    fact->uid = st.st_uid;
    fact->mode = st.st_mode;
    if (keep_fd)
        fact->fd = steal_fd(&own);
    return QS_OK;
}

static enum qs_status expand(const char *given, const char *home, char **ret_path, struct qs_error *err)
{
    if (given[0] == '~' && (given[1] == '\0' || given[1] == '/'))
        *ret_path = path_join(home, given[1] ? given + 2 : "");
    else if (given[0] == '/')
        *ret_path = strdup(given);
    else
        return error_set(err, QS_INVALID, "%s: not an absolute path", given);
    if (!*ret_path)
        return error_memory(err);
    if (strlen(*ret_path) < PATH_MAX)
        return QS_OK;
    free(*ret_path);
    *ret_path = NULL;
    return error_set(err, QS_INVALID, "%.64s...: the path is too long", given);
}

/* No "." or ".." and no doubled or final slash: then a path that opens without links is its own resolution. */
static bool is_plain(const char *path)
{
    for (const char *at = path; *at; at++)
        if (at[0] == '/' && (at[1] == '/' || at[1] == '\0' || (at[1] == '.' && (at[2] == '/' || at[2] == '\0')) ||
                             (at[1] == '.' && at[2] == '.' && (at[3] == '/' || at[3] == '\0'))))
            return false;
    return true;
}

/* Apart from look: the pages of its stack are touched by those paths alone that need them. */
static __attribute__((noinline)) enum qs_status look_by_steps(struct path_fact *fact, bool keep_fd,
                                                              struct qs_error *err)
{
    struct walk walk = {.hops = 0};
    (void)snprintf(walk.rest, sizeof walk.rest, "%s", fact->given);
    char segment[NAME_MAX + 2];
    bool absent = false;
    while (next_segment(&walk, segment)) {
        enum qs_status status = step(&walk, segment, fact, &absent, err);
        if (status || absent)
            return status;
    }
    const char *place = walk.done[0] ? walk.done : "/";
    int fd = sys_open(AT_FDCWD, place, O_PATH, RESOLVE_NO_SYMLINKS);
    if (fd < 0 && (errno == ENOENT || errno == EACCES))
        return QS_OK; /* gone, or unreachable, since the walk: absent */
    if (fd < 0)
        return error_sys(err, QS_IO, errno, "cannot open %s without following links", place);
    return fill(fact, fd, strdup(place), keep_fd, err);
}

static enum qs_status look(struct path_fact *fact, bool keep_fd, struct qs_error *err)
{
    /* Most paths have no link on the way, and most of those that a policy hides do not exist: one call tells. */
    bool plain = is_plain(fact->given);
    int direct = plain ? sys_open(AT_FDCWD, fact->given, O_PATH, RESOLVE_NO_SYMLINKS) : -1;
    if (direct >= 0)
        return fill(fact, direct, strdup(fact->given), keep_fd, err);
    if (plain && errno == ENOENT)
        return QS_OK;
    return look_by_steps(fact, keep_fd, err);
}

enum qs_status path_look(const char *given, const char *home, bool keep_fd, struct path_fact *ret_fact,
                         struct qs_error *err)
{
    struct path_fact fact = {.fd = -1};
    enum qs_status status = expand(given, home, &fact.given, err);
    if (!status)
        status = look(&fact, keep_fd, err);
    if (status) {
        path_fact_release(&fact);
        return status;
    }
    *ret_fact = fact;
    return QS_OK;
}

/* Which directory on the way to an absolute path, without links, may not be searched? */
static enum qs_status find_closed(struct path_fact *fact, struct qs_error *err)
{
    struct stat st;
    AUTO_FREE char *way = strdup(fact->given);
    char *slash = way ? strrchr(way, '/') : NULL;
    if (!way)
        return error_memory(err);
    for (; slash && slash != way; slash = strrchr(way, '/')) {
        *slash = '\0';
        if (lstat(way, &st) == 0)
            break;
    }
    return close_at(fact, slash == way ? "/" : way, err);
}

enum qs_status path_look_itself(const char *path, struct path_fact *ret_fact, struct qs_error *err)
{
    struct path_fact fact = {.fd = -1, .given = strdup(path)};
    if (!fact.given)
        return error_memory(err);
    int fd = sys_open(AT_FDCWD, path, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
    enum qs_status status = QS_OK;
    if (fd >= 0)
        status = fill(&fact, fd, strdup(path), false, err);
    else if (errno == EACCES)
        status = find_closed(&fact, err);
    else if (errno != ENOENT && errno != ENOTDIR)
        status = error_sys(err, QS_INVALID, errno, "%s: a symbolic link on the way", path);
    if (status) {
        path_fact_release(&fact);
        return status;
    }
    *ret_fact = fact;
    return QS_OK;
}
