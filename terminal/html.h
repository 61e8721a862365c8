/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One page for a browser: the style is inside, pictures are SVG, nothing runs and nothing is fetched. The reports of
 * qstress and of the bench are made of these parts.
 *
 *     html_begin(&page, "qstress race: rename-over");
 *     html_table(&page, (const char *const[]){"kind", "seen", NULL});
 *     html_row(&page);
 *     html_cell(&page, "bad", "%s", kind);
 *     html_cell(&page, NULL, "%u", seen);
 *     html_row_end(&page);
 *     html_table_end(&page);
 *     html_end(&page);
 *
 * Every text is escaped here. Errors: the buffer's own; look at it once, at the end.
 *
 * A kind is a class of the style: "good", "bad" and "plain" colour a text or a shape, "number" aligns a cell to the
 * right, "axis" and "grid" are lines. NULL: none.
 */
#ifndef TERMINAL_HTML_H
#define TERMINAL_HTML_H

#include "base/buf.h"

/* & < > " ' as entities, for XML too; control characters, and bytes of a text that is not UTF-8, as '?'. */
void html_text(struct buf *out, const char *text);

void html_begin(struct buf *out, const char *title); /* which is also the page's heading */
void html_end(struct buf *out);
void html_heading(struct buf *out, const char *text);
void html_paragraph(struct buf *out, const char *kind, const char *format, ...) __attribute__((format(printf, 3, 4)));

void html_table(struct buf *out, const char *const *columns); /* ends with NULL; NULL: without a head */
void html_row(struct buf *out);
void html_cell(struct buf *out, const char *kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
void html_row_end(struct buf *out);
void html_table_end(struct buf *out);

/* A picture with its own coordinates, from the top left. A label says what it shows to those who do not see it. */
void html_picture(struct buf *out, double width, double height, const char *label);
void html_picture_end(struct buf *out);
/* The format gives what is shown when one points at it; NULL: nothing. */
void html_bar(struct buf *out, const char *kind, double x, double y, double width, double height, const char *format,
              ...) __attribute__((format(printf, 7, 8)));
void html_line(struct buf *out, const char *kind, double x1, double y1, double x2, double y2);
/* anchor: "start", "middle" or "end" of the text is at x. */
void html_label(struct buf *out, const char *kind, double x, double y, const char *anchor, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* A line through points, with a dot on each; color as in CSS. */
struct html_point {
    double x, y;
};
void html_curve(struct buf *out, const char *color, const struct html_point *points, size_t count);

/* A time for people: 850 ns, 12 us, 3.4 ms, 1.2 s. Returns text. */
const char *html_duration(double ns, char text[32]);

#endif
