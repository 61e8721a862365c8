/* SPDX-License-Identifier: Apache-2.0 */
/* The content digest taken up from a mark is the one computed from the start, whatever changed and where. */
#include "store/meta_record.h"
#include "text/doc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct content {
    struct leaf *settings;
    char (*texts)[32];
    struct entry_list areas[AREA_COUNT];
};

static struct content make(size_t count)
{
    struct content c = {.settings = calloc(count + 1, sizeof *c.settings), .texts = calloc(count + 1, sizeof *c.texts)};
    assert_non_null(c.settings);
    assert_non_null(c.texts);
    for (size_t i = 0; i < count; i++) {
        size_t len = (size_t)snprintf(c.texts[i], sizeof c.texts[i], "key%05zu", i);
        c.settings[i] = (struct leaf){{c.texts[i], len}, {"1", 1}};
    }
    c.settings[count] = (struct leaf){{"key", 3}, {"true", 4}}; /* the lock, behind the settings */
    c.areas[AREA_SETTINGS] = (struct entry_list){c.settings, count};
    c.areas[AREA_LOCKS] = (struct entry_list){&c.settings[count], 1};
    return c;
}

static void release(struct content *c)
{
    free(c->settings);
    free(c->texts);
}

static void same_as_whole(const struct content *c, const struct content_marks *marks, size_t same)
{
    uint8_t whole[QS_DIGEST_BYTES], again[QS_DIGEST_BYTES];
    content_digest(c->areas, whole);
    content_digest_again(c->areas, marks, same, again);
    assert_memory_equal(whole, again, sizeof whole);
}

static void marking_changes_no_digest(void **state)
{
    static const size_t counts[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 200, 5000};
    (void)state;
    for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++) {
        struct content c = make(counts[n]);
        struct content_marks marks;
        uint8_t plain[QS_DIGEST_BYTES], marked[QS_DIGEST_BYTES];
        content_digest(c.areas, plain);
        content_digest_marked(c.areas, &marks, marked);
        assert_memory_equal(plain, marked, sizeof plain);
        release(&c);
    }
}

static void a_digest_taken_up_at_any_change_is_that_of_the_whole(void **state)
{
    static const size_t counts[] = {1, 2, 15, 16, 17, 33, 200};
    (void)state;
    for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++) {
        struct content c = make(counts[n]);
        struct content_marks marks;
        uint8_t before[QS_DIGEST_BYTES], after[QS_DIGEST_BYTES];
        content_digest_marked(c.areas, &marks, before);
        for (size_t i = 0; i < counts[n]; i++) {
            struct qs_bytes kept = c.settings[i].value;
            c.settings[i].value = (struct qs_bytes){"\"another\"", 9};
            same_as_whole(&c, &marks, i);
            content_digest_again(c.areas, &marks, i, after);
            assert_memory_not_equal(before, after, sizeof before);
            c.settings[i].value = kept;
        }
        release(&c);
    }
}

static void a_changed_lock_alone_changes_the_digest(void **state)
{
    (void)state;
    struct content c = make(100);
    struct content_marks marks;
    uint8_t before[QS_DIGEST_BYTES], after[QS_DIGEST_BYTES];
    content_digest_marked(c.areas, &marks, before);
    c.areas[AREA_LOCKS].count = 0;
    same_as_whole(&c, &marks, 100);
    content_digest_again(c.areas, &marks, 100, after);
    assert_memory_not_equal(before, after, sizeof before);
    release(&c);
}

static void another_count_is_computed_from_the_start(void **state)
{
    (void)state;
    struct content c = make(100);
    struct content_marks marks;
    uint8_t before[QS_DIGEST_BYTES];
    content_digest_marked(c.areas, &marks, before);
    c.areas[AREA_SETTINGS].count = 99;
    same_as_whole(&c, &marks, 99);
    c.areas[AREA_SETTINGS].count = 0;
    same_as_whole(&c, &marks, 0);
    release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marking_changes_no_digest),
        cmocka_unit_test(a_digest_taken_up_at_any_change_is_that_of_the_whole),
        cmocka_unit_test(a_changed_lock_alone_changes_the_digest),
        cmocka_unit_test(another_count_is_computed_from_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
