/* SPDX-License-Identifier: Apache-2.0 */
/* YAML documents: types of the 1.2 core schema, refusals with their places, and the way out. */
#include "base/cleanup.h"
#include "tests/support/documents.h"
#include "text/doc.h"
#include "text/yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void expect_document(const char *text, const char *canonical)
{
    AUTO(doc_release) struct doc *doc = NULL;
    AUTO(buf_release) struct buf out = {0};
    struct qs_error err = {0};
    if (doc_parse_value("test.yaml", text, strlen(text), DOC_YAML, &doc, &err) != QS_OK)
        fail_msg("%s: %u:%u %s", text, err.line, err.column, err.message);
    assert_int_equal(value_encode(doc_root(doc), &out, &err), QS_OK);
    if (strcmp(out.data, canonical) != 0)
        fail_msg("%s: %s instead of %s", text, out.data, canonical);
}

static const char *const cases[][2] = {
    {"null", "null"},
    {"Null", "null"},
    {"NULL", "null"},
    {"~", "null"},
    {"", "null"},
    {"nULL", "\"nULL\""},
    {"true", "true"},
    {"True", "true"},
    {"TRUE", "true"},
    {"false", "false"},
    {"False", "false"},
    {"FALSE", "false"},
    {"tRUE", "\"tRUE\""},
    /* what YAML 1.1 took for booleans */
    {"yes", "\"yes\""},
    {"Yes", "\"Yes\""},
    {"no", "\"no\""},
    {"NO", "\"NO\""},
    {"on", "\"on\""},
    {"off", "\"off\""},
    {"y", "\"y\""},
    {"n", "\"n\""},
    {"0", "0"},
    {"-0", "0"},
    {"+1", "1"},
    {"-12", "-12"},
    {"014", "14"},
    {"00", "0"},
    {"0o14", "12"},
    {"0x1F", "31"},
    {"0xff", "255"},
    {"9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"9007199254740993", "9007199254740993"},
    {"0x7fffffffffffffff", "9223372036854775807"},
    {"0o", "\"0o\""},
    {"0x", "\"0x\""},
    {"0o8", "\"0o8\""},
    {"0xg", "\"0xg\""},
    {"-0x1", "\"-0x1\""},
    {"0b1", "\"0b1\""},
    {"1_000", "\"1_000\""},
    {"12:30:45", "\"12:30:45\""},
    {"1.0", "1.0"},
    {"1.", "1.0"},
    {".5", "0.5"},
    {"-.5", "-0.5"},
    {"+.5", "0.5"},
    {"1e3", "1000.0"},
    {"1E+3", "1000.0"},
    {"1e-3", "0.001"},
    {"00215e6", "215000000.0"},
    {"-0.0", "-0.0"},
    {"1.5e300", "1.5e300"},
    {"1e", "\"1e\""},
    {"1e+", "\"1e+\""},
    {".", "\".\""},
    {"..", "\"..\""},
    {"-.", "\"-.\""},
    {"+", "\"+\""},
    {"1.2.3", "\"1.2.3\""},
    {"1 2", "\"1 2\""},
    {"e5", "\"e5\""},
    {".e5", "\".e5\""},
    {"1e5x", "\"1e5x\""},
    {"inf", "\"inf\""},
    {"NaN", "\"NaN\""},
    {".iNF", "\".iNF\""},
    {"+.nan", "\"+.nan\""},
    {"2024-01-01", "\"2024-01-01\""},
    {"=", "\"=\""},
    {"<<", "\"<<\""},
    {"a#b", "\"a#b\""},

    {"http://a:80/b", "\"http://a:80/b\""},
};

static void plain_scalars_have_the_types_of_the_core_schema(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128], canonical[128];
        (void)snprintf(text, sizeof text, "[a, %s]", cases[i][0]);
        (void)snprintf(canonical, sizeof canonical, "[\"a\",%s]", cases[i][1]);
        if (*cases[i][0])
            expect_document(text, canonical);
        (void)snprintf(text, sizeof text, "k: %s\n", cases[i][0]);
        (void)snprintf(canonical, sizeof canonical, "{\"k\":%s}", cases[i][1]);
        expect_document(text, canonical);
    }
}

