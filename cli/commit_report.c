/* SPDX-License-Identifier: Apache-2.0 */
/* The end of every command that changes a store: commit, report, publish what is registered. */
#include "cli/cli.h"

#include "schema/schema.h"

#include <string.h>

/* A text that was exported without --reveal must not come back as the secret. */
static enum qs_status refuse_covered_secret(const struct qs_change *change, struct qs_error *err)
{
    static const char covered[] = "\"" SECRET_TEXT "\"";
    char path[QS_KEY_TEXT_BYTES];
    if (change->area != QS_AREA_SETTINGS || change->new_value.len != sizeof covered - 1 ||
        memcmp(change->new_value.data, covered, sizeof covered - 1) != 0 ||
        !secret_key(change->key.data, change->key.len))
        return QS_OK;
    error_set(err, QS_INVALID, "%s is the placeholder of a secret that was not shown, not a value", SECRET_TEXT);
    error_add_path(err, change_path(change, path, sizeof path));
    error_add_advice(err, "leave the key out, or export with --reveal");
    return QS_INVALID;
}

/* The change list as paths. */
static enum qs_status changed_paths(struct cli *cli, struct qs_txn *txn, json_t **ret_paths, struct qs_error *err)
{
    char path[QS_KEY_TEXT_BYTES];
    size_t count = 0;
    enum qs_status status = qs_txn_changes(txn, &count, err);
    AUTO(value_release) json_t *paths = json_array();
    if (!paths)
        return error_memory(err);
    for (size_t i = 0; !status && i < count; i++) {
        const struct qs_change *change = qs_txn_change(txn, i);
        push(cli, paths, json_words(change_path(change, path, sizeof path)));
        status = refuse_covered_secret(change, err);
    }
    if (!status)
        *ret_paths = STEAL(paths);
    return status;
}

static void report_text(struct cli *cli, const struct qs_store *store, const struct qs_commit_info *info,
                        const json_t *changed)
{
    const char *name = qs_scope_name(qs_store_scope(store));
    buf_printf(&cli->out, "%s: ", name);
    if (!info->changed)
        buf_printf(&cli->out, "unchanged, generation %llu", (unsigned long long)info->generation);
    else
        buf_printf(&cli->out, "generation %llu, %zu changed", (unsigned long long)info->generation,
                   changed ? json_array_size(changed) : info->change_count);
    if (cli->line.root)
        buf_printf(&cli->out, " (%s)", qs_store_path(store));
    buf_add_char(&cli->out, '\n');
}

void cli_report_commit(struct cli *cli, const struct qs_store *store, const struct qs_commit_info *info,
                       json_t *changed)
{
    AUTO(value_release) json_t *paths = changed;
    cli_note_stored(cli, store, info->generation);
    if (!cli->line.json) {
        report_text(cli, store, info, paths);
        return;
    }
    json_t *report = json_object();
    put(cli, report, "scope", json_scope(cli, store));
    put(cli, report, "generation", json_integer((json_int_t)info->generation));
    put(cli, report, "digest", json_digest(info->digest));
    if (paths)
        put(cli, report, "changed", json_incref(paths));
    out_json(cli, report);
}

void cli_note_stored(struct cli *cli, const struct qs_store *store, uint64_t generation)
{
    cli->stored = (struct cli_stored){qs_scope_name(qs_store_scope(store)), generation, "the report was not printed"};
}

enum qs_status cli_publish_registered(struct cli *cli, struct qs_store *store, const struct qs_commit_info *info,
                                      struct qs_error *err)
{
    size_t written = 0;
    if (info && !info->target_count)
        return QS_OK;
    enum qs_status status = qs_publish_registered(store, &written, err);
    if (status) {
        cli->stored.left = "a registered file was not published";
        error_add_advice(err, "'qsettings publish --list' shows the registered files");
    }
    return status;
}

/* ---- failures ---- */

/* What was asked for is done: the message begins with that, and the status is no other failure's. */
static void make_follow_up(const struct cli_stored *stored, struct qs_error *err)
{
    struct qs_error inner = *err;
    error_set(err, QS_FOLLOW_UP, "%s: generation %llu is stored, but %s: %s", stored->scope,
              (unsigned long long)stored->generation, stored->left, inner.message);
    err->sys_errno = inner.sys_errno;
    memcpy(err->file, inner.file, sizeof err->file);
    memcpy(err->path, inner.path, sizeof err->path);
    memcpy(err->advice, inner.advice, sizeof err->advice);
    err->line = inner.line;
    err->column = inner.column;
}

