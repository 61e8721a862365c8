/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates for completion: fixed words, live keys, keys and values of the schema, generations. */
#include "cli/completion.h"
#include "cli/view.h"

#include "store/doc.h"
#include "store/schema.h"

#include <stdio.h>
#include <string.h>

#define GENERATIONS_OFFERED 30

void complete_offer(struct cli *cli, const char *word, const char *candidate, const char *description)
{
    if (strncmp(candidate, word, strlen(word)) != 0)
        return;
    buf_add_str(&cli->out, candidate);
    if (description && description[0])
        buf_printf(&cli->out, "\t%.*s", (int)strcspn(description, "\n"), description);
    buf_add_char(&cli->out, '\n');
}

static void offer_words(struct cli *cli, const char *word, const char *const *words)
{
    for (; *words; words++)
        complete_offer(cli, word, *words, NULL);
}

/* Live keys; where the store cannot be read there are none, and completion says nothing. */
static void offer_live_keys(struct cli *cli, struct cli *at, const char *word)
{
    struct cli_view view AUTO(cli_view_release) = {0};
    struct leaves leaves AUTO(leaves_release) = {0};
    json_t *document AUTO(value_release) = NULL;
    char *text AUTO_FREE = NULL;
    char path[QS_KEY_TEXT_BYTES];
    size_t len = 0;
    at->home_noted = true;
    if (cli_view_open(at, &view, NULL) != QS_OK || cli_view_json(&view, NULL, &text, &len, NULL) != QS_OK ||
        value_decode(text, len, &document, NULL) != QS_OK ||
        leaves_from_value(document, NULL, NULL, &leaves, NULL) != QS_OK)
        return;
    for (size_t i = 0; i < leaves.count; i++) {
        const struct qs_bytes *key = &leaves.items[i].key;
        complete_offer(cli, word, qs_key_format(key->data, key->len, path, sizeof path), NULL);
    }
}

static void offer_schema_keys(struct cli *cli, const char *word)
{
    size_t count = 0;
    const struct schema_entry *table = schema_table(&count);
    for (size_t i = 0; i < count; i++)
        if (!strchr(table[i].path, '<'))
            complete_offer(cli, word, table[i].path, table[i].description);
}

static void offer_generations(struct cli *cli, struct cli *at, const char *word)
{
    struct qs_store *store AUTO(auto_store) = NULL;
    struct qs_history *history AUTO(auto_history) = NULL;
    at->home_noted = true;
    if (!at->command || cli_open_one(at, &store, NULL) != QS_OK || qs_history_open(store, &history, NULL) != QS_OK)
        return;
    size_t count = qs_history_count(history);
    for (size_t i = 0; i < count && i < GENERATIONS_OFFERED; i++) {
        struct qs_record record;
        char number[24];
        if (qs_history_record(history, count - 1 - i, &record, NULL) != QS_OK)
            return;
        (void)snprintf(number, sizeof number, "%llu", (unsigned long long)record.generation);
        complete_offer(cli, word, number, record.message[0] ? record.message : record.action);
    }
}

static void offer_command_names(struct cli *cli, const char *word)
{
    for (size_t i = 0; i < command_count; i++)
        if (!command_table[i].hidden)
            complete_offer(cli, word, command_table[i].name, command_table[i].summary);
}

void complete_argument(struct cli *cli, struct cli *at, enum argument kind, const char *word)
{
    switch (kind) {
    case ARG_KEY:
    case ARG_PAIR:
        offer_live_keys(cli, at, word);
        offer_schema_keys(cli, word);
        return;
    case ARG_GENERATION:
        offer_generations(cli, at, word);
        return;
    case ARG_FILE:
        buf_add_str(&cli->out, ":files\n");
        return;
    case ARG_DIR:
        buf_add_str(&cli->out, ":dirs\n");
        return;
    case ARG_SCOPE:
        offer_words(cli, word, (const char *const[]){"system", "user", "defaults", NULL});
        return;
    case ARG_FORMAT:
        offer_words(cli, word, (const char *const[]){"json", "yaml", NULL});
        return;
    case ARG_TYPE:
        offer_words(cli, word, (const char *const[]){"string", "json", NULL});
        return;
    case ARG_READER:
        offer_words(cli, word, (const char *const[]){"qwen", NULL});
        return;
    case ARG_SHELL:
        offer_words(cli, word, (const char *const[]){"bash", "zsh", "fish", NULL});
        return;
    case ARG_COLOR:
        offer_words(cli, word, (const char *const[]){"auto", "always", "never", NULL});
        return;
    case ARG_COMMAND:
        offer_command_names(cli, word);
        return;
    case ARG_NONE:
    case ARG_TEXT:
    case ARG_NUMBER:
        return;
    }
}

void complete_value(struct cli *cli, const char *key, const char *word)
{
    struct qs_key parsed;
    bool exact = false;
    char text[256];
    if (!key || qs_key_parse(key, &parsed, NULL) != QS_OK)
        return;
    const struct schema_entry *entry = schema_find(&parsed, &exact);
    for (size_t i = 0; entry && exact && schema_allowed_at(entry, i, text, sizeof text); i++)
        complete_offer(cli, word, text, NULL);
}
