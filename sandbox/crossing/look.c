/* SPDX-License-Identifier: Apache-2.0 */
/* The three sides of a repository. */
#include "sandbox/crossing/look.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "sandbox/crossing/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LOG_MAX_BYTES     ((size_t)1 << 20)
#define CONFINED_DATA_MAX ((uint64_t)2 << 30)
#define CONFINED_SECONDS  30

const char *const look_copied[LOOK_COPIED_COUNT] = {"config",       "config.worktree",      "shallow",
                                                    "info/exclude", "info/sparse-checkout", "info/attributes"};

void sides_release(struct sides *sides)
{
    git_refs_release(&sides->private);
    git_refs_release(&sides->base);
    git_refs_release(&sides->host);
    for (size_t i = 0; i < REPOSITORY_CHECKOUTS_MAX; i++) {
        git_checkout_release(&sides->checkouts[i].private);
        git_checkout_release(&sides->checkouts[i].base);
        git_checkout_release(&sides->checkouts[i].host);
    }
}

/* ---- files of a git directory, by descriptor ---- */

static enum qs_status read_stashes(int dir, struct git_refs *refs, struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    enum qs_status status = files_read(dir, "logs/refs/stash", LOG_MAX_BYTES, &text, &len, err);
    if (status)
        return status;
    buf_add(&refs->stash_text, text ? text : "", len);
    return side_parse_stashes(refs, err);
}

/* HEAD and the files of a merge. One that is not of its form stays NULL, or as it is: the plan judges it. */
static enum qs_status read_states(int dir, const char *below, struct git_checkout *checkout, struct qs_error *err)
{
    AUTO_FD int at = below[0] ? files_open_dir(dir, below) : fcntl(dir, F_DUPFD_CLOEXEC, 3);
    AUTO_FREE char *head = NULL;
    if (at < 0)
        return error_sys(err, QS_IO, errno, "cannot open %s", below);
    enum qs_status status = files_read_text(at, "HEAD", SIDE_STATE_MAX_BYTES, &head, err);
    if (status == QS_INVALID)
        status = QS_OK;
    for (size_t i = 0; i < SIDE_STATE_COUNT && !status; i++) {
        status = files_read_text(at, side_state_names[i], SIDE_STATE_MAX_BYTES, &checkout->states[i], err);
        if (status == QS_INVALID) { /* a link, a pipe: nothing that git writes */
            checkout->states[i] = strdup("\001");
            status = checkout->states[i] ? QS_OK : error_memory(err);
        }
    }
    if (!status)
        checkout->head = head ? side_parse_head(head) : NULL;
    return status;
}

/* ---- the host's side ---- */

enum qs_status look_host_refs(const struct repository *repository, struct git_refs *refs, struct qs_error *err)
{
    AUTO(command_release) struct git_command list = COMMAND_NONE;
    command_git(&list, repository->empty, repository->host);
    command_words(&list, "for-each-ref", "--format=" SIDE_REF_FORMAT, NULL);
    refs->text.max_bytes = SIDE_TEXT_MAX_BYTES;
    list.outputs[0] = &refs->text;
    enum qs_status status = command_must(&list, err);
    if (!status)
        status = side_parse_refs(refs, err);
    return status ? status : read_stashes(repository->fd, refs, err);
}

enum qs_status look_host_checkout(const struct repository *repository, const struct checkout_place *place,
                                  struct git_checkout *checkout, struct qs_error *err)
{
    AUTO(command_release) struct git_command list = COMMAND_NONE;
    command_git(&list, repository->empty, place->gitdir);
    command_words(&list, "ls-files", "-s", "-v", "-z", NULL);
    checkout->index_text.max_bytes = SIDE_TEXT_MAX_BYTES;
    list.outputs[0] = &checkout->index_text;
    enum qs_status status = command_must(&list, err);
    if (!status)
        status = side_parse_index(checkout, err);
    return status ? status : read_states(place->fd, "", checkout, err);
}

