/* SPDX-License-Identifier: Apache-2.0 */
/* The repositories of one run. */
#include "sandbox/crossing/run_git.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "base/path.h"
#include "sandbox/crossing/decide.h"
#include "sandbox/crossing/files.h"
#include "sandbox/crossing/private_dir.h"
#include "sandbox/host/copy_tree.h"
#include "sandbox/host/gitconfig.h"
#include "sandbox/host/guard.h"
#include "sandbox/wire/sys.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define LIST_MAX_BYTES ((size_t)64 << 20)
#define RUN_ID_BYTES   13

void run_git_line(struct sweep_lines *lines, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    (void)!sweep_line(lines, text, NULL);
}

void run_git_release(struct run_git *git)
{
    for (size_t i = 0; i < git->count; i++)
        repository_release(&git->items[i]);
    free(git->items);
    found_release(&git->found);
    cleanup_fd(&git->lock);
    sweep_findings_release(&git->findings);
    crossing_report_release(&git->report);
    for (size_t i = 0; git->request.roots && i < git->request.root_count; i++)
        free((char *)(uintptr_t)git->request.roots[i]);
    free(git->request.roots);
    for (size_t i = 0; i < git->read_only.count; i++)
        free((char *)(uintptr_t)git->read_only.items[i]);
    names_release(&git->read_only);
    *git = RUN_GIT_NONE;
}

static bool in_roots(const struct run_git_request *request, const char *path)
{
    for (size_t i = 0; i < request->root_count; i++)
        if (path_within(path, request->roots[i]))
            return true;
    return false;
}

/* A submodule's git directory names its work tree; one outside that does is believed, for no command can write it. */
static bool names_tree(const char *gitdir, const char *tree)
{
    AUTO(path_fact_release) struct path_fact named = {.fd = -1};
    AUTO_FREE char *config = path_join(gitdir, "config");
    AUTO_FREE char *value = config ? core_value_in(config, "worktree") : NULL;
    AUTO_FREE char *path = !value ? NULL : value[0] == '/' ? strdup(value) : path_join(gitdir, value);
    return path && path_look(path, "/", false, &named, NULL) == QS_OK && named.path && strcmp(named.path, tree) == 0;
}

/* ---- the repositories ---- */

static struct repository *find_open(struct run_git *git, const char *host)
{
    for (size_t i = 0; i < git->count; i++)
        if (strcmp(git->items[i].host, host) == 0)
            return &git->items[i];
    return NULL;
}

static enum qs_status add_repository(struct run_git *git, const char *host, const char *name, const char *tree,
                                     struct qs_error *err)
{
    struct repository *known = find_open(git, host);
    if (known)
        return repository_add_checkout(known, name, tree, err);
    struct repository *grown = reallocarray(git->items, git->count + 1, sizeof *grown);
    if (!grown)
        return error_memory(err);
    git->items = grown;
    git->items[git->count] = REPOSITORY_NONE;
    enum qs_status status = repository_open(&git->request.base, host, &git->items[git->count], err);
    if (!status)
        status = repository_add_checkout(&git->items[git->count], name, tree, err);
    if (status)
        repository_release(&git->items[git->count]);
    else
        git->count++;
    return status;
}

