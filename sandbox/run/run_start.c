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
#include <sys/stat.h>
#include <sys/wait.h>

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
    const struct bound *bound; /* descriptors of the facts that bubblewrap needs */
    size_t bound_count;
    const sigset_t *old_mask;
    bool group, descriptors; /* a process group of its own; no descriptors but the needed ones */
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
    if (start->descriptors)
        (void)syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC_FLAG);
    keep(child->args);
    keep(child->spec);
    keep(child->events);
    keep(child->control);
    keep(child->program);
    keep(child->stderr_copy);
    for (size_t i = 0; i < start->bound_count; i++)
        keep(start->bound[i].fd);
}

/* In the child. */
static int become_bwrap(void *context)
{
    static char *const no_environment[] = {NULL};
    const struct start *start = context;
    if (start->group)
        (void)setpgid(0, 0);
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, start->old_mask, NULL);
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
    if (!group || group->fd < 0)
        return spawn_child(become_bwrap, start, 0);
    pid_t pid = cgroup_fork(group);
    if (pid == 0)
        _exit(become_bwrap(start));
    return pid;
}

/* ---- before the plan ---- */

static void add_bound(struct run_early *early, int fd)
{
    struct stat st;
    if (fd < 0)
        return;
    if (early->count == RUN_EARLY_MAX || fstat(fd, &st) != 0) {
        early->overflow = true; /* then another bubblewrap is started for the plan */
        return;
    }
    early->bound[early->count++] = (struct bound){.fd = fd, .dev = st.st_dev, .ino = st.st_ino};
}

static void add_all_bound(struct run_early *early, const struct host_facts *facts)
{
    for (size_t i = 0; i < facts->root_count; i++) {
        add_bound(early, facts->roots[i].dir.fd);
        for (size_t k = 0; k < facts->roots[i].git.writable.count; k++)
            add_bound(early, facts->roots[i].git.writable.items[k].fd);
        add_bound(early, facts->roots[i].git.common.fd);
    }
    for (size_t i = 0; i < facts->sockets.count; i++)
        add_bound(early, facts->sockets.items[i].fd);
    for (size_t i = 0; i < facts->cache_count; i++)
        add_bound(early, facts->caches[i].source.fd);
    add_bound(early, facts->cache_base.fd);
    add_bound(early, facts->resolv.fd);
}

void run_early_start(const struct host_facts *facts, struct run_early *early)
{
    AUTO(release_child) struct child child = {-1, -1, -1, -1, -1, -1, -1};
    sigset_t mask;
    run_early_cancel(early);
    *early = (struct run_early)RUN_EARLY_NONE;
    add_all_bound(early, facts);
    if (facts->group.fd >= 0) /* bubblewrap is born in the run's own group, which the plan decides on */
        return;
    if (early->overflow || probe_bwrap(PROBE_BWRAP, NULL) != QS_OK ||
        !open_all(facts->shim.fd, &early->pipes, &child) || !make_pipe(&child.args, &early->args))
        return;
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, NULL, &mask);
    struct start start = {.child = &child,
                          .bound = early->bound,
                          .bound_count = early->count,
                          .old_mask = &mask,
                          .group = true,
                          .descriptors = true};
    early->pid = start_bwrap(&start, NULL);
}

