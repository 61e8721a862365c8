/* SPDX-License-Identifier: Apache-2.0 */
/* Which store a command means, and what a reading command looks at: one store, an older generation, all layers. */
#include "cli/cli.h"

#include "text/element.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

/* The environment moves no store; where it would have, with programs that follow it, people are told. */
void cli_note_home(struct cli *cli)
{
    const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
    AUTO_FREE char *usual = NULL;
    if (cli->line.root ||
        cli->home_noted) /* before the password database is asked, which costs as much as three stores */
        return;
    const struct passwd *entry = getpwuid(geteuid());
    if (!entry || !entry->pw_dir)
        return;
    cli->home_noted = true;
    if (home && strcmp(home, entry->pw_dir) != 0)
        voice_note(&cli->line, NULL, "HOME is %s, but the user store is that of %s, below %s", home, entry->pw_name,
                   entry->pw_dir);
    if (asprintf(&usual, "%s/.config", entry->pw_dir) < 0) {
        usual = NULL;
        return;
    }
    if (config && config[0] && strcmp(config, usual) != 0)
        voice_note(&cli->line, NULL, "XDG_CONFIG_HOME is %s, but the user store stays below %s", config, usual);
}

enum qs_status cli_open(struct cli *cli, enum qs_scope scope, struct qs_store **ret_store, struct qs_error *err)
{
    struct qs_store_options options = {.size = sizeof options, .root = cli->line.root, .wait_ms = cli->read_wait_ms};
    if (scope == QS_SCOPE_USER)
        cli_note_home(cli);
    return qs_store_open(scope, &options, ret_store, err);
}

enum qs_status cli_open_one(struct cli *cli, struct qs_store **ret_store, struct qs_error *err)
{
    if (cli->scope_given)
        return cli_open(cli, cli->scope, ret_store, err);
    if (geteuid() != 0)
        return cli_open(cli, QS_SCOPE_USER, ret_store, err);
    if ((cli->line.command->flags & SCOPE_WRITE))
        error_set(err, QS_UNTRUSTED, "root must name the store to write, since it would be root's own without a scope");
    else
        error_set(err, QS_USAGE, "root must name the store");
    error_add_advice(err, "give --system, --defaults or --user");
    return (cli->line.command->flags & SCOPE_WRITE) ? QS_UNTRUSTED : QS_USAGE;
}

enum qs_status cli_snapshot(struct cli *cli, struct qs_snapshot **ret_snapshot, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    enum qs_status status = cli_open_one(cli, &store, err);
    return status ? status : qs_snapshot_take(store, ret_snapshot, err);
}

enum qs_status cli_begin(struct cli *cli, struct qs_store **ret_store, struct qs_txn **ret_txn, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    enum qs_status status = cli_open_one(cli, &store, err);
    if (!status)
        status = qs_txn_begin(store, cli->wait_ms, ret_txn, err);
    if (status == QS_ABSENT)
        error_add_advice(err, "create it with 'qsettings --%s init'", qs_scope_name(qs_store_scope(store)));
    if (!status)
        *ret_store = STEAL(store);
    return status;
}

/* ---- what a reading command looks at ---- */

/* One store as of a generation. */
static enum qs_status view_at(struct cli *cli, uint64_t generation, struct qs_snapshot **ret_snapshot,
                              struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO_HISTORY struct qs_history *history = NULL;
    enum qs_status status = cli_open_one(cli, &store, err);
    if (!status)
        status = qs_history_open(store, &history, err);
    return status ? status : qs_history_at(history, generation, ret_snapshot, err);
}

static enum qs_status open_effective(struct cli *cli, struct qs_settings **ret_settings, struct qs_error *err)
{
    struct qs_settings_options options = {.size = sizeof options,
                                          .root = cli->line.root,
                                          .wait_ms = cli->read_wait_ms,
                                          .workspace_file = cli->workspace};
    cli_note_home(cli);
    enum qs_status status = qs_settings_open(&options, ret_settings, err);
    for (size_t i = 0; !status && i < qs_settings_warning_count(*ret_settings); i++)
        voice_note(&cli->line, NULL, "%s", qs_settings_warning(*ret_settings, i));
    return status;
}

enum qs_status cli_view_open(struct cli *cli, struct cli_view *ret_view, struct qs_error *err)
{
    bool one = cli->scope_given || cli->at;
    if (one && cli->workspace)
        return error_set(err, QS_USAGE,
                         "option '--workspace' adds a layer to the effective settings, and goes with no scope");
    if (cli->at)
        return view_at(cli, cli->at, &ret_view->snapshot, err);
    if (one)
        return cli_snapshot(cli, &ret_view->snapshot, err);
    return open_effective(cli, &ret_view->settings, err);
}

void cli_view_release(struct cli_view *view)
{
    qs_snapshot_unref(view->snapshot);
    qs_settings_close(view->settings);
}

static enum qs_status view_json(const struct cli_view *view, const char *key, char **ret_text, size_t *ret_len,
                                struct qs_error *err)
{
    if (view->snapshot)
        return qs_snapshot_json(view->snapshot, key, ret_text, ret_len, err);
    return qs_settings_json(view->settings, key, ret_text, ret_len, err);
}

/* What the key names inside an array, which is stored whole. err has "not found" already. */
static enum qs_status json_inside(const struct cli_view *view, const char *key, char **ret_text, size_t *ret_len,
                                  struct qs_error *err)
{
    struct qs_key whole;
    struct qs_key prefix;
    char path[QS_KEY_TEXT_BYTES];
    if (qs_key_parse(key, &whole, NULL))
        return QS_NOT_FOUND;
    prefix = whole;
    for (qs_key_pop(&prefix); prefix.len; qs_key_pop(&prefix)) {
        AUTO_FREE char *text = NULL;
        AUTO(value_release) json_t *value = NULL;
        size_t len = 0;
        qs_key_format(prefix.bytes, prefix.len, path, sizeof path);
        enum qs_status status = view_json(view, path, &text, &len, NULL);
        if (status == QS_NOT_FOUND)
            continue;
        if (!status)
            status = value_decode(text, len, &value, err);
        if (status)
            return status;
        struct qs_bytes rest = {whole.bytes + prefix.len + 1, whole.len - prefix.len - 1};
        json_t *found = json_is_array(value) ? element_find(value, rest) : NULL;
        return found ? value_encode_text(found, ret_text, ret_len, err) : QS_NOT_FOUND;
    }
    return QS_NOT_FOUND;
}

enum qs_status cli_view_json(const struct cli_view *view, const char *key, char **ret_text, size_t *ret_len,
                             struct qs_error *err)
{
    enum qs_status status = view_json(view, key, ret_text, ret_len, err);
    return status == QS_NOT_FOUND && key ? json_inside(view, key, ret_text, ret_len, err) : status;
}

void cli_view_put_source(struct cli *cli, const struct cli_view *view, const char *key, json_t *report)
{
    int winner = -1;
    uint64_t generation = 0;
    const char *scope = "effective";
    if (view->snapshot) {
        scope = qs_scope_name(qs_snapshot_scope(view->snapshot));
        generation = qs_snapshot_generation(view->snapshot);
    } else if (key && !qs_settings_origin(view->settings, key, &winner, &generation, NULL) && winner >= 0) {
        scope = qs_layer_name((enum qs_layer)winner);
    }
    put(cli, report, "scope", json_string(scope));
    put(cli, report, "generation", generation ? json_integer((json_int_t)generation) : json_null());
}
