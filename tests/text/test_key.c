/* SPDX-License-Identifier: Apache-2.0 */
/* The key grammar: both spellings, the encoding, its order, and every refusal with its column. */
#include "base/utf8.h"
#include "tests/support/gen.h"
#include "text/key_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_key(const char *text, const char *encoded, size_t len)
{
    struct qs_key key;
    struct qs_error err = {0};
    if (qs_key_parse(text, &key, &err) != QS_OK)
        fail_msg("%s: %s", text, err.message);
    assert_int_equal(key.len, len);
    assert_memory_equal(key.bytes, encoded, len);
    assert_int_equal(key.bytes[len], 0);
    assert_true(key_valid(key.bytes, key.len));
}

#define EXPECT_KEY(text, encoded) expect_key(text, encoded, sizeof encoded - 1)

static void dotted_paths_are_segments(void **state)
{
    (void)state;
    EXPECT_KEY("tools", "tools");
    EXPECT_KEY("tools.executionSandbox.network", "tools\0executionSandbox\0network");
    EXPECT_KEY("mcpServers.\"docs.local\".command", "mcpServers\0docs.local\0command");
    EXPECT_KEY("\"a\"", "a");
    EXPECT_KEY("\"a b\".c d", "a b\0c d");
    EXPECT_KEY("\"\\b\\t\\n\\f\\r\\\"\\\\\"", "\b\t\n\f\r\"\\");
    EXPECT_KEY("\"\\u00e9\\U0001F600\"", "\xc3\xa9\xf0\x9f\x98\x80");
    EXPECT_KEY("a\\n", "a\\n"); /* outside quotes a backslash is itself */
    EXPECT_KEY("it's.a", "it's\0a");
    EXPECT_KEY("\"'a\"", "'a");
    EXPECT_KEY("a./b", "a\0/b");
    EXPECT_KEY("\"/a\"", "/a");
    EXPECT_KEY("0.-1.$x", "0\0-1\0$x");
}

static void json_pointers_are_segments(void **state)
{
    (void)state;
    EXPECT_KEY("/tools", "tools");
    EXPECT_KEY("/mcpServers/docs.local/command", "mcpServers\0docs.local\0command");
    EXPECT_KEY("/a~1b/c~0d/~01", "a/b\0c~d\0~1"); /* RFC 6901 section 4: ~01 is ~1, not a slash */
    EXPECT_KEY("/\"q\"/'", "\"q\"\0'");
    EXPECT_KEY("/ /\t", " \0\t");
}

static const struct {
    const char *text;
    unsigned column;
    const char *says;
} faults[] = {
    {"", 1, "empty"},
    {".", 1, "empty"},
    {"a.", 3, "empty"},
    {".a", 1, "empty"},
    {"a..b", 3, "empty"},
    {"\"\"", 2, "empty"},
    {"a.\"\".b", 4, "empty"},
    {"/", 2, "empty"},
    {"/a/", 4, "empty"},
    {"//a", 2, "empty"},
    {"/a~", 3, "~"},
    {"/a~2", 3, "~"},
    {"a\"b", 2, "quote"},
    {"a.\"b", 3, "is not closed"},
    {"a.\"b\\\"", 3, "is not closed"},
    {"\"a\"b", 4, "dot"},
    {"\"a\\x\"", 3, "escape"},
    {"\"a\\", 3, "escape"},
    {"\"\\u12g4\"", 2, "hexadecimal"},
    {"\"\\u12", 2, "hexadecimal"},
    {"\"\\u0000\"", 2, "does not name"},
    {"\"\\ud800\"", 2, "does not name"},
    {"\"\\U00110000\"", 2, "does not name"},
    {"a\tb", 2, "control"},
    {"\"a\tb\"", 3, "control"},
    {"a.\x7f", 3, "control"},
    {"a.\"\x7f\"", 4, "control"},
    {"'a.b'", 1, "double quotes"},
    {"a.'b'", 3, "double quotes"},
    {"a.\xff", 3, "UTF-8"},
    {"a.\xc3", 3, "UTF-8"},
    {"/a/\xed\xa0\x80", 4, "UTF-8"},
};

