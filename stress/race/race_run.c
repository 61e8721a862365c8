/* SPDX-License-Identifier: Apache-2.0 */
/* Running a race: what its processes do, the end judged, the sum. */
#include "stress/race/race.h"

#include "base/cleanup.h"
#include "terminal/paint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* ---- readers judge each read, writers change their own counter and miss what is gone ---- */

static void count(struct race *race, struct race_slot *slot, enum verdict verdict, const char *who, const char *text)
{
    atomic_fetch_add(&slot->verdicts[verdict], 1);
    sightings_add(&race->shared->sightings, verdict, stress_now_ns() - race->shared->start_ns, who, text);
}

static void judge(struct race *race, struct race_slot *slot, const struct backend_look *look, uint64_t acknowledged,
                  uint64_t *newest, const char *who)
{
    char text[STRESS_REASON_BYTES];
    if (look->verdict != VERDICT_FINE) {
        count(race, slot, look->verdict, who, look->reason);
        return;
    }
    if (!look->has_document)
        return;
    uint64_t generation = look->document.generation;
    if (generation < *newest) {
        (void)snprintf(text, sizeof text, "generation %llu after %llu", (unsigned long long)generation,
                       (unsigned long long)*newest);
        count(race, slot, VERDICT_STALE, who, text);
    } else if (generation < acknowledged) {
        (void)snprintf(text, sizeof text, "generation %llu; %llu was acknowledged before the read began",
                       (unsigned long long)generation, (unsigned long long)acknowledged);
        count(race, slot, VERDICT_STALE, who, text);
    }
    if (generation > *newest)
        *newest = generation;
}

static void reader(void *context, unsigned index)
{
    struct race *race = context;
    struct race_slot *slot = &race->shared->slots[race->writers + index];
    struct stress_rng rng;
    char who[24];
    char reason[STRESS_REASON_BYTES] = "";
    uint64_t newest = 0;
    (void)snprintf(who, sizeof who, "reader %u", index);
    stress_rng_init(&rng, race->seed, 1000 + index);
    void *client = race->backend->open(&race->config, reason);
    if (!client) {
        count(race, slot, VERDICT_ERROR, who, reason);
        return;
    }
    while (!atomic_load(&race->shared->stop)) {
        struct backend_look look;
        uint64_t acknowledged = atomic_load(&race->shared->acknowledged);
        uint64_t start = stress_now_ns();
        race->backend->look(client, &look);
        histogram_add(&slot->latency_ns, stress_now_ns() - start);
        atomic_fetch_add(&slot->retries, look.retries);
        judge(race, slot, &look, acknowledged, &newest, who);
        atomic_fetch_add(&slot->done, 1);
        stress_pause(&rng);
    }
    race->backend->close(client);
}

static void raise_to(atomic_ullong *slot, unsigned long long value)
{
    unsigned long long old = atomic_load(slot);
    while (old < value && !atomic_compare_exchange_weak(slot, &old, value)) {
    }
}

/* Its counter must be the acknowledged one. Counted once each time it finds less, however much is gone: as stale copies
 * come and go, changes return and are lost again, and a count of them would mean nothing. */
static void miss_own(struct race *race, struct race_slot *slot, uint64_t seen, const char *who)
{
    uint64_t expected = atomic_load(&slot->counter);
    if (seen >= expected)
        return;
    char text[STRESS_REASON_BYTES];
    (void)snprintf(text, sizeof text, "its counter is %llu, %llu was acknowledged", (unsigned long long)seen,
                   (unsigned long long)expected);
    count(race, slot, VERDICT_LOST, who, text);
    atomic_store(&slot->counter, seen);
}

static void writer(void *context, unsigned index)
{
    struct race *race = context;
    struct race_slot *slot = &race->shared->slots[index];
    struct stress_rng rng;
    char who[24];
    char reason[STRESS_REASON_BYTES] = "";
    (void)snprintf(who, sizeof who, "writer %u", index);
    stress_rng_init(&rng, race->seed, index);
    void *client = race->backend->open(&race->config, reason);
    if (!client) {
        count(race, slot, VERDICT_ERROR, who, reason);
        return;
    }
    while (!atomic_load(&race->shared->stop)) {
        struct backend_save save;
        race->backend->save(client, index, &save);
        if (save.has_seen)
            miss_own(race, slot, save.seen, who);
        if (save.acknowledged) {
            atomic_store(&slot->counter, save.seen + 1);
            raise_to(&race->shared->acknowledged, save.generation);
            atomic_fetch_add(&slot->done, 1);
        } else {
            count(race, slot, VERDICT_ERROR, who, save.reason);
        }
        stress_pause(&rng);
    }
    race->backend->close(client);
}

/* ---- the run ---- */

static bool map_shared(struct race *race, char *reason)
{
    size_t slots = (size_t)race->writers + race->readers + 1; /* one for the rest: the watcher, the end */
    race->shared_bytes = sizeof *race->shared + slots * sizeof race->shared->slots[0];
    race->shared = pool_share(race->shared_bytes);
    if (!race->shared)
        (void)snprintf(reason, STRESS_REASON_BYTES, "shared memory: %s", strerrordesc_np(errno));
    return race->shared != NULL;
}

void race_release(struct race *race)
{
    if (race->shared)
        (void)munmap(race->shared, race->shared_bytes);
    race->shared = NULL;
}

