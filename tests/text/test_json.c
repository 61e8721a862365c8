/* SPDX-License-Identifier: Apache-2.0 */
/* JSON documents: comments, byte order mark, places, and files. YAML documents are test_yaml.c's. */
#include "base/cleanup.h"
#include "tests/support/documents.h"
#include "text/doc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_document(const char *text, const char *canonical)
{
    AUTO(doc_release) struct doc *doc = NULL;
    AUTO(buf_release) struct buf out = {0};
    struct qs_error err = {0};
    if (doc_parse("test.json", text, strlen(text), DOC_JSON, &doc, &err) != QS_OK)
        fail_msg("%s: %s", text, err.message);
    assert_int_equal(value_encode(doc_root(doc), &out, &err), QS_OK);
    assert_string_equal(out.data, canonical);
    assert_string_equal(doc_file(doc), "test.json");
}

static void comments_are_white_space(void **state)
{
    (void)state;
    expect_document("// first\n{ /* a */ \"a\" /* b */ : // c\n 1 /* * / ** */ }// last", "{\"a\":1}");
    expect_document("{\"a\":\"// no\",\"b\":\"/* no */\",\"c\":\"\\\"// no\"}",
                    "{\"a\":\"// no\",\"b\":\"/* no */\",\"c\":\"\\\"// no\"}");
    expect_document("{/**/}", "{}");
    expect_document("{//\r\n}", "{}");
    expect_document("/* \" */{}/* { */", "{}");
    expect_document("// caf\xc3\xa9\n{}", "{}");
}

static void a_byte_order_mark_is_skipped_once(void **state)
{
    (void)state;
    expect_document("\xef\xbb\xbf{\"a\":1}\r\n", "{\"a\":1}");
    expect_document("{\"\xef\xbb\xbf\":\"\xef\xbb\xbf\"}", "{\"\xef\xbb\xbf\":\"\xef\xbb\xbf\"}");
    struct doc *doc = NULL;
    assert_int_equal(doc_parse("t", "\xef\xbb\xbf\xef\xbb\xbf{}", 8, DOC_JSON, &doc, NULL), QS_INVALID);
}

static const struct document_fault faults[] = {
    {"", 1, 1, "", "empty"},
    {" \n\t ", 1, 1, "", "empty"},
    {"// nothing\n", 1, 1, "", "empty"},
    {"\xef\xbb\xbf", 1, 1, "", "empty"},
    {"[]", 1, 1, "", "object"},
    {"\n  \"a\"", 2, 3, "", "string"},
    {"/* c */ null", 1, 9, "", "null"},
    {"{\"a\":1 /* no end }", 1, 8, "", "comment"},
    {"{\n /", 2, 2, "", "expected"},
    {"{\"a\":1} / 2", 1, 9, "", "end of file"},
    {"{\"a\": /* c */ /* d\n */ x}", 2, 5, "a", "invalid token"}, /* places count what was a comment */
    {"{ // \xff\n}", 1, 6, "", "UTF-8"},                          /* in a comment, too */
    {"{ \"\xc3\xa9\": x}", 1, 9, "\xc3\xa9", "invalid token"},    /* columns are bytes */
    {"\xef\xbb\xbf{x}", 1, 2, "", "expected"},                    /* the mark has no column */
    {"{\"a\":{\"b\":[{},{\"c.d\":tru}]}}", 1, 22, "a.b.1.\"c.d\"", "invalid token"},
    {"{\"a\":1,\n\"a\":2}", 2, 1, "a", "twice"},
    {"{\"a\":[],\n\"b\":{\"a\":[1,2,{\"x\":1,\"x\":1}]}}", 2, 22, "b.a.2.x", "twice"},
    {"{\"tools\":{\n \"x\":1\n", 3, 1, "tools", "end of file"},
    {"{\"a\":1}\n\n}", 3, 1, "", "end of file"},
    {"{\"a\":\"\\u0000\"}", 1, 6, "a", "\\u0000"},
    {"#c\n{}", 1, 1, "", "invalid token"},
};

static void faults_are_told_with_file_line_column_and_path(void **state)
{
    (void)state;
    document_faults_are_told(DOC_JSON, faults, sizeof faults / sizeof *faults);
}

