/* SPDX-License-Identifier: Apache-2.0 */
/* The document that races write: every complete one is read back, every mixed or cut one is torn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stress/ways/test_document.h"

#include <stdlib.h>
#include <string.h>

static const struct document_shape shape = {3, 20};

static struct buf make(uint64_t generation, unsigned writer)
{
    struct document document = {.generation = generation, .writer = writer, .counters = {4, 0, 9}};
    struct buf text = {0};
    document_write(&document, shape, &text);
    assert_false(text.failed);
    return text;
}

static void a_complete_document_is_read_back(void **state)
{
    (void)state;
    static struct document_reader reader;
    for (uint64_t generation = 0; generation < 300; generation++) {
        struct buf text = make(generation, (unsigned)(generation % 4 == 3 ? DOCUMENT_NOBODY : generation % 4));
        assert_true(document_read(&reader, shape, text.data, text.len));
        assert_int_equal(reader.document.generation, generation);
        assert_int_equal(reader.document.counters[0], 4);
        assert_int_equal(reader.document.counters[1], 0);
        assert_int_equal(reader.document.counters[2], 9);
        buf_release(&text);
    }
}

static void every_cut_is_torn(void **state)
{
    (void)state;
    static struct document_reader reader;
    struct buf text = make(1234, 1);
    /* Only the last newline may be missing: it carries nothing. */
    for (size_t len = 0; len + 1 < text.len; len++) {
        assert_false(document_read(&reader, shape, text.data, len));
        assert_string_not_equal(reader.reason, "");
    }
    buf_release(&text);
}

static void every_mix_of_two_saves_is_torn(void **state)
{
    (void)state;
    static struct document_reader reader;
    static const struct {
        uint64_t generation;
        unsigned writer;
    } pairs[][2] = {{{5, 1}, {42, 1}}, {{7, 0}, {7, 2}}, {{10, 1}, {11, 1}}};
    unsigned mixed = 0;
    for (size_t p = 0; p < 3; p++) {
        struct buf a = make(pairs[p][0].generation, pairs[p][0].writer);
        struct buf b = make(pairs[p][1].generation, pairs[p][1].writer);
        size_t shorter = a.len < b.len ? a.len : b.len;
        for (size_t cut = 1; cut < shorter; cut++) {
            if (memcmp(a.data, b.data, cut) == 0 ||
                (cut <= b.len && memcmp(a.data + cut, b.data + cut, shorter - cut) == 0))
                continue; /* no mix: all of one of them */
            struct buf mix = {0};
            buf_add(&mix, a.data, cut);
            buf_add(&mix, b.data + cut, b.len - cut);
            assert_false(document_read(&reader, shape, mix.data, mix.len));
            mixed++;
            buf_release(&mix);
        }
        buf_release(&a);
        buf_release(&b);
    }
    assert_true(mixed > 1000);
}

static void a_well_formed_mix_of_two_generations_is_told_as_such(void **state)
{
    (void)state;
    static struct document_reader reader;
    document_read_begin(&reader, (struct document_shape){1, 2});
    document_read_entry(&reader, "w0", 2, "5.0:1", 5);
    document_read_entry(&reader, "k001", 4, "6.0:x", 5);
    assert_false(document_read_end(&reader));
    assert_non_null(strstr(reader.reason, "two saves"));
}

static void entries_that_nobody_wrote_are_torn(void **state)
{
    (void)state;
    static struct document_reader reader;
    static const struct {
        const char *name, *value;
    } bad[] = {{"k000", "no tag"},    {"k000", "5.1"},
               {"k000", "x.1:y"},     {"w0", "5.1:"},
               {"w7", "5.1:1"},       {"z", "5.1:1"},
               {"", "5.1:1"},         {"k000", ""},
               {"k000", "5.99999:1"}, {"w0", "5.1:111111111111111111111111111111111111"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        document_read_begin(&reader, (struct document_shape){1, 0});
        document_read_entry(&reader, bad[i].name, strlen(bad[i].name), bad[i].value, strlen(bad[i].value));
        assert_false(document_read_end(&reader));
        assert_string_not_equal(reader.reason, "");
    }
}

static void a_document_of_another_shape_is_torn(void **state)
{
    (void)state;
    static struct document_reader reader;
    struct buf text = make(3, 1);
    assert_false(document_read(&reader, (struct document_shape){3, 19}, text.data, text.len));
    assert_false(document_read(&reader, (struct document_shape){3, 21}, text.data, text.len));
    assert_false(document_read(&reader, (struct document_shape){2, 20}, text.data, text.len));
    assert_false(document_read(&reader, (struct document_shape){4, 20}, text.data, text.len));
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_complete_document_is_read_back),
        cmocka_unit_test(every_cut_is_torn),
        cmocka_unit_test(every_mix_of_two_saves_is_torn),
        cmocka_unit_test(a_well_formed_mix_of_two_generations_is_told_as_such),
        cmocka_unit_test(entries_that_nobody_wrote_are_torn),
        cmocka_unit_test(a_document_of_another_shape_is_torn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