enum qs_status look_host(const struct repository *repository, struct sides *sides, struct qs_error *err)
{
    git_refs_release(&sides->host);
    enum qs_status status = sign_refs(repository->fd, sides->signs.host, err);
    if (!status)
        status = look_host_refs(repository, &sides->host, err);
    for (size_t i = 0; i < repository->checkout_count && !status; i++) {
        git_checkout_release(&sides->checkouts[i].host);
        status = sign_checkout(repository->checkouts[i].fd, sides->checkouts[i].signs.host, err);
        if (!status)
            status = look_host_checkout(repository, &repository->checkouts[i], &sides->checkouts[i].host, err);
    }
    return status;
}

/* ---- the private side ---- */

static enum qs_status show_stores(const struct repository *repository, struct git_command *command,
                                  struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < repository->store_count && !status; i++) {
        const struct object_store *store = &repository->stores[i];
        char alternates[256];
        status = confine_show(command, store->fd, store->shown, false, err);
        (void)snprintf(alternates, sizeof alternates, "%s/info/alternates", store->shown);
        if (!status && store->has_alternates)
            status = confine_cover(command, alternates, err);
    }
    return status;
}

enum qs_status confine_private(const struct repository *repository, bool writable, struct git_command *command,
                               struct qs_error *err)
{
    enum qs_status status = confine_begin(command, err);
    if (!status)
        status = confine_show(command, repository->private, repository->host, writable, err);
    if (!status)
        status = show_stores(repository, command, err);
    for (size_t i = 0; i < repository->other_count && !status; i++)
        status = show_stores(&repository->others[i], command, err);
    command->data_bytes = CONFINED_DATA_MAX;
    command->cpu_seconds = CONFINED_SECONDS;
    command->timeout_ms = CONFINED_SECONDS * 1000;
    return status;
}

#define CONFINED_GIT "git -c core.hooksPath=/dev/null -c core.fsmonitor=false "

/* The refs on descriptor 1, the index of the first checkout on 3; without one the refs alone. */
static enum qs_status list_private(const struct repository *repository, struct sides *sides, struct qs_error *err)
{
    static const char script[] =
        CONFINED_GIT "--git-dir=\"$1\" for-each-ref --format='" SIDE_REF_FORMAT "' 3>&- && "
                     "[ -z \"$2\" ] || exec " CONFINED_GIT "--git-dir=\"$2\" ls-files -s -v -z >&3 3>&-";
    AUTO(command_release) struct git_command list = COMMAND_NONE;
    struct git_checkout *checkout = &sides->checkouts[0].private;
    enum qs_status status = confine_private(repository, false, &list, err);
    if (status)
        return status;
    confine_program(&list, "/bin/sh");
    command_words(&list, "-c", script, "sh", repository->host,
                  sides->checkouts[0].gone ? "" : repository->checkouts[0].gitdir, NULL);
    sides->private.text.max_bytes = checkout->index_text.max_bytes = SIDE_TEXT_MAX_BYTES;
    list.outputs[0] = &sides->private.text;
    list.outputs[1] = &checkout->index_text;
    status = command_must(&list, err);
    sides->private.partial = list.error[0] != '\0';
    if (!status)
        status = side_parse_refs(&sides->private, err);
    return status || sides->checkouts[0].gone ? status : side_parse_index(checkout, err);
}

/* A worktree that was removed inside has changed nothing else. */
static enum qs_status copy_base(struct sides *sides, size_t which, struct qs_error *err)
{
    const struct git_checkout *base = &sides->checkouts[which].base;
    struct git_checkout *inner = &sides->checkouts[which].private;
    inner->head = base->head ? strdup(base->head) : NULL;
    for (size_t i = 0; i < SIDE_STATE_COUNT; i++)
        inner->states[i] = base->states[i] ? strdup(base->states[i]) : NULL;
    buf_clear(&inner->index_text);
    buf_add(&inner->index_text, base->index_text.data ? base->index_text.data : "", base->index_text.len);
    return side_parse_index(inner, err);
}

