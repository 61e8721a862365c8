/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs in turn, medians, rows. */
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAIRS_LEAST 5u
#define PAIRS_MOST  4000u

uint64_t bench_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

unsigned bench_budget(const struct bench *bench)
{
    return bench->quick ? 700 : 4000;
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return left < right ? -1 : left > right;
}

double bench_median(double *values, size_t count)
{
    if (!count)
        return 0;
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double sample_us(const struct side *side)
{
    unsigned batch = side->batch ? side->batch : 1;
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < batch; i++)
        side->run(side->context);
    return (double)(bench_now_ns() - start) / 1000.0 / batch;
}

struct pair_figures measure_pairs(const struct side *ours, const struct side *theirs, unsigned budget_ms,
                                  unsigned most_pairs)
{
    unsigned most = most_pairs && most_pairs < PAIRS_MOST ? most_pairs : PAIRS_MOST;
    double *a = calloc(3 * (size_t)most, sizeof *a);
    if (!a)
        bench_fail("out of memory");
    double *b = a + most;
    double *ratios = b + most;
    unsigned count = 0;
    (void)sample_us(ours); /* the first of each warms caches and is not counted */
    (void)sample_us(theirs);
    uint64_t end = bench_now_ns() + (uint64_t)budget_ms * 1000000u;
    while (count < most && (count < PAIRS_LEAST || bench_now_ns() < end)) {
        a[count] = sample_us(ours);
        b[count] = sample_us(theirs);
        ratios[count] = a[count] / b[count];
        count++;
    }
    struct pair_figures figures = {.samples = count};
    figures.ratio = bench_median(ratios, count);
    figures.ours_us = bench_median(a, count);
    figures.theirs_us = bench_median(b, count);
    free(a);
    return figures;
}

double measure_one(const struct side *side, unsigned budget_ms, unsigned most_samples)
{
    unsigned most = most_samples && most_samples < PAIRS_MOST ? most_samples : PAIRS_MOST;
    double *a = calloc(most, sizeof *a);
    if (!a)
        bench_fail("out of memory");
    unsigned count = 0;
    (void)sample_us(side);
    uint64_t end = bench_now_ns() + (uint64_t)budget_ms * 1000000u;
    while (count < most && (count < PAIRS_LEAST || bench_now_ns() < end))
        a[count++] = sample_us(side);
    double median = bench_median(a, count);
    free(a);
    return median;
}

void bench_row(struct bench *bench, const char *name, double limit, const struct side *ours, const struct side *theirs)
{
    struct pair_figures f = measure_pairs(ours, theirs, bench_budget(bench), 0);
    json_t *row = json_pack("{s:s, s:s, s:f, s:f, s:I, s:s, s:f, s:f}", "name", name, "against", theirs->name, "ratio",
                            f.ratio, "limit", limit, "samples", (json_int_t)f.samples, "unit", "us", "ours", f.ours_us,
                            "theirs", f.theirs_us);
    if (!row || json_array_append_new(bench->results, row))
        bench_fail("out of memory");
    (void)fprintf(stderr, "  %-52s %6.2f\n", name, f.ratio);
}

void bench_skip(struct bench *bench, const char *name, const char *reason)
{
    json_t *row = json_pack("{s:s, s:s}", "name", name, "reason", reason);
    if (!row || json_array_append_new(bench->skipped, row))
        bench_fail("out of memory");
    (void)fprintf(stderr, "  %-52s skipped: %s\n", name, reason);
}

/* ---- curves ---- */

static json_t *child(json_t *list, const char *name)
{
    size_t i = 0;
    json_t *item = NULL;
    json_array_foreach(list, i, item)
    {
        if (strcmp(json_string_value(json_object_get(item, "name")), name) == 0)
            return item;
    }
    return NULL;
}

static json_t *made(json_t *list, json_t *item)
{
    if (!item || json_array_append_new(list, item))
        bench_fail("out of memory");
    return item;
}

void bench_point(struct bench *bench, const char *curve, const char *x_name, const char *series, double x, double us)
{
    json_t *c = child(bench->curves, curve);
    if (!c)
        c = made(bench->curves, json_pack("{s:s, s:s, s:s, s:[]}", "name", curve, "x", x_name, "unit", "us", "series"));
    json_t *list = json_object_get(c, "series");
    json_t *s = child(list, series);
    if (!s)
        s = made(list, json_pack("{s:s, s:[]}", "name", series, "points"));
    (void)made(json_object_get(s, "points"), json_pack("[f, f]", x, us));
}

/* ---- counts ---- */

void bench_count(struct bench *bench, const char *name, const struct side *side)
{
    side->run(side->context); /* the first one may still be making files */
    count_start();
    side->run(side->context);
    struct io_count c = count_stop();
    (void)made(bench->counts,
               json_pack("{s:s, s:s, s:I, s:I, s:I}", "name", name, "of", side->name, "flushes", (json_int_t)c.flushes,
                         "writes", (json_int_t)c.writes, "bytes", (json_int_t)c.bytes));
}