static void quoted_and_block_scalars_are_strings(void **state)
{
    (void)state;
    expect_document("['1', \"true\", '', \"\", 'it''s', '~']", "[\"1\",\"true\",\"\",\"\",\"it's\",\"~\"]");
    expect_document("\"\\x41\\u00e9\\U0001F600\\n\\e\\_\\N\\L\\P\"",
                    "\"A\xc3\xa9\xf0\x9f\x98\x80\\n\\u001b\xc2\xa0\xc2\x85\xe2\x80\xa8\xe2\x80\xa9\"");
    expect_document("a: |\n  x\n   y\n\nb: >-\n  1\n  2\n", "{\"a\":\"x\\n y\\n\",\"b\":\"1 2\"}");
    expect_document("a: x\n  y # c\n", "{\"a\":\"x y\"}");
}

static void keys_are_taken_as_their_text(void **state)
{
    (void)state;
    expect_document(
        "{1: a, true: b, ~: c, 'x': d, 1.50: e, \"<<\": f, no: g, ? 0x1: h}",
        "{\"0x1\":\"h\",\"1\":\"a\",\"1.50\":\"e\",\"<<\":\"f\",\"no\":\"g\",\"true\":\"b\",\"x\":\"d\",\"~\":"
        "\"c\"}");
    expect_document("? a\n: 1\n? b\n: - x\n", "{\"a\":1,\"b\":[\"x\"]}");
}

static void layout_of_all_kinds_is_read(void **state)
{
    (void)state;
    expect_document("%YAML 1.2\n---\na: 1\n...\n", "{\"a\":1}");
    expect_document("%YAML 1.1\n---\na: no\n", "{\"a\":\"no\"}");
    expect_document("--- {a: [1, {b: }], }\n", "{\"a\":[1,{\"b\":null}]}");
    expect_document("\xef\xbb\xbf# c\n\na:\n- 1\n-\n  - x: y\n    z: w\n", "{\"a\":[1,[{\"x\":\"y\",\"z\":\"w\"}]]}");
    expect_document("a: 1\r\nb: 2\r\n", "{\"a\":1,\"b\":2}");
    expect_document("{\"a\":1,\"b\":[true,null]}", "{\"a\":1,\"b\":[true,null]}"); /* JSON is YAML */
}