static enum qs_status list_private_index(const struct repository *repository, const struct checkout_place *place,
                                         struct git_checkout *checkout, struct qs_error *err)
{
    AUTO(command_release) struct git_command list = COMMAND_NONE;
    enum qs_status status = confine_private(repository, false, &list, err);
    if (status)
        return status;
    confine_program(&list, COMMAND_GIT);
    command_words(&list, "-c", "core.fsmonitor=false", NULL);
    command_format(&list, "--git-dir=%s", place->gitdir);
    command_words(&list, "ls-files", "-s", "-v", "-z", NULL);
    checkout->index_text.max_bytes = SIDE_TEXT_MAX_BYTES;
    list.outputs[0] = &checkout->index_text;
    status = command_must(&list, err);
    return status ? status : side_parse_index(checkout, err);
}

static const char *private_name(const struct checkout_place *place, char name[512])
{
    (void)snprintf(name, 512, "%s%s", place->name[0] ? "worktrees/" : "", place->name);
    return name;
}

/* Into the signatures of a side; a checkout that is gone there has one of zeros. */
static enum qs_status sign_private_to(const struct repository *repository, struct base_signs *refs,
                                      struct base_signs *checkouts, struct qs_error *err)
{
    char name[512];
    enum qs_status status = sign_refs(repository->private, refs->private, err);
    for (size_t i = 0; i < repository->checkout_count && !status; i++) {
        const struct checkout_place *place = &repository->checkouts[i];
        AUTO_FD int dir = place->name[0] ? files_open_dir(repository->private, private_name(place, name))
                                         : fcntl(repository->private, F_DUPFD_CLOEXEC, 3);
        memset(checkouts[i].private, 0, QS_DIGEST_BYTES);
        if (dir >= 0)
            status = sign_checkout(dir, checkouts[i].private, err);
    }
    return status;
}

enum qs_status sign_private(const struct repository *repository, struct sides *sides, struct qs_error *err)
{
    struct base_signs each[REPOSITORY_CHECKOUTS_MAX];
    enum qs_status status = sign_private_to(repository, &sides->signs, each, err);
    for (size_t i = 0; i < repository->checkout_count && !status; i++)
        memcpy(sides->checkouts[i].signs.private, each[i].private, QS_DIGEST_BYTES);
    return status;
}

static enum qs_status look_private_once(const struct repository *repository, struct sides *sides, struct qs_error *err)
{
    char name[512];
    git_refs_release(&sides->private);
    for (size_t i = 0; i < repository->checkout_count; i++)
        git_checkout_release(&sides->checkouts[i].private);
    for (size_t i = 0; i < repository->checkout_count; i++) {
        AUTO_FD int dir = repository->checkouts[i].name[0]
                              ? files_open_dir(repository->private, private_name(&repository->checkouts[i], name))
                              : 0;
        sides->checkouts[i].gone = dir < 0;
        if (dir == 0)
            (void)steal_fd(&dir);
    }
    enum qs_status status = list_private(repository, sides, err);
    if (!status)
        status = read_stashes(repository->private, &sides->private, err);
    for (size_t i = 0; i < repository->checkout_count && !status; i++) {
        const struct checkout_place *place = &repository->checkouts[i];
        struct git_checkout *private = &sides->checkouts[i].private;
        if (sides->checkouts[i].gone)
            status = copy_base(sides, i, err);
        else if (i > 0)
            status = list_private_index(repository, place, private, err);
        if (!status && !sides->checkouts[i].gone)
            status = read_states(repository->private, private_name(place, name), private, err);
    }
    return status;
}

enum qs_status look_private(const struct repository *repository, struct sides *sides, struct qs_error *err)
{
    (void)!fchmod(repository->private, 0700); /* the command may have closed it */
    files_remove_special(repository->private, ".");
    struct base_signs before, after, before_each[REPOSITORY_CHECKOUTS_MAX], after_each[REPOSITORY_CHECKOUTS_MAX];
    enum qs_status status = sign_private_to(repository, &before, before_each, err);
    for (int tries = 0; tries < LOOK_TRIES && !status; tries++) {
        status = look_private_once(repository, sides, err);
        if (!status)
            status = sign_private_to(repository, &after, after_each, err);
        bool same = memcmp(before.private, after.private, QS_DIGEST_BYTES) == 0;
        for (size_t i = 0; i < repository->checkout_count && same; i++)
            same = memcmp(before_each[i].private, after_each[i].private, QS_DIGEST_BYTES) == 0;
        memcpy(sides->signs.private, after.private, QS_DIGEST_BYTES);
        for (size_t i = 0; i < repository->checkout_count; i++)
            memcpy(sides->checkouts[i].signs.private, after_each[i].private, QS_DIGEST_BYTES);
        if (same || status)
            return status;
        before = after;
        memcpy(before_each, after_each, sizeof before_each);
    }
    return status ? status : error_set(err, QS_BUSY, "it changes all the time");
}

