/* SPDX-License-Identifier: Apache-2.0 */
/* explain: each layer's value and why one of them counts; locks: which subtrees are locked, and where. */
#include "cli/cli.h"
#include "cli/history_record.h"

#include <stdio.h>
#include <string.h>

/* A value as it may be shown: canonical text decoded, secrets covered. NULL: none. */
static json_t *shown_value(struct cli *cli, const struct qs_key *key, const char *text)
{
    json_t *value = text ? json_canonical(text, strlen(text)) : NULL;
    secret_mask(cli, &value, key);
    return value;
}

static json_t *value_or_null(struct cli *cli, const struct qs_key *key, const char *text)
{
    return text ? shown_value(cli, key, text) : json_null();
}

static json_t *words_or_null(const char *text)
{
    return text ? json_words(text) : json_null();
}

static json_t *layer_json(struct cli *cli, const struct qs_key *key, enum qs_layer id,
                          const struct qs_explain_layer *layer)
{
    json_t *object = json_object();
    put(cli, object, "layer", json_string(qs_layer_name(id)));
    put(cli, object, "state", json_string(qs_layer_state_name(layer->state)));
    put(cli, object, "value", value_or_null(cli, key, layer->value));
    put(cli, object, "store", words_or_null(layer->store));
    put(cli, object, "generation", layer->generation ? json_integer((json_int_t)layer->generation) : json_null());
    put(cli, object, "silenced", json_boolean(layer->silenced));
    put(cli, object, "locked", json_boolean(layer->locked_here));
    put(cli, object, "line", layer->line ? json_integer(layer->line) : json_null());
    json_t *set = json_null();
    if (layer->user) {
        set = json_object();
        put(cli, set, "user", json_words(layer->user));
        put(cli, set, "generation", json_integer((json_int_t)layer->set_generation));
        put(cli, set, "time", json_time(layer->set_time_s));
    }
    put(cli, object, "set", set);
    return object;
}

static void explain_json(struct cli *cli, const struct qs_key *key, const char *path,
                         const struct qs_explanation *explanation)
{
    json_t *report = json_object(), *layers = json_array();
    for (int id = 0; id < QS_LAYER_COUNT; id++)
        push(cli, layers,
             layer_json(cli, key, (enum qs_layer)id, qs_explanation_layer(explanation, (enum qs_layer)id)));
    put(cli, report, "key", json_words(path));
    put(cli, report, "value", value_or_null(cli, key, explanation->value));
    put(cli, report, "isSet", json_boolean(explanation->value != NULL));
    put(cli, report, "winner",
        explanation->winner >= 0 ? json_string(qs_layer_name((enum qs_layer)explanation->winner)) : json_null());
    put(cli, report, "reason", json_string(qs_reason_name(explanation->reason)));
    put(cli, report, "text", json_words(explanation->text));
    put(cli, report, "layers", layers);
    out_json(cli, report);
}

static void value_text(struct cli *cli, const struct qs_key *key, const char *text)
{
    AUTO(value_release) json_t *value = shown_value(cli, key, text);
    if (!value || value_encode(value, &cli->out, NULL))
        cli->out.failed = true;
}

static void layer_text(struct cli *cli, const struct qs_key *key, enum qs_layer id,
                       const struct qs_explain_layer *layer, bool wins)
{
    char when[TIME_TEXT_BYTES];
    buf_add_str(&cli->out, "  ");
    paint(&cli->out, wins ? PAINT_GOOD : PAINT_END);
    buf_printf(&cli->out, "%-10s ", qs_layer_name(id));
    paint(&cli->out, PAINT_END);
    if (layer->state == QS_LAYER_SET)
        value_text(cli, key, layer->value);
    else
        buf_printf(&cli->out, "(%s)", layer->state == QS_LAYER_ABSENT ? "absent" : "not set");
    if (layer->silenced)
        buf_add_str(&cli->out, "  ignored");
    if (layer->locked_here)
        buf_add_str(&cli->out, "  locks it");
    buf_add_char(&cli->out, '\n');
    if (layer->store && layer->line)
        buf_printf(&cli->out, "             %s:%u\n", layer->store, layer->line);
    else if (layer->store && layer->generation)
        buf_printf(&cli->out, "             %s, generation %llu\n", layer->store,
                   (unsigned long long)layer->generation);
    else if (layer->store)
        buf_printf(&cli->out, "             %s\n", layer->store);
    if (layer->user) {
        buf_printf(&cli->out, "             set in generation %llu by ", (unsigned long long)layer->set_generation);
        plain_text(&cli->out, "", layer->user);
        buf_printf(&cli->out, ", %s\n", time_text(layer->set_time_s, when));
    }
}

