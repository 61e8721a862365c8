/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laundering a repository that a run has made: what the command wrote becomes the private directory of a fresh
 * repository in its place, and crosses into it like the work of any other run. So its objects, refs, HEAD and index
 * come over as checked data, and its hooks and configuration never do.
 */
#include "sandbox/crossing/run_git.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "base/path.h"
#include "sandbox/crossing/files.h"
#include "sandbox/crossing/look.h"
#include "sandbox/crossing/private_dir.h"
#include "sandbox/host/copy_tree.h"
#include "sandbox/host/gitconfig.h"
#include "sandbox/wire/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CONFIG_MAX_BYTES  ((size_t)1 << 20)
#define POINTER_MAX_BYTES 4096

/* ---- remotes ---- */

/* A URL by which git talks to a host, and nothing else: https://, ssh://, git://, user@host:path. */
static bool url_valid(const char *url)
{
    static const char *const schemes[] = {"https://", "http://", "ssh://", "git://"};
    size_t len = strlen(url);
    bool known = false;
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        known |= strncmp(url, schemes[i], strlen(schemes[i])) == 0 && url[strlen(schemes[i])] != '-';
    const char *at = strchr(url, '@'), *colon = strchr(url, ':');
    bool scp = at && colon && at < colon && url[0] != '-' && at[1] != '-' && !strchr(url, '/') == !strchr(colon, '/') &&
               !strstr(url, "::") && strcspn(url, "/") > (size_t)(colon - url);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)url[i] <= 0x20 || url[i] == 0x7f || url[i] == '"' || url[i] == '\\' || url[i] == '#' ||
            url[i] == ';')
            return false;
    return (known || scp) && len < 2048;
}

static bool remote_valid(const char *name, size_t len)
{
    return len > 0 && len < 100 && name[0] != '-' && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") >= len;
}

static void keep_remote(void *context, const char *section, const char *key, const char *value)
{
    static const char prefix[] = "remote \"";
    struct buf *out = context;
    size_t len = strlen(section);
    if (strncmp(section, prefix, sizeof prefix - 1) != 0 || section[len - 1] != '"' || strcmp(key, "url") != 0 ||
        !url_valid(value))
        return;
    const char *name = section + sizeof prefix - 1;
    len -= sizeof prefix;
    if (remote_valid(name, len))
        buf_printf(out, "[remote \"%.*s\"]\n\turl = %s\n\tfetch = +refs/heads/*:refs/remotes/%.*s/*\n", (int)len, name,
                   value, (int)len, name);
}

static enum qs_status add_remotes(const struct repository *repository, struct qs_error *err)
{
    AUTO_FREE char *theirs = NULL, *own = NULL;
    AUTO(buf_release) struct buf out = {0};
    if (files_read_text(repository->private, "config", CONFIG_MAX_BYTES, &theirs, NULL) != QS_OK || !theirs)
        return QS_OK;
    enum qs_status status = files_read_text(repository->fd, "config", CONFIG_MAX_BYTES, &own, err);
    if (status)
        return status;
    buf_add_str(&out, own ? own : "");
    (void)config_each(theirs, keep_remote, &out);
    return out.failed ? error_memory(err) : files_write(repository->fd, "config", out.data, out.len, true, err);
}

/* ---- moving what the command made ---- */

