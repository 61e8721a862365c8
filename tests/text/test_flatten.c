/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves: splitting and joining, the bounds with their places, the refusals of sets no document gives; and the cases of
 * tests/fixtures/cases as far as they need no schema. */
#include "base/cleanup.h"
#include "tests/support/canonical.h"
#include "text/doc.h"
#include "text/key_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static json_t *value_of(const char *text)
{
    json_t *value = NULL;
    struct qs_error err = {0};
    if (value_decode(text, strlen(text), &value, &err) != QS_OK)
        fail_msg("%s: %s", text, err.message);
    return value;
}

/* "key=value" lines in order, keys as people type them. */
static void expect_leaves(const char *text, const char *prefix, const char *expected)
{
    AUTO(value_release) json_t *value = value_of(text);
    AUTO(leaves_release) struct leaves leaves = {0};
    AUTO(buf_release) struct buf out = {0};
    struct qs_key key;
    struct qs_error err = {0};
    if (prefix)
        assert_int_equal(qs_key_parse(prefix, &key, NULL), QS_OK);
    if (flatten_value(value, prefix ? &key : NULL, NULL, &leaves, &err) != QS_OK)
        fail_msg("%s: %s", text, err.message);
    buf_add(&out, "", 0);
    for (size_t i = 0; i < leaves.count; i++) {
        char path[QS_KEY_TEXT_BYTES];
        const struct leaf *leaf = &leaves.items[i];
        assert_true(key_valid(leaf->key.data, leaf->key.len));
        assert_true(is_canonical_leaf(leaf->value.data, leaf->value.len));
        buf_printf(&out, "%s=%.*s\n", qs_key_format(leaf->key.data, leaf->key.len, path, sizeof path),
                   (int)leaf->value.len, (const char *)leaf->value.data);
    }
    assert_string_equal(out.data, expected);
    AUTO(value_release) json_t *again = NULL;
    assert_int_equal(unflatten_leaves(leaves.items, leaves.count, prefix ? &key : NULL, &again, &err), QS_OK);
    assert_true(value_equal(value, again));
}

static void objects_split_and_all_else_is_a_leaf(void **state)
{
    (void)state;
    expect_leaves("{}", NULL, "");
    expect_leaves("{\"b\":1,\"a\":{\"y\":[1,{\"z\":2,\"a\":{}}],\"x\":{}}}", NULL,
                  "a.x={}\na.y=[1,{\"a\":{},\"z\":2}]\nb=1\n");
    expect_leaves("{\"a.b\":{\"c\":null},\"a\":{\"b\":true}}", NULL, "a.b=true\n\"a.b\".c=null\n");
    expect_leaves("{\"a\":1.0,\"b\":\"\\u0041\",\"c\":1e3}", NULL, "a=1.0\nb=\"A\"\nc=1000.0\n");
}

static void leaves_come_in_the_order_of_the_store(void **state)
{
    (void)state;
    /* A subtree comes before its key's longer siblings, whatever their next byte. */
    expect_leaves("{\"ab\":1,\"a b\":2,\"a\":{\"z\":3,\"\\u0001\":4},\"A\":5,\"a\\u0001\":6}", NULL,
                  "A=5\na.\"\\u0001\"=4\na.z=3\n\"a\\u0001\"=6\n\"a b\"=2\nab=1\n");
}

static void a_prefix_stands_before_each_key(void **state)
{
    (void)state;
    expect_leaves("{\"b\":1,\"a\":2}", "x.y", "x.y.a=2\nx.y.b=1\n");
    expect_leaves("[1]", "x", "x=[1]\n");
    expect_leaves("{}", "x.y", "x.y={}\n");
    expect_leaves("null", "x", "x=null\n");
}

static enum qs_status split_text(const char *text, size_t len, enum doc_format format, struct qs_error *err)
{
    AUTO(doc_release) struct doc *doc = NULL;
    struct leaves leaves = {0};
    memset(err, 0, sizeof *err);
    enum qs_status status = doc_parse("f", text, len, format, &doc, err);
    if (status != QS_OK)
        return status;
    status = flatten_value(doc_root(doc), NULL, doc, &leaves, err);
    if (status != QS_OK)
        assert_null(leaves.items); /* untouched on failure */
    leaves_release(&leaves);
    return status;
}