static void faults_are_refused_with_their_column(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct qs_key key = {.len = 3, .bytes = "old"};
        struct qs_error err = {0};
        if (qs_key_parse(faults[i].text, &key, &err) != QS_INVALID)
            fail_msg("accepted: %s", faults[i].text);
        if (err.column != faults[i].column || err.line != 1 || !strstr(err.message, faults[i].says))
            fail_msg("%s: %u:%u %s", faults[i].text, err.line, err.column, err.message);
        assert_memory_equal(key.bytes, "old", 4); /* untouched */
        assert_int_equal(qs_key_parse(faults[i].text, &key, NULL), QS_INVALID);
    }
}

static void length_is_bounded_at_511_bytes(void **state)
{
    (void)state;
    char text[QS_KEY_MAX_BYTES + 2];
    struct qs_key key;
    struct qs_error err = {0};
    memset(text, 'k', sizeof text);
    text[QS_KEY_MAX_BYTES] = '\0';
    assert_int_equal(qs_key_parse(text, &key, &err), QS_OK);
    assert_int_equal(key.len, QS_KEY_MAX_BYTES);
    text[QS_KEY_MAX_BYTES] = 'k';
    text[QS_KEY_MAX_BYTES + 1] = '\0';
    assert_int_equal(qs_key_parse(text, &key, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "511"));
    text[0] = '/';
    text[QS_KEY_MAX_BYTES + 1] = '\0';
    assert_int_equal(qs_key_parse(text, &key, &err), QS_OK);
    text[2] = '/'; /* the joint counts as one byte */
    assert_int_equal(qs_key_parse(text, &key, &err), QS_OK);
    assert_int_equal(key.len, QS_KEY_MAX_BYTES);
    assert_int_equal(qs_key_push(&key, "x", 1, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "511"));
}

static void segments_are_bounded_at_64(void **state)
{
    (void)state;
    char text[2 * QS_KEY_MAX_SEGMENTS + 2] = "";
    struct qs_key key;
    struct qs_error err = {0};
    for (unsigned i = 0; i < QS_KEY_MAX_SEGMENTS; i++)
        strcat(text, i ? ".s" : "s");
    assert_int_equal(qs_key_parse(text, &key, &err), QS_OK);
    assert_int_equal(qs_key_push(&key, "x", 1, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "64"));
    strcat(text, ".s");
    assert_int_equal(qs_key_parse(text, &key, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "64"));
    assert_int_equal(err.column, 2 * QS_KEY_MAX_SEGMENTS + 1);
}

static void push_refuses_what_no_key_holds(void **state)
{
    (void)state;
    struct qs_key key = {0};
    char longest[QS_KEY_MAX_BYTES + 1];
    memset(longest, 'a', sizeof longest);
    assert_int_equal(qs_key_push(&key, "", 0, NULL), QS_INVALID);
    assert_int_equal(qs_key_push(&key, "a\0b", 3, NULL), QS_INVALID);
    assert_int_equal(qs_key_push(&key, "\xc3", 1, NULL), QS_INVALID);
    assert_int_equal(qs_key_push(&key, longest, sizeof longest, NULL), QS_INVALID);
    assert_int_equal(key.len, 0);
    assert_int_equal(qs_key_push(&key, "a", 1, NULL), QS_OK);
    assert_int_equal(qs_key_push(&key, "b.c", 3, NULL), QS_OK);
    assert_int_equal(key.len, 5);
    assert_memory_equal(key.bytes, "a\0b.c", 6);
}

static void pop_takes_one_segment_and_stops_at_the_root(void **state)
{
    (void)state;
    struct qs_key key;
    assert_int_equal(qs_key_parse("a.bc.d", &key, NULL), QS_OK);
    qs_key_pop(&key);
    assert_int_equal(key.len, 4);
    assert_memory_equal(key.bytes, "a\0bc", 5);
    qs_key_pop(&key);
    qs_key_pop(&key);
    assert_int_equal(key.len, 0);
    qs_key_pop(&key);
    assert_int_equal(key.len, 0);
    assert_int_equal(key.bytes[0], 0);
}

