/* SPDX-License-Identifier: Apache-2.0 */
/* The walk that finds repositories. */
#include "sandbox/crossing/find.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "base/path.h"
#include "sandbox/crossing/files.h"
#include "sandbox/wire/sys.h"

#include <dirent.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define POINTER_MAX_BYTES 4096
#define BENEATH           (RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH)

void found_release(struct found_repositories *found)
{
    for (size_t i = 0; i < found->count; i++) {
        free(found->items[i].path);
        free(found->items[i].text);
    }
    free(found->items);
    free(found->unread);
    *found = (struct found_repositories){0};
}

/* A directory is the same under another name: it was moved, and its content is covered while a command runs. A pointer
 * leads elsewhere under another name. */
void found_identity(const struct found_repository *repository, struct buf *out)
{
    bool directory = repository->kind == FOUND_DIR || repository->kind == FOUND_BARE;
    buf_printf(out, "%d %d ", (int)repository->kind, (int)repository->valid);
    if (directory && repository->valid)
        buf_printf(out, "%llu %llu", (unsigned long long)repository->dev, (unsigned long long)repository->ino);
    else
        buf_printf(out, "%s\n%s", repository->path, repository->text ? repository->text : "");
}

static bool exists(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool find_is_gitdir(int dir, const char *name)
{
    AUTO_FD int fd = sys_open(dir, name, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
    return fd >= 0 && exists(fd, "HEAD") && (exists(fd, "commondir") || (exists(fd, "objects") && exists(fd, "refs")));
}

/* ---- what is found ---- */

static enum qs_status add(struct found_repositories *found, char *path, enum found_kind kind, bool valid,
                          const struct stat *st, char *text, struct qs_error *err)
{
    struct found_repository *grown = path ? reallocarray(found->items, found->count + 1, sizeof *found->items) : NULL;
    if (!grown) {
        free(path);
        free(text);
        return error_memory(err);
    }
    found->items = grown;
    found->items[found->count++] = (struct found_repository){
        .path = path, .kind = kind, .valid = valid, .dev = st->st_dev, .ino = st->st_ino, .text = text};
    return QS_OK;
}

static char *read_pointer(int dir, bool link)
{
    char target[PATH_MAX];
    AUTO_FREE char *text = NULL;
    if (link) {
        ssize_t len = readlinkat(dir, ".git", target, sizeof target - 1);
        return len < 0 ? strdup("") : strndup(target, (size_t)len);
    }
    if (files_read_text(dir, ".git", POINTER_MAX_BYTES, &text, NULL) != QS_OK || !text)
        return strdup("");
    text[strcspn(text, "\r\n")] = '\0';
    return STEAL(text);
}

/* The `.git` of a directory, asked for by name: no number of files beside it can hide it. */
static enum qs_status ask_for_git(int dir, const char *path, struct found_repositories *found, struct qs_error *err)
{
    struct stat st;
    if (fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) != 0)
        return QS_OK;
    char *whole = path_join(path, ".git");
    if (S_ISDIR(st.st_mode))
        return add(found, whole, FOUND_DIR, find_is_gitdir(dir, ".git"), &st, NULL, err);
    char *text = read_pointer(dir, S_ISLNK(st.st_mode));
    if (!text) {
        free(whole);
        return error_memory(err);
    }
    return add(found, whole, S_ISREG(st.st_mode) ? FOUND_FILE : FOUND_LINK, true, &st, text, err);
}

/* ---- the walk, shallow directories first ---- */

struct walk {
    struct found_repositories *found;
    const char *top;
    int root;
    char **queue; /* beneath the root; "." is the root */
    size_t head, count, cap;
    unsigned left;
    uint64_t until;
    bool open_up, links_count;
    dev_t device;
};

static void walk_release(struct walk *walk)
{
    for (size_t i = walk->head; i < walk->count; i++)
        free(walk->queue[i]);
    free(walk->queue);
    cleanup_fd(&walk->root);
}

static enum qs_status push(struct walk *walk, char *dir, struct qs_error *err)
{
    if (dir && walk->count == walk->cap) {
        size_t cap = walk->cap ? 2 * walk->cap : 256;
        char **grown = reallocarray(walk->queue, cap, sizeof *grown);
        if (!grown) {
            free(dir);
            return error_memory(err);
        }
        walk->queue = grown;
        walk->cap = cap;
    }
    if (!dir)
        return error_memory(err);
    walk->queue[walk->count++] = dir;
    return QS_OK;
}

/* Opens a directory to read it; one that was closed to its own owner is opened up. */
static int open_dir(const struct walk *walk, const char *dir)
{
    char self[64];
    struct stat st;
    int fd = sys_open(walk->root, dir, O_RDONLY | O_DIRECTORY, BENEATH);
    if (fd >= 0 || errno != EACCES || !walk->open_up)
        return fd;
    AUTO_FD int place = strcmp(dir, ".") == 0 ? fcntl(walk->root, F_DUPFD_CLOEXEC, 3)
                                              : sys_open(walk->root, dir, O_PATH | O_DIRECTORY, BENEATH);
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", place);
    if (place < 0 || fstat(place, &st) != 0 || chmod(self, (st.st_mode & 07777) | S_IRWXU) != 0)
        return -1;
    return open(self, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool is_directory(int dir, const struct dirent *entry, struct stat *st)
{
    if (entry->d_type != DT_UNKNOWN && entry->d_type != DT_DIR)
        return false;
    return fstatat(dir, entry->d_name, st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st->st_mode);
}

/* A directory without directories in it need not be read, if it can be told by its links, as find(1) does it. One of
 * links alone can be a git directory all the same: its HEAD tells. */
static bool is_leaf(const struct walk *walk, int dir, const char *name, const struct stat *st)
{
    char head[NAME_MAX + 8];
    (void)snprintf(head, sizeof head, "%s/HEAD", name);
    return walk->links_count && st->st_dev == walk->device && st->st_nlink == 2 && (st->st_mode & S_IXUSR) &&
           !exists(dir, head);
}

static enum qs_status read_entries(struct walk *walk, DIR *list, const char *dir, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    struct dirent *entry;
    struct stat st;
    while (!status && !walk->found->cut && (entry = readdir(list))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, ".git") == 0)
            continue;
        walk->found->cut = walk->left == 0 || (walk->left % 1024 == 0 && qs_os->monotonic_ms() >= walk->until);
        if (walk->found->cut)
            break;
        walk->left--;
        if (!is_directory(dirfd(list), entry, &st))
            continue;
        AUTO_FREE char *path = strcmp(dir, ".") == 0 ? strdup(name) : path_join(dir, name);
        AUTO_FREE char *whole = path ? path_join(walk->top, path) : NULL;
        AUTO_FD int child = sys_open(dirfd(list), name, O_PATH | O_DIRECTORY, BENEATH);
        if (!whole)
            return error_memory(err);
        if (is_leaf(walk, dirfd(list), name, &st))
            status = child < 0 ? QS_OK : ask_for_git(child, whole, walk->found, err);
        else
            status = push(walk, STEAL(path), err);
    }
    return status;
}

static enum qs_status read_dir(struct walk *walk, const char *dir, struct qs_error *err)
{
    bool top = strcmp(dir, ".") == 0;
    struct stat st;
    AUTO_FREE char *whole = top ? strdup(walk->top) : path_join(walk->top, dir);
    int fd = open_dir(walk, dir);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (!whole)
        return error_memory(err);
    if (!list) {
        if (errno != ENOENT && errno != ENOTDIR && !walk->found->unread)
            walk->found->unread = strdup(whole);
        cleanup_fd(&fd);
        return QS_OK;
    }
    enum qs_status status = ask_for_git(dirfd(list), whole, walk->found, err);
    bool gitdir = find_is_gitdir(dirfd(list), ".");
    if (!status && gitdir && fstat(dirfd(list), &st) == 0)
        status = add(walk->found, strdup(whole), FOUND_BARE, true, &st, NULL, err);
    if (!status && (!gitdir || top)) /* what is in a git directory is judged with it */
        status = read_entries(walk, list, dir, err);
    (void)closedir(list);
    return status;
}

enum qs_status find_repositories(const char *root, bool open_up, struct found_repositories *found, struct qs_error *err)
{
    struct statfs fs;
    struct stat st;
    AUTO(walk_release)
    struct walk walk = {.found = found,
                        .top = root,
                        .left = FIND_MAX_ENTRIES,
                        .until = qs_os->monotonic_ms() + FIND_MAX_MS,
                        .open_up = open_up};
    walk.root = sys_open(AT_FDCWD, root, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
    if (walk.root < 0 && errno == ENOENT)
        return QS_OK; /* the whole root is gone */
    if (walk.root < 0 || fstat(walk.root, &st) != 0 || fstatfs(walk.root, &fs) != 0)
        return error_sys(err, QS_IO, errno, "cannot open %s to look for repositories", root);
    walk.device = st.st_dev;
    walk.links_count = fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC || fs.f_type == TMPFS_MAGIC;
    enum qs_status status = push(&walk, strdup("."), err);
    while (!status && !found->cut && walk.head < walk.count) {
        AUTO_FREE char *dir = walk.queue[walk.head++];
        status = read_dir(&walk, dir, err);
    }
    found->cut |= walk.head < walk.count;
    return status;
}
