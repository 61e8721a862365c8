/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that read settings: get, list, export. */
#include "cli/cli.h"

#include "text/doc.h"

#include <stdio.h>
#include <string.h>

/* ---- get ---- */

static void print_value(struct cli *cli, const struct cli_view *view, const char *path, json_t *value)
{
    if (cli->line.json) {
        json_t *report = json_object();
        put(cli, report, "key", json_words(path));
        put(cli, report, "value", json_incref(value));
        cli_view_put_source(cli, view, path, report);
        out_json(cli, report);
    } else if (json_is_string(value)) {
        buf_add(&cli->out, json_string_value(value), json_string_length(value));
        buf_add_char(&cli->out, '\n');
    } else if (json_is_object(value) || json_is_array(value)) {
        out_json(cli, json_incref(value));
    } else {
        out_json_line(cli, json_incref(value));
    }
}

/* A default is JSON where it parses, else a string, as VALUE of set is. */
static enum qs_status default_value(const char *text, json_t **ret_value, struct qs_error *err)
{
    if (!value_decode(text, strlen(text), ret_value, NULL))
        return QS_OK;
    *ret_value = json_string(text);
    return *ret_value ? QS_OK : error_set(err, QS_INVALID, "the default is not UTF-8");
}

static void suggest_from_view(const struct cli_view *view, const char *path, struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    if (!view->snapshot && !view->settings)
        return;
    if (cli_view_json(view, NULL, &text, &len, NULL))
        len = 0;
    suggest_key(text, len, path, err);
}

enum qs_status cmd_get(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(cli_view_release) struct cli_view view = {0};
    AUTO(value_release) json_t *value = NULL;
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    (void)count;
    bool append = false;
    AUTO_FREE char *plain = element_key(operands[0], &append);
    if (!plain || append)
        return plain ? error_set(err, QS_USAGE, "[+] names no element that can be read") : error_memory(err);
    enum qs_status status = cli_view_open(cli, &view, err);
    if (!status)
        status = cli_view_json(&view, plain, &text, &len, err);
    if (status == QS_NOT_FOUND && cli->default_value && (view.snapshot || view.settings))
        status = default_value(cli->default_value, &value, err);
    else if (!status)
        status = value_decode(text, len, &value, err);
    else if (status == QS_NOT_FOUND)
        suggest_from_view(&view, operands[0], err);
    if (status) {
        if (status == QS_NOT_FOUND || status == QS_INVALID)
            error_add_path(err, operands[0]);
        return status;
    }
    print_value(cli, &view, operands[0], value);
    return QS_OK;
}

/* ---- list ---- */

static enum qs_status list_leaves(struct cli *cli, const struct cli_view *view, const char *prefix,
                                  struct leaves *ret_leaves, struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    struct qs_key key = {0};
    AUTO(value_release) json_t *value = NULL;
    enum qs_status status = prefix ? qs_key_parse(prefix, &key, err) : QS_OK;
    if (!status)
        status = cli_view_json(view, prefix, &text, &len, err);
    if (!status)
        status = value_decode(text, len, &value, err);
    if (!status) {
        secret_mask(cli, &value, prefix ? &key : NULL);
        status = flatten_value(value, prefix ? &key : NULL, NULL, ret_leaves, err);
    }
    if (status == QS_NOT_FOUND && prefix)
        suggest_from_view(view, prefix, err);
    if (status && prefix)
        error_add_path(err, prefix);
    return status;
}

static void list_text(struct cli *cli, const struct leaves *leaves)
{
    char path[QS_KEY_TEXT_BYTES];
    for (size_t i = 0; i < leaves->count; i++) {
        const struct leaf *leaf = &leaves->items[i];
        paint_text(&cli->out, PAINT_HEAD, qs_key_format(leaf->key.data, leaf->key.len, path, sizeof path));
        if (!cli->keys) {
            buf_add_str(&cli->out, " = ");
            buf_add(&cli->out, leaf->value.data, leaf->value.len);
        }
        buf_add_char(&cli->out, '\n');
    }
}

static void list_json(struct cli *cli, const struct cli_view *view, const struct leaves *leaves)
{
    char path[QS_KEY_TEXT_BYTES];
    bool keys_only = cli->keys;
    json_t *report = json_object(), *settings = keys_only ? json_array() : json_object();
    for (size_t i = 0; i < leaves->count; i++) {
        const struct leaf *leaf = &leaves->items[i];
        if (keys_only)
            push(cli, settings, json_key(leaf->key));
        else
            put(cli, settings, qs_key_format(leaf->key.data, leaf->key.len, path, sizeof path),
                json_canonical(leaf->value.data, leaf->value.len));
    }
    cli_view_put_source(cli, view, NULL, report);
    put(cli, report, keys_only ? "keys" : "settings", settings);
    out_json(cli, report);
}

enum qs_status cmd_list(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(cli_view_release) struct cli_view view = {0};
    AUTO(leaves_release) struct leaves leaves = {0};
    enum qs_status status = cli_view_open(cli, &view, err);
    if (!status)
        status = list_leaves(cli, &view, count ? operands[0] : NULL, &leaves, err);
    if (status)
        return status;
    if (cli->line.json)
        list_json(cli, &view, &leaves);
    else
        list_text(cli, &leaves);
    return QS_OK;
}

/* ---- export ---- */

enum qs_status cmd_export(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(cli_view_release) struct cli_view view = {0};
    AUTO(value_release) json_t *document = NULL;
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    (void)count;
    (void)operands;
    enum qs_text_format format = cli_format(cli);
    if (format == QS_FORMAT_YAML && cli->line.json)
        return error_set(err, QS_USAGE, "options '--json' and '--format yaml' exclude each other");
    enum qs_status status = cli_view_open(cli, &view, err);
    if (!status)
        status = cli_view_json(&view, NULL, &text, &len, err);
    if (!status)
        status = value_decode(text, len, &document, err);
    if (status)
        return status;
    secret_mask(cli, &document, NULL);
    if (format == QS_FORMAT_YAML)
        return value_encode_yaml(document, &cli->out, err);
    out_json(cli, json_incref(document));
    return QS_OK;
}
