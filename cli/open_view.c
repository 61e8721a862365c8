/* SPDX-License-Identifier: Apache-2.0 */
/* Opening what a reading command looks at. */
#include "cli/open_view.h"

/* One store as of a generation. */
static enum qs_status view_at(struct cli *cli, const char *generation, struct qs_snapshot **ret_snapshot,
                              struct qs_error *err)
{
    struct qs_store *store AUTO(auto_store) = NULL;
    struct qs_history *history AUTO(auto_history) = NULL;
    uint64_t number = 0;
    enum qs_status status = options_number("a generation", generation, &number, err);
    if (status == QS_OK)
        status = cli_open_one(cli, &store, err);
    if (status == QS_OK)
        status = qs_history_open(store, &history, err);
    if (status == QS_OK)
        status = qs_history_at(history, number, ret_snapshot, err);
    return status;
}

static enum qs_status open_effective(struct cli *cli, struct qs_settings **ret_settings, struct qs_error *err)
{
    struct qs_settings_options options = {.size = sizeof options,
                                          .root = cli->root,
                                          .wait_ms = cli->read_wait_ms,
                                          .workspace_file = cli->given[OPT_WORKSPACE]};
    cli_note_home(cli);
    enum qs_status status = qs_settings_open(&options, ret_settings, err);
    for (size_t i = 0; status == QS_OK && i < qs_settings_warning_count(*ret_settings); i++)
        warn(cli, NULL, "%s", qs_settings_warning(*ret_settings, i));
    return status;
}

enum qs_status cli_view_open(struct cli *cli, struct cli_view *ret_view, struct qs_error *err)
{
    bool one = cli->scope_given || cli->given[OPT_AT];
    if (one && cli->given[OPT_WORKSPACE])
        return error_set(err, QS_USAGE, "--workspace is a layer of the effective settings; it goes with no scope");
    if (cli->given[OPT_AT])
        return view_at(cli, cli->given[OPT_AT], &ret_view->snapshot, err);
    if (one)
        return cli_snapshot(cli, &ret_view->snapshot, err);
    return open_effective(cli, &ret_view->settings, err);
}

void cli_view_release(struct cli_view *view)
{
    qs_snapshot_unref(view->snapshot);
    qs_settings_close(view->settings);
}

enum qs_status cli_view_json(const struct cli_view *view, const char *key, char **ret_text, size_t *ret_len,
                             struct qs_error *err)
{
    if (view->snapshot)
        return qs_snapshot_json(view->snapshot, key, ret_text, ret_len, err);
    return qs_settings_json(view->settings, key, ret_text, ret_len, err);
}

void cli_view_put_source(struct cli *cli, const struct cli_view *view, const char *key, json_t *report)
{
    int winner = -1;
    uint64_t generation = 0;
    const char *scope = "effective";
    if (view->snapshot) {
        scope = qs_scope_name(qs_snapshot_scope(view->snapshot));
        generation = qs_snapshot_generation(view->snapshot);
    } else if (key && qs_settings_origin(view->settings, key, &winner, &generation, NULL) == QS_OK && winner >= 0) {
        scope = qs_layer_name((enum qs_layer)winner);
    }
    put(cli, report, "scope", json_string(scope));
    put(cli, report, "generation", generation ? json_integer((json_int_t)generation) : json_null());
}
