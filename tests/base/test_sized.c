/* SPDX-License-Identifier: Apache-2.0 */
/* Structures that begin with their size: an older caller, a later one, and one that set no size. */
#include "base/sized.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The same structure in three versions; the library knows the second. */
struct first {
    size_t size;
    uint64_t a;
};
struct known {
    size_t size;
    uint64_t a, b;
};
struct later {
    size_t size;
    uint64_t a, b, c;
};

static struct qs_error err;

static enum qs_status take(const void *given, struct known *known)
{
    err = (struct qs_error){0};
    return sized_take(given, known, sizeof *known, SIZED_FIRST(struct known, a), "f", &err);
}

static void an_older_callers_structure_is_taken_and_the_rest_is_zero(void **state)
{
    (void)state;
    struct first first = {.size = sizeof first, .a = 1};
    struct known known = {.b = 77};
    assert_int_equal(take(&first, &known), QS_OK);
    assert_int_equal(known.a, 1);
    assert_int_equal(known.b, 0);
    assert_int_equal(known.size, sizeof known);
}

static void no_structure_is_all_zero(void **state)
{
    (void)state;
    struct known known = {.a = 77, .b = 77};
    assert_int_equal(take(NULL, &known), QS_OK);
    assert_int_equal(known.a, 0);
    assert_int_equal(known.b, 0);
}

static void a_later_callers_structure_is_taken_unless_it_sets_what_is_not_known(void **state)
{
    (void)state;
    struct later later = {.size = sizeof later, .a = 1, .b = 2};
    struct known known;
    assert_int_equal(take(&later, &known), QS_OK);
    assert_int_equal(known.b, 2);
    later.c = 1;
    assert_int_equal(take(&later, &known), QS_USAGE);
    assert_non_null(strstr(err.message, "does not know"));
    assert_true(err.advice[0]);
}

static void a_size_of_no_version_is_refused(void **state)
{
    (void)state;
    const size_t wrong[] = {0, 1, sizeof(size_t), sizeof(struct first) - 1, 4097, SIZE_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct known given = {.size = wrong[i]};
        struct known known;
        assert_int_equal(take(&given, &known), QS_USAGE);
        assert_non_null(strstr(err.advice, ".size = sizeof"));
        assert_int_equal(sized_check(&given, SIZED_FIRST(struct known, a), "f", NULL), QS_USAGE);
    }
}

static void a_result_is_given_as_far_as_the_caller_knows_it(void **state)
{
    (void)state;
    const struct known result = {.a = 1, .b = 2};
    struct {
        struct first first;
        uint64_t behind;
    } old = {.first = {.size = sizeof old.first}, .behind = 77};
    sized_give(&old, &result, sizeof result);
    assert_int_equal(old.first.size, sizeof old.first);
    assert_int_equal(old.first.a, 1);
    assert_int_equal(old.behind, 77);
    struct later later = {.size = sizeof later, .c = 77};
    sized_give(&later, &result, sizeof result);
    assert_int_equal(later.size, sizeof later);
    assert_int_equal(later.b, 2);
    assert_int_equal(later.c, 0);
    sized_give(NULL, &result, sizeof result);
    assert_int_equal(sized_check(NULL, sizeof result, "f", NULL), QS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_older_callers_structure_is_taken_and_the_rest_is_zero),
        cmocka_unit_test(no_structure_is_all_zero),
        cmocka_unit_test(a_later_callers_structure_is_taken_unless_it_sets_what_is_not_known),
        cmocka_unit_test(a_size_of_no_version_is_refused),
        cmocka_unit_test(a_result_is_given_as_far_as_the_caller_knows_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