/* A repository that was there: with a private directory, or, where it has a form that does not cross, read-only. */
static enum qs_status take_up(struct run_git *git, const struct found_repository *found, struct qs_error *err)
{
    const struct run_git_request *request = &git->request;
    AUTO(git_leads_release) struct git_leads leads = GIT_LEADS_NONE;
    struct qs_error why = {0};
    AUTO_FREE char *tree = strdup(found->path);
    if (!tree)
        return error_memory(err);
    *strrchr(tree, '/') = '\0';
    enum qs_status status = git_follow(found->path, tree, &leads, err);
    if (status || leads.gitdir.kind != PATH_DIR || !found->valid || found->kind == FOUND_LINK)
        return status;
    const char *host = leads.worktree ? leads.common.path : leads.gitdir.path;
    uid_t owner = leads.worktree ? leads.common.uid : leads.gitdir.uid;
    if (found->kind == FOUND_FILE && !leads.worktree && !in_roots(request, leads.gitdir.path) &&
        !names_tree(leads.gitdir.path, tree))
        return QS_OK; /* it leads elsewhere: what is there is read-only anyway */
    if (owner != request->uid || (!leads.worktree && leads.common.kind == PATH_DIR))
        return QS_OK;
    if (request->read_only)
        status = error_set(&why, QS_INVALID, "executor.git.mode is read-only");
    else if (git->count == RUN_GIT_MAX)
        status = error_set(&why, QS_INVALID, "there are more than %d repositories", RUN_GIT_MAX);
    else
        status = add_repository(git, host, leads.worktree ? leads.worktree : "",
                                found->kind == FOUND_BARE ? NULL : tree, &why);
    if (!status)
        return QS_OK;
    if (!request->read_only)
        run_git_line(&git->findings.notices, "git is read-only in %s: %s", tree, why.message);
    char *copy = strdup(host);
    if (!copy || !names_add(&git->read_only, copy)) {
        free(copy);
        return error_memory(err);
    }
    return QS_OK;
}

static int by_host(const void *a, const void *b)
{
    return strcmp(((const struct repository *)a)->host, ((const struct repository *)b)->host);
}

/* ---- what was there before: a list in the state, under the lock of the workspace's runs ---- */

static enum qs_status write_list(const struct run_git *git, int dir, struct qs_error *err)
{
    AUTO(buf_release) struct buf list = {.max_bytes = LIST_MAX_BYTES};
    for (size_t i = 0; i < git->found.count; i++) {
        found_identity(&git->found.items[i], &list);
        buf_add_char(&list, '\0');
    }
    return list.failed ? error_memory(err)
                       : files_write(dir, git->findings.workspace, list.data ? list.data : "", list.len, false, err);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum qs_status find_all(const struct run_git *git, bool open_up, struct found_repositories *found,
                               struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < git->request.root_count && !status; i++)
        status = find_repositories(git->request.roots[i], open_up, found, err);
    return status;
}

/* Splits what is found by the list: known ones stay in found, new ones go to fresh. *ret_listed: there is a list. */
static enum qs_status split_known(const struct run_git *git, int dir, struct found_repositories *found,
                                  struct found_repositories *fresh, bool *ret_listed, struct qs_error *err)
{
    AUTO_FREE char *list = NULL;
    AUTO(names_release) struct names known = {0};
    size_t len = 0, kept = 0;
    enum qs_status status = files_read(dir, git->findings.workspace, LIST_MAX_BYTES, &list, &len, err);
    *ret_listed = list != NULL;
    if (status || !list)
        return status;
    for (size_t at = 0; at < len; at += strlen(list + at) + 1)
        if (!names_add(&known, list + at))
            return error_memory(err);
    if (known.count)
        qsort(known.items, known.count, sizeof *known.items, by_text);
    fresh->items = calloc(found->count + 1, sizeof *fresh->items);
    if (!fresh->items)
        return error_memory(err);
    for (size_t i = 0; i < found->count; i++) {
        AUTO(buf_release) struct buf identity = {0};
        found_identity(&found->items[i], &identity);
        const char *key = identity.data;
        if (known.count && key && bsearch(&key, known.items, known.count, sizeof *known.items, by_text))
            found->items[kept++] = found->items[i];
        else
            fresh->items[fresh->count++] = found->items[i];
    }
    found->count = kept;
    return QS_OK;
}

static enum qs_status open_lists(const struct run_git *git, bool make, int *ret_dir, struct qs_error *err)
{
    return state_open(&git->request.base, "known", make, ret_dir, NULL, err);
}

static enum qs_status take_lock(struct run_git *git, int dir, struct qs_error *err)
{
    char name[STATE_WORKSPACE_BYTES + 8];
    (void)snprintf(name, sizeof name, "%s.lock", git->findings.workspace);
    git->lock = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    git->first = git->lock >= 0 && flock(git->lock, LOCK_EX | LOCK_NB) == 0;
    if (git->lock < 0 || (!git->first && flock(git->lock, LOCK_SH) != 0))
        return error_sys(err, QS_IO, errno, "cannot lock the repositories of %s", git->request.roots[0]);
    return QS_OK;
}

