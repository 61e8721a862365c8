/* SPDX-License-Identifier: Apache-2.0 */
/* The formats that programs read: TAP, JUnit, and the parts of JSON that commands share. */
#include "stress/harness/report.h"

#include "terminal/html.h"

#include <stdlib.h>
#include <string.h>

/* ---- TAP version 13 (testanything.org): one line for each claim, what was seen as YAML below the broken ones ---- */

static void sightings_of(const struct report *report, const char *kind, const char *lead, struct buf *out)
{
    for (size_t i = 0; i < report->sighting_count; i++) {
        const struct report_sighting *sighting = &report->sightings[i];
        if (strcmp(sighting->kind, kind) == 0)
            buf_printf(out, "%s- \"%.3f s, %s: ", lead, sighting->at_s, sighting->who);
        else
            continue;
        for (const char *c = sighting->text; *c; c++)
            buf_add_char(out, *c == '"' || *c == '\\' ? '\'' : *c);
        buf_add_str(out, "\"\n");
    }
}

static bool has_sightings(const struct report *report, const char *kind)
{
    for (size_t i = 0; i < report->sighting_count; i++)
        if (strcmp(report->sightings[i].kind, kind) == 0)
            return true;
    return false;
}

static void told(const struct report *report, struct buf *out)
{
    buf_add_str(out, "1..1\n");
    for (size_t i = 0; i < report->check_count; i++) {
        const struct report_check *check = &report->checks[i];
        buf_printf(out, "# %s: %s: %s\n", check->name, check->broken ? "broken" : "kept", check->text);
        sightings_of(report, check->kind, "#   ", out);
    }
    buf_printf(out, "%s 1 - %s is seen to be bad: %llu violations\n", report_passed(report) ? "ok" : "not ok",
               report->subject, (unsigned long long)report_violations(report));
}

void report_tap(const struct report *report, struct buf *out)
{
    buf_add_str(out, "TAP version 13\n");
    for (size_t i = 0; i < report->fact_count; i++)
        buf_printf(out, "# %s: %s\n", report->facts[i].name, report->facts[i].value);
    if (report->expect_violation) {
        told(report, out);
        return;
    }
    buf_printf(out, "1..%zu\n", report->check_count);
    for (size_t i = 0; i < report->check_count; i++) {
        const struct report_check *check = &report->checks[i];
        buf_printf(out, "%s %zu - %s: %s\n", check->broken ? "not ok" : "ok", i + 1, check->name, check->text);
        if (!check->broken)
            continue;
        buf_printf(out, "  ---\n  count: %llu\n", (unsigned long long)check->broken);
        if (has_sightings(report, check->kind))
            buf_add_str(out, "  seen:\n");
        sightings_of(report, check->kind, "    ", out);
        buf_add_str(out, "  ...\n");
    }
}

/* ---- JUnit XML, in the elements that CI systems agree on ---- */

static void attribute(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, " %s=\"", name);
    html_text(out, value);
    buf_add_char(out, '"');
}

static void seen(const struct report *report, const char *kind, struct buf *out)
{
    for (size_t i = 0; i < report->sighting_count; i++) {
        const struct report_sighting *sighting = &report->sightings[i];
        if (kind && strcmp(sighting->kind, kind) != 0)
            continue;
        buf_printf(out, "%.3f s, ", sighting->at_s);
        html_text(out, sighting->who);
        buf_add_str(out, ": ");
        html_text(out, sighting->text);
        buf_add_char(out, '\n');
    }
}

static void open_case(const struct report *report, const char *name, struct buf *out)
{
    buf_add_str(out, "    <testcase");
    buf_printf(out, " classname=\"qstress.%s.", report->command);
    html_text(out, report->subject);
    buf_add_char(out, '"');
    attribute(out, "name", name);
    buf_printf(out, " time=\"%.3f\">\n", report->seconds);
}

static void one_check(const struct report *report, const struct report_check *check, struct buf *out)
{
    open_case(report, check->name, out);
    if (check->broken) {
        buf_add_str(out, "      <failure");
        attribute(out, "type", check->kind);
        attribute(out, "message", check->text);
        buf_add_char(out, '>');
        seen(report, check->kind, out);
        buf_add_str(out, "</failure>\n");
    } else {
        buf_add_str(out, "      <system-out>");
        html_text(out, check->text);
        buf_add_str(out, "</system-out>\n");
    }
    buf_add_str(out, "    </testcase>\n");
}

static void expected(const struct report *report, struct buf *out)
{
    open_case(report, "a known-bad way is caught", out);
    if (!report_passed(report))
        buf_add_str(out, "      <failure type=\"missed\" message=\"no violation was seen\"></failure>\n");
    buf_add_str(out, "      <system-out>");
    for (size_t i = 0; i < report->check_count; i++) {
        html_text(out, report->checks[i].name);
        buf_add_str(out, report->checks[i].broken ? ": broken: " : ": kept: ");
        html_text(out, report->checks[i].text);
        buf_add_char(out, '\n');
    }
    seen(report, NULL, out);
    buf_add_str(out, "</system-out>\n    </testcase>\n");
}

void report_junit(const struct report *report, struct buf *out)
{
    size_t tests = report->expect_violation ? 1 : report->check_count;
    size_t failures = report->expect_violation ? !report_passed(report) : 0;
    for (size_t i = 0; i < report->check_count && !report->expect_violation; i++)
        failures += report->checks[i].broken > 0;
    buf_add_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    buf_printf(out, "<testsuites tests=\"%zu\" failures=\"%zu\" errors=\"0\" time=\"%.3f\">\n", tests, failures,
               report->seconds);
    buf_printf(
        out,
        "  <testsuite name=\"qstress.%s\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\" time=\"%.3f\">\n",
        report->command, tests, failures, report->seconds);
    buf_add_str(out, "    <properties>\n");
    for (size_t i = 0; i < report->fact_count; i++) {
        buf_add_str(out, "      <property");
        attribute(out, "name", report->facts[i].name);
        attribute(out, "value", report->facts[i].value);
        buf_add_str(out, "/>\n");
    }
    buf_add_str(out, "    </properties>\n");
    if (report->expect_violation)
        expected(report, out);
    for (size_t i = 0; i < report->check_count && !report->expect_violation; i++)
        one_check(report, &report->checks[i], out);
    buf_add_str(out, "  </testsuite>\n</testsuites>\n");
}

/* ---- JSON ---- */

json_t *report_count(uint64_t n)
{
    return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

json_t *report_micro(double ns)
{
    return json_real((double)(uint64_t)(ns / 100.0 + 0.5) / 10.0);
}

json_t *report_percentiles(const struct histogram *h)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "p50", report_micro((double)histogram_at(h, 500)), "p99",
                     report_micro((double)histogram_at(h, 990)), "p999", report_micro((double)histogram_at(h, 999)),
                     "max", report_micro((double)h->max));
}

char *report_json(json_t *root)
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
