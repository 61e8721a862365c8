/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk for three uses: copying a directory, reading it, comparing it with a manifest. Each entry is opened once, by
 * descriptor and without following a link; what is hashed is what is written.
 */
#include "approval/tree.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/os.h"
#include "base/utf8.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE_BYTES ((size_t)64 << 10)
#define LINKS_MAX   40

struct walk {
    struct tree *tree;
    int target;                  /* -1: nothing is copied */
    const struct tree *manifest; /* NULL: contents are hashed */
    char path[TREE_PATH_MAX];
    size_t path_len;
    struct qs_error *err;
};

struct names {
    char **items;
    size_t count;
};

static void names_release(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

static enum qs_status at_path(const struct walk *walk, enum qs_status status)
{
    error_add_file(walk->err, walk->path_len ? walk->path : ".");
    return status;
}

static enum qs_status cannot(const struct walk *walk, const char *what)
{
    return at_path(walk, error_sys(walk->err, QS_IO, errno, "cannot %s", what));
}

static enum qs_status refuse(const struct walk *walk, const char *why)
{
    return at_path(walk, error_set(walk->err, QS_INVALID, "%s", why));
}

/* ---- names ---- */

static bool has_control(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == 0x7f)
            return true;
    return false;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum qs_status add_name(const struct walk *walk, struct names *names, const char *name)
{
    if (!utf8_valid(name, strlen(name), NULL) || has_control(name))
        return refuse(walk, "a name in it is not UTF-8 or has control characters");
    if (names->count + walk->tree->count >= TREE_MAX_ENTRIES)
        return refuse(walk, "the tree has more than 20000 entries");
    char **grown = realloc(names->items, (names->count + 1) * sizeof *grown);
    if (!grown)
        return error_memory(walk->err);
    names->items = grown;
    grown[names->count] = strdup(name);
    if (!grown[names->count])
        return error_memory(walk->err);
    names->count++;
    return QS_OK;
}

static void close_dir(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

/* The names of the directory in the order of their bytes. */
static enum qs_status list_names(const struct walk *walk, int fd, struct names *names)
{
    int copy = os_open_at(fd, ".", O_RDONLY | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS);
    AUTO(close_dir) DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (!dir) {
        if (copy >= 0)
            (void)close(copy);
        return cannot(walk, "read the directory");
    }
    for (;;) {
        errno = 0;
        const struct dirent *one = readdir(dir);
        if (!one)
            break;
        if (strcmp(one->d_name, ".") == 0 || strcmp(one->d_name, "..") == 0)
            continue;
        enum qs_status status = add_name(walk, names, one->d_name);
        if (status)
            return status;
    }
    if (errno)
        return cannot(walk, "read the directory");
    if (names->count)
        qsort(names->items, names->count, sizeof *names->items, compare_names);
    return QS_OK;
}

/* ---- links ---- */

static bool roots_alone(const struct stat *st)
{
    return st->st_uid == 0 && (S_ISLNK(st->st_mode) || !(st->st_mode & (S_IWGRP | S_IWOTH)));
}

/* Does this absolute path lead to a regular file through root's directories and links alone? Each step is looked at by
 * name below the last, and links are put in front of the rest by hand. */
static bool is_roots_file(const char *text)
{
    char rest[TREE_PATH_MAX];
    if (strlen(text) >= sizeof rest)
        return false;
    (void)snprintf(rest, sizeof rest, "%s", text);
    AUTO_FD int dir = -1;
    for (int links = 0; links < LINKS_MAX; links++) {
        if (rest[0] == '/' || dir < 0) {
            if (dir >= 0)
                (void)close(dir);
            dir = os_open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0, 0);
        }
        char *at = rest + strspn(rest, "/");
        for (;;) {
            struct stat st;
            size_t len = strcspn(at, "/");
            bool last = at[len + strspn(at + len, "/")] == '\0';
            char name[NAME_MAX + 1];
            if (!len || len > NAME_MAX || dir < 0)
                return false;
            memcpy(name, at, len);
            name[len] = '\0';
            if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !roots_alone(&st))
                return false;
            if (S_ISLNK(st.st_mode)) {
                char joined[2 * TREE_PATH_MAX];
                char target[TREE_PATH_MAX];
                ssize_t got = readlinkat(dir, name, target, sizeof target - 1);
                if (got <= 0)
                    return false;
                target[got] = '\0';
                (void)snprintf(joined, sizeof joined, "%s%s", target, at + len);
                if (strlen(joined) >= sizeof rest)
                    return false;
                memcpy(rest, joined, strlen(joined) + 1);
                break;
            }
            if (last)
                return S_ISREG(st.st_mode);
            int next = os_open_at(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, 0);
            (void)close(dir);
            dir = next;
            at += len + strspn(at + len, "/");
        }
    }
    return false;
}