static const struct document_fault faults[] = {
    {"", 1, 1, "", "empty"},
    {"# c\n", 1, 1, "", "empty"},
    {"---\n", 2, 1, "", "object"},
    {"- a\n", 1, 1, "", "object"},
    {"text", 1, 1, "", "object"},
    {"a: &x 1\nb: *x\n", 2, 4, "b", "alias"},
    {"a: &x 1\nb: 2\n", 1, 4, "", "anchor"},
    {"&x a: 1\n", 1, 1, "", "anchor"},
    {"a: [1, &x {b: 1}]\n", 1, 8, "", "anchor"},
    {"*x : 1\n", 1, 1, "", "alias"},
    {"a: !!str 1\n", 1, 4, "a", "tag"},
    {"a: ! 1\n", 1, 4, "a", "tag"},
    {"a: !x [1]\n", 1, 4, "a", "tag"},
    {"a: !!map {}\n", 1, 4, "a", "tag"},
    {"!!str a: 1\n", 1, 1, "", "tag"},
    {"a: 1\n---\nb: 1\n", 2, 1, "", "second document"},
    {"a: 1\n...\n---\n", 3, 1, "", "second document"},
    {"a: 1\nb: 2\na: 3\n", 3, 1, "a", "twice"},
    {"x: {a: 1, 'a': 2}\n", 1, 11, "x.a", "twice"},
    {"x:\n- {1: a}\n- {1: a, \"1\": b}\n", 3, 10, "x.1.1", "twice"},
    {"<<: {a: 1}\n", 1, 1, "<<", "merge"},
    {"? [a]\n: 1\n", 1, 3, "", "scalar"},
    {"{a: 1}: 2\n", 1, 1, "", "scalar"},
    {"a: .inf\n", 1, 4, "a", "infinite"},
    {"a: -.INF\n", 1, 4, "a", "infinite"},
    {"a: [0, .nan]\n", 1, 8, "a.1", "NaN"},
    {"a: 1e400\n", 1, 4, "a", "too large"},
    {"a: 9223372036854775808\n", 1, 4, "a", "64 bits"},
    {"a: -9223372036854775809\n", 1, 4, "a", "64 bits"},
    {"a: 0x8000000000000000\n", 1, 4, "a", "64 bits"},
    {"a: 0o1000000000000000000000\n", 1, 4, "a", "64 bits"},
    {"a: \"x\\0y\"\n", 1, 4, "a", "zero byte"},
    {"\"x\\0y\": 1\n", 1, 1, "", "zero byte"},
    {"a: \"\\ud800\"\n", 1, 7, "a", "Unicode"},
    {"a: \"\\ud83d\\ude00\"\n", 1, 7, "a", "Unicode"},
    {"a: \"\\U00110000\"\n", 1, 7, "a", "Unicode"},
    {"a: \"\\q\"\n", 1, 5, "a", "escape"},
    {"tools:\n\tx: 1\n", 2, 1, "tools", "tab"},
    {"a: @b\n", 1, 4, "a", "cannot start"},
    {"a: [1, 2\n", 2, 1, "a", "expected"},
    {"a: 1\n b: 2\n", 2, 3, "", "not allowed"},
    {"caf\xc3\xa9: {\xc3\xa9: *x}\n", 1, 13, "caf\xc3\xa9.\xc3\xa9", "alias"}, /* columns are bytes */
    {"a: 1\nb: \xff\n", 2, 4, "", "UTF-8"},
    {"a: \x01\n", 1, 4, "", "control"},
    {"a: b\xc2\x85"
     "c: d\n",
     1, 5, "", "U+0085"},
    {"# \xe2\x80\xa8tools: {}\na: 1\n", 1, 3, "", "U+2028"},
    {"a: \"\xe2\x80\xa9\"\n", 1, 5, "", "U+2029"},
};

static void faults_are_told_with_file_line_column_and_path(void **state)
{
    (void)state;
    document_faults_are_told(DOC_YAML, faults, sizeof faults / sizeof *faults);
}

static void a_raw_zero_byte_is_refused(void **state)
{
    (void)state;
    struct doc *doc = NULL;
    assert_int_equal(doc_parse("t", "a: 1\0", 5, DOC_YAML, &doc, NULL), QS_INVALID);
    assert_int_equal(doc_parse("t", "a: 1\n\0b: 2\n", 11, DOC_YAML, &doc, NULL), QS_INVALID);
    assert_null(doc);
}

static void nest(struct buf *out, unsigned depth, bool flow)
{
    buf_clear(out);
    buf_add_str(out, "a: ");
    for (unsigned i = 0; i < depth; i++)
        buf_add_str(out, flow ? "[" : "\n  - ");
    buf_add_str(out, "1");
    for (unsigned i = 0; flow && i < depth; i++)
        buf_add_str(out, "]");
}

/* Each is compared with all before it. */
static void tag_directives_are_bounded(void **state)
{
    (void)state;
    AUTO(buf_release) struct buf text = {0};
    AUTO(doc_release) struct doc *doc = NULL;
    struct doc *refused = NULL;
    struct qs_error err = {0};
    for (unsigned i = 0; i < 64; i++)
        buf_printf(&text, "%%TAG !a%u! tag:a\n", i);
    size_t len = text.len;
    buf_add_str(&text, "---\na: 1\n");
    assert_int_equal(doc_parse("t", text.data, text.len, DOC_YAML, &doc, &err), QS_OK);
    text.len = len;
    buf_add_str(&text, "%TAG !b! tag:b\n---\na: 1\n");
    assert_int_equal(doc_parse("t", text.data, text.len, DOC_YAML, &refused, &err), QS_INVALID);
    assert_int_equal(err.line, 65);
}

