/* SPDX-License-Identifier: Apache-2.0 */
/* Running a race: shared memory, the crew, judging the end, adding up. */
#include "stress/race/race.h"

#include "base/cleanup.h"
#include "terminal/paint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static bool map_shared(struct race *race, char *reason)
{
    size_t slots = (size_t)race->writers + race->readers + 1; /* one for what is nobody's: the watcher, the end */
    race->shared_bytes = sizeof *race->shared + slots * sizeof race->shared->slots[0];
    race->shared = crew_share(race->shared_bytes);
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
static void failed(void *context, const struct crew_member *member, const char *text)
{
    struct race *race = context;
    char who[24];
    (void)snprintf(who, sizeof who, "%s %u", member->role, member->index);
    race_count(race, nobodys(race), VERDICT_ERROR, who, text);
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
    void *session = race->backend->open(&race->config, reason);
    if (!session) {
        race_count(race, nobodys(race), VERDICT_ERROR, "the end", reason);
        return;
    }
    struct backend_look look;
    race->backend->look(session, &look);
    atomic_fetch_add(&nobodys(race)->done, 1);
    race->backend->close(session);
    if (look.verdict != VERDICT_FINE)
        race_count(race, nobodys(race), look.verdict, "the end", look.reason);
    for (unsigned i = 0; i < race->writers && look.has_document; i++) {
        uint64_t expected = atomic_load(&race->shared->slots[i].counter);
        uint64_t found = look.document.counters[i];
        if (found >= expected)
            continue;
        (void)snprintf(reason, sizeof reason, "the counter of writer %u is %llu, %llu was acknowledged", i,
                       (unsigned long long)found, (unsigned long long)expected);
        race_count(race, nobodys(race), VERDICT_LOST, "the end", reason);
    }
}

static void assign(const struct race *race, struct crew_member *members)
{
    size_t n = 0;
    for (unsigned i = 0; i < race->writers; i++)
        members[n++] = (struct crew_member){.run = race_writer, .role = "writer", .index = i};
    for (unsigned i = 0; i < race->readers; i++)
        members[n++] = (struct crew_member){.run = race_reader, .role = "reader", .index = i, .drops = true};
    members[n] = (struct crew_member){.run = watcher, .role = "watcher"};
}

static bool always(void *context)
{
    (void)context;
    return true;
}

static bool run_last(struct race *race, char *reason)
{
    struct crew last = race->crew;
    struct crew_member member = {.run = judge_last, .role = "the end", .drops = true};
    uint64_t start_ns; /* the race's own is the origin of its notes */
    last.members = &member;
    last.count = 1;
    last.start_ns = &start_ns;
    last.seconds = 0;
    last.enough = always; /* it takes the time it takes, up to the crew's patience */
    last.tick = NULL;
    return crew_run(&last, reason, STRESS_REASON_BYTES);
}

bool race_run(struct race *race, struct race_result *ret_result, char *reason)
{
    bool show = terminal_is_able(STDERR_FILENO);
    size_t count = (size_t)race->writers + race->readers + 1;
    AUTO_FREE struct crew_member *members = calloc(count, sizeof *members);
    if (!members || !map_shared(race, reason) || !race->backend->prepare(&race->config, reason))
        return false;
    assign(race, members);
    race->crew.context = race;
    race->crew.members = members;
    race->crew.count = count;
    race->crew.stop = &race->shared->stop;
    race->crew.start_ns = &race->shared->start_ns;
    race->crew.seconds = race->seconds;
    race->crew.failed = failed;
    race->crew.tick = show ? progress : NULL;
    bool ok = crew_run(&race->crew, reason, STRESS_REASON_BYTES);
    if (show)
        (void)fprintf(stderr, "\r\033[K");
    if (!ok || !run_last(race, reason))
        return false;
    sum(race, ret_result);
    for (unsigned i = 0; i < race->readers; i++)
        histogram_merge(&ret_result->read_ns, &race->shared->slots[race->writers + i].latency_ns);
    return true;
}
