/* SPDX-License-Identifier: Apache-2.0 */
/* Publishing one target; publish/publish_internal.h has the steps. */
#include "publish/publish_internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "schema/schema.h"
#include "text/value.h"
#include "writer/atomic_file.h"

#include <errno.h>
#include <string.h>

#define ROUNDS_MAX 8

/* One publishing, over all its rounds. */
struct job {
    struct qs_store *store;
    const char *root;
    const struct qs_target *target;
    unsigned flags;
    const char *accepted; /* counts as published from here */
    size_t accepted_len;
    bool last_round;
};

/* A file that everyone may read must not get what the schema marks secret. */
static enum qs_status check_secrets(const struct view *view, const json_t *value, struct qs_error *err)
{
    AUTO(leaves_release) struct leaves leaves = {0};
    if (!view->exists || !(view->st.st_mode & S_IROTH))
        return QS_OK;
    enum qs_status status = flatten_value(value, NULL, NULL, &leaves, err);
    for (size_t i = 0; status == QS_OK && i < leaves.count; i++) {
        const struct qs_bytes *key = &leaves.items[i].key;
        if (!schema_secret(key->data, key->len))
            continue;
        char text[QS_KEY_TEXT_BYTES];
        status = error_set(err, QS_UNTRUSTED, "everyone may read it (mode %04o), and the settings hold a secret",
                           (unsigned)view->st.st_mode & 07777);
        error_add_path(err, qs_key_format(key->data, key->len, text, sizeof text));
        error_add_advice(err, "take the permission away: chmod o-r");
    }
    return status;
}

static enum qs_status replace(const struct job *job, const struct view *view, const struct buf *text, bool expect,
                              const struct file_extra *extra, struct qs_error *err)
{
    static const struct {
        unsigned publish, replace;
    } flags[] = {{QS_PUBLISH_BACKUP, QS_REPLACE_BACKUP},
                 {QS_PUBLISH_DANGLING, QS_REPLACE_DANGLING},
                 {QS_PUBLISH_HARDLINKED, QS_REPLACE_HARDLINKED},
                 {QS_PUBLISH_OTHER_OWNER, QS_REPLACE_OTHER_OWNER}};
    struct qs_replace_options options = {.mode = target_mode(job->target)};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        options.flags |= job->flags & flags[i].publish ? flags[i].replace : 0;
    if (!view->exists)
        options.flags |= QS_REPLACE_NEW_ONLY;
    else if (expect) {
        options.expect = view->data;
        options.expect_len = view->len;
    }
    return file_replace(job->target->file, text->data, text->len, &options, extra, err);
}

static bool cannot_exchange(enum qs_status status, const struct qs_error *err)
{
    return status == QS_INVALID &&
           (err->sys_errno == EINVAL || err->sys_errno == ENOSYS || err->sys_errno == EOPNOTSUPP);
}

/* Puts text into place, with its record. */
static enum qs_status write_text(const struct job *job, const struct view *view, const struct buf *text, bool ours,
                                 struct qs_error *err)
{
    uint8_t digest[QS_DIGEST_BYTES];
    char record[DIGEST_TEXT_BYTES];
    bool force = job->flags & QS_PUBLISH_FORCE;
    digest_of(text->data, text->len, digest);
    digest_format(digest, record);
    struct file_extra extra = {.name = PUBLISH_ATTRIBUTE, .value = record, .len = DIGEST_TEXT_BYTES - 1};
    if (!view->has_attributes) {
        enum qs_status status = view_announce(view, job->target, record, ours, err);
        if (status != QS_OK)
            return status;
    }
    struct qs_error own = {0};
    enum qs_status status =
        replace(job, view, text, !(force && job->last_round), view->has_attributes ? &extra : NULL, &own);
    if (force && cannot_exchange(status, &own))
        status = replace(job, view, text, false, view->has_attributes ? &extra : NULL, &own);
    if (status == QS_OK && !view->has_attributes)
        (void)!view_announce(view, job->target, record, false, NULL); /* both texts stay named then: not a fault */
    if (status != QS_OK && err)
        *err = own;
    return status;
}

static enum qs_status refuse_edited(const struct job *job, struct qs_error *err)
{
    (void)error_set(err, QS_CONFLICT, "it was edited since it was last published, or never was; nothing was changed");
    error_add_file(err, job->target->file);
    error_add_advice(err,
                     "`qsettings publish --check %s` shows what differs; --adopt takes it over, --force overwrites it",
                     job->target->file);
    return QS_CONFLICT;
}

/* *ret_again: FILE moved between looking and writing. */
static enum qs_status round_once(const struct job *job, bool *ret_again, enum qs_publish_outcome *ret_outcome,
                                 struct qs_error *err)
{
    AUTO(view_release) struct view view = {.resolved = {.dir_fd = -1}};
    AUTO(value_release) json_t *value = NULL;
    AUTO(buf_release) struct buf text = {0};
    enum qs_status status = view_read(job->target, job->flags, &view, err);
    if (status == QS_OK)
        status = target_value(job->store, job->root, job->target, &value, err);
    if (status == QS_OK)
        status = target_text(job->target, value, &text, err);
    if (status == QS_OK)
        status = check_secrets(&view, value, err);
    if (status != QS_OK) {
        error_add_file(err, job->target->file);
        return status;
    }
    bool same = view.exists && view.len == text.len && !memcmp(view.data, text.data, text.len);
    bool recorded = view_is_ours(&view);
    bool accepted =
        view.exists && job->accepted && view.len == job->accepted_len && !memcmp(view.data, job->accepted, view.len);
    *ret_outcome = same ? QS_PUBLISH_UNCHANGED : QS_PUBLISH_WRITTEN;
    if (same && recorded)
        return QS_OK;
    if (view.exists && !same && !recorded && !accepted && !(job->flags & QS_PUBLISH_FORCE))
        return refuse_edited(job, err);
    status = write_text(job, &view, &text, same || recorded || accepted, err);
    *ret_again = status == QS_CONFLICT;
    return status;
}

enum qs_status publish_target(struct qs_store *store, const char *root, const struct qs_target *target, unsigned flags,
                              const char *accepted, size_t len, enum qs_publish_outcome *ret_outcome,
                              struct qs_error *err)
{
    struct job job = {
        .store = store, .root = root, .target = target, .flags = flags, .accepted = accepted, .accepted_len = len};
    enum qs_publish_outcome outcome = QS_PUBLISH_UNCHANGED;
    struct qs_error own = {0};
    enum qs_status status = target_check(target, &own);
    bool again = status == QS_OK;
    for (int rounds = 1; again && rounds <= ROUNDS_MAX; rounds++) {
        again = false;
        job.last_round = rounds == ROUNDS_MAX;
        status = round_once(&job, &again, &outcome, &own);
    }
    if (status == QS_OK && ret_outcome)
        *ret_outcome = outcome;
    if (status != QS_OK && err)
        *err = own;
    return status;
}

enum qs_status qs_publish(struct qs_store *store, const char *root, const struct qs_target *target, unsigned flags,
                          enum qs_publish_outcome *ret_outcome, struct qs_error *err)
{
    return publish_target(store, root, target, flags, NULL, 0, ret_outcome, err);
}
