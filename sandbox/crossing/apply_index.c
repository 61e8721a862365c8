/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of the host.
 *
 *   qsandbox.index        an empty file, linked to index.lock: by it a lock that a kill left is known as ours
 *   qsandbox.index.new    a copy of the index, which git changes, and which is renamed to index
 */
#include "sandbox/crossing/apply.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "sandbox/host/host_path.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#define OWN             "qsandbox.index"
#define COPY            "qsandbox.index.new"
#define LOCK            "index.lock"
#define LOCK_STEP_MS    20
#define COPY_STEP_BYTES ((size_t)1 << 20)
#define FEW_NAMES       64 /* are listed alone */

void apply_clean(const struct checkout_place *place)
{
    struct stat own, lock;
    if (fstatat(place->fd, OWN, &own, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (fstatat(place->fd, LOCK, &lock, AT_SYMLINK_NOFOLLOW) == 0 && own.st_dev == lock.st_dev &&
        own.st_ino == lock.st_ino)
        (void)unlinkat(place->fd, LOCK, 0);
    (void)unlinkat(place->fd, COPY, 0);
    (void)unlinkat(place->fd, COPY ".lock", 0);
    (void)unlinkat(place->fd, OWN, 0);
}

static enum qs_status take_lock(const struct checkout_place *place, struct qs_error *err)
{
    AUTO_FD int own = openat(place->fd, OWN, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (own < 0)
        return error_sys(err, QS_IO, errno, "cannot make %s/" OWN, place->gitdir);
    for (unsigned waited = 0;; waited += LOCK_STEP_MS) {
        if (linkat(place->fd, OWN, place->fd, LOCK, 0) == 0)
            return QS_OK;
        if (errno != EEXIST)
            return error_sys(err, QS_IO, errno, "cannot lock %s/index", place->gitdir);
        if (waited >= APPLY_LOCK_WAIT_MS)
            return error_set(err, QS_BUSY, "%s/" LOCK " is held by another git", place->gitdir);
        qs_os->sleep_ms(LOCK_STEP_MS);
    }
}

static enum qs_status copy_index(const struct checkout_place *place, struct qs_error *err)
{
    struct stat st;
    AUTO_FD int in = openat(place->fd, "index", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (in < 0 && errno == ENOENT)
        return QS_OK; /* git makes a new one */
    AUTO_FD int out = in < 0 || fstat(in, &st) != 0 || !S_ISREG(st.st_mode)
                          ? -1
                          : openat(place->fd, COPY, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st.st_mode & 0777);
    ssize_t len = -1;
    while (out >= 0 && (len = sendfile(out, in, NULL, COPY_STEP_BYTES)) > 0)
        continue;
    return len < 0 ? error_sys(err, QS_IO, errno, "cannot copy %s/index", place->gitdir) : QS_OK;
}

static void copy_command(const struct applying *applying, const struct checkout_place *place, const char *copy,
                         struct git_command *command)
{
    command_git(command, applying->repository->empty, place->gitdir);
    command->index_file = copy;
}

/* First each name goes, with all its stages, then it gets those it is to have. */
static void add_change(const struct git_checkout *private, const struct index_change *change, int digits,
                       struct buf *out)
{
    buf_printf(out, "0 %0*d\t%s", digits, 0, change->name);
    buf_add_char(out, '\0');
    for (size_t i = change->at; i < change->at + change->count; i++) {
        const struct git_entry *entry = &private->entries[i];
        buf_printf(out, "%s %s %c\t%s", entry->mode, entry->id, entry->stage, entry->name);
        buf_add_char(out, '\0');
    }
}

static enum qs_status change_copy(const struct applying *applying, size_t which, const struct checkout_plan *plan,
                                  const char *copy, struct qs_error *err)
{
    const struct git_checkout *private = &applying->sides->checkouts[which].private;
    int digits = applying->repository->sha256 ? 64 : 40;
    AUTO(buf_release) struct buf input = {0}, skipped = {0};
    AUTO(command_release) struct git_command update = COMMAND_NONE, skip = COMMAND_NONE;
    for (size_t i = 0; i < plan->count; i++) /* what goes first: a file may become a directory of that name */
        add_change(private, &(struct index_change){.name = plan->items[i].name}, digits, &input);
    for (size_t i = 0; i < plan->count; i++) {
        add_change(private, &plan->items[i], digits, &input);
        if (plan->items[i].skip)
            buf_add(&skipped, plan->items[i].name, strlen(plan->items[i].name) + 1);
    }
    if (input.failed || skipped.failed)
        return error_memory(err);
    copy_command(applying, &applying->repository->checkouts[which], copy, &update);
    command_words(&update, "update-index", "-z", "--index-info", NULL);
    update.input = &input;
    enum qs_status status = command_must(&update, err);
    if (status || !skipped.len)
        return status;
    copy_command(applying, &applying->repository->checkouts[which], copy, &skip);
    command_words(&skip, "update-index", "--skip-worktree", "-z", "--stdin", NULL);
    skip.input = &skipped;
    return command_must(&skip, err);
}

/* git ends with 0 also when it ignored a name. */
static enum qs_status verify_copy(const struct applying *applying, size_t which, const struct checkout_plan *plan,
                                  const char *copy, struct qs_error *err)
{
    const struct git_checkout *private = &applying->sides->checkouts[which].private;
    AUTO(git_checkout_release) struct git_checkout now = {.index_text.max_bytes = SIDE_TEXT_MAX_BYTES};
    AUTO(command_release) struct git_command list = COMMAND_NONE;
    copy_command(applying, &applying->repository->checkouts[which], copy, &list);
    command_words(&list, "ls-files", "-s", "-v", "-z", "--", NULL);
    for (size_t i = 0; i < plan->count && plan->count <= FEW_NAMES; i++)
        command_word(&list, plan->items[i].name);
    list.outputs[0] = &now.index_text;
    enum qs_status status = command_must(&list, err);
    if (!status)
        status = side_parse_index(&now, err);
    for (size_t i = 0; i < plan->count && !status; i++) {
        const struct index_change *change = &plan->items[i];
        size_t at = git_entries_find(&now, change->name);
        if (!git_entries_same(&now, at, git_entries_of(&now, at), private, change->at, change->count))
            status = error_set(err, QS_CONFLICT, "git does not take %s into the index", change->name);
    }
    return status;
}

/* Is the host's index still as it was when the plan was made? */
static enum qs_status check_host(const struct applying *applying, size_t which, struct qs_error *err)
{
    uint8_t now[QS_DIGEST_BYTES];
    AUTO(git_checkout_release) struct git_checkout host = {0};
    const struct checkout_place *place = &applying->repository->checkouts[which];
    const struct git_checkout *then = &applying->sides->checkouts[which].host;
    enum qs_status status = sign_checkout(place->fd, now, err);
    if (status || memcmp(now, applying->sides->checkouts[which].signs.host, sizeof now) == 0)
        return status;
    status = look_host_checkout(applying->repository, place, &host, err);
    if (!status && !git_checkout_same(&host, then))
        status = error_set(err, QS_BUSY, "%s/index changed meanwhile", place->gitdir);
    return status;
}

static enum qs_status replace(const struct checkout_place *place, struct qs_error *err)
{
    AUTO_FD int copy = openat(place->fd, COPY, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (copy < 0 || os_fsync(copy) != 0 || renameat(place->fd, COPY, place->fd, "index") != 0 ||
        os_fsync_dir(place->fd) != 0)
        return error_sys(err, QS_IO, errno, "cannot replace %s/index", place->gitdir);
    return QS_OK;
}

enum qs_status apply_index(const struct applying *applying, size_t which, const struct checkout_plan *plan,
                           struct qs_error *err)
{
    const struct checkout_place *place = &applying->repository->checkouts[which];
    AUTO_FREE char *copy = path_join(place->gitdir, COPY);
    if (!copy)
        return error_memory(err);
    if (!plan->count)
        return QS_OK;
    apply_clean(place);
    enum qs_status status = take_lock(place, err);
    if (!status)
        status = check_host(applying, which, err);
    if (!status)
        status = copy_index(place, err);
    if (!status)
        status = change_copy(applying, which, plan, copy, err);
    if (!status)
        status = verify_copy(applying, which, plan, copy, err);
    if (!status)
        status = replace(place, err);
    apply_clean(place);
    return status;
}