/* Into the state: what a command made is out of the work tree before anything is made in its place. */
static enum qs_status put_aside(int state, const char *from, struct qs_error *err)
{
    AUTO_FREE char *dir = strdup(from);
    if (!dir)
        return error_memory(err);
    char *slash = strrchr(dir, '/');
    *slash = '\0';
    AUTO_FD int parent = sys_open(AT_FDCWD, dir, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
    if (parent < 0)
        return error_sys(err, QS_IO, errno, "cannot open %s", dir);
    if (remove_tree(state, "aside", NULL) != QS_OK && errno != ENOENT)
        return error_sys(err, QS_IO, errno, "cannot make room for a private git directory");
    if (renameat(parent, slash + 1, state, "aside") == 0)
        return QS_OK;
    if (errno != EXDEV)
        return error_sys(err, QS_IO, errno, "cannot put %s aside", from);
    enum qs_status status = copy_tree(parent, slash + 1, state, "aside", err);
    return status ? status : remove_tree(parent, slash + 1, err);
}

/* It becomes the private directory of the fresh one at path. */
static enum qs_status make_private(int state, const char *path, struct qs_error *err)
{
    char name[STATE_WORKSPACE_BYTES];
    AUTO_FD int fresh = sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
    AUTO_FD int own = -1;
    if (fresh < 0 || !repository_name(fresh, path, name) || (mkdirat(state, name, 0700) != 0 && errno != EEXIST) ||
        (own = files_open_dir(state, name)) < 0 || renameat(state, "aside", own, "private") != 0)
        return error_sys(err, QS_IO, errno, "cannot make the private git directory of %s", path);
    return QS_OK;
}

static enum qs_status make_fresh(const struct run_git_request *request, const char *path, bool bare, bool sha256,
                                 struct qs_error *err)
{
    AUTO(command_release) struct git_command init = COMMAND_NONE;
    AUTO_FREE char *empty = NULL;
    AUTO_FD int fd = -1;
    enum qs_status status = state_open(&request->base, "git/empty", true, &fd, &empty, err);
    if (status)
        return status;
    command_git(&init, empty, path);
    command_words(&init, "init", "-q", "--template=", NULL);
    command_word(&init, sha256 ? "--object-format=sha256" : "--object-format=sha1");
    if (bare)
        command_word(&init, "--bare");
    return command_must(&init, err);
}

static void see_format(void *context, const char *section, const char *key, const char *value)
{
    bool *sha256 = context;
    if (strcmp(section, "extensions") == 0 && strcmp(key, "objectformat") == 0)
        *sha256 = strcmp(value, "sha256") == 0;
}

static bool is_sha256(const char *gitdir)
{
    AUTO_FREE char *text = NULL;
    bool sha256 = false;
    AUTO_FD int fd = sys_open(AT_FDCWD, gitdir, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
    if (fd >= 0 && files_read_text(fd, "config", CONFIG_MAX_BYTES, &text, NULL) == QS_OK && text)
        (void)config_each(text, see_format, &sha256);
    return sha256;
}

/* The base of a fresh repository is what `git init` made; all of the private side is new. */
static enum qs_status write_fresh_base(const struct repository *repository, struct qs_error *err)
{
    AUTO_FREE struct sides *sides = calloc(1, sizeof *sides);
    if (!sides)
        return error_memory(err);
    enum qs_status status = look_host(repository, sides, err);
    for (size_t i = 0; i < LOOK_COPIED_COUNT; i++) /* its configuration is no change of another */
        (void)sign_copied(repository->private, i, sides->copied[i] + QS_DIGEST_BYTES);
    sides->base = sides->host;
    if (!status)
        status = write_base_checkout(repository, &repository->checkouts[0], &sides->checkouts[0].host,
                                     &sides->checkouts[0].signs, err);
    if (!status)
        status = write_base(repository, sides, err);
    sides->base = (struct git_refs){0};
    sides_release(sides);
    return status;
}

/* Takes over from what lies at `from` into a fresh repository at path. */
static enum qs_status launder(struct run_git *git, const char *from, const char *path, const char *tree,
                              struct qs_error *err)
{
    const struct run_git_request *request = &git->request;
    bool sha256 = is_sha256(from);
    struct repository *grown = reallocarray(git->items, git->count + 1, sizeof *grown);
    if (!grown)
        return error_memory(err);
    git->items = grown;
    AUTO_FD int state = -1;
    enum qs_status status = state_open(&request->base, "git", true, &state, NULL, err);
    if (!status)
        status = put_aside(state, from, err);
    if (!status)
        status = make_fresh(request, path, !tree, sha256, err);
    if (!status)
        status = make_private(state, path, err);
    git->items[git->count] = REPOSITORY_NONE;
    struct repository *repository = &git->items[git->count];
    if (!status)
        status = repository_open(&request->base, path, repository, err);
    if (!status)
        status = repository_add_checkout(repository, "", tree, err);
    if (!status)
        status = write_fresh_base(repository, err);
    if (!status)
        status = add_remotes(repository, err);
    if (status) {
        repository_release(repository);
        return status;
    }
    git->count++;
    repository->fresh = true;
    run_git_line(&git->findings.notices,
                 "%s was made during a run: a fresh repository with its commits is in its place", path);
    return QS_OK;
}

/* ---- each shape ---- */

/* Puts a name of the workspace into the quarantine. */
static enum qs_status away(struct run_git *git, const char *path, const char *why, struct qs_error *err)
{
    const struct run_git_request *request = &git->request;
    for (size_t i = 0; i < request->root_count; i++)
        if (path_within(path, request->roots[i]) && strlen(path) > strlen(request->roots[i]))
            return sweep_away(&git->findings, request->roots[i], path + strlen(request->roots[i]) + 1, why, err);
    return QS_OK;
}

/* What git itself puts into a git directory. One with other names in it is somebody's project, too. */
static bool git_alone(const char *dir)
{
    static const char *const names[] = {"HEAD",      "config",     "config.worktree", "objects",   "refs",
                                        "hooks",     "info",       "description",     "branches",  "packed-refs",
                                        "logs",      "index",      "shallow",         "worktrees", "modules",
                                        "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG",  "commondir", "gitdir"};
    DIR *list = opendir(dir);
    struct dirent *entry;
    bool alone = list != NULL;
    while (alone && (entry = readdir(list))) {
        alone = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        for (size_t i = 0; !alone && i < sizeof names / sizeof names[0]; i++)
            alone = strcmp(entry->d_name, names[i]) == 0;
    }
    if (list)
        (void)closedir(list);
    return alone;
}

static bool is_root(const struct run_git_request *request, const char *path)
{
    for (size_t i = 0; i < request->root_count; i++)
        if (strcmp(request->roots[i], path) == 0)
            return true;
    return false;
}

/* Where a path of the workspace, as the command saw it, is now: in a private git directory, or where it says. */
static char *really(const struct run_git *git, const char *path)
{
    for (size_t i = git->count; i > 0; i--)
        if (path_within(path, git->items[i - 1].host)) {
            const char *rest = path + strlen(git->items[i - 1].host);
            return *rest ? path_join(git->items[i - 1].private_path, rest + 1) : NULL;
        }
    return strdup(path);
}

static bool host_has(const struct run_git *git, const char *gitdir)
{
    for (size_t i = 0; i < git->count; i++)
        for (size_t k = 0; k < git->items[i].checkout_count; k++)
            if (strcmp(git->items[i].checkouts[k].gitdir, gitdir) == 0)
                return true;
    return false;
}

/* A `.git` file: a submodule, a git directory of another name, a linked worktree, or anything. */
static enum qs_status launder_file(struct run_git *git, const struct found_repository *found, const char *tree,
                                   struct qs_error *err)
{
    const struct run_git_request *request = &git->request;
    static const char prefix[] = "gitdir: ";
    const char *text = found->text;
    if (strncmp(text, prefix, sizeof prefix - 1) != 0)
        return away(git, found->path, "was made during a run, names no git directory, and was", err);
    text += sizeof prefix - 1;
    AUTO_FREE char *gitdir = text[0] == '/' ? strdup(text) : path_join(tree, text);
    if (!gitdir)
        return error_memory(err);
    path_flatten(gitdir);
    AUTO_FREE char *place = really(git, gitdir);
    AUTO_FD int fd = place ? sys_open(AT_FDCWD, place, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS) : -1;
    AUTO_FD int host = sys_open(AT_FDCWD, gitdir, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
    if (host >= 0 && host_has(git, gitdir))
        return QS_OK; /* the host's own, under another name: a submodule that was moved */
    bool inside = place && (strcmp(place, gitdir) != 0 || !is_root(request, gitdir));
    bool mine = false;
    for (size_t i = 0; i < request->root_count && inside; i++)
        mine |= path_within(gitdir, request->roots[i]);
    mine |= inside && strcmp(place, gitdir) != 0;
    if (fd < 0 || !mine || !find_is_gitdir(fd, ".") || faccessat(fd, "commondir", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return away(git, found->path,
                    "was made during a run, leads to no git directory of the host (a worktree: git worktree add it "
                    "again), and was",
                    err);
    enum qs_status status = away(git, found->path, "was made during a run and", err);
    return status ? status : launder(git, place, found->path, tree, err);
}

static enum qs_status launder_one(struct run_git *git, const struct found_repository *found, struct qs_error *err)
{
    const struct run_git_request *request = &git->request;
    AUTO_FREE char *tree = strdup(found->path), *head = path_join(found->path, "HEAD");
    struct stat st;
    if (!tree || !head)
        return error_memory(err);
    *strrchr(tree, '/') = '\0';
    if ((lstat(found->path, &st) != 0 && errno == ENOENT) || (found->kind == FOUND_DIR && !found->valid))
        return QS_OK; /* gone with another one; or git takes it for none */
    if (request->new_repositories == NEW_REPORT) {
        run_git_line(&git->findings.notices,
                     "%s was made during a run: its hooks and configuration are git's if you run git "
                     "there",
                     found->path);
        return QS_OK;
    }
    bool plain = find_is_gitdir(AT_FDCWD, found->path) && access(head, F_OK) == 0;
    AUTO_FREE char *common = path_join(found->path, "commondir");
    if (!common)
        return error_memory(err);
    plain = plain && lstat(common, &st) != 0;
    bool project = found->kind == FOUND_BARE && (is_root(request, found->path) || !git_alone(found->path));
    if (project)
        return away(git, head, "was made during a run, by which its directory is a git directory, and was", err);
    if (found->kind == FOUND_FILE && request->new_repositories == NEW_LAUNDER)
        return launder_file(git, found, tree, err);
    if (found->kind == FOUND_LINK || !plain || request->new_repositories == NEW_QUARANTINE)
        return away(git, found->path, "was made during a run and", err);
    return launder(git, found->path, found->path, found->kind == FOUND_BARE ? NULL : tree, err);
}

enum qs_status launder_new(struct run_git *git, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    AUTO(found_release) struct found_repositories fresh = {0};
    status = run_git_fresh(git, &fresh, err);
    /* Pointers before what they lead to, and inner ones before those around them. */
    for (int files = 1; files >= 0 && !status; files--)
        for (size_t i = fresh.count; i > 0; i--)
            if ((fresh.items[i - 1].kind == FOUND_FILE) == (files == 1)) {
                struct qs_error why = {0};
                enum qs_status one = launder_one(git, &fresh.items[i - 1], &why);
                if (!one)
                    continue;
                run_git_line(&git->findings.notices, "%s could not be laundered: %s", fresh.items[i - 1].path,
                             why.message);
                one = away(git, fresh.items[i - 1].path, "was made during a run and", err);
                if (one)
                    run_git_line(&git->findings.violations, "%s was made during a run and could not be put aside",
                                 fresh.items[i - 1].path);
            }
    return status;
}
