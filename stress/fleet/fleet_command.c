/* SPDX-License-Identifier: Apache-2.0 */
/* qstress fleet: the options, the run, and its report. */
#include "stress/fleet/fleet_command.h"

#include "base/cleanup.h"
#include "stress/fleet/fleet.h"
#include "stress/harness/worker_pool.h"

#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define CONVERGE_SECONDS 60u
#define MEASURED_PUSHES  3u

static bool all_have(const struct fleet_run *run, struct fleet_order order)
{
    for (uint64_t i = 0; i < run->options->hosts; i++)
        if (atomic_load(&run->board->hosts[i].serial) < order.serial)
            return false;
    return true;
}

static bool converge(struct fleet_run *run, struct fleet_order order)
{
    uint64_t deadline = stress_now_ns() + ((run->options->control ? 10 : CONVERGE_SECONDS) + run->options->hosts / 5) *
                                              UINT64_C(1000000000);
    while (!all_have(run, order)) {
        if (stress_now_ns() > deadline)
            return false;
        stress_sleep_ns(10000000);
    }
    return true;
}

/* Under the adversary for so long, then well: all must have the newest, several times over. */
static void play(struct fleet_run *run, struct fleet_side *side)
{
    struct fleet_order order;
    uint64_t end = stress_now_ns() + (uint64_t)(run->options->seconds * 1e9);
    while (stress_now_ns() < end && !(run->options->control && atomic_load(&run->board->violations)))
        fleet_side_step(side);
    for (unsigned i = 0; i <= MEASURED_PUSHES; i++) {
        if (run->options->control && atomic_load(&run->board->violations))
            return;
        if (!fleet_side_settle(side, &order)) {
            fleet_violation(run->board, 0, "the carrier takes no bundle though it is well");
            return;
        }
        bool done = converge(run, order);
        for (uint64_t h = 0; h < run->options->hosts && !done; h++)
            if (atomic_load(&run->board->hosts[h].serial) < order.serial)
                fleet_violation(run->board, (unsigned)h, "has %llu and not %llu, though the carrier is well",
                                (unsigned long long)atomic_load(&run->board->hosts[h].serial),
                                (unsigned long long)order.serial);
        if (!i) /* the first brings all together; those that follow are measured */
            for (uint64_t h = 0; h < run->options->hosts; h++)
                run->board->hosts[h].latency_us = (struct histogram){0};
    }
}

static void start_hosts(struct fleet_run *run, pid_t *pids)
{
    for (uint64_t i = 0; i < run->options->hosts; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            fleet_host_run(run, (unsigned)i);
    }
}

static void end_hosts(struct fleet_run *run, const pid_t *pids)
{
    atomic_store(&run->board->stop, true);
    for (uint64_t i = 0; i < run->options->hosts; i++)
        while (pids[i] > 0 && waitpid(pids[i], NULL, 0) < 0 && errno == EINTR)
            ;
}

static int tell(const struct fleet_run *run)
{
    const struct fleet_board *board = run->board;
    static struct histogram latency;
    uint64_t commits = 0, reads = 0;
    unsigned violations = atomic_load(&board->violations);
    json_t *texts = json_array();
    for (uint64_t i = 0; i < run->options->hosts; i++) {
        commits += atomic_load(&board->hosts[i].commits);
        reads += atomic_load(&board->hosts[i].reads);
        histogram_merge(&latency, &board->hosts[i].latency_us);
    }
    for (unsigned i = 0; i < atomic_load(&board->text_count) && i < FLEET_TEXTS; i++)
        (void)json_array_append_new(texts, json_string(board->texts[i]));
    AUTO(value_release)
    json_t *report =
        json_pack("{s:s, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:{s:f, s:f, s:f}}", "command", "fleet", "hosts",
                  (json_int_t)run->options->hosts, "carrier", run->options->carrier, "seed",
                  (json_int_t)run->options->seed, "signed", (json_int_t)atomic_load(&board->signed_count), "commits",
                  (json_int_t)commits, "reads", (json_int_t)reads, "violations", (json_int_t)violations, "samples",
                  texts, "latency_ms", "p50", (double)histogram_at(&latency, 500) / 1000, "p99",
                  (double)histogram_at(&latency, 990) / 1000, "max", (double)latency.max / 1000);
    if (run->options->json) {
        (void)json_dumpf(report, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        (void)putchar('\n');
    } else {
        (void)printf("%llu machines, %u bundles signed, %llu commits, %llu policy reads, %u violations\n"
                     "from a push to a machine's commit: p50 %.1f ms, p99 %.1f ms, max %.1f ms\n",
                     (unsigned long long)run->options->hosts, atomic_load(&board->signed_count),
                     (unsigned long long)commits, (unsigned long long)reads, violations,
                     (double)histogram_at(&latency, 500) / 1000, (double)histogram_at(&latency, 990) / 1000,
                     (double)latency.max / 1000);
        for (size_t i = 0; i < json_array_size(texts); i++)
            (void)printf("  %s\n", json_string_value(json_array_get(texts, i)));
    }
    return violations ? STRESS_VIOLATION : STRESS_CLEAN;
}

static int run_fleet(const struct fleet_options *options)
{
    char reason[256] = "";
    size_t bytes = sizeof(struct fleet_board) + options->hosts * sizeof(struct host_state);
    struct fleet_run run = {.options = options, .scratch = stress_scratch(NULL), .board = pool_share(bytes)};
    AUTO_FREE pid_t *pids = calloc(options->hosts, sizeof *pids);
    if (!run.scratch || !run.board || !pids)
        return stress_fail(STRESS_FAILED, "no memory, or no scratch directory");
    if (sodium_init() < 0 || curl_global_init(CURL_GLOBAL_DEFAULT))
        return stress_fail(STRESS_FAILED, "libsodium or libcurl cannot be used");
    (void)signal(SIGPIPE, SIG_IGN);
    site_battery_user = NULL; /* the battery is not what is tried here */
    struct fleet_side *side = fleet_side_new(&run, reason);
    int code = STRESS_FAILED;
    if (side) {
        start_hosts(&run, pids);
        play(&run, side);
        end_hosts(&run, pids);
        code = tell(&run);
    } else {
        code = stress_fail(STRESS_FAILED, "%s", reason[0] ? reason : "the fleet cannot be set up");
    }
    fleet_side_free(side);
    json_decref(run.carrier_config);
    stress_remove_tree(run.scratch);
    free(run.scratch);
    (void)munmap(run.board, bytes);
    return code;
}

int stress_cmd_fleet(const struct cli *cli)
{
    const struct fleet_options options = {.hosts = cli->hosts,
                                          .seed = cli->seed,
                                          .seconds = cli->seconds,
                                          .carrier = cli->carrier,
                                          .control = strcmp(cli->control, "none") ? cli->control : NULL,
                                          .json = cli->line.json};
    return run_fleet(&options);
}
