/* SPDX-License-Identifier: Apache-2.0 */
/* Absence gaps: the state machine (pure, the clock is handed in) and the watcher that feeds it. */
#include "stress/ways/absence_watch.h"

#include "stress/harness/stress.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

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
