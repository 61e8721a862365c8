/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of the probe share. */
#include "sandbox/verify/inside_checks.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PROC_MAX_BYTES ((size_t)256 << 10)

static void __attribute__((format(printf, 3, 0)))
conclude(struct inside_record *record, enum verify_result result, const char *format, va_list args)
{
    record->result = result;
    (void)vsnprintf(record->detail, sizeof record->detail, format, args);
}

void inside_pass(struct inside_record *record, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    conclude(record, VERIFY_PASS, format, args);
    va_end(args);
}

void inside_fail(struct inside_record *record, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    conclude(record, VERIFY_FAIL, format, args);
    va_end(args);
}

void inside_skip(struct inside_record *record, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    conclude(record, VERIFY_NOT_APPLICABLE, format, args);
    va_end(args);
}

const char *inside_errno(int error)
{
    const char *name = error ? strerrorname_np(error) : "success";
    return name ? name : "an unknown error";
}

_Noreturn void inside_linger(void)
{
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGALRM, SIG_DFL);
    (void)alarm(INSIDE_WALL_SECONDS);
    for (;;)
        (void)pause();
}

/* ---- /proc ---- */

static size_t read_file(const char *path, char *data, size_t size)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t got;
    while (fd >= 0 && len < size && (got = read(fd, data + len, size - len)) > 0)
        len += (size_t)got;
    return len;
}

bool inside_each_process(const char *name, bool (*each)(const char *data, size_t len, const void *context),
                         const void *context, int *ret_pid)
{
    AUTO_FREE char *data = malloc(PROC_MAX_BYTES);
    DIR *list = opendir("/proc");
    struct dirent *entry;
    bool found = false;
    while (data && list && !found && (entry = readdir(list))) {
        char path[64];
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        (void)snprintf(path, sizeof path, "/proc/%.20s/%s", entry->d_name, name);
        found = each(data, read_file(path, data, PROC_MAX_BYTES), context);
        if (found && ret_pid)
            *ret_pid = (int)strtol(entry->d_name, NULL, 10);
    }
    if (list)
        (void)closedir(list);
    return found;
}