static struct race_slot *nobodys(const struct race *race)
{
    return &race->shared->slots[race->writers + race->readers];
}

static void watcher(void *context, unsigned index)
{
    struct race *race = context;
    char path[4096];
    (void)index;
    race->backend->watched(&race->config, path, sizeof path);
    gaps_watch(&race->shared->gaps, path, &race->shared->stop, (uint64_t)(race->seconds * 1e9));
}

/* A process that did not end by itself: the thing tested crashed it, or the user could not be taken on. */
static void failed(void *context, const struct worker *worker, const char *text)
{
    struct race *race = context;
    char who[24];
    (void)snprintf(who, sizeof who, "%s %u", worker->role, worker->index);
    count(race, nobodys(race), VERDICT_ERROR, who, text);
}

static void sum(const struct race *race, struct race_result *result)
{
    memset(result, 0, sizeof *result);
    for (unsigned i = 0; i < race->writers + race->readers + 1; i++) {
        struct race_slot *slot = &race->shared->slots[i];
        *(i < race->writers ? &result->writes : &result->reads) += atomic_load(&slot->done);
        result->retries += atomic_load(&slot->retries);
        for (unsigned v = 0; v < VERDICT_COUNT; v++)
            result->verdicts[v] += atomic_load(&slot->verdicts[v]);
    }
}

static void progress(void *context)
{
    const struct race *race = context;
    struct race_result so_far;
    sum(race, &so_far);
    double elapsed = (double)(stress_now_ns() - race->shared->start_ns) / 1e9;
    (void)fprintf(stderr, "\r%5.1f of %g s  %llu writes  %llu reads", elapsed, race->seconds,
                  (unsigned long long)so_far.writes, (unsigned long long)so_far.reads);
    for (unsigned v = VERDICT_ABSENT; v < VERDICT_COUNT; v++)
        (void)fprintf(stderr, "  %llu %s", (unsigned long long)so_far.verdicts[v], verdict_name(v));
    (void)fprintf(stderr, "\033[K");
}

/* After the last writer has ended, everything that was acknowledged must be there. Runs in a process of its own, as the
 * user that readers are: what they cannot read is not there for them. */
static void judge_last(void *context, unsigned index)
{
    struct race *race = context;
    (void)index;
    char reason[STRESS_REASON_BYTES] = "";
    void *client = race->backend->open(&race->config, reason);
    if (!client) {
        count(race, nobodys(race), VERDICT_ERROR, "the end", reason);
        return;
    }
    struct backend_look look;
    race->backend->look(client, &look);
    atomic_fetch_add(&nobodys(race)->done, 1);
    race->backend->close(client);
    if (look.verdict != VERDICT_FINE)
        count(race, nobodys(race), look.verdict, "the end", look.reason);
    for (unsigned i = 0; i < race->writers && look.has_document; i++) {
        uint64_t expected = atomic_load(&race->shared->slots[i].counter);
        uint64_t found = look.document.counters[i];
        if (found >= expected)
            continue;
        (void)snprintf(reason, sizeof reason, "the counter of writer %u is %llu, %llu was acknowledged", i,
                       (unsigned long long)found, (unsigned long long)expected);
        count(race, nobodys(race), VERDICT_LOST, "the end", reason);
    }
}

static void assign(const struct race *race, struct worker *workers)
{
    size_t n = 0;
    for (unsigned i = 0; i < race->writers; i++)
        workers[n++] = (struct worker){.run = writer, .role = "writer", .index = i};
    for (unsigned i = 0; i < race->readers; i++)
        workers[n++] = (struct worker){.run = reader, .role = "reader", .index = i, .drops = true};
    workers[n] = (struct worker){.run = watcher, .role = "watcher"};
}

static bool always(void *context)
{
    (void)context;
    return true;
}

static bool run_last(struct race *race, char *reason)
{
    struct pool last = race->pool;
    struct worker worker = {.run = judge_last, .role = "the end", .drops = true};
    uint64_t start_ns; /* the race's own is the origin of its sightings */
    last.workers = &worker;
    last.count = 1;
    last.start_ns = &start_ns;
    last.seconds = 0;
    last.enough = always; /* it takes the time it takes, up to the pool's patience */
    last.tick = NULL;
    return pool_run(&last, reason, STRESS_REASON_BYTES);
}

bool race_run(struct race *race, struct race_result *ret_result, char *reason)
{
    bool show = terminal_is_able(STDERR_FILENO);
    size_t count = (size_t)race->writers + race->readers + 1;
    AUTO_FREE struct worker *workers = calloc(count, sizeof *workers);
    if (!workers || !map_shared(race, reason) || !race->backend->prepare(&race->config, reason))
        return false;
    assign(race, workers);
    race->pool.context = race;
    race->pool.workers = workers;
    race->pool.count = count;
    race->pool.stop = &race->shared->stop;
    race->pool.start_ns = &race->shared->start_ns;
    race->pool.seconds = race->seconds;
    race->pool.failed = failed;
    race->pool.tick = show ? progress : NULL;
    bool ok = pool_run(&race->pool, reason, STRESS_REASON_BYTES);
    if (show)
        (void)fprintf(stderr, "\r\033[K");
    if (!ok || !run_last(race, reason))
        return false;
    sum(race, ret_result);
    for (unsigned i = 0; i < race->readers; i++)
        histogram_merge(&ret_result->read_ns, &race->shared->slots[race->writers + i].latency_ns);
    return true;
}
