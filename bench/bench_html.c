/* SPDX-License-Identifier: Apache-2.0 */
/* The same figures as a page: ratios, curves, counts, the machine. */
#include "bench/bench.h"

#include "terminal/html.h"

#include <math.h>

#define BAR_LEFT   690.0
#define BAR_WIDTH  420.0
#define BAR_HEIGHT 26.0
#define RATIO_LOW  0.01
#define RATIO_HIGH 10.0

#define PLOT_WIDTH  460.0
#define PLOT_HEIGHT 300.0
#define PLOT_EDGE   58.0
#define POINTS_MAX  64u

static const char *text_of(const json_t *row, const char *name)
{
    const char *value = json_string_value(json_object_get(row, name));
    return value ? value : "";
}

static double number_of(const json_t *row, const char *name)
{
    return json_number_value(json_object_get(row, name));
}

/* ---- ratios: a bar for each row from 1 to its ratio would hide small ones, so bars begin at the left edge ---- */

static double ratio_x(double ratio)
{
    double shown = fmin(fmax(ratio, RATIO_LOW), RATIO_HIGH);
    return BAR_LEFT + BAR_WIDTH * log(shown / RATIO_LOW) / log(RATIO_HIGH / RATIO_LOW);
}

static void ratio_row(struct buf *out, const json_t *row, double y)
{
    double ratio = number_of(row, "ratio");
    double limit = number_of(row, "limit");
    const char *kind = limit <= 0 ? "none" : ratio > limit ? "bad" : "good";
    html_label(out, NULL, BAR_LEFT - 362, y + 16, "end", "%s", text_of(row, "name"));
    html_label(out, NULL, BAR_LEFT - 10, y + 16, "end", "%s", text_of(row, "against"));
    html_bar(out, kind, BAR_LEFT, y + 4, ratio_x(ratio) - BAR_LEFT, BAR_HEIGHT - 10, NULL);
    if (limit > 0)
        html_line(out, "axis", ratio_x(limit), y, ratio_x(limit), y + BAR_HEIGHT - 2);
    html_label(out, NULL, ratio_x(fmax(ratio, limit)) + 6, y + 16, "start", "%.2f", ratio);
}

static void ratios(const struct bench *bench, struct buf *out)
{
    static const double ticks[] = {0.01, 0.1, 1, 10};
    double height = 30 + (double)json_array_size(bench->results) * BAR_HEIGHT;
    size_t i = 0;
    json_t *row = NULL;
    html_heading(out, "Ratios");
    html_paragraph(out, NULL,
                   "Time of this project divided by that of the other, on a logarithmic scale: shorter is faster. The "
                   "dark mark is the limit of the row.");
    buf_add_str(out, "<div class=\"wide\">");
    html_picture(out, 1200, height, "ratios");
    for (size_t t = 0; t < sizeof ticks / sizeof ticks[0]; t++) {
        html_label(out, NULL, ratio_x(ticks[t]), 14, "middle", "%g", ticks[t]);
        html_line(out, "grid", ratio_x(ticks[t]), 20, ratio_x(ticks[t]), height);
    }
    json_array_foreach(bench->results, i, row)
    {
        ratio_row(out, row, 22 + (double)i * BAR_HEIGHT);
    }
    html_picture_end(out);
    buf_add_str(out, "</div>\n");
}

/* ---- curves: both axes logarithmic ---- */

struct axes {
    double x_low, x_high, y_low, y_high;
};

static struct html_point place(const struct axes *a, double x, double y)
{
    return (
        struct html_point){PLOT_EDGE + (PLOT_WIDTH - 2 * PLOT_EDGE) * log10(x / a->x_low) / log10(a->x_high / a->x_low),
                           PLOT_HEIGHT - 40 - (PLOT_HEIGHT - 76) * log10(y / a->y_low) / log10(a->y_high / a->y_low)};
}

static struct axes axes_of(const json_t *curve)
{
    struct axes a = {INFINITY, 0, INFINITY, 0};
    size_t s = 0, p = 0;
    json_t *series = NULL, *point = NULL;
    json_array_foreach(json_object_get(curve, "series"), s, series)
    {
        json_array_foreach(json_object_get(series, "points"), p, point)
        {
            double x = json_number_value(json_array_get(point, 0));
            double y = json_number_value(json_array_get(point, 1));
            a.x_low = fmin(a.x_low, x);
            a.x_high = fmax(a.x_high, x);
            a.y_low = fmin(a.y_low, y);
            a.y_high = fmax(a.y_high, y);
        }
    }
    a.x_high = a.x_high > a.x_low ? a.x_high : a.x_low * 10;
    a.y_low = pow(10, floor(log10(a.y_low)));
    a.y_high = pow(10, ceil(log10(a.y_high)));
    a.y_high = a.y_high > a.y_low ? a.y_high : a.y_low * 10;
    return a;
}