static void a_value_need_not_be_an_object(void **state)
{
    (void)state;
    static const char *const texts[] = {"1", "\"a\"", "[1]", "null", "true", "{}", " // c\n 1.5 "};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        AUTO(doc_release) struct doc *doc = NULL;
        assert_int_equal(doc_parse_value("VALUE", texts[i], strlen(texts[i]), DOC_JSON, &doc, NULL), QS_OK);
    }
    struct doc *doc = NULL;
    assert_int_equal(doc_parse_value("VALUE", "docs", 4, DOC_JSON, &doc, NULL), QS_INVALID);
    assert_int_equal(doc_parse_value("VALUE", "", 0, DOC_JSON, &doc, NULL), QS_INVALID);
}

static void too_large_a_document_is_refused(void **state)
{
    (void)state;
    size_t len = QS_DOCUMENT_MAX_BYTES + 1;
    AUTO_FREE char *text = malloc(len);
    AUTO(doc_release) struct doc *doc = NULL;
    struct qs_error err = {0};
    struct doc *refused = NULL;
    assert_non_null(text);
    memset(text, ' ', len);
    memcpy(text, "{}", 2);
    assert_int_equal(doc_parse("big", text, len, DOC_JSON, &refused, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "67108864"));
    assert_int_equal(doc_parse("big", text, len - 1, DOC_JSON, &doc, &err), QS_OK);
}

static void places_of_keys_and_values_are_found(void **state)
{
    (void)state;
    static const char text[] = "// c\n"
                               " {\"a\": {\"x\": [10, {\"y\":\n"
                               "   1}, 30]},\n"
                               "  \"c.d\" : 5, \"\\u0065\": [[], {}],\n"
                               "  \"b\": {\"a\": {\"x\": 7}}}\n";
    AUTO(doc_release) struct doc *doc = NULL;
    assert_int_equal(doc_parse("t", text, sizeof text - 1, DOC_JSON, &doc, NULL), QS_OK);
    document_place_is(doc, NULL, false, 2, 2);
    document_place_is(doc, "a", true, 2, 3);
    document_place_is(doc, "a", false, 2, 8);
    document_place_is(doc, "a.x", true, 2, 9);
    document_place_is(doc, "a.x", false, 2, 14);
    document_place_is(doc, "a.x.0", false, 2, 15);
    document_place_is(doc, "a.x.1.y", true, 2, 20);
    document_place_is(doc, "a.x.1.y", false, 3, 4);
    document_place_is(doc, "a.x.2", false, 3, 8);
    document_place_is(doc, "a.x.2", true, 3, 8);
    document_place_is(doc, "\"c.d\"", true, 4, 3);
    document_place_is(doc, "\"c.d\"", false, 4, 11);
    document_place_is(doc, "e.1", false, 4, 29);
    document_place_is(doc, "b.a.x", false, 5, 20);
    document_place_is(doc, "b.a.x", true, 5, 15);
    /* What is not there: the nearest that is. */
    document_place_is(doc, "a.x.3", false, 2, 14);
    document_place_is(doc, "a.x.1.z.q", false, 2, 19);
    document_place_is(doc, "x", false, 2, 2);
    document_place_is(doc, "a.y", true, 2, 3);
    document_place_is(doc, "b.x", false, 5, 8);
}

static void blame_adds_file_place_and_path_once(void **state)
{
    (void)state;
    AUTO(doc_release) struct doc *doc = NULL;
    struct qs_key key;
    struct qs_error err = {.status = QS_INVALID, .message = "m"};
    assert_int_equal(doc_parse("f.json", "{\"a\":{\"b c\":1}}", 15, DOC_JSON, &doc, NULL), QS_OK);
    assert_int_equal(qs_key_parse("a.\"b c\"", &key, NULL), QS_OK);
    doc_blame(doc, &key, true, &err);
    assert_string_equal(err.file, "f.json");
    assert_string_equal(err.path, "a.\"b c\"");
    assert_string_equal(err.message, "m");
    assert_int_equal(err.line, 1);
    assert_int_equal(err.column, 7);
    doc_blame(doc, NULL, false, &err); /* what is known already stays */
    assert_int_equal(err.column, 7);
    doc_blame(doc, &key, false, NULL);
}

