/* SPDX-License-Identifier: Apache-2.0 */
/* The report as a page: what was kept, the run, the histogram of latencies, the timeline of gaps, what was seen. */
#include "stress/harness/report.h"

#include "terminal/html.h"

#include <math.h>
#include <string.h>

#define WIDTH  880.0
#define HEIGHT 220.0
#define LEFT   52.0
#define LABEL  60.0 /* what a label on the axis takes at most */
#define BOTTOM 28.0
#define FLOOR  (HEIGHT - BOTTOM)
#define GROUP  4u /* buckets to one bar */

static void checks(const struct report *report, struct buf *out)
{
    html_table(out, NULL);
    for (size_t i = 0; i < report->check_count; i++) {
        const struct report_check *check = &report->checks[i];
        html_row(out);
        html_cell(out, check->broken ? "bad" : "good", "%s", check->broken ? "broken" : "kept");
        html_cell(out, NULL, "%s", check->name);
        html_cell(out, NULL, "%s", check->text);
        html_row_end(out);
    }
    html_table_end(out);
}

static void facts(const struct report *report, struct buf *out)
{
    html_heading(out, "The run");
    html_table(out, NULL);
    for (size_t i = 0; i < report->fact_count; i++) {
        html_row(out);
        html_cell(out, NULL, "%s", report->facts[i].name);
        html_cell(out, NULL, "%s", report->facts[i].value);
        html_row_end(out);
    }
    html_table_end(out);
}

static void sightings(const struct report *report, struct buf *out)
{
    if (!report->sighting_count)
        return;
    html_heading(out, "Seen (the first of each kind)");
    html_table(out, (const char *const[]){"at", "kind", "who", "what", NULL});
    for (size_t i = 0; i < report->sighting_count; i++) {
        const struct report_sighting *sighting = &report->sightings[i];
        html_row(out);
        html_cell(out, NULL, "%.3f s", sighting->at_s);
        html_cell(out, NULL, "%s", sighting->kind);
        html_cell(out, NULL, "%s", sighting->who);
        html_cell(out, NULL, "%s", sighting->text);
        html_row_end(out);
    }
    html_table_end(out);
}

/* Heights are logarithmic: the rare slow reads are what one looks for. */
static double height_of(double value, double top)
{
    return top > 0 ? log10(value + 1) / log10(top + 1) * (FLOOR - 16) : 0;
}

/* ---- latencies ---- */

static uint64_t group_count(const struct histogram *h, size_t group)
{
    uint64_t sum = 0;
    for (size_t i = group * GROUP; i < (group + 1) * GROUP && i < HISTOGRAM_BUCKETS; i++)
        sum += h->buckets[i];
    return sum;
}

/* The groups that are not empty, and the largest count. */
struct extent {
    size_t first, last;
    uint64_t top;
};

static struct extent extent_of(const struct histogram *h)
{
    struct extent extent = {.first = HISTOGRAM_BUCKETS / GROUP};
    for (size_t g = 0; g < HISTOGRAM_BUCKETS / GROUP; g++) {
        uint64_t count = group_count(h, g);
        if (!count)
            continue;
        extent.first = g < extent.first ? g : extent.first;
        extent.last = g;
        extent.top = count > extent.top ? count : extent.top;
    }
    return extent;
}

