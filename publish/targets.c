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
    AUTO(value_release) json_t *value = json_pack("{s:s, s:s}", "format", format, "scope", target->scope);
    if (!value || (target->for_qwen && json_object_set_new(value, "for", json_string("qwen")) != 0))
        return error_memory(err);
    return value_encode(value, ret_text, err);
}

static enum qs_status entry_unknown(struct qs_bytes key, struct qs_error *err)
{
    return error_page(err, -1, "the registration of '%.*s' is of an unknown form", (int)key.len,
                      (const char *)key.data);
}

/* The strings are heap memory of the target. */
static enum qs_status entry_decode(struct qs_bytes key, struct qs_bytes text, struct qs_target *ret_target,
                                   struct qs_error *err)
{
    AUTO(value_release) json_t *value = NULL;
    const char *format = NULL, *scope = NULL, *reader = "";
    if (value_decode(text.data, text.len, &value, NULL) != QS_OK ||
        json_unpack(value, "{s:s, s:s, s?s !}", "format", &format, "scope", &scope, "for", &reader) != 0)
        return entry_unknown(key, err);
    bool yaml = !strcmp(format, "yaml"), qwen = !strcmp(reader, "qwen");
    if ((!yaml && strcmp(format, "json") != 0) || (!qwen && *reader))
        return entry_unknown(key, err);
    char *file = strndup(key.data, key.len), *scope_copy = strdup(scope);
    *ret_target = (struct qs_target){.file = file,
                                     .scope = scope_copy,
                                     .format = yaml ? QS_PUBLISH_YAML : QS_PUBLISH_JSON,
                                     .for_qwen = qwen};
    if (!file || !scope_copy)
        return error_memory(err);
    return target_check(ret_target, NULL) == QS_OK ? QS_OK : entry_unknown(key, err);
}

/* ---- the owner rule ---- */

/* A store must not publish into what somebody else controls: file and directory are those of the store's owner (the
 * directory may be root's), nobody else may write the directory, and it is not the store itself. */
static enum qs_status check_owner(struct qs_store *store, const struct qs_target *target, struct qs_error *err)
{
    AUTO(resolved_target_release) struct resolved_target resolved = {.dir_fd = -1};
    AUTO_FD int store_fd = -1;
    struct stat store_st, dir;
    enum qs_status status = store_dir_open(&store->dir, &store_fd, err);
    if (status == QS_OK)
        status = resolve_target(target->file, 0, &resolved, err);
    if (status != QS_OK)
        return status;
    if (TEMP_FAILURE_RETRY(qs_os->fstat(store_fd, &store_st)) != 0 ||
        TEMP_FAILURE_RETRY(qs_os->fstat(resolved.dir_fd, &dir)) != 0)
        return error_sys(err, QS_IO, errno, "cannot examine the directories of store and file");
    uid_t owner = store_st.st_uid;
    if (qs_os->geteuid() != owner)
        return error_set(err, QS_UNTRUSTED, "the store belongs to another user (uid %u)", (unsigned)owner);
    if (dir.st_dev == store_st.st_dev && dir.st_ino == store_st.st_ino)
        return error_set(err, QS_UNTRUSTED, "a store's own directory takes no published files");
    if (dir.st_uid != owner && dir.st_uid != 0)
        return error_set(err, QS_UNTRUSTED, "its directory belongs to another user (uid %u)", (unsigned)dir.st_uid);
    bool open_to_group = (dir.st_mode & S_IWGRP) && dir.st_gid != 0;
    if ((open_to_group || (dir.st_mode & S_IWOTH)) && !(dir.st_mode & S_ISVTX))
        return error_set(err, QS_UNTRUSTED, "its directory is writable by other users (mode %04o)",
                         (unsigned)dir.st_mode & 07777);
    if (resolved.exists && resolved.st.st_uid != owner)
        return error_set(err, QS_UNTRUSTED, "it belongs to another user (uid %u)", (unsigned)resolved.st.st_uid);
    return QS_OK;
}

/* ---- changing the register ---- */

static void txn_release(struct qs_txn **txn)
{
    qs_txn_free(*txn);
}

static enum qs_status put(struct qs_store *store, const char *file, struct qs_bytes value, const char *verb,
                          const char *message, unsigned wait_ms, struct qs_commit_info *ret_info, struct qs_error *err)
{
    AUTO(txn_release) struct qs_txn *txn = NULL;
    char own_message[QS_KEY_MAX_BYTES + 32];
    struct qs_commit_info info;
    struct qs_bytes key = {file, strlen(file)};
    (void)snprintf(own_message, sizeof own_message, "%s %s", verb, file);
    struct qs_commit_options options = {.message = message ? message : own_message};
    enum qs_status status = qs_txn_begin(store, wait_ms, &txn, err);
    if (status != QS_OK)
        return status;
    if (!value.data && snapshot_find(&qs_txn_base(txn)->areas[AREA_TARGETS], key.data, key.len) == SIZE_MAX) {
        (void)error_set(err, QS_NOT_FOUND, "it is not registered in the %s store",
                        qs_scope_name(qs_store_scope(store)));
        error_add_file(err, file);
        return QS_NOT_FOUND;
    }
    status = txn_put_target(txn, key, value, err);
    return status == QS_OK ? qs_txn_commit(txn, &options, ret_info ? ret_info : &info, err) : status;
}