static void depth_is_bounded(void **state)
{
    (void)state;
    AUTO(buf_release) struct buf text = {0};
    AUTO(doc_release) struct doc *doc = NULL;
    struct doc *refused = NULL;
    struct qs_error err = {0};
    nest(&text, QS_DOCUMENT_MAX_DEPTH - 1, true);
    assert_int_equal(doc_parse("t", text.data, text.len, DOC_YAML, &doc, &err), QS_OK);
    nest(&text, QS_DOCUMENT_MAX_DEPTH, true);
    assert_int_equal(doc_parse("t", text.data, text.len, DOC_YAML, &refused, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "64"));
    assert_int_equal(err.column, 3 + QS_DOCUMENT_MAX_DEPTH);
    nest(&text, 1000000, true);
    assert_int_equal(doc_parse("t", text.data, text.len, DOC_YAML, &refused, &err), QS_INVALID);
    buf_clear(&text);
    for (unsigned i = 0; i < 70; i++)
        buf_add_str(&text, "- ");
    assert_int_equal(doc_parse_value("t", text.data, text.len, DOC_YAML, &refused, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "64"));
    assert_int_equal(err.column, 2 * QS_DOCUMENT_MAX_DEPTH + 1);
}

static void places_of_keys_and_values_are_found(void **state)
{
    (void)state;
    static const char text[] = "# caf\xc3\xa9\n"
                               "a:\n"
                               "  x:\n"
                               "  - 10\n"
                               "  - y: \"\xc3\xa9\"\n"
                               "    z: {\xc3\xa9: 1, q: [2, 3]}\n"
                               "\"b\": 7\n";
    AUTO(doc_release) struct doc *doc = NULL;
    assert_int_equal(doc_parse("t", text, sizeof text - 1, DOC_YAML, &doc, NULL), QS_OK);
    document_place_is(doc, "a", true, 2, 1);
    document_place_is(doc, "a", false, 3, 3);
    document_place_is(doc, "a.x.0", false, 4, 5);
    document_place_is(doc, "a.x.1", false, 5, 5);
    document_place_is(doc, "a.x.1.y", false, 5, 8);
    document_place_is(doc, "a.x.1.z.q", true, 6, 16);
    document_place_is(doc, "a.x.1.z.q.1", false, 6, 23);
    document_place_is(doc, "b", false, 7, 6);
    document_place_is(doc, "b.none", false, 7, 6);
    document_place_is(doc, "none", true, 2, 1);
}

static void expect_yaml(const char *json, const char *yaml)
{
    AUTO(value_release) json_t *value = NULL;
    AUTO(buf_release) struct buf out = {0};
    assert_int_equal(value_decode(json, strlen(json), &value, NULL), QS_OK);
    assert_int_equal(value_encode_yaml(value, &out, NULL), QS_OK);
    assert_string_equal(out.data, yaml);
}

static void output_is_what_a_person_would_write(void **state)
{
    (void)state;
    expect_yaml(
        "{\"tools\":{\"network\":\"closed\",\"list\":[\"Bash(git push *)\",\"~/.ssh/**\",2]},\"empty\":{},\"e\":[]}",
        "e: []\nempty: {}\ntools:\n  list:\n  - Bash(git push *)\n  - \"~/.ssh/**\"\n  - 2\n  network: closed\n");
    expect_yaml("{}", "{}\n");
    expect_yaml("{\"a\":[[1,[2]],{\"b\":null}],\"r\":[1.0,1e22,true]}",
                "a:\n- - 1\n  - - 2\n- b: null\nr:\n- 1.0\n- 1e22\n- true\n");
    expect_yaml("{\"docs.local\":\"https://a.example/b\",\"$x\":\"a: b\",\"k\":\"x:\",\"l\":\"a #b\",\"m\":\"a b \"}",
                "$x: \"a: b\"\ndocs.local: https://a.example/b\nk: \"x:\"\nl: \"a #b\"\nm: \"a b \"\n");
}

