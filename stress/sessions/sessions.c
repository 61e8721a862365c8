/* SPDX-License-Identifier: Apache-2.0 */
/* qstress sessions: a policy is being saved while sessions start; how many start without it? */
#include "stress/sessions/sessions.h"

#include "stress/harness/report.h"
#include "stress/harness/worker_pool.h"

#include "base/cleanup.h"
#include "terminal/paint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define SIGHTING_ERROR START_COUNT

static const char *const start_names[] = {"confined", "refused", "unconfined", "errors"};

struct session_slot {
    _Alignas(64) atomic_ullong found[START_COUNT];
    struct histogram start_ns;
};

struct session_shared {
    atomic_bool stop;
    uint64_t start_ns;
    _Alignas(64) atomic_llong left; /* starts to be made */
    _Alignas(64) atomic_ullong saves, errors;
    struct sightings sightings;
    struct session_slot slots[STARTERS_MAX];
};

struct sessions {
    struct sessions_config config;
    const struct session_way *way;
    struct session_shared *shared;
    struct pool pool;
    uint64_t seed;
};

/* What it came to. */
struct session_result {
    const char *backend, *reader;
    uint64_t starts, starters, writers, seed;
    uint64_t saves, errors; /* errors: saves that failed, processes that died */
    uint64_t found[START_COUNT];
    struct histogram start_ns;
};

static void sighting(struct sessions *sessions, unsigned kind, const char *role, unsigned index, const char *text)
{
    char who[24];
    (void)snprintf(who, sizeof who, "%s %u", role, index);
    sightings_add(&sessions->shared->sightings, kind, stress_now_ns() - sessions->shared->start_ns, who, text);
}

static void starter(void *context, unsigned index)
{
    struct sessions *sessions = context;
    struct session_slot *slot = &sessions->shared->slots[index];
    struct stress_rng rng;
    stress_rng_init(&rng, sessions->seed, 1000 + index);
    while (!atomic_load(&sessions->shared->stop)) {
        long long number = atomic_fetch_sub(&sessions->shared->left, 1);
        if (number <= 0)
            return;
        char reason[STRESS_REASON_BYTES] = "";
        uint64_t began = stress_now_ns();
        enum start start = sessions->way->start(&sessions->config, (uint64_t)number, reason);
        histogram_add(&slot->start_ns, stress_now_ns() - began);
        atomic_fetch_add(&slot->found[start], 1);
        if (start != START_CONFINED)
            sighting(sessions, start, "start", index, reason);
        stress_pause(&rng);
    }
}

static void writer(void *context, unsigned index)
{
    struct sessions *sessions = context;
    struct stress_rng rng;
    stress_rng_init(&rng, sessions->seed, index);
    for (uint64_t number = 1; !atomic_load(&sessions->shared->stop); number++) {
        char reason[STRESS_REASON_BYTES] = "";
        if (sessions->way->save(&sessions->config, number * 64 + index, reason)) {
            atomic_fetch_add(&sessions->shared->saves, 1);
        } else {
            atomic_fetch_add(&sessions->shared->errors, 1);
            sighting(sessions, SIGHTING_ERROR, "writer", index, reason);
        }
        stress_pause(&rng);
    }
}

static void failed(void *context, const struct worker *worker, const char *text)
{
    struct sessions *sessions = context;
    atomic_fetch_add(&sessions->shared->errors, 1);
    sighting(sessions, SIGHTING_ERROR, worker->role, worker->index, text);
}

static uint64_t sum(const struct sessions *sessions, enum start start)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < STARTERS_MAX; i++)
        all += atomic_load(&sessions->shared->slots[i].found[start]);
    return all;
}

/* Writers go on as long as starts are being made, or until nobody is left to make them. */
static bool enough(void *context)
{
    const struct sessions *sessions = context;
    size_t alive = 0;
    for (size_t i = 0; i < sessions->pool.count; i++)
        alive += sessions->pool.workers[i].run == starter && sessions->pool.workers[i].pid;
    return !alive;
}

