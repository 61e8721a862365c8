/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What git finds in a writable root, by gitrepository-layout(5): a normal checkout, a linked worktree, or a pointer
 * that nothing points back to; and what of the root its configuration includes or names.
 */
#include "sandbox/host/facts.h"

#include "base/cleanup.h"
#include "sandbox/host/gitconfig.h"
#include "sandbox/host/guard.h"
#include "sandbox/wire/sys.h"

#include <string.h>

#define GIT_POINTER_MAX_BYTES 4096
#define GIT_INCLUDES_MAX      256 /* of one root: a file that includes itself many times would never end */
#define GIT_INCLUDE_MAX_DEPTH 10  /* git's own: config.c */

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
    path_facts_release(&git->guarded);
    path_facts_release(&git->pinned);
    path_facts_release(&git->absent);
    free(git->detail);
    *git = (struct git_fact){.dot_git.fd = -1};
}

void git_leads_release(struct git_leads *leads)
{
    path_fact_release(&leads->gitdir);
    path_fact_release(&leads->common);
}

/* ---- what a configuration names ---- */

/* What is in the writable root is guarded, or remembered where it does not exist; what lies outside every writable root
 * is read-only anyway, and the plan drops it. */
static enum qs_status guard_named(struct git_fact *git, const char *root, const char *gitdir, const char *base,
                                  const char *name, char **ret_place, struct qs_error *err)
{
    AUTO_FREE char *place = name[0] == '/' ? strdup(name) : path_join(base, name);
    AUTO_FREE char *flat = place ? strdup(place) : NULL;
    size_t before = git->guarded.count;
    if (!flat)
        return error_memory(err);
    path_flatten(flat);
    if (path_within(flat, gitdir))
        return QS_OK; /* it is covered with all else in there */
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
    const char *root, *gitdir;
    const char *tree, *dir; /* what hooks are relative to; the file's own directory */
    unsigned depth;
    enum qs_status status;
    struct qs_error *err;
};

static enum qs_status guard_config(const struct config_reading *above, const char *config, unsigned depth);

/* core.hooksPath, a monitor that is a file, and files that are included: they are the configuration, wherever they
 * lie. */
static void read_config_key(void *context, const char *section, const char *key, const char *value)
{
    struct config_reading *reading = context;
    bool hooks = strcmp(section, "core") == 0 &&
                 (strcmp(key, "hookspath") == 0 || (strcmp(key, "fsmonitor") == 0 && strchr(value, '/')));
    bool include =
        (strcmp(section, "include") == 0 || strncmp(section, "includeif", 9) == 0) && strcmp(key, "path") == 0;
    if (reading->status != QS_OK || !(hooks || include) || !value[0] || value[0] == '~')
        return;
    AUTO_FREE char *place = NULL;
    reading->status = guard_named(reading->git, reading->root, reading->gitdir, hooks ? reading->tree : reading->dir,
                                  value, &place, reading->err);
    if (reading->status == QS_OK && include && ++reading->git->includes > GIT_INCLUDES_MAX)
        reading->status = error_set(reading->err, QS_INVALID, "git's configuration in %s includes more than %d files",
                                    reading->dir, GIT_INCLUDES_MAX);
    if (reading->status == QS_OK && include && place && reading->depth)
        reading->status = guard_config(reading, place, reading->depth - 1);
}

static enum qs_status guard_config(const struct config_reading *above, const char *config, unsigned depth)
{
    AUTO_FREE char *text = config_text(config);
    AUTO_FREE char *dir = strdup(config);
    if (!dir)
        return error_memory(above->err);
    *strrchr(dir, '/') = '\0';
    struct config_reading reading = *above;
    reading.dir = dir;
    reading.depth = depth;
    if (text)
        (void)config_each(text, read_config_key, &reading); /* of a file that git refuses, what is before the fault */
    return reading.status;
}

/* Hooks that are a link are where it leads. */
static enum qs_status guard_hooks(struct git_fact *git, const char *gitdir, const char *root, struct qs_error *err)
{
    AUTO(path_fact_release) struct path_fact hooks = {.fd = -1};
    AUTO_FREE char *path = path_join(gitdir, "hooks");
    enum qs_status status = path ? path_look(path, "/", false, &hooks, err) : error_memory(err);
    if (status || hooks.kind == PATH_ABSENT || path_within(hooks.path, gitdir) || !path_within(hooks.path, root))
        return status;
    return guard_below(root, hooks.path, &git->guarded, &git->pinned, err);
}

enum qs_status git_guard_configs(struct git_fact *git, const char *gitdir, const char *tree, const char *root,
                                 struct qs_error *err)
{
    AUTO_FREE char *config = path_join(gitdir, "config");
    AUTO_FREE char *worktree = path_join(gitdir, "config.worktree");
    const struct config_reading reading = {.git = git, .root = root, .gitdir = gitdir, .tree = tree, .err = err};
    if (!config || !worktree)
        return error_memory(err);
    enum qs_status status = guard_hooks(git, gitdir, root, err);
    if (!status)
        status = guard_config(&reading, config, GIT_INCLUDE_MAX_DEPTH);
    return status == QS_OK ? guard_config(&reading, worktree, GIT_INCLUDE_MAX_DEPTH) : status;
}

/* ---- where a `.git` leads ---- */

static bool exists(const char *dir, const char *name)
{
    AUTO(path_fact_release) struct path_fact fact = {.fd = -1};
    AUTO_FREE char *path = path_join(dir, name);
    return path && path_look_itself(path, &fact, NULL) == QS_OK && fact.kind != PATH_ABSENT;
}

/* What a pointer file names, against base; prefix is skipped and must be there. Absent: no such file, or not of that
 * form. */