static void keys_that_no_store_holds_are_refused_at_their_place(void **state)
{
    (void)state;
    struct qs_error err;
    char text[1200], name[600];
    assert_int_equal(split_text("{\"a\":{\n \"\":1}}", 14, DOC_JSON, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "empty"));
    assert_string_equal(err.path, "a");
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 2);
    memset(name, 'k', sizeof name);
    int len = snprintf(text, sizeof text, "env:\n  x: 1\n  %.600s: 1\n", name);
    assert_int_equal(split_text(text, (size_t)len, DOC_YAML, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "511"));
    assert_string_equal(err.path, "env");
    assert_string_equal(err.file, "f");
    assert_int_equal(err.line, 3);
    assert_int_equal(err.column, 3);
    len = snprintf(text, sizeof text, "{\"a\":[{\"\":1,\"%.600s\":2}]}", name); /* within arrays any key will do */
    assert_int_equal(split_text(text, (size_t)len, DOC_JSON, &err), QS_OK);
}

static void the_whole_must_be_an_object(void **state)
{
    (void)state;
    AUTO(value_release) json_t *value = json_integer(1);
    struct leaves leaves = {0};
    struct qs_error err = {0};
    assert_int_equal(flatten_value(value, NULL, NULL, &leaves, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "object"));
    assert_int_equal(flatten_value(value, &(struct qs_key){0}, NULL, &leaves, &err), QS_INVALID);
}

static json_t *nested(unsigned depth, bool object, json_t *innermost)
{
    json_t *value = innermost;
    for (unsigned i = 0; i < depth; i++) {
        json_t *around = object ? json_object() : json_array();
        if (object)
            json_object_set_new(around, "k", value);
        else
            json_array_append_new(around, value);
        value = around;
    }
    return value;
}

