/* SPDX-License-Identifier: Apache-2.0 */
/* The value codec: canonical text, numbers, strict decoding, the canonical check; in every locale. */
#include "base/cleanup.h"
#include "tests/support/canonical.h"
#include "tests/support/gen.h"
#include "text/value.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_canonical(const char *text, const char *canonical)
{
    AUTO(value_release) json_t *value = NULL;
    AUTO(buf_release) struct buf out = {0};
    struct qs_error err = {0};
    if (value_decode(text, strlen(text), &value, &err) != QS_OK)
        fail_msg("%s: %s", text, err.message);
    assert_int_equal(value_encode(value, &out, &err), QS_OK);
    assert_string_equal(out.data, canonical);
}

static void canonical_text_is_sorted_and_without_spaces(void **state)
{
    (void)state;
    expect_canonical(" { \"b\" : [ 1 , 2 ] , \"a\" : { \"z\" : null , \"y\" : true } } ",
                     "{\"a\":{\"y\":true,\"z\":null},\"b\":[1,2]}");
    expect_canonical("{\"a b\":1,\"a\":2,\"ab\":3,\"\":4,\"A\":5,\"\xc3\xa9\":6,\"z\":7}",
                     "{\"\":4,\"A\":5,\"a\":2,\"a b\":1,\"ab\":3,\"z\":7,\"\xc3\xa9\":6}");
    expect_canonical("[]", "[]");
    expect_canonical("[ { } , [ ] , false ]", "[{},[],false]");
    expect_canonical("\"\"", "\"\"");
}

static void many_members_are_sorted_too(void **state)
{
    (void)state;
    AUTO(value_release) json_t *object = json_object();
    AUTO(buf_release) struct buf out = {0}, expected = {0};
    char key[16];
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof key, "k%03u", i * 7 % 1000);
        json_object_set_new(object, key, json_integer(i * 7 % 1000));
        buf_printf(&expected, "%s\"k%03u\":%u", i ? "," : "{", i, i);
    }
    buf_add_char(&expected, '}');
    assert_int_equal(value_encode(object, &out, NULL), QS_OK);
    assert_string_equal(out.data, expected.data);
}

static void strings_have_the_shortest_escapes(void **state)
{
    (void)state;
    expect_canonical("\"\\u0041\\/\\u00e9\\ud83d\\ude00\"", "\"A/\xc3\xa9\xf0\x9f\x98\x80\"");
    expect_canonical("\"\\u0008\\u0009\\u000a\\u000c\\u000d\\u0022\\u005c\"", "\"\\b\\t\\n\\f\\r\\\"\\\\\"");
    expect_canonical("\"\\u0001\\u000B\\u001F\\u007f\\u0080\"", "\"\\u0001\\u000b\\u001f\x7f\xc2\x80\"");
    expect_canonical("{\"\\n\":1}", "{\"\\n\":1}");
}

static void integers_are_exact_to_64_bits(void **state)
{
    (void)state;
    expect_canonical("9007199254740993", "9007199254740993");
    expect_canonical("9223372036854775807", "9223372036854775807");
    expect_canonical("-9223372036854775808", "-9223372036854775808");
    expect_canonical("999999999999999999", "999999999999999999");
    expect_canonical("0", "0");
    expect_canonical("-0", "0");
}

static const struct {
    double real;
    const char *text;
} reals[] = {
    {0.0, "0.0"},
    {-0.0, "-0.0"},
    {1.0, "1.0"},
    {-1.0, "-1.0"},
    {0.1, "0.1"},
    {0.3, "0.3"},
    {0.1 + 0.2, "0.30000000000000004"},
    {100.0, "100.0"},
    {123456.789, "123456.789"},
    {1e15, "1000000000000000.0"},
    {1e16, "1e16"},
    {1e22, "1e22"},
    {1e23, "1e23"},
    {1.5e300, "1.5e300"},
    {0.0001, "0.0001"},
    {0.00001, "1e-5"},
    {0.00012345, "0.00012345"},
    {DBL_MAX, "1.7976931348623157e308"},
    {DBL_MIN, "2.2250738585072014e-308"},
    {5e-324, "5e-324"},
    {2.225073858507201e-308, "2.225073858507201e-308"}, /* the largest subnormal */
    {9007199254740992.0, "9007199254740992.0"},
    {0x1p-44, "5.684341886080802e-14"}, /* a power of two: the nearest 16 digits (...801) do not read back, these do */
    {1.0 / 3, "0.3333333333333333"},
    {2.0 / 3, "0.6666666666666666"},
    {4.35, "4.35"},
};

