/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates of completion: keys that are set, keys and values of the schema, locks, generations. What cannot be read
 * offers nothing, in silence. */
#include "cli/cli.h"

#include "schema/schema.h"
#include "text/doc.h"

#include <stdio.h>
#include <string.h>

#define GENERATIONS_OFFERED 30

/* Is this text a key of the schema's own? */
static bool in_schema(const char *text)
{
    size_t count = 0;
    const struct schema_entry *table = schema_table(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i].path, text) == 0)
            return true;
    return false;
}

static void offer_leaves(const struct completion *to, const char *document, size_t len, bool schema_too)
{
    AUTO(leaves_release) struct leaves leaves = {0};
    AUTO(value_release) json_t *value = NULL;
    char path[QS_KEY_TEXT_BYTES];
    if (value_decode(document, len, &value, NULL) || flatten_value(value, NULL, NULL, &leaves, NULL))
        return;
    for (size_t i = 0; i < leaves.count; i++) {
        const struct qs_bytes *key = &leaves.items[i].key;
        qs_key_format(key->data, key->len, path, sizeof path);
        if (schema_too || !in_schema(path))
            completion_offer(to, path, NULL);
    }
}

void offer_schema_keys(const struct completion *to, struct cli *cli, const struct command_line *line)
{
    size_t count = 0;
    const struct schema_entry *table = schema_table(&count);
    (void)cli;
    (void)line;
    for (size_t i = 0; i < count; i++)
        if (!strchr(table[i].path, '<'))
            completion_offer(to, table[i].path, table[i].description);
}

/* Keys that are set, then those of the schema, which come with their description. */
void offer_keys(const struct completion *to, struct cli *cli, const struct command_line *line)
{
    AUTO(cli_view_release) struct cli_view view = {0};
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    cli->home_noted = true;
    if (!cli_view_open(cli, &view, NULL) && !cli_view_json(&view, NULL, &text, &len, NULL))
        offer_leaves(to, text, len, false);
    offer_schema_keys(to, cli, line);
}

void offer_stored_keys(const struct completion *to, struct cli *cli, const struct command_line *line)
{
    AUTO_SNAPSHOT struct qs_snapshot *snapshot = NULL;
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    (void)line;
    cli->home_noted = true;
    if (!cli_snapshot(cli, &snapshot, NULL) && !qs_snapshot_json(snapshot, NULL, &text, &len, NULL))
        offer_leaves(to, text, len, true);
}

void offer_locks(const struct completion *to, struct cli *cli, const struct command_line *line)
{
    AUTO_SNAPSHOT struct qs_snapshot *snapshot = NULL;
    char path[QS_KEY_TEXT_BYTES];
    (void)line;
    cli->home_noted = true;
    if (cli_snapshot(cli, &snapshot, NULL))
        return;
    for (size_t i = 0; i < qs_snapshot_lock_count(snapshot); i++) {
        struct qs_bytes lock = qs_snapshot_lock_at(snapshot, i);
        completion_offer(to, qs_key_format(lock.data, lock.len, path, sizeof path), NULL);
    }
}

void offer_generations(const struct completion *to, struct cli *cli, const struct command_line *line)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO_HISTORY struct qs_history *history = NULL;
    cli->home_noted = true;
    if (!line->command || cli_open_one(cli, &store, NULL) || qs_history_open(store, &history, NULL))
        return;
    size_t count = qs_history_count(history);
    for (size_t i = 0; i < count && i < GENERATIONS_OFFERED; i++) {
        const struct qs_record *record = NULL;
        char number[24];
        if (qs_history_record(history, count - 1 - i, &record, NULL))
            return;
        (void)snprintf(number, sizeof number, "%llu", (unsigned long long)record->generation);
        completion_offer(to, number, record->message[0] ? record->message : record->action);
    }
}

/* The values of a key that the schema allows, and files after "@". */
static void offer_values(const struct completion *to, const char *key)
{
    struct qs_key parsed;
    bool exact = false;
    char text[256];
    if (to->word[0] == '@') {
        completion_offer_files(&(struct completion){.out = to->out, .word = to->word, .lead = 1});
        return;
    }
    if (qs_key_parse(key, &parsed, NULL))
        return;
    const struct schema_entry *entry = schema_find(&parsed, &exact);
    for (size_t i = 0; entry && exact && schema_allowed_at(entry, i, text, sizeof text); i++)
        completion_offer(to, text, NULL);
}

void offer_pairs(const struct completion *to, struct cli *cli, const struct command_line *line)
{
    if (line->count % 2)
        offer_values(to, line->operands[line->count - 1]);
    else
        offer_keys(to, cli, line);
}
