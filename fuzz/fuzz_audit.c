/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run log. The input is a run log, or, behind a first byte of 0, a list of texts ended by line feeds of
 * which each becomes a record in a run log that is whole.
 *
 * Invariants: read, it is whole or damaged at the line after the last good one; a whole one, also with an unfinished
 * line, takes a record, and is whole with one record more, its own; what is appended to a damaged one does not mend it.
 */
#include "fuzz/fuzz.h"
#include "sandbox/run/run_log.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct tally {
    uint64_t lines;
    char type[16];
};

static void each(void *context, const char *line, size_t len, const json_t *record)
{
    struct tally *tally = context;
    const char *type = json_string_value(json_object_get(record, "type"));
    MUST(line[len] == '\n' && json_is_object(record));
    (void)snprintf(tally->type, sizeof tally->type, "%s", type ? type : "");
    tally->lines++;
}

static enum qs_status read_all(int fd, struct run_log_check *check, struct tally *tally)
{
    struct qs_error err = {0};
    *tally = (struct tally){0};
    enum qs_status status = run_log_read(fd, each, tally, check, &err);
    MUST(status == QS_OK || (status == QS_DAMAGED && err.message[0]));
    MUST(tally->lines == check->records);
    MUST((status == QS_OK) == (check->bad_line == 0));
    MUST(status == QS_OK || check->bad_line == check->records + 1);
    return status;
}

static enum qs_status append(struct run_log *log, const char *type)
{
    json_t *fields = json_object();
    enum qs_status status = run_log_append(log, type, fields, false, NULL);
    json_decref(fields);
    return status;
}

static void check_log(struct run_log *log)
{
    struct run_log_check before, after;
    struct tally tally;
    enum qs_status was = read_all(log->fd, &before, &tally);
    enum qs_status appended = append(log, "end");
    enum qs_status now = read_all(log->fd, &after, &tally);
    if (was == QS_OK) {
        MUST(appended == QS_OK && now == QS_OK && !after.torn);
        MUST(after.records == before.records + 1 && strcmp(tally.type, "end") == 0);
    } else {
        MUST(now == QS_DAMAGED && after.bad_line == before.bad_line);
    }
}

/* A whole run log from the input's texts. */
static void make(struct run_log *log, const char *text, size_t len)
{
    for (size_t n = 0; len && n < 32; n++) {
        size_t line = strcspn(text, "\n");
        json_t *fields = json_pack("{s:s%}", "argv", text, line);
        if (fields)
            MUST(run_log_append(log, "start", fields, n % 2, NULL) == QS_OK);
        json_decref(fields);
        line += text[line] == '\n';
        text += line;
        len -= line;
        if (!line)
            break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run_log log = {.fd = memfd_create("fuzz", MFD_CLOEXEC), .id = "0123456789abcdef0123456789abcdef"};
    MUST(log.fd >= 0 && fcntl(log.fd, F_SETFL, O_APPEND) == 0); /* as it is opened for use */
    if (size && data[0] == 0) {
        char *text = strndup((const char *)data + 1, size - 1);
        struct run_log_check check;
        struct tally tally;
        MUST(text);
        make(&log, text, strlen(text));
        MUST(read_all(log.fd, &check, &tally) == QS_OK && !check.torn);
        free(text);
    } else {
        MUST(write(log.fd, data, size) == (ssize_t)size);
    }
    check_log(&log);
    (void)close(log.fd);
    return 0;
}
