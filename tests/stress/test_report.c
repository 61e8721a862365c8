/* SPDX-License-Identifier: Apache-2.0 */
/* The reports: well-formed whatever the texts hold, and saying what the record says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stress/harness/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct histogram histogram;
static struct gaps gaps;

static struct report sample(bool broken, bool expect)
{
    struct report report = {.command = "race",
                            .subject = "a<b>&\"c'",
                            .expect_violation = expect,
                            .seconds = 1.5,
                            .read_ns = &histogram,
                            .gaps = &gaps};
    memset(&histogram, 0, sizeof histogram);
    for (uint64_t v = 100; v < 100000000; v += v / 3)
        histogram_add(&histogram, v);
    gaps_begin(&gaps, 0, 1500000000);
    for (uint64_t t = 0; t < 1500000000 && broken; t += 100000000) {
        gaps_observe(&gaps, false, t);
        gaps_observe(&gaps, true, t + 20000 + t / 1000);
    }
    report_fact(&report, "seed", "%d", 7);
    report_fact(&report, "writer command", "%s", "echo \"<x>\" & \x01\x1b[31m \xff ]]>\nnot ok 9");
    report_check(&report, "never absent", "absent", broken ? 3 : 0, "%d in 100 reads", broken ? 3 : 0);
    report_check(&report, "never torn", "torn", 0, "0 in 100 reads");
    if (broken)
        report_sighting(&report, "absent", 0.25, "reader 0", "open: \"<no>\" & 'such' \\ file ]]>");
    return report;
}

static struct buf face(void (*make)(const struct report *, struct buf *), const struct report *report)
{
    struct buf out = {0};
    make(report, &out);
    assert_false(out.failed);
    assert_int_equal(strlen(out.data), out.len);
    return out;
}

static size_t occurrences(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

/* xmllint is libxml2's parser; it reads standard input. */
static int run_with_input(const char *command, const struct buf *text)
{
    FILE *pipe = popen(command, "w");
    assert_non_null(pipe);
    assert_int_equal(fwrite(text->data, 1, text->len, pipe), text->len);
    int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void junit_is_well_formed_xml_and_counts_what_failed(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        bool broken = i & 1;
        bool expect = i & 2;
        struct report report = sample(broken, expect);
        struct buf out = face(report_junit, &report);
        assert_int_equal(run_with_input("xmllint --noout -", &out), 0);
        assert_int_equal(occurrences(out.data, "<failure"), broken != expect);
        assert_int_equal(occurrences(out.data, "<testcase"), expect ? 1 : 2);
        assert_non_null(strstr(out.data, broken != expect ? "failures=\"1\"" : "failures=\"0\""));
        buf_release(&out);
    }
}

static void the_xml_check_would_notice(void **state)
{
    (void)state;
    struct report report = sample(true, false);
    struct buf out = face(report_junit, &report);
    out.data[out.len - 3] = 'x';
    assert_int_not_equal(run_with_input("xmllint --noout - 2>/dev/null", &out), 0);
    buf_release(&out);
}

/* Whatever the slowest read was, no label of the time axis begins where it would be cut off. */
static void labels_of_the_axis_fit_into_the_picture(void **state)
{
    (void)state;
    for (uint64_t slowest = 1000; slowest < 10000000000; slowest += slowest / 7) {
        struct report report = sample(false, false);
        memset(&histogram, 0, sizeof histogram);
        histogram_add(&histogram, 900);
        histogram_add(&histogram, slowest);
        report.gaps = NULL;
        struct buf out = face(report_html, &report);
        double x = 0;
        unsigned labels = 0;
        for (const char *at = out.data; (at = strstr(at, "<text x=\"")); at++, labels++) {
            assert_int_equal(sscanf(at, "<text x=\"%lf\"", &x), 1);
            assert_true(x <= 820);
        }
        assert_true(labels >= 2);
        buf_release(&out);
    }
}

static void html_fetches_nothing_and_runs_nothing(void **state)
{
    (void)state;
    for (int broken = 0; broken < 2; broken++) {
        struct report report = sample(broken, false);
        struct buf out = face(report_html, &report);
        static const char *const outside[] = {"http:", "https:",  "//",      "src=",  "href=",
                                              "url(",  "@import", "<script", "<link", "<iframe"};
        for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
            assert_null(strstr(out.data, outside[i]));
        assert_int_equal(occurrences(out.data, "<svg "), 2);
        assert_int_equal(occurrences(out.data, "</svg>"), 2);
        assert_null(strstr(out.data, "<x>"));
        assert_null(strstr(out.data, "nan"));
        assert_null(strstr(out.data, "inf"));
        assert_true(occurrences(out.data, "class=\"plain\"") > 10);
        assert_int_equal(occurrences(out.data, "<rect class=\"bad\""), broken ? 15 : 0);
        /* Its tags are balanced: read as XML, with the one unclosed element and the entity that are HTML's own undone.
         */
        struct buf xml = {0};
        for (const char *at = out.data; *at; at++) {
            if (strncmp(at, "<!DOCTYPE html>", 15) == 0)
                at += 14;
            else if (strncmp(at, "<meta", 5) == 0)
                at = strchr(at, '>');
            else if (strncmp(at, "&micro;", 7) == 0)
                at += 6;
            else
                buf_add_char(&xml, *at);
        }
        assert_int_equal(run_with_input("xmllint --noout -", &xml), 0);
        buf_release(&xml);
        buf_release(&out);
    }
}