static void grid(struct buf *out, const struct axes *a)
{
    char text[32];
    for (double y = a->y_low; y <= a->y_high * 1.01; y *= 10) {
        double at = place(a, a->x_low, y).y;
        html_line(out, "grid", PLOT_EDGE, at, PLOT_WIDTH - PLOT_EDGE, at);
        html_label(out, NULL, PLOT_EDGE - 6, at + 4, "end", "%s", html_duration(y * 1e3, text));
    }
    for (double x = pow(10, ceil(log10(a->x_low))); x <= a->x_high * 1.01; x *= 10) {
        double at = place(a, x, a->y_low).x;
        html_line(out, "grid", at, place(a, x, a->y_low).y, at, place(a, x, a->y_high).y);
        html_label(out, NULL, at, PLOT_HEIGHT - 24, "middle", "%.0f", x);
    }
}

static void one_series(struct buf *out, const struct axes *a, const json_t *series, size_t index)
{
    static const char *const colors[] = {"#1f5fa8", "#d08a1d", "#6b8e3a", "#8c4a9c"};
    const char *color = colors[index % (sizeof colors / sizeof colors[0])];
    struct html_point points[POINTS_MAX];
    size_t p = 0, count = 0;
    json_t *point = NULL;
    json_array_foreach(json_object_get(series, "points"), p, point)
    {
        if (count < POINTS_MAX)
            points[count++] =
                place(a, json_number_value(json_array_get(point, 0)), json_number_value(json_array_get(point, 1)));
    }
    html_curve(out, color, points, count);
    double x = PLOT_EDGE + 170 * (double)index; /* of its name, above the plot */
    html_curve(out, color, (struct html_point[]){{x, 10}, {x + 12, 10}}, 2);
    html_label(out, NULL, x + 20, 14, "start", "%s", text_of(series, "name"));
}

static void curves(const struct bench *bench, struct buf *out)
{
    size_t c = 0, s = 0;
    json_t *curve = NULL, *series = NULL;
    html_heading(out, "Curves");
    buf_add_str(out, "<div class=\"plots\">\n");
    json_array_foreach(bench->curves, c, curve)
    {
        struct axes a = axes_of(curve);
        buf_add_str(out, "<div>");
        html_paragraph(out, NULL, "%s", text_of(curve, "name"));
        html_picture(out, PLOT_WIDTH, PLOT_HEIGHT, text_of(curve, "name"));
        grid(out, &a);
        json_array_foreach(json_object_get(curve, "series"), s, series)
        {
            one_series(out, &a, series, s);
        }
        html_label(out, NULL, PLOT_WIDTH / 2, PLOT_HEIGHT - 6, "middle", "%s", text_of(curve, "x"));
        html_picture_end(out);
        buf_add_str(out, "</div>\n");
    }
    buf_add_str(out, "</div>\n");
}

/* ---- counts and machine: tables ---- */

static void counts(const struct bench *bench, struct buf *out)
{
    static const char *const numbers[] = {"flushes", "writes", "bytes"};
    size_t i = 0;
    json_t *row = NULL;
    html_heading(out, "Counted");
    html_table(out, (const char *const[]){"what", "of", "flushes", "writes", "bytes", NULL});
    json_array_foreach(bench->counts, i, row)
    {
        bool all = json_is_number(json_object_get(row, "bytes")); /* of another process only the flushes are known */
        html_row(out);
        html_cell(out, NULL, "%s", text_of(row, "name"));
        html_cell(out, NULL, "%s", text_of(row, "of"));
        for (size_t n = 0; n < (all ? 3u : 1u); n++)
            html_cell(out, "number", "%.0f", number_of(row, numbers[n]));
        html_row_end(out);
    }
    html_table_end(out);
}

static void machine_table(struct buf *out, json_t *machine)
{
    const char *key = NULL;
    json_t *value = NULL;
    html_heading(out, "Machine");
    html_table(out, NULL);
    json_object_foreach(machine, key, value)
    {
        html_row(out);
        html_cell(out, NULL, "%s", key);
        if (json_is_string(value))
            html_cell(out, NULL, "%s", json_string_value(value));
        else if (json_is_boolean(value))
            html_cell(out, NULL, "%s", json_is_true(value) ? "yes" : "no");
        else
            html_cell(out, NULL, "%.6g", json_number_value(value));
        html_row_end(out);
    }
    html_table_end(out);
}

void report_html(const struct bench *bench, json_t *machine, struct buf *out)
{
    html_begin(out, "qsettings beside others");
    html_paragraph(out, NULL,
                   "From one run of make bench, on the machine described at the end. docs/performance.md says how each "
                   "row is measured.");
    ratios(bench, out);
    curves(bench, out);
    counts(bench, out);
    machine_table(out, machine);
    html_end(out);
}
