/* SPDX-License-Identifier: Apache-2.0 */
/* Why a setting has the value it has: each layer's value, who set it, what counted, and the reason in words. */
#include "reader/settings_internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "store/history_read.h"
#include "text/key_path.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct explanation {
    struct qs_explanation shown; /* the first field: what callers see of it */
    struct qs_explain_layer layers[QS_LAYER_COUNT];
    char text[512];
};

/* What explaining needs beside the explanation that it fills. */
struct explaining {
    struct qs_settings *settings;
    struct qs_key key;
    json_t *values[QS_LAYER_COUNT];              /* each layer's own value, NULL: unset */
    enum merge_verdict verdicts[QS_LAYER_COUNT]; /* of what is set: MERGE_COUNTS if any part of it counts */
    enum qs_layer binding;                       /* the layer whose lock silenced another */
    const json_t *effective;
    bool without_history; /* who set it when is not asked */
    struct explanation *into;
};

const char *qs_reason_name(enum qs_reason reason)
{
    switch (reason) {
    case QS_REASON_NONE:
        return "none";
    case QS_REASON_ONLY:
        return "only";
    case QS_REASON_PRECEDENCE:
        return "precedence";
    case QS_REASON_MERGED:
        return "merged";
    case QS_REASON_LOCK:
        return "lock";
    case QS_REASON_OPERATOR:
        return "operator-only";
    case QS_REASON_TIGHTEN:
        return "tighten-only";
    }
    return "unknown";
}

const char *qs_layer_state_name(enum qs_layer_state state)
{
    switch (state) {
    case QS_LAYER_ABSENT:
        return "absent";
    case QS_LAYER_UNSET:
        return "unset";
    case QS_LAYER_SET:
        return "set";
    }
    return "unknown";
}

static struct explanation *whole(const struct qs_explanation *explanation)
{
    return (struct explanation *)explanation;
}

const struct qs_explain_layer *qs_explanation_layer(const struct qs_explanation *explanation, enum qs_layer layer)
{
    return explanation && (unsigned)layer < QS_LAYER_COUNT ? &whole(explanation)->layers[layer] : NULL;
}

void qs_explanation_free(struct qs_explanation *explanation)
{
    if (!explanation)
        return;
    struct explanation *own = whole(explanation);
    for (int layer = 0; layer < QS_LAYER_COUNT; layer++) {
        cleanup_free(&own->layers[layer].value);
        cleanup_free(&own->layers[layer].user);
    }
    cleanup_free(&own->shown.value);
    cleanup_free(&own);
}

static void explanation_release(struct explanation **explanation)
{
    qs_explanation_free(*explanation ? &(*explanation)->shown : NULL);
}

/* ---- each layer ---- */

static enum qs_status explain_value(struct explaining *explaining, enum qs_layer layer, struct qs_error *err)
{
    const struct merge_layer *from = &explaining->settings->input.layers[layer];
    struct qs_explain_layer *into = &explaining->into->layers[layer];
    size_t first;
    size_t end;
    merge_range(from, explaining->key.bytes, explaining->key.len, &first, &end);
    if (first == end)
        return QS_OK;
    into->state = QS_LAYER_SET;
    enum qs_status status =
        unflatten_leaves(from->items + first, end - first, &explaining->key, &explaining->values[layer], err);
    if (status)
        return status;
    status = value_encode_text(explaining->values[layer], (char **)&into->value, NULL, err);
    if (status)
        return status;
    enum merge_verdict verdict = MERGE_COUNTS;
    for (size_t i = first; i < end; i++) {
        verdict = merge_verdict(&explaining->settings->input, layer, &from->items[i], &explaining->binding);
        if (verdict == MERGE_COUNTS)
            break;
    }
    explaining->verdicts[layer] = verdict;
    into->silenced = verdict != MERGE_COUNTS;
    return QS_OK;
}

/* A change sets a key's value if it sets something at, below or above it. */
static bool sets_key(const void *context, const struct change_head *head)
{
    const struct qs_key *key = context;
    bool related = key_covers(key->bytes, key->len, head->key.data, head->key.len) ||
                   key_covers(head->key.data, head->key.len, key->bytes, key->len);
    return head->area == QS_AREA_SETTINGS && related && head->new_there;
}

