/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and trusting the session that a text, as `qsandbox session` leaves it in the environment, names. */
#include "reader/session.h"

#include "qsettings/policy.h"
#include "store/cleanup.h"
#include "store/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ANCESTORS_MAX 1000

bool session_process(pid_t pid, pid_t *ret_parent, unsigned long long *ret_start)
{
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (len <= 0)
        return false;
    text[len] = '\0';
    /* The second field is the program's name in parentheses and may hold anything, so count from its last one. */
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
    struct stat theirs, wanted;
    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return stat(path, &theirs) == 0 && stat(program ? program : "/proc/self/exe", &wanted) == 0 &&
           theirs.st_dev == wanted.st_dev && theirs.st_ino == wanted.st_ino;
}

static enum qs_status refuse(const char *why, struct qs_error *err)
{
    error_set(err, QS_UNTRUSTED, "the session that %s names cannot be used: %s", QS_SESSION_VARIABLE, why);
    error_add_advice(err, "start the program anew with `qsandbox session`, or unset the variable to use the stores");
    return QS_UNTRUSTED;
}

enum qs_status qs_policy_session(const char *session, const char *program, struct qs_policy_result **ret_result,
                                 struct qs_error *err)
{
    int pid = 0, fd = -1;
    unsigned long long start = 0, now = 0;
    pid_t parent;
    char extra, path[64];
    if (sscanf(session, "%d:%llu:%d%c", &pid, &start, &fd, &extra) != 3 || pid < 1 || fd < 0)
        return refuse("its name is malformed", err);
    if (!session_process(pid, &parent, &now))
        return refuse("it has ended", err);
    if (now != start)
        return refuse("its process number belongs to another process now", err);
    if (!is_ancestor(pid))
        return refuse("it is no ancestor of this process", err);
    if (!runs_program(pid, program))
        return refuse(program ? "it is not the program that it should be" : "it is not this program", err);
    (void)snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    AUTO_FD int frozen = open(path, O_RDONLY | O_CLOEXEC);
    if (frozen < 0)
        return refuse("its policy cannot be opened", err);
    if (!session_process(pid, &parent, &now) ||
        now != start) /* the same process still, so the descriptor was its own */
        return refuse("it has ended", err);
    return qs_policy_thaw(frozen, ret_result, err);
}