/* After each name five lines, the last of which ends in "flags: HEX". */
static enum qs_status mark_intents(const struct buf *text, struct git_checkout *checkout, struct qs_error *err)
{
    const char *at = text->data, *end = text->data + text->len;
    while (at < end) {
        size_t entry = git_entries_find(checkout, at);
        at += strlen(at) + 1;
        const char *flags = NULL;
        for (int lines = 0; lines < 5 && at < end; lines++) {
            const char *stop = memchr(at, '\n', (size_t)(end - at));
            flags = stop ? at : NULL;
            at = stop ? stop + 1 : end;
        }
        const char *number = flags ? strstr(flags, "flags: ") : NULL;
        if (!number || number >= at || entry == checkout->entry_count)
            return error_set(err, QS_INVALID, "the flags of the index are not of git's form");
        if (strtoul(number + 7, NULL, 16) & 0x20000000u)
            checkout->entries[entry].flag = 'I';
    }
    return QS_OK;
}

enum qs_status look_intents(const struct repository *repository, const struct checkout_place *place,
                            struct git_checkout *checkout, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {.max_bytes = SIDE_TEXT_MAX_BYTES};
    AUTO(command_release) struct git_command list = COMMAND_NONE;
    enum qs_status status = confine_private(repository, false, &list, err);
    if (status)
        return status;
    confine_program(&list, COMMAND_GIT);
    command_words(&list, "-c", "core.fsmonitor=false", NULL);
    command_format(&list, "--git-dir=%s", place->gitdir);
    command_words(&list, "ls-files", "--debug", "-z", NULL);
    list.outputs[0] = &text;
    status = command_must(&list, err);
    return status || !text.len ? status : mark_intents(&text, checkout, err);
}

/* ---- the base ---- */

#define REFS_TEXTS     (2 + LOOK_COPIED_COUNT)
#define CHECKOUT_TEXTS (2 + SIDE_STATE_COUNT)

static char *copy_text(const struct base_text *text)
{
    return text->data ? strndup(text->data, text->len) : NULL;
}

static enum qs_status look_base_checkout(const struct repository *repository, const struct checkout_place *place,
                                         struct git_checkout *base, struct base_signs *signs, bool *ret_has,
                                         struct qs_error *err)
{
    char name[512];
    AUTO_FREE char *data = NULL;
    size_t len = 0;
    struct base_text texts[CHECKOUT_TEXTS];
    repository_checkout_file(place, name, sizeof name);
    enum qs_status status = files_read(repository->state, name, BASE_MAX_BYTES, &data, &len, err);
    *ret_has = data != NULL;
    if (status || !data)
        return status;
    status = base_decode(data, len, signs, texts, CHECKOUT_TEXTS, err);
    if (status)
        return status;
    base->head = copy_text(&texts[0]);
    buf_add(&base->index_text, texts[1].data ? texts[1].data : "", texts[1].len);
    for (size_t i = 0; i < SIDE_STATE_COUNT; i++)
        base->states[i] = copy_text(&texts[2 + i]);
    return side_parse_index(base, err);
}

enum qs_status look_base(const struct repository *repository, struct sides *sides, struct qs_error *err)
{
    AUTO_FREE char *data = NULL;
    size_t len = 0;
    struct base_text texts[REFS_TEXTS];
    enum qs_status status = files_read(repository->state, "base", BASE_MAX_BYTES, &data, &len, err);
    if (status)
        return status;
    if (!data)
        return error_set(err, QS_ABSENT, "there is no base");
    status = base_decode(data, len, &sides->signs, texts, REFS_TEXTS, err);
    if (status)
        return status;
    buf_add(&sides->base.text, texts[0].data ? texts[0].data : "", texts[0].len);
    buf_add(&sides->base.stash_text, texts[1].data ? texts[1].data : "", texts[1].len);
    for (size_t i = 0; i < LOOK_COPIED_COUNT; i++)
        if (texts[2 + i].len == sizeof sides->copied[i])
            memcpy(sides->copied[i], texts[2 + i].data, sizeof sides->copied[i]);
    status = side_parse_refs(&sides->base, err);
    if (!status)
        status = side_parse_stashes(&sides->base, err);
    for (size_t i = 0; i < repository->checkout_count && !status; i++)
        status = look_base_checkout(repository, &repository->checkouts[i], &sides->checkouts[i].base,
                                    &sides->checkouts[i].signs, &sides->checkouts[i].has_base, err);
    return status;
}

