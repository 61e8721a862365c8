/* SPDX-License-Identifier: Apache-2.0 */
/* The walk through a writable root after a run, looking for repositories. */
#include "sandbox/sweep/sweep_nested.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "sandbox/wire/sys.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#define MODULES_MAX_DEPTH 16u

/* ---- the list's part ---- */

void sweep_now(char text[SWEEP_TIME_BYTES])
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now); /* what inodes are stamped with */
    (void)snprintf(text, SWEEP_TIME_BYTES, "%lld.%09ld", (long long)now.tv_sec, now.tv_nsec);
}

bool nested_since(struct nested *nested, const char *text)
{
    char *end = NULL;
    errno = 0;
    long long seconds = strtoll(text, &end, 10);
    if (errno || *end != '.' || end == text)
        return false;
    long nanoseconds = strtol(end + 1, &end, 10);
    if (errno || *end || nanoseconds < 0)
        return false;
    nested->since = (struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = nanoseconds};
    nested->timed = true;
    return true;
}

enum qs_status nested_add(struct nested *nested, const char *dir, const char *what, struct qs_error *err)
{
    struct nested_place *grown = reallocarray(nested->places, nested->count + 1, sizeof *grown);
    if (grown)
        nested->places = grown;
    char *copy = grown ? strdup(dir) : NULL;
    if (!copy)
        return error_memory(err);
    nested->places[nested->count++] = (struct nested_place){.dir = copy,
                                                            .gitdir = strcmp(what, WALK_GITDIR) == 0,
                                                            .links = strcmp(what, WALK_LINKS) == 0,
                                                            .own_git = strcmp(what, WALK_BELOW) == 0};
    return QS_OK;
}

void nested_release(struct nested *nested)
{
    for (size_t i = 0; i < nested->count; i++)
        free(nested->places[i].dir);
    free(nested->places);
    *nested = (struct nested){0};
}

/* ---- the walk ---- */

struct walk {
    struct sweep_findings *found;
    const struct nested *nested;
    const struct nested_place *place;
    int root;
    char **queue; /* directories still to be read, by their names beneath the root; "" is the root */
    size_t head, count, cap;
    unsigned left;
    bool cut;         /* there are more entries than were read */
    bool links_count; /* on this file system a directory with two links has no directories in it */
    dev_t device;
    char *unread; /* the first directory that could not be read */
};

static void walk_release(struct walk *walk)
{
    for (size_t i = walk->head; i < walk->count; i++)
        free(walk->queue[i]);
    free(walk->queue);
    free(walk->unread);
    cleanup_fd(&walk->root);
}

static char *below(const char *dir, const char *name)
{
    return *dir ? path_join(dir, name) : strdup(name);
}

static enum qs_status push(struct walk *walk, char *dir, struct qs_error *err)
{
    if (dir && walk->count == walk->cap) {
        size_t cap = walk->cap ? 2 * walk->cap : 256;
        char **grown = reallocarray(walk->queue, cap, sizeof *grown);
        if (!grown) {
            free(dir);
            dir = NULL;
        } else {
            walk->queue = grown;
            walk->cap = cap;
        }
    }
    if (!dir)
        return error_memory(err);
    walk->queue[walk->count++] = dir;
    return QS_OK;
}

/* Names by which a directory shows to be a git directory itself. */
struct seen {
    bool head, objects, refs;
};

static void see(struct seen *seen, const char *name)
{
    seen->head |= strcmp(name, "HEAD") == 0;
    seen->objects |= strcmp(name, "objects") == 0;
    seen->refs |= strcmp(name, "refs") == 0;
}