static void an_empty_histogram_and_no_gaps_still_make_a_page(void **state)
{
    (void)state;
    struct report report = sample(false, false);
    memset(&histogram, 0, sizeof histogram);
    struct buf out = face(report_html, &report);
    assert_null(strstr(out.data, "nan"));
    assert_int_equal(occurrences(out.data, "class=\"plain\""), 0);
    report.read_ns = NULL;
    report.gaps = NULL;
    struct buf plain = face(report_html, &report);
    assert_int_equal(occurrences(plain.data, "<svg"), 0);
    buf_release(&plain);
    buf_release(&out);
}

static void tap_has_a_line_for_each_claim_and_no_forged_one(void **state)
{
    (void)state;
    struct report report = sample(true, false);
    struct buf out = face(report_tap, &report);
    assert_non_null(strstr(out.data, "TAP version 13\n"));
    assert_non_null(strstr(out.data, "\n1..2\n"));
    assert_int_equal(occurrences(out.data, "\nnot ok "), 1);
    assert_int_equal(occurrences(out.data, "\nok "), 1);
    assert_non_null(strstr(out.data, "\nnot ok 1 - never absent: 3 in 100 reads\n"));
    assert_non_null(strstr(out.data, "0.250 s, reader 0: open: '<no>'"));
    buf_release(&out);
}

static void expecting_a_violation_turns_the_verdict_round(void **state)
{
    (void)state;
    struct report report = sample(true, true);
    assert_true(report_passed(&report));
    struct buf out = face(report_tap, &report);
    assert_non_null(strstr(out.data, "\n1..1\n"));
    assert_int_equal(occurrences(out.data, "\nnot ok "), 0);
    assert_int_equal(occurrences(out.data, "\nok 1 - "), 1);
    buf_release(&out);
    report = sample(false, true);
    assert_false(report_passed(&report));
    out = face(report_tap, &report);
    assert_int_equal(occurrences(out.data, "\nnot ok 1 - "), 1);
    buf_release(&out);
    report = sample(true, false);
    assert_false(report_passed(&report));
    report = sample(false, false);
    assert_true(report_passed(&report));
}

static void too_many_facts_checks_and_notes_are_dropped_not_overrun(void **state)
{
    (void)state;
    struct report report = {.command = "race", .subject = "x"};
    for (unsigned i = 0; i < 200; i++) {
        report_fact(&report, "f", "%u", i);
        report_check(&report, "c", "k", 0, "%u", i);
        report_sighting(&report, "k", 0, "w", "t");
    }
    assert_int_equal(report.fact_count, REPORT_FACTS_MAX);
    assert_int_equal(report.check_count, REPORT_CHECKS_MAX);
    assert_int_equal(report.sighting_count, REPORT_SIGHTINGS_MAX);
}

static void a_report_that_cannot_be_written_is_said(void **state)
{
    (void)state;
    struct report report = sample(false, false);
    struct buf out = face(report_junit, &report);
    assert_false(report_write(&out, "/nonexistent/file.xml"));
    assert_false(report_write(&out, "/dev/full"));
    char file[] = "/tmp/test-report-XXXXXX";
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    assert_true(report_write(&out, file));
    char first[6] = "";
    assert_int_equal(read(fd, first, 5), 5);
    assert_string_equal(first, "<?xml");
    (void)close(fd);
    (void)unlink(file);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(junit_is_well_formed_xml_and_counts_what_failed),
        cmocka_unit_test(the_xml_check_would_notice),
        cmocka_unit_test(html_fetches_nothing_and_runs_nothing),
        cmocka_unit_test(labels_of_the_axis_fit_into_the_picture),
        cmocka_unit_test(an_empty_histogram_and_no_gaps_still_make_a_page),
        cmocka_unit_test(tap_has_a_line_for_each_claim_and_no_forged_one),
        cmocka_unit_test(expecting_a_violation_turns_the_verdict_round),
        cmocka_unit_test(too_many_facts_checks_and_notes_are_dropped_not_overrun),
        cmocka_unit_test(a_report_that_cannot_be_written_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
