/* SPDX-License-Identifier: Apache-2.0 */
/* Effective settings: each store read once, the workspace file once, and all merged. */
#include "reader/settings_internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "store/snapshot.h"
#include "text/key_path.h"

#include <stdio.h>
#include <string.h>

const char *qs_layer_name(enum qs_layer layer)
{
    switch (layer) {
    case QS_LAYER_DEFAULTS:
        return "defaults";
    case QS_LAYER_USER:
        return "user";
    case QS_LAYER_WORKSPACE:
        return "workspace";
    case QS_LAYER_SYSTEM:
        return "system";
    case QS_LAYER_COUNT:
        break;
    }
    return "unknown";
}

uint64_t qs_settings_generation(const struct qs_settings *settings, enum qs_layer layer)
{
    if (!settings || (unsigned)layer >= QS_LAYER_COUNT)
        return 0;
    const struct qs_snapshot *snapshot = settings->snapshots[layer];
    return snapshot ? qs_snapshot_generation(snapshot) : 0;
}

static enum qs_scope scope_of(enum qs_layer layer)
{
    return layer == QS_LAYER_DEFAULTS ? QS_SCOPE_DEFAULTS : layer == QS_LAYER_USER ? QS_SCOPE_USER : QS_SCOPE_SYSTEM;
}

void qs_settings_close(struct qs_settings *settings)
{
    int saved = errno;
    if (!settings)
        return;
    for (int layer = 0; layer < QS_LAYER_COUNT; layer++) {
        qs_snapshot_unref(settings->snapshots[layer]);
        qs_store_close(settings->stores[layer]);
    }
    leaves_release(&settings->workspace_leaves);
    doc_free(settings->workspace);
    for (size_t i = 0; i < settings->warning_count; i++)
        free(settings->warnings[i]);
    free(settings->warnings);
    free(settings);
    errno = saved;
}

static void settings_release(struct qs_settings **settings)
{
    qs_settings_close(*settings);
}

/* ---- layers ---- */

static enum qs_status read_store_layer(struct qs_settings *settings, const struct qs_settings_options *options,
                                       enum qs_layer layer, struct qs_error *err)
{
    struct qs_store_options store_options = {.size = sizeof store_options,
                                             .root = options->root,
                                             .wait_ms = options->wait_ms};
    struct qs_error fault = {0};
    enum qs_status status = qs_store_open(scope_of(layer), &store_options, &settings->stores[layer], err);
    if (status)
        return status;
    status = qs_snapshot_take(settings->stores[layer], &settings->snapshots[layer], &fault);
    if (status == QS_ABSENT)
        return QS_OK;
    if (status) {
        if (err)
            *err = fault;
        return status;
    }
    const struct qs_snapshot *snapshot = settings->snapshots[layer];
    settings->input.layers[layer] = (struct merge_layer){.items = snapshot->areas[AREA_SETTINGS].items,
                                                         .count = snapshot->areas[AREA_SETTINGS].count,
                                                         .locks = snapshot->areas[AREA_LOCKS].items,
                                                         .lock_count = snapshot->areas[AREA_LOCKS].count};
    return QS_OK;
}

static enum qs_status read_workspace(struct qs_settings *settings, const char *file, struct qs_error *err)
{
    enum qs_status status = doc_read(file, QS_WORKSPACE_MAX_BYTES, &settings->workspace, err);
    const struct doc *doc = settings->workspace;
    if (!status)
        status = schema_check_document(doc_root(doc), doc, SCHEMA_PARTIAL, err);
    if (!status)
        status = flatten_value(doc_root(doc), NULL, doc, &settings->workspace_leaves, err);
    if (status) {
        error_add_file(err, file);
        return status;
    }
    settings->input.layers[QS_LAYER_WORKSPACE] =
        (struct merge_layer){.items = settings->workspace_leaves.items, .count = settings->workspace_leaves.count};
    return QS_OK;
}

/* ---- warnings ---- */

/* The length of the part of a key that names the setting a verdict is about: the outermost operator-only entry. */
static size_t dropped_len(const struct qs_bytes *key, enum merge_verdict verdict)
{
    struct qs_bytes segment;
    size_t at = 0;
    while (verdict == MERGE_OPERATOR && key_next_segment(key->data, key->len, &at, &segment)) {
        size_t len = (size_t)((const char *)segment.data - (const char *)key->data) + segment.len;
        bool exact = false;
        const struct schema_entry *entry = schema_find_bytes(key->data, len, &exact);
        if (exact && (entry->restriction == SCHEMA_OPERATOR || entry->restriction == SCHEMA_OPERATOR_WITH_POLICY))
            return len;
    }
    return key->len;
}

