/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking an edited file over into the store.
 *
 * What the file has otherwise is set. What it lacks is removed only if the settings are still those that were
 * published: else the setting may be newer than the file. The settings are read under the store's lock, so nothing
 * comes between looking and committing.
 */
#include "publish/publish_internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "schema/schema.h"
#include "text/value.h"
#include "writer/txn_internal.h"

#include <stdio.h>
#include <string.h>

struct adoption {
    struct qs_store *store;
    struct qs_target target;
    struct qs_adopt_options options;
    struct view view;
    struct qs_txn *txn;
    bool removes;  /* what the file lacks was taken out of it */
    bool removing; /* first removals, then values: an object may take the place of a value, and the other way round */
};

/* A list that scopes add to each other: what of it is whose cannot be told from the sum. */
static enum qs_status check_sum(const struct adoption *adoption, struct qs_bytes key, const char *text,
                                struct qs_error *err)
{
    const struct schema_entry *entry = schema_find_bytes(key.data, key.len, NULL);
    if (adoption->target.scope != QS_SCOPE_EFFECTIVE || !entry || entry->merge != SCHEMA_CONCAT)
        return QS_OK;
    error_set(err, QS_INVALID, "the list is put together from several scopes, so it cannot be adopted as a whole");
    error_add_path(err, text);
    error_add_advice(err, "set it in one scope, then publish with --force");
    return QS_INVALID;
}

static enum qs_status adopt_leaf(void *context, struct qs_bytes key, struct qs_bytes in_file, struct qs_bytes in_store,
                                 struct qs_error *err)
{
    const struct adoption *adoption = context;
    char text[QS_KEY_TEXT_BYTES];
    bool removed = in_file.data == NULL;
    (void)in_store;
    if (removed != adoption->removing || (removed && !adoption->removes))
        return QS_OK;
    (void)qs_key_format(key.data, key.len, text, sizeof text);
    enum qs_status status = check_sum(adoption, key, text, err);
    if (status)
        return status;
    if (!removed)
        return qs_txn_set(adoption->txn, text, in_file.data, in_file.len, err);
    status = qs_txn_unset(adoption->txn, text, err);
    if (status != QS_NOT_FOUND)
        return status;
    error_set(err, QS_INVALID, "the file no longer has this setting, but another scope sets it");
    error_add_path(err, text);
    return QS_INVALID;
}

/* Are the settings still what was published last? Else a leaf that the file lacks may be a newer one. */
static enum qs_status compare_with_record(const struct adoption *adoption, const json_t *value, bool *ret_same,
                                          struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    uint8_t digest[QS_DIGEST_BYTES];
    char record[DIGEST_TEXT_BYTES];
    enum qs_status status = target_text(&adoption->target, value, &text, err);
    if (status)
        return status;
    digest_of(text.data, text.len, digest);
    digest_format(digest, record);
    *ret_same = view_has_record(&adoption->view, record);
    return QS_OK;
}

/* Everything between begin and commit. */
static enum qs_status change(struct adoption *adoption, struct qs_error *err)
{
    AUTO(value_release) json_t *value = NULL;
    AUTO(leaves_release) struct leaves in_file = {0};
    AUTO(leaves_release) struct leaves in_store = {0};
    enum qs_status status = view_leaves(&adoption->view, &adoption->target, &in_file, err);
    if (status)
        return status;
    status = target_value(adoption->store, &adoption->target, &value, err);
    if (status)
        return status;
    status = compare_with_record(adoption, value, &adoption->removes, err);
    if (status)
        return status;
    status = flatten_value(value, NULL, NULL, &in_store, err);
    if (status)
        return status;
    adoption->removing = true;
    status = leaves_compare(&in_file, &in_store, adopt_leaf, adoption, err);
    if (status)
        return status;
    adoption->removing = false;
    return leaves_compare(&in_file, &in_store, adopt_leaf, adoption, err);
}

static enum qs_status commit(struct adoption *adoption, struct qs_commit_info *ret_info, struct qs_error *err)
{
    char message[QS_MESSAGE_MAX_BYTES];
    const char *given = adoption->options.message;
    (void)snprintf(message, sizeof message, "adopt %.4000s", adoption->target.file);
    struct qs_commit_options options = {.size = sizeof options, .message = given ? given : message};
    enum qs_status status = qs_txn_begin(adoption->store, adoption->options.wait_ms, &adoption->txn, err);
    if (status)
        return status;
    status = change(adoption, err);
    return status ? status : qs_txn_commit(adoption->txn, &options, ret_info, err);
}

static void adoption_release(struct adoption *adoption)
{
    qs_txn_free(adoption->txn);
    view_release(&adoption->view);
}

static enum qs_status take_arguments(const struct qs_target *target, const struct qs_adopt_options *options,
                                     struct adoption *adoption, struct qs_error *err)
{
    static const struct qs_adopt_options usual = {.size = sizeof usual, .wait_ms = QS_DEFAULT_WAIT_MS};
    enum qs_scope own = qs_store_scope(adoption->store);
    enum qs_status status = target_take(target, &adoption->target, err);
    if (status)
        return status;
    status = SIZED_TAKE(options ? options : &usual, adoption->options, flags, err);
    if (status)
        return status;
    if (adoption->options.flags & ~PUBLISH_ALL_FLAGS)
        return error_misuse(err, "qs_publish_adopt");
    if (adoption->target.scope == QS_SCOPE_EFFECTIVE || adoption->target.scope == own)
        return QS_OK;
    return error_set(err, QS_USAGE, "a file with the settings of scope %s cannot be adopted into the %s store",
                     qs_scope_name(adoption->target.scope), qs_scope_name(own));
}

enum qs_status qs_publish_adopt(struct qs_store *store, const struct qs_target *target,
                                const struct qs_adopt_options *options, struct qs_commit_info *ret_info,
                                struct qs_error *err)
{
    AUTO(adoption_release) struct adoption adoption = {.store = store, .view = {.resolved = {.dir_fd = -1}}};
    if (!store || !target)
        return error_misuse(err, __func__);
    enum qs_status status = take_arguments(target, options, &adoption, err);
    if (status)
        return status;
    status = view_read(&adoption.target, adoption.options.flags, &adoption.view, err);
    if (status)
        return status;
    if (!adoption.view.exists) {
        error_set(err, QS_NOT_FOUND, "there is no such file to adopt");
        error_add_file(err, adoption.target.file);
        return QS_NOT_FOUND;
    }
    status = commit(&adoption, ret_info, err);
    if (status)
        return status;
    struct publishing publishing = {.store = store,
                                    .target = adoption.target,
                                    .flags = adoption.options.flags,
                                    .accepted = &adoption.view};
    return publish_target(&publishing, NULL, err);
}
