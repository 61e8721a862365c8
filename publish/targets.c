/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered targets: one entry each in the store's targets, so that the content digest and the history cover them.
 * Key: the file's path. Value: canonical JSON {"for": "qwen", "format": "json"|"yaml", "scope": NAME}, "for" only where
 * set.
 */
#include "publish/publish_internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "base/utf8.h"
#include "text/value.h"
#include "writer/txn_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* ---- the entry ---- */

static enum qs_status entry_encode(const struct qs_target *target, struct buf *ret_text, struct qs_error *err)
{
    const char *format = target->format == QS_PUBLISH_YAML ? "yaml" : "json";
    bool qwen = target->dialect == QS_DIALECT_QWEN_CODE;
    AUTO(value_release)
    json_t *value = json_pack("{s:s, s:s}", "format", format, "scope", qs_scope_name(target->scope));
    if (!value || (qwen && json_object_set_new(value, "for", json_string("qwen")) != 0))
        return error_memory(err);
    return value_encode(value, ret_text, err);
}

/* The file's path is heap memory of the target. */
static enum qs_status entry_decode(struct qs_bytes key, struct qs_bytes text, struct qs_target *ret_target,
                                   struct qs_error *err)
{
    AUTO(value_release) json_t *value = NULL;
    const char *format = "";
    const char *scope = "";
    const char *reader = "";
    struct qs_target target = {.size = sizeof target, .scope = QS_SCOPE_EFFECTIVE};
    bool known = !value_decode(text.data, text.len, &value, NULL) &&
                 !json_unpack(value, "{s:s, s:s, s?s !}", "format", &format, "scope", &scope, "for", &reader);
    while (target.scope <= QS_SCOPE_SYSTEM && strcmp(scope, qs_scope_name(target.scope)) != 0)
        target.scope++;
    bool yaml = !strcmp(format, "yaml");
    bool qwen = !strcmp(reader, "qwen");
    target.format = yaml ? QS_PUBLISH_YAML : QS_PUBLISH_JSON;
    target.dialect = qwen ? QS_DIALECT_QWEN_CODE : QS_DIALECT_FULL;
    AUTO_FREE char *file = strndup(key.data, key.len);
    if (!file)
        return error_memory(err);
    target.file = file;
    if (!known || (!yaml && strcmp(format, "json") != 0) || (!qwen && *reader) ||
        target_take(&target, ret_target, NULL))
        return error_page(err, -1, "the registration of '%s' is of an unknown form", file);
    (void)STEAL(file);
    return QS_OK;
}

/* ---- the owner rule ---- */

/* A store must not publish into what somebody else controls: file and directory are those of the store's owner (the
 * directory may be root's), nobody else may write the directory, and it is not the store itself. */
static enum qs_status check_owner(struct qs_store *store, const struct qs_target *target, struct qs_error *err)
{
    AUTO(resolved_target_release) struct resolved_target resolved = {.dir_fd = -1};
    AUTO_FD int store_fd = -1;
    struct stat store_st;
    struct stat dir;
    enum qs_status status = store_dir_open(&store->dir, &store_fd, err);
    if (status)
        return status;
    status = resolve_target(target->file, 0, &resolved, err);
    if (status)
        return status;
    if (TEMP_FAILURE_RETRY(qs_os->fstat(store_fd, &store_st)) != 0 ||
        TEMP_FAILURE_RETRY(qs_os->fstat(resolved.dir_fd, &dir)) != 0)
        return error_sys(err, QS_IO, errno, "the directories of store and file cannot be examined");
    uid_t owner = store_st.st_uid;
    if (qs_os->geteuid() != owner)
        return error_set(err, QS_UNTRUSTED, "the store belongs to another user (uid %u)", (unsigned)owner);
    if (dir.st_dev == store_st.st_dev && dir.st_ino == store_st.st_ino)
        return error_set(err, QS_UNTRUSTED, "a file cannot be published into the store's own directory");
    if (dir.st_uid != owner && dir.st_uid != 0)
        return error_set(err, QS_UNTRUSTED, "the file's directory belongs to another user (uid %u)",
                         (unsigned)dir.st_uid);
    bool open_to_group = (dir.st_mode & S_IWGRP) && dir.st_gid != 0;
    if ((open_to_group || (dir.st_mode & S_IWOTH)) && !(dir.st_mode & S_ISVTX))
        return error_set(err, QS_UNTRUSTED, "the file's directory is writable by other users (mode %04o)",
                         (unsigned)dir.st_mode & 07777);
    if (resolved.exists && resolved.st.st_uid != owner)
        return error_set(err, QS_UNTRUSTED, "the file belongs to another user (uid %u)", (unsigned)resolved.st.st_uid);
    return QS_OK;
}

/* ---- changing the register ---- */

static void txn_release(struct qs_txn **txn)
{
    qs_txn_free(*txn);
}

/* One change of the register, as a commit. */
struct registration {
    struct qs_store *store;
    const char *file;
    struct qs_bytes value; /* data NULL: it goes */
    const char *message;   /* NULL: the verb and the file */
    unsigned wait_ms;
};