static void texts_that_look_like_other_types_are_quoted(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "00215e6", "1e3",  "014",        "no",   "No",  "yes", "on",   "OFF", "y",   "N",     "~",        "null",
        "Null",    "true", "2024-01-01", "0x1F", "0o7", ".5",  "+1",   "=",   "<<",  "1_000", "12:30:45", ".inf",
        ".NaN",    "",     " a",         "a ",   "- a", "-",   "? a",  "#",   "&a",  "*a",    "!a",       "|",
        ">",       "%a",   "@a",         "`",    "{a",  "[a",  "a, b", "---", "...", "a: b",  "a:",       ":",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        AUTO(value_release) json_t *value = json_pack("{s:s}", "k", texts[i]);
        AUTO(buf_release) struct buf out = {0};
        char expected[64];
        (void)snprintf(expected, sizeof expected, "k: \"%s\"\n", texts[i]);
        assert_int_equal(value_encode_yaml(value, &out, NULL), QS_OK);
        assert_string_equal(out.data, expected);
        assert_false(yamltext_is_plain_string(texts[i], strlen(texts[i])));
    }
}

static void scalars_at_the_top_are_written_too(void **state)
{
    (void)state;
    expect_yaml("\"no\"", "\"no\"\n");
    expect_yaml("[]", "[]\n");
    AUTO(value_release) json_t *value = json_integer(7);
    AUTO(buf_release) struct buf out = {0};
    assert_int_equal(value_encode_yaml(value, &out, NULL), QS_OK);
    expect_document(out.data, "7");
}

static void long_and_many_lined_keys_survive(void **state)
{
    (void)state;
    char key[3000];
    for (size_t len = 100; len < sizeof key; len += 103) {
        AUTO(buf_release) struct buf out = {0};
        AUTO(doc_release) struct doc *doc = NULL;
        memset(key, 'k', len);
        key[len / 2] = len % 2 ? '\n' : ' ';
        key[len] = '\0';
        AUTO(value_release) json_t *value = json_pack("{s:{s:[i,{s:i}]},s:{}}", "a", key, 1, key, 2, key);
        assert_int_equal(value_encode_yaml(value, &out, NULL), QS_OK);
        assert_int_equal(doc_parse("t", out.data, out.len, DOC_YAML, &doc, NULL), QS_OK);
        assert_true(value_equal(value, doc_root(doc)));
    }
}

static void what_cannot_be_written_is_refused(void **state)
{
    (void)state;
    AUTO(buf_release) struct buf out = {0}, small = {.max_bytes = 4};
    AUTO(value_release) json_t *deep = json_array(), *text = json_string("longer than the room");
    struct qs_error err = {0};
    for (unsigned i = 0; i < QS_DOCUMENT_MAX_DEPTH; i++) {
        json_t *around = json_array();
        json_array_append_new(around, deep);
        deep = around;
    }
    assert_int_equal(value_encode_yaml(deep, &out, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "64"));
    assert_int_equal(value_encode_yaml(text, &small, &err), QS_IO);
    assert_int_equal(value_encode_yaml(NULL, &out, &err), QS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_scalars_have_the_types_of_the_core_schema),
        cmocka_unit_test(quoted_and_block_scalars_are_strings),
        cmocka_unit_test(keys_are_taken_as_their_text),
        cmocka_unit_test(layout_of_all_kinds_is_read),
        cmocka_unit_test(faults_are_told_with_file_line_column_and_path),
        cmocka_unit_test(a_raw_zero_byte_is_refused),
        cmocka_unit_test(tag_directives_are_bounded),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(places_of_keys_and_values_are_found),
        cmocka_unit_test(output_is_what_a_person_would_write),
        cmocka_unit_test(texts_that_look_like_other_types_are_quoted),
        cmocka_unit_test(scalars_at_the_top_are_written_too),
        cmocka_unit_test(long_and_many_lined_keys_survive),
        cmocka_unit_test(what_cannot_be_written_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