static void formatting_quotes_only_where_needed(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        size_t len;
        const char *text;
    } cases[] = {
        {"", 0, ""},
        {"tools\0executionSandbox", 22, "tools.executionSandbox"},
        {"a\0docs.local\0b", 14, "a.\"docs.local\".b"},
        {"/a\0/b", 5, "\"/a\"./b"},
        {"a\"b", 3, "\"a\\\"b\""},
        {"a.\\", 3, "\"a.\\\\\""},
        {"a\\b", 3, "a\\b"},
        {"'a", 2, "\"'a\""},
        {"a b", 3, "\"a b\""},
        {"\n\x1b\x7f", 3, "\"\\u000a\\u001b\\u007f\""},
        {"\xc2\x85\xe2\x80\xae", 5, "\"\\u0085\\u202e\""}, /* what would turn the line around on a terminal */
        {"caf\xc3\xa9", 5, "caf\xc3\xa9"},
        {"\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80"},
    };
    char text[QS_KEY_TEXT_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(qs_key_format(cases[i].key, cases[i].len, text, sizeof text), cases[i].text);
}

static void formatting_is_cut_but_terminated(void **state)
{
    (void)state;
    char text[8];
    memset(text, '#', sizeof text);
    assert_string_equal(qs_key_format("abc\0defgh", 9, text, 6), "abc.");
    assert_int_equal(text[6], '#');
    assert_string_equal(qs_key_format("abc", 3, text, 1), "");
    (void)qs_key_format("abc", 3, text, 0); /* writes nothing */
}

static void the_longest_text_of_a_key_fits(void **state)
{
    (void)state;
    struct qs_key key = {0}, again;
    char text[QS_KEY_TEXT_BYTES];
    char controls[QS_KEY_MAX_BYTES];
    memset(controls, 1, sizeof controls);
    assert_int_equal(qs_key_push(&key, controls, sizeof controls, NULL), QS_OK);
    assert_int_equal(strlen(qs_key_format(key.bytes, key.len, text, sizeof text)), 6 * QS_KEY_MAX_BYTES + 2);
    assert_int_equal(qs_key_parse(text, &again, NULL), QS_OK);
    assert_int_equal(again.len, key.len);
}

static void every_code_point_survives_format_and_parse(void **state)
{
    (void)state;
    char text[QS_KEY_TEXT_BYTES], bytes[4];
    for (uint32_t code = 1; code <= 0x10ffff; code++) {
        struct qs_key key = {0}, again;
        size_t len = utf8_put(code, bytes);
        if (!len)
            continue;
        assert_int_equal(qs_key_push(&key, bytes, len, NULL), QS_OK);
        assert_int_equal(qs_key_parse(qs_key_format(key.bytes, key.len, text, sizeof text), &again, NULL), QS_OK);
        assert_int_equal(again.len, len);
        assert_memory_equal(again.bytes, bytes, len);
    }
}

static void generated_keys_survive_format_and_parse(void **state)
{
    (void)state;
    struct gen gen;
    char text[QS_KEY_TEXT_BYTES];
    gen_init(&gen, 7);
    print_message("# seed 7\n");
    for (unsigned i = 0; i < 20000; i++) {
        struct qs_key key = {0}, again;
        struct buf segment = {0};
        for (uint64_t left = 1 + gen_below(&gen, 5); left; left--) {
            buf_clear(&segment);
            gen_text(&gen, &segment);
            if (qs_key_push(&key, segment.data, segment.len, NULL) != QS_OK) /* too long */
                break;
        }
        buf_release(&segment);
        assert_int_equal(qs_key_parse(qs_key_format(key.bytes, key.len, text, sizeof text), &again, NULL), QS_OK);
        assert_int_equal(again.len, key.len);
        assert_memory_equal(again.bytes, key.bytes, key.len);
    }
}

static void the_order_is_bytewise_and_the_shorter_first(void **state)
{
    (void)state;
    assert_true(key_compare("a", 1, "b", 1) < 0);
    assert_true(key_compare("b", 1, "a", 1) > 0);
    assert_int_equal(key_compare("a", 1, "a", 1), 0);
    assert_true(key_compare("a", 1, "a\0b", 3) < 0);
    assert_true(key_compare("a\0b", 3, "a b", 3) < 0); /* a subtree comes before its key's longer siblings */
    assert_true(key_compare("\x7f", 1, "\xc2\x80", 2) < 0);
    assert_true(key_compare("", 0, "a", 1) < 0);
    assert_int_equal(key_compare("", 0, "", 0), 0);
}

