/* SPDX-License-Identifier: Apache-2.0 */
/* Starting bubblewrap: arguments in a memory file, pipes, a child that keeps exactly the descriptors it needs. */
#include "sandbox/run_start.h"

#include "sandbox/bwrap_args.h"
#include "sandbox/probe.h"
#include "sandbox/spawn.h"
#include "sandbox/sys.h"
#include "store/cleanup.h"
#include "store/os.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define CLOSE_RANGE_CLOEXEC_FLAG 4u /* linux/close_range.h */

void run_pipes_release(struct run_pipes *pipes)
{
    cleanup_fd(&pipes->spec);
    cleanup_fd(&pipes->events);
    cleanup_fd(&pipes->control);
    cleanup_fd(&pipes->error);
    *pipes = (struct run_pipes){-1, -1, -1, -1};
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

static enum qs_status open_all(const struct run_request *request, struct run_pipes *pipes, struct child *child,
                               struct qs_error *err)
{
    AUTO(buf_release) struct buf args = {0};
    enum qs_status status = bwrap_args(request->plan, !request->by_name, &args, err);
    if (status != QS_OK)
        return status;
    child->args = memfd_create("bwrap-args", MFD_CLOEXEC);
    child->program = request->plan->shim_fd >= 0 ? fcntl(request->plan->shim_fd, F_DUPFD_CLOEXEC, 3)
                                                 : open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    child->stderr_copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (child->stderr_copy < 0)
        child->stderr_copy = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (child->args < 0 || child->program < 0 || child->stderr_copy < 0 || !make_pipe(&child->spec, &pipes->spec) ||
        !make_pipe(&pipes->events, &child->events) || !make_pipe(&child->control, &pipes->control) ||
        !make_pipe(&pipes->error, &child->error))
        return error_sys(err, QS_IO, errno, "cannot open the descriptors of a run");
    if (os_write_full(child->args, args.data, args.len) != 0 || lseek(child->args, 0, SEEK_SET) != 0)
        return error_sys(err, QS_IO, errno, "cannot write bubblewrap's arguments");
    return QS_OK;
}

static void keep(int fd)
{
    if (fd >= 0)
        (void)fcntl(fd, F_SETFD, 0);
}

static void keep_needed(const struct plan *plan, const struct child *child)
{
    if (!(plan->without & WITHOUT(DESCRIPTORS)))
        (void)syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC_FLAG);
    keep(child->args);
    keep(child->spec);
    keep(child->events);
    keep(child->control);
    keep(child->program);
    keep(child->stderr_copy);
    keep(plan->resolv ? plan->resolv_fd : -1);
    keep(plan->caches_shown ? plan->caches_fd : -1);
    for (size_t i = 0; i < plan->ref_dir_count; i++)
        keep(plan->ref_dirs[i].fd);
    for (size_t i = 0; i < plan->count; i++)
        if (!plan->mounts[i].inner)
            keep(plan->mounts[i].fd);
}

/* What the child is made from; ready before it starts, since it shares this memory. */
struct start {
    const struct run_request *request;
    const struct child *child;
    const sigset_t *old_mask;
    char *argv[11];
};

/* In the child. */
static int become_bwrap(void *context)
{
    const struct start *start = context;
    if (!(start->request->plan->without & WITHOUT(GROUP)))
        (void)setpgid(0, 0);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, start->old_mask, NULL);
    if (chdir("/") != 0 || dup2(start->child->error, STDERR_FILENO) < 0)
        return 255;
    keep_needed(start->request->plan, start->child);
    (void)execve(PROBE_BWRAP, start->argv, start->request->env->items);
    return 255;
}

static pid_t start_bwrap(const struct run_request *request, const struct child *child, const struct cgroup *group,
                         const sigset_t *old_mask)
{
    char args[16], program[48], spec[16], events[16], control[16], error[16];
    (void)snprintf(args, sizeof args, "%d", child->args);
    (void)snprintf(program, sizeof program, "/proc/self/fd/%d", child->program);
    (void)snprintf(spec, sizeof spec, "%d", child->spec);
    (void)snprintf(events, sizeof events, "%d", child->events);
    (void)snprintf(control, sizeof control, "%d", child->control);
    (void)snprintf(error, sizeof error, "%d", child->stderr_copy);
    struct start start = {.request = request,
                          .child = child,
                          .old_mask = old_mask,
                          .argv = {(char *)"bwrap", (char *)"--args", args, (char *)"--", program, (char *)"--inner",
                                   spec, events, control, error, NULL}};
    pid_t pid = group->fd >= 0 ? cgroup_fork(group) : spawn_child(become_bwrap, &start);
    if (group->fd >= 0 && pid == 0)
        _exit(become_bwrap(&start));
    return pid;
}

enum qs_status run_start(const struct run_request *request, const struct cgroup *group, const sigset_t *old_mask,
                         struct run_pipes *ret_pipes, pid_t *ret_pid, struct qs_error *err)
{
    struct run_pipes pipes = {-1, -1, -1, -1};
    AUTO(release_child) struct child child = {-1, -1, -1, -1, -1, -1, -1};
    enum qs_status status = open_all(request, &pipes, &child, err);
    pid_t pid = status == QS_OK ? start_bwrap(request, &child, group, old_mask) : -1;
    if (status == QS_OK && pid < 0)
        status = error_sys(err, QS_IO, errno, "cannot start bubblewrap");
    if (status != QS_OK) {
        run_pipes_release(&pipes);
        return status;
    }
    *ret_pipes = pipes;
    *ret_pid = pid;
    return QS_OK;
}
