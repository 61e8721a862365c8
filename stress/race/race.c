/* SPDX-License-Identifier: Apache-2.0 */
/* qstress race: writers and readers against one way of saving, or against another program. */
#include "stress/race/race.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int fill(struct race *race, const struct cli *cli)
{
    *race = (struct race){.writers = (unsigned)cli->writers,
                          .readers = (unsigned)cli->readers,
                          .seconds = cli->seconds,
                          .seed = cli->seed};
    race->config = (struct backend_config){.shape = {(unsigned)cli->writers, (unsigned)cli->values},
                                           .path = cli->path,
                                           .writer_command = cli->writer_command,
                                           .reader_command = cli->reader_command,
                                           .must_have = cli->must_have};
    if (cli->seconds <= 0 || cli->writers + cli->readers == 0)
        return stress_fail(STRESS_USAGE, "a race needs time, and at least one writer or reader");
    if (cli->path && !cli->writer_command)
        return stress_fail(STRESS_USAGE, "option '--path' needs '--writer-cmd'");
    if (!cli->path && (cli->writer_command || cli->reader_command || cli->must_have))
        return stress_fail(STRESS_USAGE, "options '--writer-cmd', '--reader-cmd' and '--must-have' need '--path'");
    if (cli->must_have && cli->must_have[0] && cli->must_have[0] != '/')
        return stress_fail(STRESS_USAGE, "option '--must-have' takes a JSON Pointer, which begins with '/'");
    race->backend = cli->path ? &backend_foreign : backend_find(cli->backend);
    if (!race->backend)
        return stress_fail(STRESS_USAGE, "there is no backend '%s'", cli->backend);
    return pool_find_user(cli->as_user, &race->pool);
}

static void facts(struct report *report, const struct race *race, const struct cli *cli,
                  const struct race_result *result)
{
    report_fact(report, "backend", "%s", race->backend->name);
    report_fact(report, "way", "%s", race->backend->summary);
    if (cli->path)
        report_fact(report, "path", "%s", cli->path);
    if (cli->writer_command)
        report_fact(report, "writer command", "%s", cli->writer_command);
    if (cli->reader_command)
        report_fact(report, "reader command", "%s", cli->reader_command);
    if (cli->must_have)
        report_fact(report, "must have", "%s", cli->must_have);
    report_fact(report, "writers", "%u", race->writers);
    report_fact(report, "readers", "%u%s%s", race->readers, race->pool.user ? " as " : "",
                race->pool.user ? race->pool.user : "");
    report_fact(report, "seconds", "%g", race->seconds);
    report_fact(report, "seed", "%llu", (unsigned long long)race->seed);
    report_fact(report, "writes", "%llu", (unsigned long long)result->writes);
    report_fact(report, "reads", "%llu", (unsigned long long)result->reads);
    report_fact(report, "retries", "%llu", (unsigned long long)result->retries);
}

static void checks(struct report *report, const struct race *race, const struct race_result *result)
{
    const struct gaps *gaps = &race->shared->gaps;
    static const char *const names[VERDICT_COUNT] = {[VERDICT_ABSENT] = "never absent",
                                                     [VERDICT_TORN] = "never torn",
                                                     [VERDICT_STALE] = "never stale",
                                                     [VERDICT_LOST] = "no acknowledged change lost",
                                                     [VERDICT_ERROR] = "no operation failed"};
    for (unsigned v = VERDICT_ABSENT; v < VERDICT_COUNT; v++)
        report_check(report, names[v], verdict_name(v), result->verdicts[v], "%llu in %llu reads and %llu writes",
                     (unsigned long long)result->verdicts[v], (unsigned long long)result->reads,
                     (unsigned long long)result->writes);
    report_check(report, "no absence gap", "gaps", gaps->count,
                 "%llu gaps in %llu looks, mean %.1f us, longest %.1f us", (unsigned long long)gaps->count,
                 (unsigned long long)gaps->polls, gaps_mean_us(gaps), (double)gaps->max_ns / 1000.0);
}

/* A race in which nobody wrote, or nobody read, shows nothing, and must not count as clean. */
static bool tried_something(const struct race *race, const struct race_result *result, char *reason)
{
    bool wrote = result->writes || !race->writers;
    bool read = result->reads > 1 || !race->readers; /* one is the look at the end */
    if (wrote && read && race->shared->gaps.polls)
        return true;
    if (result->verdicts[VERDICT_ERROR])
        return true; /* then that is the finding */
    (void)snprintf(reason, STRESS_REASON_BYTES, "nothing was tried: %llu writes, %llu reads; use a larger '--seconds'",
                   (unsigned long long)result->writes, (unsigned long long)result->reads);
    return false;
}

/* Whole seconds as an integer, as they were given. */
static json_t *json_seconds(double s)
{
    return s == (double)(int64_t)s ? json_integer((json_int_t)s) : json_real(s);
}

static char *json_text(const struct race *race, const struct race_result *result)
{
    const struct gaps *gaps = &race->shared->gaps;
    return report_json(
        json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o, s:o}, s:o, s:o}",
                  "backend", race->backend->name, "writers", (int)race->writers, "readers", (int)race->readers,
                  "seconds", json_seconds(race->seconds), "seed", report_count(race->seed), "writes",
                  report_count(result->writes), "reads", report_count(result->reads), "absent",
                  report_count(result->verdicts[VERDICT_ABSENT]), "torn", report_count(result->verdicts[VERDICT_TORN]),
                  "stale", report_count(result->verdicts[VERDICT_STALE]), "lost",
                  report_count(result->verdicts[VERDICT_LOST]), "errors", report_count(result->verdicts[VERDICT_ERROR]),
                  "gaps", "count", report_count(gaps->count), "mean_us", report_micro(gaps_mean_us(gaps) * 1000.0),
                  "max_us", report_micro((double)gaps->max_ns), "read_us", report_percentiles(&result->read_ns),
                  "retries", report_count(result->retries)));
}

static int tell(const struct race *race, const struct cli *cli, const struct race_result *result)
{
    struct report report = {.command = "race",
                            .subject = race->backend->name,
                            .expect_violation = cli->expect_violation,
                            .seconds = race->seconds,
                            .read_ns = &result->read_ns,
                            .gaps = &race->shared->gaps};
    facts(&report, race, cli, result);
    checks(&report, race, result);
    for (unsigned v = VERDICT_ABSENT; v < VERDICT_COUNT; v++)
        sightings_report(&race->shared->sightings, v, verdict_name(v), &report);
    AUTO_FREE char *json = NULL;
    if (cli->line.json && !(json = json_text(race, result)))
        return stress_fail(STRESS_FAILED, "out of memory");
    if (!report_emit(&report, json, cli->junit, cli->html))
        return STRESS_FAILED;
    return report_passed(&report) ? STRESS_CLEAN : STRESS_VIOLATION;
}

int stress_cmd_race(const struct cli *cli)
{
    struct race race;
    int status = fill(&race, cli);
    if (status != STRESS_CLEAN)
        return status;
    AUTO_FREE char *scratch = stress_scratch(cli->dir);
    if (!scratch)
        return stress_fail(STRESS_FAILED, "scratch directory: %s", strerrordesc_np(errno));
    race.config.dir = scratch;
    struct race_result result;
    char reason[STRESS_REASON_BYTES] = "";
    bool ran = race_run(&race, &result, reason);
    stress_remove_tree(scratch); /* before the report: a closed standard output ends the program */
    if (!ran || !tried_something(&race, &result, reason))
        status = stress_fail(STRESS_FAILED, "%s", reason);
    else
        status = tell(&race, cli, &result);
    race_release(&race);
    return status;
}
