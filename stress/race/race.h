/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room stress/race/: Is a reader ever shown anything but one whole generation?
 *
 * One race: writers, readers and a watcher as processes that share one piece of memory.
 *
 * Each process counts in a slot of its own; the acknowledged generation is shared, so that a reader can see that what
 * it read is older than what a writer was told is stored.
 */
#ifndef STRESS_RACE_H
#define STRESS_RACE_H

#include "stress/harness/report.h"
#include "stress/harness/worker_pool.h"
#include "stress/ways/backend.h"

#include <stdatomic.h>
#include <sys/types.h>

struct race_slot {
    _Alignas(64) atomic_ullong done; /* reads or acknowledged saves */
    atomic_ullong verdicts[VERDICT_COUNT];
    atomic_ullong retries;
    atomic_ullong counter; /* writers: their own counter as last acknowledged */
    struct histogram latency_ns;
};

struct race_shared {
    atomic_bool stop;
    _Alignas(64) atomic_ullong acknowledged; /* the newest acknowledged generation */
    uint64_t start_ns;
    struct sightings sightings; /* kinds: enum verdict */
    struct gaps gaps;
    struct race_slot slots[]; /* writers, readers, and one for the rest: the watcher, the end */
};

struct race {
    const struct backend *backend;
    struct backend_config config;
    unsigned writers, readers;
    double seconds;
    uint64_t seed;
    struct pool pool; /* its user is set before race_run, the rest by it */
    struct race_shared *shared;
    size_t shared_bytes;
};

/* What it came to. */
struct race_result {
    uint64_t writes, reads, retries;
    uint64_t verdicts[VERDICT_COUNT];
    struct histogram read_ns;
};

/* Runs it: forks, waits, judges the end, adds up. False: the harness failed, and reason says why; nothing is left
 * running. Call race_release afterwards in any case. */
bool race_run(struct race *race, struct race_result *ret_result, char *reason);
void race_release(struct race *race);

int stress_cmd_race(const struct cli *cli);

#endif
