/* SPDX-License-Identifier: Apache-2.0 */
/* The latency histogram against plain sorting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stress/harness/measures.h"
#include "stress/harness/stress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void every_value_lies_in_its_bucket(void **state)
{
    (void)state;
    struct stress_rng rng;
    stress_rng_init(&rng, 7, 0);
    for (unsigned i = 0; i < 200000; i++) {
        uint64_t value = stress_rng_next(&rng) >> (stress_rng_next(&rng) % 64);
        size_t index = histogram_index(value);
        assert_true(index < HISTOGRAM_BUCKETS);
        assert_true(histogram_low(index) <= value && value <= histogram_high(index));
    }
}

static void buckets_follow_each_other_without_hole_or_overlap(void **state)
{
    (void)state;
    assert_int_equal(histogram_low(0), 0);
    for (size_t i = 0; i + 1 < HISTOGRAM_BUCKETS; i++) {
        assert_true(histogram_high(i) + 1 == histogram_low(i + 1));
        assert_int_equal(histogram_index(histogram_low(i)), i);
        assert_int_equal(histogram_index(histogram_high(i)), i);
    }
    assert_true(histogram_high(HISTOGRAM_BUCKETS - 1) == UINT64_MAX);
    assert_int_equal(histogram_index(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}

static void a_bucket_is_never_wider_than_a_thirty_second_of_its_value(void **state)
{
    (void)state;
    for (size_t i = 32; i < HISTOGRAM_BUCKETS; i++)
        assert_true(histogram_high(i) - histogram_low(i) < histogram_low(i) / 31);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void percentiles_are_those_of_the_sorted_values(void **state)
{
    (void)state;
    enum { COUNT = 10007 };
    static uint64_t values[COUNT];
    static struct histogram histogram;
    struct stress_rng rng;
    static const unsigned permille[] = {1, 500, 900, 990, 999, 1000};
    memset(&histogram, 0, sizeof histogram);
    stress_rng_init(&rng, 11, 3);
    for (unsigned i = 0; i < COUNT; i++) {
        values[i] = 100 + (stress_rng_next(&rng) >> (40 + stress_rng_next(&rng) % 20));
        histogram_add(&histogram, values[i]);
    }
    qsort(values, COUNT, sizeof *values, by_value);
    for (unsigned i = 0; i < sizeof permille / sizeof *permille; i++) {
        size_t rank = ((size_t)COUNT * permille[i] + 999) / 1000;
        uint64_t exact = values[rank - 1];
        uint64_t got = histogram_at(&histogram, permille[i]);
        assert_true(got >= exact);
        assert_true(got <= histogram_high(histogram_index(exact)));
    }
    assert_true(histogram_at(&histogram, 1000) == values[COUNT - 1]);
}

static void small_values_are_exact(void **state)
{
    (void)state;
    static struct histogram histogram;
    memset(&histogram, 0, sizeof histogram);
    for (uint64_t v = 1; v <= 20; v++)
        histogram_add(&histogram, v);
    assert_int_equal(histogram_at(&histogram, 500), 10);
    assert_int_equal(histogram_at(&histogram, 950), 19);
    assert_int_equal(histogram_at(&histogram, 1000), 20);
}

static void an_empty_histogram_says_zero(void **state)
{
    (void)state;
    static struct histogram histogram;
    memset(&histogram, 0, sizeof histogram);
    assert_int_equal(histogram_at(&histogram, 500), 0);
    assert_int_equal(histogram_at(&histogram, 1000), 0);
}

static void merging_is_as_if_all_had_gone_into_one(void **state)
{
    (void)state;
    static struct histogram one;
    static struct histogram parts[2];
    struct stress_rng rng;
    memset(&one, 0, sizeof one);
    memset(parts, 0, sizeof parts);
    stress_rng_init(&rng, 5, 5);
    for (unsigned i = 0; i < 5000; i++) {
        uint64_t value = stress_rng_next(&rng) % 1000000;
        histogram_add(&one, value);
        histogram_add(&parts[i % 2], value);
    }
    histogram_merge(&parts[0], &parts[1]);
    assert_memory_equal(&parts[0], &one, sizeof one);
}

static void the_same_seed_gives_the_same_numbers_and_streams_differ(void **state)
{
    (void)state;
    struct stress_rng a;
    struct stress_rng b;
    struct stress_rng c;
    stress_rng_init(&a, 1, 1);
    stress_rng_init(&b, 1, 1);
    stress_rng_init(&c, 1, 2);
    unsigned same = 0;
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t x = stress_rng_next(&a);
        assert_true(x == stress_rng_next(&b));
        same += x == stress_rng_next(&c);
    }
    assert_int_equal(same, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_lies_in_its_bucket),
        cmocka_unit_test(buckets_follow_each_other_without_hole_or_overlap),
        cmocka_unit_test(a_bucket_is_never_wider_than_a_thirty_second_of_its_value),
        cmocka_unit_test(percentiles_are_those_of_the_sorted_values),
        cmocka_unit_test(small_values_are_exact),
        cmocka_unit_test(an_empty_histogram_says_zero),
        cmocka_unit_test(merging_is_as_if_all_had_gone_into_one),
        cmocka_unit_test(the_same_seed_gives_the_same_numbers_and_streams_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