static enum qs_status find_setter(const struct explaining *explaining, struct qs_history *history, enum qs_layer layer,
                                  struct qs_error *err)
{
    struct qs_explain_layer *into = &explaining->into->layers[layer];
    const struct qs_record *record = NULL;
    uint64_t generation = 0;
    /* from the snapshot's generation on: others may have been committed since */
    enum qs_status status = history_search(history, into->generation, sets_key, &explaining->key, &generation, err);
    if (status || !generation)
        return status;
    status = qs_history_find(history, generation, &record, err);
    if (status)
        return status;
    into->user = strdup(record->user);
    into->set_generation = record->generation;
    into->set_time_s = record->time_s;
    return into->user ? QS_OK : error_memory(err);
}

static enum qs_status explain_setter(const struct explaining *explaining, enum qs_layer layer, struct qs_error *err)
{
    AUTO(history_release) struct qs_history *history = NULL;
    enum qs_status status = qs_history_open(explaining->settings->stores[layer], &history, err);
    return status ? status : find_setter(explaining, history, layer, err);
}

static enum qs_status explain_layer(struct explaining *explaining, enum qs_layer layer, struct qs_error *err)
{
    const struct qs_settings *settings = explaining->settings;
    struct qs_explain_layer *into = &explaining->into->layers[layer];
    bool workspace = layer == QS_LAYER_WORKSPACE;
    bool there = workspace ? settings->workspace != NULL : settings->snapshots[layer] != NULL;
    into->store = !workspace ? qs_store_path(settings->stores[layer]) : there ? doc_file(settings->workspace) : NULL;
    if (!there)
        return QS_OK;
    into->state = QS_LAYER_UNSET;
    into->generation = workspace ? 0 : qs_snapshot_generation(settings->snapshots[layer]);
    into->locked_here = merge_locked_by(&settings->input.layers[layer], explaining->key.bytes, explaining->key.len);
    enum qs_status status = explain_value(explaining, layer, err);
    if (status || into->state != QS_LAYER_SET)
        return status;
    if (!workspace)
        return explaining->without_history ? QS_OK : explain_setter(explaining, layer, err);
    unsigned column;
    doc_locate(settings->workspace, &explaining->key, true, &into->line, &column);
    return QS_OK;
}

/* ---- the reason ---- */

static void say(struct explanation *into, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct explanation *into, const char *format, ...)
{
    size_t len = strlen(into->text);
    va_list args;
    if (len && len + 2 < sizeof into->text) {
        memcpy(into->text + len, "; ", 3);
        len += 2;
    }
    va_start(args, format);
    (void)vsnprintf(into->text + len, sizeof into->text - len, format, args);
    va_end(args);
}

/* Layers that set the key, as bits. */
static unsigned set_layers(const struct explaining *explaining)
{
    unsigned bits = 0;
    for (int layer = 0; layer < QS_LAYER_COUNT; layer++)
        bits |= explaining->values[layer] ? 1u << layer : 0;
    return bits;
}

/* Layers whose value counts, as bits. */
static unsigned counting(const struct explaining *explaining)
{
    unsigned bits = 0;
    for (int layer = 0; layer < QS_LAYER_COUNT; layer++) {
        if (explaining->values[layer] && explaining->verdicts[layer] == MERGE_COUNTS)
            bits |= 1u << layer;
    }
    return bits;
}

static bool joins(enum schema_merge kind, const json_t *value)
{
    bool arrays = kind == SCHEMA_UNION || kind == SCHEMA_CONCAT;
    return (arrays && json_is_array(value)) ||
           ((kind == SCHEMA_DEEP || kind == SCHEMA_SHALLOW) && json_is_object(value));
}

static void explain_winner(struct explaining *explaining)
{
    struct explanation *into = explaining->into;
    unsigned bits = counting(explaining);
    unsigned many = bits & (bits - 1);
    bool all_count = set_layers(explaining) == bits;
    enum schema_merge kind = merge_kind(explaining->key.bytes, explaining->key.len);
    into->shown.winner = -1;
    into->shown.reason = !bits ? QS_REASON_NONE : many ? QS_REASON_PRECEDENCE : QS_REASON_ONLY;
    if (!explaining->effective) {
        say(into, bits        ? "unset: a higher layer replaces as a whole what this key lies in"
                  : all_count ? "no layer sets it"
                              : "no value counts");
        return;
    }
    if (many && joins(kind, explaining->effective)) {
        into->shown.reason = QS_REASON_MERGED;
        say(into, "the layers' values are merged (%s)", schema_merge_name(kind));
        return;
    }
    for (int layer = QS_LAYER_COUNT; layer-- > 0 && into->shown.winner < 0;) {
        if (bits & 1u << layer && value_equal(explaining->values[layer], explaining->effective))
            into->shown.winner = layer;
    }
    if (into->shown.winner >= 0)
        say(into,
            many        ? "%s is the highest layer that sets it"
            : all_count ? "only %s sets it"
                        : "the value of %s counts",
            qs_layer_name((enum qs_layer)into->shown.winner));
}

