/* SPDX-License-Identifier: Apache-2.0 */
/* The journal: opening and appending. */
#include "sandbox/run/run_log.h"

#include "sandbox/run/log_chain.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/os.h"
#include "text/value.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define LOCK_WAIT_MS 10000
#define LOCK_STEP_MS 2

void audit_close(struct audit *audit)
{
    cleanup_fd(&audit->fd);
    audit->fd = -1;
}

enum qs_status audit_open(const struct state_place *place, struct audit *ret_audit, struct qs_error *err)
{
    AUTO_FD int dir = -1;
    uint8_t id[(AUDIT_ID_BYTES - 1) / 2];
    enum qs_status status = state_open(place, "journal", true, &dir, NULL, err);
    if (status == QS_OK)
        status = os_random(id, sizeof id, err);
    if (status != QS_OK)
        return status;
    bool made = true;
    AUTO_FD int fd = openat(dir, "journal", O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST) {
        made = false;
        fd = openat(dir, "journal", O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    }
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        return error_sys(err, QS_IO, errno, "cannot open the journal");
    if (!S_ISREG(st.st_mode) || st.st_uid != place->uid || (st.st_mode & (S_IWGRP | S_IWOTH)) || st.st_nlink != 1)
        return error_set(err, QS_UNTRUSTED, "the journal is not a file of the runner alone");
    if (made && os_fsync(dir) != 0)
        return error_sys(err, QS_IO, errno, "cannot make the new journal durable");
    ret_audit->fd = steal_fd(&fd);
    for (size_t i = 0; i < sizeof id; i++)
        (void)snprintf(ret_audit->id + 2 * i, 3, "%02x", id[i]);
    return QS_OK;
}

/* ---- appending ---- */

static enum qs_status lock_journal(int fd, struct qs_error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    for (unsigned waited = 0; fcntl(fd, F_OFD_SETLK, &lock) != 0; waited += LOCK_STEP_MS) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return error_sys(err, QS_IO, errno, "cannot lock the journal");
        if (waited >= LOCK_WAIT_MS)
            return error_set(err, QS_BUSY, "another executor has held the journal for %d s", LOCK_WAIT_MS / 1000);
        qs_os->sleep_ms(LOCK_STEP_MS);
    }
    return QS_OK;
}

static void unlock_journal(int fd)
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

static bool add_chain(const struct audit *audit, const char *type, const struct audit_tail *tail, json_t *fields)
{
    char now[40];
    time_text(now);
    bool done = json_object_set_new(fields, "type", json_string(type)) == 0 &&
                json_object_set_new(fields, "run", json_string(audit->id)) == 0 &&
                json_object_set_new(fields, "time", json_string(now)) == 0 &&
                json_object_set_new(fields, "number", json_integer((json_int_t)tail->number + 1)) == 0 &&
                json_object_set_new(fields, "previous", json_string(tail->digest)) == 0;
    if (done && tail->size > tail->end) /* an unfinished line was never acknowledged */
        done = json_object_set_new(fields, "tornBytes", json_integer(tail->size - tail->end)) == 0;
    return done;
}

static enum qs_status append_locked(struct audit *audit, const char *type, json_t *fields, bool durable,
                                    struct qs_error *err)
{
    struct audit_tail tail = {0};
    AUTO(buf_release) struct buf line = {0};
    enum qs_status status = audit_tail(audit->fd, &tail, err);
    if (status != QS_OK)
        return status;
    if (!add_chain(audit, type, &tail, fields))
        return error_set(err, QS_IO, "out of memory");
    status = value_encode(fields, &line, err);
    if (status != QS_OK)
        return status;
    buf_add_char(&line, '\n');
    if (line.failed || line.len > AUDIT_RECORD_MAX_BYTES)
        return error_set(err, QS_INVALID, "the record of this run is longer than %zu bytes", AUDIT_RECORD_MAX_BYTES);
    if (tail.size > tail.end && ftruncate(audit->fd, tail.end) != 0)
        return error_sys(err, QS_IO, errno, "cannot cut the journal's unfinished line off");
    if (os_write_full(audit->fd, line.data, line.len) != 0) {
        status = error_sys(err, QS_IO, errno, "cannot write to the journal");
        (void)!ftruncate(audit->fd, tail.end);
        return status;
    }
    if (durable && os_fdatasync(audit->fd) != 0)
        return error_sys(err, QS_IO, errno, "cannot make the journal durable");
    return QS_OK;
}

enum qs_status audit_append(struct audit *audit, const char *type, json_t *fields, bool durable, struct qs_error *err)
{
    enum qs_status status = lock_journal(audit->fd, err);
    if (status != QS_OK)
        return status;
    status = append_locked(audit, type, fields, durable, err);
    unlock_journal(audit->fd);
    return status;
}
