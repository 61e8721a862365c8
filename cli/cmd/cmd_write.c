/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that create a store and change it: init, require, unset, apply, lock, unlock. */
#include "cli/cli.h"

#include <string.h>

enum qs_status cmd_init(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    struct qs_init_options options = {.size = sizeof options,
                                      .require_policy = cli->require_policy,
                                      .no_require_store = cli->no_require,
                                      .message = cli->message};
    AUTO_STORE struct qs_store *store = NULL;
    (void)count;
    (void)operands;
    enum qs_status status = cli_open_one(cli, &store, err);
    if (!status)
        status = qs_store_init(store, &options, err);
    if (status)
        return status;
    bool system = qs_store_scope(store) == QS_SCOPE_SYSTEM;
    if (!cli->line.json) {
        buf_printf(&cli->out, "%s: created in %s, generation 1\n", qs_scope_name(qs_store_scope(store)),
                   qs_store_path(store));
        if (system && !options.no_require_store)
            buf_add_str(&cli->out, "from now on the system store must exist (require-system)\n");
        if (options.require_policy)
            buf_add_str(&cli->out, "from now on a policy must be set (require-policy)\n");
        return QS_OK;
    }
    json_t *report = json_object();
    put(cli, report, "scope", json_scope(cli, store));
    put(cli, report, "store", json_words(qs_store_path(store)));
    put(cli, report, "generation", json_integer(1));
    put(cli, report, "requireStore", json_boolean(system && !options.no_require_store));
    put(cli, report, "requirePolicy", json_boolean(options.require_policy));
    out_json(cli, report);
    return QS_OK;
}

/* require --policy: a flag in the store, by a commit. */
static enum qs_status require_policy(struct cli *cli, bool required, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO_TXN struct qs_txn *txn = NULL;
    enum qs_status status = cli_begin(cli, &store, &txn, err);
    if (!status)
        status = qs_txn_require_policy(txn, required, err);
    return status ? status : cli_commit(cli, store, txn, err);
}

enum qs_status cmd_require(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    bool required = !cli->off;
    AUTO_STORE struct qs_store *store = NULL;
    (void)count;
    (void)operands;
    if (cli->of_policy)
        return require_policy(cli, required, err);
    enum qs_status status = cli_open_one(cli, &store, err);
    if (!status)
        status = qs_store_require(store, required, err);
    if (status)
        return status;
    if (!cli->line.json) {
        buf_printf(&cli->out, "%s: the store %s\n", qs_scope_name(qs_store_scope(store)),
                   required ? "must exist from now on" : "may be missing from now on");
        return QS_OK;
    }
    json_t *report = json_object();
    put(cli, report, "scope", json_scope(cli, store));
    put(cli, report, "requireStore", json_boolean(required));
    out_json(cli, report);
    return QS_OK;
}

static void suggest_from_txn(struct qs_txn *txn, const char *path, struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    if (!qs_txn_get(txn, NULL, &text, &len, NULL))
        suggest_key(text, len, path, err);
}

/* A lock may stand on what nobody has set yet; one on a misspelt key locks nothing. */
static void note_lock(struct cli *cli, struct qs_txn *txn, const char *path)
{
    AUTO_FREE char *here = NULL, *text = NULL;
    size_t len = 0;
    if (qs_txn_get(txn, path, &here, &len, NULL) && !qs_txn_get(txn, NULL, &text, &len, NULL))
        suggest_key_note(cli, text, len, path);
}

typedef enum qs_status key_call(struct qs_txn *txn, const char *key, struct qs_error *err);

static enum qs_status each_key_of(struct qs_txn *txn, int count, char **operands, key_call *call, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (int i = 0; !status && i < count; i++) {
        bool append = false;
        AUTO_FREE char *plain = element_key(operands[i], &append);
        if (!plain || append)
            return plain ? error_set(err, QS_USAGE, "[+] names no element that is there") : error_memory(err);
        status = call(txn, plain, err);
        if (status == QS_NOT_FOUND)
            suggest_from_txn(txn, operands[i], err);
        if (status)
            error_add_path(err, operands[i]);
    }
    return status;
}

/* One call for each operand, all in one transaction. */
static enum qs_status each_key(struct cli *cli, int count, char **operands, key_call *call, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO_TXN struct qs_txn *txn = NULL;
    enum qs_status status = cli_begin(cli, &store, &txn, err);
    if (!status)
        status = each_key_of(txn, count, operands, call, err);
    return status ? status : cli_commit(cli, store, txn, err);
}

enum qs_status cmd_unset(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    return each_key(cli, count, operands, qs_txn_unset, err);
}

enum qs_status cmd_lock(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO_TXN struct qs_txn *txn = NULL;
    enum qs_status status = cli_begin(cli, &store, &txn, err);
    if (!status)
        status = each_key_of(txn, count, operands, qs_txn_lock, err);
    for (int i = 0; !status && i < count; i++)
        note_lock(cli, txn, operands[i]);
    return status ? status : cli_commit(cli, store, txn, err);
}

enum qs_status cmd_unlock(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    return each_key(cli, count, operands, qs_txn_unlock, err);
}

enum qs_status cmd_apply(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO_TXN struct qs_txn *txn = NULL;
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    const char *name = strcmp(operands[0], "-") == 0 ? "standard input" : operands[0];
    (void)count;
    enum qs_status status = input_read(operands[0], QS_DOCUMENT_MAX_BYTES, &text, &len, err);
    if (!status)
        status = cli_begin(cli, &store, &txn, err);
    if (!status)
        status = qs_txn_apply(txn, name, text, len, cli_format(cli), cli->replace, err);
    if (status)
        return status;
    return cli->dry_run ? cli_dry_run(cli, store, txn, err) : cli_commit(cli, store, txn, err);
}
