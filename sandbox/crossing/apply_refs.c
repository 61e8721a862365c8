/* SPDX-License-Identifier: Apache-2.0 */
/* Refs, HEAD, stashes and the files of a merge, on the host. */
#include "sandbox/crossing/apply.h"

#include "base/cleanup.h"
#include "sandbox/crossing/files.h"
#include "sandbox/crossing/names.h"

#include <stdio.h>
#include <string.h>

/* ---- refs ---- */

/* refs/qsandbox/RUN/heads/X. */
static void add_aside(struct buf *out, const char *run, const struct ref_change *change)
{
    buf_printf(out, "update refs/qsandbox/%s/%s %s\n", run, change->name + 5, change->new_id);
}

static void add_take(struct buf *out, const struct ref_change *change)
{
    if (change->new_id && change->old_id)
        buf_printf(out, "update %s %s %s\n", change->name, change->new_id, change->old_id);
    else if (change->new_id)
        buf_printf(out, "create %s %s\n", change->name, change->new_id);
    else
        buf_printf(out, "delete %s %s\n", change->name, change->old_id);
}

static enum qs_status update_refs(const struct applying *applying, const char *gitdir, const struct buf *lines,
                                  struct qs_error *err)
{
    AUTO(command_release) struct git_command update = COMMAND_NONE;
    AUTO(buf_release) struct buf input = {0};
    if (!lines->len)
        return QS_OK;
    buf_add_str(&input, "start\n");
    buf_add(&input, lines->data, lines->len);
    buf_add_str(&input, "prepare\ncommit\n");
    if (input.failed || lines->failed)
        return error_memory(err);
    command_git(&update, applying->repository->empty, gitdir);
    command_words(&update, "update-ref", "--no-deref", "-m", NULL);
    command_format(&update, "qsandbox: run %s", applying->run);
    command_word(&update, "--stdin");
    update.input = &input;
    enum qs_status status = command_must(&update, err);
    return status == QS_INVALID ? error_set(err, QS_CONFLICT, "the host's git refused the refs: %s", update.error)
                                : status;
}

/* A branch that became a directory of branches, or the reverse: git does both in one transaction only as of 2.50. */
static bool in_the_way(const struct ref_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        for (size_t k = 0; k < plan->count && !plan->items[i].new_id; k++) {
            const char *gone = plan->items[i].name, *made = plan->items[k].name;
            size_t len = strlen(gone) < strlen(made) ? strlen(gone) : strlen(made);
            if (plan->items[k].new_id && strncmp(gone, made, len) == 0 && (gone[len] == '/' || made[len] == '/'))
                return true;
        }
    return false;
}

enum qs_status apply_refs(const struct applying *applying, const struct ref_plan *plan, struct qs_error *err)
{
    AUTO(buf_release) struct buf deletions = {0}, updates = {0};
    bool first = in_the_way(plan);
    for (size_t i = 0; i < plan->count; i++) {
        const struct ref_change *change = &plan->items[i];
        if (change->verdict == REF_TAKE)
            add_take(first && !change->new_id ? &deletions : &updates, change);
        else if (change->verdict == REF_ASIDE)
            add_aside(&updates, applying->run, change);
    }
    enum qs_status status = update_refs(applying, applying->repository->host, &deletions, err);
    return status ? status : update_refs(applying, applying->repository->host, &updates, err);
}

/* ---- HEAD ---- */

static enum qs_status read_head(const struct checkout_place *place, char **ret_head, struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    enum qs_status status = files_read_text(place->fd, "HEAD", SIDE_STATE_MAX_BYTES, &text, err);
    if (!status)
        *ret_head = text ? side_parse_head(text) : NULL;
    return status;
}

static enum qs_status set_branch(const struct applying *applying, const struct checkout_place *place,
                                 const char *branch, struct qs_error *err)
{
    AUTO(command_release) struct git_command set = COMMAND_NONE;
    command_git(&set, applying->repository->empty, place->gitdir);
    command_words(&set, "symbolic-ref", "-m", NULL);
    command_format(&set, "qsandbox: run %s", applying->run);
    command_words(&set, "HEAD", branch, NULL);
    return command_must(&set, err);
}

/* The old value of a detached HEAD is an id; of one on a branch git compares that branch's. */
static enum qs_status set_detached(const struct applying *applying, const struct checkout_place *place, const char *id,
                                   const char *old, struct qs_error *err)
{
    AUTO(command_release) struct git_command set = COMMAND_NONE;
    command_git(&set, applying->repository->empty, place->gitdir);
    command_words(&set, "update-ref", "--no-deref", "-m", NULL);
    command_format(&set, "qsandbox: run %s", applying->run);
    command_words(&set, "HEAD", id, NULL);
    if (name_is_id(old))
        command_word(&set, old);
    return command_must(&set, err);
}