static bool is_directory(int dir, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* A .git is asked for by name, and before the directories around it are read: one full of files beside it cannot keep
 * it from being found. dir_fd and name lead to the directory, which is dir beneath the root. */
static enum qs_status ask_for_repository(struct walk *walk, int dir_fd, const char *name, const char *dir,
                                         struct qs_error *err)
{
    char beneath[NAME_MAX + 8];
    struct stat st;
    (void)snprintf(beneath, sizeof beneath, "%s/.git", name);
    if (fstatat(dir_fd, beneath, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return QS_OK;
    AUTO_FREE char *whole = below(dir, ".git");
    return whole ? sweep_repo(walk->found, walk->nested, walk->place->dir, whole, err) : error_memory(err);
}

static enum qs_status take_up(struct walk *walk, int parent, const char *name, char *dir, struct qs_error *err)
{
    struct stat st;
    bool known = dir && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
    enum qs_status status = dir ? ask_for_repository(walk, parent, name, dir, err) : QS_OK;
    if (status == QS_OK && known && walk->links_count && st.st_dev == walk->device && st.st_nlink == 2) {
        free(dir); /* no directory in it: nothing more to be found */
        return QS_OK;
    }
    enum qs_status pushed = push(walk, dir, err);
    return status == QS_OK ? pushed : status;
}

static enum qs_status read_entries(struct walk *walk, DIR *list, const char *dir, struct seen *seen,
                                   struct qs_error *err)
{
    enum qs_status status = QS_OK;
    struct dirent *entry;
    while (status == QS_OK && !walk->cut && (entry = readdir(list))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        walk->cut = walk->left == 0;
        if (walk->cut)
            break;
        walk->left--;
        see(seen, name);
        /* Only the guarded one is left out, a mount out of which nothing can be renamed. From any other directory the
         * next run could take a repository, which would then be older than it. */
        if (!(walk->place->own_git && !*dir && strcmp(name, ".git") == 0) && is_directory(dirfd(list), entry))
            status = take_up(walk, dirfd(list), name, below(dir, name), err);
    }
    return status;
}

static enum qs_status read_dir(struct walk *walk, const char *dir, struct qs_error *err)
{
    const uint64_t resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
    AUTO_FD int fd = sys_open(walk->root, *dir ? dir : ".", O_RDONLY | O_DIRECTORY, resolve);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return QS_OK;
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (!list) {
        if (!walk->unread)
            walk->unread = strdup(dir);
        return QS_OK;
    }
    (void)steal_fd(&fd);
    struct seen seen = {0};
    enum qs_status status = read_entries(walk, list, dir, &seen, err);
    (void)closedir(list);
    const char *slash = strrchr(dir, '/');
    bool judged = strcmp(slash ? slash + 1 : dir, ".git") == 0; /* when its name was asked for */
    if (status == QS_OK && *dir && !judged && seen.head && seen.objects && seen.refs)
        status = sweep_repo(walk->found, walk->nested, walk->place->dir, dir, err);
    return status;
}

static enum qs_status say_limits(struct walk *walk, struct qs_error *err)
{
    char *text = NULL;
    bool cut = walk->cut || walk->head < walk->count;
    if (cut && asprintf(&text, "%s has more than %u entries: new repositories were not looked for beyond them",
                        walk->place->dir, NESTED_MAX_ENTRIES) < 0)
        text = NULL;
    if (cut)
        return sweep_line(&walk->found->notices, text, err);
    if (!walk->unread)
        return QS_OK;
    if (asprintf(&text, "%s/%s could not be read: new repositories were not looked for there", walk->place->dir,
                 walk->unread) < 0)
        text = NULL;
    return sweep_line(&walk->found->notices, text, err);
}

/* The leaves need not be read where their links tell them, as find(1) does it. */
static void look_at_device(struct walk *walk)
{
    struct statfs fs;
    struct stat st;
    if (fstat(walk->root, &st) != 0 || fstatfs(walk->root, &fs) != 0)
        return;
    walk->device = st.st_dev;
    walk->links_count = fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC || fs.f_type == TMPFS_MAGIC;
}

static enum qs_status walk_root(struct sweep_findings *found, const struct nested *nested,
                                const struct nested_place *place, struct qs_error *err)
{
    AUTO(walk_release)
    struct walk walk = {.found = found, .nested = nested, .place = place, .left = NESTED_MAX_ENTRIES};
    walk.root = sys_open(AT_FDCWD, place->dir, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
    if (walk.root < 0 && errno == ENOENT)
        return QS_OK; /* the whole root is gone */
    if (walk.root < 0)
        return error_sys(err, QS_IO, errno, "cannot open %s to look for repositories", place->dir);
    look_at_device(&walk);
    enum qs_status status = place->own_git ? QS_OK : ask_for_repository(&walk, walk.root, ".", "", err);
    if (status == QS_OK)
        status = push(&walk, strdup(""), err);
    while (status == QS_OK && !walk.cut && walk.left && walk.head < walk.count) {
        AUTO_FREE char *dir = walk.queue[walk.head++];
        status = read_dir(&walk, dir, err);
    }
    return status == QS_OK ? say_limits(&walk, err) : status;
}

/* ---- submodules ---- */

/* Git directories beneath `modules`; a name may have slashes. */
static enum qs_status walk_modules(struct sweep_findings *found, const struct nested *nested, const char *top,
                                   const char *name, unsigned depth, struct qs_error *err)
{
    AUTO_FREE char *path = path_join(top, name);
    struct stat st;
    DIR *list = path && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    enum qs_status status = path ? QS_OK : error_memory(err);
    struct seen seen = {0};
    struct dirent *entry;
    while (list && depth && status == QS_OK && (entry = readdir(list))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        see(&seen, entry->d_name);
        AUTO_FREE char *deeper = path_join(name, entry->d_name);
        bool inside = seen.head && strcmp(entry->d_name, "modules") != 0; /* a git directory's own directories */
        if (!deeper)
            status = error_memory(err);
        else if (entry->d_type == DT_LNK && !inside)
            status = sweep_repo(found, nested, top, deeper, err);
        else if (!inside && is_directory(dirfd(list), entry))
            status = walk_modules(found, nested, top, deeper, depth - 1, err);
    }
    if (list)
        (void)closedir(list);
    return status == QS_OK && seen.head ? sweep_repo(found, nested, top, name, err) : status;
}

enum qs_status sweep_nested(struct sweep_findings *found, const struct nested *nested, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; nested->timed && i < nested->count && status == QS_OK; i++) {
        const struct nested_place *place = &nested->places[i];
        if (place->links)
            status = sweep_links(found, nested, place->dir, err);
        else if (!place->gitdir)
            status = walk_root(found, nested, place, err);
        else if ((status = sweep_own(found, nested, place->dir, err)) == QS_OK)
            status = walk_modules(found, nested, place->dir, "modules", MODULES_MAX_DEPTH, err);
    }
    return status;
}
