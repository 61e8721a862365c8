/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and text round-trip: generated documents, and all of Unicode, through every form a document has here. */
#include "base/cleanup.h"
#include "base/utf8.h"
#include "tests/support/canonical.h"
#include "tests/support/gen.h"
#include "text/doc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SEED      20260729u
#define DOCUMENTS 2000

/* Set by a check that fails, so that the test can say for which seed. */
static char failure[2400];

static bool failed(const char *what, const struct qs_error *err)
{
    (void)snprintf(failure, sizeof failure, "%s: %s %s:%u:%u %s", what, err->message, err->file, err->line, err->column,
                   err->path);
    return false;
}

typedef enum qs_status (*encode_fn)(const json_t *value, struct buf *out, struct qs_error *err);

static bool survives_text(const char *what, const json_t *value, encode_fn encode, enum doc_format format)
{
    AUTO(buf_release) struct buf text = {0}, again = {0};
    AUTO(doc_release) struct doc *doc = NULL;
    struct qs_error err = {0};
    if (encode(value, &text, &err) != QS_OK || doc_parse_value(what, text.data, text.len, format, &doc, &err) != QS_OK)
        return failed(what, &err);
    if (!value_equal(value, doc_root(doc)))
        return failed(what, &(struct qs_error){.message = "differs"});
    if (encode(doc_root(doc), &again, &err) != QS_OK || again.len != text.len ||
        memcmp(again.data, text.data, text.len))
        return failed(what, &(struct qs_error){.message = "its text differs the second time"});
    return true;
}

static bool leaves_are_in_order(const struct leaves *leaves)
{
    for (size_t i = 1; i < leaves->count; i++) {
        struct qs_bytes a = leaves->items[i - 1].key, b = leaves->items[i].key;
        int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
        if (order > 0 || (order == 0 && a.len >= b.len))
            return false;
    }
    for (size_t i = 0; i < leaves->count; i++)
        if (!is_canonical_leaf(leaves->items[i].value.data, leaves->items[i].value.len))
            return false;
    return true;
}

static bool survives_leaves(const json_t *value)
{
    AUTO(leaves_release) struct leaves leaves = {0};
    AUTO(value_release) json_t *again = NULL;
    struct qs_error err = {0};
    if (flatten_value(value, NULL, NULL, &leaves, &err) != QS_OK)
        return failed("leaves", &err);
    if (!leaves_are_in_order(&leaves))
        return failed("leaves", &(struct qs_error){.message = "not in order, or not canonical"});
    if (unflatten_leaves(leaves.items, leaves.count, NULL, &again, &err) != QS_OK)
        return failed("leaves back", &err);
    return value_equal(value, again) || failed("leaves", &(struct qs_error){.message = "differs"});
}

static bool survives(const json_t *value)
{
    return survives_leaves(value) && survives_text("canonical", value, value_encode, DOC_JSON) &&
           survives_text("pretty", value, value_encode_pretty, DOC_JSON) &&
           survives_text("YAML", value, value_encode_yaml, DOC_YAML);
}

static void generated_documents_survive_every_form(void **state)
{
    (void)state;
    print_message("# seed %u, %u documents\n", SEED, DOCUMENTS);
    for (unsigned i = 0; i < DOCUMENTS; i++) {
        struct gen gen;
        gen_init(&gen, SEED + i);
        AUTO(value_release) json_t *document = gen_document(&gen);
        if (!survives(document))
            fail_msg("seed %u: %s", SEED + i, failure);
    }
}

static void generated_scalars_survive_at_the_top(void **state)
{
    (void)state;
    struct gen gen;
    gen_init(&gen, SEED);
    print_message("# seed %u\n", SEED);
    for (unsigned i = 0; i < 5000; i++) {
        AUTO(value_release) json_t *value = gen_value(&gen, 0);
        if (!survives_text("canonical", value, value_encode, DOC_JSON) ||
            !survives_text("YAML", value, value_encode_yaml, DOC_YAML))
            fail_msg("scalar %u: %s", i, failure);
    }
}

