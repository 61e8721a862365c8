/* SPDX-License-Identifier: Apache-2.0 */
/* Text, JSON and errors of the command line. */
#include "cli/cli.h"

#include "base/os.h"
#include "base/utf8.h"
#include "terminal/less.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum qs_status output_flush(struct cli *cli, struct qs_error *err)
{
    if (cli->out.failed)
        return error_set(err, QS_IO, "out of memory while making the output");
    struct buf text AUTO(auto_buf) = {0};
    bool terminal = isatty(STDOUT_FILENO);
    bool exact = !terminal && (cli->json || (cli->command && cli->command->exact));
    if (!exact)
        terminal_text(&text, cli->out.data, cli->out.len,
                      colour_wanted(cli->colour, STDOUT_FILENO) ? TERMINAL_COLOUR : 0);
    const struct buf *shown = exact ? &cli->out : &text;
    if (shown->failed)
        return error_set(err, QS_IO, "out of memory while making the output");
    if (terminal && cli->command && cli->command->pages && !cli->no_pager &&
        pager_show(shown->data, shown->len, cli_child_signals)) {
        buf_clear(&cli->out);
        return QS_OK;
    }
    if (shown->len > 0 && os_write_full(STDOUT_FILENO, shown->data, shown->len) != 0) {
        error_sys(err, QS_IO, errno, "cannot write to standard output");
        error_add_advice(err, "what the command does was done; only its report is missing");
        err->status = QS_IO; /* a standard output that was opened for reading is no matter of permission */
        return QS_IO;
    }
    buf_clear(&cli->out);
    return QS_OK;
}

void out_json(struct cli *cli, json_t *value)
{
    if (!value || value_encode_pretty(value, &cli->out, NULL) != QS_OK)
        cli->out.failed = true;
    buf_add_char(&cli->out, '\n');
    json_decref(value);
}

void out_json_line(struct cli *cli, json_t *value)
{
    if (!value || value_encode(value, &cli->out, NULL) != QS_OK)
        cli->out.failed = true;
    buf_add_char(&cli->out, '\n');
    json_decref(value);
}

void put(struct cli *cli, json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) != 0)
        cli->out.failed = true;
}

void push(struct cli *cli, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        cli->out.failed = true;
}

/* ---- pieces ---- */

json_t *json_words(const char *text)
{
    size_t len = strlen(text), bad = 0;
    if (utf8_valid(text, len, &bad))
        return json_stringn(text, len);
    struct buf clean AUTO(auto_buf) = {0};
    while (len > 0 && !utf8_valid(text, len, &bad)) {
        buf_add(&clean, text, bad);
        buf_add_str(&clean, "\xef\xbf\xbd");
        text += bad + 1;
        len -= bad + 1;
    }
    buf_add(&clean, text, len);
    return clean.failed ? NULL : json_stringn(clean.data, clean.len);
}

const char *digest_text(const unsigned char *digest, char text[DIGEST_TEXT_BYTES])
{
    digest_format(digest, text);
    return text;
}

json_t *json_digest(const unsigned char *digest)
{
    char text[DIGEST_TEXT_BYTES];
    return json_string(digest_text(digest, text));
}