static void latency(const struct histogram *h, struct buf *out)
{
    char text[4][32];
    struct extent e = extent_of(h);
    html_heading(out, "Time of one read");
    html_paragraph(out, NULL, "%llu reads: p50 %s, p99 %s, p99.9 %s, longest %s", (unsigned long long)h->count,
                   html_duration((double)histogram_at(h, 500), text[0]),
                   html_duration((double)histogram_at(h, 990), text[1]),
                   html_duration((double)histogram_at(h, 999), text[2]), html_duration((double)h->max, text[3]));
    html_picture(out, WIDTH, HEIGHT, "latency histogram");
    double width = e.top ? (WIDTH - LEFT) / (double)(e.last - e.first + 1) : 0;
    for (size_t g = e.first; g <= e.last && e.top; g++) {
        double x = LEFT + (double)(g - e.first) * width;
        uint64_t count = group_count(h, g);
        double height = height_of((double)count, (double)e.top);
        html_bar(out, "plain", x, FLOOR - height, width * 0.9, height, "%llu up to %s", (unsigned long long)count,
                 html_duration((double)histogram_high(g * GROUP + GROUP - 1), text[0]));
        if ((g - e.first) % ((e.last - e.first) / 8 + 1) == 0 && x + LABEL <= WIDTH)
            html_label(out, NULL, x, HEIGHT - 10, "start", "%s",
                       html_duration((double)histogram_low(g * GROUP), text[0]));
    }
    html_label(out, NULL, 0, 14, "start", "%llu", (unsigned long long)e.top);
    html_line(out, "axis", LEFT, FLOOR, WIDTH, FLOOR);
    html_picture_end(out);
    html_paragraph(out, NULL, "Heights are logarithmic.");
}

/* ---- gaps ---- */

static void summary(const struct gaps *gaps, struct buf *out)
{
    char mean[32], longest[32];
    if (gaps->count)
        html_paragraph(out, NULL, "%llu gap%s in %llu looks at the path, mean %s, longest %s",
                       (unsigned long long)gaps->count, gaps->count == 1 ? "" : "s", (unsigned long long)gaps->polls,
                       html_duration(gaps_mean_us(gaps) * 1e3, mean), html_duration((double)gaps->max_ns, longest));
    else
        html_paragraph(out, NULL, "no gap in %llu looks at the path", (unsigned long long)gaps->polls);
}

static void timeline(const struct gaps *gaps, struct buf *out)
{
    char text[32];
    double width = (WIDTH - LEFT) / (double)GAPS_BINS;
    html_heading(out, "When it was absent");
    summary(gaps, out);
    html_picture(out, WIDTH, HEIGHT, "timeline of absence gaps");
    html_bar(out, "present", LEFT, FLOOR - 8, WIDTH - LEFT, 8, NULL);
    for (unsigned i = 0; i < GAPS_BINS; i++) {
        const struct gaps_bin *bin = &gaps->bins[i];
        double height = height_of((double)bin->max_ns, (double)gaps->max_ns);
        if (bin->count)
            html_bar(out, "bad", LEFT + i * width, FLOOR - height, width, height, "%llu gaps, longest %s",
                     (unsigned long long)bin->count, html_duration((double)bin->max_ns, text));
    }
    html_line(out, "axis", LEFT, FLOOR, WIDTH, FLOOR);
    for (unsigned i = 0; i <= 8; i++)
        html_label(out, NULL, LEFT + (WIDTH - LEFT) * i / 8, HEIGHT - 10,
                   i == 0   ? "start"
                   : i == 8 ? "end"
                            : "middle",
                   "%.3g s", (double)gaps->span_ns / 1e9 * i / 8);
    html_label(out, NULL, 0, 14, "start", "%s", html_duration((double)gaps->max_ns, text));
    html_picture_end(out);
    html_paragraph(out, NULL, "Each bar is the longest gap that began then. Heights are logarithmic.");
}

void report_html(const struct report *report, struct buf *out)
{
    char title[160];
    uint64_t violations = report_violations(report);
    (void)snprintf(title, sizeof title, "qstress %s: %s", report->command, report->subject);
    html_begin(out, title);
    html_paragraph(out, violations ? "bad" : "good", "%llu violation%s%s", (unsigned long long)violations,
                   violations == 1 ? "" : "s",
                   report->expect_violation ? " (this way is known to be bad; violations were expected)" : "");
    checks(report, out);
    facts(report, out);
    if (report->read_ns)
        latency(report->read_ns, out);
    if (report->gaps)
        timeline(report->gaps, out);
    sightings(report, out);
    html_end(out);
}
