/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms, and the gaps: a state machine, pure, the clock is handed in; and the watcher that feeds it. */
#include "stress/harness/measures.h"

#include "stress/harness/stress.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

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

/* ---- gaps ---- */

void gaps_begin(struct gaps *gaps, uint64_t now_ns, uint64_t span_ns)
{
    memset(gaps, 0, sizeof *gaps);
    gaps->start_ns = now_ns;
    gaps->span_ns = span_ns ? span_ns : 1;
}

static struct gaps_bin *bin_of(struct gaps *gaps, uint64_t at_ns)
{
    uint64_t since = at_ns - gaps->start_ns;
    uint64_t width = gaps->span_ns / GAPS_BINS + 1;
    uint64_t index = since / width;
    return &gaps->bins[index < GAPS_BINS ? index : GAPS_BINS - 1];
}

void gaps_end(struct gaps *gaps, uint64_t now_ns)
{
    if (!gaps->open)
        return;
    uint64_t length = now_ns - gaps->began_ns;
    struct gaps_bin *bin = bin_of(gaps, gaps->began_ns);
    gaps->open = false;
    gaps->count++;
    gaps->total_ns += length;
    bin->count++;
    if (length > gaps->max_ns)
        gaps->max_ns = length;
    if (length > bin->max_ns)
        bin->max_ns = length;
}

void gaps_observe(struct gaps *gaps, bool present, uint64_t now_ns)
{
    gaps->polls++;
    if (present) {
        gaps_end(gaps, now_ns);
    } else if (!gaps->open) {
        gaps->open = true;
        gaps->began_ns = now_ns;
    }
}

double gaps_mean_us(const struct gaps *gaps)
{
    return gaps->count ? (double)gaps->total_ns / (double)gaps->count / 1000.0 : 0.0;
}

void gaps_watch(struct gaps *gaps, const char *path, const atomic_bool *stop, uint64_t span_ns)
{
    gaps_begin(gaps, stress_now_ns(), span_ns);
    while (!atomic_load_explicit(stop, memory_order_relaxed)) {
        bool present = access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
        gaps_observe(gaps, present, stress_now_ns());
    }
    gaps_end(gaps, stress_now_ns());
}