static void progress(void *context)
{
    const struct sessions *sessions = context;
    (void)fprintf(stderr, "\r%lld starts to go  %llu saves", (long long)atomic_load(&sessions->shared->left),
                  (unsigned long long)atomic_load(&sessions->shared->saves));
    for (enum start s = 0; s < START_COUNT; s++)
        (void)fprintf(stderr, "  %llu %s", (unsigned long long)sum(sessions, s), start_names[s]);
    (void)fprintf(stderr, "\033[K");
}

static bool run(struct sessions *sessions, const struct cli *cli, char *reason)
{
    struct pool *pool = &sessions->pool;
    bool show = terminal_is_able(STDERR_FILENO);
    size_t count = 0;
    AUTO_FREE struct worker *workers = calloc(cli->writers + cli->starters, sizeof *workers);
    if (!workers || !sessions->way->prepare(&sessions->config, reason))
        return false;
    for (unsigned i = 0; i < cli->writers; i++)
        workers[count++] = (struct worker){.run = writer, .role = "writer", .index = i};
    for (unsigned i = 0; i < cli->starters; i++)
        workers[count++] = (struct worker){.run = starter, .role = "start", .index = i, .drops = true};
    atomic_store(&sessions->shared->left, (long long)cli->starts);
    pool->context = sessions;
    pool->workers = workers;
    pool->count = count;
    pool->stop = &sessions->shared->stop;
    pool->start_ns = &sessions->shared->start_ns;
    pool->enough = enough;
    pool->failed = failed;
    pool->tick = show ? progress : NULL;
    bool ok = pool_run(pool, reason, STRESS_REASON_BYTES);
    if (show)
        (void)fprintf(stderr, "\r\033[K");
    return ok;
}

static void add_up(const struct sessions *sessions, const struct cli *cli, struct session_result *result)
{
    *result = (struct session_result){.backend = cli->backend,
                                      .reader = cli->reader,
                                      .starters = cli->starters,
                                      .writers = cli->writers,
                                      .seed = cli->seed,
                                      .saves = atomic_load(&sessions->shared->saves),
                                      .errors = atomic_load(&sessions->shared->errors)};
    for (enum start s = 0; s < START_COUNT; s++)
        result->starts += result->found[s] = sum(sessions, s);
    for (unsigned i = 0; i < cli->starters; i++)
        histogram_merge(&result->start_ns, &sessions->shared->slots[i].start_ns);
}

static void describe(struct report *report, const struct sessions *sessions, const struct session_result *result)
{
    report_fact(report, "backend", "%s", result->backend);
    report_fact(report, "reader", "%s", result->reader);
    report_fact(report, "starters", "%llu", (unsigned long long)result->starters);
    report_fact(report, "writers", "%llu", (unsigned long long)result->writers);
    report_fact(report, "seed", "%llu", (unsigned long long)result->seed);
    report_fact(report, "starts", "%llu", (unsigned long long)result->starts);
    report_fact(report, "saves", "%llu", (unsigned long long)result->saves);
    report_fact(report, "confined", "%llu", (unsigned long long)result->found[START_CONFINED]);
    report_fact(report, "refused", "%llu", (unsigned long long)result->found[START_REFUSED]);
    report_fact(report, "unconfined", "%llu", (unsigned long long)result->found[START_UNCONFINED]);
    report_check(report, "no session starts unconfined", "unconfined", result->found[START_UNCONFINED],
                 "%llu of %llu starts; %llu confined, %llu refused",
                 (unsigned long long)result->found[START_UNCONFINED], (unsigned long long)result->starts,
                 (unsigned long long)result->found[START_CONFINED], (unsigned long long)result->found[START_REFUSED]);
    report_check(report, "no save failed", "errors", result->errors, "%llu failed, %llu were done",
                 (unsigned long long)result->errors, (unsigned long long)result->saves);
    report_check(report, "sessions do start", "refused", result->found[START_CONFINED] == 0, "%llu confined",
                 (unsigned long long)result->found[START_CONFINED]);
    for (unsigned s = START_REFUSED; s <= SIGHTING_ERROR; s++)
        sightings_report(&sessions->shared->sightings, s, start_names[s], report);
}

