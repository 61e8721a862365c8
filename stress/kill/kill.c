/* SPDX-License-Identifier: Apache-2.0 */
/* qstress kill: the command and its report. */
#include "stress/kill/kill.h"

#include "stress/harness/stress.h"
#include "stress/ways/backend.h"

#include "base/cleanup.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define RUNS_MAX 64

struct killing {
    const struct cli *cli;
    struct kill_options options;
    struct kill_context context;
};

/* One operation in one mode. */
struct run {
    const struct kill_op *op;
    const char *mode;
    bool waiter;
    struct kill_tally tally;
};

static volatile sig_atomic_t interrupted;

bool kill_interrupted(void)
{
    return interrupted != 0;
}

static void on_signal(int sig)
{
    interrupted = sig;
}

/* The scratch directory is removed on these exits, too. */
static void catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        (void)sigaction(signals[i], &action, NULL);
}

static size_t add_runs(const struct killing *k, const struct kill_op *op, struct run *runs, size_t count)
{
    bool kills = strcmp(k->cli->mode, "stop") != 0, stops = strcmp(k->cli->mode, "kill") != 0;
    bool with = strcmp(k->cli->waiter, "no") != 0 && op->save,
         without = strcmp(k->cli->waiter, "yes") != 0 || !op->save;
    if (kills && without)
        runs[count++] = (struct run){.op = op, .mode = "kill"};
    if (kills && with)
        runs[count++] = (struct run){.op = op, .mode = "kill", .waiter = true};
    if (stops)
        runs[count++] = (struct run){.op = op, .mode = "stop"};
    return count;
}

static size_t plan_runs(const struct killing *k, const struct kill_op *foreign, struct run *runs)
{
    if (k->context.command)
        return add_runs(k, foreign, runs, 0);
    size_t count = 0;
    for (const struct kill_op *op = kill_ops; op->name; op++)
        if (strcmp(op->backend, k->cli->backend) == 0 &&
            (strcmp(k->cli->operation, "all") == 0 || strcmp(k->cli->operation, op->name) == 0))
            count = add_runs(k, op, runs, count);
    return count;
}

/* ---- the report ---- */

static uint64_t violations(const struct kill_tally *tally)
{
    uint64_t sum = 0;
    for (unsigned v = KILL_OK + 1; v < KILL_VERDICTS; v++)
        sum += tally->count[v];
    return sum;
}

static void print_json(const struct killing *k, const struct run *runs, size_t count)
{
    uint64_t points = 0, bad = 0;
    (void)printf("{\"backend\": \"%s\", \"every\": %llu, \"runs\": [", k->context.command ? "command" : k->cli->backend,
                 (unsigned long long)k->options.every);
    for (size_t i = 0; i < count; i++) {
        const struct run *run = &runs[i];
        (void)printf("%s{\"operation\": \"%s\", \"mode\": \"%s\", \"waiter\": %s, \"points\": %llu", i ? ", " : "",
                     run->op->name, run->mode, run->waiter ? "true" : "false", (unsigned long long)run->tally.points);
        for (unsigned v = 0; v < KILL_VERDICTS; v++)
            (void)printf(", \"%s\": %llu", kill_verdict_name(v), (unsigned long long)run->tally.count[v]);
        (void)printf("}");
        points += run->tally.points;
        bad += violations(&run->tally);
    }
    (void)printf("], \"points\": %llu, \"violations\": %llu}\n", (unsigned long long)points, (unsigned long long)bad);
}

static void print_text(const struct run *runs, size_t count)
{
    (void)printf("%-10s %-5s %-7s %7s", "operation", "mode", "waiter", "points");
    for (unsigned v = 0; v < KILL_VERDICTS; v++)
        (void)printf(" %8s", kill_verdict_name(v));
    (void)printf("\n");
    uint64_t points = 0;
    for (size_t i = 0; i < count; i++) {
        const struct run *run = &runs[i];
        (void)printf("%-10s %-5s %-7s %7llu", run->op->name, run->mode, run->waiter ? "yes" : "no",
                     (unsigned long long)run->tally.points);
        for (unsigned v = 0; v < KILL_VERDICTS; v++)
            (void)printf(" %8llu", (unsigned long long)run->tally.count[v]);
        (void)printf("\n");
        points += run->tally.points;
    }
    (void)printf("%llu points tried\n", (unsigned long long)points);
}

static int report(const struct killing *k, const struct run *runs, size_t count)
{
    uint64_t bad = 0;
    if (k->cli->line.json)
        print_json(k, runs, count);
    else
        print_text(runs, count);
    for (size_t i = 0; i < count; i++) {
        bad += violations(&runs[i].tally);
        for (unsigned n = 0; n < runs[i].tally.sightings; n++)
            (void)fprintf(stderr, "%s (%s%s), %s\n", runs[i].op->name, runs[i].mode, runs[i].waiter ? ", waiter" : "",
                          runs[i].tally.sighting[n]);
    }
    return (bad != 0) == k->cli->expect_violation ? STRESS_CLEAN : STRESS_VIOLATION;
}

static int do_runs(struct killing *k, struct run *runs, size_t count)
{
    for (size_t i = 0; i < count && !interrupted; i++) {
        char why[KILL_TEXT_BYTES] = "";
        struct run *run = &runs[i];
        k->options.waiter = run->waiter;
        bool fine = strcmp(run->mode, "kill") == 0
                        ? kill_at_each_call(run->op, &k->context, &k->options, &run->tally, why)
                        : kill_stop_at_each_call(run->op, &k->context, &run->tally, why);
        stress_progress(NULL);
        if (!fine)
            return stress_fail(STRESS_FAILED, "%s: %s", run->op->name, why);
        if (!run->tally.points && !interrupted)
            return stress_fail(STRESS_FAILED, "%s: no system call was seen", run->op->name);
    }
    return interrupted ? stress_fail(STRESS_FAILED, "interrupted") : report(k, runs, count);
}

/* In memory if possible, since nothing here depends on a disk. */
static char *make_scratch(const char *dir)
{
    char *scratch = stress_scratch(dir ? dir : "/dev/shm");
    return scratch || dir ? scratch : stress_scratch(NULL);
}

int stress_cmd_kill(const struct cli *cli)
{
    struct killing killing = {.cli = cli,
                              .options = {.every = cli->every},
                              .context = {.command = cli->command, .path = cli->path, .check = cli->check}};
    struct kill_op foreign = kill_foreign;
    static struct run runs[RUNS_MAX];
    if (!cli->command != !cli->path || (cli->check && !cli->command))
        return stress_fail(STRESS_USAGE, "options '--command' and '--path' go together, and '--check' goes with them");
    AUTO_FREE char *original = cli->path ? file_load(cli->path, &killing.context.original_len) : NULL;
    killing.context.original = original;
    foreign.made = !original;
    size_t count = plan_runs(&killing, &foreign, runs);
    if (!count)
        return stress_fail(STRESS_USAGE, "backend '%s' has no operation '%s'", cli->backend, cli->operation);
    AUTO_FREE char *dir = make_scratch(cli->dir);
    if (!dir)
        return stress_fail(STRESS_FAILED, "no scratch directory: %s", strerrordesc_np(errno));
    killing.context.dir = dir;
    catch_signals();
    int status = do_runs(&killing, runs, count);
    stress_remove_tree(dir);
    return status;
}
