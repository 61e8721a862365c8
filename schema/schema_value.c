/* SPDX-License-Identifier: Apache-2.0 */
/* What a VALUE on a command line is, and the notes on a document that is accepted as it is. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/utf8.h"
#include "schema/schema_internal.h"
#include "text/alike.h"
#include "text/key_path.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static size_t digits_at(const char *text, size_t len, size_t at)
{
    size_t count = 0;
    while (at + count < len && text[at + count] >= '0' && text[at + count] <= '9')
        count++;
    return count;
}

/* Is this the text of a JSON number, whether or not it fits? (1.2.3 and 2026-01-02 are not.) */
static bool is_number(const char *text, size_t len)
{
    size_t at = len && text[0] == '-' ? 1 : 0;
    size_t whole = digits_at(text, len, at);
    if (!whole || (whole > 1 && text[at] == '0'))
        return false;
    at += whole;
    if (at < len && text[at] == '.') {
        size_t fraction = digits_at(text, len, at + 1);
        at += fraction ? 1 + fraction : 0;
    }
    if (at + 1 < len && (text[at] == 'e' || text[at] == 'E')) {
        size_t sign = text[at + 1] == '+' || text[at + 1] == '-' ? 2 : 1;
        size_t exponent = digits_at(text, len, at + sign);
        at += exponent ? sign + exponent : 0;
    }
    return at == len;
}

/* Does the schema know the key, and take strings there? */
static bool known_string(const struct qs_key *key)
{
    AUTO(value_release) json_t *text = json_string("");
    AUTO(value_release) json_t *number = json_integer(0);
    return text && number && !schema_check_value(key, text, 0, NULL) && schema_check_value(key, number, 0, NULL);
}

enum qs_status schema_value_for_text(const struct qs_key *key, const char *text, size_t len, json_t **ret_value,
                                     struct qs_error *err)
{
    AUTO(value_release) json_t *parsed = NULL;
    AUTO(value_release) json_t *string = NULL;
    size_t bad;
    if (!utf8_valid(text, len, &bad))
        return error_set(err, QS_INVALID, "the value is not UTF-8 (byte %zu)", bad + 1);
    if (memchr(text, '\0', len))
        return error_set(err, QS_INVALID, "the value contains a zero byte");
    enum qs_status status = value_decode(text, len, &parsed, err);
    bool is_json = !status;
    if (status && status != QS_INVALID)
        return status;
    if (is_json) {
        status = schema_check_value(key, parsed, 0, NULL);
        if (status && status != QS_INVALID)
            return error_memory(err);
        if (!status) {
            *ret_value = STEAL(parsed);
            return QS_OK;
        }
    } else if (is_number(text, len) && !known_string(key)) {
        error_add_advice(err, "to store it as text, give --type string");
        return QS_INVALID;
    }
    string = json_stringn(text, len);
    if (!string)
        return error_memory(err);
    if (is_json && schema_check_value(key, string, 0, NULL))
        *ret_value = STEAL(parsed);
    else
        *ret_value = STEAL(string);
    return QS_OK;
}

/* ---- notes ---- */

void schema_notes_release(struct schema_notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        free(notes->items[i]);
    free(notes->items);
    *notes = (struct schema_notes){0};
}

static enum qs_status note_add(struct schema_notes *notes, struct buf *text, struct qs_error *err)
{
    char *line = buf_steal(text, NULL);
    char **items = line ? reallocarray(notes->items, notes->count + 1, sizeof *items) : NULL;
    if (!items) {
        free(line);
        return error_memory(err);
    }
    notes->items = items;
    items[notes->count++] = line;
    return QS_OK;
}

static void note_legacy(const struct leaf *leaf, struct buf *out)
{
    buf_printf(out,
               "tools.sandbox: %.*s does nothing here; commands are confined by tools.executionSandbox, which only "
               "bubblewrap carries out",
               (int)(leaf->value.len < 60 ? leaf->value.len : 60), (const char *)leaf->value.data);
}

/* An unknown key that is a slip of the finger away from a known one. Two slips only in a long word. */
static void note_misspelt(const struct leaf *leaf, const struct schema_walk *walk, struct buf *out)
{
    const struct schema_node *nodes = schema_nodes(NULL);
    size_t at = walk->matched ? walk->matched + 1 : 0;
    struct qs_bytes segment;
    if (!key_next_segment(leaf->key.data, leaf->key.len, &at, &segment) || segment.len < 4)
        return;
    unsigned limit = segment.len < 8 ? 1 : 2;
    for (uint16_t child = walk->node->child; child; child = nodes[child].sibling) {
        char text[QS_KEY_TEXT_BYTES];
        if (nodes[child].wild || nodes[child].len < 4 ||
            alike_distance(segment.data, segment.len, nodes[child].segment, nodes[child].len, limit) > limit)
            continue;
        size_t end = (size_t)((const char *)segment.data - (const char *)leaf->key.data) + segment.len;
        buf_printf(out, "%s is stored, but no program is known to read it; did you mean \"%.*s\"?",
                   qs_key_format(leaf->key.data, end, text, sizeof text), (int)nodes[child].len, nodes[child].segment);
        return;
    }
}

/* The last segment of a key reads like a secret's name, and the value is a text of its own, no reference. */
static bool reads_like_secret(const struct leaf *leaf)
{
    static const char *const words[] = {"TOKEN", "SECRET", "PASSWORD", "API_KEY", "APIKEY", "AUTHORIZATION"};
    const char *value = leaf->value.data;
    const char *key = leaf->key.data;
    if (leaf->value.len < 3 || value[0] != '"' || memchr(value, '$', leaf->value.len))
        return false;
    size_t start = leaf->key.len;
    while (start && key[start - 1])
        start--;
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        size_t len = strlen(words[w]);
        for (size_t i = start; i + len <= leaf->key.len; i++) {
            if (strncasecmp(key + i, words[w], len) == 0)
                return true;
        }
    }
    return false;
}

static void note_secret(const struct leaf *leaf, struct buf *out)
{
    char text[QS_KEY_TEXT_BYTES];
    buf_printf(out, "%s reads like a secret, and everyone can read this scope",
               qs_key_format(leaf->key.data, leaf->key.len, text, sizeof text));
}

enum qs_status schema_collect_notes(const struct leaf *items, size_t count, unsigned flags,
                                    struct schema_notes *ret_notes, struct qs_error *err)
{
    AUTO(schema_notes_release) struct schema_notes notes = {0};
    AUTO(buf_release) struct buf text = {0};
    for (size_t i = 0; i < count; i++) {
        struct schema_walk walk = schema_walk(items[i].key.data, items[i].key.len);
        if (walk.complete && walk.entry && walk.entry->type == SCHEMA_BOOL_OR_STRING)
            note_legacy(&items[i], &text);
        else if (!walk.complete && schema_node_is_object(walk.node))
            note_misspelt(&items[i], &walk, &text);
        if (!text.len && flags & SCHEMA_NO_SECRETS && reads_like_secret(&items[i]))
            note_secret(&items[i], &text);
        if (!text.len && !text.failed)
            continue;
        /* A misspelt object has many leaves; one note will do. */
        bool again = !text.failed && notes.count && strcmp(notes.items[notes.count - 1], text.data) == 0;
        enum qs_status status = again ? QS_OK : note_add(&notes, &text, err);
        if (status)
            return status;
        buf_clear(&text);
    }
    *ret_notes = notes;
    notes = (struct schema_notes){0};
    return QS_OK;
}
