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

#define COMMAND           "kill"
#define OPERATION_CHOICES "all|set|apply|rollback|compact|restore|publish|replace|init|save"
#define BACKEND_NAMES     BACKEND_CHOICES
#define RUNS_MAX          64

struct command {
    const char *operation, *backend, *mode, *waiter, *dir;
    struct kill_options options;
    struct kill_context context;
    bool json, expect_violation;
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

/* So that the scratch directory goes on these exits too. */
static void catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        (void)sigaction(signals[i], &action, NULL);
}

static bool parse(int argc, char **argv, struct command *c, int *ret_status)
{
    const struct stress_option table[] = {
        {"operation", STRESS_CHOICE, &c->operation, OPERATION_CHOICES, "what is killed", 0, 0},
        {"backend", STRESS_CHOICE, &c->backend, BACKEND_NAMES, "who saves; the file ways have the operation save", 0,
         0},
        {"mode", STRESS_CHOICE, &c->mode, "kill|stop|both", "kill at each call, or stop there while a reader reads", 0,
         0},
        {"waiter", STRESS_CHOICE, &c->waiter, "no|yes|both", "a second writer waits while the first is killed", 0, 0},
        {"every", STRESS_NUMBER, &c->options.every, "N", "kill only at each N-th stop", 1, 1000000},
        {"command", STRESS_TEXT, &c->context.command, "CMD", "instead: a command line that writes --path", 0, 0},
        {"path", STRESS_TEXT, &c->context.path, "FILE", "the file that CMD writes; put back before each run", 0, 0},
        {"check", STRESS_TEXT, &c->context.check, "CMD", "whose exit status tells whether FILE is whole [JSON]", 0, 0},
        {"dir", STRESS_TEXT, &c->dir, "DIR", "make the scratch directory there [/dev/shm, else TMPDIR]", 0, 0},
        {"expect-violation", STRESS_FLAG, &c->expect_violation, NULL, "exit 0 with a violation, 1 without", 0, 0},
        {"json", STRESS_FLAG, &c->json, NULL, "print one JSON object", 0, 0},
    };
    if (!stress_options(
            "Kills a writer before and after each of its system calls, one run for each, and judges what is\n"
            "left; or stops it there and reads.",
            table, sizeof table / sizeof *table, argc, argv, ret_status))
        return false;
    if (!c->context.command == !c->context.path && !(c->context.check && !c->context.command))
        return true;
    *ret_status = stress_fail(STRESS_USAGE, COMMAND, "--command and --path go together, --check with them");
    return false;
}

static size_t add_runs(const struct command *c, const struct kill_op *op, struct run *runs, size_t count)
{
    bool kills = strcmp(c->mode, "stop") != 0, stops = strcmp(c->mode, "kill") != 0;
    bool with = strcmp(c->waiter, "no") != 0 && op->save, without = strcmp(c->waiter, "yes") != 0 || !op->save;
    if (kills && without)
        runs[count++] = (struct run){.op = op, .mode = "kill"};
    if (kills && with)
        runs[count++] = (struct run){.op = op, .mode = "kill", .waiter = true};
    if (stops)
        runs[count++] = (struct run){.op = op, .mode = "stop"};
    return count;
}

static size_t plan_runs(const struct command *c, const struct kill_op *foreign, struct run *runs)
{
    if (c->context.command)
        return add_runs(c, foreign, runs, 0);
    size_t count = 0;
    for (const struct kill_op *op = kill_ops; op->name; op++)
        if (strcmp(op->backend, c->backend) == 0 &&
            (strcmp(c->operation, "all") == 0 || strcmp(c->operation, op->name) == 0))
            count = add_runs(c, op, runs, count);
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

static void print_json(const struct command *c, const struct run *runs, size_t count)
{
    uint64_t points = 0, bad = 0;
    (void)printf("{\"backend\": \"%s\", \"every\": %llu, \"runs\": [", c->context.command ? "command" : c->backend,
                 (unsigned long long)c->options.every);
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

static int report(const struct command *c, const struct run *runs, size_t count)
{
    uint64_t bad = 0;
    if (c->json)
        print_json(c, runs, count);
    else
        print_text(runs, count);
    for (size_t i = 0; i < count; i++) {
        bad += violations(&runs[i].tally);
        for (unsigned n = 0; n < runs[i].tally.sightings; n++)
            (void)fprintf(stderr, "%s (%s%s), %s\n", runs[i].op->name, runs[i].mode, runs[i].waiter ? ", waiter" : "",
                          runs[i].tally.sighting[n]);
    }
    return (bad != 0) == c->expect_violation ? STRESS_CLEAN : STRESS_VIOLATION;
}

static int do_runs(struct command *c, struct run *runs, size_t count)
{
    for (size_t i = 0; i < count && !interrupted; i++) {
        char why[KILL_TEXT_BYTES] = "";
        struct run *run = &runs[i];
        c->options.waiter = run->waiter;
        bool fine = strcmp(run->mode, "kill") == 0
                        ? kill_at_each_call(run->op, &c->context, &c->options, &run->tally, why)
                        : kill_stop_at_each_call(run->op, &c->context, &run->tally, why);
        stress_progress(NULL);
        if (!fine)
            return stress_fail(STRESS_FAILED, COMMAND, "%s: %s", run->op->name, why);
        if (!run->tally.points && !interrupted)
            return stress_fail(STRESS_FAILED, COMMAND, "%s: no system call was seen", run->op->name);
    }
    return interrupted ? stress_fail(STRESS_FAILED, COMMAND, "interrupted") : report(c, runs, count);
}

/* Memory where there is some, since nothing here is about a disk. */
static char *make_scratch(const char *dir)
{
    char *scratch = stress_scratch(dir ? dir : "/dev/shm");
    return scratch || dir ? scratch : stress_scratch(NULL);
}

int stress_cmd_kill(int argc, char **argv)
{
    struct command command = {
        .operation = "all", .backend = "qsettings", .mode = "both", .waiter = "both", .options = {.every = 1}};
    struct kill_op foreign = kill_foreign;
    static struct run runs[RUNS_MAX];
    int status;
    if (!parse(argc, argv, &command, &status))
        return status;
    AUTO_FREE char *original =
        command.context.path ? file_load(command.context.path, &command.context.original_len) : NULL;
    command.context.original = original;
    foreign.made = !original;
    size_t count = plan_runs(&command, &foreign, runs);
    if (!count)
        return stress_fail(STRESS_USAGE, COMMAND, "backend %s has no operation %s", command.backend, command.operation);
    AUTO_FREE char *dir = make_scratch(command.dir);
    if (!dir)
        return stress_fail(STRESS_FAILED, COMMAND, "no scratch directory: %s", strerrordesc_np(errno));
    command.context.dir = dir;
    catch_signals();
    status = do_runs(&command, runs, count);
    stress_remove_tree(dir);
    return status;
}
