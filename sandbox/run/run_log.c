/* SPDX-License-Identifier: Apache-2.0 */
/* The run log: opening, appending, and reading it to see whether the chain is whole. */
#include "sandbox/run/run_log.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/os.h"
#include "text/value.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define LOCK_WAIT_MS 10000
#define LOCK_STEP_MS 2

void run_log_close(struct run_log *log)
{
    cleanup_fd(&log->fd);
    log->fd = -1;
}

enum qs_status run_log_open(const struct state_base *base, struct run_log *ret_log, struct qs_error *err)
{
    AUTO_FD int dir = -1;
    uint8_t id[(RUN_LOG_ID_BYTES - 1) / 2];
    enum qs_status status = state_open(base, "journal", true, &dir, NULL, err);
    if (!status)
        status = os_random(id, sizeof id, err);
    if (status)
        return status;
    bool made = true;
    AUTO_FD int fd = openat(dir, "journal", O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) {
        made = false;
        fd = openat(dir, "journal", O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    }
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        return error_sys(err, QS_IO, errno, "cannot open the run log");
    if (!S_ISREG(st.st_mode) || st.st_uid != base->uid || (st.st_mode & (S_IWGRP | S_IWOTH)) || st.st_nlink != 1)
        return error_set(err, QS_UNTRUSTED, "the run log is not a file of the runner alone");
    if (made && os_fsync(dir) != 0)
        return error_sys(err, QS_IO, errno, "cannot make the new run log durable");
    ret_log->fd = steal_fd(&fd);
    for (size_t i = 0; i < sizeof id; i++)
        (void)snprintf(ret_log->id + 2 * i, 3, "%02x", id[i]);
    return QS_OK;
}

/* ---- its end ---- */

struct run_log_tail {
    off_t end;  /* after the last whole line */
    off_t size; /* of the file; more than end where a line is unfinished */
    uint64_t number;
    char digest[DIGEST_TEXT_BYTES];
};

static const char no_record[] = ""; /* the digest of nothing begins the chain */

static void digest_text(const void *line, size_t len, char text[DIGEST_TEXT_BYTES])
{
    uint8_t digest[QS_DIGEST_BYTES];
    digest_of(line, len, digest);
    digest_format(digest, text);
}

static enum qs_status number_of(const char *line, size_t len, uint64_t *ret_number, struct qs_error *err)
{
    AUTO(value_release) json_t *record = NULL;
    if (value_decode(line, len, &record, NULL) != QS_OK || !json_is_integer(json_object_get(record, "number")))
        return error_set(err, QS_DAMAGED, "the run log's last line is no record");
    *ret_number = (uint64_t)json_integer_value(json_object_get(record, "number"));
    return QS_OK;
}

/* The end of the log, as far as it is needed to append to it. Errors: QS_DAMAGED (the last line is no record, or longer
 * than one may be), QS_IO. Cost: a look at the last 8 KiB. */
static enum qs_status read_tail(int fd, struct run_log_tail *ret_tail, struct qs_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return error_sys(err, QS_IO, errno, "cannot look at the run log");
    struct run_log_tail tail = {.size = st.st_size};
    digest_text(no_record, 0, tail.digest);
    size_t want = (size_t)st.st_size < 2 * RUN_LOG_RECORD_MAX_BYTES ? (size_t)st.st_size : 2 * RUN_LOG_RECORD_MAX_BYTES;
    size_t piece = want < 8192 ? want : 8192;
    for (;;) { /* a small piece first: records are short */
        AUTO_FREE char *text = malloc(piece + 1);
        if (!text || os_pread_full(fd, text, piece, st.st_size - (off_t)piece) != (ssize_t)piece)
            return error_sys(err, QS_IO, text ? errno : ENOMEM, "cannot read the run log's end");
        char *last = memrchr(text, '\n', piece);
        char *before = last ? memrchr(text, '\n', (size_t)(last - text)) : NULL;
        bool whole = piece == (size_t)st.st_size;
        if ((last && before) || whole) {
            tail.end = last ? st.st_size - (off_t)piece + (last - text) + 1 : 0;
            const char *line = before ? before + 1 : text;
            *ret_tail = tail;
            if (!last)
                return QS_OK;
            digest_text(line, (size_t)(last - line), ret_tail->digest);
            return number_of(line, (size_t)(last - line), &ret_tail->number, err);
        }
        if (piece == want)
            return error_set(err, QS_DAMAGED, "the run log's last line is longer than a record may be");
        piece = want;
    }
}

/* ---- appending ---- */

static enum qs_status lock_log(int fd, struct qs_error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    for (unsigned waited = 0; fcntl(fd, F_OFD_SETLK, &lock) != 0; waited += LOCK_STEP_MS) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return error_sys(err, QS_IO, errno, "cannot lock the run log");
        if (waited >= LOCK_WAIT_MS)
            return error_set(err, QS_BUSY, "another executor has held the run log for %d s", LOCK_WAIT_MS / 1000);
        qs_os->sleep_ms(LOCK_STEP_MS);
    }
    return QS_OK;
}

