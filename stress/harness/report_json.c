/* SPDX-License-Identifier: Apache-2.0 */
/* The --json results. */
#include "stress/harness/report_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *count(uint64_t n)
{
    return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

static json_t *micro(double ns)
{
    /* To a tenth of a microsecond: more would only look exact. */
    return json_real((double)(uint64_t)(ns / 100.0 + 0.5) / 10.0);
}

/* Whole seconds as an integer, as they were given. */
static json_t *seconds(double s)
{
    return s == (double)(int64_t)s ? json_integer((json_int_t)s) : json_real(s);
}

static json_t *percentiles(const struct histogram *h)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "p50", micro((double)histogram_at(h, 500)), "p99",
                     micro((double)histogram_at(h, 990)), "p999", micro((double)histogram_at(h, 999)), "max",
                     micro((double)h->max));
}

static char *text_of(json_t *root)
{
    char *text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    json_decref(root);
    if (!text)
        return NULL;
    size_t len = strlen(text);
    char *line = realloc(text, len + 2);
    if (!line) {
        free(text);
        return NULL;
    }
    memcpy(line + len, "\n", 2);
    return line;
}

char *report_json_race(const struct race *race, const struct race_result *result)
{
    const struct gaps *gaps = &race->shared->gaps;
    json_t *gap = json_pack("{s:o, s:o, s:o}", "count", count(gaps->count), "mean_us",
                            micro(gaps_mean_us(gaps) * 1000.0), "max_us", micro((double)gaps->max_ns));
    json_t *root =
        json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "backend",
                  race->backend->name, "writers", (int)race->writers, "readers", (int)race->readers, "seconds",
                  seconds(race->seconds), "seed", count(race->seed), "writes", count(result->writes), "reads",
                  count(result->reads), "absent", count(result->verdicts[VERDICT_ABSENT]), "torn",
                  count(result->verdicts[VERDICT_TORN]), "stale", count(result->verdicts[VERDICT_STALE]), "lost",
                  count(result->verdicts[VERDICT_LOST]), "errors", count(result->verdicts[VERDICT_ERROR]), "gaps", gap,
                  "read_us", percentiles(&result->read_ns), "retries", count(result->retries));
    return text_of(root);
}

char *report_json_sessions(const struct session_result *result)
{
    return text_of(json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "backend", result->backend,
                             "reader", result->reader, "starts", count(result->starts), "starters",
                             count(result->starters), "writers", count(result->writers), "seed", count(result->seed),
                             "saves", count(result->saves), "confined", count(result->found[START_CONFINED]), "refused",
                             count(result->found[START_REFUSED]), "unconfined", count(result->found[START_UNCONFINED]),
                             "errors", count(result->errors), "start_us", percentiles(&result->start_ns)));
}