static void check_reals(void)
{
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        AUTO(buf_release) struct buf out = {0};
        AUTO(value_release) json_t *value = NULL;
        value_encode_real(reals[i].real, &out);
        assert_string_equal(out.data, reals[i].text);
        assert_int_equal(value_decode(out.data, out.len, &value, NULL), QS_OK);
        assert_true(json_is_real(value));
        double again = json_real_value(value);
        assert_memory_equal(&again, &reals[i].real, sizeof again);
        assert_true(is_canonical_leaf(out.data, out.len));
    }
}

static void reals_are_short_and_never_look_like_integers(void **state)
{
    (void)state;
    check_reals();
    expect_canonical("[1E3,1e+3,1.50,0.10e1]", "[1000.0,1000.0,1.5,1.0]");
}

/* Independent of how the digits were found: no text with one digit less reads back. */
static void no_shorter_text_of_a_real_reads_back(void **state)
{
    (void)state;
    struct gen gen;
    gen_init(&gen, 11);
    print_message("# seed 11\n");
    for (unsigned i = 0; i < 20000; i++) {
        AUTO(buf_release) struct buf out = {0};
        double real = i % 4 ? gen_real(&gen) : ldexp(1, (int)gen_below(&gen, 2000) - 1000);
        value_encode_real(real, &out);
        double again = strtod(out.data, NULL);
        assert_memory_equal(&again, &real, sizeof real);
        assert_non_null(strpbrk(out.data, ".e"));
        int digits = 0, zeros = 0;
        for (const char *p = out.data; *p && *p != 'e'; p++)
            if (*p >= '0' && *p <= '9' && (digits || *p != '0')) {
                digits++;
                zeros = *p == '0' ? zeros + 1 : 0;
            }
        if ((digits -= zeros) < 2)
            continue;
        char shorter[40];
        (void)snprintf(shorter, sizeof shorter, "%.*e", digits - 2, real);
        if (strtod(shorter, NULL) == real)
            fail_msg("%s, but %s would do", out.data, shorter);
    }
}

static void what_is_no_number_is_refused(void **state)
{
    (void)state;
    AUTO(buf_release) struct buf out = {0};
    struct qs_error err = {0};
    json_t *real = json_real(1.0);
    assert_int_equal(json_real_set(real, NAN), -1); /* jansson itself keeps these out */
    assert_int_equal(json_real_set(real, INFINITY), -1);
    json_decref(real);
    assert_int_equal(value_encode(NULL, &out, &err), QS_INVALID);
}

static const struct {
    const char *text;
    unsigned line, column;
    const char *path, *says;
} faults[] = {
    {"", 1, 1, "", "invalid JSON"},
    {"1 2", 1, 3, "", "end of file"},
    {"{} x", 1, 4, "", "end of file"},
    {"{\"a\":1,}", 1, 8, "", "expected"},
    {"[1,\n 2,\n]", 3, 1, "", "near"},
    {"{\"a\":{\"b\":1,\"b\":2}}", 1, 13, "a.b", "twice"},
    {"{\"a\":9223372036854775808}", 1, 6, "a", "64 bits"},
    {"{\"a\":[0,-9223372036854775809]}", 1, 9, "a.1", "64 bits"},
    {"{\"a\":1e309}", 1, 6, "a", "64-bit real"},
    {"{\"a\":\"\\u0000\"}", 1, 6, "a", "\\u0000"},
    {"{\"\\u0000\":1}", 1, 2, "", "\\u0000"},
    {"{\"a\":\"\\ud800\"}", 1, 6, "a", "Unicode"},
    {"{\"a\":\"\\ud800\\u0041\"}", 1, 6, "a", "Unicode"},
    {"{\"a\":\"\\udc00\"}", 1, 6, "a", "Unicode"},
    {"{\"a\":\"\\q\"}", 1, 8, "a", "escape"},
    {"{\"a\":\"x\ty\"}", 1, 8, "a", "control"},
    {"{\"a\":\"x\ny\"}", 1, 8, "a", "newline"},
    {"{\"a\":\"x", 1, 6, "a", "end"},
    {"{\"a\":01}", 1, 6, "a", "invalid token"},
    {"{\"a\":.5}", 1, 6, "a", "invalid token"},
    {"{\"a\":1.}", 1, 6, "a", "invalid token"},
    {"{\"a\":+1}", 1, 6, "a", "invalid token"},
    {"{\"a\":NaN}", 1, 6, "a", "invalid token"},
    {"{\"a\":True}", 1, 6, "a", "invalid token"},
    {"{a:1}", 1, 2, "", "expected"},
    {"{'a':1}", 1, 2, "", "expected"},
    {"{\"a\" 1}", 1, 6, "a", "':' expected"},
    {"{\"a\":1 \"b\":2}", 1, 8, "", "expected"},
    {"[1 2]", 1, 4, "1", "expected"},
    {"\"a\xff\"", 1, 3, "", "UTF-8"},
    {"{\"a\":[{\"b\":\"\xed\xa0\x80\"}]}", 1, 13, "a.0.b", "UTF-8"},
    {"// c\n1", 1, 1, "", "invalid token"},
    {"\xef\xbb\xbf{}", 1, 1, "", "invalid"}, /* a byte order mark is a document's matter */
};