static void formats_go_by_the_ending(void **state)
{
    (void)state;
    assert_int_equal(doc_format_of("a.yaml"), DOC_YAML);
    assert_int_equal(doc_format_of("a/b.YML"), DOC_YAML);
    assert_int_equal(doc_format_of("a.yaml/b"), DOC_JSON);
    assert_int_equal(doc_format_of("a.json"), DOC_JSON);
    assert_int_equal(doc_format_of("a.jsonc"), DOC_JSON);
    assert_int_equal(doc_format_of("yaml"), DOC_JSON);
    assert_int_equal(doc_format_of("-"), DOC_JSON);
}

static void files_that_cannot_be_read_are_told_apart(void **state)
{
    (void)state;
    struct doc *doc = NULL;
    struct qs_error err = {0};
    assert_int_equal(doc_read("tests/fixtures/absent.json", 1000, &doc, &err), QS_NOT_FOUND);
    assert_string_equal(err.file, "tests/fixtures/absent.json");
    assert_int_equal(err.sys_errno, ENOENT);
    assert_int_equal(doc_read("tests/fixtures", 1000, &doc, &err), QS_IO);
    assert_string_equal(err.file, "tests/fixtures");
    assert_int_equal(doc_read("tests/fixtures/cases/good/operator.jsonc", 1000, &doc, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "1000 bytes"));
    assert_null(doc);
}

/* Standard input is replaced for the test. */
static enum qs_status read_standard_input(const char *text, struct doc **ret_doc, struct qs_error *err)
{
    int ends[2], saved = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    close(ends[0]);
    enum qs_status status = doc_read("-", 1000, ret_doc, err);
    dup2(saved, STDIN_FILENO);
    close(saved);
    return status;
}

static void standard_input_is_json_or_yaml_by_its_first_character(void **state)
{
    (void)state;
    static const char *const texts[] = {"{\"a\":1}",  " // c\n{\"a\":1}", "\xef\xbb\xbf /* c */ {\"a\":1}",
                                        "a: 1\n",     "# c\na: 1\n",      "\"a\": 1",
                                        "---\n{a: 1}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        AUTO(doc_release) struct doc *doc = NULL;
        struct qs_error err = {0};
        if (read_standard_input(texts[i], &doc, &err) != QS_OK)
            fail_msg("%s: %s", texts[i], err.message);
        assert_int_equal(json_integer_value(json_object_get(doc_root(doc), "a")), 1);
        assert_string_equal(doc_file(doc), "standard input");
    }
    struct doc *doc = NULL;
    struct qs_error err = {0};
    assert_int_equal(read_standard_input("{\"a\":1,}", &doc, &err), QS_INVALID);
    assert_string_equal(err.file, "standard input");
    assert_int_equal(err.column, 8);
    assert_int_equal(read_standard_input("", &doc, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "empty"));
}

static void released_documents_are_gone(void **state)
{
    (void)state;
    struct doc *doc = NULL;
    errno = E2BIG;
    doc_free(NULL);
    doc_release(&doc);
    assert_int_equal(doc_parse("t", "{}", 2, DOC_JSON, &doc, NULL), QS_OK);
    errno = E2BIG;
    doc_release(&doc);
    assert_int_equal(errno, E2BIG);
    assert_null(doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_are_white_space),
        cmocka_unit_test(a_byte_order_mark_is_skipped_once),
        cmocka_unit_test(faults_are_told_with_file_line_column_and_path),
        cmocka_unit_test(a_value_need_not_be_an_object),
        cmocka_unit_test(too_large_a_document_is_refused),
        cmocka_unit_test(places_of_keys_and_values_are_found),
        cmocka_unit_test(blame_adds_file_place_and_path_once),
        cmocka_unit_test(formats_go_by_the_ending),
        cmocka_unit_test(files_that_cannot_be_read_are_told_apart),
        cmocka_unit_test(standard_input_is_json_or_yaml_by_its_first_character),
        cmocka_unit_test(released_documents_are_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