static struct base_text text_of(const struct buf *buf)
{
    return (struct base_text){buf->data ? buf->data : "", buf->len};
}

enum qs_status write_base(const struct repository *repository, const struct sides *sides, struct qs_error *err)
{
    AUTO(buf_release) struct buf out = {.max_bytes = BASE_MAX_BYTES};
    struct base_text texts[REFS_TEXTS] = {text_of(&sides->base.text), text_of(&sides->base.stash_text)};
    for (size_t i = 0; i < LOOK_COPIED_COUNT; i++)
        texts[2 + i] = (struct base_text){(const char *)sides->copied[i], sizeof sides->copied[i]};
    enum qs_status status = base_encode(&sides->signs, texts, REFS_TEXTS, &out, err);
    return status ? status : files_write(repository->state, "base", out.data, out.len, true, err);
}

enum qs_status write_base_checkout(const struct repository *repository, const struct checkout_place *place,
                                   const struct git_checkout *base, const struct base_signs *signs,
                                   struct qs_error *err)
{
    char name[512];
    AUTO(buf_release) struct buf out = {.max_bytes = BASE_MAX_BYTES};
    struct base_text texts[CHECKOUT_TEXTS] = {{base->head, base->head ? strlen(base->head) : 0},
                                              text_of(&base->index_text)};
    for (size_t i = 0; i < SIDE_STATE_COUNT; i++)
        texts[2 + i] = (struct base_text){base->states[i], base->states[i] ? strlen(base->states[i]) : 0};
    repository_checkout_file(place, name, sizeof name);
    enum qs_status status = base_encode(signs, texts, CHECKOUT_TEXTS, &out, err);
    return status ? status : files_write(repository->state, name, out.data, out.len, true, err);
}

/* ---- signatures ---- */

enum qs_status sign_refs(int dir, uint8_t ret_sign[QS_DIGEST_BYTES], struct qs_error *err)
{
    static const char *const names[] = {"packed-refs",     "refs",
                                        "logs/refs/stash", "shallow",
                                        "config",          "config.worktree",
                                        "info/exclude",    "info/sparse-checkout",
                                        "info/attributes", NULL};
    return files_sign(dir, names, ret_sign, err);
}

enum qs_status sign_checkout(int dir, uint8_t ret_sign[QS_DIGEST_BYTES], struct qs_error *err)
{
    static const char *const names[] = {"HEAD", "index",
#define SIDE_STATE_SIGN(id, name, kind) name,
                                        SIDE_STATES(SIDE_STATE_SIGN)
#undef SIDE_STATE_SIGN
                                            NULL};
    return files_sign(dir, names, ret_sign, err);
}

bool sign_copied(int dir, size_t which, uint8_t ret_sign[QS_DIGEST_BYTES])
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    bool good = files_read(dir, look_copied[which], SIDE_STATE_MAX_BYTES, &text, &len, NULL) == QS_OK;
    memset(ret_sign, 0, QS_DIGEST_BYTES);
    if (good && text)
        digest_of(text, len, ret_sign);
    return good;
}