/* A million values: one text each way, not two. */
static bool reads_back(const char *what, const json_t *value, encode_fn encode, enum doc_format format)
{
    AUTO(buf_release) struct buf text = {0};
    AUTO(doc_release) struct doc *doc = NULL;
    struct qs_error err = {0};
    if (encode(value, &text, &err) != QS_OK || doc_parse(what, text.data, text.len, format, &doc, &err) != QS_OK)
        return failed(what, &err);
    return value_equal(value, doc_root(doc)) || failed(what, &(struct qs_error){.message = "differs"});
}

/* Adds the code points of a group as one key with itself as the value; returns how many there are. */
static unsigned add_group(json_t *document, uint32_t first, unsigned group)
{
    struct buf text = {0};
    unsigned count = 0;
    for (uint32_t code = first; code < first + group; code++) {
        char bytes[4];
        size_t len = code ? utf8_put(code, bytes) : 0;
        count += len != 0;
        buf_add(&text, bytes, len);
    }
    if (count) {
        json_object_setn_new(document, text.data, text.len, json_stringn(text.data, text.len));
        buf_add_str(&text, "y"); /* and not at the end */
        json_object_setn_new(document, text.data, text.len, json_stringn(text.data, text.len));
    }
    buf_release(&text);
    return count;
}

/* Every code point of the basic plane alone and before a letter; those beyond, which are treated alike, by 64. */
static void all_of_unicode_survives_in_keys_and_values(void **state)
{
    (void)state;
    unsigned count = 0, group;
    for (uint32_t first = 0; first <= 0x10ffff; first += 128 * group) {
        AUTO(value_release) json_t *document = json_object();
        group = first < 0x10000 ? 1 : 64;
        for (uint32_t i = 0; i < 128; i++)
            count += add_group(document, first + i * group, group);
        if (!survives_leaves(document) || !reads_back("canonical", document, value_encode, DOC_JSON) ||
            !reads_back("YAML", document, value_encode_yaml, DOC_YAML))
            fail_msg("from U+%04X: %s", first, failure);
    }
    assert_int_equal(count, 0x110000 - 0x800 - 1); /* all scalar values but U+0000 */
}

/* The negative control: the checks above notice a change of type, of sign, of one byte, of order. */
static void the_checks_notice_differences(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"1", "1.0"},
        {"0.0", "-0.0"},
        {"\"no\"", "false"},
        {"\"\"", "null"},
        {"[1,2]", "[2,1]"},
        {"{}", "[]"},
        {"9007199254740993", "9007199254740992"},
        {"{\"a\":1}", "{\"a\":2}"},
        {"{\"a\":1}", "{\"b\":1}"},
        {"{\"a\":1}", "{\"a\":1,\"b\":1}"},
        {"\"a\"", "\"A\""},
        {"[]", "[null]"},
        {"true", "false"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        AUTO(value_release) json_t *a = NULL, *b = NULL;
        assert_int_equal(value_decode(pairs[i][0], strlen(pairs[i][0]), &a, NULL), QS_OK);
        assert_int_equal(value_decode(pairs[i][1], strlen(pairs[i][1]), &b, NULL), QS_OK);
        assert_true(value_equal(a, a));
        assert_false(value_equal(a, b));
        assert_false(value_equal(b, a));
    }
}

/* A value that is refused on the way out must not come out in another form. */
static enum qs_status encode_wrongly(const json_t *value, struct buf *out, struct qs_error *err)
{
    (void)value;
    (void)err;
    buf_add_str(out, "{\"a\": no}");
    return QS_OK;
}

static void the_round_trip_check_fails_for_a_wrong_encoder(void **state)
{
    (void)state;
    AUTO(value_release) json_t *value = json_pack("{s:b}", "a", 0);
    assert_false(survives_text("wrong", value, encode_wrongly, DOC_JSON));
    assert_false(survives_text("wrong", value, encode_wrongly, DOC_YAML));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_documents_survive_every_form),
        cmocka_unit_test(generated_scalars_survive_at_the_top),
        cmocka_unit_test(all_of_unicode_survives_in_keys_and_values),
        cmocka_unit_test(the_checks_notice_differences),
        cmocka_unit_test(the_round_trip_check_fails_for_a_wrong_encoder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
