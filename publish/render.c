/* SPDX-License-Identifier: Apache-2.0 */
/* What a target should hold: the settings it names, as text. */
#include "publish/publish_internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "qsettings/maintenance.h"
#include "qsettings/settings.h"
#include "text/value.h"

#include <string.h>

#define EFFECTIVE "effective"

static bool scope_of(const char *name, enum qs_scope *ret_scope)
{
    for (enum qs_scope scope = QS_SCOPE_DEFAULTS; scope <= QS_SCOPE_SYSTEM; scope++)
        if (!strcmp(name, qs_scope_name(scope))) {
            *ret_scope = scope;
            return true;
        }
    return false;
}

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

enum qs_status target_check(const struct qs_target *target, struct qs_error *err)
{
    enum qs_scope scope;
    if (!target || !target->file || !target->scope)
        return error_set(err, QS_USAGE, "a target needs a file and a scope");
    if (!is_plain_path(target->file)) {
        (void)error_set(err, QS_USAGE, "a target's path is absolute, without \"//\", \".\" and \"..\"");
        error_add_file(err, target->file);
        return QS_USAGE;
    }
    if (strcmp(target->scope, EFFECTIVE) != 0 && !scope_of(target->scope, &scope))
        return error_set(err, QS_USAGE, "there is no scope '%s': effective, defaults, user, system", target->scope);
    if (target->format != QS_PUBLISH_JSON && target->format != QS_PUBLISH_YAML)
        return error_set(err, QS_USAGE, "there is no format %d", (int)target->format);
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

/* Reads one store; a present one counts in *ret_found. */
static enum qs_status probe(enum qs_scope scope, const char *root, bool *ret_found, struct qs_error *err)
{
    AUTO(store_close) struct qs_store *store = NULL;
    struct qs_snapshot *snapshot = NULL;
    enum qs_status status = qs_store_open(scope, &(struct qs_store_options){.root = root}, &store, err);
    bool required = false;
    if (status == QS_OK && scope == QS_SCOPE_SYSTEM)
        status = qs_store_is_required(store, &required, err);
    if (status == QS_OK)
        status = qs_snapshot_take(store, &snapshot, err);
    qs_snapshot_unref(snapshot);
    *ret_found = status == QS_OK;
    return status == QS_ABSENT && !required ? QS_OK : status;
}

/* Settings that are empty because nothing is there are not to be published. */
static enum qs_status check_presence(const char *root, bool empty, struct qs_error *err)
{
    bool found = false, any = false;
    enum qs_status status = probe(QS_SCOPE_SYSTEM, root, &any, err);
    for (enum qs_scope scope = QS_SCOPE_DEFAULTS; status == QS_OK && empty && !any && scope < QS_SCOPE_SYSTEM;
         scope++) {
        status = probe(scope, root, &found, err);
        any = any || found;
    }
    if (status == QS_OK && empty && !any)
        return error_set(err, QS_ABSENT, "there is no store to publish from");
    return status;
}

static enum qs_status effective_json(const char *root, char **ret_text, size_t *ret_len, struct qs_error *err)
{
    AUTO(settings_close) struct qs_settings *settings = NULL;
    enum qs_status status = qs_settings_open(&(struct qs_settings_options){.root = root}, &settings, err);
    if (status == QS_OK)
        status = qs_settings_json(settings, NULL, ret_text, ret_len, err);
    return status;
}

static enum qs_status scope_json(struct qs_store *store, char **ret_text, size_t *ret_len, struct qs_error *err)
{
    struct qs_snapshot *snapshot = NULL;
    enum qs_status status = qs_snapshot_take(store, &snapshot, err);
    if (status == QS_OK)
        status = qs_snapshot_json(snapshot, NULL, ret_text, ret_len, err);
    qs_snapshot_unref(snapshot);
    return status;
}

static enum qs_status target_json(struct qs_store *store, const char *root, const struct qs_target *target,
                                  char **ret_text, size_t *ret_len, struct qs_error *err)
{
    enum qs_scope scope;
    if (!scope_of(target->scope, &scope)) {
        enum qs_status status = effective_json(root, ret_text, ret_len, err);
        return status == QS_OK ? check_presence(root, *ret_len <= 2, err) : status;
    }
    if (store && qs_store_scope(store) == scope)
        return scope_json(store, ret_text, ret_len, err);
    AUTO(store_close) struct qs_store *other = NULL;
    enum qs_status status = qs_store_open(scope, &(struct qs_store_options){.root = root}, &other, err);
    return status == QS_OK ? scope_json(other, ret_text, ret_len, err) : status;
}

enum qs_status target_value(struct qs_store *store, const char *root, const struct qs_target *target,
                            json_t **ret_value, struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    json_t *value = NULL;
    enum qs_status status = target_json(store, root, target, &text, &len, err);
    if (status == QS_OK)
        status = value_decode(text, len, &value, err);
    if (status != QS_OK)
        return status;
    (void)json_object_del(value, "fleet"); /* where a bundle came from is no setting of a program */
    if (target->for_qwen)                  /* a top-level key of ours that Qwen Code's reader does not know */
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
    if (status == QS_OK && ret_text->failed)
        return error_memory(err);
    return status;
}

mode_t target_mode(const struct qs_target *target)
{
    enum qs_scope scope;
    return scope_of(target->scope, &scope) && scope != QS_SCOPE_USER ? 0644 : 0600;
}