enum qs_status cli_report_failure(struct cli *cli, enum qs_status status, struct qs_error *err)
{
    const struct cli_stored *stored = &cli->stored;
    if (!stored->scope) {
        voice_error(&cli->line, err);
        return status;
    }
    const char *usual = cli->line.program->advice(err); /* by the status of what failed */
    if (usual)
        error_add_advice(err, "%s", usual);
    make_follow_up(stored, err);
    AUTO(value_release)
    json_t *members =
        json_pack("{s:b,s:s,s:I}", "stored", 1, "scope", stored->scope, "generation", (json_int_t)stored->generation);
    voice_error_with(&cli->line, err, members);
    return QS_FOLLOW_UP;
}

/* Legacy keys, misspelt ones, and what else is accepted but deserves a remark, of the values this commit sets. */
static void note_changes(const struct cli *cli, const struct qs_store *store, const struct qs_txn *txn, size_t count)
{
    AUTO_FREE struct leaf *items = calloc(count ? count : 1, sizeof *items);
    size_t used = 0;
    for (size_t i = 0; items && i < count; i++) {
        const struct qs_change *change = qs_txn_change(txn, i);
        if (change->area == QS_AREA_SETTINGS && change->new_value.data)
            items[used++] = (struct leaf){change->key, change->new_value};
    }
    if (used)
        warn_notes(cli, items, used, schema_flags_of(qs_store_scope(store)));
}

enum qs_status cli_commit(struct cli *cli, struct qs_store *store, struct qs_txn *txn, struct qs_error *err)
{
    struct qs_commit_options options = {.size = sizeof options,
                                        .message = cli->message,
                                        .program = "qsettings",
                                        .if_generation =
                                            cli->if_generation ? cli->if_generation : cli->base_generation};
    struct qs_commit_info info = {.size = sizeof info};
    AUTO(value_release) json_t *changed = NULL;
    enum qs_status status = changed_paths(cli, txn, &changed, err);
    if (!status)
        status = qs_txn_commit(txn, &options, &info, err);
    if (status)
        return status;
    note_changes(cli, store, txn, json_array_size(changed));
    cli_report_commit(cli, store, &info, STEAL(changed));
    return cli_publish_registered(cli, store, &info, err);
}

static void dry_run_json(struct cli *cli, const struct qs_store *store, struct qs_txn *txn, size_t count)
{
    const struct qs_snapshot *base = qs_txn_base(txn);
    json_t *report = json_object(), *changes = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct qs_change *change = qs_txn_change(txn, i);
        push(cli, changes, change_json(cli, change));
    }
    put(cli, report, "scope", json_scope(cli, store));
    put(cli, report, "generation", json_integer((json_int_t)qs_snapshot_generation(base)));
    put(cli, report, "dryRun", json_true());
    put(cli, report, "changed", changes);
    out_json(cli, report);
}

/* What a commit would check of the whole. */
static enum qs_status check_whole(const struct qs_store *store, struct qs_txn *txn, struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    AUTO(value_release) json_t *document = NULL;
    enum qs_status status = qs_txn_get(txn, NULL, &text, &len, err);
    if (!status)
        status = value_decode(text, len, &document, err);
    if (!status)
        status = schema_check_document(document, NULL, schema_flags_of(qs_store_scope(store)), err);
    return status;
}

enum qs_status cli_dry_run(struct cli *cli, const struct qs_store *store, struct qs_txn *txn, struct qs_error *err)
{
    size_t count = 0;
    enum qs_status status = check_whole(store, txn, err);
    if (!status)
        status = qs_txn_changes(txn, &count, err);
    if (status)
        return status;
    if (cli->line.json) {
        dry_run_json(cli, store, txn, count);
        return QS_OK;
    }
    for (size_t i = 0; i < count; i++) {
        const struct qs_change *change = qs_txn_change(txn, i);
        change_text(cli, "", change, &cli->out);
    }
    return QS_OK;
}
