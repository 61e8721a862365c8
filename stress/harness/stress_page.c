/* SPDX-License-Identifier: Apache-2.0 */
/* One page by itself: style inside, pictures as SVG, no script, nothing fetched from anywhere. */
#include "stress/harness/report.h"

#include <math.h>
#include <string.h>

#define WIDTH  880.0
#define HEIGHT 220.0
#define LEFT   52.0
#define LABEL  60.0 /* the room of a label on the axis, wider than any */
#define BOTTOM 28.0
#define GROUP  4u /* buckets to one bar */

static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 "
    "1rem;color:#1c2430;background:#fff}"
    "h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse}"
    "td,th{padding:.2rem .8rem .2rem 0;text-align:left;vertical-align:top;border-bottom:1px solid #e3e6ea}"
    ".held{color:#176b3a}.broken{color:#b3261e;font-weight:600}svg{width:100%;height:auto}"
    "svg text{font-size:11px;fill:#55606e}.axis{stroke:#8a94a1}.bar{fill:#3565b0}.gap{fill:#b3261e}.there{fill:#cfe6d8}"
    "@media(prefers-color-scheme:dark){body{background:#14181d;color:#dde3ea}td,th{border-color:#333b45}"
    ".held{color:#6cc895}.broken{color:#ff8a80}.bar{fill:#7ea6e8}.there{fill:#26402f}svg text{fill:#a5afbb}}";

static void heading(const struct report *report, struct buf *out)
{
    buf_add_str(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>qstress ");
    report_escape(out, report->command);
    buf_add_str(out, ": ");
    report_escape(out, report->subject);
    buf_printf(out, "</title>\n<style>%s</style></head><body>\n<h1>qstress ", style);
    report_escape(out, report->command);
    buf_add_str(out, ": ");
    report_escape(out, report->subject);
    uint64_t violations = report_violations(report);
    buf_printf(out, "</h1>\n<p class=\"%s\">%llu violation%s%s</p>\n", violations ? "broken" : "held",
               (unsigned long long)violations, violations == 1 ? "" : "s",
               report->expect_violation ? " (this way is known to be bad; violations were expected)" : "");
}

static void tables(const struct report *report, struct buf *out)
{
    buf_add_str(out, "<table>\n");
    for (size_t i = 0; i < report->check_count; i++) {
        const struct report_check *check = &report->checks[i];
        buf_printf(out, "<tr><td class=\"%s\">%s</td><td>", check->broken ? "broken" : "held",
                   check->broken ? "broken" : "held");
        report_escape(out, check->name);
        buf_add_str(out, "</td><td>");
        report_escape(out, check->text);
        buf_add_str(out, "</td></tr>\n");
    }
    buf_add_str(out, "</table>\n<h2>The run</h2>\n<table>\n");
    for (size_t i = 0; i < report->fact_count; i++) {
        buf_add_str(out, "<tr><td>");
        report_escape(out, report->facts[i].name);
        buf_add_str(out, "</td><td>");
        report_escape(out, report->facts[i].value);
        buf_add_str(out, "</td></tr>\n");
    }
    buf_add_str(out, "</table>\n");
}

static void sightings(const struct report *report, struct buf *out)
{
    if (!report->sighting_count)
        return;
    buf_add_str(out, "<h2>Seen (the first of each kind)</h2>\n<table>\n<tr><th>at</th><th>kind</th><th>who</th><th>what"
                     "</th></tr>\n");
    for (size_t i = 0; i < report->sighting_count; i++) {
        const struct report_sighting *sighting = &report->sightings[i];
        buf_printf(out, "<tr><td>%.3f s</td><td>", sighting->at_s);
        report_escape(out, sighting->kind);
        buf_add_str(out, "</td><td>");
        report_escape(out, sighting->who);
        buf_add_str(out, "</td><td>");
        report_escape(out, sighting->text);
        buf_add_str(out, "</td></tr>\n");
    }
    buf_add_str(out, "</table>\n");
}

/* A time for people: 850 ns, 12 us, 3.4 ms, 1.2 s. */
static void duration(struct buf *out, double ns)
{
    if (ns < 1e3)
        buf_printf(out, "%.0f ns", ns);
    else if (ns < 1e6)
        buf_printf(out, "%.3g &micro;s", ns / 1e3);
    else if (ns < 1e9)
        buf_printf(out, "%.3g ms", ns / 1e6);
    else
        buf_printf(out, "%.3g s", ns / 1e9);
}

static void open_picture(struct buf *out, const char *label)
{
    buf_printf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">\n", WIDTH, HEIGHT, label);
}

static void base_line(struct buf *out)
{
    buf_printf(out, "<line class=\"axis\" x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\"/>\n", LEFT, HEIGHT - BOTTOM,
               WIDTH, HEIGHT - BOTTOM);
}

/* Heights are logarithmic: the rare slow reads are what one looks for. */
static double height_of(double value, double top)
{
    return top > 0 ? log10(value + 1) / log10(top + 1) * (HEIGHT - BOTTOM - 16) : 0;
}

