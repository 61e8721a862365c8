/* SPDX-License-Identifier: Apache-2.0 */
/* The links of a git directory. No confined process is left when this runs, so names may be read by path. */
#include "sandbox/sweep/sweep_links.h"

#include "base/cleanup.h"
#include "sandbox/host/host_path.h"
#include "sandbox/sweep/sweep_move.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LINKS_MAX_DEPTH 64u

struct links {
    link_visit *visit;
    void *context;
    unsigned left;
    bool whole;
};

static unsigned char type_of(int dir, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type;
    if (fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return DT_UNKNOWN;
    return S_ISLNK(st.st_mode) ? DT_LNK : S_ISDIR(st.st_mode) ? DT_DIR : DT_REG;
}

static void read_links(struct links *links, const char *dir, const char *beneath, unsigned depth)
{
    DIR *list = opendir(dir);
    struct dirent *entry;
    links->whole &= list || errno == ENOENT || errno == ENOTDIR;
    while (list && (entry = readdir(list))) {
        const char *name = entry->d_name;
        char target[PATH_MAX];
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (!links->left) {
            links->whole = false;
            break;
        }
        links->left--;
        unsigned char type = type_of(dirfd(list), entry);
        if (type != DT_LNK && type != DT_DIR)
            continue;
        AUTO_FREE char *path = path_join(dir, name);
        AUTO_FREE char *below = *beneath ? path_join(beneath, name) : strdup(name);
        ssize_t len = type == DT_LNK ? readlinkat(dirfd(list), name, target, sizeof target - 1) : -1;
        if (len > 0 && below) {
            target[len] = '\0';
            links->visit(links->context, below, target);
        } else if (type == DT_DIR && path && below && depth) {
            bool skip = strcmp(below, "modules") == 0 || strncmp(below, "objects/", 8) == 0;
            if (!skip)
                read_links(links, path, below, depth - 1);
        } else {
            links->whole = false;
        }
    }
    if (list)
        (void)closedir(list);
}

bool links_each(const char *dir, link_visit *visit, void *context)
{
    struct links links = {.visit = visit, .context = context, .left = LINKS_MAX_ENTRIES, .whole = true};
    read_links(&links, dir, "", LINKS_MAX_DEPTH);
    return links.whole;
}

char *links_resolve(const char *base, const char *target)
{
    AUTO_FREE char *path = target[0] == '/' ? strdup(target) : path_join(base, target);
    AUTO(path_fact_release) struct path_fact fact = {.fd = -1};
    if (!path || target[0] == '~' || path_look(path, "/", false, &fact, NULL) != QS_OK)
        return NULL;
    if (fact.path)
        return STEAL(fact.path);
    path_flatten(path); /* it leads to nothing yet */
    return STEAL(path);
}

bool nested_changed(const struct nested *nested, const char *path, bool born)
{
    struct statx st;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_CTIME | STATX_BTIME, &st) != 0)
        return false;
    const struct statx_timestamp *time = born && (st.stx_mask & STATX_BTIME) ? &st.stx_btime : &st.stx_ctime;
    const struct timespec *since = &nested->since;
    return time->tv_sec > since->tv_sec || (time->tv_sec == since->tv_sec && time->tv_nsec >= since->tv_nsec);
}

/* ---- a guarded git directory ---- */

struct leading {
    struct sweep *sweep;
    const struct nested *nested;
    const char *dir;
    enum qs_status status;
    struct qs_error *err;
};

static void judge(void *context, const char *name, const char *target)
{
    struct leading *leading = context;
    AUTO_FREE char *path = path_join(leading->dir, name);
    AUTO_FREE char *base = path ? strdup(path) : NULL;
    AUTO_FREE char *why = NULL;
    if (leading->status != QS_OK)
        return;
    if (!base) {
        leading->status = error_set(leading->err, QS_IO, "out of memory");
        return;
    }
    *strrchr(base, '/') = '\0';
    AUTO_FREE char *place = links_resolve(base, target);
    /* To the workspace, too: what lies there could be exchanged for a link by the next run. */
    if (!nested_changed(leading->nested, path, false) || (place && path_within(place, leading->dir)))
        return;
    if (asprintf(&why, "is a link to %s made during a run, through which git would write there, and was",
                 place ? place : target) < 0)
        leading->status = error_set(leading->err, QS_IO, "out of memory");
    else
        leading->status = sweep_away(leading->sweep, leading->dir, name, why, leading->err);
}

enum qs_status sweep_links(struct sweep *sweep, const struct nested *nested, const char *dir, struct qs_error *err)
{
    struct leading leading = {.sweep = sweep, .nested = nested, .dir = dir, .err = err};
    char *text = NULL;
    if (links_each(dir, judge, &leading) || leading.status != QS_OK)
        return leading.status;
    if (asprintf(&text, "%s could not be read to its end: links that lead out of it were not looked for there", dir) <
        0)
        text = NULL;
    return sweep_line(&sweep->notices, text, err);
}
