/* SPDX-License-Identifier: Apache-2.0 */
/* Pages for a browser. */
#include "terminal/html.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_BYTES 1024 /* of one formatted text; what is longer is cut */

static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;max-width:1240px;margin:2rem auto;padding:0 1rem;color:#1c2430;"
    "background:#fff}h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}"
    "table{border-collapse:collapse}td,th{padding:.2rem .8rem .2rem 0;text-align:left;vertical-align:top;"
    "border-bottom:1px solid #e3e6ea}td.number{text-align:right}.good{color:#176b3a}.bad{color:#b3261e;font-weight:600}"
    "svg{max-width:100%;height:auto}.wide{overflow-x:auto}.wide svg{max-width:none}"
    ".plots{display:flex;flex-wrap:wrap;gap:24px}svg text{font-size:12px;font-weight:400;fill:#45505e}"
    "rect.plain{fill:#3565b0}rect.good{fill:#3c8c5a}rect.bad{fill:#b3261e}rect.none{fill:#9aa7b5}"
    "rect.present{fill:#cfe6d8}.axis{stroke:#1c2430;stroke-width:1.5}.grid{stroke:#e3e6ea}"
    "@media(prefers-color-scheme:dark){body{background:#14181d;color:#dde3ea}td,th{border-color:#333b45}"
    ".good{color:#6cc895}.bad{color:#ff8a80}rect.plain{fill:#7ea6e8}rect.present{fill:#26402f}.grid{stroke:#333b45}."
    "axis{stroke:#dde3ea}"
    "svg text{fill:#a5afbb}}";

void html_text(struct buf *out, const char *text)
{
    bool utf8 = utf8_valid(text, strlen(text), NULL);
    for (; *text; text++) {
        switch (*text) {
        case '&':
            buf_add_str(out, "&amp;");
            break;
        case '<':
            buf_add_str(out, "&lt;");
            break;
        case '>':
            buf_add_str(out, "&gt;");
            break;
        case '"':
            buf_add_str(out, "&quot;");
            break;
        case '\'':
            buf_add_str(out, "&#39;");
            break;
        default: {
            unsigned char c = (unsigned char)*text;
            buf_add_char(out, c < 0x20 || c == 0x7f || (c > 0x7f && !utf8) ? '?' : (char)c);
        }
        }
    }
}

static void open_tag(struct buf *out, const char *name, const char *kind)
{
    buf_printf(out, "<%s", name);
    if (kind)
        buf_printf(out, " class=\"%s\"", kind);
}

__attribute__((format(printf, 2, 0))) static void formatted(struct buf *out, const char *format, va_list args)
{
    char text[TEXT_BYTES];
    (void)vsnprintf(text, sizeof text, format, args);
    html_text(out, text);
}

void html_begin(struct buf *out, const char *title)
{
    buf_add_str(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>");
    html_text(out, title);
    buf_printf(out, "</title>\n<style>%s</style></head><body>\n<h1>", style);
    html_text(out, title);
    buf_add_str(out, "</h1>\n");
}

void html_end(struct buf *out)
{
    buf_add_str(out, "</body></html>\n");
}

void html_heading(struct buf *out, const char *text)
{
    buf_add_str(out, "<h2>");
    html_text(out, text);
    buf_add_str(out, "</h2>\n");
}

void html_paragraph(struct buf *out, const char *kind, const char *format, ...)
{
    va_list args;
    open_tag(out, "p", kind);
    buf_add_char(out, '>');
    va_start(args, format);
    formatted(out, format, args);
    va_end(args);
    buf_add_str(out, "</p>\n");
}

void html_table(struct buf *out, const char *const *columns)
{
    buf_add_str(out, "<table>\n");
    if (!columns)
        return;
    html_row(out);
    for (; *columns; columns++) {
        buf_add_str(out, "<th>");
        html_text(out, *columns);
        buf_add_str(out, "</th>");
    }
    html_row_end(out);
}

void html_row(struct buf *out)
{
    buf_add_str(out, "<tr>");
}

void html_cell(struct buf *out, const char *kind, const char *format, ...)
{
    va_list args;
    open_tag(out, "td", kind);
    buf_add_char(out, '>');
    va_start(args, format);
    formatted(out, format, args);
    va_end(args);
    buf_add_str(out, "</td>");
}

void html_row_end(struct buf *out)
{
    buf_add_str(out, "</tr>\n");
}

void html_table_end(struct buf *out)
{
    buf_add_str(out, "</table>\n");
}

void html_picture(struct buf *out, double width, double height, const char *label)
{
    buf_printf(out, "<svg viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" role=\"img\" aria-label=\"", width, height, width);
    html_text(out, label);
    buf_add_str(out, "\">\n");
}

void html_picture_end(struct buf *out)
{
    buf_add_str(out, "</svg>\n");
}

void html_bar(struct buf *out, const char *kind, double x, double y, double width, double height, const char *format,
              ...)
{
    open_tag(out, "rect", kind);
    buf_printf(out, " x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">", x, y, width, height);
    if (format) {
        va_list args;
        buf_add_str(out, "<title>");
        va_start(args, format);
        formatted(out, format, args);
        va_end(args);
        buf_add_str(out, "</title>");
    }
    buf_add_str(out, "</rect>\n");
}

void html_line(struct buf *out, const char *kind, double x1, double y1, double x2, double y2)
{
    open_tag(out, "line", kind);
    buf_printf(out, " x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x1, y1, x2, y2);
}

void html_label(struct buf *out, const char *kind, double x, double y, const char *anchor, const char *format, ...)
{
    va_list args;
    open_tag(out, "text", kind);
    buf_printf(out, " x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    va_start(args, format);
    formatted(out, format, args);
    va_end(args);
    buf_add_str(out, "</text>\n");
}

void html_curve(struct buf *out, const char *color, const struct html_point *points, size_t count)
{
    buf_printf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", color);
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "%.1f,%.1f ", points[i].x, points[i].y);
    buf_add_str(out, "\"/>\n");
    for (size_t i = 0; i < count; i++)
        buf_printf(out, "<circle r=\"3\" fill=\"%s\" cx=\"%.1f\" cy=\"%.1f\"/>\n", color, points[i].x, points[i].y);
}

const char *html_duration(double ns, char text[32])
{
    static const struct {
        double below, unit;
        const char *name;
    } units[] = {{1e3, 1, "ns"}, {1e6, 1e3, "us"}, {1e9, 1e6, "ms"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (ns < 0.9995 * units[i].below) {
            (void)snprintf(text, 32, "%.3g %s", ns / units[i].unit, units[i].name);
            return text;
        }
    (void)snprintf(text, 32, "%.3g s", ns / 1e9);
    return text;
}
