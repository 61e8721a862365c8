/* SPDX-License-Identifier: Apache-2.0 */
/* The error record: the one place that formats messages. */
#include "base/error.h"

#include "qsettings/version.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *qs_status_name(enum qs_status status)
{
    switch (status) {
    case QS_OK:
        return "ok";
    case QS_NOT_FOUND:
        return "not found";
    case QS_USAGE:
        return "usage";
    case QS_INVALID:
        return "invalid input";
    case QS_NO_POLICY:
        return "no policy";
    case QS_ABSENT:
        return "absent";
    case QS_DAMAGED:
        return "damaged";
    case QS_UNTRUSTED:
        return "untrusted or not permitted";
    case QS_CONFLICT:
        return "conflict";
    case QS_BUSY:
        return "busy";
    case QS_IO:
        return "input/output error";
    case QS_FOLLOW_UP:
        return "done, but a follow-up failed";
    case QS_STALE:
        return "stale";
    case QS_NEWER:
        return "made by a newer version";
    }
    return "unknown status";
}

/* Control characters in a message would let a file name or a key write to the terminal: they become '?'. */
static void one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

__attribute__((format(printf, 3, 0))) static void fill(struct qs_error *err, enum qs_status status, const char *format,
                                                       va_list args)
{
    memset(err, 0, sizeof *err);
    err->status = status;
    err->page = -1;
    (void)vsnprintf(err->message, sizeof err->message, format, args);
    one_line(err->message);
}

enum qs_status error_set(struct qs_error *err, enum qs_status status, const char *format, ...)
{
    int saved = errno;
    if (err) {
        va_list args;
        va_start(args, format);
        fill(err, status, format, args);
        va_end(args);
    }
    errno = saved;
    return status;
}

enum qs_status error_sys(struct qs_error *err, enum qs_status status, int sys_errno, const char *format, ...)
{
    int saved = errno;
    if (status == QS_IO && (sys_errno == EACCES || sys_errno == EPERM || sys_errno == EROFS))
        status = QS_UNTRUSTED;
    if (err) {
        va_list args;
        va_start(args, format);
        fill(err, status, format, args);
        va_end(args);
        err->sys_errno = sys_errno;
        size_t len = strlen(err->message);
        char text[128];
        (void)snprintf(err->message + len, sizeof err->message - len, ": %s", strerror_r(sys_errno, text, sizeof text));
    }
    errno = saved;
    return status;
}

enum qs_status error_newer(struct qs_error *err, const char *format, ...)
{
    int saved = errno;
    if (err) {
        va_list args;
        va_start(args, format);
        fill(err, QS_NEWER, format, args);
        va_end(args);
        error_add_advice(err, "use the version of qsettings that made it, or a later one: this is %s", QS_VERSION);
    }
    errno = saved;
    return QS_NEWER;
}

enum qs_status error_misuse(struct qs_error *err, const char *function)
{
    return error_set(err, QS_USAGE, "%s was called with an argument that is NULL or out of range", function);
}

enum qs_status error_memory(struct qs_error *err)
{
    return error_set(err, QS_IO, "out of memory");
}

enum qs_status error_page(struct qs_error *err, int64_t page, const char *format, ...)
{
    int saved = errno;
    if (err) {
        va_list args;
        va_start(args, format);
        fill(err, QS_DAMAGED, format, args);
        va_end(args);
        err->page = page;
    }
    errno = saved;
    return QS_DAMAGED;
}

static void add_text(char *field, size_t size, const char *text)
{
    if (field[0])
        return;
    (void)snprintf(field, size, "%s", text);
    one_line(field);
}

void error_add_file(struct qs_error *err, const char *file)
{
    if (err && file)
        add_text(err->file, sizeof err->file, file);
}

void error_add_path(struct qs_error *err, const char *key_path)
{
    if (err && key_path)
        add_text(err->path, sizeof err->path, key_path);
}

void error_add_place(struct qs_error *err, unsigned line, unsigned column)
{
    if (err && !err->line) {
        err->line = line;
        err->column = column;
    }
}

void error_add_advice(struct qs_error *err, const char *format, ...)
{
    if (!err || err->advice[0])
        return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(err->advice, sizeof err->advice, format, args);
    va_end(args);
    one_line(err->advice);
}
