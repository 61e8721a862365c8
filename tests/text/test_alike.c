/* SPDX-License-Identifier: Apache-2.0 */
/* Names that look alike. */
#include "text/alike.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void names_in_another_spelling_are_the_same_and_others_have_a_distance(void **state)
{
    (void)state;
    assert_true(alike_spelt("readOnly", 8, "read-only", 9));
    assert_true(alike_spelt("A_B", 3, "ab", 2));
    assert_false(alike_spelt("ab", 2, "abc", 3));
    assert_false(alike_spelt("", 0, "a", 1));
    assert_int_equal(alike_distance("kitten", 6, "sitting", 7, 5), 3);
    assert_int_equal(alike_distance("ab", 2, "ba", 2, 5), 1);
    assert_int_equal(alike_distance("abcdef", 6, "a", 1, 2), 3);
    assert_int_equal(alike_distance("same", 4, "SAME", 4, 2), 0);
    char longer[ALIKE_MAX_BYTES + 1] = {0};
    assert_int_equal(alike_distance(longer, ALIKE_MAX_BYTES, longer, ALIKE_MAX_BYTES, 2), 0);
    assert_int_equal(alike_distance(longer, sizeof longer, longer, sizeof longer, 2), 3); /* too long to be looked at */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_in_another_spelling_are_the_same_and_others_have_a_distance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