static enum qs_status put(const struct registration *r, struct qs_commit_info *ret_info, struct qs_error *err)
{
    AUTO(txn_release) struct qs_txn *txn = NULL;
    char message[QS_KEY_MAX_BYTES + 32];
    struct qs_bytes key = {r->file, strlen(r->file)};
    (void)snprintf(message, sizeof message, "%s %s", r->value.data ? "register" : "unregister", r->file);
    struct qs_commit_options options = {.size = sizeof options, .message = r->message ? r->message : message};
    enum qs_status status = qs_txn_begin(r->store, r->wait_ms, &txn, err);
    if (status)
        return status;
    if (!r->value.data && snapshot_find(&qs_txn_base(txn)->areas[AREA_TARGETS], key.data, key.len) == SIZE_MAX) {
        error_set(err, QS_NOT_FOUND, "the file is not registered in the %s store",
                  qs_scope_name(qs_store_scope(r->store)));
        error_add_file(err, r->file);
        return QS_NOT_FOUND;
    }
    status = txn_put_target(txn, key, r->value, err);
    return status ? status : qs_txn_commit(txn, &options, ret_info, err);
}

static enum qs_status check_registrable(struct qs_store *store, const struct qs_target *target, struct qs_error *err)
{
    size_t len = strlen(target->file);
    enum qs_scope own = qs_store_scope(store);
    if (len > QS_KEY_MAX_BYTES || !utf8_valid(target->file, len, NULL))
        return error_set(err, QS_USAGE, "a registered path must be UTF-8 of at most %u bytes", QS_KEY_MAX_BYTES);
    if (target->scope != QS_SCOPE_EFFECTIVE && target->scope != own)
        return error_set(err, QS_USAGE, "commits to the %s store do not change the settings of scope %s",
                         qs_scope_name(own), qs_scope_name(target->scope));
    return check_owner(store, target, err);
}

enum qs_status qs_publish_register(struct qs_store *store, const struct qs_target *target, const char *message,
                                   unsigned wait_ms, struct qs_commit_info *ret_info, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    struct qs_target own;
    if (!store || !target)
        return error_misuse(err, __func__);
    enum qs_status status = target_take(target, &own, err);
    if (status)
        return status;
    status = check_registrable(store, &own, err);
    if (status) {
        error_add_file(err, own.file);
        return status;
    }
    status = entry_encode(&own, &text, err);
    if (status)
        return status;
    struct registration registration = {
        .store = store, .file = own.file, .value = {text.data, text.len}, .message = message, .wait_ms = wait_ms};
    return put(&registration, ret_info, err);
}

enum qs_status qs_publish_unregister(struct qs_store *store, const char *file, const char *message, unsigned wait_ms,
                                     struct qs_commit_info *ret_info, struct qs_error *err)
{
    if (!store || !file)
        return error_misuse(err, __func__);
    if (!*file || strlen(file) > QS_KEY_MAX_BYTES)
        return error_set(err, QS_USAGE, "a registered path has 1 to %u bytes", QS_KEY_MAX_BYTES);
    struct registration registration = {.store = store, .file = file, .message = message, .wait_ms = wait_ms};
    return put(&registration, ret_info, err);
}

/* ---- reading the register ---- */

struct qs_target_list {
    size_t count;
    struct qs_target items[]; /* each one's file is heap memory */
};

static void list_release(struct qs_target_list **list)
{
    qs_target_list_free(*list);
}

static void snapshot_unref(struct qs_snapshot **snapshot)
{
    qs_snapshot_unref(*snapshot);
}

enum qs_status qs_publish_list(struct qs_store *store, struct qs_target_list **ret_list, struct qs_error *err)
{
    AUTO(snapshot_unref) struct qs_snapshot *snapshot = NULL;
    AUTO(list_release) struct qs_target_list *list = NULL;
    if (!store || !ret_list)
        return error_misuse(err, __func__);
    enum qs_status status = qs_snapshot_take(store, &snapshot, err);
    if (status)
        return status;
    size_t count = snapshot_target_count(snapshot);
    list = calloc(1, sizeof *list + count * sizeof *list->items);
    if (!list)
        return error_memory(err);
    for (; list->count < count; list->count++) {
        struct qs_bytes key;
        struct qs_bytes value;
        snapshot_target_at(snapshot, list->count, &key, &value);
        status = entry_decode(key, value, &list->items[list->count], err);
        if (status)
            return status;
    }
    *ret_list = STEAL(list);
    return QS_OK;
}

size_t qs_target_list_count(const struct qs_target_list *list)
{
    return list ? list->count : 0;
}

const struct qs_target *qs_target_list_at(const struct qs_target_list *list, size_t index)
{
    return list && index < list->count ? &list->items[index] : NULL;
}

void qs_target_list_free(struct qs_target_list *list)
{
    for (size_t i = 0; list && i < list->count; i++)
        cleanup_free(&list->items[i].file);
    cleanup_free(&list);
}

static enum qs_status publish_one(struct qs_store *store, const struct qs_target *target, size_t *written,
                                  struct qs_error *err)
{
    enum qs_publish_outcome outcome = QS_PUBLISH_UNCHANGED;
    enum qs_status status = check_owner(store, target, err);
    if (!status)
        status = qs_publish(store, target, 0, &outcome, err);
    if (status)
        error_add_file(err, target->file);
    else
        *written += outcome == QS_PUBLISH_WRITTEN;
    return status;
}

enum qs_status qs_publish_registered(struct qs_store *store, size_t *ret_written, struct qs_error *err)
{
    AUTO(list_release) struct qs_target_list *list = NULL;
    struct qs_error own = {0};
    size_t written = 0;
    if (!store)
        return error_misuse(err, __func__);
    enum qs_status first = qs_publish_list(store, &list, &own);
    if (first == QS_ABSENT)
        first = QS_OK;
    for (size_t i = 0; i < qs_target_list_count(list); i++) {
        struct qs_error one = {0};
        enum qs_status status = publish_one(store, &list->items[i], &written, &one);
        if (status && !first) {
            first = status;
            own = one;
        }
    }
    if (ret_written)
        *ret_written = written;
    if (first && err)
        *err = own;
    return first;
}
