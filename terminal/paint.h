/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text for people: colour where it is wanted, and nothing in it that could drive a terminal.
 *
 * Programs put marks into their text (paint), bytes that no UTF-8 holds, and make the text that is written of it in one
 * place (terminal_text): there each mark becomes a colour or nothing, and every control character that came with a
 * value, a message or a file's name becomes visible.
 */
#ifndef TERMINAL_PAINT_H
#define TERMINAL_PAINT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdio.h>

/* ---- is colour wanted? ---- */

enum colour_wish { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };
bool colour_wish_by_name(const char *name, enum colour_wish *ret_wish); /* "auto", "always", "never" */

/* COLOUR_AUTO: where fd is a terminal, TERM is neither unset nor "dumb", and NO_COLOR is unset or empty. */
bool colour_wanted(enum colour_wish wish, int fd);

/* Is fd a terminal that knows more than letters? */
bool terminal_is_able(int fd);

/* ---- text ---- */

enum paint { PAINT_END, PAINT_GOOD, PAINT_WARN, PAINT_BAD, PAINT_HEAD, PAINT_COUNT };
void paint(struct buf *out, enum paint paint);                        /* from here on; PAINT_END: as usual */
void paint_text(struct buf *out, enum paint paint, const char *text); /* the text alone */

enum terminal_flags {
    TERMINAL_COLOUR = 1, /* marks become colours, else nothing */
    TERMINAL_LINE = 2,   /* newlines and tabs, too, become visible: the text must stay one line */
};
/* Appends data as it may be written. Control characters (C0, DEL, C1), line and paragraph separators and those that
 * turn the direction of writing become \uXXXX, which within a JSON string means the same; bytes that are no UTF-8
 * become \xXX. Newlines and tabs stay, unless TERMINAL_LINE. */
void terminal_text(struct buf *out, const char *data, size_t len, unsigned flags);

/* Writes text to a stream as terminal_text with TERMINAL_LINE makes it. */
void terminal_put(FILE *out, const char *text);

/* ---- the screen ---- */

/* Columns that text of len bytes takes; wide characters take two, combining ones and colours none. */
size_t terminal_width(const char *text, size_t len);
/* Appends text and spaces up to so many columns. */
void terminal_pad(struct buf *out, const char *text, size_t columns);
/* Lines of a screen with so many columns that the text takes. */
size_t terminal_rows(const char *text, size_t len, size_t columns);

#endif
