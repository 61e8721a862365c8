/* SPDX-License-Identifier: Apache-2.0 */
/* JUnit XML, in the elements that CI systems agree on: testsuites, testsuite, properties, testcase, failure,
 * system-out. */
#include "stress/harness/report.h"

#include <string.h>

static void attribute(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, " %s=\"", name);
    report_escape(out, value);
    buf_add_char(out, '"');
}

static void seen(const struct report *report, const char *kind, struct buf *out)
{
    for (size_t i = 0; i < report->note_count; i++) {
        const struct report_note *note = &report->notes[i];
        if (kind && strcmp(note->kind, kind) != 0)
            continue;
        buf_printf(out, "%.3f s, ", note->at_s);
        report_escape(out, note->who);
        buf_add_str(out, ": ");
        report_escape(out, note->text);
        buf_add_char(out, '\n');
    }
}

static void open_case(const struct report *report, const char *name, struct buf *out)
{
    buf_add_str(out, "    <testcase");
    buf_printf(out, " classname=\"qstress.%s.", report->command);
    report_escape(out, report->subject);
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
        report_escape(out, check->text);
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
        report_escape(out, report->checks[i].name);
        buf_add_str(out, report->checks[i].broken ? " does not hold: " : " held: ");
        report_escape(out, report->checks[i].text);
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
