/* SPDX-License-Identifier: Apache-2.0 */
/* Errors and notes on standard error. */
#include "terminal/voice.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "base/utf8.h"
#include "terminal/paint.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool line_colour(const struct command_line *line, int fd)
{
    enum colour_wish wish = COLOUR_AUTO;
    if (line->color)
        (void)colour_wish_by_name(line->color, &wish);
    return colour_wanted(wish, fd);
}

/* One line; JSON as it is, but for a terminal. */
static void write_line(const struct command_line *line, const struct buf *message)
{
    AUTO(buf_release) struct buf text = {0};
    if (line->json && !isatty(STDERR_FILENO))
        buf_add(&text, message->data, message->len);
    else
        terminal_text(&text, message->data, message->len,
                      TERMINAL_LINE | (line_colour(line, STDERR_FILENO) ? TERMINAL_COLOUR : 0));
    buf_add_char(&text, '\n');
    if (!message->failed && !text.failed)
        (void)!os_write_full(STDERR_FILENO, text.data, text.len); /* nowhere is left to say that this failed */
}

json_t *json_words(const char *text)
{
    size_t len = strlen(text), bad = 0;
    if (utf8_valid(text, len, &bad))
        return json_stringn(text, len);
    AUTO(buf_release) struct buf clean = {0};
    while (len > 0 && !utf8_valid(text, len, &bad)) {
        buf_add(&clean, text, bad);
        buf_add_str(&clean, "\xef\xbf\xbd");
        text += bad + 1;
        len -= bad + 1;
    }
    buf_add(&clean, text, len);
    return clean.failed ? NULL : json_stringn(clean.data, clean.len);
}

/* ---- errors ---- */

/* The page is part of what is wrong, unless the message speaks of it already. */
static void add_what(const struct qs_error *err, struct buf *text)
{
    if (err->status == QS_DAMAGED && err->page >= 0 && !strstr(err->message, "page"))
        buf_printf(text, "page %lld: ", (long long)err->page);
    buf_add_str(text, err->message);
}

/* "tools.x is 3; ..." and "no layer sets tools.x" name the path already. */
static bool names_path(const struct qs_error *err)
{
    size_t message = strlen(err->message), path = strlen(err->path);
    if (message <= path)
        return false;
    return (strncmp(err->message, err->path, path) == 0 && strchr(" :[", err->message[path])) ||
           (err->message[message - path - 1] == ' ' && strcmp(err->message + message - path, err->path) == 0);
}

/* " (FILE:LINE:COLUMN, 'KEY')", as far as these are known. */
static void add_where(const struct qs_error *err, struct buf *text)
{
    bool key = err->path[0] && !names_path(err);
    if (!err->file[0] && !err->line && !key)
        return;
    buf_add_str(text, " (");
    buf_add_str(text, err->file);
    if (err->line)
        buf_printf(text, err->file[0] ? ":%u:%u" : "line %u, column %u", err->line, err->column);
    if (key)
        buf_printf(text, "%s'%s'", err->file[0] || err->line ? ", " : "", err->path);
    buf_add_char(text, ')');
}

void add_shell_word(struct buf *out, const char *text)
{
    for (const char *at = text; *at; at++) {
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./,:@%+=-", *at))
            buf_add_char(out, '\\');
        buf_add_char(out, *at);
    }
}

/* What stands in "'qsettings COMMAND ...'" between the program's name and the rest: --root and the scope of this line,
 * unless the rest has them, or the command takes none. */
static void add_stores(const struct command_line *line, const char *rest, bool own, struct buf *text)
{
    char name[32];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(rest, " '"), rest);
    const struct command *command = own ? command_find(line->program, name) : NULL;
    if (line->root && strncmp(rest, "--root ", 7) != 0 && strcmp(name, "help") != 0) {
        buf_add_str(text, "--root ");
        add_shell_word(text, line->root);
        buf_add_char(text, ' ');
    }
    if (line->leading && command && option_listed(command->options, line->leading->name))
        buf_printf(text, "--%s%s%s ", line->leading->name, line->leading_value ? " " : "",
                   line->leading_value ? line->leading_value : "");
}

