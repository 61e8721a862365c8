/* SPDX-License-Identifier: Apache-2.0 */
/* Every option of qsettings, once. */
#include "cli/cli.h"

#include <string.h>

bool scope_by_name(const char *name, enum qs_scope *ret_scope)
{
    for (enum qs_scope scope = QS_SCOPE_DEFAULTS; scope <= QS_SCOPE_SYSTEM; scope++)
        if (strcmp(name, qs_scope_name(scope)) == 0) {
            *ret_scope = scope;
            return true;
        }
    return false;
}

/* --system, --user and --defaults without a value, --scope with one */
static enum qs_status take_scope(struct cli *cli, const struct option_row *row, const char *value, struct qs_error *err)
{
    enum qs_scope scope = QS_SCOPE_USER;
    (void)!scope_by_name(value ? value : row->name, &scope); /* the table names no other */
    if (cli->scope_given && cli->scope != scope)
        return error_set(err, QS_USAGE, "two scopes are given, '%s' and '%s'", qs_scope_name(cli->scope),
                         qs_scope_name(scope));
    cli->scope_given = true;
    cli->scope = scope;
    return QS_OK;
}

static enum qs_status take_required(struct cli *cli, const struct option_row *row, const char *value,
                                    struct qs_error *err)
{
    enum qs_scope scope = QS_SCOPE_USER;
    (void)row;
    (void)err;
    (void)!scope_by_name(value, &scope);
    cli->require_scopes |= 1u << scope;
    return QS_OK;
}

static enum qs_status take_wait(struct cli *cli, const struct option_row *row, const char *value, struct qs_error *err)
{
    (void)row;
    (void)value;
    (void)err;
    cli->wait_ms = (unsigned)(cli->wait_s * 1000);
    cli->read_wait_ms = cli->wait_ms ? cli->wait_ms : 1;
    return QS_OK;
}

#define SCOPE_NAMES "system|user|defaults"

const struct option_row option_table[] = {
    /* which store, and how to print */
    {.name = "system", .take = take_scope, .help = "the system store, which is mandatory and overrides all others"},
    {.name = "user", .take = take_scope, .help = "the user's own store"},
    {.name = "defaults", .take = take_scope, .help = "the store of defaults, which users may override"},
    {.name = "scope", .value = SCOPE_NAMES, .take = take_scope, .help = "the same, by name"},
    {.name = "wait",
     SLOT(wait_s),
     .value = "SECONDS",
     .max = 1000000,
     .take = take_wait,
     .help = "how long to wait for a lock, or for a store that keeps changing (10)"},
    {.name = "no-pager", SLOT(no_pager), .help = "print long output without a pager"},
    /* reading */
    {.name = "default", SLOT(default_value), .value = "V", .help = "print V if the key is not set"},
    {.name = "at",
     SLOT(at),
     .value = "GEN",
     .min = 1,
     .offer = offer_generations,
     .help = "as of generation GEN of one store"},
    {.name = "keys", SLOT(keys), .help = "print only the keys"},
    {.name = "reveal", SLOT(reveal), .help = "show secret values instead of " SECRET_TEXT},
    {.name = "workspace",
     SLOT(workspace),
     .value = "FILE",
     .help = "add a project's settings file as a layer (never policy)"},
    {.name = "format", SLOT(format), .value = "json|yaml", .help = "the format, if the file's name does not show it"},
    {.name = "once", SLOT(once), .help = "end after the first new generation"},
    {.name = "from",
     SLOT(from),
     .value = "GEN",
     .min = 1,
     .offer = offer_generations,
     .help = "start after generation GEN of one store"},
    {.name = "exec", SLOT(exec), .value = "CMD", .help = "run CMD with sh for each new generation"},
    {.name = "json-schema", SLOT(json_schema), .help = "print the whole schema as a JSON Schema document"},
    /* history */
    {.name = "number", .letter = 'n', SLOT(limit), .value = "N", .help = "show at most the N newest"},
    {.name = "exit-code", SLOT(exit_code), .help = "exit with 1 if there is a difference"},
    /* writing */
    {.name = "type", SLOT(type), .value = "string|json", .help = "take every VALUE as a string, or as JSON"},
    {.name = "replace", SLOT(replace), .help = "replace the whole scope by the document instead of merging it"},
    {.name = "dry-run", SLOT(dry_run), .help = "print what would change, and change nothing"},
    {.name = "yes", SLOT(yes), .help = "do it, instead of showing what would be done"},
    {.name = "message", .letter = 'm', SLOT(message), .value = "TEXT", .help = "the reason, kept in the history"},
    {.name = "if-generation",
     SLOT(if_generation),
     .value = "N",
     .min = 1,
     .help = "refuse unless the store is at generation N"},
    {.name = "if-absent", SLOT(if_absent), .help = "fail with status 8 if the element is there already"},
    {.name = "require-policy", SLOT(require_policy), .help = "from now on, readers fail unless a policy is set"},
    {.name = "no-require", SLOT(no_require), .help = "do not require the system store to exist"},
    {.name = "off", SLOT(off), .help = "remove the requirement"},
    {.name = "policy", SLOT(of_policy), .help = "require a policy instead of the store"},
    {.name = "require",
     .value = SCOPE_NAMES,
     .take = take_required,
     .help = "fail unless this store exists (may be repeated)"},
    /* files */
    {.name = "force", SLOT(force), .help = "overwrite FILE"},
    {.name = "check", SLOT(check), .help = "show what differs from FILE and exit with 1; write nothing"},
    {.name = "on-commit", SLOT(on_commit), .help = "register FILE, so that every commit publishes it"},
    {.name = "list", SLOT(list), .help = "list the registered files"},
    {.name = "remove", SLOT(remove), .help = "unregister FILE, which stays as it is"},
    {.name = "for", SLOT(reader), .value = "qwen", .help = "leave out what this program would refuse to read"},
    {.name = "adopt", SLOT(adopt), .help = "merge edits of FILE into the store, as a commit"},
    {.name = "backup", SLOT(backup), .help = "keep the old file as FILE.bak"},
    {.name = "dangling", SLOT(dangling), .help = "if FILE is a link to nothing, create its target"},
    {.name = "hard-linked",
     SLOT(hard_linked),
     .help = "write even if FILE has other names, which keep the old content"},
    {.name = "other-owner",
     SLOT(other_owner),
     .help = "write even if FILE, or for root its directory, is another user's"},
    {.name = "new-only", SLOT(new_only), .help = "refuse if FILE exists"},
    {0},
};

enum qs_text_format cli_format(const struct cli *cli)
{
    if (!cli->format)
        return QS_FORMAT_AUTO;
    return strcmp(cli->format, "json") == 0 ? QS_FORMAT_JSON : QS_FORMAT_YAML;
}
