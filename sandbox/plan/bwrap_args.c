/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bubblewrap's arguments for a plan. It gets the namespaces, the read-only host, the private places and the writable
 * places in the read-only host; all else is the shim's (see plan.h). It keeps three capabilities for the shim, inside
 * the new user namespace only, and the shim drops them: SYS_ADMIN to place mounts, SYS_RESOURCE to forbid further user
 * namespaces, SETPCAP to empty the bounding set.
 */
#include "sandbox/plan/bwrap_args.h"

#include "sandbox/host/caches.h"

#include <stdarg.h>
#include <string.h>

static void words(struct buf *out, ...)
{
    va_list args;
    va_start(args, out);
    for (const char *word; (word = va_arg(args, const char *));)
        buf_add(out, word, strlen(word) + 1);
    va_end(args);
}

static void namespaces(const struct plan *plan, struct buf *out)
{
    words(out, "--unshare-user", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup", NULL);
    if (!LEFT_OUT(plan, PID))
        words(out, "--unshare-pid", "--as-pid-1", NULL);
    if (plan->network_closed && !LEFT_OUT(plan, NETWORK))
        words(out, "--unshare-net", NULL);
    words(out, "--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SYS_RESOURCE", "--cap-add",
          "CAP_SETPCAP", NULL);
}

static void bind(bool use_fds, const char *by_fd, const char *by_name, int fd, const char *source, const char *dest,
                 struct buf *out)
{
    if (use_fds && fd >= 0 && by_fd) {
        words(out, by_fd, NULL);
        buf_printf(out, "%d", fd);
        buf_add_u8(out, 0);
        words(out, dest, NULL);
    } else {
        words(out, by_name, source, dest, NULL);
    }
}

static void devices(const struct plan *plan, bool use_fds, struct buf *out)
{
    if (LEFT_OUT(plan, DEV)) {
        words(out, "--dev-bind", "/dev", "/dev", NULL);
        return;
    }
    words(out, "--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm", NULL);
    for (size_t i = 0; i < plan->count; i++)
        if (plan->mounts[i].kind == MOUNT_DEVICE)
            bind(use_fds, NULL, "--dev-bind", -1, plan->mounts[i].dest, plan->mounts[i].dest, out);
    words(out, "--remount-ro", "/dev", NULL);
}

/* bubblewrap uses each descriptor once: what it puts into its place itself is not shown beside it. */
static bool is_outer(const struct plan *plan, int fd)
{
    for (size_t i = 0; i < plan->count; i++)
        if (!plan->mounts[i].inner && plan->mounts[i].fd == fd)
            return true;
    return false;
}

static void private_places(const struct plan *plan, bool use_fds, struct buf *out)
{
    words(out, "--proc", "/proc", "--perms", "1777", "--tmpfs", "/tmp", NULL);
    if (plan->private_var_tmp)
        words(out, "--perms", "1777", "--tmpfs", "/var/tmp", NULL);
    if (plan->private_run)
        words(out, "--perms", "0755", "--tmpfs", "/run", NULL);
    if (plan->resolv)
        bind(use_fds, "--ro-bind-fd", "--ro-bind", plan->resolv_fd, plan->resolv, plan->resolv, out);
    for (size_t i = 0; i < plan->shown_count; i++) {
        const struct shown_fact *shown = &plan->shown[i];
        if (is_outer(plan, shown->source.fd))
            continue;
        const char *by_fd = shown->writable ? "--bind-fd" : "--ro-bind-fd";
        bind(use_fds, by_fd, shown->writable ? "--bind" : "--ro-bind", shown->source.fd, shown->source.path,
             shown->shown, out);
    }
    if (plan->caches_shown)
        bind(use_fds, "--bind-fd", "--bind", plan->caches_fd, plan->caches, CACHE_MOUNT, out);
}

static void outer_mounts(const struct plan *plan, bool use_fds, struct buf *out)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_mount *mount = &plan->mounts[i];
        if (mount->inner)
            continue;
        switch (mount->kind) {
        case MOUNT_CACHE:
        case MOUNT_WRITABLE:
        case MOUNT_PRIVATE:
        case MOUNT_SOCKET:
            bind(use_fds, "--bind-fd", "--bind", mount->fd, mount->source, mount->dest, out);
            break;
        case MOUNT_BACK:
            bind(use_fds, "--ro-bind-fd", "--ro-bind", mount->fd, mount->source, mount->dest, out);
            break;
        case MOUNT_DEVICE: /* placed with /dev */
        case MOUNT_PIN:    /* these are always inner */
        case MOUNT_READ_ONLY:
        case MOUNT_HIDDEN:
            break;
        }
    }
}

enum qs_status bwrap_args(const struct plan *plan, bool use_fds, struct buf *out, struct qs_error *err)
{
    namespaces(plan, out);
    words(out, LEFT_OUT(plan, READ_ONLY) ? "--bind" : "--ro-bind", "/", "/", NULL);
    devices(plan, use_fds, out);
    private_places(plan, use_fds, out);
    outer_mounts(plan, use_fds, out);
    return out->failed ? error_memory(err) : QS_OK;
}