static void refusals_tell_the_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        json_t *value = NULL;
        struct qs_error err = {0};
        enum qs_status status = value_decode(faults[i].text, strlen(faults[i].text), &value, &err);
        if (status != QS_INVALID || value || err.line != faults[i].line || err.column != faults[i].column ||
            strcmp(err.path, faults[i].path) != 0 || !strstr(err.message, faults[i].says))
            fail_msg("%s: %d %u:%u [%s] %s", faults[i].text, status, err.line, err.column, err.path, err.message);
        assert_int_equal(value_decode(faults[i].text, strlen(faults[i].text), &value, NULL), QS_INVALID);
    }
}

static void a_zero_byte_in_the_text_is_refused(void **state)
{
    (void)state;
    json_t *value = NULL;
    assert_int_equal(value_decode("1\0", 2, &value, NULL), QS_INVALID);
    assert_int_equal(value_decode("\"a\0b\"", 5, &value, NULL), QS_INVALID);
    assert_int_equal(value_decode("[1]\0", 4, &value, NULL), QS_INVALID);
    assert_null(value);
}

static void nest(struct buf *out, unsigned depth)
{
    for (unsigned i = 0; i < depth; i++)
        buf_add_char(out, '[');
    for (unsigned i = 0; i < depth; i++)
        buf_add_char(out, ']');
}

static void depth_is_bounded_both_ways(void **state)
{
    (void)state;
    AUTO(buf_release) struct buf text = {0}, out = {0};
    AUTO(value_release) json_t *value = NULL;
    struct qs_error err = {0};
    nest(&text, QS_DOCUMENT_MAX_DEPTH);
    assert_int_equal(value_decode(text.data, text.len, &value, &err), QS_OK);
    assert_int_equal(value_encode(value, &out, &err), QS_OK);
    json_t *around = json_array();
    json_array_append_new(around, STEAL(value));
    value = around;
    assert_int_equal(value_encode(value, &out, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "64"));
    buf_clear(&out);
    assert_int_equal(value_encode_pretty(value, &out, &err), QS_INVALID);
    buf_clear(&text);
    nest(&text, QS_DOCUMENT_MAX_DEPTH + 1);
    json_t *refused = NULL;
    assert_int_equal(value_decode(text.data, text.len, &refused, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "64"));
    assert_int_equal(err.column, QS_DOCUMENT_MAX_DEPTH + 1);
    buf_clear(&text);
    nest(&text, 1000000); /* would overflow the stack of a parser that recurses */
    assert_int_equal(value_decode(text.data, text.len, &refused, &err), QS_INVALID);
    expect_canonical("[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"]",
                     "[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"]");
}

static void canonical_text_reads_and_is_written_as_it_was(void **state)
{
    (void)state;
    static const char *const good[] = {"null",
                                       "true",
                                       "false",
                                       "0",
                                       "-1",
                                       "9223372036854775807",
                                       "-9223372036854775808",
                                       "0.1",
                                       "1e22",
                                       "-0.0",
                                       "\"\"",
                                       "\"a\"",
                                       "\"\\n\"",
                                       "\"\xc3\xa9\"",
                                       "{}",
                                       "[]",
                                       "[1,\"a\",{\"a\":1,\"b\":[{}]}]",
                                       "1000000000000000000"};
    static const char *const bad[] = {"",
                                      " 1",
                                      "1 ",
                                      "-0",
                                      "00",
                                      "01",
                                      "1.00",
                                      "1e+22",
                                      "1E22",
                                      "0.10",
                                      "10.0e0",
                                      "\"\\u000a\"",
                                      "\"\\u0041\"",
                                      "\"\\/\"",
                                      "\"\n\"",
                                      "\"a",
                                      "\"\xff\"",
                                      "\"\\ud83d\\ude00\"",
                                      "{ }",
                                      "{\"a\":1}",
                                      "[ ]",
                                      "[1, 2]",
                                      "[1,2",
                                      "[{\"b\":1,\"a\":2}]",
                                      "[{\"a\":1,\"a\":1}]",
                                      "nul",
                                      "True",
                                      "9223372036854775808",
                                      "NaN",
                                      "1e400",
                                      "\"a\"\"b\"",
                                      "[1.0e0]",
                                      "\"\\u001F\"",
                                      "\"\\u0000\""};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!is_canonical_leaf(good[i], strlen(good[i])))
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (is_canonical_leaf(bad[i], strlen(bad[i])))
            fail_msg("accepted: %s", bad[i]);
    assert_false(is_canonical_leaf("1\0", 2));
}

