/* SPDX-License-Identifier: Apache-2.0 */
/* diff, rollback, purge: comparing generations, going back to one, taking a value out of all of them. */
#include "cli/cli.h"

#include "terminal/progress.h"
#include "text/key_path.h"

#include <string.h>

/* ---- diff ---- */

/* Prints a change, or collects it. */
struct diff {
    struct cli *cli;
    json_t *list; /* with --json */
    size_t count;
};

static void diff_change(struct diff *diff, const struct qs_change *change)
{
    diff->count++;
    if (diff->cli->line.json)
        push(diff->cli, diff->list, change_json(diff->cli, change));
    else
        change_text(diff->cli, "", change, &diff->cli->out);
}

static bool same_bytes(struct qs_bytes a, struct qs_bytes b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

/* Both snapshots in the store's order, side by side. */
static void diff_settings(struct diff *diff, const struct qs_snapshot *a, const struct qs_snapshot *b)
{
    struct qs_iter left = qs_snapshot_iter(a, NULL), right = qs_snapshot_iter(b, NULL);
    struct qs_bytes key_a, key_b, value_a, value_b;
    bool more_a = qs_iter_next(&left, &key_a, &value_a), more_b = qs_iter_next(&right, &key_b, &value_b);
    while (more_a || more_b) {
        int order = !more_a ? 1 : !more_b ? -1 : key_compare(key_a.data, key_a.len, key_b.data, key_b.len);
        struct qs_change change = {.area = QS_AREA_SETTINGS, .key = order <= 0 ? key_a : key_b};
        if (order <= 0)
            change.old_value = value_a;
        if (order >= 0)
            change.new_value = value_b;
        if (order != 0 || !same_bytes(value_a, value_b))
            diff_change(diff, &change);
        if (order <= 0)
            more_a = qs_iter_next(&left, &key_a, &value_a);
        if (order >= 0)
            more_b = qs_iter_next(&right, &key_b, &value_b);
    }
}

static bool has_lock(const struct qs_snapshot *snapshot, struct qs_bytes lock)
{
    for (size_t i = 0; i < qs_snapshot_lock_count(snapshot); i++)
        if (same_bytes(qs_snapshot_lock_at(snapshot, i), lock))
            return true;
    return false;
}

static void diff_locks(struct diff *diff, const struct qs_snapshot *a, const struct qs_snapshot *b)
{
    static const struct qs_bytes locked = {"true", 4};
    for (size_t i = 0; i < qs_snapshot_lock_count(a); i++) {
        struct qs_bytes lock = qs_snapshot_lock_at(a, i);
        if (!has_lock(b, lock))
            diff_change(diff, &(struct qs_change){.area = QS_AREA_LOCKS, .key = lock, .old_value = locked});
    }
    for (size_t i = 0; i < qs_snapshot_lock_count(b); i++) {
        struct qs_bytes lock = qs_snapshot_lock_at(b, i);
        if (!has_lock(a, lock))
            diff_change(diff, &(struct qs_change){.area = QS_AREA_LOCKS, .key = lock, .new_value = locked});
    }
}

/* The generation before the newest; repair and restore leave gaps, so it is looked up. */
static enum qs_status previous_generation(struct qs_history *history, uint64_t *ret_generation, struct qs_error *err)
{
    const struct qs_record *record = NULL;
    size_t count = qs_history_count(history);
    if (count < 2)
        return error_set(err, QS_NOT_FOUND, "there is only one generation, and nothing to compare it with");
    enum qs_status status = qs_history_record(history, count - 2, &record, err);
    if (!status)
        *ret_generation = record->generation;
    return status;
}

/* A and B where they were given; else the newest but one, and the newest. */
static enum qs_status diff_sides(struct qs_history *history, int count, char **operands, struct qs_snapshot **ret_a,
                                 struct qs_snapshot **ret_b, struct qs_error *err)
{
    uint64_t a = 0, b = qs_snapshot_generation(qs_history_snapshot(history));
    enum qs_status status =
        count > 0 ? command_line_number("a generation", operands[0], &a, err) : previous_generation(history, &a, err);
    if (!status && count > 1)
        status = command_line_number("a generation", operands[1], &b, err);
    if (!status)
        status = qs_history_at(history, a, ret_a, err);
    if (!status)
        status = qs_history_at(history, b, ret_b, err);
    return status;
}

enum qs_status cmd_diff(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO_HISTORY struct qs_history *history = NULL;
    AUTO_SNAPSHOT struct qs_snapshot *a = NULL;
    AUTO_SNAPSHOT struct qs_snapshot *b = NULL;
    struct diff diff = {.cli = cli};
    enum qs_status status = cli_open_one(cli, &store, err);
    if (!status)
        status = qs_history_open(store, &history, err);
    if (!status)
        status = diff_sides(history, count, operands, &a, &b, err);
    if (status)
        return status;
    diff.list = cli->line.json ? json_array() : NULL;
    diff_settings(&diff, a, b);
    diff_locks(&diff, a, b);
    if (cli->line.json)
        out_json(cli, diff.list);
    if (diff.count > 0 && cli->exit_code)
        cli->exit_status = 1;
    return QS_OK;
}

/* ---- rollback, purge ---- */

enum qs_status cmd_rollback(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO_TXN struct qs_txn *txn = NULL;
    uint64_t generation = 0;
    (void)count;
    enum qs_status status = command_line_number("a generation", operands[0], &generation, err);
    if (!status)
        status = cli_begin(cli, &store, &txn, err);
    if (!status)
        status = qs_txn_rollback(txn, generation, err);
    if (status)
        return status;
    return cli->dry_run ? cli_dry_run(cli, store, txn, err) : cli_commit(cli, store, txn, err);
}

enum qs_status cmd_purge(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    struct qs_commit_info info = {.size = sizeof info};
    (void)count;
    AUTO(progress_drop) struct progress *progress = progress_begin("purge");
    enum qs_status status = cli_open_one(cli, &store, err);
    if (!status)
        status = qs_store_purge(store, operands[0], cli->message, cli->wait_ms, &info, err);
    progress_drop(&progress);
    if (status) {
        if (status == QS_NOT_FOUND || status == QS_INVALID)
            error_add_path(err, operands[0]);
        return status;
    }
    json_t *changed = json_array();
    push(cli, changed, json_words(operands[0]));
    cli_report_commit(cli, store, &info, changed);
    return cli_publish_registered(cli, store, &info, err);
}
