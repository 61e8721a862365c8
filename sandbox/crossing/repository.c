/* SPDX-License-Identifier: Apache-2.0 */
/* A git directory of the host and its state. */
#include "sandbox/crossing/repository.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "sandbox/crossing/files.h"
#include "sandbox/host/gitconfig.h"
#include "sandbox/host/host_path.h"
#include "sandbox/wire/sys.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>

#define ALTERNATES_MAX_BYTES ((size_t)64 << 10)
#define CONFIG_MAX_BYTES     ((size_t)1 << 20)

void repository_release(struct repository *repository)
{
    for (size_t i = 0; i < repository->store_count; i++) {
        free(repository->stores[i].path);
        free(repository->stores[i].shown);
        cleanup_fd(&repository->stores[i].fd);
    }
    for (size_t i = 0; i < repository->checkout_count; i++) {
        free(repository->checkouts[i].name);
        free(repository->checkouts[i].gitdir);
        free(repository->checkouts[i].tree);
        cleanup_fd(&repository->checkouts[i].fd);
    }
    const int *const fds[] = {&repository->fd, &repository->state, &repository->private, &repository->lock,
                              &repository->runs};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        cleanup_fd(fds[i]);
    free(repository->host);
    free(repository->state_path);
    free(repository->private_path);
    free(repository->empty);
    free(repository->shown);
    *repository = REPOSITORY_NONE;
}

/* ---- its configuration ---- */

struct reading {
    bool bare, sha256, partial, sparse, other_refs;
};

static bool is_true(const char *value)
{
    return strcasecmp(value, "true") == 0 || strcasecmp(value, "yes") == 0 || strcasecmp(value, "on") == 0 ||
           strcmp(value, "1") == 0;
}

static void read_key(void *context, const char *section, const char *key, const char *value)
{
    struct reading *reading = context;
    if (strcmp(section, "core") == 0 && strcmp(key, "bare") == 0)
        reading->bare = is_true(value);
    else if (strcmp(section, "core") == 0 && strcmp(key, "sparsecheckout") == 0)
        reading->sparse = is_true(value);
    else if (strcmp(section, "extensions") == 0 && strcmp(key, "objectformat") == 0)
        reading->sha256 = strcmp(value, "sha256") == 0;
    else if (strcmp(section, "extensions") == 0 && strcmp(key, "refstorage") == 0)
        reading->other_refs = strcmp(value, "files") != 0;
    else if (strcmp(key, "promisor") == 0 || strcmp(key, "partialclone") == 0 || strcmp(key, "partialclonefilter") == 0)
        reading->partial = true;
}

static enum qs_status read_config(int dir, const char *name, struct reading *reading, struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    enum qs_status status = files_read_text(dir, name, CONFIG_MAX_BYTES, &text, err);
    if (!status && text)
        (void)config_each(text, read_key, reading); /* of a file that git refuses, what is before the fault */
    return status;
}

bool repository_sparse(const struct repository *repository, const struct checkout_place *checkout)
{
    struct reading reading = {0};
    return read_config(repository->fd, "config", &reading, NULL) == QS_OK &&
           read_config(checkout->fd, "config.worktree", &reading, NULL) == QS_OK && reading.sparse;
}

/* ---- its object stores ---- */