static bool read_signs(const struct repository *repository, const char *name, struct base_signs *ret_signs)
{
    char head[BASE_HEAD_BYTES];
    AUTO_FD int fd = openat(repository->state, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && read(fd, head, sizeof head) == (ssize_t)sizeof head &&
           base_decode_signs(head, sizeof head, ret_signs);
}

enum qs_status look_moved(const struct repository *repository, struct moved *ret_moved, struct qs_error *err)
{
    struct base_signs now, now_each[REPOSITORY_CHECKOUTS_MAX], then;
    char name[512];
    enum qs_status status = sign_private_to(repository, &now, now_each, err);
    if (!status)
        status = sign_refs(repository->fd, now.host, err);
    if (status)
        return status;
    bool known = read_signs(repository, "base", &then);
    struct moved moved = {!known || memcmp(now.private, then.private, QS_DIGEST_BYTES) != 0,
                          !known || memcmp(now.host, then.host, QS_DIGEST_BYTES) != 0};
    for (size_t i = 0; i < repository->checkout_count && !status; i++) {
        repository_checkout_file(&repository->checkouts[i], name, sizeof name);
        status = sign_checkout(repository->checkouts[i].fd, now_each[i].host, err);
        known = read_signs(repository, name, &then);
        moved.private |= !known || memcmp(now_each[i].private, then.private, QS_DIGEST_BYTES) != 0;
        moved.host |= !known || memcmp(now_each[i].host, then.host, QS_DIGEST_BYTES) != 0;
    }
    if (!status)
        *ret_moved = moved;
    return status;
}

/* ---- the new base ---- */

static enum qs_status settle_checkout(const struct repository *repository, struct sides *sides, size_t which,
                                      const struct checkout_plan *plan, bool keep_sign, struct qs_error *err)
{
    const struct three_checkouts three = {&sides->checkouts[which].private, &sides->checkouts[which].base,
                                          &sides->checkouts[which].host};
    AUTO(buf_release) struct buf index = {.max_bytes = SIDE_TEXT_MAX_BYTES};
    settle_index(&three, plan, &index);
    if (index.failed)
        return error_memory(err);
    bool agreed = plan->crosses || git_checkout_same(three.private, three.host);
    const struct git_checkout *from = agreed ? three.private : three.base;
    struct git_checkout base = {.head = from->head, .index_text = index};
    memcpy(base.states, from->states, sizeof base.states);
    if (!keep_sign && !agreed && !git_checkout_same(three.private, three.base))
        memset(sides->checkouts[which].signs.private, 0, QS_DIGEST_BYTES);
    return write_base_checkout(repository, &repository->checkouts[which], &base, &sides->checkouts[which].signs, err);
}

/* Is anything left in the private directory that the base does not have? */
static bool refs_differ(const struct sides *sides, const char *text)
{
    AUTO(git_refs_release) struct git_refs base = {0};
    buf_add_str(&base.text, text);
    if (side_parse_refs(&base, NULL) != QS_OK || base.count != sides->private.count)
        return true;
    for (size_t i = 0; i < base.count; i++)
        if (strcmp(base.items[i].name, sides->private.items[i].name) != 0 ||
            !git_ref_same(&base.items[i], &sides->private.items[i]))
            return true;
    return false;
}

enum qs_status settle(const struct repository *repository, struct sides *sides, const struct settled *settled,
                      struct qs_error *err)
{
    static const struct ref_plan no_refs;
    static const struct checkout_plan no_checkout;
    const struct three_refs refs = {&sides->private, &sides->base, &sides->host};
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < repository->checkout_count && !status; i++)
        status = settle_checkout(repository, sides, i, settled ? &settled->checkouts[i] : &no_checkout, settled != NULL,
                                 err);
    if (status)
        return status;
    bool stashes = (settled && settled->stashes) || git_stashes_same(&sides->private, &sides->host);
    const struct buf *stash_text = stashes ? &sides->private.stash_text : &sides->base.stash_text;
    struct git_refs base = {.text.max_bytes = SIDE_TEXT_MAX_BYTES};
    settle_refs(&refs, settled ? settled->refs : &no_refs, &base.text);
    buf_add(&base.stash_text, stash_text->data ? stash_text->data : "", stash_text->len);
    if (!settled && !base.text.failed &&
        (refs_differ(sides, base.text.data ? base.text.data : "") ||
         (!stashes && !git_stashes_same(&sides->private, &sides->base))))
        memset(sides->signs.private, 0, QS_DIGEST_BYTES);
    git_refs_release(&sides->base);
    sides->base = base;
    return base.text.failed || base.stash_text.failed ? error_memory(err) : write_base(repository, sides, err);
}