static void unlock_log(int fd)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    (void)fcntl(fd, F_OFD_SETLK, &lock);
}

static void time_text(char text[40])
{
    struct timespec now;
    struct tm tm;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &tm);
    size_t len = strftime(text, 40, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(text + len, 40 - len, ".%03ldZ", now.tv_nsec / 1000000);
}

static bool add_chain(const struct run_log *log, const char *type, const struct run_log_tail *tail, json_t *fields)
{
    char now[40];
    time_text(now);
    bool done = json_object_set_new(fields, "type", json_string(type)) == 0 &&
                json_object_set_new(fields, "run", json_string(log->id)) == 0 &&
                json_object_set_new(fields, "time", json_string(now)) == 0 &&
                json_object_set_new(fields, "number", json_integer((json_int_t)tail->number + 1)) == 0 &&
                json_object_set_new(fields, "previous", json_string(tail->digest)) == 0;
    if (done && tail->size > tail->end) /* an unfinished line was never acknowledged */
        done = json_object_set_new(fields, "tornBytes", json_integer(tail->size - tail->end)) == 0;
    return done;
}

static enum qs_status append_locked(struct run_log *log, const char *type, json_t *fields, bool durable,
                                    struct qs_error *err)
{
    struct run_log_tail tail = {0};
    AUTO(buf_release) struct buf line = {0};
    enum qs_status status = read_tail(log->fd, &tail, err);
    if (status)
        return status;
    if (!add_chain(log, type, &tail, fields))
        return error_memory(err);
    status = value_encode(fields, &line, err);
    if (status)
        return status;
    buf_add_char(&line, '\n');
    if (line.failed || line.len > RUN_LOG_RECORD_MAX_BYTES)
        return error_set(err, QS_INVALID, "the record of this run is longer than %zu bytes", RUN_LOG_RECORD_MAX_BYTES);
    if (tail.size > tail.end && ftruncate(log->fd, tail.end) != 0)
        return error_sys(err, QS_IO, errno, "cannot cut the run log's unfinished line off");
    if (os_write_full(log->fd, line.data, line.len) != 0) {
        status = error_sys(err, QS_IO, errno, "cannot write to the run log");
        (void)!ftruncate(log->fd, tail.end);
        return status;
    }
    if (durable && os_fdatasync(log->fd) != 0)
        return error_sys(err, QS_IO, errno, "cannot make the run log durable");
    return QS_OK;
}

enum qs_status run_log_append(struct run_log *log, const char *type, json_t *fields, bool durable, struct qs_error *err)
{
    enum qs_status status = lock_log(log->fd, err);
    if (status)
        return status;
    status = append_locked(log, type, fields, durable, err);
    unlock_log(log->fd);
    return status;
}

/* ---- the whole ---- */

static void release_file(FILE **file)
{
    if (*file)
        (void)fclose(*file);
}

static bool in_chain(const json_t *record, const char *previous, uint64_t number)
{
    const char *text = json_string_value(json_object_get(record, "previous"));
    const json_t *count = json_object_get(record, "number");
    return text && strcmp(text, previous) == 0 && json_is_integer(count) &&
           (uint64_t)json_integer_value(count) == number;
}

enum qs_status run_log_read(int fd, void (*each)(void *context, const char *line, size_t len, const json_t *record),
                            void *context, struct run_log_check *ret_check, struct qs_error *err)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    AUTO(release_file) FILE *file = copy < 0 ? NULL : fdopen(copy, "r");
    AUTO_FREE char *line = NULL;
    size_t size = 0;
    ssize_t len;
    char previous[DIGEST_TEXT_BYTES];
    *ret_check = (struct run_log_check){0};
    if (!file || fseek(file, 0, SEEK_SET) != 0)
        return error_sys(err, QS_IO, errno, "cannot read the run log");
    digest_text(no_record, 0, previous);
    while ((len = getline(&line, &size, file)) > 0) {
        if (line[len - 1] != '\n') {
            ret_check->torn = true;
            break;
        }
        len--;
        AUTO(value_release) json_t *record = NULL;
        bool good = value_decode(line, (size_t)len, &record, NULL) == QS_OK &&
                    in_chain(record, previous, ret_check->records + 1);
        if (!good) {
            ret_check->bad_line = ret_check->records + 1;
            return error_set(err, QS_DAMAGED, "the run log's chain breaks at line %llu",
                             (unsigned long long)ret_check->bad_line);
        }
        digest_text(line, (size_t)len, previous);
        ret_check->records++;
        if (each)
            each(context, line, (size_t)len, record);
    }
    return ferror(file) ? error_sys(err, QS_IO, errno, "cannot read the run log") : QS_OK;
}
