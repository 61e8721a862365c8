/* SPDX-License-Identifier: Apache-2.0 */
/* TAP version 13 (testanything.org): one line for each claim, what was seen as YAML below the broken ones. */
#include "stress/harness/report.h"

#include <string.h>

static void notes_of(const struct report *report, const char *kind, const char *lead, struct buf *out)
{
    for (size_t i = 0; i < report->note_count; i++) {
        const struct report_note *note = &report->notes[i];
        if (strcmp(note->kind, kind) == 0)
            buf_printf(out, "%s- \"%.3f s, %s: ", lead, note->at_s, note->who);
        else
            continue;
        for (const char *c = note->text; *c; c++)
            buf_add_char(out, *c == '"' || *c == '\\' ? '\'' : *c);
        buf_add_str(out, "\"\n");
    }
}

static bool has_notes(const struct report *report, const char *kind)
{
    for (size_t i = 0; i < report->note_count; i++)
        if (strcmp(report->notes[i].kind, kind) == 0)
            return true;
    return false;
}

static void told(const struct report *report, struct buf *out)
{
    buf_add_str(out, "1..1\n");
    for (size_t i = 0; i < report->check_count; i++) {
        const struct report_check *check = &report->checks[i];
        buf_printf(out, "# %s %s: %s\n", check->name, check->broken ? "does not hold" : "held", check->text);
        notes_of(report, check->kind, "#   ", out);
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
        if (has_notes(report, check->kind))
            buf_add_str(out, "  seen:\n");
        notes_of(report, check->kind, "    ", out);
        buf_add_str(out, "  ...\n");
    }
}
