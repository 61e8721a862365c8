/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run measures: how long operations took, and how often and how long a path was absent. Both are of fixed size,
 * without heap, so that they can lie in memory shared between processes; one process writes each, another reads it
 * after the end.
 */
#ifndef STRESS_MEASURES_H
#define STRESS_MEASURES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Latencies, in log-linear buckets: exact below 32, then 32 buckets to each power of two, so that every value is known
 * to 1 part in 32 whatever its size (the idea is that of HdrHistogram, hdrhistogram.org).
 */
#define HISTOGRAM_SUB_BITS 5u
#define HISTOGRAM_BUCKETS  ((64u - HISTOGRAM_SUB_BITS + 1u) << HISTOGRAM_SUB_BITS)

struct histogram { /* zero is empty */
    uint64_t count;
    uint64_t max;
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

size_t histogram_index(uint64_t value);
uint64_t histogram_low(size_t index);  /* smallest value of a bucket */
uint64_t histogram_high(size_t index); /* largest value of a bucket */

void histogram_add(struct histogram *histogram, uint64_t value);
void histogram_merge(struct histogram *into, const struct histogram *from);

/* The smallest value that at least permille/1000 of all values do not exceed, rounded up to its bucket's end but never
 * over the largest value seen. 0 when empty. */
uint64_t histogram_at(const struct histogram *histogram, unsigned permille);

/*
 * Absence of a path. A watcher polls it as fast as it can; a gap lasts from the first poll that found nothing to the
 * first poll that found it again. Gaps shorter than one poll are missed, and a watcher that the scheduler held back
 * sees a gap longer than it was: compare figures of one run with each other, not with a clock.
 */
#define GAPS_BINS 240u /* of the timeline */

struct gaps_bin {
    uint64_t count;  /* gaps that began in it */
    uint64_t max_ns; /* the longest of them */
};

struct gaps { /* set up with gaps_begin */
    uint64_t start_ns, span_ns;
    uint64_t polls;
    uint64_t count, total_ns, max_ns;
    uint64_t began_ns;
    bool open;
    struct gaps_bin bins[GAPS_BINS];
};

void gaps_begin(struct gaps *gaps, uint64_t now_ns, uint64_t span_ns);
void gaps_observe(struct gaps *gaps, bool present, uint64_t now_ns);
void gaps_end(struct gaps *gaps, uint64_t now_ns); /* closes a gap that is still open */
double gaps_mean_us(const struct gaps *gaps);

/* Polls path until *stop is set. Only ENOENT and ENOTDIR are absence. */
void gaps_watch(struct gaps *gaps, const char *path, const atomic_bool *stop, uint64_t span_ns);

#endif
