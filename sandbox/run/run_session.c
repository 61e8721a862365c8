/* SPDX-License-Identifier: Apache-2.0 */
/* Entering a session, and taking a share of its processes. */
#include "sandbox/run/run_session.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "sandbox/wire/sys.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

void run_session_release(struct run_session *session)
{
    cleanup_fd(&session->pool);
    cleanup_fd(&session->process);
    cleanup_fd(&session->group);
    *session = RUN_SESSION_NONE;
}

uint64_t run_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static enum qs_status check_time(const struct run_session *session, struct qs_error *err)
{
    if (!session->record.deadline_ms || run_now_ms() < session->record.deadline_ms)
        return QS_OK;
    return error_set(err, QS_UNTRUSTED, "the session's time is over: --timeout of %llu s",
                     (unsigned long long)session->record.seconds);
}

enum qs_status run_session_enter(const char *text, struct run_session *ret_session,
                                 struct qs_policy_result **ret_result, struct qs_error *err)
{
    AUTO(session_found_release) struct session_found found = {.record_fd = -1, .policy_fd = -1};
    AUTO(run_session_release) struct run_session session = RUN_SESSION_NONE;
    char own[64];
    enum qs_status status = session_find(text, NULL, &found, err);
    if (status)
        return status;
    session.record = found.record;
    session.process = sys_pidfd_open(found.pid);
    (void)snprintf(own, sizeof own, "/proc/self/fd/%d", found.record_fd);
    session.pool = open(own, O_RDWR | O_CLOEXEC); /* sealed: for locks, not for writing */
    if (found.record.group >= 0)
        session.group = session_open_of(&found, found.record.group, O_RDONLY | O_DIRECTORY);
    if (session.pool < 0 || (found.record.group >= 0 && session.group < 0))
        return session_refuse("its record or its control group cannot be opened", err);
    if (session.process < 0 || !session_still(&found))
        return session_refuse("it has ended", err);
    status = check_time(&session, err);
    if (!status)
        status = qs_policy_thaw(found.policy_fd, ret_result, err);
    if (!status) {
        *ret_session = session;
        session = RUN_SESSION_NONE;
    }
    return status;
}

/* ---- the pool ---- */

/* The first bytes of [at, end) that nobody holds; false where there are none. Locks of an open file description:
 * fcntl(2). A conflict that is told need not be the first one. */
static bool free_run(int fd, uint64_t at, uint64_t end, struct flock *ret_free)
{
    uint64_t to = end;
    while (at < to) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)at, .l_len = (off_t)(to - at)};
        if (fcntl(fd, F_OFD_GETLK, &lock) != 0)
            return false;
        if (lock.l_type == F_UNLCK) {
            *ret_free = (struct flock){.l_type = F_WRLCK,
                                       .l_whence = SEEK_SET,
                                       .l_start = (off_t)at,
                                       .l_len = (off_t)(to - at)};
            return true;
        }
        if (lock.l_len == 0)
            return false; /* held to the end of all files: not by a run */
        if (lock.l_start > (off_t)at) {
            to = (uint64_t)lock.l_start;
        } else {
            at = (uint64_t)(lock.l_start + lock.l_len);
            to = end;
        }
    }
    return false;
}

enum qs_status run_session_take(const struct run_session *session, uint64_t wanted, uint64_t *ret_taken,
                                struct qs_error *err)
{
    struct flock lock;
    uint64_t taken = 0, at = 0, need = wanted ? wanted : session->record.processes;
    while (taken < need && free_run(session->pool, at, session->record.processes, &lock)) {
        if ((uint64_t)lock.l_len > need - taken)
            lock.l_len = (off_t)(need - taken);
        if (fcntl(session->pool, F_OFD_SETLK, &lock) == 0) {
            taken += (uint64_t)lock.l_len;
            at = (uint64_t)(lock.l_start + lock.l_len);  /* its own locks are no conflict */
        } else if (errno != EAGAIN && errno != EACCES) { /* else another run was quicker: look again */
            return error_sys(err, QS_IO, errno, "cannot take a share of the session's processes");
        }
    }
    if (taken == 0) {
        error_set(err, QS_BUSY, "the session's other runs have all of its %llu processes",
                  (unsigned long long)session->record.processes);
        error_add_advice(err, "wait for them, or set executor.limits.processes, which is what one run takes");
        return QS_BUSY;
    }
    *ret_taken = taken;
    return QS_OK;
}