/* ---- the run's begin and end ---- */

bool run_git_known(void *context, const char *path)
{
    const struct run_git *git = context;
    AUTO_FREE char *dot_git = path_join(path, ".git");
    struct stat st;
    if (!dot_git || lstat(dot_git, &st) != 0)
        return dot_git && errno == ENOENT;
    for (size_t i = 0; i < git->count; i++)
        for (size_t k = 0; k < git->items[i].checkout_count; k++)
            if (git->items[i].checkouts[k].tree && strcmp(git->items[i].checkouts[k].tree, path) == 0)
                return true;
    return false;
}

static void make_id(char id[RUN_ID_BYTES])
{
    uint8_t bytes[(RUN_ID_BYTES - 1) / 2] = {0};
    (void)!os_random(bytes, sizeof bytes, NULL);
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(id + 2 * i, 3, "%02x", bytes[i]);
}

void run_git_cross(struct run_git *git, struct repository *repository)
{
    char id[RUN_ID_BYTES];
    struct qs_error err = {0};
    struct crossing_report *report = &git->report;
    const struct crossing_options options = {.run = id,
                                             .limits = git->request.limits,
                                             .known_git = run_git_known,
                                             .context = git};
    size_t stayed = report->stayed.count;
    make_id(id);
    repository->others = repository->fresh ? git->items : NULL;
    repository->other_count = repository->fresh ? git->count : 0;
    enum qs_status status = crossing_cross(repository, &options, report, &err);
    for (size_t i = stayed; i < report->stayed.count; i++)
        run_git_line(&git->findings.notices, "git in %s: %s; it stays inside", repository->host,
                     report->stayed.items[i]);
    if (status) {
        crossing_line(&report->stayed, "%s: %s", repository->host, err.message);
        run_git_line(&git->findings.notices,
                     "nothing more crossed from the private git of %s: %s; all of it is still inside, and the next run "
                     "tries again",
                     repository->host, err.message);
    }
}

static enum qs_status enter_one(struct run_git *git, struct repository *repository, struct qs_error *err)
{
    if (repository->private >= 0 && !repository_active(repository)) /* what a killed run left */
        run_git_cross(git, repository);
    enum qs_status status = repository_lock(repository, err);
    if (!status)
        status = private_prepare(repository, err);
    if (status == QS_INVALID && repository->private >= 0 &&
        err) { /* what the command made of it must not refuse it runs */
        run_git_line(&git->findings.notices,
                     "what the host changed could not be brought into the private git of %s: %s", repository->host,
                     err->message);
        status = QS_OK;
    }
    if (!status)
        status = repository_enter(repository, err);
    repository_unlock(repository);
    return status;
}

static enum qs_status open_known(struct run_git *git, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < git->found.count && !status; i++)
        status = take_up(git, &git->found.items[i], err);
    if (git->count)
        qsort(git->items, git->count, sizeof *git->items, by_host);
    return status;
}

static void forget_found(struct run_git *git)
{
    for (size_t i = 0; i < git->count; i++)
        repository_release(&git->items[i]);
    git->count = 0;
    found_release(&git->found);
}

/* Repositories that a run has made which was killed, before the list of this one is written. */
static enum qs_status launder_left(struct run_git *git, struct qs_error *err)
{
    enum qs_status status = open_known(git, err);
    if (!status)
        status = launder_new(git, err);
    run_git_line(&git->findings.notices, "an earlier run was killed: what it had made was looked for now");
    forget_found(git);
    return status ? status : find_all(git, true, &git->found, err);
}

