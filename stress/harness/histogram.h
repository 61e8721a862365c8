/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Latency histogram with log-linear buckets: exact below 32, then 32 buckets to each power of two, so that every value
 * is known to 1 part in 32 whatever its size (the idea is that of HdrHistogram, hdrhistogram.org). Fixed size, no heap,
 * so that it can lie in memory shared between processes; one process writes it, another merges it after the end.
 */
#ifndef STRESS_HISTOGRAM_H
#define STRESS_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

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

#endif