static void pretty_text_is_indented_and_sorted(void **state)
{
    (void)state;
    AUTO(value_release) json_t *value = json_pack("{s:[i,{}],s:{s:f},s:[]}", "b", 1, "a", "c", 0.5, "d");
    AUTO(buf_release) struct buf out = {0};
    assert_int_equal(value_encode_pretty(value, &out, NULL), QS_OK);
    assert_string_equal(out.data,
                        "{\n  \"a\": {\n    \"c\": 0.5\n  },\n  \"b\": [\n    1,\n    {}\n  ],\n  \"d\": []\n}");
}

static void types_have_names(void **state)
{
    (void)state;
    static const char *const cases[][2] = {{"{}", "object"},     {"[]", "array"}, {"\"\"", "string"},
                                           {"1", "integer"},     {"1.0", "real"}, {"true", "boolean"},
                                           {"false", "boolean"}, {"null", "null"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(value_release) json_t *value = NULL;
        assert_int_equal(value_decode(cases[i][0], strlen(cases[i][0]), &value, NULL), QS_OK);
        assert_string_equal(value_type_name(value), cases[i][1]);
    }
}

static void an_encoder_without_room_says_so(void **state)
{
    (void)state;
    AUTO(value_release) json_t *value = json_string("a string longer than the room");
    AUTO(buf_release) struct buf out = {.max_bytes = 8};
    struct qs_error err = {0};
    assert_int_equal(value_encode(value, &out, &err), QS_IO);
}

/* Locales of a scratch folder: a comma as the radix, and one of two bytes (on which jansson alone would abort). */
static char locale_dir[] = "/tmp/qs-test-value-XXXXXX";

static int make_locales(void **state)
{
    (void)state;
    char command[512];
    if (!mkdtemp(locale_dir))
        return -1;
    (void)snprintf(command, sizeof command,
                   "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 && localedef -i ps_AF -f UTF-8 %s/ps_AF.UTF-8",
                   locale_dir, locale_dir);
    return system(command) == 0 ? setenv("LOCPATH", locale_dir, 1) : -1;
}

static int remove_locales(void **state)
{
    (void)state;
    char command[64];
    (void)setlocale(LC_ALL, "C");
    (void)snprintf(command, sizeof command, "rm -r %s", locale_dir);
    return system(command);
}

static void *check_reals_in_a_thread(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < 100; i++)
        check_reals();
    return NULL;
}

static void numbers_do_not_follow_the_locale(void **state)
{
    (void)state;
    static const char *const locales[][2] = {{"de_DE.UTF-8", ","}, {"ps_AF.UTF-8", "\xd9\xab"}};
    for (size_t i = 0; i < 2; i++) {
        assert_non_null(setlocale(LC_ALL, locales[i][0]));
        assert_string_equal(localeconv()->decimal_point, locales[i][1]); /* the control: the locale is in force */
        check_reals();
        expect_canonical("[0.5,1e-3]", "[0.5,0.001]");
        assert_string_equal(localeconv()->decimal_point, locales[i][1]); /* and is so afterwards */
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, check_reals_in_a_thread, NULL), 0);
        check_reals_in_a_thread(NULL);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(canonical_text_is_sorted_and_without_spaces),
        cmocka_unit_test(many_members_are_sorted_too),
        cmocka_unit_test(strings_have_the_shortest_escapes),
        cmocka_unit_test(integers_are_exact_to_64_bits),
        cmocka_unit_test(reals_are_short_and_never_look_like_integers),
        cmocka_unit_test(no_shorter_text_of_a_real_reads_back),
        cmocka_unit_test(what_is_no_number_is_refused),
        cmocka_unit_test(refusals_tell_the_place),
        cmocka_unit_test(a_zero_byte_in_the_text_is_refused),
        cmocka_unit_test(depth_is_bounded_both_ways),
        cmocka_unit_test(canonical_text_reads_and_is_written_as_it_was),
        cmocka_unit_test(pretty_text_is_indented_and_sorted),
        cmocka_unit_test(types_have_names),
        cmocka_unit_test(an_encoder_without_room_says_so),
        cmocka_unit_test_setup_teardown(numbers_do_not_follow_the_locale, make_locales, remove_locales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
