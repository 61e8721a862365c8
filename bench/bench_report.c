/* SPDX-License-Identifier: Apache-2.0 */
/* The figures as a table and as JSON. */
#include "bench/bench.h"

#include <errno.h>
#include <string.h>

static const char *text(const json_t *row, const char *name)
{
    const char *value = json_string_value(json_object_get(row, name));
    return value ? value : "";
}

static double number(const json_t *row, const char *name)
{
    return json_number_value(json_object_get(row, name));
}

static void print_time(FILE *out, double us)
{
    if (us < 1000)
        (void)fprintf(out, " %8.1f us", us);
    else
        (void)fprintf(out, " %8.2f ms", us / 1000);
}

static bool above(const json_t *row)
{
    double limit = number(row, "limit");
    return limit > 0 && number(row, "ratio") > limit;
}

static void print_rows(const struct bench *bench, FILE *out)
{
    size_t i = 0;
    json_t *row = NULL;
    (void)fprintf(out, "%-50s %-50s %7s %6s %11s %11s %7s\n", "work", "against", "ratio", "limit", "ours", "theirs",
                  "pairs");
    json_array_foreach(bench->results, i, row)
    {
        (void)fprintf(out, "%-50s %-50s %7.2f ", text(row, "name"), text(row, "against"), number(row, "ratio"));
        if (number(row, "limit") > 0)
            (void)fprintf(out, "%6.1f", number(row, "limit"));
        else
            (void)fprintf(out, "%6s", "-");
        print_time(out, number(row, "ours"));
        print_time(out, number(row, "theirs"));
        (void)fprintf(out, " %7.0f%s\n", number(row, "samples"), above(row) ? "  ABOVE" : "");
    }
}

static void print_curves(const struct bench *bench, FILE *out)
{
    size_t c = 0, s = 0, p = 0;
    json_t *curve = NULL, *series = NULL, *point = NULL;
    json_array_foreach(bench->curves, c, curve)
    {
        (void)fprintf(out, "\n%s (microseconds)\n", text(curve, "name"));
        json_array_foreach(json_object_get(curve, "series"), s, series)
        {
            (void)fprintf(out, "  %-28s", text(series, "name"));
            json_array_foreach(json_object_get(series, "points"), p, point)
            {
                (void)fprintf(out, " %7.0f: %-11.2f", json_number_value(json_array_get(point, 0)),
                              json_number_value(json_array_get(point, 1)));
            }
            (void)fprintf(out, "\n");
        }
    }
}

/* Of another process only the flushes are known. */
static void print_count(const json_t *row, FILE *out)
{
    (void)fprintf(out, "%-50s %-50s %8.0f", text(row, "name"), text(row, "of"), number(row, "flushes"));
    if (json_is_number(json_object_get(row, "bytes")))
        (void)fprintf(out, " %8.0f %10.0f\n", number(row, "writes"), number(row, "bytes"));
    else
        (void)fprintf(out, " %8s %10s\n", "-", "-");
}

void report_table(const struct bench *bench, FILE *out)
{
    size_t i = 0;
    json_t *row = NULL;
    print_rows(bench, out);
    print_curves(bench, out);
    (void)fprintf(out, "\n%-50s %-50s %8s %8s %10s\n", "counted", "of", "flushes", "writes", "bytes");
    json_array_foreach(bench->counts, i, row)
    {
        print_count(row, out);
    }
    json_array_foreach(bench->skipped, i, row)
    {
        (void)fprintf(out, "\nskipped: %s: %s\n", text(row, "name"), text(row, "reason"));
    }
}

unsigned report_above(const struct bench *bench, FILE *out)
{
    unsigned count = 0;
    size_t i = 0;
    json_t *row = NULL;
    json_array_foreach(bench->results, i, row)
    {
        if (!above(row))
            continue;
        count++;
        (void)fprintf(out, "above its limit: %s, against %s: %.2f where %.1f is allowed\n", text(row, "name"),
                      text(row, "against"), number(row, "ratio"), number(row, "limit"));
    }
    if (!count)
        (void)fprintf(out, "every row is within its limit\n");
    return count;
}

void report_json(const struct bench *bench, json_t *machine)
{
    char path[BENCH_PATH_BYTES];
    bench_path(path, "%s/bench.json", bench->out);
    json_t *all = json_pack("{s:O, s:O, s:O, s:O, s:O}", "machine", machine, "results", bench->results, "curves",
                            bench->curves, "counts", bench->counts, "skipped", bench->skipped);
    if (!all || json_dump_file(all, path, JSON_INDENT(1) | JSON_REAL_PRECISION(6)))
        bench_fail("%s cannot be written: %s", path, strerror(errno));
    json_decref(all);
}
