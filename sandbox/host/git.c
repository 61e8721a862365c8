/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What git finds in a writable root, by gitrepository-layout(5): a normal checkout, a linked worktree, or a pointer
 * that nothing points back to. Lists what redirects git (guarded) and, for a linked worktree, what a commit must write.
 */
#include "sandbox/host/facts.h"

#include "base/cleanup.h"
#include "sandbox/host/gitconfig.h"
#include "sandbox/host/guard.h"
#include "sandbox/wire/sys.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define GIT_POINTER_MAX_BYTES 4096
#define GIT_INCLUDES_MAX      256 /* of one root: a file that includes itself many times would never end */
#define GIT_INCLUDE_MAX_DEPTH 10  /* git's own: config.c */
#define GIT_MODULES_MAX_DEPTH 16  /* submodules of submodules, and slashes in their names */

const char *checkout_name(enum checkout checkout)
{
    switch (checkout) {
    case CHECKOUT_NONE:
        return "none";
    case CHECKOUT_BARE:
        return "bare repository";
    case CHECKOUT_NORMAL:
        return "normal";
    case CHECKOUT_WORKTREE:
        return "linked worktree";
    case CHECKOUT_ELSEWHERE:
        return "git file that is not pointed back at";
    }
    return "unknown";
}

void git_fact_release(struct git_fact *git)
{
    path_fact_release(&git->dot_git);
    path_fact_release(&git->common);
    path_facts_release(&git->guarded);
    path_facts_release(&git->copied);
    path_facts_release(&git->pinned);
    path_facts_release(&git->absent);
    path_facts_release(&git->writable);
    free(git->gitdir);
    free(git->inside);
    free(git->detail);
    *git = (struct git_fact){.dot_git.fd = -1, .common.fd = -1};
}

/* ---- what redirects git: guarded where it exists, remembered for the sweep where it does not ---- */

static enum qs_status guard_name(struct git_fact *git, const char *top, const char *dir, const char *name,
                                 struct qs_error *err)
{
    AUTO_FREE char *path = path_join(dir, name);
    size_t before = git->guarded.count;
    enum qs_status status = path ? guard_below(top, path, &git->guarded, &git->pinned, err) : QS_IO;
    if (!path)
        return error_memory(err);
    if (status != QS_OK || git->guarded.count > before)
        return status;
    struct path_fact absent = {.given = STEAL(path), .fd = -1};
    return path_facts_add(&git->absent, &absent) ? QS_OK : error_memory(err);
}

static enum qs_status guard_names(struct git_fact *git, const char *top, const char *dir, const char *const *names,
                                  struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (; *names && status == QS_OK; names++)
        status = guard_name(git, top, dir, *names, err);
    return status;
}

/* ---- what a configuration names ---- */

/* What is in the writable root is guarded, or remembered where it does not exist; what lies outside every writable root
 * is read-only anyway, and the plan drops it. */
static enum qs_status guard_named(struct git_fact *git, const char *root, const char *base, const char *name,
                                  char **ret_place, struct qs_error *err)
{
    AUTO_FREE char *place = name[0] == '/' ? strdup(name) : path_join(base, name);
    size_t before = git->guarded.count;
    if (!place)
        return error_memory(err);
    enum qs_status status = guard_below(root, place, &git->guarded, &git->pinned, err);
    if (status == QS_OK && git->guarded.count > before) /* the last one is what all links lead to */
        *ret_place = strdup(git->guarded.items[git->guarded.count - 1].path);
    if (status != QS_OK || git->guarded.count > before)
        return status;
    path_flatten(place);
    if (!path_within(place, root))
        return QS_OK;
    struct path_fact absent = {.given = STEAL(place), .fd = -1};
    return path_facts_add(&git->absent, &absent) ? QS_OK : error_memory(err);
}

struct config_reading {
    struct git_fact *git;
    const char *root, *tree, *dir; /* the writable root; what hooks are relative to; the file's own directory */
    unsigned depth;
    enum qs_status status;
    struct qs_error *err;
};

