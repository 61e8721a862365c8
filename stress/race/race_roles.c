/* SPDX-License-Identifier: Apache-2.0 */
/* What the processes of a race do: readers judge each read, writers change their own counter and miss what is gone. */
#include "stress/race/race.h"

#include <stdio.h>
#include <string.h>

void race_count(struct race *race, struct race_slot *slot, enum verdict verdict, const char *who, const char *text)
{
    atomic_fetch_add(&slot->verdicts[verdict], 1);
    notes_add(&race->shared->notes, verdict, stress_now_ns() - race->shared->start_ns, who, text);
}

static void judge(struct race *race, struct race_slot *slot, const struct backend_look *look, uint64_t acknowledged,
                  uint64_t *newest, const char *who)
{
    char text[STRESS_REASON_BYTES];
    if (look->verdict != VERDICT_FINE) {
        race_count(race, slot, look->verdict, who, look->reason);
        return;
    }
    if (!look->has_document)
        return;
    uint64_t generation = look->document.generation;
    if (generation < *newest) {
        (void)snprintf(text, sizeof text, "generation %llu after %llu", (unsigned long long)generation,
                       (unsigned long long)*newest);
        race_count(race, slot, VERDICT_STALE, who, text);
    } else if (generation < acknowledged) {
        (void)snprintf(text, sizeof text, "generation %llu; %llu was acknowledged before the read began",
                       (unsigned long long)generation, (unsigned long long)acknowledged);
        race_count(race, slot, VERDICT_STALE, who, text);
    }
    if (generation > *newest)
        *newest = generation;
}

void race_reader(void *context, unsigned index)
{
    struct race *race = context;
    struct race_slot *slot = &race->shared->slots[race->writers + index];
    struct stress_rng rng;
    char who[24];
    char reason[STRESS_REASON_BYTES] = "";
    uint64_t newest = 0;
    (void)snprintf(who, sizeof who, "reader %u", index);
    stress_rng_init(&rng, race->seed, 1000 + index);
    void *session = race->backend->open(&race->config, reason);
    if (!session) {
        race_count(race, slot, VERDICT_ERROR, who, reason);
        return;
    }
    while (!atomic_load(&race->shared->stop)) {
        struct backend_look look;
        uint64_t acknowledged = atomic_load(&race->shared->acknowledged);
        uint64_t start = stress_now_ns();
        race->backend->look(session, &look);
        histogram_add(&slot->latency_ns, stress_now_ns() - start);
        atomic_fetch_add(&slot->retries, look.retries);
        judge(race, slot, &look, acknowledged, &newest, who);
        atomic_fetch_add(&slot->done, 1);
        stress_pause(&rng);
    }
    race->backend->close(session);
}

static void raise_to(atomic_ullong *slot, unsigned long long value)
{
    unsigned long long old = atomic_load(slot);
    while (old < value && !atomic_compare_exchange_weak(slot, &old, value)) {
    }
}

/* Its counter must be what it was told is stored. Counted once each time it finds less, however much is gone: where a
 * stale copy comes and goes, changes return and are lost again, and a count of them would say nothing. */
static void miss_own(struct race *race, struct race_slot *slot, uint64_t seen, const char *who)
{
    uint64_t expected = atomic_load(&slot->counter);
    if (seen >= expected)
        return;
    char text[STRESS_REASON_BYTES];
    (void)snprintf(text, sizeof text, "its counter is %llu, %llu was acknowledged", (unsigned long long)seen,
                   (unsigned long long)expected);
    race_count(race, slot, VERDICT_LOST, who, text);
    atomic_store(&slot->counter, seen);
}

void race_writer(void *context, unsigned index)
{
    struct race *race = context;
    struct race_slot *slot = &race->shared->slots[index];
    struct stress_rng rng;
    char who[24];
    char reason[STRESS_REASON_BYTES] = "";
    (void)snprintf(who, sizeof who, "writer %u", index);
    stress_rng_init(&rng, race->seed, index);
    void *session = race->backend->open(&race->config, reason);
    if (!session) {
        race_count(race, slot, VERDICT_ERROR, who, reason);
        return;
    }
    while (!atomic_load(&race->shared->stop)) {
        struct backend_save save;
        race->backend->save(session, index, &save);
        if (save.has_seen)
            miss_own(race, slot, save.seen, who);
        if (save.acknowledged) {
            atomic_store(&slot->counter, save.seen + 1);
            raise_to(&race->shared->acknowledged, save.generation);
            atomic_fetch_add(&slot->done, 1);
        } else {
            race_count(race, slot, VERDICT_ERROR, who, save.reason);
        }
        stress_pause(&rng);
    }
    race->backend->close(session);
}