/* Prefix segments, objects and arrays together make the depth of the document that will be read back. */
static void depth_counts_prefix_objects_and_arrays(void **state)
{
    (void)state;
    struct {
        unsigned objects, arrays, prefix;
        enum qs_status status;
    } cases[] = {
        {64, 0, 0, QS_OK},       {65, 0, 0, QS_INVALID}, {32, 32, 0, QS_OK},      {32, 33, 0, QS_INVALID},
        {1, 63, 0, QS_OK},       {1, 64, 0, QS_INVALID}, {10, 14, 40, QS_OK},     {10, 15, 40, QS_INVALID},
        {25, 0, 40, QS_INVALID}, {0, 24, 40, QS_OK},     {0, 25, 40, QS_INVALID}, {24, 0, 40, QS_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(value_release)
        json_t *value = nested(cases[i].objects, true, nested(cases[i].arrays, false, json_integer(1)));
        AUTO(leaves_release) struct leaves leaves = {0};
        AUTO(value_release) json_t *again = NULL;
        AUTO(buf_release) struct buf out = {0};
        struct qs_key prefix = {0};
        struct qs_error err = {0};
        for (unsigned k = 0; k < cases[i].prefix; k++)
            assert_int_equal(qs_key_push(&prefix, "p", 1, NULL), QS_OK);
        enum qs_status status = flatten_value(value, prefix.len ? &prefix : NULL, NULL, &leaves, &err);
        if (status != cases[i].status)
            fail_msg("case %zu: %d %s", i, status, err.message);
        if (status != QS_OK)
            continue;
        assert_int_equal(unflatten_leaves(leaves.items, leaves.count, NULL, &again, &err), QS_OK);
        assert_int_equal(value_encode(again, &out, &err), QS_OK);
    }
}

static void an_empty_object_counts_as_a_container(void **state)
{
    (void)state;
    AUTO(value_release) json_t *fits = nested(63, true, json_object()), *too_deep = nested(64, true, json_object());
    AUTO(leaves_release) struct leaves leaves = {0};
    struct leaves refused = {0};
    assert_int_equal(flatten_value(fits, NULL, NULL, &leaves, NULL), QS_OK);
    assert_int_equal(flatten_value(too_deep, NULL, NULL, &refused, NULL), QS_INVALID);
}

static void a_value_is_bounded_at_its_canonical_size(void **state)
{
    (void)state;
    size_t len = QS_VALUE_MAX_BYTES - 2; /* quotes */
    AUTO_FREE char *text = malloc(len + 1);
    assert_non_null(text);
    memset(text, 'x', len + 1);
    AUTO(value_release) json_t *fits = json_pack("{s:s%}", "a", text, len);
    AUTO(value_release) json_t *too_long = json_pack("{s:{s:s%}}", "a", "b", text, len + 1);
    AUTO(leaves_release) struct leaves leaves = {0};
    struct leaves refused = {0};
    struct qs_error err = {0};
    assert_int_equal(flatten_value(fits, NULL, NULL, &leaves, &err), QS_OK);
    assert_int_equal(flatten_value(too_long, NULL, NULL, &refused, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "4194304"));
    assert_string_equal(err.path, "a.b");
}

static void the_number_of_leaves_is_bounded(void **state)
{
    (void)state;
    AUTO(value_release) json_t *value = json_object();
    AUTO(leaves_release) struct leaves leaves = {0};
    struct leaves refused = {0};
    struct qs_error err = {0};
    char key[16];
    for (unsigned i = 0; i < QS_SETTINGS_MAX_ENTRIES; i++) {
        int len = snprintf(key, sizeof key, "%u", i);
        json_object_setn_new_nocheck(value, key, (size_t)len, json_true());
    }
    assert_int_equal(flatten_value(value, NULL, NULL, &leaves, &err), QS_OK);
    assert_int_equal(leaves.count, QS_SETTINGS_MAX_ENTRIES);
    json_object_set_new(value, "one more", json_true());
    assert_int_equal(flatten_value(value, NULL, NULL, &refused, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "1000000"));
}

#define LEAF(key_text, value_text) \
    { \
        {key_text, sizeof key_text - 1}, \
        { \
            value_text, sizeof value_text - 1 \
        } \
    }

static void sets_that_no_document_gives_are_damaged(void **state)
{
    (void)state;
    static const struct {
        struct leaf items[2];
        size_t count;
        const char *says;
    } cases[] = {
        {{LEAF("a", "1"), LEAF("a\0b", "2")}, 2, "below"},
        {{LEAF("a\0b", "{}"), LEAF("a\0b\0c\0d", "2")}, 2, "below"},
        {{LEAF("a", "1"), LEAF("a", "1")}, 2, "order"},
        {{LEAF("b", "1"), LEAF("a", "1")}, 2, "order"},
        {{LEAF("a\0b", "1"), LEAF("a", "1")}, 2, "order"},
        {{LEAF("", "1")}, 1, "not valid"},
        {{LEAF("a\0", "1")}, 1, "not valid"},
        {{LEAF("a\0\0b", "1")}, 1, "not valid"},
        {{LEAF("\xff", "1")}, 1, "not valid"},
        {{LEAF("a", "")}, 1, "not JSON"},
        {{LEAF("a", "x")}, 1, "not JSON"},
        {{LEAF("a", "1"), LEAF("b", "[1")}, 2, "not JSON"},
        {{LEAF("a", "\"\\u0000\"")}, 1, "not JSON"},
        {{LEAF("a", "{\"b\":1}")}, 1, "object with members"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *value = NULL;
        struct qs_error err = {0};
        enum qs_status status = unflatten_leaves(cases[i].items, cases[i].count, NULL, &value, &err);
        if (status != QS_DAMAGED || value || !strstr(err.message, cases[i].says))
            fail_msg("case %zu: %d %s", i, status, err.message);
        assert_int_equal(err.page, -1);
        assert_int_equal(unflatten_leaves(cases[i].items, cases[i].count, NULL, &value, NULL), QS_DAMAGED);
    }
}

static void neighbours_in_the_order_are_no_conflict(void **state)
{
    (void)state;
    static const struct leaf items[] = {LEAF("a\0b", "1"), LEAF("a\0b\x01", "2"), LEAF("a\0bc\0d", "3"),
                                        LEAF("a\x01", "4"), LEAF("ab", "{}")};
    AUTO(value_release) json_t *value = NULL;
    AUTO(buf_release) struct buf out = {0};
    assert_int_equal(unflatten_leaves(items, 5, NULL, &value, NULL), QS_OK);
    assert_int_equal(value_encode(value, &out, NULL), QS_OK);
    assert_string_equal(out.data, "{\"a\":{\"b\":1,\"b\\u0001\":2,\"bc\":{\"d\":3}},\"a\\u0001\":4,\"ab\":{}}");
}

static void a_subtree_is_joined_by_its_prefix(void **state)
{
    (void)state;
    static const struct leaf items[] = {LEAF("a\0b\0x", "1"), LEAF("a\0b\0y\0z", "2")};
    static const struct leaf outside[] = {LEAF("a\0b\0x", "1"), LEAF("a\0c", "2")};
    static const struct leaf itself[] = {LEAF("a\0b", "[1]"), LEAF("a\0b\0x", "1")};
    AUTO(value_release) json_t *value = NULL;
    AUTO(value_release) json_t *expected = json_pack("{s:i,s:{s:i}}", "x", 1, "y", "z", 2);
    json_t *refused = NULL;
    struct qs_key prefix;
    assert_int_equal(qs_key_parse("a.b", &prefix, NULL), QS_OK);
    assert_int_equal(unflatten_leaves(items, 2, &prefix, &value, NULL), QS_OK);
    assert_true(value_equal(value, expected));
    value_release(&value);
    assert_int_equal(unflatten_leaves(itself, 1, &prefix, &value, NULL), QS_OK);
    assert_true(json_is_array(value));
    assert_int_equal(unflatten_leaves(itself, 2, &prefix, &refused, NULL), QS_DAMAGED);
    assert_int_equal(unflatten_leaves(outside, 2, &prefix, &refused, NULL), QS_DAMAGED);
    value_release(&value);
    assert_int_equal(unflatten_leaves(NULL, 0, &prefix, &value, NULL), QS_OK);
    assert_true(json_is_object(value) && json_object_size(value) == 0);
    assert_null(refused);
}

/* One row of the manifest: file, expected exit status, what the error must name. */
static void check_case(const char *file, int expected_exit, const char *named)
{
    AUTO(doc_release) struct doc *doc = NULL;
    AUTO(leaves_release) struct leaves leaves = {0};
    struct qs_error err = {0};
    char name[256], shown[4096];
    (void)snprintf(name, sizeof name, "tests/fixtures/cases/%s", file);
    enum qs_status status = doc_read(name, QS_DOCUMENT_MAX_BYTES, &doc, &err);
    if (status == QS_OK)
        status = flatten_value(doc_root(doc), NULL, doc, &leaves, &err);
    if (status != -expected_exit)
        fail_msg("%s: %d %s", file, status, err.message);
    (void)snprintf(shown, sizeof shown, "%s:%u:%u: %s: %s", err.file, err.line, err.column, err.path, err.message);
    if (!strstr(shown, named))
        fail_msg("%s: %s is not in %s", file, named, shown);
}

/* These need the schema to be refused; as documents they are fine. */
static bool needs_schema(const char *file)
{
    static const char *const files[] = {"tools-null.json",    "sandbox-null.json",  "flat-key.json",
                                        "wrong-case.json",    "interpolated.json",  "unknown-field.json",
                                        "missing-field.json", "not-an-object.json", "network-off.yaml"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strstr(file, files[i]))
            return true;
    return false;
}

static void every_case_that_needs_no_schema_gives_its_result(void **state)
{
    (void)state;
    FILE *manifest = fopen("tests/fixtures/cases/manifest.tsv", "r");
    char line[512];
    unsigned rows = 0, refused = 0;
    assert_non_null(manifest);
    while (fgets(line, sizeof line, manifest)) {
        char file[128] = "", named[128] = "";
        int expected_exit = -1;
        if (line[0] == '#' || sscanf(line, "%127s %d %127s", file, &expected_exit, named) < 2)
            continue;
        rows++;
        if (needs_schema(file)) {
            check_case(file, 0, "");
            continue;
        }
        refused += expected_exit == 3;
        check_case(file, expected_exit, named);
    }
    fclose(manifest);
    assert_int_equal(rows, 29);
    assert_int_equal(refused, 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_split_and_all_else_is_a_leaf),
        cmocka_unit_test(leaves_come_in_the_order_of_the_store),
        cmocka_unit_test(a_prefix_stands_before_each_key),
        cmocka_unit_test(keys_that_no_store_holds_are_refused_at_their_place),
        cmocka_unit_test(the_whole_must_be_an_object),
        cmocka_unit_test(depth_counts_prefix_objects_and_arrays),
        cmocka_unit_test(an_empty_object_counts_as_a_container),
        cmocka_unit_test(a_value_is_bounded_at_its_canonical_size),
        cmocka_unit_test(the_number_of_leaves_is_bounded),
        cmocka_unit_test(sets_that_no_document_gives_are_damaged),
        cmocka_unit_test(neighbours_in_the_order_are_no_conflict),
        cmocka_unit_test(a_subtree_is_joined_by_its_prefix),
        cmocka_unit_test(every_case_that_needs_no_schema_gives_its_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
