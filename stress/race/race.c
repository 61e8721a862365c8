/* SPDX-License-Identifier: Apache-2.0 */
/* qstress race: writers and readers against one way of saving, or against anybody's program. */
#include "stress/race/race.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct race_options {
    const char *backend, *as_user, *dir, *junit, *html;
    const char *path, *writer_command, *reader_command, *must_have;
    uint64_t writers, readers, seed, values;
    double seconds;
    bool json, expect_violation;
};

static bool parse(struct race_options *o, int argc, char **argv, int *ret_status)
{
    const struct stress_option table[] = {
        {"backend", STRESS_CHOICE, &o->backend, BACKEND_CHOICES, "the way of saving", 0, 0},
        {"writers", STRESS_NUMBER, &o->writers, "N", "writing processes", 0, DOCUMENT_WRITERS_MAX},
        {"readers", STRESS_NUMBER, &o->readers, "N", "reading processes", 0, 256},
        {"seconds", STRESS_REAL, &o->seconds, "S", "how long", 0, 86400},
        {"seed", STRESS_NUMBER, &o->seed, "N", "chooses the pauses between operations", 0, UINT64_MAX},
        {"values", STRESS_NUMBER, &o->values, "N", "values in the document", 1, 100000},
        {"as-user", STRESS_TEXT, &o->as_user, "NAME", "readers run as this user (needs root)", 0, 0},
        {"dir", STRESS_TEXT, &o->dir, "DIR", "where the scratch directory is made ($TMPDIR or /tmp)", 0, 0},
        {"path", STRESS_TEXT, &o->path, "FILE", "a foreign program's file, instead of --backend", 0, 0},
        {"writer-cmd", STRESS_TEXT, &o->writer_command, "CMD", "shell command that saves FILE once", 0, 0},
        {"reader-cmd", STRESS_TEXT, &o->reader_command, "CMD", "shell command whose exit status judges FILE", 0, 0},
        {"must-have", STRESS_TEXT, &o->must_have, "POINTER", "JSON Pointer that FILE must always hold", 0, 0},
        {"expect-violation", STRESS_FLAG, &o->expect_violation, NULL, "exit 0 if there was one, 1 if not", 0, 0},
        {"json", STRESS_FLAG, &o->json, NULL, "the result as JSON on standard output, instead of TAP", 0, 0},
        {"junit", STRESS_TEXT, &o->junit, "FILE", "write a JUnit report", 0, 0},
        {"html", STRESS_TEXT, &o->html, "FILE", "write a page with latency histogram and timeline", 0, 0},
    };
    return stress_options("Writers save, readers read, a watcher looks for the file being absent.", table,
                          sizeof table / sizeof *table, argc, argv, ret_status);
}

static int fill(struct race *race, const struct race_options *o)
{
    *race = (struct race){.writers = (unsigned)o->writers,
                          .readers = (unsigned)o->readers,
                          .seconds = o->seconds,
                          .seed = o->seed};
    race->config = (struct backend_config){.shape = {(unsigned)o->writers, (unsigned)o->values},
                                           .path = o->path,
                                           .writer_command = o->writer_command,
                                           .reader_command = o->reader_command,
                                           .must_have = o->must_have};
    if (o->seconds <= 0 || o->writers + o->readers == 0)
        return stress_fail(STRESS_USAGE, "race", "without time, or without processes, there is no race");
    if (o->path && !o->writer_command)
        return stress_fail(STRESS_USAGE, "race", "--path needs --writer-cmd");
    if (!o->path && (o->writer_command || o->reader_command || o->must_have))
        return stress_fail(STRESS_USAGE, "race", "--writer-cmd, --reader-cmd and --must-have need --path");
    if (o->must_have && o->must_have[0] && o->must_have[0] != '/')
        return stress_fail(STRESS_USAGE, "race", "--must-have takes a JSON Pointer, which begins with '/'");
    race->backend = o->path ? &backend_foreign : backend_find(o->backend);
    if (!race->backend)
        return stress_fail(STRESS_USAGE, "race", "this build has no backend '%s'", o->backend);
    return pool_find_user("race", o->as_user, &race->pool);
}

static void facts(struct report *report, const struct race *race, const struct race_options *o,
                  const struct race_result *result)
{
    report_fact(report, "backend", "%s", race->backend->name);
    report_fact(report, "way", "%s", race->backend->summary);
    if (o->path)
        report_fact(report, "path", "%s", o->path);
    if (o->writer_command)
        report_fact(report, "writer command", "%s", o->writer_command);
    if (o->reader_command)
        report_fact(report, "reader command", "%s", o->reader_command);
    if (o->must_have)
        report_fact(report, "must have", "%s", o->must_have);
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

/* A race in which nobody wrote, or nobody read, shows nothing: that must not pass for clean. */
static bool tried_something(const struct race *race, const struct race_result *result, char *reason)
{
    bool wrote = result->writes || !race->writers;
    bool read = result->reads > 1 || !race->readers; /* one is the look at the end */
    if (wrote && read && race->shared->gaps.polls)
        return true;
    if (result->verdicts[VERDICT_ERROR])
        return true; /* then that is the finding */
    (void)snprintf(reason, STRESS_REASON_BYTES, "nothing was tried: %llu writes, %llu reads; give it more seconds",
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

static int tell(const struct race *race, const struct race_options *o, const struct race_result *result)
{
    struct report report = {.command = "race",
                            .subject = race->backend->name,
                            .expect_violation = o->expect_violation,
                            .seconds = race->seconds,
                            .read_ns = &result->read_ns,
                            .gaps = &race->shared->gaps};
    facts(&report, race, o, result);
    checks(&report, race, result);
    for (unsigned v = VERDICT_ABSENT; v < VERDICT_COUNT; v++)
        sightings_report(&race->shared->sightings, v, verdict_name(v), &report);
    AUTO_FREE char *json = NULL;
    if (o->json && !(json = json_text(race, result)))
        return stress_fail(STRESS_FAILED, "race", "out of memory");
    if (!report_emit(&report, json, o->junit, o->html))
        return STRESS_FAILED;
    return report_passed(&report) ? STRESS_CLEAN : STRESS_VIOLATION;
}

int stress_cmd_race(int argc, char **argv)
{
    struct race_options o = {.backend = "qsettings", .writers = 2, .readers = 2, .seed = 1, .values = 64, .seconds = 5};
    int status;
    if (!parse(&o, argc, argv, &status))
        return status;
    struct race race;
    status = fill(&race, &o);
    if (status != STRESS_CLEAN)
        return status;
    AUTO_FREE char *scratch = stress_scratch(o.dir);
    if (!scratch)
        return stress_fail(STRESS_FAILED, "race", "scratch directory: %s", strerrordesc_np(errno));
    race.config.dir = scratch;
    struct race_result result;
    char reason[STRESS_REASON_BYTES] = "";
    bool ran = race_run(&race, &result, reason);
    stress_remove_tree(scratch); /* before the report: a closed standard output ends the program */
    if (!ran || !tried_something(&race, &result, reason))
        status = stress_fail(STRESS_FAILED, "race", "%s", reason);
    else
        status = tell(&race, &o, &result);
    race_release(&race);
    return status;
}