static enum qs_status enter(struct run_git *git, struct qs_error *err)
{
    AUTO(found_release) struct found_repositories fresh = {0};
    AUTO_FD int dir = -1;
    bool listed = false;
    enum qs_status status = open_lists(git, true, &dir, err);
    if (!status)
        status = take_lock(git, dir, err);
    if (!status)
        status = find_all(git, git->first, &git->found, err);
    if (!status)
        status = split_known(git, dir, &git->found, &fresh, &listed, err);
    if (!status && git->first && fresh.count)
        status = launder_left(git, err);
    if (!status && git->first)
        status = write_list(git, dir, err);
    if (!status && git->first && flock(git->lock, LOCK_SH) != 0)
        status = error_sys(err, QS_IO, errno, "cannot share the lock of the repositories");
    if (!status)
        status = open_known(git, err);
    for (size_t i = 0; i < git->count && !status; i++)
        status = enter_one(git, &git->items[i], err);
    return status;
}

enum qs_status run_git_begin(const struct run_git_request *request, struct run_git *ret_git, struct qs_error *err)
{
    AUTO(run_git_release) struct run_git git = RUN_GIT_NONE;
    git.request = *request;
    git.request.roots = calloc(request->root_count, sizeof *git.request.roots);
    for (size_t i = 0; git.request.roots && i < request->root_count; i++)
        git.request.roots[i] = strdup(request->roots[i]);
    git.findings.base = request->base;
    git.findings.base.home = strdup(request->base.home);
    git.request.base.home = git.findings.base.home;
    if (!git.request.roots || !git.request.roots[request->root_count - 1] || !git.findings.base.home)
        return error_memory(err);
    state_workspace_name(request->roots[0], git.findings.workspace);
    enum qs_status status = enter(&git, err);
    if (status)
        return status;
    *ret_git = git;
    git = RUN_GIT_NONE;
    return QS_OK;
}

void run_git_end(struct run_git *git)
{
    struct qs_error err = {0};
    AUTO_FD int dir = -1;
    if (git->lock < 0)
        return;
    /* The shared lock is given up in the attempt: of two that leave at once, the one that gets here last is it. */
    bool last = flock(git->lock, LOCK_EX | LOCK_NB) == 0;
    enum qs_status status = last ? launder_new(git, &err) : QS_OK;
    if (status)
        run_git_line(&git->findings.violations, "new repositories could not be looked for: %s", err.message);
    for (size_t i = git->count; i > 0; i--) { /* inner ones first: an outer index may name their commits */
        cleanup_fd(&git->items[i - 1].runs);
        git->items[i - 1].runs = -1;
        run_git_cross(git, &git->items[i - 1]);
    }
    if (last && !status && open_lists(git, false, &dir, NULL) == QS_OK)
        (void)!files_remove(dir, git->findings.workspace, NULL);
    cleanup_fd(&git->lock);
    git->lock = -1;
}

enum qs_status run_git_fresh(struct run_git *git, struct found_repositories *fresh, struct qs_error *err)
{
    AUTO(found_release) struct found_repositories found = {0};
    AUTO_FD int dir = -1;
    bool listed = false;
    enum qs_status status = open_lists(git, true, &dir, err);
    if (!status)
        status = find_all(git, true, &found, err);
    if (!status && found.cut)
        run_git_line(&git->findings.violations,
                     "%s has more than %u entries: new repositories were not looked for beyond them",
                     git->request.roots[0], FIND_MAX_ENTRIES);
    if (!status && found.unread)
        run_git_line(&git->findings.violations, "%s could not be read: new repositories were not looked for there",
                     found.unread);
    return status ? status : split_known(git, dir, &found, fresh, &listed, err);
}

/* ---- what a run is shown of its repositories ---- */

/* Adds fd, which is at path, shown at `shown` inside; over: NULL, or what it is put over. */
static enum qs_status add_shown(struct host_facts *facts, int fd, const char *path, const char *shown, bool writable,
                                struct path_fact *over, struct qs_error *err)
{
    struct shown_fact *grown = reallocarray(facts->shown, facts->shown_count + 1, sizeof *grown);
    struct stat st;
    if (!grown)
        return error_memory(err);
    facts->shown = grown;
    struct shown_fact *fact = &facts->shown[facts->shown_count++];
    *fact = (struct shown_fact){.source = {.path = strdup(path), .fd = fcntl(fd, F_DUPFD_CLOEXEC, 3)},
                                .shown = strdup(shown),
                                .writable = writable,
                                .over.fd = -1};
    if (over) {
        fact->over = *over;
        *over = (struct path_fact){.fd = -1};
    }
    if (!fact->source.path || !fact->shown)
        return error_memory(err);
    if (fact->source.fd < 0 || fstat(fact->source.fd, &st) != 0)
        return error_sys(err, QS_IO, errno, "cannot open %s", path);
    fact->source.kind = S_ISDIR(st.st_mode) ? PATH_DIR : PATH_FILE;
    fact->source.dev = st.st_dev;
    fact->source.ino = st.st_ino;
    return QS_OK;
}