static enum qs_status add_store(struct repository *repository, const char *path, struct qs_error *err)
{
    AUTO(path_fact_release) struct path_fact fact = {.fd = -1};
    enum qs_status status = path_look(path, "/", false, &fact, err);
    if (status || fact.kind != PATH_DIR)
        return status; /* git passes over one that is not there, too */
    for (size_t i = 0; i < repository->store_count; i++)
        if (strcmp(repository->stores[i].path, fact.path) == 0)
            return QS_OK;
    if (repository->store_count == REPOSITORY_STORES_MAX)
        return error_set(err, QS_INVALID, "%s has more than %d object stores", repository->host, REPOSITORY_STORES_MAX);
    struct object_store *store = &repository->stores[repository->store_count++];
    *store = (struct object_store){.path = STEAL(fact.path)};
    store->fd = sys_open(AT_FDCWD, store->path, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
    if (asprintf(&store->shown, REPOSITORY_MOUNTS "/%.16s.%zu", repository->name, repository->store_count - 1) < 0)
        store->shown = NULL;
    if (!store->shown)
        return error_memory(err);
    return store->fd >= 0 ? QS_OK : error_sys(err, QS_IO, errno, "cannot open %s", store->path);
}

/* Its own alternates, and theirs: gitrepository-layout(5), objects/info/alternates. */
static enum qs_status add_stores(struct repository *repository, struct qs_error *err)
{
    AUTO_FREE char *own = path_join(repository->host, "objects");
    enum qs_status status = own ? add_store(repository, own, err) : error_memory(err);
    for (size_t i = 0; i < repository->store_count && !status; i++) {
        struct object_store *store = &repository->stores[i];
        AUTO_FREE char *text = NULL;
        char *more = NULL;
        status = files_read_text(store->fd, "info/alternates", ALTERNATES_MAX_BYTES, &text, err);
        store->has_alternates = text != NULL;
        for (char *line = text ? strtok_r(text, "\n", &more) : NULL; line && !status;
             line = strtok_r(NULL, "\n", &more)) {
            AUTO_FREE char *path = line[0] == '/' ? strdup(line) : path_join(store->path, line);
            if (line[0] != '#')
                status = path ? add_store(repository, path, err) : error_memory(err);
        }
    }
    return status;
}

/* ---- opening ---- */

/* A command may have closed it to its own user. */
int repository_open_private(int state)
{
    struct stat st;
    if (fstatat(state, "private", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & 0700) != 0700)
        (void)!fchmodat(state, "private", 0700, 0);
    return files_open_dir(state, "private");
}

static enum qs_status open_state(const struct state_base *base, struct repository *repository, struct qs_error *err)
{
    char name[STATE_WORKSPACE_BYTES + 8];
    (void)snprintf(name, sizeof name, "git/%s", repository->name);
    enum qs_status status = state_open(base, name, true, &repository->state, &repository->state_path, err);
    if (status)
        return status;
    repository->private_path = path_join(repository->state_path, "private");
    repository->empty = path_join(repository->state_path, "empty");
    if (!repository->private_path || !repository->empty ||
        asprintf(&repository->shown, REPOSITORY_MOUNTS "/%.16s", repository->name) < 0)
        return error_memory(err);
    repository->lock = openat(repository->state, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    repository->runs = openat(repository->state, "runs", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (repository->lock < 0 || repository->runs < 0)
        return error_sys(err, QS_IO, errno, "cannot open the locks of %s", repository->state_path);
    if (mkdirat(repository->state, "empty", 0500) != 0 && errno != EEXIST)
        return error_sys(err, QS_IO, errno, "cannot make %s", repository->empty);
    repository->private = repository_open_private(repository->state); /* -1: there is none yet */
    return QS_OK;
}

/* Another repository under the same path is another one: it must not meet what a command did in the first. */
bool repository_name(int gitdir, const char *path, char name[STATE_WORKSPACE_BYTES])
{
    AUTO(buf_release) struct buf text = {0};
    struct statx born;
    if (statx(gitdir, "", AT_EMPTY_PATH, STATX_BTIME | STATX_INO, &born) != 0)
        return false;
    buf_printf(&text, "%s\n%u:%u %llu %lld.%u", path, born.stx_dev_major, born.stx_dev_minor,
               (unsigned long long)born.stx_ino, (long long)born.stx_btime.tv_sec, born.stx_btime.tv_nsec);
    if (!text.failed)
        state_workspace_name(text.data, name);
    return !text.failed;
}

enum qs_status repository_open(const struct state_base *base, const char *gitdir, struct repository *ret_repository,
                               struct qs_error *err)
{
    AUTO(repository_release) struct repository repository = REPOSITORY_NONE;
    struct reading reading = {0};
    struct stat st;
    repository.host = strdup(gitdir);
    repository.fd = sys_open(AT_FDCWD, gitdir, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
    if (!repository.host)
        return error_memory(err);
    if (repository.fd < 0 || fstat(repository.fd, &st) != 0)
        return error_sys(err, QS_IO, errno, "cannot open the git directory %s", gitdir);
    repository.dev = st.st_dev;
    repository.ino = st.st_ino;
    if (!repository_name(repository.fd, gitdir, repository.name))
        return error_sys(err, QS_IO, errno, "cannot look at the git directory %s", gitdir);
    enum qs_status status = read_config(repository.fd, "config", &reading, err);
    if (!status && reading.other_refs)
        status = error_set(err, QS_INVALID, "%s keeps its refs in another form than files", gitdir);
    if (!status)
        status = add_stores(&repository, err);
    if (!status)
        status = open_state(base, &repository, err);
    if (status)
        return status;
    repository.bare = reading.bare;
    repository.sha256 = reading.sha256;
    repository.partial = reading.partial;
    *ret_repository = repository;
    repository = REPOSITORY_NONE;
    return QS_OK;
}

enum qs_status repository_add_checkout(struct repository *repository, const char *name, const char *tree,
                                       struct qs_error *err)
{
    for (size_t i = 0; i < repository->checkout_count; i++)
        if (strcmp(repository->checkouts[i].name, name) == 0)
            return QS_OK;
    if (repository->checkout_count == REPOSITORY_CHECKOUTS_MAX)
        return error_set(err, QS_INVALID, "%s has more than %d worktrees in the workspace", repository->host,
                         REPOSITORY_CHECKOUTS_MAX);
    struct checkout_place place = {.name = strdup(name), .tree = tree ? strdup(tree) : NULL, .fd = -1};
    AUTO_FREE char *way = NULL;
    if (name[0] && asprintf(&way, "%s/worktrees/%s", repository->host, name) < 0)
        way = NULL;
    place.gitdir = name[0] ? STEAL(way) : strdup(repository->host);
    place.fd = place.gitdir ? sys_open(AT_FDCWD, place.gitdir, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS) : -1;
    repository->checkouts[repository->checkout_count++] = place;
    if (!place.name || !place.gitdir || (tree && !place.tree))
        return error_memory(err);
    return place.fd >= 0 ? QS_OK : error_sys(err, QS_IO, errno, "cannot open %s", place.gitdir);
}

/* ---- locks ---- */

enum qs_status repository_lock(struct repository *repository, struct qs_error *err)
{
    int code;
    while ((code = flock(repository->lock, LOCK_EX)) != 0 && errno == EINTR)
        continue;
    return code == 0 ? QS_OK : error_sys(err, QS_IO, errno, "cannot lock %s", repository->state_path);
}

void repository_unlock(struct repository *repository)
{
    (void)flock(repository->lock, LOCK_UN);
}

enum qs_status repository_enter(struct repository *repository, struct qs_error *err)
{
    return flock(repository->runs, LOCK_SH) == 0
               ? QS_OK
               : error_sys(err, QS_IO, errno, "cannot enter %s", repository->state_path);
}

bool repository_active(struct repository *repository)
{
    AUTO_FD int own = openat(repository->state, "runs", O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    return own < 0 || flock(own, LOCK_EX | LOCK_NB) != 0;
}

void repository_checkout_file(const struct checkout_place *checkout, char *name, size_t size)
{
    (void)snprintf(name, size, "checkout-%s", checkout->name);
}
