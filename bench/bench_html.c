/* SPDX-License-Identifier: Apache-2.0 */
/* The same figures as pictures: one self-contained page of SVG. */
#include "bench/bench.h"

#include <math.h>

#define BAR_LEFT   690.0
#define BAR_WIDTH  420.0
#define BAR_HEIGHT 26.0
#define RATIO_LOW  0.01
#define RATIO_HIGH 10.0

#define PLOT_WIDTH  460.0
#define PLOT_HEIGHT 300.0
#define PLOT_EDGE   58.0

static const char *const STYLE =
    "<style>body{font:14px system-ui,sans-serif;max-width:1240px;margin:2em auto;padding:0 1.5em;color:#222;"
    "background:#fff}"
    "h1{font-size:22px}h2{font-size:17px;margin-top:2em}svg{font:12px system-ui,sans-serif}"
    "table{border-collapse:collapse}td,th{padding:2px 12px 2px 0;text-align:left}td.n{text-align:right}"
    ".plots{display:flex;flex-wrap:wrap;gap:24px}.wide{overflow-x:auto}</style>";

static void escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            (void)fprintf(out, "&lt;");
        else if (*text == '&')
            (void)fprintf(out, "&amp;");
        else
            (void)fputc(*text, out);
    }
}

static const char *text_of(const json_t *row, const char *name)
{
    const char *value = json_string_value(json_object_get(row, name));
    return value ? value : "";
}

static double number_of(const json_t *row, const char *name)
{
    return json_number_value(json_object_get(row, name));
}

static void label(FILE *out, double x, double y, const char *anchor, const char *text)
{
    (void)fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='%s' fill='#222'>", x, y, anchor);
    escaped(out, text);
    (void)fprintf(out, "</text>\n");
}

static void line(FILE *out, double x1, double y1, double x2, double y2, const char *color, double width)
{
    (void)fprintf(out, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s' stroke-width='%.1f'/>\n", x1, y1, x2,
                  y2, color, width);
}

/* ---- ratios: a bar for each row from 1 to its ratio would hide small ones, so bars begin at the left edge ---- */

static double ratio_x(double ratio)
{
    double held = ratio < RATIO_LOW ? RATIO_LOW : ratio > RATIO_HIGH ? RATIO_HIGH : ratio;
    return BAR_LEFT + BAR_WIDTH * log(held / RATIO_LOW) / log(RATIO_HIGH / RATIO_LOW);
}

static void ratio_row(FILE *out, const json_t *row, double y)
{
    char shown[64];
    double ratio = number_of(row, "ratio");
    double limit = number_of(row, "limit");
    const char *color = limit <= 0 ? "#9aa7b5" : ratio > limit ? "#c8503c" : "#3c8c5a";
    label(out, BAR_LEFT - 362, y + 16, "end", text_of(row, "name"));
    label(out, BAR_LEFT - 10, y + 16, "end", text_of(row, "against"));
    (void)fprintf(out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'/>\n", BAR_LEFT, y + 4,
                  ratio_x(ratio) - BAR_LEFT, BAR_HEIGHT - 10, color);
    if (limit > 0)
        line(out, ratio_x(limit), y, ratio_x(limit), y + BAR_HEIGHT - 2, "#222", 2);
    (void)snprintf(shown, sizeof shown, "%.2f", ratio);
    label(out, ratio_x(ratio > limit ? ratio : limit) + 6, y + 16, "start", shown);
}

static void ratios(const struct bench *bench, FILE *out)
{
    static const struct {
        double at;
        const char *name;
    } ticks[] = {{0.01, "0.01"}, {0.1, "0.1"}, {1, "1"}, {10, "10"}};
    size_t count = json_array_size(bench->results);
    double height = 30 + (double)count * BAR_HEIGHT;
    size_t i = 0;
    json_t *row = NULL;
    (void)fprintf(out,
                  "<h2>Ratios</h2><p>Time of this project divided by that of the other, on a logarithmic scale: "
                  "shorter is faster. The black mark is the limit set for the row.</p>\n"
                  "<div class='wide'><svg width='1200' height='%.0f'>\n",
                  height);
    for (size_t t = 0; t < sizeof ticks / sizeof ticks[0]; t++) {
        label(out, ratio_x(ticks[t].at), 14, "middle", ticks[t].name);
        line(out, ratio_x(ticks[t].at), 20, ratio_x(ticks[t].at), height, "#dddddd", 1);
    }
    json_array_foreach(bench->results, i, row)
    {
        ratio_row(out, row, 22 + (double)i * BAR_HEIGHT);
    }
    (void)fprintf(out, "</svg></div>\n");
}

/* ---- curves: both axes logarithmic ---- */

struct axes {
    double x_low, x_high, y_low, y_high;
};

static double plot_x(const struct axes *a, double x)
{
    return PLOT_EDGE + (PLOT_WIDTH - 2 * PLOT_EDGE) * log10(x / a->x_low) / log10(a->x_high / a->x_low);
}