static enum qs_status guard_config(struct git_fact *git, const char *config, const char *tree, const char *root,
                                   unsigned depth, struct qs_error *err);

/* core.hooksPath, and files that are included: they are the configuration, wherever they lie. */
static void read_config_key(void *context, const char *section, const char *key, const char *value)
{
    struct config_reading *reading = context;
    bool hooks = strcmp(section, "core") == 0 && strcmp(key, "hookspath") == 0;
    bool include =
        (strcmp(section, "include") == 0 || strncmp(section, "includeif", 9) == 0) && strcmp(key, "path") == 0;
    if (reading->status != QS_OK || !(hooks || include) || !value[0] || value[0] == '~')
        return;
    AUTO_FREE char *place = NULL;
    reading->status =
        guard_named(reading->git, reading->root, hooks ? reading->tree : reading->dir, value, &place, reading->err);
    if (reading->status == QS_OK && include && ++reading->git->includes > GIT_INCLUDES_MAX)
        reading->status = error_set(reading->err, QS_INVALID, "git's configuration in %s includes more than %d files",
                                    reading->dir, GIT_INCLUDES_MAX);
    if (reading->status == QS_OK && include && place && reading->depth)
        reading->status =
            guard_config(reading->git, place, reading->tree, reading->root, reading->depth - 1, reading->err);
}

static enum qs_status guard_config(struct git_fact *git, const char *config, const char *tree, const char *root,
                                   unsigned depth, struct qs_error *err)
{
    AUTO_FREE char *text = config_text(config);
    AUTO_FREE char *dir = strdup(config);
    if (!dir)
        return error_memory(err);
    *strrchr(dir, '/') = '\0';
    struct config_reading reading = {.git = git, .root = root, .tree = tree, .dir = dir, .depth = depth, .err = err};
    if (text)
        (void)config_each(text, read_config_key, &reading); /* of a file that git refuses, what is before the fault */
    return reading.status;
}

static enum qs_status guard_configs(struct git_fact *git, const char *gitdir, const char *tree, const char *root,
                                    struct qs_error *err)
{
    AUTO_FREE char *config = path_join(gitdir, "config");
    AUTO_FREE char *worktree = path_join(gitdir, "config.worktree");
    if (!config || !worktree)
        return error_memory(err);
    enum qs_status status = guard_config(git, config, tree, root, GIT_INCLUDE_MAX_DEPTH, err);
    return status == QS_OK ? guard_config(git, worktree, tree, root, GIT_INCLUDE_MAX_DEPTH, err) : status;
}