enum qs_status apply_head(const struct applying *applying, size_t which, struct qs_error *err)
{
    const struct checkout_place *place = &applying->repository->checkouts[which];
    const char *to = applying->sides->checkouts[which].private.head;
    AUTO_FREE char *now = NULL;
    enum qs_status status = read_head(place, &now, err);
    if (status)
        return status;
    if (now && strcmp(now, to) == 0)
        return QS_OK;
    if (!now || strcmp(now, applying->sides->checkouts[which].host.head) != 0)
        return error_set(err, QS_CONFLICT, "%s/HEAD changed meanwhile", place->gitdir);
    const char *branch = SIDE_HEAD_BRANCH(to);
    return branch ? set_branch(applying, place, branch, err) : set_detached(applying, place, to, now, err);
}

/* ---- the files of a merge ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

enum qs_status apply_states(const struct applying *applying, size_t which, struct qs_error *err)
{
    const struct checkout_place *place = &applying->repository->checkouts[which];
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < SIDE_STATE_COUNT && !status; i++) {
        const char *to = applying->sides->checkouts[which].private.states[i];
        if (same_text(to, applying->sides->checkouts[which].host.states[i]))
            continue;
        status = to ? files_write(place->fd, side_state_names[i], to, strlen(to), true, err)
                    : files_remove(place->fd, side_state_names[i], err);
    }
    return status;
}

/* ---- stashes ---- */

static bool has_stash(const struct git_refs *refs, const char *id)
{
    for (size_t i = 0; i < refs->stash_count; i++)
        if (strcmp(refs->stashes[i].id, id) == 0)
            return true;
    return false;
}

static enum qs_status drop_stash(const struct applying *applying, size_t number, struct qs_error *err)
{
    AUTO(command_release) struct git_command drop = COMMAND_NONE;
    command_git(&drop, applying->repository->empty, applying->repository->host);
    command_words(&drop, "reflog", "delete", "--updateref", "--rewrite", NULL);
    command_format(&drop, "refs/stash@{%zu}", number);
    return command_must(&drop, err);
}

static enum qs_status store_stash(const struct applying *applying, const struct git_stash *stash, struct qs_error *err)
{
    AUTO(command_release) struct git_command store = COMMAND_NONE;
    command_git(&store, applying->repository->empty, applying->repository->host);
    command_words(&store, "stash", "store", "-m", stash->text[0] ? stash->text : "qsandbox", stash->id, NULL);
    return command_must(&store, err);
}

/* Without its last entry the ref itself goes. */
static enum qs_status drop_last(const struct applying *applying, struct qs_error *err)
{
    AUTO(buf_release) struct buf lines = {0};
    buf_add_str(&lines, "delete refs/stash\n");
    return update_refs(applying, applying->repository->host, &lines, err);
}

static enum qs_status take_stashes(const struct applying *applying, struct qs_error *err)
{
    const struct git_refs *private = &applying->sides->private, *host = &applying->sides->host;
    enum qs_status status = QS_OK;
    size_t kept = 0;
    for (size_t i = 0; i < host->stash_count; i++)
        kept += has_stash(private, host->stashes[i].id);
    if (kept == 0 && host->stash_count)
        status = drop_last(applying, err);
    for (size_t i = host->stash_count; kept && i > 0 && !status; i--) /* the oldest first: numbers below stay */
        if (!has_stash(private, host->stashes[i - 1].id))
            status = drop_stash(applying, i - 1, err);
    for (size_t i = private->stash_count; i > 0 && !status; i--)
        if (!has_stash(host, private->stashes[i - 1].id))
            status = store_stash(applying, &private->stashes[i - 1], err);
    return status;
}

static enum qs_status put_stashes_aside(const struct applying *applying, struct qs_error *err)
{
    const struct git_refs *private = &applying->sides->private;
    AUTO(buf_release) struct buf lines = {0};
    for (size_t i = 0; i < private->stash_count; i++)
        if (!has_stash(&applying->sides->host, private->stashes[i].id) &&
            !has_stash(&applying->sides->base, private->stashes[i].id))
            buf_printf(&lines, "update refs/qsandbox/%s/stash-%zu %s\n", applying->run, i, private->stashes[i].id);
    return update_refs(applying, applying->repository->host, &lines, err);
}

enum qs_status apply_stashes(const struct applying *applying, bool *ret_taken, struct qs_error *err)
{
    const struct git_refs *private = &applying->sides->private, *base = &applying->sides->base,
                          *host = &applying->sides->host;
    *ret_taken = git_stashes_same(private, host) || (git_stashes_same(host, base) && !git_stashes_same(private, base));
    if (git_stashes_same(private, host) || git_stashes_same(private, base))
        return QS_OK;
    return *ret_taken ? take_stashes(applying, err) : put_stashes_aside(applying, err);
}