static void explain_text(struct cli *cli, const struct qs_key *key, const char *path,
                         const struct qs_explanation *explanation)
{
    paint_text(&cli->out, PAINT_HEAD, path);
    if (explanation->value) {
        buf_add_str(&cli->out, " = ");
        value_text(cli, key, explanation->value);
    } else {
        buf_add_str(&cli->out, " is not set");
    }
    buf_printf(&cli->out, "\n  because %s\n", explanation->text);
    for (int id = QS_LAYER_COUNT - 1; id >= 0; id--) /* strongest first, as people look for the winner */
        layer_text(cli, key, (enum qs_layer)id, qs_explanation_layer(explanation, (enum qs_layer)id),
                   id == explanation->winner);
}

static void explanation_release(struct qs_explanation **explanation)
{
    qs_explanation_free(*explanation);
}

static void note_likeness(const struct cli *cli, const struct qs_settings *settings, const char *path)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    if (!qs_settings_json(settings, NULL, &text, &len, NULL))
        suggest_key_note(cli, text, len, path);
}

enum qs_status cmd_explain(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    struct qs_settings_options options = {.size = sizeof options,
                                          .root = cli->line.root,
                                          .wait_ms = cli->read_wait_ms,
                                          .workspace_file = cli->workspace};
    AUTO_SETTINGS struct qs_settings *settings = NULL;
    AUTO(explanation_release) struct qs_explanation *explanation = NULL;
    struct qs_key key;
    char path[QS_KEY_TEXT_BYTES];
    (void)count;
    cli_note_home(cli);
    enum qs_status status = qs_key_parse(operands[0], &key, err);
    if (!status)
        status = qs_settings_open(&options, &settings, err);
    if (!status)
        status = qs_settings_explain(settings, operands[0], &explanation, err);
    if (status == QS_INVALID)
        error_add_path(err, operands[0]);
    if (status)
        return status;
    for (size_t i = 0; i < qs_settings_warning_count(settings); i++)
        voice_note(&cli->line, NULL, "%s", qs_settings_warning(settings, i));
    qs_key_format(key.bytes, key.len, path, sizeof path);
    if (!explanation->value)
        note_likeness(cli, settings, path);
    if (cli->line.json)
        explain_json(cli, &key, path, explanation);
    else
        explain_text(cli, &key, path, explanation);
    return QS_OK;
}

/* ---- locks ---- */

static enum qs_status locks_of(struct cli *cli, enum qs_scope scope, json_t *list, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO_SNAPSHOT struct qs_snapshot *snapshot = NULL;
    char path[QS_KEY_TEXT_BYTES];
    enum qs_status status = cli_open(cli, scope, &store, err);
    if (!status)
        status = qs_snapshot_take(store, &snapshot, err);
    for (size_t i = 0; !status && i < qs_snapshot_lock_count(snapshot); i++) {
        struct qs_bytes lock = qs_snapshot_lock_at(snapshot, i);
        qs_key_format(lock.data, lock.len, path, sizeof path);
        push(cli, list, json_pack("{s:s,s:s}", "key", path, "scope", qs_scope_name(scope)));
        if (!cli->line.json)
            buf_printf(&cli->out, "%s (%s)\n", path, qs_scope_name(scope));
    }
    return status;
}

enum qs_status cmd_locks(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(value_release) json_t *list = json_array();
    (void)count;
    (void)operands;
    for (enum qs_scope scope = QS_SCOPE_SYSTEM; scope >= QS_SCOPE_DEFAULTS; scope--) {
        if (cli->scope_given && scope != cli->scope)
            continue;
        struct qs_error local = {0};
        enum qs_status status = locks_of(cli, scope, list, &local);
        if (status == QS_ABSENT && !cli->scope_given)
            continue; /* a layer that is not there locks nothing */
        if (status) {
            if (err)
                *err = local;
            return status;
        }
    }
    if (cli->line.json)
        out_json(cli, STEAL(list));
    return QS_OK;
}
