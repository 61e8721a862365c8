/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates for completion: fixed words, live keys, keys and values of the schema, generations. */
#include "cli/complete_command.h"
#include "cli/open_view.h"

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
    struct leaves leaves AUTO(leaves_release) = {0};
    json_t *value AUTO(value_release) = NULL;
    char path[QS_KEY_TEXT_BYTES];
    if (value_decode(document, len, &value, NULL) != QS_OK || flatten_value(value, NULL, NULL, &leaves, NULL) != QS_OK)
        return;
    for (size_t i = 0; i < leaves.count; i++) {
        const struct qs_bytes *key = &leaves.items[i].key;
        qs_key_format(key->data, key->len, path, sizeof path);
        if (schema_too || !in_schema(path))
            completion_offer(to, path, NULL);
    }
}

/* The keys that are set, but not those of the schema, which come with their description. Where the store cannot be read
 * there are none, and completion says nothing. */
static void offer_live_keys(const struct completion *to, struct cli *at)
{
    struct cli_view view AUTO(cli_view_release) = {0};
    char *text AUTO_FREE = NULL;
    size_t len = 0;
    if (cli_view_open(at, &view, NULL) == QS_OK && cli_view_json(&view, NULL, &text, &len, NULL) == QS_OK)
        offer_leaves(to, text, len, false);
}

/* The keys of the one store that the command would write. */
static void offer_stored_keys(const struct completion *to, struct cli *at)
{
    struct qs_snapshot *snapshot AUTO(auto_snapshot) = NULL;
    char *text AUTO_FREE = NULL;
    size_t len = 0;
    if (cli_snapshot(at, &snapshot, NULL) == QS_OK && qs_snapshot_json(snapshot, NULL, &text, &len, NULL) == QS_OK)
        offer_leaves(to, text, len, true);
}

static void offer_locks(const struct completion *to, struct cli *at)
{
    struct qs_snapshot *snapshot AUTO(auto_snapshot) = NULL;
    char path[QS_KEY_TEXT_BYTES];
    if (cli_snapshot(at, &snapshot, NULL) != QS_OK)
        return;
    for (size_t i = 0; i < qs_snapshot_lock_count(snapshot); i++) {
        struct qs_bytes lock = qs_snapshot_lock_at(snapshot, i);
        completion_offer(to, qs_key_format(lock.data, lock.len, path, sizeof path), NULL);
    }
}

static void offer_schema_keys(const struct completion *to)
{
    size_t count = 0;
    const struct schema_entry *table = schema_table(&count);
    for (size_t i = 0; i < count; i++)
        if (!strchr(table[i].path, '<'))
            completion_offer(to, table[i].path, table[i].description);
}

static void offer_generations(const struct completion *to, struct cli *at)
{
    struct qs_store *store AUTO(auto_store) = NULL;
    struct qs_history *history AUTO(auto_history) = NULL;
    if (!at->command || cli_open_one(at, &store, NULL) != QS_OK || qs_history_open(store, &history, NULL) != QS_OK)
        return;
    size_t count = qs_history_count(history);
    for (size_t i = 0; i < count && i < GENERATIONS_OFFERED; i++) {
        const struct qs_record *record = NULL;
        char number[24];
        if (qs_history_record(history, count - 1 - i, &record, NULL) != QS_OK)
            return;
        (void)snprintf(number, sizeof number, "%llu", (unsigned long long)record->generation);
        completion_offer(to, number, record->message[0] ? record->message : record->action);
    }
}

static void offer_command_names(const struct completion *to)
{
    for (size_t i = 0; i < command_count; i++)
        if (!command_table[i].hidden)
            completion_offer(to, command_table[i].name, command_table[i].summary);
}

void complete_argument(const struct completion *to, struct cli *at, enum argument kind)
{
    switch (kind) {
    case ARG_KEY:
    case ARG_PAIR:
        offer_live_keys(to, at);
        offer_schema_keys(to);
        return;
    case ARG_STORED_KEY:
        offer_stored_keys(to, at);
        return;
    case ARG_LOCK:
        offer_locks(to, at);
        return;
    case ARG_SCHEMA_KEY:
        offer_schema_keys(to);
        return;
    case ARG_GENERATION:
        offer_generations(to, at);
        return;
    case ARG_FILE:
        completion_offer_files(to);
        return;
    case ARG_DIR:
        completion_offer_dirs(to);
        return;
    case ARG_SCOPE:
        completion_offer_choices(to, "system|user|defaults");
        return;
    case ARG_FORMAT:
        completion_offer_choices(to, "json|yaml");
        return;
    case ARG_TYPE:
        completion_offer_choices(to, "string|json");
        return;
    case ARG_READER:
        completion_offer_choices(to, "qwen");
        return;
    case ARG_SHELL:
        completion_offer_choices(to, "bash|zsh|fish");
        return;
    case ARG_COLOR:
        completion_offer_choices(to, "auto|always|never");
        return;
    case ARG_COMMAND:
        offer_command_names(to);
        return;
    case ARG_NONE:
    case ARG_TEXT:
    case ARG_NUMBER:
        return;
    }
}

void complete_value(const struct completion *to, const char *key)
{
    struct qs_key parsed;
    bool exact = false;
    char text[256];
    if (to->word[0] == '@') {
        completion_offer_files(&(struct completion){.out = to->out, .word = to->word, .lead = 1});
        return;
    }
    if (!key || qs_key_parse(key, &parsed, NULL) != QS_OK)
        return;
    const struct schema_entry *entry = schema_find(&parsed, &exact);
    for (size_t i = 0; entry && exact && schema_allowed_at(entry, i, text, sizeof text); i++)
        completion_offer(to, text, NULL);
}
