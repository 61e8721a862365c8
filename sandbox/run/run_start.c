/* SPDX-License-Identifier: Apache-2.0 */
/* Starting bubblewrap: arguments in a memory file, pipes, a child that keeps exactly the descriptors it needs. */
#include "sandbox/run/run_start.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "sandbox/host/probe.h"
#include "sandbox/plan/bwrap_args.h"
#include "sandbox/wire/spawn.h"
#include "sandbox/wire/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define CLOSE_RANGE_CLOEXEC_FLAG 4u /* linux/close_range.h */

void run_pipes_release(struct run_pipes *pipes)
{
    cleanup_fd(&pipes->spec);
    cleanup_fd(&pipes->events);
    cleanup_fd(&pipes->control);
    cleanup_fd(&pipes->error);
    *pipes = RUN_PIPES_NONE;
}

/* What the child needs beside the executor's ends. */
struct child {
    int args, spec, events, control, error, program, stderr_copy;
};

static void release_child(struct child *child)
{
    const int *const all[] = {&child->args,  &child->spec,    &child->events,     &child->control,
                              &child->error, &child->program, &child->stderr_copy};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        cleanup_fd(all[i]);
}

static bool make_pipe(int *read_end, int *write_end)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    *read_end = ends[0];
    *write_end = ends[1];
    return true;
}

static bool open_all(int shim_fd, struct run_pipes *pipes, struct child *child)
{
    child->program = shim_fd >= 0 ? fcntl(shim_fd, F_DUPFD_CLOEXEC, 3) : open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    child->stderr_copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (child->stderr_copy < 0)
        child->stderr_copy = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return child->program >= 0 && child->stderr_copy >= 0 && make_pipe(&child->spec, &pipes->spec) &&
           make_pipe(&pipes->events, &child->events) && make_pipe(&child->control, &pipes->control) &&
           make_pipe(&pipes->error, &child->error);
}

/* What the child is made from; ready before it starts, since it shares this memory. */
struct start {
    const struct child *child;
    const struct plan *plan; /* whose descriptors bubblewrap binds */
    const sigset_t *mask;
    char *argv[11];
};

static void keep(int fd)
{
    if (fd >= 0)
        (void)fcntl(fd, F_SETFD, 0);
}

static void keep_needed(const struct start *start)
{
    const struct child *child = start->child;
    const struct plan *plan = start->plan;
    if (!LEFT_OUT(plan, DESCRIPTORS))
        (void)syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC_FLAG);
    keep(child->args);
    keep(child->spec);
    keep(child->events);
    keep(child->control);
    keep(child->program);
    keep(child->stderr_copy);
    for (size_t i = 0; i < plan->count; i++)
        if (!plan->mounts[i].inner)
            keep(plan->mounts[i].fd);
    for (size_t i = 0; i < plan->shown_count; i++)
        keep(plan->shown[i].source.fd);
    keep(plan->resolv_fd);
    keep(plan->caches_fd);
}

/* In the child. */
static int become_bwrap(void *context)
{
    static char *const no_environment[] = {NULL};
    const struct start *start = context;
    if (!LEFT_OUT(start->plan, GROUP))
        (void)setpgid(0, 0);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, start->mask, NULL);
    if (chdir("/") != 0 || dup2(start->child->error, STDERR_FILENO) < 0)
        return 255;
    keep_needed(start);
    (void)execve(PROBE_BWRAP, start->argv, no_environment);
    return 255;
}

static pid_t start_bwrap(struct start *start, const struct cgroup *group)
{
    const struct child *child = start->child;
    char args[16], program[48], spec[16], events[16], control[16], error[16];
    (void)snprintf(args, sizeof args, "%d", child->args);
    (void)snprintf(program, sizeof program, "/proc/self/fd/%d", child->program);
    (void)snprintf(spec, sizeof spec, "%d", child->spec);
    (void)snprintf(events, sizeof events, "%d", child->events);
    (void)snprintf(control, sizeof control, "%d", child->control);
    (void)snprintf(error, sizeof error, "%d", child->stderr_copy);
    char *const argv[] = {(char *)"bwrap", (char *)"--args", args,  (char *)"--", program, (char *)"--inner", spec,
                          events,          control,          error, NULL};
    memcpy(start->argv, argv, sizeof argv);
    if (group->fd < 0)
        return spawn_child(become_bwrap, start, 0);
    pid_t pid = cgroup_fork(group);
    if (pid == 0)
        _exit(become_bwrap(start));
    return pid;
}

/* A socket among standard input, output and error comes from outside and obeys no filter: one that is not tied to a
 * peer for good reaches whom it likes. A connection over the network can be given up and made anew, connect(2). */
static enum qs_status check_socket(int fd, const struct plan *plan, struct qs_error *err)
{
    int domain = 0, type = 0;
    struct sockaddr_storage peer;
    socklen_t domain_len = sizeof domain, type_len = sizeof type, peer_len = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_len) != 0) {
        /* ENOTSOCK; EBADF: closed, or a path alone, which the shim refuses */
        return errno == ENOTSOCK || errno == EBADF ? QS_OK
                                                   : error_sys(err, QS_IO, errno, "cannot look at descriptor %d", fd);
    }
    bool ip = domain == AF_INET || domain == AF_INET6;
    bool tied = domain == AF_UNIX && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 &&
                (type == SOCK_STREAM || type == SOCK_SEQPACKET) &&
                getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0;
    if (tied || (ip && !plan->network_closed) || (domain == AF_UNIX && plan->unix_sockets == QS_UNIX_OPEN))
        return QS_OK;
    error_set(err, QS_USAGE, "descriptor %d is a %s socket, by which a command could reach what the policy closes", fd,
              ip ? "network" : "local");
    error_add_advice(err, "give it a pipe or a file");
    return QS_USAGE;
}

static enum qs_status check_stdio(const struct plan *plan, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (int fd = 0; fd <= 2; fd++) {
        status = check_socket(fd, plan, err);
        if (status)
            return status;
    }
    return QS_OK;
}

enum qs_status run_start(const struct plan *plan, bool by_name, const struct cgroup *group, const sigset_t *mask,
                         struct run_pipes *ret_pipes, pid_t *ret_pid, struct qs_error *err)
{
    AUTO(buf_release) struct buf args = {0};
    AUTO(release_child) struct child child = {-1, -1, -1, -1, -1, -1, -1};
    AUTO(run_pipes_release) struct run_pipes pipes = RUN_PIPES_NONE;
    struct start start = {.child = &child, .plan = plan, .mask = mask};
    enum qs_status status = check_stdio(plan, err);
    if (status)
        return status;
    status = probe_bwrap(PROBE_BWRAP, err);
    if (status)
        return status;
    status = bwrap_args(plan, !by_name, &args, err);
    if (status)
        return status;
    child.args = memfd_create("bwrap-args", MFD_CLOEXEC);
    if (child.args < 0 || !open_all(plan->shim_fd, &pipes, &child))
        return error_sys(err, QS_IO, errno, "cannot open the descriptors of a run");
    if (os_write_full(child.args, args.data, args.len) != 0 || lseek(child.args, 0, SEEK_SET) != 0)
        return error_sys(err, QS_IO, errno, "cannot write bubblewrap's arguments");
    *ret_pid = start_bwrap(&start, group);
    if (*ret_pid < 0)
        return error_sys(err, QS_IO, errno, "cannot start bubblewrap");
    *ret_pipes = pipes;
    pipes = RUN_PIPES_NONE;
    return QS_OK;
}