static enum qs_status take_link(const struct walk *walk, int dir, int target, const char *name,
                                struct tree_entry *entry)
{
    char text[TREE_PATH_MAX];
    ssize_t len = qs_os->readlinkat(dir, name, text, sizeof text - 1);
    if (len < 0)
        return cannot(walk, "read the link");
    text[len] = '\0';
    if (!utf8_valid(text, (size_t)len, NULL) || has_control(text))
        return refuse(walk, "the link's text is not UTF-8 or has control characters");
    if (text[0] == '/' ? !is_roots_file(text) : !tree_link_stays(text, entry->depth - 1))
        return refuse(walk, "the link leads out of the tree");
    entry->link = strdup(text);
    if (!entry->link)
        return error_memory(walk->err);
    if (target >= 0 && symlinkat(text, target, name) != 0)
        return cannot(walk, "make the link's copy");
    return QS_OK;
}

/* ---- files ---- */

static bool same_state(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static enum qs_status changed(const struct walk *walk)
{
    return at_path(walk, error_set(walk->err, QS_CONFLICT, "it changed while it was read; try again"));
}

/* Hashes what it reads, and writes the same bytes to target (-1: nowhere). */
static enum qs_status take_content(const struct walk *walk, int fd, int target, struct tree_entry *entry)
{
    AUTO_FREE char *piece = malloc(PIECE_BYTES);
    struct digest digest;
    uint64_t done = 0;
    if (!piece)
        return error_memory(walk->err);
    digest_init(&digest);
    for (;;) {
        ssize_t got = os_pread_full(fd, piece, PIECE_BYTES, (off_t)done);
        if (got < 0)
            return cannot(walk, "read the file");
        if (got == 0)
            break;
        done += (uint64_t)got;
        if (done > entry->size)
            return changed(walk);
        digest_add(&digest, piece, (size_t)got);
        if (target >= 0 && os_write_full(target, piece, (size_t)got) != 0)
            return cannot(walk, "write the copy");
    }
    digest_finish(&digest, entry->digest);
    return done == entry->size ? QS_OK : changed(walk);
}

static enum qs_status take_file(const struct walk *walk, int dir, int target, const char *name, const struct stat *seen,
                                struct tree_entry *entry)
{
    struct stat before;
    struct stat after;
    AUTO_FD int copy = -1;
    AUTO_FD int fd = os_open_at(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0, RESOLVE_NO_SYMLINKS);
    if (fd < 0 || qs_os->fstat(fd, &before) != 0)
        return cannot(walk, "open the file");
    if (!S_ISREG(before.st_mode) || before.st_ino != seen->st_ino || !same_state(&before, seen))
        return changed(walk);
    if (target >= 0) {
        copy = os_open_at(target, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600, 0);
        if (copy < 0)
            return cannot(walk, "make the copy");
    }
    enum qs_status status = take_content(walk, fd, copy, entry);
    if (status)
        return status;
    if (qs_os->fstat(fd, &after) != 0 || !same_state(&before, &after))
        return changed(walk);
    if (copy >= 0 && (qs_os->fchmod(copy, entry->executable ? 0555 : 0444) != 0 || os_fsync(copy) != 0))
        return cannot(walk, "finish the copy");
    return QS_OK;
}

/* ---- the walk ---- */

static enum qs_status add_entry(const struct walk *walk, const struct tree_entry *entry)
{
    struct tree *tree = walk->tree;
    if (tree->count == tree->cap) {
        size_t cap = tree->cap ? 2 * tree->cap : 256;
        struct tree_entry *grown = realloc(tree->entries, cap * sizeof *grown);
        if (!grown)
            return error_memory(walk->err);
        tree->entries = grown;
        tree->cap = cap;
    }
    tree->entries[tree->count++] = *entry;
    return QS_OK;
}

static enum qs_status differs(const struct walk *walk, const char *how)
{
    return at_path(walk, error_set(walk->err, QS_DAMAGED, "it is not as it was approved: %s", how));
}

/* The manifest's entry at the same position must be this one. */
static enum qs_status compare_entry(const struct walk *walk, const struct tree_entry *entry, const struct stat *st)
{
    const struct tree *manifest = walk->manifest;
    const struct tree_entry *meant = walk->tree->count < manifest->count ? &manifest->entries[walk->tree->count] : NULL;
    if (!meant || strcmp(meant->path, entry->path) != 0)
        return differs(walk, tree_find(manifest, entry->path) ? "an entry before it is missing" : "it was added");
    if (meant->type != entry->type || meant->executable != entry->executable)
        return differs(walk, "another type or mode");
    if (meant->type != TREE_DIRECTORY && meant->size != entry->size)
        return differs(walk, "another size");
    bool same = meant->ino == st->st_ino && meant->changed_s == st->st_ctim.tv_sec &&
                meant->changed_ns == (uint32_t)st->st_ctim.tv_nsec;
    return same ? QS_OK : differs(walk, "it was changed or replaced");
}

static enum qs_status walk_directory(struct walk *walk, int dir, int target, unsigned depth);

static enum qs_status enter(struct walk *walk, int dir, int target, const char *name, unsigned depth)
{
    AUTO_FD int inner_target = -1;
    AUTO_FD int inner = os_open_at(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE_NO_SYMLINKS);
    if (inner < 0)
        return cannot(walk, "open the directory");
    if (depth >= TREE_MAX_DEPTH)
        return refuse(walk, "the tree is deeper than 64 levels");
    if (target >= 0) {
        inner_target = qs_os->mkdirat(target, name, 0700) == 0
                           ? os_open_at(target, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, 0)
                           : -1;
        if (inner_target < 0)
            return cannot(walk, "make the directory's copy");
    }
    enum qs_status status = walk_directory(walk, inner, inner_target, depth + 1);
    if (status)
        return status;
    if (inner_target >= 0 && (qs_os->fchmod(inner_target, 0555) != 0 || os_fsync(inner_target) != 0))
        return cannot(walk, "finish the directory's copy");
    return QS_OK;
}

static enum qs_status take_content_or_link(struct walk *walk, int dir, int target, const char *name,
                                           const struct stat *st, struct tree_entry *entry)
{
    if (entry->type == TREE_LINK)
        return take_link(walk, dir, target, name, entry);
    if (entry->type == TREE_DIRECTORY || walk->manifest)
        return QS_OK;
    if (walk->tree->bytes + entry->size > TREE_MAX_BYTES)
        return refuse(walk, "the tree is larger than 256 MiB");
    walk->tree->bytes += entry->size;
    return take_file(walk, dir, target, name, st, entry);
}

/* Takes entry over, in any case. */
static enum qs_status take_entry(struct walk *walk, int dir, int target, const char *name, const struct stat *st,
                                 struct tree_entry *entry)
{
    enum qs_status status = walk->manifest ? compare_entry(walk, entry, st) : QS_OK;
    if (!status)
        status = take_content_or_link(walk, dir, target, name, st, entry);
    if (!status && entry->type == TREE_LINK && walk->manifest &&
        strcmp(entry->link, walk->manifest->entries[walk->tree->count].link) != 0)
        status = differs(walk, "another link");
    if (!status)
        status = add_entry(walk, entry);
    if (status) {
        free(entry->path);
        free(entry->link);
        return status;
    }
    return entry->type == TREE_DIRECTORY ? enter(walk, dir, target, name, entry->depth) : QS_OK;
}

static enum qs_status walk_entry(struct walk *walk, int dir, int target, const char *name, unsigned depth)
{
    struct stat st;
    if (qs_os->fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return cannot(walk, "look at it");
    struct tree_entry entry = {.depth = depth};
    if (S_ISDIR(st.st_mode))
        entry.type = TREE_DIRECTORY;
    else if (S_ISLNK(st.st_mode))
        entry.type = TREE_LINK;
    else if (S_ISREG(st.st_mode))
        entry.type = TREE_FILE;
    else
        return refuse(walk, "it is neither a directory, a regular file nor a link");
    entry.executable = entry.type == TREE_FILE && (st.st_mode & 0111);
    entry.size = entry.type == TREE_FILE ? (uint64_t)st.st_size : 0;
    entry.path = strdup(walk->path);
    if (!entry.path)
        return error_memory(walk->err);
    return take_entry(walk, dir, target, name, &st, &entry);
}

static enum qs_status walk_directory(struct walk *walk, int dir, int target, unsigned depth)
{
    AUTO(names_release) struct names names = {0};
    enum qs_status status = list_names(walk, dir, &names);
    size_t start = walk->path_len;
    for (size_t i = 0; !status && i < names.count; i++) {
        int len = snprintf(walk->path + start, sizeof walk->path - start, "%s%s", start ? "/" : "", names.items[i]);
        if (start + (size_t)len >= sizeof walk->path)
            return refuse(walk, "its path is longer than 4095 bytes");
        walk->path_len = start + (size_t)len;
        status = walk_entry(walk, dir, target, names.items[i], depth);
        if (!status) {
            walk->path_len = start;
            walk->path[start] = '\0';
        }
    }
    return status;
}

/* The copies have their inodes and change times only when all is done. */
static enum qs_status note_copies(int directory, struct tree *tree, struct qs_error *err)
{
    struct stat st;
    if (qs_os->fstat(directory, &st) != 0)
        return error_sys(err, QS_IO, errno, "cannot look at the copy");
    tree->ino = st.st_ino;
    for (size_t i = 0; i < tree->count; i++) {
        struct tree_entry *entry = &tree->entries[i];
        if (qs_os->fstatat(directory, entry->path, &st, AT_SYMLINK_NOFOLLOW) != 0)
            return error_sys(err, QS_IO, errno, "cannot look at the copy of %s", entry->path);
        entry->ino = st.st_ino;
        entry->changed_s = st.st_ctim.tv_sec;
        entry->changed_ns = (uint32_t)st.st_ctim.tv_nsec;
    }
    return QS_OK;
}

static enum qs_status walk_tree(int source, int target, const struct tree *manifest, struct tree *tree,
                                struct qs_error *err)
{
    struct walk walk = {.tree = tree, .target = target, .manifest = manifest, .err = err};
    enum qs_status status = walk_directory(&walk, source, target, 1);
    if (!status && manifest && tree->count < manifest->count) {
        status = error_set(err, QS_DAMAGED, "it is not as it was approved: it is missing");
        error_add_file(err, manifest->entries[tree->count].path);
    }
    return status;
}

enum qs_status tree_copy(int source, int target, struct tree *ret_tree, struct qs_error *err)
{
    AUTO(tree_release) struct tree tree = {0};
    enum qs_status status = walk_tree(source, target, NULL, &tree, err);
    if (!status && (qs_os->fchmod(target, 0555) != 0 || os_fsync(target) != 0))
        status = error_sys(err, QS_IO, errno, "cannot finish the copy");
    if (!status)
        status = note_copies(target, &tree, err);
    if (status)
        return status;
    *ret_tree = tree;
    tree = (struct tree){0};
    return QS_OK;
}

enum qs_status tree_read(int directory, struct tree *ret_tree, struct qs_error *err)
{
    AUTO(tree_release) struct tree tree = {0};
    enum qs_status status = walk_tree(directory, -1, NULL, &tree, err);
    if (!status)
        status = note_copies(directory, &tree, err);
    if (status)
        return status;
    *ret_tree = tree;
    tree = (struct tree){0};
    return QS_OK;
}

enum qs_status tree_verify(int directory, const struct tree *manifest, struct qs_error *err)
{
    AUTO(tree_release) struct tree tree = {0};
    struct stat st;
    if (qs_os->fstat(directory, &st) != 0)
        return error_sys(err, QS_IO, errno, "cannot look at the tree");
    if (st.st_ino != manifest->ino)
        return error_set(err, QS_DAMAGED, "the tree is not the one that was approved");
    return walk_tree(directory, -1, manifest, &tree, err);
}
