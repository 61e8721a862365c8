/* SPDX-License-Identifier: Apache-2.0 */
/* Making the private directory from the host's, and bringing in what the host changed since. */
#include "sandbox/crossing/private_dir.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "sandbox/crossing/decide.h"
#include "sandbox/crossing/files.h"
#include "sandbox/crossing/look.h"
#include "sandbox/host/copy_tree.h"
#include "sandbox/host/gitconfig.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define COPIED_MAX_BYTES ((size_t)1 << 20)
#define INDEX_MAX_BYTES  ((size_t)512 << 20)
#define FILE_MAX_BYTES   ((off_t)64 << 20)

/* ---- the configuration ---- */

static bool dropped(const char *section, const char *key)
{
    return (strcmp(section, "core") == 0 && strcmp(key, "fsmonitor") == 0) || strncmp(section, "credential", 10) == 0 ||
           (strncmp(section, "http", 4) == 0 && strcmp(key, "extraheader") == 0) || strcmp(section, "gc") == 0 ||
           strcmp(section, "maintenance") == 0;
}

static void add_section(struct buf *out, const char *section)
{
    const char *quote = strchr(section, '"');
    if (!quote) {
        buf_printf(out, "[%s]\n", section);
        return;
    }
    buf_printf(out, "[%.*s\"", (int)(quote - section), section);
    for (const char *at = quote + 1; at[0] && at[1]; at++)
        buf_printf(out, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    buf_add_str(out, "\"]\n");
}

static void add_key(void *context, const char *section, const char *key, const char *value)
{
    struct buf *out = context;
    if (!section[0] || dropped(section, key))
        return;
    add_section(out, section);
    buf_printf(out, "\t%s = \"", key);
    for (; *value; value++) {
        const char *found = strchr("\t\b\n\\\"", *value);
        if (found)
            buf_printf(out, "\\%c", "tbn\\\""[found - "\t\b\n\\\""]);
        else
            buf_add_char(out, *value);
    }
    buf_add_str(out, "\"\n");
}

void private_config(const char *text, struct buf *out)
{
    (void)config_each(text, add_key, out); /* of a file that git refuses, what is before the fault */
    buf_add_str(out, "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n");
}

static bool is_config(size_t which)
{
    return strncmp(look_copied[which], "config", 6) == 0;
}

static void sign_text(const char *text, size_t len, uint8_t sign[QS_DIGEST_BYTES])
{
    memset(sign, 0, QS_DIGEST_BYTES);
    if (text)
        digest_of(text, len, sign);
}

/* Copies a file of the configuration, where the host's changed since the last time and the private one did not. */
static enum qs_status copy_config(const struct repository *repository, int private, size_t which, bool fresh,
                                  uint8_t signs[2 * QS_DIGEST_BYTES], struct qs_error *err)
{
    AUTO_FREE char *text = NULL, *own = NULL;
    AUTO(buf_release) struct buf out = {0};
    uint8_t now[QS_DIGEST_BYTES], now_own[QS_DIGEST_BYTES];
    size_t len = 0, own_len = 0;
    const char *name = look_copied[which];
    enum qs_status status = files_read(repository->fd, name, COPIED_MAX_BYTES, &text, &len, err);
    if (status)
        return status;
    sign_text(text, len, now);
    if (!fresh && memcmp(now, signs, QS_DIGEST_BYTES) == 0)
        return QS_OK;
    if (files_read(private, name, COPIED_MAX_BYTES, &own, &own_len, NULL) != QS_OK)
        return QS_OK; /* the command made something else of it: that stays */
    sign_text(own, own_len, now_own);
    if (!fresh && memcmp(now_own, signs + QS_DIGEST_BYTES, QS_DIGEST_BYTES) != 0)
        return QS_OK;
    if (text && is_config(which))
        private_config(text, &out);
    else if (text)
        buf_add(&out, text, len);
    if (!text)
        status = files_remove(private, name, err);
    else
        status = out.failed ? error_memory(err) : files_write(private, name, out.data, out.len, false, err);
    memcpy(signs, now, QS_DIGEST_BYTES);
    sign_text(text ? (out.data ? out.data : "") : NULL, out.len, signs + QS_DIGEST_BYTES);
    return status;
}

/* ---- making it ---- */

static bool is_copied_config(const char *name)
{
    return strcmp(name, "config") == 0 || strcmp(name, "config.worktree") == 0;
}

static enum qs_status copy_top(int from, int to, struct qs_error *err)
{
    static const char *const directories[] = {"refs",         "logs",         "info",      "worktrees",
                                              "rebase-merge", "rebase-apply", "sequencer", "branches"};
    int fd = files_open_dir(from, ".");
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    enum qs_status status = QS_OK;
    struct dirent *entry;
    struct stat st;
    if (!list) {
        cleanup_fd(&fd);
        return error_sys(err, QS_IO, errno, "cannot read the git directory");
    }
    while (!status && (entry = readdir(list)))
        if (fstatat(from, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
            st.st_size <= ((strcmp(entry->d_name, "index") == 0) ? (off_t)INDEX_MAX_BYTES : FILE_MAX_BYTES) &&
            !is_copied_config(entry->d_name))
            status = files_copy(from, entry->d_name, to, err);
    (void)closedir(list);
    for (size_t i = 0; i < sizeof directories / sizeof directories[0] && !status; i++)
        status = files_copy_dir(from, directories[i], to, err);
    return status;
}

static enum qs_status make_directories(int to, struct qs_error *err)
{
    static const char *const names[] = {"objects", "objects/info", "objects/pack", "hooks",  "info",
                                        "refs",    "refs/heads",   "refs/tags",    "modules"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (mkdirat(to, names[i], 0700) != 0 && errno != EEXIST)
            return error_sys(err, QS_IO, errno, "cannot make %s of the private git directory", names[i]);
    return QS_OK;
}

static enum qs_status write_alternates(const struct repository *repository, int private, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    for (size_t i = 0; i < repository->store_count; i++)
        buf_printf(&text, "%s\n", repository->stores[i].shown);
    AUTO_FREE char *now = NULL;
    if (text.failed)
        return error_memory(err);
    if (files_read_text(private, "objects/info/alternates", COPIED_MAX_BYTES, &now, NULL) == QS_OK && now &&
        strcmp(now, text.data ? text.data : "") == 0)
        return QS_OK;
    return files_write(private, "objects/info/alternates", text.data, text.len, false, err);
}

/* The base of a new private directory is what the host has. */
static enum qs_status write_first_base(const struct repository *repository, struct sides *sides, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < repository->checkout_count && !status; i++)
        status = write_base_checkout(repository, &repository->checkouts[i], &sides->checkouts[i].host,
                                     &sides->checkouts[i].signs, err);
    if (status)
        return status;
    sides->base = sides->host;
    status = write_base(repository, sides, err);
    sides->base = (struct git_refs){0};
    return status;
}

static enum qs_status fill(struct repository *repository, int to, struct sides *sides, struct qs_error *err)
{
    enum qs_status status = copy_top(repository->fd, to, err);
    if (!status)
        status = make_directories(to, err);
    for (size_t i = 0; i < LOOK_COPIED_COUNT && !status; i++)
        status = copy_config(repository, to, i, true, sides->copied[i], err);
    if (!status)
        status = write_alternates(repository, to, err);
    if (!status && syncfs(to) != 0) /* a private directory that a power cut empties would look like one in which the
                                       command deleted everything */
        status = error_sys(err, QS_IO, errno, "cannot make the private git directory durable");
    return status;
}

/* False: the host changed something while it was copied. */
static enum qs_status copy_once(struct repository *repository, struct sides *sides, bool *ret_same,
                                struct qs_error *err)
{
    uint8_t before[QS_DIGEST_BYTES], before_each[REPOSITORY_CHECKOUTS_MAX][QS_DIGEST_BYTES];
    enum qs_status status = sign_refs(repository->fd, before, err);
    for (size_t i = 0; i < repository->checkout_count && !status; i++)
        status = sign_checkout(repository->checkouts[i].fd, before_each[i], err);
    if (!status && remove_tree(repository->state, "private.new", NULL) != QS_OK && errno != ENOENT)
        status = error_sys(err, QS_IO, errno, "cannot remove %s/private.new", repository->state_path);
    if (!status && mkdirat(repository->state, "private.new", 0700) != 0)
        status = error_sys(err, QS_IO, errno, "cannot make %s/private.new", repository->state_path);
    if (status)
        return status;
    cleanup_fd(&repository->private);
    repository->private = files_open_dir(repository->state, "private.new");
    status = repository->private < 0 ? error_sys(err, QS_IO, errno, "cannot open the new private git directory")
                                     : fill(repository, repository->private, sides, err);
    if (!status)
        status = look_host(repository, sides, err);
    if (!status)
        status = sign_private(repository, sides, err);
    bool same = !status && memcmp(before, sides->signs.host, QS_DIGEST_BYTES) == 0;
    for (size_t i = 0; i < repository->checkout_count && same; i++)
        same = memcmp(before_each[i], sides->checkouts[i].signs.host, QS_DIGEST_BYTES) == 0;
    *ret_same = same;
    return status;
}

static enum qs_status make(struct repository *repository, struct qs_error *err)
{
    AUTO_FREE struct sides *sides = calloc(1, sizeof *sides);
    enum qs_status status = sides ? QS_OK : error_memory(err);
    bool same = false;
    for (int tries = 0; tries < LOOK_TRIES && !status && !same; tries++)
        status = copy_once(repository, sides, &same, err);
    if (!status && !same)
        status = error_set(err, QS_BUSY, "%s changes all the time", repository->host);
    if (!status)
        status = write_first_base(repository, sides, err);
    if (!status && renameat(repository->state, "private.new", repository->state, "private") != 0)
        status = error_sys(err, QS_IO, errno, "cannot put the private git directory in place");
    if (sides)
        sides_release(sides);
    return status;
}

enum qs_status private_forget(struct repository *repository, struct qs_error *err)
{
    cleanup_fd(&repository->private);
    repository->private = -1;
    if (renameat(repository->state, "private", repository->state, "private.old") != 0 && errno != ENOENT)
        return error_sys(err, QS_IO, errno, "cannot take %s away", repository->private_path);
    enum qs_status status = remove_tree(repository->state, "private.old", err);
    return status && errno == ENOENT ? QS_OK : status;
}

/* ---- bringing in what the host changed ---- */

/* A branch that a checkout is on moves with the checkout, or not at all. */
static bool is_held(const struct repository *repository, const struct sides *sides, const bool *brought,
                    const char *name)
{
    for (size_t i = 0; i < repository->checkout_count; i++) {
        const char *branch = SIDE_HEAD_BRANCH(sides->checkouts[i].private.head);
        if (!brought[i] && branch && strcmp(branch, name) == 0)
            return true;
    }
    return false;
}

static void add_update(struct buf *out, const struct git_ref *to, const struct git_ref *from, const char *name)
{
    if (to && from)
        buf_printf(out, "update %s %s %s\n", name, to->value, from->value);
    else if (to)
        buf_printf(out, "create %s %s\n", name, to->value);
    else
        buf_printf(out, "delete %s %s\n", name, from->value);
}

/* What to set in the private directory: refs where it is as the base, and the host is not. Deletions first, since a
 * name may have become a directory of names. */
static void refs_to_bring(const struct repository *repository, const struct sides *sides, const bool *brought,
                          struct buf *deletions, struct buf *updates)
{
    const struct git_refs *lists[2] = {&sides->host, &sides->base};
    for (size_t l = 0; l < 2; l++)
        for (size_t i = 0; i < lists[l]->count; i++) {
            const char *name = lists[l]->items[i].name;
            const struct git_ref *host = git_refs_find(&sides->host, name), *base = git_refs_find(&sides->base, name),
                                 *private = git_refs_find(&sides->private, name);
            if ((l == 1 && host) || git_ref_same(host, base) || !git_ref_same(private, base) ||
                (host && host->symbolic) || (private && private->symbolic) || strcmp(name, "refs/stash") == 0 ||
                is_held(repository, sides, brought, name))
                continue;
            add_update(host ? updates : deletions, host, private, name);
        }
}

static enum qs_status update_private(const struct repository *repository, const struct buf *input, struct qs_error *err)
{
    AUTO(command_release) struct git_command update = COMMAND_NONE;
    if (!input->len)
        return QS_OK;
    enum qs_status status = confine_private(repository, true, &update, err);
    if (status)
        return status;
    confine_program(&update, COMMAND_GIT);
    command_words(&update, "-c", "core.hooksPath=/dev/null", NULL);
    command_format(&update, "--git-dir=%s", repository->host);
    command_words(&update, "update-ref", "--no-deref", "-m", "qsandbox: from the host", "--stdin", NULL);
    update.input = input;
    return command_must(&update, err);
}

/* The stash is a log: the list is copied, and its newest becomes the ref's value. */
static enum qs_status bring_stashes(const struct repository *repository, const struct sides *sides,
                                    struct qs_error *err)
{
    AUTO(buf_release) struct buf input = {0};
    if (git_stashes_same(&sides->host, &sides->base) || !git_stashes_same(&sides->private, &sides->base))
        return QS_OK;
    if (sides->host.stash_count)
        buf_printf(&input, "update refs/stash %s\n", sides->host.stashes[0].id);
    else
        buf_add_str(&input, "delete refs/stash\n");
    enum qs_status status = update_private(repository, &input, err);
    if (status || !sides->host.stash_count)
        return status;
    return files_write(repository->private, "logs/refs/stash", sides->host.stash_text.data, sides->host.stash_text.len,
                       false, err);
}

static enum qs_status copy_over(int from, int to, const char *name, struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    enum qs_status status = files_read(from, name, INDEX_MAX_BYTES, &text, &len, err);
    if (status)
        return status;
    return text ? files_write(to, name, text, len, false, err) : files_remove(to, name, err);
}

static enum qs_status copy_shared_indexes(int from, int to, struct qs_error *err)
{
    int fd = files_open_dir(from, ".");
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    enum qs_status status = QS_OK;
    struct dirent *entry;
    while (list && !status && (entry = readdir(list)))
        if (strncmp(entry->d_name, "sharedindex.", 12) == 0)
            status = copy_over(from, to, entry->d_name, err);
    if (list)
        (void)closedir(list);
    return status;
}

static enum qs_status bring_checkout(const struct repository *repository, const struct checkout_place *place,
                                     struct qs_error *err)
{
    char name[512];
    (void)snprintf(name, sizeof name, "%s%s", place->name[0] ? "worktrees/" : "", place->name[0] ? place->name : ".");
    AUTO_FD int to = files_open_dir(repository->private, name);
    enum qs_status status = to < 0 ? error_sys(err, QS_IO, errno, "cannot open %s of the private directory", name)
                                   : copy_shared_indexes(place->fd, to, err);
    if (!status)
        status = copy_over(place->fd, to, "index", err);
    for (size_t i = 0; i < SIDE_STATE_COUNT && !status; i++)
        status = copy_over(place->fd, to, side_state_names[i], err);
    return status ? status : copy_over(place->fd, to, "HEAD", err);
}

/* A worktree that is new to the private directory, or whose state there nobody has compared yet. */
static enum qs_status bring_worktree(const struct repository *repository, const struct checkout_place *place,
                                     struct qs_error *err)
{
    if (mkdirat(repository->private, "worktrees", 0700) != 0 && errno != EEXIST)
        return error_sys(err, QS_IO, errno, "cannot make worktrees of the private directory");
    AUTO_FD int from = files_open_dir(repository->fd, "worktrees");
    AUTO_FD int to = files_open_dir(repository->private, "worktrees");
    if (from < 0 || to < 0)
        return error_sys(err, QS_IO, errno, "cannot open worktrees of the private directory");
    if (remove_tree(to, place->name, NULL) != QS_OK && errno != ENOENT)
        return error_sys(err, QS_IO, errno, "cannot remove the private worktree %s", place->name);
    return files_copy_dir(from, place->name, to, err);
}

static enum qs_status bring_in(const struct repository *repository, struct sides *sides, bool active,
                               struct qs_error *err)
{
    AUTO(buf_release) struct buf deletions = {0}, updates = {0};
    bool brought[REPOSITORY_CHECKOUTS_MAX] = {false};
    for (size_t i = 0; i < repository->checkout_count; i++) {
        const char *branch = SIDE_HEAD_BRANCH(sides->checkouts[i].private.head);
        brought[i] =
            !active && git_checkout_same(&sides->checkouts[i].private, &sides->checkouts[i].base) &&
            (!branch || git_ref_same(git_refs_find(&sides->private, branch), git_refs_find(&sides->base, branch)));
    }
    refs_to_bring(repository, sides, brought, &deletions, &updates);
    enum qs_status status = deletions.failed || updates.failed ? error_memory(err) : QS_OK;
    if (!status)
        status = update_private(repository, &deletions, err);
    if (!status)
        status = update_private(repository, &updates, err);
    if (!status)
        status = bring_stashes(repository, sides, err);
    for (size_t i = 0; i < repository->checkout_count && !status; i++)
        if (brought[i] && !git_checkout_same(&sides->checkouts[i].host, &sides->checkouts[i].base))
            status = bring_checkout(repository, &repository->checkouts[i], err);
    return status;
}

static enum qs_status bring_new_worktrees(const struct repository *repository, struct sides *sides, bool active,
                                          struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < repository->checkout_count && !status; i++) {
        const struct checkout_place *place = &repository->checkouts[i];
        if (sides->checkouts[i].has_base)
            continue;
        if (active)
            return error_set(err, QS_BUSY, "a run in another worktree of %s is active", repository->host);
        if (place->name[0])
            status = bring_worktree(repository, place, err);
        else
            status = bring_checkout(repository, place, err);
        if (!status)
            status = look_host_checkout(repository, place, &sides->checkouts[i].base, err);
    }
    return status;
}

enum qs_status private_prepare(struct repository *repository, struct qs_error *err)
{
    bool active = repository_active(repository);
    struct moved moved = {0};
    if (repository->private < 0) /* another run may have made it since */
        repository->private = repository_open_private(repository->state);
    if (repository->private < 0)
        return make(repository, err);
    if (!active)
        files_remove_locks(repository->private, ".");
    enum qs_status status = write_alternates(repository, repository->private, err);
    if (!status)
        status = look_moved(repository, &moved, err);
    if (status || !moved.host)
        return status;
    AUTO_FREE struct sides *sides = calloc(1, sizeof *sides);
    if (!sides)
        return error_memory(err);
    status = look_base(repository, sides, err);
    if (!status)
        status = bring_new_worktrees(repository, sides, active, err);
    for (size_t i = 0; i < LOOK_COPIED_COUNT && !status; i++)
        status = copy_config(repository, repository->private, i, false, sides->copied[i], err);
    if (!status)
        status = look_private(repository, sides, err);
    if (!status)
        status = look_host(repository, sides, err);
    if (!status)
        status = bring_in(repository, sides, active, err);
    if (!status)
        status = look_private(repository, sides, err);
    if (!status)
        status = settle(repository, sides, NULL, err);
    sides_release(sides);
    return status;
}