static void explain_silenced(struct explaining *explaining, enum merge_verdict verdict, enum qs_reason reason)
{
    struct explanation *into = explaining->into;
    for (int layer = 0; layer < QS_LAYER_COUNT; layer++) {
        if (explaining->verdicts[layer] != verdict)
            continue;
        if (into->shown.reason != QS_REASON_LOCK && into->shown.reason != QS_REASON_OPERATOR)
            into->shown.reason = reason;
        if (verdict == MERGE_LOCKED)
            say(into, "a lock in %s silences the value of %s", qs_layer_name(explaining->binding),
                qs_layer_name((enum qs_layer)layer));
        else if (verdict == MERGE_OPERATOR)
            say(into, "the workspace's value is ignored: only an operator's scope may set it");
        else
            say(into, "the workspace's value is ignored: it may only narrow");
    }
}

static bool is_policy(const struct qs_key *key)
{
    static const char sandbox[] = "tools\0executionSandbox";
    static const char executor[] = "executor";
    return key_covers(sandbox, sizeof sandbox - 1, key->bytes, key->len) ||
           key_covers(executor, sizeof executor - 1, key->bytes, key->len);
}

static void explain_reason(struct explaining *explaining)
{
    explain_winner(explaining);
    explain_silenced(explaining, MERGE_LOCKED, QS_REASON_LOCK);
    explain_silenced(explaining, MERGE_OPERATOR, QS_REASON_OPERATOR);
    explain_silenced(explaining, MERGE_TIGHTEN, QS_REASON_TIGHTEN);
    if (is_policy(&explaining->key))
        say(explaining->into, "the execution policy is what the scopes allow in common: see 'qsettings policy'");
}

static enum qs_status explain_all(struct explaining *explaining, struct qs_error *err)
{
    AUTO(value_release) json_t *merged = NULL;
    enum qs_status status = merge_document(&explaining->settings->input, &explaining->key, &merged, err);
    for (int layer = 0; layer < QS_LAYER_COUNT && !status; layer++)
        status = explain_layer(explaining, (enum qs_layer)layer, err);
    if (status)
        return status;
    explaining->effective = merge_at(merged, &explaining->key);
    explain_reason(explaining);
    if (!explaining->effective)
        return QS_OK;
    return value_encode_text(explaining->effective, (char **)&explaining->into->shown.value, NULL, err);
}

static enum qs_status explain(struct qs_settings *settings, const char *key, bool without_history,
                              struct explanation **ret_explanation, struct qs_error *err)
{
    struct explaining explaining = {.settings = settings, .without_history = without_history};
    enum qs_status status = qs_key_parse(key, &explaining.key, err);
    if (status)
        return status;
    AUTO(explanation_release) struct explanation *explanation = calloc(1, sizeof *explanation);
    if (!explanation)
        return error_memory(err);
    explanation->shown.winner = -1;
    explanation->shown.text = explanation->text;
    explaining.into = explanation;
    status = explain_all(&explaining, err);
    for (int layer = 0; layer < QS_LAYER_COUNT; layer++)
        json_decref(explaining.values[layer]);
    if (status)
        return status;
    *ret_explanation = STEAL(explanation);
    return QS_OK;
}

enum qs_status qs_settings_explain(struct qs_settings *settings, const char *key,
                                   struct qs_explanation **ret_explanation, struct qs_error *err)
{
    struct explanation *explanation = NULL;
    if (!settings || !key || !ret_explanation)
        return error_misuse(err, __func__);
    enum qs_status status = explain(settings, key, false, &explanation, err);
    if (status)
        return status;
    *ret_explanation = &explanation->shown;
    return QS_OK;
}

enum qs_status qs_settings_origin(struct qs_settings *settings, const char *key, int *ret_winner,
                                  uint64_t *ret_generation, struct qs_error *err)
{
    AUTO(explanation_release) struct explanation *explanation = NULL;
    if (!settings || !key || !ret_winner || !ret_generation)
        return error_misuse(err, __func__);
    enum qs_status status = explain(settings, key, true, &explanation, err);
    if (status)
        return status;
    *ret_winner = explanation->shown.winner;
    *ret_generation = *ret_winner < 0 ? 0 : explanation->layers[*ret_winner].generation;
    return QS_OK;
}