static enum qs_status warn_dropped(struct qs_settings *settings, const struct qs_key *key, enum merge_verdict verdict,
                                   struct qs_error *err)
{
    char text[QS_KEY_TEXT_BYTES];
    unsigned line = 0;
    unsigned column = 0;
    char *warning = NULL;
    doc_locate(settings->workspace, key, true, &line, &column);
    char **warnings = reallocarray(settings->warnings, settings->warning_count + 1, sizeof *warnings);
    if (!warnings)
        return error_memory(err);
    settings->warnings = warnings;
    const char *why =
        verdict == MERGE_TIGHTEN ? "a workspace may only narrow it" : "only an operator's scope may set it";
    if (asprintf(&warning, "%s:%u: %s is ignored here: %s", doc_file(settings->workspace), line,
                 qs_key_format(key->bytes, key->len, text, sizeof text), why) < 0)
        return error_memory(err);
    warnings[settings->warning_count++] = warning;
    return QS_OK;
}

static enum qs_status collect_warnings(struct qs_settings *settings, struct qs_error *err)
{
    const struct merge_layer *layer = &settings->input.layers[QS_LAYER_WORKSPACE];
    struct qs_key last = {0};
    for (size_t i = 0; i < layer->count; i++) {
        enum merge_verdict verdict = merge_verdict(&settings->input, QS_LAYER_WORKSPACE, &layer->items[i], NULL);
        if (verdict != MERGE_OPERATOR && verdict != MERGE_TIGHTEN)
            continue;
        struct qs_key key = {.len = dropped_len(&layer->items[i].key, verdict)};
        memcpy(key.bytes, layer->items[i].key.data, key.len);
        /* One warning for an object, however many leaves it has. */
        if (last.len == key.len && memcmp(last.bytes, key.bytes, key.len) == 0)
            continue;
        last = key;
        enum qs_status status = warn_dropped(settings, &key, verdict, err);
        if (status)
            return status;
    }
    return QS_OK;
}

size_t qs_settings_warning_count(const struct qs_settings *settings)
{
    return settings ? settings->warning_count : 0;
}

const char *qs_settings_warning(const struct qs_settings *settings, size_t index)
{
    return settings && index < settings->warning_count ? settings->warnings[index] : NULL;
}

/* ---- all of it ---- */

enum qs_status qs_settings_open(const struct qs_settings_options *options, struct qs_settings **ret_settings,
                                struct qs_error *err)
{
    struct qs_settings_options own;
    if (!ret_settings)
        return error_misuse(err, __func__);
    enum qs_status status = SIZED_TAKE(options, own, workspace_file, err);
    if (status)
        return status;
    AUTO(settings_release) struct qs_settings *settings = calloc(1, sizeof *settings);
    if (!settings)
        return error_memory(err);
    for (int layer = 0; layer < QS_LAYER_COUNT; layer++) {
        if (layer != QS_LAYER_WORKSPACE)
            status = read_store_layer(settings, &own, (enum qs_layer)layer, err);
        else if (own.workspace_file)
            status = read_workspace(settings, own.workspace_file, err);
        if (status)
            return status;
    }
    status = collect_warnings(settings, err);
    if (status)
        return status;
    *ret_settings = STEAL(settings);
    return QS_OK;
}

enum qs_status qs_settings_json(const struct qs_settings *settings, const char *key_text, char **ret_text,
                                size_t *ret_len, struct qs_error *err)
{
    struct qs_key key = {0};
    AUTO(value_release) json_t *merged = NULL;
    if (!settings || !ret_text)
        return error_misuse(err, __func__);
    enum qs_status status = key_text ? qs_key_parse(key_text, &key, err) : QS_OK;
    if (status)
        return status;
    status = merge_document(&settings->input, &key, &merged, err);
    if (status)
        return status;
    const json_t *value = merge_at(merged, &key);
    if (!value) {
        error_set(err, QS_NOT_FOUND, "no layer sets %s", key_text ? key_text : "anything");
        error_add_path(err, key_text);
        return QS_NOT_FOUND;
    }
    return value_encode_text(value, ret_text, ret_len, err);
}