void run_early_cancel(struct run_early *early)
{
    /* It waits for its arguments, and has made nothing yet. It must not see their end first. */
    if (early->pid > 0 && kill(early->pid, SIGKILL) == 0)
        while (waitpid(early->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    early->pid = 0;
    cleanup_fd(&early->args);
    early->args = -1;
    run_pipes_release(&early->pipes);
}

static bool has(const struct run_early *early, int fd)
{
    struct stat st;
    if (fd < 0)
        return true;
    for (size_t i = 0; i < early->count; i++)
        if (early->bound[i].fd == fd)
            return fstat(fd, &st) == 0 && st.st_dev == early->bound[i].dev && st.st_ino == early->bound[i].ino;
    return false;
}

/* Has it each descriptor that the plan's arguments name, under the same number and for the same thing? */
static bool has_all(const struct run_early *early, const struct run_request *request)
{
    const struct plan *plan = request->plan;
    bool all = early->pid > 0 && !request->by_name;
    for (size_t i = 0; i < plan->count && all; i++)
        all = plan->mounts[i].inner || has(early, plan->mounts[i].fd);
    for (size_t i = 0; i < plan->ref_dir_count && all; i++)
        all = has(early, plan->ref_dirs[i].fd);
    return all && (!plan->resolv || has(early, plan->resolv_fd)) &&
           (!plan->caches_shown || has(early, plan->caches_fd));
}

/* ---- with a plan ---- */

static enum qs_status use_early(struct run_early *early, const struct buf *args, struct run_pipes *ret_pipes,
                                pid_t *ret_pid)
{
    /* Where this fails it has ended, and its text says why. */
    (void)!os_write_full(early->args, args->data, args->len);
    (void)close(early->args);
    *ret_pipes = early->pipes;
    *ret_pid = early->pid;
    early->args = -1;
    early->pipes = (struct run_pipes){-1, -1, -1, -1};
    early->pid = 0;
    return QS_OK;
}

static enum qs_status start_now(const struct run_request *request, const struct buf *args, const struct cgroup *group,
                                const sigset_t *old_mask, struct run_pipes *pipes, pid_t *ret_pid, struct qs_error *err)
{
    AUTO(release_child) struct child child = {-1, -1, -1, -1, -1, -1, -1};
    const struct plan *plan = request->plan;
    struct start start = {.child = &child,
                          .old_mask = old_mask,
                          .group = !LEFT_OUT(plan, GROUP),
                          .descriptors = !LEFT_OUT(plan, DESCRIPTORS)};
    AUTO_FREE struct bound *bound = calloc(plan->count + plan->ref_dir_count + 2, sizeof *bound);
    if (!bound)
        return error_memory(err);
    for (size_t i = 0; i < plan->count; i++)
        if (!plan->mounts[i].inner)
            bound[start.bound_count++].fd = plan->mounts[i].fd;
    for (size_t i = 0; i < plan->ref_dir_count; i++)
        bound[start.bound_count++].fd = plan->ref_dirs[i].fd;
    bound[start.bound_count++].fd = plan->resolv ? plan->resolv_fd : -1;
    bound[start.bound_count++].fd = plan->caches_shown ? plan->caches_fd : -1;
    start.bound = bound;
    child.args = memfd_create("bwrap-args", MFD_CLOEXEC);
    if (child.args < 0 || !open_all(plan->shim_fd, pipes, &child))
        return error_sys(err, QS_IO, errno, "cannot open the descriptors of a run");
    if (os_write_full(child.args, args->data, args->len) != 0 || lseek(child.args, 0, SEEK_SET) != 0)
        return error_sys(err, QS_IO, errno, "cannot write bubblewrap's arguments");
    *ret_pid = start_bwrap(&start, group);
    return *ret_pid < 0 ? error_sys(err, QS_IO, errno, "cannot start bubblewrap") : QS_OK;
}

enum qs_status run_start(const struct run_request *request, const struct cgroup *group, const sigset_t *old_mask,
                         struct run_pipes *ret_pipes, pid_t *ret_pid, struct qs_error *err)
{
    AUTO(buf_release) struct buf args = {0};
    struct run_pipes pipes = {-1, -1, -1, -1};
    enum qs_status status = bwrap_args(request->plan, !request->by_name, &args, err);
    if (status != QS_OK)
        return status;
    if (request->early && group->fd < 0 && has_all(request->early, request))
        return use_early(request->early, &args, ret_pipes, ret_pid);
    if (request->early)
        run_early_cancel(request->early);
    status = start_now(request, &args, group, old_mask, &pipes, ret_pid, err);
    if (status == QS_OK)
        *ret_pipes = pipes;
    else
        run_pipes_release(&pipes);
    return status;
}
