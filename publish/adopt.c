/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking an edited file over into the store.
 *
 * What the file and the settings have otherwise is set; what the file lacks is removed only if the settings are still
 * those that were published, for else it may be newer than the file. The settings are read under the store's lock, so
 * nothing comes between looking and committing.
 */
#include "publish/publish_internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "schema/schema.h"
#include "text/value.h"
#include "writer/txn_internal.h"

#include <stdio.h>
#include <string.h>

struct adoption {
    struct qs_txn *txn;
    const struct qs_target *target;
    bool effective;
    bool removes;  /* what the file lacks was taken out of it */
    bool removing; /* first all that go, then all that come: an object may take the place of a value, and the other way
                    */
};

/* A list that scopes add to each other: what of it is whose cannot be told from the sum. */
static enum qs_status check_sum(const struct adoption *adoption, struct qs_bytes key, const char *text,
                                struct qs_error *err)
{
    const struct schema_entry *entry = schema_find_bytes(key.data, key.len, NULL);
    if (!adoption->effective || !entry || entry->merge != SCHEMA_CONCAT)
        return QS_OK;
    (void)error_set(err, QS_INVALID, "it is put together from several scopes and cannot be adopted as a whole");
    error_add_path(err, text);
    error_add_advice(err, "set it in the scope that is meant, then publish with --force");
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
    if (status != QS_OK)
        return status;
    if (!removed)
        return qs_txn_set(adoption->txn, text, in_file.data, in_file.len, err);
    status = qs_txn_unset(adoption->txn, text, err);
    if (status != QS_NOT_FOUND)
        return status;
    (void)error_set(err, QS_INVALID, "it was taken out of the file, but another scope sets it");
    error_add_path(err, text);
    return QS_INVALID;
}

/* Are the settings still what was published last? Else a leaf that the file lacks may be a newer one. */
static enum qs_status compare_with_record(const struct view *view, const struct qs_target *target, const json_t *value,
                                          bool *ret_same, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    uint8_t digest[QS_DIGEST_BYTES];
    char record[DIGEST_TEXT_BYTES];
    enum qs_status status = target_text(target, value, &text, err);
    if (status != QS_OK)
        return status;
    digest_of(text.data, text.len, digest);
    digest_format(digest, record);
    *ret_same = view_has_record(view, record);
    return QS_OK;
}

static enum qs_status take_over(struct adoption *adoption, const struct leaves *file, const struct leaves *store,
                                struct qs_error *err)
{
    adoption->removing = true;
    enum qs_status status = leaves_compare(file, store, adopt_leaf, adoption, err);
    adoption->removing = false;
    return status == QS_OK ? leaves_compare(file, store, adopt_leaf, adoption, err) : status;
}

/* Everything between begin and commit. */
static enum qs_status change(struct qs_store *store, const char *root, const struct qs_target *target,
                             const struct view *view, struct qs_txn *txn, struct qs_error *err)
{
    AUTO(value_release) json_t *value = NULL;
    AUTO(leaves_release) struct leaves in_file = {0};
    AUTO(leaves_release) struct leaves in_store = {0};
    struct adoption adoption = {.txn = txn, .target = target, .effective = !strcmp(target->scope, "effective")};
    enum qs_status status = view_leaves(view, target, &in_file, err);
    if (status == QS_OK)
        status = target_value(store, root, target, &value, err);
    if (status == QS_OK)
        status = compare_with_record(view, target, value, &adoption.removes, err);
    if (status == QS_OK)
        status = flatten_value(value, NULL, NULL, &in_store, err);
    if (status == QS_OK)
        status = take_over(&adoption, &in_file, &in_store, err);
    return status;
}

static void txn_release(struct qs_txn **txn)
{
    qs_txn_free(*txn);
}

static enum qs_status commit(struct qs_store *store, const char *root, const struct qs_target *target,
                             const struct qs_adopt_options *options, const struct view *view,
                             struct qs_commit_info *ret_info, struct qs_error *err)
{
    AUTO(txn_release) struct qs_txn *txn = NULL;
    char message[QS_MESSAGE_MAX_BYTES];
    (void)snprintf(message, sizeof message, "adopt %.4000s", target->file);
    struct qs_commit_options how = {.message = options->message ? options->message : message};
    enum qs_status status = qs_txn_begin(store, options->wait_ms, &txn, err);
    if (status == QS_OK)
        status = change(store, root, target, view, txn, err);
    if (status == QS_OK)
        status = qs_txn_commit(txn, &how, ret_info, err);
    return status;
}

static enum qs_status check_scope(struct qs_store *store, const struct qs_target *target, struct qs_error *err)
{
    const char *own = qs_scope_name(qs_store_scope(store));
    if (!strcmp(target->scope, "effective") || !strcmp(target->scope, own))
        return QS_OK;
    return error_set(err, QS_USAGE, "a file with the settings of scope %s cannot be adopted into %s", target->scope,
                     own);
}

enum qs_status qs_publish_adopt(struct qs_store *store, const char *root, const struct qs_target *target,
                                const struct qs_adopt_options *options, struct qs_commit_info *ret_info,
                                struct qs_error *err)
{
    static const struct qs_adopt_options none = {.wait_ms = QS_DEFAULT_WAIT_MS};
    AUTO(view_release) struct view view = {.resolved = {.dir_fd = -1}};
    struct qs_commit_info info;
    if (!options)
        options = &none;
    enum qs_status status = target_check(target, err);
    if (status == QS_OK)
        status = check_scope(store, target, err);
    if (status == QS_OK)
        status = view_read(target, options->flags, &view, err);
    if (status == QS_OK && !view.exists) {
        status = error_set(err, QS_NOT_FOUND, "there is no such file to adopt");
        error_add_file(err, target->file);
    }
    if (status == QS_OK)
        status = commit(store, root, target, options, &view, ret_info ? ret_info : &info, err);
    if (status == QS_OK)
        status = publish_target(store, root, target, options->flags, view.data, view.len, NULL, err);
    return status;
}