static enum qs_status follow_pointer(const char *dir, const char *name, const char *prefix, const char *base,
                                     struct path_fact *ret_fact, struct qs_error *err)
{
    AUTO_FREE char *file = dir ? path_join(dir, name) : strdup(name);
    AUTO_FD int fd = file ? sys_open(AT_FDCWD, file, O_RDONLY | O_NONBLOCK, RESOLVE_NO_SYMLINKS) : -1;
    char text[GIT_POINTER_MAX_BYTES + 1];
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (len <= 0)
        return QS_OK;
    text[len] = '\0';
    text[strcspn(text, "\r\n")] = '\0';
    if (strncmp(text, prefix, strlen(prefix)) != 0)
        return QS_OK;
    const char *named = text + strlen(prefix);
    AUTO_FREE char *target = named[0] == '/' ? strdup(named) : path_join(base, named);
    return target ? path_look(target, "/", false, ret_fact, err) : error_memory(err);
}

/* Is gitdir the directory common/worktrees/NAME? Whoever can only write the workspace cannot forge that. */
static const char *worktree_name(const struct path_fact *gitdir, const struct path_fact *common)
{
    static const char middle[] = "/worktrees/";
    const char *rest = path_within(gitdir->path, common->path) ? gitdir->path + strlen(common->path) : "";
    bool named = strncmp(rest, middle, sizeof middle - 1) == 0 && rest[sizeof middle - 1] &&
                 !strchr(rest + sizeof middle - 1, '/');
    return named ? rest + sizeof middle - 1 : NULL;
}

enum qs_status git_follow(const char *dot_git, const char *tree, struct git_leads *ret_leads, struct qs_error *err)
{
    AUTO(git_leads_release) struct git_leads leads = GIT_LEADS_NONE;
    AUTO(path_fact_release) struct path_fact itself = {.fd = -1}, back = {.fd = -1};
    enum qs_status status = path_look_itself(dot_git, &itself, err);
    if (status)
        return status;
    if (itself.kind == PATH_DIR)
        status = path_look(dot_git, "/", false, &leads.gitdir, err);
    else if (itself.kind == PATH_FILE)
        status = follow_pointer(NULL, dot_git, "gitdir: ", tree, &leads.gitdir, err);
    if (!status && leads.gitdir.kind == PATH_DIR)
        status = follow_pointer(leads.gitdir.path, "commondir", "", leads.gitdir.path, &leads.common, err);
    if (!status && leads.common.kind == PATH_DIR)
        status = follow_pointer(leads.gitdir.path, "gitdir", "", leads.gitdir.path, &back, err);
    if (status)
        return status;
    if (itself.kind == PATH_FILE && back.kind == PATH_FILE && back.dev == itself.dev && back.ino == itself.ino)
        leads.worktree = worktree_name(&leads.gitdir, &leads.common);
    *ret_leads = leads;
    leads = GIT_LEADS_NONE;
    return QS_OK;
}

static enum qs_status elsewhere(struct git_fact *git, const char *why)
{
    git->checkout = CHECKOUT_ELSEWHERE;
    git->detail = strdup(why);
    return QS_OK;
}

static enum qs_status look_file(const struct path_fact *root, struct git_fact *git, struct qs_error *err)
{
    AUTO(git_leads_release) struct git_leads leads = GIT_LEADS_NONE;
    enum qs_status status = guard_path(git->dot_git.path, &git->guarded, err);
    if (!status)
        status = git_follow(git->dot_git.path, root->path, &leads, err);
    if (status)
        return status;
    if (leads.gitdir.kind != PATH_DIR)
        return elsewhere(git, "it names no git directory");
    const struct path_fact *common = leads.common.kind == PATH_DIR ? &leads.common : &leads.gitdir;
    if (leads.worktree)
        git->checkout = CHECKOUT_WORKTREE;
    else if (leads.common.kind == PATH_DIR)
        status = elsewhere(git, "its git directory does not point back at it");
    else
        status = elsewhere(git, "its git directory names no common directory");
    if (leads.worktree && (leads.gitdir.uid != root->uid || common->uid != root->uid))
        return elsewhere(git, "its git directory belongs to somebody else");
    return status ? status : git_guard_configs(git, common->path, root->path, root->path, err);
}

enum qs_status git_look(const struct path_fact *root, struct git_fact *ret_git, struct qs_error *err)
{
    AUTO(git_fact_release) struct git_fact git = {.dot_git.fd = -1};
    AUTO_FREE char *path = path_join(root->path, ".git");
    enum qs_status status = path ? path_look_itself(path, &git.dot_git, err) : error_memory(err);
    if (!status)
        status = guard_seen(root->path, &git.dot_git, err);
    if (status)
        return status;
    bool bare = exists(root->path, "HEAD") && exists(root->path, "objects") && exists(root->path, "refs");
    switch (git.dot_git.kind) {
    case PATH_ABSENT:
        git.checkout = bare ? CHECKOUT_BARE : CHECKOUT_NONE;
        status = bare ? git_guard_configs(&git, root->path, root->path, root->path, err) : QS_OK;
        break;
    case PATH_DIR:
        git.checkout = CHECKOUT_NORMAL;
        status = git_guard_configs(&git, git.dot_git.path, root->path, root->path, err);
        break;
    case PATH_FILE:
        status = look_file(root, &git, err);
        break;
    case PATH_LINK:
        status =
            error_set(err, QS_INVALID, "%s is a symbolic link: it could be exchanged for another repository", path);
        break;
    case PATH_SOCKET:
    case PATH_DEVICE:
    case PATH_OTHER:
        status = error_set(err, QS_INVALID, "%s is neither a directory nor a file", path);
        break;
    }
    if (status)
        return status;
    *ret_git = git;
    git = (struct git_fact){.dot_git.fd = -1};
    return QS_OK;
}