static void release_dir(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

/* NULL where there is none. One that cannot be read may hold what has to be guarded. */
static enum qs_status open_list(const char *dir, DIR **ret_list, struct qs_error *err)
{
    *ret_list = opendir(dir);
    return *ret_list || errno == ENOENT || errno == ENOTDIR ? QS_OK : guard_closed(dir, err);
}

static bool exists(const char *dir, const char *name)
{
    struct path_fact fact = {.fd = -1};
    AUTO_FREE char *path = path_join(dir, name);
    bool is = path && path_look_itself(path, &fact, NULL) == QS_OK && fact.kind != PATH_ABSENT;
    path_fact_release(&fact);
    return is;
}

/* A git directory among git directories is known by its HEAD. */
static bool is_gitdir(const char *dir)
{
    return exists(dir, "HEAD");
}

/* One submodule: what redirects git in its git directory, and its hooks elsewhere. The .git file that leads to it is
 * not guarded: that would need its directory and all above it pinned, so that nothing could be renamed out of them.
 * What is made in its place is a new repository, which the sweep reports. */
static enum qs_status guard_module(struct git_fact *git, const char *root, const char *top, const char *dir,
                                   struct qs_error *err)
{
    static const char *const names[] = {"hooks", "config.worktree", "commondir", NULL};
    enum qs_status status = guard_names(git, top, dir, names, err);
    AUTO_FREE char *config = path_join(dir, "config");
    if (status == QS_OK && config)
        status = guard_below(top, config, &git->copied, &git->pinned, err);
    AUTO_FREE char *named = config ? core_value_in(config, "worktree") : NULL;
    if (status != QS_OK || !named)
        return status;
    AUTO_FREE char *tree = named[0] == '/' ? strdup(named) : path_join(dir, named);
    AUTO(path_fact_release) struct path_fact place = {.fd = -1};
    status = tree ? path_look(tree, "/", false, &place, err) : error_memory(err);
    if (status != QS_OK || place.kind != PATH_DIR || !path_within(place.path, root))
        return status;
    return guard_configs(git, dir, place.path, root, err);
}

/* The git directories of submodules, and of theirs. A submodule's name may have slashes, so a directory that is none
 * may hold some. */
static enum qs_status guard_modules(struct git_fact *git, const char *root, const char *top, const char *dir,
                                    unsigned depth, struct qs_error *err)
{
    AUTO(release_dir) DIR *list = NULL;
    enum qs_status status = depth ? open_list(dir, &list, err) : QS_OK;
    struct dirent *entry;
    while (list && status == QS_OK && (entry = readdir(list))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
            continue;
        AUTO_FREE char *child = path_join(dir, entry->d_name);
        AUTO_FREE char *deeper = child ? path_join(child, "modules") : NULL;
        if (!deeper)
            return error_memory(err);
        bool is = is_gitdir(child);
        if (is)
            status = guard_module(git, root, top, child, err);
        if (status == QS_OK)
            status = guard_modules(git, root, top, is ? deeper : child, depth - 1, err);
    }
    return status;
}

static enum qs_status guard_worktrees(struct git_fact *git, const char *top, const char *dir, struct qs_error *err)
{
    static const char *const names[] = {"config.worktree", "commondir", "gitdir", NULL};
    AUTO(release_dir) DIR *list = NULL;
    enum qs_status status = open_list(dir, &list, err);
    struct dirent *entry;
    while (list && status == QS_OK && (entry = readdir(list))) {
        if (entry->d_name[0] == '.' || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
            continue;
        AUTO_FREE char *child = path_join(dir, entry->d_name);
        status = child ? guard_names(git, top, child, names, err) : error_memory(err);
    }
    return status;
}

/* All that redirects git in the git directory dir, which lies in the writable top or is it. */
static enum qs_status guard_gitdir(const struct path_fact *root, struct git_fact *git, const char *top, const char *dir,
                                   struct qs_error *err)
{
    static const char *const own[] = {"hooks", "config", "config.worktree", "commondir", "gitdir", NULL};
    AUTO_FREE char *modules = path_join(dir, "modules");
    AUTO_FREE char *worktrees = path_join(dir, "worktrees");
    if (!modules || !worktrees)
        return error_memory(err);
    enum qs_status status = guard_names(git, top, dir, own, err);
    if (status == QS_OK)
        status = guard_modules(git, root->path, top, modules, GIT_MODULES_MAX_DEPTH, err);
    if (status == QS_OK)
        status = guard_worktrees(git, top, worktrees, err);
    return status == QS_OK ? guard_configs(git, dir, root->path, root->path, err) : status;
}

/* git takes a directory for a repository when it has these three. */
static enum qs_status look_bare(const struct path_fact *root, struct git_fact *git, struct qs_error *err)
{
    if (!exists(root->path, "HEAD") || !exists(root->path, "objects") || !exists(root->path, "refs"))
        return QS_OK;
    git->checkout = CHECKOUT_BARE;
    return guard_gitdir(root, git, root->path, root->path, err);
}

/* ---- linked worktrees ---- */

/* The path in a pointer file, made absolute against base; prefix is skipped and must be there. NULL: no such file or
 * not of that form. */
static char *read_pointer(const char *file, const char *prefix, const char *base)
{
    AUTO_FD int fd = sys_open(AT_FDCWD, file, O_RDONLY | O_NONBLOCK, RESOLVE_NO_SYMLINKS);
    char text[GIT_POINTER_MAX_BYTES + 1];
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (len <= 0)
        return NULL;
    text[len] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    if (strncmp(text, prefix, strlen(prefix)) != 0)
        return NULL;
    const char *target = text + strlen(prefix);
    return target[0] == '/' ? strdup(target) : path_join(base, target);
}

static enum qs_status elsewhere(struct git_fact *git, const char *why)
{
    git->checkout = CHECKOUT_ELSEWHERE;
    git->detail = strdup(why);
    return QS_OK;
}

static enum qs_status follow_pointer(const char *dir, const char *name, const char *prefix, const char *base,
                                     struct path_fact *ret_fact, struct qs_error *err)
{
    AUTO_FREE char *file = dir ? path_join(dir, name) : strdup(name);
    AUTO_FREE char *target = file ? read_pointer(file, prefix, base) : NULL;
    *ret_fact = (struct path_fact){.fd = -1};
    return target ? path_look(target, "/", false, ret_fact, err) : QS_OK;
}

/* Is gitdir the directory common/worktrees/NAME? Whoever can only write the workspace cannot forge that. */
static bool belongs_to(const struct path_fact *gitdir, const struct path_fact *common)
{
    if (!path_within(gitdir->path, common->path))
        return false;
    const char *rest = gitdir->path + strlen(common->path);
    static const char middle[] = "/worktrees/";
    return strncmp(rest, middle, sizeof middle - 1) == 0 && rest[sizeof middle - 1] &&
           !strchr(rest + sizeof middle - 1, '/');
}

static enum qs_status grant(struct git_fact *git, const char *dir, const char *name, struct qs_error *err)
{
    AUTO_FREE char *path = name ? path_join(dir, name) : strdup(dir);
    struct path_fact fact = {.fd = -1};
    enum qs_status status = path ? path_look_itself(path, &fact, err) : error_memory(err);
    if (status != QS_OK)
        return status;
    if (fact.kind != PATH_DIR) {
        path_fact_release(&fact);
        return QS_OK;
    }
    fact.fd = sys_open(AT_FDCWD, fact.path, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
    if (fact.fd < 0) {
        status = error_sys(err, QS_IO, errno, "cannot open %s", fact.path);
        path_fact_release(&fact);
        return status;
    }
    return path_facts_add(&git->writable, &fact) ? QS_OK : error_memory(err);
}

static enum qs_status grant_worktree(struct git_fact *git, const char *root, const char *gitdir, const char *common,
                                     struct qs_error *err)
{
    static const char *const pointers[] = {"commondir", "gitdir", "config.worktree", NULL};
    git->checkout = CHECKOUT_WORKTREE;
    git->gitdir = strdup(gitdir);
    if (!git->gitdir)
        return error_memory(err);
    enum qs_status status = grant(git, common, "objects", err);
    if (status == QS_OK)
        status = grant(git, common, "refs", err);
    size_t before = git->writable.count;
    if (status == QS_OK)
        status = grant(git, common, "logs", err);
    git->no_logs = git->writable.count == before; /* a bare repository has none, and nothing is made on the host */
    if (status == QS_OK)
        status = grant(git, gitdir, NULL, err);
    if (status == QS_OK)
        status = guard_names(git, gitdir, gitdir, pointers, err);
    AUTO_FREE char *modules = path_join(gitdir, "modules"); /* submodules of this worktree */
    if (!modules)
        return error_memory(err);
    return status == QS_OK ? guard_modules(git, root, gitdir, modules, GIT_MODULES_MAX_DEPTH, err) : status;
}

/* What the .git file leads to redirects git here, too. It may lie in the workspace (git init --separate-git-dir; a bare
 * repository beside its worktrees) or in another writable root; of what is read-only anyway the plan drops the guards.
 */
static enum qs_status guard_leads(const struct path_fact *root, struct git_fact *git, const struct path_fact *gitdir,
                                  struct qs_error *err)
{
    size_t before = git->absent.count;
    if (gitdir->kind != PATH_DIR)
        return QS_OK;
    if (!path_within(gitdir->path, root->path)) {
        enum qs_status status = guard_gitdir(root, git, gitdir->path, gitdir->path, err);
        while (git->absent.count > before) /* nothing can be made there from inside; programs outside may */
            path_fact_release(&git->absent.items[--git->absent.count]);
        return status;
    }
    free(git->inside);
    git->inside = strdup(gitdir->path);
    return git->inside ? guard_gitdir(root, git, root->path, gitdir->path, err) : error_memory(err);
}

static enum qs_status look_file(const struct path_fact *root, struct git_fact *git, struct qs_error *err)
{
    AUTO(path_fact_release) struct path_fact gitdir = {.fd = -1}, common = {.fd = -1}, back = {.fd = -1};
    enum qs_status status = guard_path(git->dot_git.path, &git->guarded, err);
    if (status == QS_OK)
        status = follow_pointer(NULL, git->dot_git.path, "gitdir: ", root->path, &gitdir, err);
    if (status != QS_OK)
        return status;
    if (gitdir.kind != PATH_DIR)
        return elsewhere(git, "it names no git directory");
    status = guard_leads(root, git, &gitdir, err);
    if (status == QS_OK)
        status = follow_pointer(gitdir.path, "commondir", "", gitdir.path, &common, err);
    if (status == QS_OK)
        status = guard_leads(root, git, &common, err);
    if (status == QS_OK)
        status = follow_pointer(gitdir.path, "gitdir", "", gitdir.path, &back, err);
    if (status != QS_OK)
        return status;
    if (common.kind != PATH_DIR)
        return elsewhere(git, "its git directory names no common directory");
    if (back.dev != git->dot_git.dev || back.ino != git->dot_git.ino || back.kind != PATH_FILE)
        return elsewhere(git, "its git directory does not point back at it");
    if (!belongs_to(&gitdir, &common))
        return elsewhere(git, "its git directory is not a worktree of the common directory that it names");
    if (gitdir.uid != root->uid || common.uid != root->uid)
        return elsewhere(git, "its git directory belongs to somebody else");
    status = grant_worktree(git, root->path, gitdir.path, common.path, err);
    common.fd = sys_open(AT_FDCWD, common.path, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
    if (status == QS_OK && common.fd < 0)
        status = error_sys(err, QS_IO, errno, "cannot open %s", common.path);
    git->common = common;
    common = (struct path_fact){.fd = -1};
    return status;
}

enum qs_status git_look(const struct path_fact *root, struct git_fact *ret_git, struct qs_error *err)
{
    struct git_fact git = {.dot_git.fd = -1, .common.fd = -1};
    AUTO_FREE char *path = path_join(root->path, ".git");
    enum qs_status status = path ? path_look_itself(path, &git.dot_git, err) : error_memory(err);
    if (status == QS_OK)
        status = guard_seen(root->path, &git.dot_git, err);
    if (status == QS_OK && git.dot_git.kind == PATH_LINK)
        status =
            error_set(err, QS_INVALID, "%s is a symbolic link: it could be exchanged for another repository", path);
    else if (status == QS_OK && git.dot_git.kind == PATH_ABSENT)
        status = look_bare(root, &git, err);
    else if (status == QS_OK && git.dot_git.kind == PATH_DIR) {
        git.checkout = CHECKOUT_NORMAL;
        status = guard_gitdir(root, &git, git.dot_git.path, git.dot_git.path, err);
    } else if (status == QS_OK && git.dot_git.kind == PATH_FILE)
        status = look_file(root, &git, err);
    else if (status == QS_OK)
        status = error_set(err, QS_INVALID, "%s is neither a directory nor a file", path);
    if (status != QS_OK) {
        git_fact_release(&git);
        return status;
    }
    *ret_git = git;
    return QS_OK;
}
