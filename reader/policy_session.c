/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and trusting the session that a text, as `qsandbox session` leaves it in the environment, names. */
#include "reader/policy_session.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "qsettings/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define ANCESTORS_MAX         1000
#define SESSION_RECORD_BYTES  256
#define SESSION_RECORD_FORMAT "qsandbox-session-1 policy=%d group=%d seconds=%llu deadline=%llu processes=%llu\n"
#define SESSION_RECORD_SEALS  (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

bool session_process(pid_t pid, pid_t *ret_parent, unsigned long long *ret_start)
{
    char path[64];
    char text[1024];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (len <= 0)
        return false;
    text[len] = '\0';
    /* The second field is the program's name in parentheses and may contain anything, so count from its last one. */
    const char *rest = strrchr(text, ')');
    int parent = 0;
    return rest &&
           sscanf(rest + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &parent,
                  ret_start) == 2 &&
           (*ret_parent = parent, true);
}

static bool is_ancestor(pid_t pid)
{
    pid_t at = getppid();
    for (int i = 0; i < ANCESTORS_MAX && at > 1; i++) {
        unsigned long long start;
        if (at == pid)
            return true;
        if (!session_process(at, &at, &start))
            return false;
    }
    return at == pid;
}

static bool runs_program(pid_t pid, const char *program)
{
    char path[64];
    struct stat theirs;
    struct stat wanted;
    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return stat(path, &theirs) == 0 && stat(program ? program : "/proc/self/exe", &wanted) == 0 &&
           theirs.st_dev == wanted.st_dev && theirs.st_ino == wanted.st_ino;
}

enum qs_status session_refuse(const char *why, struct qs_error *err)
{
    error_set(err, QS_UNTRUSTED, "the session that %s names cannot be used: %s", QS_SESSION_VARIABLE, why);
    error_add_advice(err, "start the program again with 'qsandbox session', or unset the variable to use the stores");
    return QS_UNTRUSTED;
}

/* ---- the record ---- */

static int format(const struct session_record *record, char text[SESSION_RECORD_BYTES])
{
    return snprintf(text, SESSION_RECORD_BYTES, SESSION_RECORD_FORMAT, record->policy, record->group,
                    (unsigned long long)record->seconds, (unsigned long long)record->deadline_ms,
                    (unsigned long long)record->processes);
}

enum qs_status session_record_write(const struct session_record *record, int *ret_fd, struct qs_error *err)
{
    char text[SESSION_RECORD_BYTES];
    int len = format(record, text);
    AUTO_FD int fd = memfd_create("qsandbox-session", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || os_write_full(fd, text, (size_t)len) != 0 || fcntl(fd, F_ADD_SEALS, SESSION_RECORD_SEALS) != 0)
        return error_sys(err, QS_IO, errno, "the session's record cannot be written");
    *ret_fd = steal_fd(&fd);
    return QS_OK;
}

/* Exactly what session_record_write writes: anything else is no record. */
static bool read_record(int fd, struct session_record *record)
{
    char text[SESSION_RECORD_BYTES] = "";
    char again[SESSION_RECORD_BYTES];
    unsigned long long seconds = 0;
    unsigned long long deadline = 0;
    unsigned long long processes = 0;
    int seals = fcntl(fd, F_GET_SEALS);
    ssize_t len = pread(fd, text, sizeof text - 1, 0);
    if (seals < 0 || (seals & SESSION_RECORD_SEALS) != SESSION_RECORD_SEALS || len <= 0 ||
        sscanf(text, SESSION_RECORD_FORMAT, &record->policy, &record->group, &seconds, &deadline, &processes) != 5)
        return false;
    record->seconds = seconds;
    record->deadline_ms = deadline;
    record->processes = processes;
    return format(record, again) == (int)len && memcmp(text, again, (size_t)len) == 0;
}

/* ---- finding ---- */

void session_found_release(struct session_found *found)
{
    cleanup_fd(&found->record_fd);
    cleanup_fd(&found->policy_fd);
    found->record_fd = found->policy_fd = -1;
}

int session_open_of(const struct session_found *found, int fd, int flags)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)found->pid, fd);
    return open(path, flags | O_CLOEXEC);
}

bool session_still(const struct session_found *found)
{
    pid_t parent;
    unsigned long long now = 0;
    return session_process(found->pid, &parent, &now) && now == found->start;
}

/* The process alone. */
static enum qs_status find_process(const char *text, const char *program, struct session_found *found, int *ret_fd,
                                   struct qs_error *err)
{
    int pid = 0;
    pid_t parent;
    unsigned long long now = 0;
    char extra;
    if (sscanf(text, "%d:%llu:%d%c", &pid, &found->start, ret_fd, &extra) != 3 || pid < 1 || *ret_fd < 0)
        return session_refuse("its name is malformed", err);
    found->pid = pid;
    if (!session_process(pid, &parent, &now))
        return session_refuse("it has ended", err);
    if (now != found->start)
        return session_refuse("its process ID now belongs to another process", err);
    if (!is_ancestor(pid))
        return session_refuse("it is not an ancestor of this process", err);
    if (!runs_program(pid, program))
        return session_refuse(program ? "it is not the program that it should be" : "it is not this program", err);
    return QS_OK;
}

enum qs_status session_find(const char *text, const char *program, struct session_found *ret_found,
                            struct qs_error *err)
{
    AUTO(session_found_release) struct session_found found = {.record_fd = -1, .policy_fd = -1};
    int fd = -1;
    enum qs_status status = find_process(text, program, &found, &fd, err);
    if (status)
        return status;
    found.record_fd = session_open_of(&found, fd, O_RDONLY);
    if (found.record_fd < 0 || !read_record(found.record_fd, &found.record))
        return session_refuse("its record cannot be read", err);
    found.policy_fd = session_open_of(&found, found.record.policy, O_RDONLY);
    if (found.policy_fd < 0)
        return session_refuse("its policy cannot be opened", err);
    if (!session_still(&found)) /* else the descriptors may have been another's */
        return session_refuse("it has ended", err);
    *ret_found = found;
    found.record_fd = found.policy_fd = -1;
    return QS_OK;
}

enum qs_status qs_policy_session(const char *session, const char *program, struct qs_policy_result **ret_result,
                                 struct qs_error *err)
{
    AUTO(session_found_release) struct session_found found = {.record_fd = -1, .policy_fd = -1};
    if (!session || !ret_result)
        return error_misuse(err, __func__);
    enum qs_status status = session_find(session, program, &found, err);
    return status ? status : qs_policy_thaw(found.policy_fd, ret_result, err);
}
