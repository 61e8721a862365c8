/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema. The input is a JSON document, or, behind a first byte of 0, a VALUE as on a command line. Invariants: a
 * document is accepted or refused with a message, a path and a place, the same with and without its text; what is
 * accepted as a whole is accepted leaf by leaf, and makes a policy if it sets one; a value from text is what the text
 * says or a string of it.
 */
#include "fuzz/fuzz.h"
#include "reader/policy_model.h"
#include "schema/schema.h"

#include <string.h>

static void makes_a_policy(const struct leaves *leaves)
{
    struct policy_part part = {0};
    struct qs_error err = {0};
    MUST(policy_part_from_leaves(leaves->items, leaves->count, &part, &err) == QS_OK);
    /* Complete or not at all: no half of a policy passes the schema. */
    unsigned sandbox = part.set & POLICY_SANDBOX_FIELDS;
    MUST(!sandbox || (part.set & 3u) == 3u);
    if (sandbox)
        MUST(policy_part_complete(&part, &err) == QS_OK && part.set == POLICY_ALL);
    policy_part_release(&part);
}

static void leaves_are_accepted(const struct leaves *leaves)
{
    for (size_t i = 0; i < leaves->count; i++) {
        struct qs_key key = {.len = leaves->items[i].key.len};
        json_t *value = NULL;
        memcpy(key.bytes, leaves->items[i].key.data, key.len);
        MUST(value_decode(leaves->items[i].value.data, leaves->items[i].value.len, &value, NULL) == QS_OK);
        MUST(schema_check_value(&key, value, 0, NULL) == QS_OK);
        json_decref(value);
        (void)schema_secret(key.bytes, key.len);
        (void)schema_find(&key, NULL);
    }
}

static void check_document(const uint8_t *data, size_t size)
{
    struct doc *doc = NULL;
    struct leaves leaves = {0};
    struct schema_notes notes = {0};
    struct qs_error err = {0};
    if (doc_parse("input", data, size, DOC_JSON, &doc, NULL) != QS_OK)
        return;
    enum qs_status status = schema_check_document(doc_root(doc), doc, 0, &err);
    MUST(status == QS_OK || status == QS_INVALID);
    MUST(status == QS_OK || (err.message[0] && err.line && err.column));
    bool named = err.path[0] != '\0';
    MUST(schema_check_document(doc_root(doc), NULL, 0, NULL) == status);
    enum qs_status partial = schema_check_document(doc_root(doc), doc, SCHEMA_PARTIAL, NULL);
    MUST(status != QS_OK || partial == QS_OK);
    enum qs_status shown = schema_check_document(doc_root(doc), doc, SCHEMA_NO_SECRETS, &err);
    MUST(status == QS_OK || shown == QS_INVALID);
    if (flatten_value(doc_root(doc), NULL, doc, &leaves, NULL) == QS_OK) {
        MUST(status == QS_OK || named);
        MUST(schema_check_leaves(leaves.items, leaves.count, NULL, 0, NULL) == status);
        MUST(schema_collect_notes(leaves.items, leaves.count, SCHEMA_NO_SECRETS, &notes, NULL) == QS_OK);
        if (!status) {
            makes_a_policy(&leaves);
            leaves_are_accepted(&leaves);
        }
    }
    schema_notes_release(&notes);
    leaves_release(&leaves);
    doc_free(doc);
}

static void check_text(const char *text, size_t len)
{
    size_t count;
    const struct schema_entry *table = schema_table(&count);
    for (size_t i = 0; i < count; i++)
        MUST(*schema_type_text(&table[i]) && *schema_merge_name(table[i].merge) &&
             (table[i].restriction == SCHEMA_ANYONE) == !*schema_restriction_text(table[i].restriction));
    MUST(schema_flags_of(QS_SCOPE_SYSTEM) == SCHEMA_NO_SECRETS && !schema_flags_of(QS_SCOPE_USER));
    for (size_t i = 0; i <= count; i++) {
        struct qs_key key;
        json_t *value = NULL, *parsed = NULL;
        MUST(qs_key_parse(i < count ? table[i].path : "no.such.key", &key, NULL) == QS_OK);
        enum qs_status status = schema_value_for_text(&key, text, len, &value, NULL);
        MUST(status == QS_OK || (status == QS_INVALID && !value));
        bool is_json = value_decode(text, len, &parsed, NULL) == QS_OK;
        bool is_string = status == QS_OK && json_is_string(value) && json_string_length(value) == len &&
                         memcmp(json_string_value(value), text, len) == 0;
        MUST(status != QS_OK || is_string || (is_json && value_equal(parsed, value)));
        json_decref(parsed);
        json_decref(value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] == 0)
        check_text((const char *)data + 1, size - 1);
    else
        check_document(data, size);
    return 0;
}