static void a_prefix_covers_itself_and_what_lies_below(void **state)
{
    (void)state;
    assert_true(key_covers("", 0, "a", 1));
    assert_true(key_covers("a", 1, "a", 1));
    assert_true(key_covers("a", 1, "a\0b", 3));
    assert_true(key_covers("a\0b", 3, "a\0b\0c", 5));
    assert_false(key_covers("a", 1, "ab", 2));
    assert_false(key_covers("a\0b", 3, "a", 1));
    assert_false(key_covers("a\0b", 3, "a\0bc", 4));
    assert_false(key_covers("b", 1, "a\0b", 3));
}

static void a_key_from_a_file_is_checked_whole(void **state)
{
    (void)state;
    char longest[QS_KEY_MAX_BYTES + 1], many[2 * QS_KEY_MAX_SEGMENTS + 1];
    memset(longest, 'a', sizeof longest);
    for (size_t i = 0; i < sizeof many; i++)
        many[i] = i % 2 ? '\0' : 's';
    assert_true(key_valid("a", 1));
    assert_true(key_valid("a\0b", 3));
    assert_true(key_valid(longest, QS_KEY_MAX_BYTES));
    assert_true(key_valid(many, 2 * QS_KEY_MAX_SEGMENTS - 1));
    assert_false(key_valid("", 0));
    assert_false(key_valid("\0", 1));
    assert_false(key_valid("a\0", 2));
    assert_false(key_valid("\0a", 2));
    assert_false(key_valid("a\0\0b", 4));
    assert_false(key_valid("\xff", 1));
    assert_false(key_valid("\xc3\0\xa9", 3));
    assert_false(key_valid(longest, sizeof longest));
    assert_false(key_valid(many, sizeof many));
}

/* The classes of RFC 3629 section 4, and the bytes just outside each. */
static void utf8_is_checked_to_the_byte(void **state)
{
    (void)state;
    static const char *const good[] = {
        "",
        "abcdefghijklmnop",
        "\x7f",
        "\xc2\x80",
        "\xdf\xbf",
        "\xe0\xa0\x80",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xef\xbf\xbf",
        "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf",
        "abcdefg\xc3\xa9hijklmnopq",
    };
    static const struct {
        const char *text;
        size_t offset;
    } bad[] = {
        {"\x80", 0},
        {"\xbf", 0},
        {"\xc0\x80", 0},
        {"\xc1\xbf", 0},
        {"\xc2", 0},
        {"\xc2\x7f", 0},
        {"\xc2\xc0", 0},
        {"\xe0\x9f\xbf", 0},
        {"\xe1\x80", 0},
        {"\xed\xa0\x80", 0},
        {"\xed\xbf\xbf", 0},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xff", 0},
        {"abcdefgh\xff", 8},
        {"abcdefghijk\xc3", 11},
        {"a\xf0\x9f\x98", 1},
        {"\xc3\xa9\xe2\x28\xa1", 2},
    };
    size_t offset = 99;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(utf8_valid(good[i], strlen(good[i]), &offset));
    assert_int_equal(offset, 99);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (utf8_valid(bad[i].text, strlen(bad[i].text), &offset) || offset != bad[i].offset)
            fail_msg("case %zu: offset %zu", i, offset);
        assert_false(utf8_valid(bad[i].text, strlen(bad[i].text), NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dotted_paths_are_segments),
        cmocka_unit_test(json_pointers_are_segments),
        cmocka_unit_test(faults_are_refused_with_their_column),
        cmocka_unit_test(length_is_bounded_at_511_bytes),
        cmocka_unit_test(segments_are_bounded_at_64),
        cmocka_unit_test(push_refuses_what_no_key_holds),
        cmocka_unit_test(pop_takes_one_segment_and_stops_at_the_root),
        cmocka_unit_test(formatting_quotes_only_where_needed),
        cmocka_unit_test(formatting_is_cut_but_terminated),
        cmocka_unit_test(the_longest_text_of_a_key_fits),
        cmocka_unit_test(every_code_point_survives_format_and_parse),
        cmocka_unit_test(generated_keys_survive_format_and_parse),
        cmocka_unit_test(the_order_is_bytewise_and_the_shorter_first),
        cmocka_unit_test(a_prefix_covers_itself_and_what_lies_below),
        cmocka_unit_test(a_key_from_a_file_is_checked_whole),
        cmocka_unit_test(utf8_is_checked_to_the_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