static double plot_y(const struct axes *a, double y)
{
    return PLOT_HEIGHT - 40 - (PLOT_HEIGHT - 76) * log10(y / a->y_low) / log10(a->y_high / a->y_low);
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

static void time_text(double us, char *out, size_t size)
{
    if (us < 0.9)
        (void)snprintf(out, size, "%g ns", us * 1000);
    else if (us < 900)
        (void)snprintf(out, size, "%g us", us);
    else if (us < 9e5)
        (void)snprintf(out, size, "%g ms", us / 1000);
    else
        (void)snprintf(out, size, "%g s", us / 1e6);
}

static void grid(FILE *out, const struct axes *a)
{
    char shown[32];
    for (double y = a->y_low; y <= a->y_high * 1.01; y *= 10) {
        line(out, PLOT_EDGE, plot_y(a, y), PLOT_WIDTH - PLOT_EDGE, plot_y(a, y), "#dddddd", 1);
        time_text(y, shown, sizeof shown);
        label(out, PLOT_EDGE - 6, plot_y(a, y) + 4, "end", shown);
    }
    for (double x = pow(10, ceil(log10(a->x_low))); x <= a->x_high * 1.01; x *= 10) {
        line(out, plot_x(a, x), plot_y(a, a->y_low), plot_x(a, x), plot_y(a, a->y_high), "#eeeeee", 1);
        (void)snprintf(shown, sizeof shown, "%.0f", x);
        label(out, plot_x(a, x), PLOT_HEIGHT - 24, "middle", shown);
    }
}

static void one_series(FILE *out, const struct axes *a, const json_t *series, size_t index)
{
    static const char *const colors[] = {"#1f5fa8", "#d08a1d", "#6b8e3a", "#8c4a9c"};
    const char *color = colors[index % (sizeof colors / sizeof colors[0])];
    const json_t *points = json_object_get(series, "points");
    size_t p = 0;
    json_t *point = NULL;
    (void)fprintf(out, "<polyline fill='none' stroke='%s' stroke-width='2' points='", color);
    json_array_foreach(points, p, point)
    {
        (void)fprintf(out, "%.1f,%.1f ", plot_x(a, json_number_value(json_array_get(point, 0))),
                      plot_y(a, json_number_value(json_array_get(point, 1))));
    }
    (void)fprintf(out, "'/>\n");
    json_array_foreach(points, p, point)
    {
        (void)fprintf(out, "<circle r='3' fill='%s' cx='%.1f' cy='%.1f'/>", color,
                      plot_x(a, json_number_value(json_array_get(point, 0))),
                      plot_y(a, json_number_value(json_array_get(point, 1))));
    }
    (void)fprintf(out, "<text x='%.1f' y='%.1f' fill='%s'>", PLOT_EDGE + 170 * (double)index, 14.0, color);
    escaped(out, text_of(series, "name"));
    (void)fprintf(out, "</text>\n");
}

static void curves(const struct bench *bench, FILE *out)
{
    size_t c = 0, s = 0;
    json_t *curve = NULL, *series = NULL;
    (void)fprintf(out, "<h2>Curves</h2><div class='plots'>\n");
    json_array_foreach(bench->curves, c, curve)
    {
        struct axes a = axes_of(curve);
        (void)fprintf(out, "<div><b>");
        escaped(out, text_of(curve, "name"));
        (void)fprintf(out, "</b><br><svg width='%.0f' height='%.0f'>\n", PLOT_WIDTH, PLOT_HEIGHT);
        grid(out, &a);
        json_array_foreach(json_object_get(curve, "series"), s, series)
        {
            one_series(out, &a, series, s);
        }
        label(out, PLOT_WIDTH / 2, PLOT_HEIGHT - 6, "middle", text_of(curve, "x"));
        (void)fprintf(out, "</svg></div>\n");
    }
    (void)fprintf(out, "</div>\n");
}

/* ---- counts and machine: tables ---- */

static void counts(const struct bench *bench, FILE *out)
{
    size_t i = 0;
    json_t *row = NULL;
    (void)fprintf(out, "<h2>Counted</h2><table><tr><th>what<th>of<th>flushes<th>writes<th>bytes\n");
    json_array_foreach(bench->counts, i, row)
    {
        (void)fprintf(out, "<tr><td>");
        escaped(out, text_of(row, "name"));
        (void)fprintf(out, "<td>");
        escaped(out, text_of(row, "of"));
        (void)fprintf(out, "<td class='n'>%.0f", number_of(row, "flushes"));
        if (json_is_number(json_object_get(row, "bytes"))) /* of another process only the flushes are known */
            (void)fprintf(out, "<td class='n'>%.0f<td class='n'>%.0f", number_of(row, "writes"),
                          number_of(row, "bytes"));
        (void)fprintf(out, "\n");
    }
    (void)fprintf(out, "</table>\n");
}

static void machine_table(FILE *out, json_t *machine)
{
    const char *key = NULL;
    json_t *value = NULL;
    (void)fprintf(out, "<h2>Machine</h2><table>\n");
    json_object_foreach(machine, key, value)
    {
        (void)fprintf(out, "<tr><td>%s<td>", key);
        if (json_is_string(value))
            escaped(out, json_string_value(value));
        else if (json_is_boolean(value))
            (void)fprintf(out, "%s", json_is_true(value) ? "yes" : "no");
        else
            (void)fprintf(out, "%.6g", json_number_value(value));
        (void)fprintf(out, "\n");
    }
    (void)fprintf(out, "</table>\n");
}

void report_html(const struct bench *bench, json_t *machine, FILE *out)
{
    (void)fprintf(out,
                  "<!doctype html><html lang='en'><meta charset='utf-8'>"
                  "<meta name='viewport' content='width=device-width'><title>qsettings: bench</title>%s\n"
                  "<h1>qsettings beside others</h1>\n"
                  "<p>From one run of <code>make bench</code>, on the machine described at the end; "
                  "<code>docs/performance.md</code> says how each row is measured.</p>\n",
                  STYLE);
    ratios(bench, out);
    curves(bench, out);
    counts(bench, out);
    machine_table(out, machine);
    (void)fprintf(out, "</html>\n");
}