static enum qs_status check_registrable(struct qs_store *store, const struct qs_target *target, struct qs_error *err)
{
    enum qs_status status = target_check(target, err);
    if (status != QS_OK)
        return status;
    size_t len = strlen(target->file);
    const char *own = qs_scope_name(qs_store_scope(store));
    if (len > QS_KEY_MAX_BYTES || !utf8_valid(target->file, len, NULL))
        status = error_set(err, QS_USAGE, "a registered path is UTF-8 of at most %u bytes", QS_KEY_MAX_BYTES);
    else if (strcmp(target->scope, "effective") != 0 && strcmp(target->scope, own) != 0)
        status = error_set(err, QS_USAGE, "commits to %s do not change the settings of %s", own, target->scope);
    else
        status = check_owner(store, target, err);
    if (status != QS_OK)
        error_add_file(err, target->file);
    return status;
}

enum qs_status qs_publish_register(struct qs_store *store, const struct qs_target *target, const char *message,
                                   unsigned wait_ms, struct qs_commit_info *ret_info, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    enum qs_status status = check_registrable(store, target, err);
    if (status == QS_OK)
        status = entry_encode(target, &text, err);
    if (status == QS_OK)
        status = put(store, target->file, (struct qs_bytes){text.data, text.len}, "register", message, wait_ms,
                     ret_info, err);
    return status;
}

enum qs_status qs_publish_unregister(struct qs_store *store, const char *file, const char *message, unsigned wait_ms,
                                     struct qs_commit_info *ret_info, struct qs_error *err)
{
    if (!file || !*file || strlen(file) > QS_KEY_MAX_BYTES)
        return error_set(err, QS_USAGE, "a registered path has 1 to %u bytes", QS_KEY_MAX_BYTES);
    return put(store, file, (struct qs_bytes){NULL, 0}, "unregister", message, wait_ms, ret_info, err);
}

/* ---- reading the register ---- */

static enum qs_status list_of(const struct qs_snapshot *snapshot, struct qs_target_list *list, struct qs_error *err)
{
    size_t count = snapshot_target_count(snapshot);
    if (count == 0)
        return QS_OK;
    list->items = calloc(count, sizeof *list->items);
    if (!list->items)
        return error_memory(err);
    enum qs_status status = QS_OK;
    while (status == QS_OK && list->count < count) {
        struct qs_bytes key, value;
        snapshot_target_at(snapshot, list->count, &key, &value);
        status = entry_decode(key, value, &list->items[list->count++], err);
    }
    return status;
}

enum qs_status qs_publish_list(struct qs_store *store, struct qs_target_list *ret_list, struct qs_error *err)
{
    struct qs_snapshot *snapshot = NULL;
    struct qs_target_list list = {0};
    enum qs_status status = qs_snapshot_take(store, &snapshot, err);
    if (status == QS_OK)
        status = list_of(snapshot, &list, err);
    qs_snapshot_unref(snapshot);
    if (status == QS_OK)
        *ret_list = list;
    else
        qs_target_list_release(&list);
    return status;
}

void qs_target_list_release(struct qs_target_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->count; i++) {
        free((char *)list->items[i].file);
        free((char *)list->items[i].scope);
    }
    free(list->items);
    *list = (struct qs_target_list){0};
}

static enum qs_status publish_one(struct qs_store *store, const char *root, const struct qs_target *target,
                                  size_t *written, struct qs_error *err)
{
    enum qs_publish_outcome outcome = QS_PUBLISH_UNCHANGED;
    enum qs_status status = check_owner(store, target, err);
    if (status == QS_OK)
        status = qs_publish(store, root, target, 0, &outcome, err);
    *written += status == QS_OK && outcome == QS_PUBLISH_WRITTEN;
    if (status != QS_OK)
        error_add_file(err, target->file);
    return status;
}

enum qs_status qs_publish_registered(struct qs_store *store, const char *root, size_t *ret_written,
                                     struct qs_error *err)
{
    AUTO(qs_target_list_release) struct qs_target_list list = {0};
    struct qs_error own = {0};
    size_t written = 0;
    enum qs_status first = qs_publish_list(store, &list, &own);
    if (first == QS_ABSENT)
        first = QS_OK;
    for (size_t i = 0; i < list.count; i++) {
        struct qs_error one = {0};
        enum qs_status status = publish_one(store, root, &list.items[i], &written, &one);
        if (status != QS_OK && first == QS_OK) {
            first = status;
            own = one;
        }
    }
    if (ret_written)
        *ret_written = written;
    if (first != QS_OK && err)
        *err = own;
    return first;
}
