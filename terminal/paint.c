/* SPDX-License-Identifier: Apache-2.0 */
/* Colour, visible control characters, and how wide text is. */
#include "terminal/paint.h"

#include "base/cleanup.h"
#include "base/utf8.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#define MARK 0xff /* never a byte of UTF-8; the byte after it is '0' + enum paint */

/* Select Graphic Rendition, ECMA-48. */
static const char *const colours[PAINT_COUNT] = {
    [PAINT_END] = "\033[0m",  [PAINT_GOOD] = "\033[32m", [PAINT_WARN] = "\033[33m",
    [PAINT_BAD] = "\033[31m", [PAINT_HEAD] = "\033[1m",
};

bool colour_wish_by_name(const char *name, enum colour_wish *ret_wish)
{
    static const char *const names[] = {[COLOUR_AUTO] = "auto", [COLOUR_ALWAYS] = "always", [COLOUR_NEVER] = "never"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) {
            *ret_wish = (enum colour_wish)i;
            return true;
        }
    return false;
}

bool terminal_is_able(int fd)
{
    const char *term = getenv("TERM");
    return term && term[0] && strcmp(term, "dumb") != 0 && isatty(fd);
}

bool colour_wanted(enum colour_wish wish, int fd)
{
    const char *none = getenv("NO_COLOR");
    if (wish != COLOUR_AUTO)
        return wish == COLOUR_ALWAYS;
    return !(none && none[0]) && terminal_is_able(fd);
}

void paint(struct buf *out, enum paint paint)
{
    const char mark[2] = {(char)MARK, (char)('0' + paint)};
    buf_add(out, mark, sizeof mark);
}

void paint_text(struct buf *out, enum paint colour, const char *text)
{
    paint(out, colour);
    buf_add_str(out, text);
    paint(out, PAINT_END);
}

/* ---- what may be written ---- */

/* Characters that a terminal acts on, or that change what is seen of others: C0, DEL and C1; separators of lines;
 * marks, embeddings, overrides and isolates of the bidirectional algorithm (UAX #9). */
static bool is_active(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x061c || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

static bool stays(uint32_t code, unsigned flags)
{
    return !is_active(code) || ((code == '\n' || code == '\t') && !(flags & TERMINAL_LINE));
}

/* A mark at p: 2 bytes. */
static size_t take_mark(struct buf *out, const unsigned char *p, const unsigned char *end, unsigned flags)
{
    if (*p != MARK || end - p < 2 || p[1] < '0' || p[1] >= '0' + PAINT_COUNT)
        return 0;
    if (flags & TERMINAL_COLOUR)
        buf_add_str(out, colours[p[1] - '0']);
    return 2;
}

/* One byte or character that must not be written as it is. */
static size_t take_odd(struct buf *out, const unsigned char *p, const unsigned char *end, unsigned flags)
{
    uint32_t code = 0;
    size_t len = take_mark(out, p, end, flags);
    if (len)
        return len;
    len = utf8_decode(p, end, &code);
    if (len == 0) {
        buf_printf(out, "\\x%02x", *p);
        return 1;
    }
    if (stays(code, flags))
        buf_add(out, p, len);
    else if (code == '\n' || code == '\t')
        buf_add_str(out, code == '\n' ? "\\n" : "\\t");
    else
        buf_printf(out, "\\u%04x", (unsigned)code);
    return len;
}

void terminal_text(struct buf *out, const char *data, size_t len, unsigned flags)
{
    const unsigned char *p = (const unsigned char *)data, *end = p + len;
    while (p < end) {
        const unsigned char *run = p;
        while (p < end && ((*p >= 0x20 && *p < 0x7f) || (*p == '\n' && !(flags & TERMINAL_LINE))))
            p++;
        buf_add(out, run, (size_t)(p - run));
        if (p < end)
            p += take_odd(out, p, end, flags);
    }
}

void terminal_put(FILE *out, const char *text)
{
    AUTO(buf_release) struct buf shown = {0};
    terminal_text(&shown, text, strlen(text), TERMINAL_LINE);
    if (!shown.failed && shown.len > 0)
        (void)fwrite(shown.data, 1, shown.len, out);
}

/* ---- width ---- */

static locale_t wide_locale;
static pthread_once_t wide_locale_once = PTHREAD_ONCE_INIT;

/* Whatever the environment says: our text is UTF-8. */
static void make_wide_locale(void)
{
    wide_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static size_t width_of(uint32_t code)
{
    int width = wcwidth((wchar_t)code);
    return width < 0 ? 1 : (size_t)width;
}

/* The length of a mark or a colour at p, 0 where there is none. */
static size_t skip_colour(const unsigned char *p, const unsigned char *end)
{
    if (*p == MARK && end - p >= 2)
        return 2;
    if (*p != 0x1b || end - p < 3 || p[1] != '[')
        return 0;
    const unsigned char *at = p + 2;
    while (at < end && ((*at >= '0' && *at <= '9') || *at == ';'))
        at++;
    return at < end && *at == 'm' ? (size_t)(at - p) + 1 : 0;
}

/* The width of what stands at *p, which moves on. */
static size_t step(const unsigned char **p, const unsigned char *end)
{
    uint32_t code = 0;
    size_t len = skip_colour(*p, end);
    if (len) {
        *p += len;
        return 0;
    }
    len = utf8_decode(*p, end, &code);
    *p += len ? len : 1;
    return len ? width_of(code) : 1;
}

static locale_t use_wide_locale(void)
{
    (void)pthread_once(&wide_locale_once, make_wide_locale);
    return wide_locale ? uselocale(wide_locale) : (locale_t)0;
}

static void use_former_locale(locale_t former)
{
    if (former)
        (void)uselocale(former);
}

size_t terminal_width(const char *text, size_t len)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + len;
    size_t width = 0;
    locale_t former = use_wide_locale();
    while (p < end)
        width += step(&p, end);
    use_former_locale(former);
    return width;
}

void terminal_pad(struct buf *out, const char *text, size_t columns)
{
    buf_add_str(out, text);
    for (size_t width = terminal_width(text, strlen(text)); width < columns; width++)
        buf_add_char(out, ' ');
}

size_t terminal_rows(const char *text, size_t len, size_t columns)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + len;
    size_t rows = 0, width = 0;
    locale_t former = use_wide_locale();
    while (p < end) {
        if (*p == '\n' || *p == '\t') {
            rows += *p == '\n';
            width = *p++ == '\n' ? 0 : (width / 8 + 1) * 8;
            continue;
        }
        size_t next = step(&p, end);
        if (columns && width + next > columns) {
            rows++;
            width = 0;
        }
        width += next;
    }
    use_former_locale(former);
    return rows + (width > 0);
}
