/* SPDX-License-Identifier: Apache-2.0 */
/* Which store a command means, opening it, and releasing what commands hold. */
#include "cli/cli.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

void auto_store(struct qs_store **store)
{
    qs_store_close(*store);
}

void auto_snapshot(struct qs_snapshot **snapshot)
{
    qs_snapshot_unref(*snapshot);
}

void auto_txn(struct qs_txn **txn)
{
    qs_txn_free(*txn);
}

void auto_history(struct qs_history **history)
{
    qs_history_close(*history);
}

void auto_settings(struct qs_settings **settings)
{
    qs_settings_close(*settings);
}

/* The environment moves no store; where it would have, with programs that follow it, people are told. */
void cli_note_home(struct cli *cli)
{
    const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
    char *usual AUTO_FREE = NULL;
    if (cli->root || cli->home_noted) /* before the password database is asked, which costs as much as three stores */
        return;
    const struct passwd *entry = getpwuid(geteuid());
    if (!entry || !entry->pw_dir)
        return;
    cli->home_noted = true;
    if (home && strcmp(home, entry->pw_dir) != 0)
        warn(cli, NULL, "HOME is %s, but the user store is that of %s, below %s", home, entry->pw_name, entry->pw_dir);
    if (asprintf(&usual, "%s/.config", entry->pw_dir) < 0) {
        usual = NULL;
        return;
    }
    if (config && config[0] && strcmp(config, usual) != 0)
        warn(cli, NULL, "XDG_CONFIG_HOME is %s, but the user store stays below %s", config, usual);
}

enum qs_status cli_open(struct cli *cli, enum qs_scope scope, struct qs_store **ret_store, struct qs_error *err)
{
    struct qs_store_options options = {.size = sizeof options, .root = cli->root, .wait_ms = cli->read_wait_ms};
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
    if (cli->command->scope == SCOPE_WRITE)
        error_set(err, QS_UNTRUSTED, "root must say which store to write; without a scope it would be root's own");
    else
        error_set(err, QS_USAGE, "root must say which store is meant");
    error_add_advice(err, "give --system, --defaults or --user");
    return cli->command->scope == SCOPE_WRITE ? QS_UNTRUSTED : QS_USAGE;
}

enum qs_status cli_snapshot(struct cli *cli, struct qs_snapshot **ret_snapshot, struct qs_error *err)
{
    struct qs_store *store AUTO(auto_store) = NULL;
    enum qs_status status = cli_open_one(cli, &store, err);
    return status == QS_OK ? qs_snapshot_take(store, ret_snapshot, err) : status;
}

enum qs_status cli_begin(struct cli *cli, struct qs_store **ret_store, struct qs_txn **ret_txn, struct qs_error *err)
{
    struct qs_store *store AUTO(auto_store) = NULL;
    enum qs_status status = cli_open_one(cli, &store, err);
    if (status == QS_OK)
        status = qs_txn_begin(store, cli->wait_ms, ret_txn, err);
    if (status == QS_ABSENT)
        error_add_advice(err, "create it with `qsettings --%s init`", qs_scope_name(qs_store_scope(store)));
    if (status == QS_OK)
        *ret_store = STEAL(store);
    return status;
}
