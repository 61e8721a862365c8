/* SPDX-License-Identifier: Apache-2.0 */
/* Log-linear latency histogram. */
#include "stress/harness/histogram.h"

#define SUB ((uint64_t)1 << HISTOGRAM_SUB_BITS)

size_t histogram_index(uint64_t value)
{
    if (value < SUB)
        return (size_t)value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
    return (size_t)(((uint64_t)shift + 1) * SUB + ((value >> shift) & (SUB - 1)));
}

uint64_t histogram_low(size_t index)
{
    if (index < SUB)
        return index;
    unsigned shift = (unsigned)(index / SUB) - 1;
    return (SUB + index % SUB) << shift;
}

uint64_t histogram_high(size_t index)
{
    return index + 1 < HISTOGRAM_BUCKETS ? histogram_low(index + 1) - 1 : UINT64_MAX;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
    histogram->count++;
    histogram->buckets[histogram_index(value)]++;
    if (value > histogram->max)
        histogram->max = value;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    into->count += from->count;
    if (from->max > into->max)
        into->max = from->max;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

uint64_t histogram_at(const struct histogram *histogram, unsigned permille)
{
    /* Ranks are counted from 1; rounding up keeps the promise of "at least". Split so that it cannot overflow. */
    uint64_t rank = histogram->count / 1000 * permille + (histogram->count % 1000 * permille + 999) / 1000;
    uint64_t seen = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= rank && seen) {
            uint64_t high = histogram_high(i);
            return high < histogram->max ? high : histogram->max;
        }
    }
    return histogram->max;
}