const char *time_text(int64_t time_s, char text[TIME_TEXT_BYTES])
{
    time_t seconds = (time_t)time_s;
    struct tm parts;
    if (!gmtime_r(&seconds, &parts) || strftime(text, TIME_TEXT_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        strcpy(text, "0000-00-00T00:00:00Z");
    return text;
}

json_t *json_time(int64_t time_s)
{
    char text[TIME_TEXT_BYTES];
    return json_string(time_text(time_s, text));
}

json_t *json_key(struct qs_bytes key)
{
    char text[QS_KEY_TEXT_BYTES];
    return json_string(qs_key_format(key.data, key.len, text, sizeof text));
}

json_t *json_canonical(const void *text, size_t len)
{
    json_t *value = NULL;
    return value_decode(text, len, &value, NULL) == QS_OK ? value : NULL;
}

json_t *json_scope(const struct cli *cli, const struct qs_store *store)
{
    (void)cli;
    return json_string(qs_scope_name(qs_store_scope(store)));
}

/* ---- errors ---- */

/* What to do, where the library did not say. */
static const char *usual_advice(const struct cli *cli, const struct qs_error *err)
{
    switch (err->status) {
    case QS_USAGE:
        return cli->command ? NULL : "`qsettings help` shows the commands";
    case QS_ABSENT:
        return "create the store with `qsettings init`, or check --root";
    case QS_DAMAGED:
        return "`qsettings fsck` tells more; `qsettings repair` says what can be saved";
    case QS_UNTRUSTED:
        return "look at owner and mode of each directory on the way, and at who you are";
    case QS_CONFLICT:
        return "look at what is there now, then try again";
    case QS_BUSY:
        return "try again, or wait longer with --wait";
    case QS_OK:
    case QS_NOT_FOUND:
    case QS_INVALID:
    case QS_NO_POLICY:
    case QS_IO:
    case QS_STALE:
        return NULL;
    }
    return NULL;
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

static void error_where(const struct qs_error *err, struct buf *text)
{
    if (err->file[0]) {
        buf_printf(text, ", %s", err->file);
        if (err->line)
            buf_printf(text, ":%u:%u", err->line, err->column);
    } else if (err->line) {
        buf_printf(text, ", line %u, column %u", err->line, err->column);
    }
    if (err->path[0] && !names_path(err))
        buf_printf(text, ", %s", err->path);
}

/* The page is part of what is wrong, unless the message speaks of it already. */
static void error_what(const struct qs_error *err, struct buf *text)
{
    if (err->status == QS_DAMAGED && err->page >= 0 && !strstr(err->message, "page"))
        buf_printf(text, "page %lld: ", (long long)err->page);
    buf_add_str(text, err->message);
}

/* One line for standard error, without its end; with --json as it is, but for a terminal. */
static void write_error_line(const struct cli *cli, const struct buf *line)
{
    struct buf text AUTO(auto_buf) = {0};
    if (cli->json && !isatty(STDERR_FILENO))
        buf_add(&text, line->data, line->len);
    else
        terminal_text(&text, line->data, line->len,
                      TERMINAL_LINE | (colour_wanted(cli->colour, STDERR_FILENO) ? TERMINAL_COLOUR : 0));
    buf_add_char(&text, '\n');
    if (!line->failed && !text.failed)
        (void)!os_write_full(STDERR_FILENO, text.data, text.len); /* nowhere is left to say that this failed */
}

static json_t *words_or_null(const char *text)
{
    return text[0] ? json_words(text) : json_null();
}

static void report_json(const struct cli *cli, const struct qs_error *err, const char *advice)
{
    struct buf what AUTO(auto_buf) = {0};
    struct buf text AUTO(auto_buf) = {0};
    error_what(err, &what);
    if (advice)
        buf_printf(&what, "; %s", advice);
    json_t *fields = json_object();
    json_t *error AUTO(value_release) = json_object();
    if (what.failed || !fields || !error)
        return;
    (void)json_object_set_new(fields, "status", json_integer(-err->status));
    (void)json_object_set_new(fields, "message", json_words(what.data));
    (void)json_object_set_new(fields, "file", words_or_null(err->file));
    (void)json_object_set_new(fields, "line", err->line ? json_integer(err->line) : json_null());
    (void)json_object_set_new(fields, "column", err->line ? json_integer(err->column) : json_null());
    (void)json_object_set_new(fields, "path", words_or_null(err->path));
    (void)json_object_set_new(error, "error", fields);
    if (value_encode(error, &text, NULL) == QS_OK)
        write_error_line(cli, &text);
}

void report_error(const struct cli *cli, const struct qs_error *err)
{
    const char *advice = err->advice[0] ? err->advice : usual_advice(cli, err);
    struct buf text AUTO(auto_buf) = {0};
    if (cli->json) {
        report_json(cli, err, advice);
        return;
    }
    const char *kind = qs_status_name(err->status);
    size_t len = strlen(kind);
    paint(&text, PAINT_BAD);
    buf_add_str(&text, "qsettings: ");
    if (strncmp(err->message, kind, len) != 0 || err->message[len] != ':') /* "no policy: no policy: ..." */
        buf_printf(&text, "%s: ", kind);
    paint(&text, PAINT_END);
    error_what(err, &text);
    error_where(err, &text);
    if (advice)
        buf_printf(&text, "; %s", advice);
    else if (err->status == QS_USAGE && cli->command)
        buf_printf(&text, "; see `qsettings help %s`", cli->command->name);
    write_error_line(cli, &text);
}

void warn(const struct cli *cli, const char *path, const char *format, ...)
{
    char *message AUTO_FREE = NULL;
    struct buf text AUTO(auto_buf) = {0};
    va_list args;
    va_start(args, format);
    if (vasprintf(&message, format, args) < 0)
        message = NULL;
    va_end(args);
    if (!message)
        return;
    if (cli->json) {
        json_t *line AUTO(value_release) = json_pack("{s:{s:o,s:o}}", "warning", "message", json_words(message), "path",
                                                     path ? json_words(path) : json_null());
        if (!line || value_encode(line, &text, NULL) != QS_OK)
            return;
    } else {
        paint_text(&text, PAINT_WARN, "qsettings: note: ");
        buf_printf(&text, "%s%s%s", path ? path : "", path ? ": " : "", message);
    }
    write_error_line(cli, &text);
}

void auto_buf(struct buf *buf)
{
    buf_release(buf);
}
