/* SPDX-License-Identifier: Apache-2.0 */
/* log and show: what the history holds, newest first. */
#include "cli/cli.h"

#include "cli/history_record.h"

#include <string.h>

/* One printed record, kept until all stores were read, so that they can be put in the order of time. */
struct entry {
    int64_t time_s;
    uint32_t time_ns;
    uint64_t generation;
    enum qs_scope scope;
    json_t *json;    /* with --json */
    struct buf text; /* else */
};

struct entries {
    struct entry *items;
    size_t count, room;
};

static void entries_release(struct entries *entries)
{
    for (size_t i = 0; i < entries->count; i++) {
        json_decref(entries->items[i].json);
        buf_release(&entries->items[i].text);
    }
    free(entries->items);
}

static struct entry *entries_add(struct entries *entries)
{
    if (entries->count == entries->room) {
        size_t room = entries->room ? 2 * entries->room : 64;
        struct entry *items = reallocarray(entries->items, room, sizeof *items);
        if (!items)
            return NULL;
        entries->items = items;
        entries->room = room;
    }
    struct entry *entry = &entries->items[entries->count++];
    *entry = (struct entry){0};
    return entry;
}

static enum qs_status take_record(struct cli *cli, enum qs_scope scope, const struct qs_history *history,
                                  const struct qs_record *record, const struct qs_key *key, struct entries *entries,
                                  struct qs_error *err)
{
    struct entry *entry = entries_add(entries);
    if (!entry)
        return error_memory(err);
    entry->time_s = record->time_s;
    entry->time_ns = record->time_ns;
    entry->generation = record->generation;
    entry->scope = scope;
    if (cli->line.json)
        entry->json = record_json(cli, scope, history, record, key);
    else
        record_text(cli, scope, history, record, key, &entry->text);
    return QS_OK;
}

struct log_query {
    const struct qs_key *key; /* NULL: all */
    uint64_t limit;
};

static enum qs_status log_of(struct cli *cli, enum qs_scope scope, const struct log_query *query,
                             struct entries *entries, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO_HISTORY struct qs_history *history = NULL;
    uint64_t taken = 0;
    enum qs_status status = cli_open(cli, scope, &store, err);
    if (!status)
        status = qs_history_open(store, &history, err);
    if (status)
        return status;
    for (size_t i = qs_history_count(history); !status && i > 0 && taken < query->limit; i--) {
        const struct qs_record *record = NULL;
        status = qs_history_record(history, i - 1, &record, err);
        if (status || (query->key && !record_concerns(history, record, query->key)))
            continue;
        status = take_record(cli, scope, history, record, query->key, entries, err);
        taken++;
    }
    return status;
}

/* Newest first; within one store the generation decides, for a clock may have been set back. */
static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->scope == b->scope)
        return a->generation < b->generation ? 1 : -1;
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? 1 : -1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? 1 : -1;
    return a->scope < b->scope ? 1 : -1;
}

static void print_entries(struct cli *cli, struct entries *entries, uint64_t limit)
{
    json_t *list = cli->line.json ? json_array() : NULL;
    if (entries->count > 1)
        qsort(entries->items, entries->count, sizeof *entries->items, compare_entries);
    for (size_t i = 0; i < entries->count && i < limit; i++) {
        struct entry *entry = &entries->items[i];
        if (cli->line.json)
            push(cli, list, STEAL(entry->json));
        else if (entry->text.failed)
            cli->out.failed = true;
        else
            buf_add(&cli->out, entry->text.data, entry->text.len);
    }
    if (cli->line.json)
        out_json(cli, list);
}

static enum qs_status log_all(struct cli *cli, const struct log_query *query, struct entries *entries,
                              struct qs_error *err)
{
    size_t found = 0;
    for (enum qs_scope scope = QS_SCOPE_SYSTEM; scope >= QS_SCOPE_DEFAULTS; scope--) {
        struct qs_error local = {0};
        if (cli->scope_given && scope != cli->scope)
            continue;
        enum qs_status status = log_of(cli, scope, query, entries, &local);
        found += !status;
        if (!status || (status == QS_ABSENT && !cli->scope_given))
            continue;
        if (err)
            *err = local;
        return status;
    }
    return found ? QS_OK : error_set(err, QS_ABSENT, "there is no store");
}

static void note_likeness(struct cli *cli, const char *path)
{
    AUTO(cli_view_release) struct cli_view view = {0};
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    if (!cli_view_open(cli, &view, NULL) && !cli_view_json(&view, NULL, &text, &len, NULL))
        suggest_key_note(cli, text, len, path);
}

enum qs_status cmd_log(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(entries_release) struct entries entries = {0};
    struct qs_key key;
    struct log_query query = {.key = count ? &key : NULL, .limit = cli->limit};
    enum qs_status status = QS_OK;
    if (count && (status = qs_key_parse(operands[0], &key, err)))
        error_add_path(err, operands[0]);
    if (!status)
        status = log_all(cli, &query, &entries, err);
    if (status)
        return status;
    print_entries(cli, &entries, query.limit);
    if (count && entries.count == 0)
        note_likeness(cli, operands[0]);
    return QS_OK;
}

enum qs_status cmd_show(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO_HISTORY struct qs_history *history = NULL;
    const struct qs_record *record = NULL;
    uint64_t generation = 0;
    (void)count;
    enum qs_status status = command_line_number("a generation", operands[0], &generation, err);
    if (!status)
        status = cli_open_one(cli, &store, err);
    if (!status)
        status = qs_history_open(store, &history, err);
    if (!status)
        status = qs_history_find(history, generation, &record, err);
    if (status)
        return status;
    if (cli->line.json)
        out_json(cli, record_json(cli, qs_store_scope(store), history, record, NULL));
    else
        record_text_full(cli, qs_store_scope(store), history, record, &cli->out);
    return QS_OK;
}