/* A directory of a private git directory, made anew if the command has put something else there. */
static int own_dir(int private, const char *name)
{
    int fd = fcntl(private, F_DUPFD_CLOEXEC, 3);
    AUTO_FREE char *way = strdup(name);
    char *more = NULL;
    for (char *part = way ? strtok_r(way, "/", &more) : NULL; part && fd >= 0; part = strtok_r(NULL, "/", &more)) {
        int next = files_open_dir(fd, part);
        if (next < 0 && (errno == ENOENT || remove_tree(fd, part, NULL) == QS_OK) && mkdirat(fd, part, 0700) == 0)
            next = files_open_dir(fd, part);
        (void)close(fd);
        fd = next;
    }
    return fd;
}

/* The place of `path` on the host as it is inside: within a private directory, if one is shown over it or around it. */
static enum qs_status look_over(const struct run_git *git, const char *path, const struct repository *self,
                                struct path_fact *ret_over, struct qs_error *err)
{
    const struct repository *outer = NULL;
    struct stat st;
    for (size_t i = 0; i < git->count; i++) /* by path: the last one is the innermost */
        if (&git->items[i] != self && path_within(path, git->items[i].host))
            outer = &git->items[i];
    AUTO_FD int fd = -1;
    if (outer)
        fd = own_dir(outer->private, path + strlen(outer->host) + 1);
    else
        fd = sys_open(AT_FDCWD, path, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
    if (fd < 0 || fstat(fd, &st) != 0)
        return error_sys(err, QS_CONFLICT, errno, "cannot open the place of %s", path);
    *ret_over =
        (struct path_fact){.path = strdup(path), .kind = PATH_DIR, .dev = st.st_dev, .ino = st.st_ino, .fd = -1};
    return ret_over->path ? QS_OK : error_memory(err);
}

static enum qs_status show_private(const struct run_git *git, const struct repository *repository,
                                   struct host_facts *facts, struct qs_error *err)
{
    AUTO(path_fact_release) struct path_fact over = {.fd = -1};
    enum qs_status status = look_over(git, repository->host, repository, &over, err);
    return status
               ? status
               : add_shown(facts, repository->private, repository->private_path, repository->shown, true, &over, err);
}

static enum qs_status show_stores(const struct repository *repository, struct host_facts *facts, struct qs_error *err)
{
    AUTO_FREE char *nothing = path_join(repository->state_path, "nothing");
    AUTO_FD int fd = openat(repository->state, "nothing", O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    enum qs_status status = QS_OK;
    if (!nothing || fd < 0)
        return error_sys(err, QS_IO, errno, "cannot make an empty file in %s", repository->state_path);
    for (size_t i = 0; i < repository->store_count && !status; i++) {
        const struct object_store *store = &repository->stores[i];
        AUTO_FREE char *alternates = path_join(store->shown, "info/alternates");
        if (!alternates)
            return error_memory(err);
        status = add_shown(facts, store->fd, store->path, store->shown, false, NULL, err);
        if (!status && store->has_alternates) /* git would follow them under another mount point */
            status = add_shown(facts, fd, nothing, alternates, false, NULL, err);
    }
    return status;
}

/* The host's hooks run inside, and cannot be changed. */
static enum qs_status show_hooks(const struct repository *repository, struct host_facts *facts, struct qs_error *err)
{
    AUTO(path_fact_release) struct path_fact hooks = {.fd = -1}, over = {.fd = -1};
    AUTO_FREE char *path = path_join(repository->host, "hooks");
    AUTO_FREE char *shown = NULL;
    struct stat st;
    if (!path || asprintf(&shown, "%s.hooks", repository->shown) < 0)
        return error_memory(err);
    AUTO_FD int own = own_dir(repository->private, "hooks");
    enum qs_status status = path_look(path, "/", true, &hooks, err);
    if (status || hooks.kind != PATH_DIR)
        return status;
    if (own < 0 || fstat(own, &st) != 0)
        return error_sys(err, QS_CONFLICT, errno, "cannot open the place of %s", path);
    over = (struct path_fact){.path = STEAL(path), .kind = PATH_DIR, .dev = st.st_dev, .ino = st.st_ino, .fd = -1};
    return add_shown(facts, hooks.fd, hooks.path, shown, false, &over, err);
}

/* Work trees and roots that lie in a git directory (worktrees in a bare repository) are shown again over it. */
static enum qs_status show_inside(const struct run_git *git, const struct repository *repository, const char *path,
                                  struct host_facts *facts, struct qs_error *err)
{
    AUTO(path_fact_release) struct path_fact over = {.fd = -1};
    AUTO_FREE char *shown = NULL;
    if (!path || !path_within(path, repository->host) || strcmp(path, repository->host) == 0)
        return QS_OK;
    for (size_t i = 0; i < facts->shown_count; i++)
        if (facts->shown[i].over.path && strcmp(facts->shown[i].over.path, path) == 0)
            return QS_OK;
    AUTO_FD int fd = sys_open(AT_FDCWD, path, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
    if (asprintf(&shown, "%s.tree%zu", repository->shown, facts->shown_count) < 0)
        return error_memory(err);
    if (fd < 0)
        return error_sys(err, QS_CONFLICT, errno, "cannot open %s", path);
    enum qs_status status = look_over(git, path, NULL, &over, err);
    return status ? status : add_shown(facts, fd, path, shown, true, &over, err);
}

static enum qs_status show_trees(const struct run_git *git, struct host_facts *facts, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < git->count; i++) {
        const struct repository *repository = &git->items[i];
        for (size_t k = 0; k < facts->root_count && !status; k++)
            status = show_inside(git, repository, facts->roots[k].dir.path, facts, err);
        for (size_t k = 0; k < repository->checkout_count && !status;
             k++) /* of any repository: worktrees name theirs */
            status = show_inside(git, repository, repository->checkouts[k].tree, facts, err);
    }
    return status;
}

/* A git directory deeper in a root stays where it is: its directories cannot be renamed away. */
static enum qs_status guard(const struct repository *repository, struct host_facts *facts, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t k = 0; k < facts->root_count && !status; k++) {
        const char *root = facts->roots[k].dir.path;
        if (path_within(repository->host, root) && strcmp(repository->host, root) != 0 &&
            !strstr(repository->host + strlen(root), "/.git/"))
            status = guard_way(root, repository->host, &facts->roots[k].git.pinned, err);
    }
    for (size_t i = 0; i < repository->checkout_count; i++)
        for (size_t k = 0; k < facts->root_count && !status; k++) {
            const char *root = facts->roots[k].dir.path, *tree = repository->checkouts[i].tree;
            if (tree && path_within(tree, root) && strcmp(tree, root) != 0)
                status = git_guard_configs(&facts->roots[k].git, repository->host, tree, root, err);
        }
    return status;
}

enum qs_status run_git_show(const struct run_git *git, struct host_facts *facts, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < git->count && !status; i++) {
        status = show_private(git, &git->items[i], facts, err);
        if (!status)
            status = show_stores(&git->items[i], facts, err);
        if (!status)
            status = show_hooks(&git->items[i], facts, err);
        if (!status)
            status = guard(&git->items[i], facts, err);
    }
    if (!status)
        status = show_trees(git, facts, err);
    for (size_t i = 0; i < git->read_only.count && !status; i++) {
        struct path_fact fact = {.fd = -1};
        status = path_look(git->read_only.items[i], "/", true, &fact, err);
        if (!status && !path_facts_add(&facts->read_only, &fact))
            status = error_memory(err);
    }
    return status;
}