void add_advice(const struct command_line *line, const char *advice, struct buf *text)
{
    static const char *const programs[] = {"'qsettings ", "'qsandbox "}; /* they take --root before the command */
    for (const char *quote; (quote = strchr(advice, '\'')); advice = quote) {
        size_t len = 1;
        buf_add(text, advice, (size_t)(quote - advice));
        for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
            if (strncmp(quote, programs[i], strlen(programs[i])) == 0)
                len = strlen(programs[i]);
        buf_add(text, quote, len);
        if (len > 1)
            add_stores(line, quote + len, strncmp(quote + 1, line->program->name, len - 2) == 0, text);
        quote += len;
    }
    buf_add_str(text, advice);
}

/* "; what to do"; of a wrong command line, where that is described. */
static void add_what_to_do(const struct command_line *line, const struct qs_error *err, struct buf *text)
{
    const struct program *program = line->program;
    const char *advice = err->advice[0] ? err->advice : program->advice ? program->advice(err) : NULL;
    size_t len = advice ? strlen(advice) : 0;
    if (advice) {
        buf_add_str(text, "; ");
        add_advice(line, advice, text);
    }
    if (err->status != QS_USAGE || (advice && strncmp(advice, "usage: ", 7) == 0))
        return;
    buf_printf(text, "%s '%s%s%s --help'", len && advice[len - 1] == '?' ? " See" : "; see", program->name,
               line->command ? " " : "", line->command ? line->command->name : "");
}

static json_t *words_or_null(const char *text)
{
    return text[0] ? json_words(text) : json_null();
}

static void error_json(const struct command_line *line, const struct qs_error *err, json_t *members)
{
    AUTO(buf_release) struct buf what = {0}, text = {0};
    add_what(err, &what);
    add_what_to_do(line, err, &what);
    if (what.failed)
        return;
    AUTO(value_release)
    json_t *error =
        json_pack("{s:{s:i,s:o,s:o,s:o,s:o,s:o}}", "error", "status", -err->status, "message", json_words(what.data),
                  "file", words_or_null(err->file), "line", err->line ? json_integer(err->line) : json_null(), "column",
                  err->line ? json_integer(err->column) : json_null(), "path", words_or_null(err->path));
    bool added = error && (!members || json_object_update(json_object_get(error, "error"), members) == 0);
    if (added && !value_encode(error, &text, NULL))
        write_line(line, &text);
}

void voice_error(const struct command_line *line, const struct qs_error *err)
{
    voice_error_with(line, err, NULL);
}

/* "KIND: ", or nothing. Where the exit status is another program's, it is also the only place for the number. */
static void add_kind(const struct command_line *line, const struct qs_error *err, struct buf *text)
{
    const char *kind = line->program->kind ? line->program->kind(err->status) : qs_status_name(err->status);
    size_t len = strlen(kind);
    bool said = strncmp(err->message, kind, len) == 0 && err->message[len] == ':'; /* "no policy: no policy: ..." */
    if (line->command && command_takes_command(line->command))
        buf_printf(text, "status %d (%s): ", -err->status, kind);
    else if (err->status != QS_USAGE && err->status != QS_FOLLOW_UP && !said)
        buf_printf(text, "%s: ", kind);
}

void voice_error_with(const struct command_line *line, const struct qs_error *err, json_t *members)
{
    AUTO(buf_release) struct buf text = {0};
    if (!err->message[0])
        return;
    if (line->json) {
        error_json(line, err, members);
        return;
    }
    paint(&text, PAINT_BAD);
    buf_printf(&text, "%s: ", line->program->name);
    if (line->command)
        buf_printf(&text, "%s: ", line->command->name);
    add_kind(line, err, &text);
    paint(&text, PAINT_END);
    add_what(err, &text);
    add_where(err, &text);
    add_what_to_do(line, err, &text);
    write_line(line, &text);
}

/* ---- notes ---- */

void voice_note(const struct command_line *line, const char *path, const char *format, ...)
{
    AUTO_FREE char *message = NULL;
    AUTO(buf_release) struct buf text = {0};
    va_list args;
    va_start(args, format);
    if (vasprintf(&message, format, args) < 0)
        message = NULL;
    va_end(args);
    if (!message)
        return;
    if (line->json) {
        AUTO(value_release)
        json_t *note = json_pack("{s:{s:o,s:o}}", "warning", "message", json_words(message), "path",
                                 path ? json_words(path) : json_null());
        if (!note || value_encode(note, &text, NULL))
            return;
    } else {
        paint(&text, PAINT_WARN);
        buf_printf(&text, "%s: note: ", line->program->name);
        paint(&text, PAINT_END);
        buf_printf(&text, "%s%s", path ? path : "", path ? ": " : "");
        add_advice(line, message, &text);
    }
    write_line(line, &text);
}