static char *json_text(const struct session_result *result)
{
    return report_json(json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "backend",
                                 result->backend, "reader", result->reader, "starts", report_count(result->starts),
                                 "starters", report_count(result->starters), "writers", report_count(result->writers),
                                 "seed", report_count(result->seed), "saves", report_count(result->saves), "confined",
                                 report_count(result->found[START_CONFINED]), "refused",
                                 report_count(result->found[START_REFUSED]), "unconfined",
                                 report_count(result->found[START_UNCONFINED]), "errors", report_count(result->errors),
                                 "start_us", report_percentiles(&result->start_ns)));
}

static int tell(const struct sessions *sessions, const struct cli *cli)
{
    struct session_result result;
    add_up(sessions, cli, &result);
    if (!result.starts || (cli->writers && !result.saves && !result.errors))
        return stress_fail(STRESS_FAILED, "nothing was tried: %llu starts, %llu saves",
                           (unsigned long long)result.starts, (unsigned long long)result.saves);
    struct report report = {.command = "sessions",
                            .subject = cli->backend,
                            .expect_violation = cli->expect_violation,
                            .seconds = (double)(stress_now_ns() - sessions->shared->start_ns) / 1e9,
                            .read_ns = &result.start_ns};
    describe(&report, sessions, &result);
    AUTO_FREE char *json = NULL;
    if (cli->line.json && !(json = json_text(&result)))
        return stress_fail(STRESS_FAILED, "out of memory");
    if (!report_emit(&report, json, cli->junit, cli->html))
        return STRESS_FAILED;
    return report_passed(&report) ? STRESS_CLEAN : STRESS_VIOLATION;
}

/* The way and the reader that the options name; for the sandbox also the program. */
static int choose(struct sessions *sessions, const struct cli *cli, char *program, size_t size)
{
    static const char *const readers[] = {"once", "twice", "sandbox"};
    static const char *const ways[] = {"rename-away", "in-place", "copy-backup", "rename-over"};
    for (unsigned i = 0; i < 3; i++)
        if (strcmp(cli->reader, readers[i]) == 0)
            sessions->config.reader = (enum start_reader)i;
    for (unsigned i = 0; i < 4; i++)
        if (strcmp(cli->backend, ways[i]) == 0)
            sessions->way = session_way_file((enum file_way)i);
    if (!sessions->way)
        sessions->way = &session_way_store;
    sessions->seed = cli->seed;
    if (sessions->config.reader != READER_SANDBOX)
        return STRESS_CLEAN;
    if (sessions->way != &session_way_store)
        return stress_fail(STRESS_USAGE,
                           "option '--reader sandbox' needs '--backend qsettings', since it reads the store");
    ssize_t len = cli->qsandbox ? (ssize_t)snprintf(program, size, "%s", cli->qsandbox)
                                : readlink("/proc/self/exe", program, size - sizeof "qsandbox");
    char *slash = len > 0 && !cli->qsandbox ? memrchr(program, '/', (size_t)len) : NULL;
    if (slash)
        memcpy(slash + 1, "qsandbox", sizeof "qsandbox");
    sessions->config.qsandbox = program;
    if (access(program, X_OK) != 0)
        return stress_fail(STRESS_FAILED, "%s: %s", program, strerrordesc_np(errno));
    return STRESS_CLEAN;
}

int stress_cmd_sessions(const struct cli *cli)
{
    struct sessions sessions = {0};
    char program[4096] = "";
    char reason[STRESS_REASON_BYTES] = "";
    int status = choose(&sessions, cli, program, sizeof program);
    if (status == STRESS_CLEAN)
        status = pool_find_user(cli->as_user, &sessions.pool);
    if (status != STRESS_CLEAN)
        return status;
    AUTO_FREE char *scratch = stress_scratch(cli->dir);
    sessions.shared = scratch ? pool_share(sizeof *sessions.shared) : NULL;
    if (!sessions.shared)
        return stress_fail(STRESS_FAILED, "scratch directory: %s", strerrordesc_np(errno));
    sessions.config.dir = scratch;
    bool ran = run(&sessions, cli, reason);
    stress_remove_tree(scratch); /* before the report: a closed standard output ends the program */
    if (ran)
        status = tell(&sessions, cli);
    else
        status = stress_fail(STRESS_FAILED, "%s", reason);
    (void)munmap(sessions.shared, sizeof *sessions.shared);
    return status;
}
