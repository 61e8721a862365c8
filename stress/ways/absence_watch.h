/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Absence gaps of a path: how often, how long. A watcher process polls the path as fast as it can; a gap lasts from the
 * first poll that found nothing to the first poll that found it again. Gaps shorter than one poll are missed, and a
 * watcher that the scheduler held back sees a gap longer than it was: figures of one run compare with each other, not
 * with a clock.
 */
#ifndef STRESS_GAPS_H
#define STRESS_GAPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

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