static uint64_t group_count(const struct histogram *h, size_t group)
{
    uint64_t sum = 0;
    for (size_t i = group * GROUP; i < (group + 1) * GROUP && i < HISTOGRAM_BUCKETS; i++)
        sum += h->buckets[i];
    return sum;
}

static void percentiles(const struct histogram *h, struct buf *out)
{
    static const unsigned permille[] = {500, 990, 999, 1000};
    static const char *const names[] = {"p50", "p99", "p99.9", "longest"};
    buf_printf(out, "<p>%llu reads", (unsigned long long)h->count);
    for (size_t i = 0; i < 4; i++) {
        buf_printf(out, ", %s ", names[i]);
        duration(out, (double)histogram_at(h, permille[i]));
    }
    buf_add_str(out, "</p>\n");
}

static void latency(const struct histogram *h, struct buf *out)
{
    size_t first = HISTOGRAM_BUCKETS / GROUP;
    size_t last = 0;
    uint64_t top = 0;
    for (size_t g = 0; g < HISTOGRAM_BUCKETS / GROUP; g++) {
        uint64_t count = group_count(h, g);
        if (!count)
            continue;
        first = g < first ? g : first;
        last = g;
        top = count > top ? count : top;
    }
    buf_add_str(out, "<h2>Time of one read</h2>\n");
    percentiles(h, out);
    open_picture(out, "latency histogram");
    double width = (WIDTH - LEFT) / (double)(last >= first ? last - first + 1 : 1);
    for (size_t g = first; g <= last && top; g++) {
        uint64_t count = group_count(h, g);
        double x = LEFT + (double)(g - first) * width;
        double height = height_of((double)count, (double)top);
        buf_printf(out, "<rect class=\"bar\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>%llu up to ",
                   x, HEIGHT - BOTTOM - height, width * 0.9, height, (unsigned long long)count);
        duration(out, (double)histogram_high(g * GROUP + GROUP - 1));
        buf_add_str(out, "</title></rect>\n");
        if ((g - first) % ((last - first) / 8 + 1) == 0 && x + LABEL <= WIDTH) {
            buf_printf(out, "<text x=\"%.1f\" y=\"%.0f\">", x, HEIGHT - 10);
            duration(out, (double)histogram_low(g * GROUP));
            buf_add_str(out, "</text>\n");
        }
    }
    buf_printf(out, "<text x=\"0\" y=\"14\">%llu</text>\n", (unsigned long long)top);
    base_line(out);
    buf_add_str(out, "</svg>\n<p>Heights are logarithmic.</p>\n");
}

static void gap_bars(const struct gaps *gaps, double top, struct buf *out)
{
    double width = (WIDTH - LEFT) / (double)GAPS_BINS;
    for (unsigned i = 0; i < GAPS_BINS; i++) {
        const struct gaps_bin *bin = &gaps->bins[i];
        if (!bin->count)
            continue;
        double height = height_of((double)bin->max_ns, top);
        buf_printf(
            out, "<rect class=\"gap\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>%llu gaps, longest ",
            LEFT + i * width, HEIGHT - BOTTOM - height, width, height, (unsigned long long)bin->count);
        duration(out, (double)bin->max_ns);
        buf_add_str(out, "</title></rect>\n");
    }
}

static void timeline(const struct gaps *gaps, struct buf *out)
{
    buf_add_str(out, "<h2>When it was absent</h2>\n");
    buf_printf(out, "<p>%llu gap%s in %llu looks at the path", (unsigned long long)gaps->count,
               gaps->count == 1 ? "" : "s", (unsigned long long)gaps->polls);
    if (gaps->count) {
        buf_add_str(out, ", mean ");
        duration(out, gaps_mean_us(gaps) * 1e3);
        buf_add_str(out, ", longest ");
        duration(out, (double)gaps->max_ns);
    }
    buf_add_str(out, "</p>\n");
    open_picture(out, "timeline of absence gaps");
    buf_printf(out, "<rect class=\"there\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"8\"/>\n", LEFT,
               HEIGHT - BOTTOM - 8, WIDTH - LEFT);
    gap_bars(gaps, (double)gaps->max_ns, out);
    base_line(out);
    for (unsigned i = 0; i <= 8; i++)
        buf_printf(out, "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"%s\">%.3g s</text>\n", LEFT + (WIDTH - LEFT) * i / 8,
                   HEIGHT - 10,
                   i == 0   ? "start"
                   : i == 8 ? "end"
                            : "middle",
                   (double)gaps->span_ns / 1e9 * i / 8);
    buf_add_str(out, "<text x=\"0\" y=\"14\">");
    duration(out, (double)gaps->max_ns);
    buf_add_str(out, "</text>\n</svg>\n<p>Each bar: the longest gap that began then; heights are logarithmic.</p>\n");
}

void report_html(const struct report *report, struct buf *out)
{
    heading(report, out);
    tables(report, out);
    if (report->read_ns)
        latency(report->read_ns, out);
    if (report->gaps)
        timeline(report->gaps, out);
    sightings(report, out);
    buf_add_str(out, "</body></html>\n");
}
