/* SPDX-License-Identifier: Apache-2.0 */
/* What a target should contain: the settings it names, as text. */
#include "publish/publish_internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "qsettings/maintenance.h"
#include "qsettings/settings.h"
#include "text/value.h"

#include <string.h>

/* Absolute, and the only spelling there is without following links: no empty segment, no "." and "..". */
static bool is_plain_path(const char *path)
{
    if (*path != '/')
        return false;
    while (*path) {
        size_t len = strcspn(++path, "/");
        if (len == 0 || (len == 1 && path[0] == '.') || (len == 2 && path[0] == '.' && path[1] == '.'))
            return false;
        path += len;
    }
    return true;
}

enum qs_status target_take(const struct qs_target *given, struct qs_target *ret_target, struct qs_error *err)
{
    struct qs_target target;
    enum qs_status status = SIZED_TAKE(given, target, dialect, err);
    if (status)
        return status;
    if (!target.file || !is_plain_path(target.file)) {
        error_set(err, QS_USAGE, "a target's path must be absolute, without \"//\", \".\" and \"..\"");
        error_add_file(err, target.file);
        return QS_USAGE;
    }
    if (target.scope < QS_SCOPE_EFFECTIVE || target.scope > QS_SCOPE_SYSTEM)
        return error_set(err, QS_USAGE, "there is no scope number %d", (int)target.scope);
    if (target.format != QS_PUBLISH_JSON && target.format != QS_PUBLISH_YAML)
        return error_set(err, QS_USAGE, "there is no format number %d", (int)target.format);
    if (target.dialect != QS_DIALECT_FULL && target.dialect != QS_DIALECT_QWEN_CODE)
        return error_set(err, QS_USAGE, "there is no dialect number %d", (int)target.dialect);
    *ret_target = target;
    return QS_OK;
}

static void store_close(struct qs_store **store)
{
    qs_store_close(*store);
}

static void settings_close(struct qs_settings **settings)
{
    qs_settings_close(*settings);
}

static void snapshot_unref(struct qs_snapshot **snapshot)
{
    qs_snapshot_unref(*snapshot);
}

static enum qs_status open_store(enum qs_scope scope, const char *root, struct qs_store **ret_store,
                                 struct qs_error *err)
{
    struct qs_store_options options = {.size = sizeof options, .root = root};
    return qs_store_open(scope, &options, ret_store, err);
}

/* Reads one store; a present one counts in *ret_found. */
static enum qs_status probe(enum qs_scope scope, const char *root, bool *ret_found, struct qs_error *err)
{
    AUTO(store_close) struct qs_store *store = NULL;
    AUTO(snapshot_unref) struct qs_snapshot *snapshot = NULL;
    bool required = false;
    enum qs_status status = open_store(scope, root, &store, err);
    if (status)
        return status;
    if (scope == QS_SCOPE_SYSTEM) {
        status = qs_store_is_required(store, &required, err);
        if (status)
            return status;
    }
    status = qs_snapshot_take(store, &snapshot, err);
    *ret_found = !status;
    return status == QS_ABSENT && !required ? QS_OK : status;
}

/* Settings that are empty because nothing is there are not to be published. */
static enum qs_status check_presence(const char *root, bool empty, struct qs_error *err)
{
    bool found = false;
    enum qs_status status = probe(QS_SCOPE_SYSTEM, root, &found, err);
    if (status || !empty)
        return status;
    for (enum qs_scope scope = QS_SCOPE_DEFAULTS; !found && scope < QS_SCOPE_SYSTEM; scope++) {
        status = probe(scope, root, &found, err);
        if (status)
            return status;
    }
    return found ? QS_OK : error_set(err, QS_ABSENT, "there is no store to publish from");
}

static enum qs_status effective_json(const char *root, char **ret_text, size_t *ret_len, struct qs_error *err)
{
    AUTO(settings_close) struct qs_settings *settings = NULL;
    AUTO_FREE char *text = NULL;
    struct qs_settings_options options = {.size = sizeof options, .root = root};
    enum qs_status status = qs_settings_open(&options, &settings, err);
    if (status)
        return status;
    status = qs_settings_json(settings, NULL, &text, ret_len, err);
    if (status)
        return status;
    status = check_presence(root, *ret_len <= 2 /* {} */, err);
    if (status)
        return status;
    *ret_text = STEAL(text);
    return QS_OK;
}

static enum qs_status scope_json(struct qs_store *store, char **ret_text, size_t *ret_len, struct qs_error *err)
{
    AUTO(snapshot_unref) struct qs_snapshot *snapshot = NULL;
    enum qs_status status = qs_snapshot_take(store, &snapshot, err);
    return status ? status : qs_snapshot_json(snapshot, NULL, ret_text, ret_len, err);
}

static enum qs_status target_json(struct qs_store *store, const struct qs_target *target, char **ret_text,
                                  size_t *ret_len, struct qs_error *err)
{
    AUTO(store_close) struct qs_store *other = NULL;
    if (target->scope == QS_SCOPE_EFFECTIVE)
        return effective_json(qs_store_root(store), ret_text, ret_len, err);
    if (qs_store_scope(store) == target->scope)
        return scope_json(store, ret_text, ret_len, err);
    enum qs_status status = open_store(target->scope, qs_store_root(store), &other, err);
    return status ? status : scope_json(other, ret_text, ret_len, err);
}

enum qs_status target_value(struct qs_store *store, const struct qs_target *target, json_t **ret_value,
                            struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    json_t *value = NULL;
    enum qs_status status = target_json(store, target, &text, &len, err);
    if (status)
        return status;
    status = value_decode(text, len, &value, err);
    if (status)
        return status;
    (void)json_object_del(value, "fleet");       /* where a bundle came from is no setting of a program */
    if (target->dialect == QS_DIALECT_QWEN_CODE) /* a top-level key of ours that its reader does not know */
        (void)json_object_del(value, "executor");
    *ret_value = value;
    return QS_OK;
}

enum qs_status target_text(const struct qs_target *target, const json_t *value, struct buf *ret_text,
                           struct qs_error *err)
{
    enum qs_status status = QS_OK;
    switch (target->format) {
    case QS_PUBLISH_JSON:
        status = value_encode_pretty(value, ret_text, err);
        buf_add_char(ret_text, '\n');
        break;
    case QS_PUBLISH_YAML:
        status = value_encode_yaml(value, ret_text, err);
        break;
    }
    if (status)
        return status;
    return ret_text->failed ? error_memory(err) : QS_OK;
}

mode_t target_mode(const struct qs_target *target)
{
    return target->scope == QS_SCOPE_DEFAULTS || target->scope == QS_SCOPE_SYSTEM ? 0644 : 0600;
}
