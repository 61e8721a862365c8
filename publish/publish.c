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

/* A file that everyone may read must not get what the schema marks secret. */
static enum qs_status check_secrets(const struct qs_target *target, const struct view *view, const json_t *value,
                                    struct qs_error *err)
{
    AUTO(leaves_release) struct leaves leaves = {0};
    if (!view->exists || !(view->st.st_mode & S_IROTH))
        return QS_OK;
    enum qs_status status = flatten_value(value, NULL, NULL, &leaves, err);
    if (status)
        return status;
    for (size_t i = 0; i < leaves.count; i++) {
        const struct qs_bytes *key = &leaves.items[i].key;
        if (!schema_secret(key->data, key->len))
            continue;
        char text[QS_KEY_TEXT_BYTES];
        error_set(err, QS_UNTRUSTED, "everyone may read the file (mode %04o), and the settings contain a secret",
                  (unsigned)view->st.st_mode & 07777);
        error_add_path(err, qs_key_format(key->data, key->len, text, sizeof text));
        error_add_advice(err, "chmod o-r %s", target->file);
        return QS_UNTRUSTED;
    }
    return QS_OK;
}

static enum qs_status replace(const struct publishing *p, const struct view *view, const struct buf *text, bool expect,
                              const struct file_extra *extra, struct qs_error *err)
{
    static const struct {
        unsigned publish, replace;
    } flags[] = {{QS_PUBLISH_BACKUP, QS_REPLACE_BACKUP},
                 {QS_PUBLISH_DANGLING, QS_REPLACE_DANGLING},
                 {QS_PUBLISH_HARDLINKED, QS_REPLACE_HARDLINKED},
                 {QS_PUBLISH_OTHER_OWNER, QS_REPLACE_OTHER_OWNER}};
    struct qs_replace_options options = {.size = sizeof options, .mode = target_mode(&p->target)};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        options.flags |= p->flags & flags[i].publish ? flags[i].replace : 0;
    if (!view->exists) {
        options.flags |= QS_REPLACE_NEW_ONLY;
    } else if (expect) {
        options.expect = view->data;
        options.expect_len = view->len;
    }
    return file_replace(p->target.file, text->data, text->len, &options, extra, err);
}

static bool cannot_exchange(enum qs_status status, const struct qs_error *err)
{
    return status == QS_INVALID &&
           (err->sys_errno == EINVAL || err->sys_errno == ENOSYS || err->sys_errno == EOPNOTSUPP);
}

/* Puts text into place, with its record. */
static enum qs_status write_text(const struct publishing *p, const struct view *view, const struct buf *text, bool ours,
                                 struct qs_error *err)
{
    uint8_t digest[QS_DIGEST_BYTES];
    char record[DIGEST_TEXT_BYTES];
    bool force = p->flags & QS_PUBLISH_FORCE;
    digest_of(text->data, text->len, digest);
    digest_format(digest, record);
    struct file_extra extra = {.name = PUBLISH_ATTRIBUTE, .value = record, .len = DIGEST_TEXT_BYTES - 1};
    struct qs_error own = {0};
    if (!view->has_attributes) {
        enum qs_status status = view_announce(view, &p->target, record, ours, err);
        if (status)
            return status;
    }
    const struct file_extra *attribute = view->has_attributes ? &extra : NULL;
    enum qs_status status = replace(p, view, text, !(force && p->last_round), attribute, &own);
    if (force && cannot_exchange(status, &own))
        status = replace(p, view, text, false, attribute, &own);
    if (status) {
        if (err)
            *err = own;
        return status;
    }
    if (!view->has_attributes)
        (void)!view_announce(view, &p->target, record, false, NULL); /* both texts stay named then: not a fault */
    return QS_OK;
}

static enum qs_status refuse_edited(const char *file, struct qs_error *err)
{
    error_set(err, QS_CONFLICT,
              "the file was edited since it was last published, or never published; the file was left as it was");
    error_add_file(err, file);
    error_add_advice(
        err, "'qsettings publish --check %s' shows what differs; --adopt takes the edits over, --force overwrites them",
        file);
    return QS_CONFLICT;
}

/* FILE first, then the settings: a text that is older than FILE is never put over it. */
static enum qs_status look(const struct publishing *p, struct view *view, json_t **value, struct buf *text,
                           struct qs_error *err)
{
    enum qs_status status = view_read(&p->target, p->flags, view, err);
    if (status)
        return status;
    status = target_value(p->store, &p->target, value, err);
    if (status)
        return status;
    status = target_text(&p->target, *value, text, err);
    return status ? status : check_secrets(&p->target, view, *value, err);
}

/* *ret_again: FILE moved between looking and writing. */
static enum qs_status round_once(const struct publishing *p, bool *ret_again, enum qs_publish_outcome *ret_outcome,
                                 struct qs_error *err)
{
    AUTO(view_release) struct view view = {.resolved = {.dir_fd = -1}};
    AUTO(value_release) json_t *value = NULL;
    AUTO(buf_release) struct buf text = {0};
    enum qs_status status = look(p, &view, &value, &text, err);
    if (status) {
        error_add_file(err, p->target.file);
        return status;
    }
    bool same = view_contains(&view, text.data, text.len);
    bool recorded = view_is_ours(&view);
    bool accepted = p->accepted && view_contains(&view, p->accepted->data, p->accepted->len);
    *ret_outcome = same ? QS_PUBLISH_UNCHANGED : QS_PUBLISH_WRITTEN;
    if (same && recorded)
        return QS_OK;
    if (view.exists && !same && !recorded && !accepted && !(p->flags & QS_PUBLISH_FORCE))
        return refuse_edited(p->target.file, err);
    status = write_text(p, &view, &text, same || recorded || accepted, err);
    *ret_again = status == QS_CONFLICT;
    return status;
}

enum qs_status publish_target(struct publishing *p, enum qs_publish_outcome *ret_outcome, struct qs_error *err)
{
    enum qs_publish_outcome outcome = QS_PUBLISH_UNCHANGED;
    struct qs_error own = {0};
    enum qs_status status = QS_OK;
    bool again = true;
    for (int rounds = 1; again && rounds <= ROUNDS_MAX; rounds++) {
        again = false;
        p->last_round = rounds == ROUNDS_MAX;
        status = round_once(p, &again, &outcome, &own);
    }
    if (status) {
        if (err)
            *err = own;
        return status;
    }
    if (ret_outcome)
        *ret_outcome = outcome;
    return QS_OK;
}

enum qs_status qs_publish(struct qs_store *store, const struct qs_target *target, unsigned flags,
                          enum qs_publish_outcome *ret_outcome, struct qs_error *err)
{
    struct publishing publishing = {.store = store, .flags = flags};
    if (!store || !target || flags & ~PUBLISH_ALL_FLAGS)
        return error_misuse(err, __func__);
    enum qs_status status = target_take(target, &publishing.target, err);
    return status ? status : publish_target(&publishing, ret_outcome, err);
}
