/* SPDX-License-Identifier: Apache-2.0 */
/* Making the plan: all mounts that policy and facts ask for, sorted, then one pass that keeps what has an effect. */
#include "sandbox/plan/plan.h"

#include "base/cleanup.h"
#include "sandbox/host/caches.h"

#include <string.h>

#ifdef QS_SANDBOX_CONTROLS
unsigned barriers_left_out;
#endif

void plan_release(struct plan *plan)
{
    free(plan->mounts);
    *plan = (struct plan){0};
}

bool plan_private(const struct plan *plan, const char *path)
{
    return path_within(path, "/tmp") || (plan->private_var_tmp && path_within(path, "/var/tmp")) ||
           (plan->private_run && path_within(path, "/run"));
}

/* ---- gathering ---- */

struct gather {
    struct plan *plan;
    size_t cap;
};

static enum qs_status add(struct gather *gather, enum mount_kind kind, const struct path_fact *at,
                          const struct path_fact *source, const char *reason, struct qs_error *err)
{
    struct plan *plan = gather->plan;
    if (plan->count == gather->cap) {
        size_t cap = gather->cap ? 2 * gather->cap : 64;
        struct plan_mount *grown = reallocarray(plan->mounts, cap, sizeof *grown);
        if (!grown)
            return error_memory(err);
        plan->mounts = grown;
        gather->cap = cap;
    }
    plan->mounts[plan->count++] = (struct plan_mount){.kind = kind,
                                                      .directory = at->kind == PATH_DIR,
                                                      .dest = at->path,
                                                      .source = source->path,
                                                      .fd = source->fd,
                                                      .dev = source->dev,
                                                      .ino = source->ino,
                                                      .reason = reason};
    return QS_OK;
}

static enum qs_status add_all(struct gather *gather, enum mount_kind kind, const struct path_facts *facts,
                              const char *reason, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < facts->count && status == QS_OK; i++)
        status = add(gather, kind, &facts->items[i], &facts->items[i], reason, err);
    return status;
}

static enum qs_status add_git(struct gather *gather, const struct git_fact *git, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    if (!LEFT_OUT(gather->plan, PINS))
        status = add_all(gather, MOUNT_PIN, &git->pinned, "on the way to what redirects git", err);
    if (status == QS_OK && !LEFT_OUT(gather->plan, GUARDS))
        status = add_all(gather, MOUNT_READ_ONLY, &git->guarded, "redirects git", err);
    return status;
}

static bool in_roots(const struct host_facts *facts, const char *path)
{
    for (size_t i = 0; i < facts->root_count; i++)
        if (path_within(path, facts->roots[i].dir.path))
            return true;
    return false;
}

/* In a private place there is nothing to put it over: bubblewrap makes the place. */
static enum qs_status add_shown(struct gather *gather, const struct host_facts *facts, struct qs_error *err)
{
    struct plan *plan = gather->plan;
    enum qs_status status = QS_OK;
    plan->shown = facts->shown;
    plan->shown_count = facts->shown_count;
    for (size_t i = 0; i < facts->shown_count && status == QS_OK; i++) {
        const struct shown_fact *shown = &facts->shown[i];
        const char *over = shown->over.path;
        if (shown->over.kind != PATH_DIR || LEFT_OUT(plan, PRIVATE_GIT) || (!shown->writable && LEFT_OUT(plan, GUARDS)))
            continue;
        bool outer = shown->writable && plan_private(plan, over) && !in_roots(facts, over);
        status = add(gather, shown->writable ? MOUNT_PRIVATE : MOUNT_READ_ONLY, &shown->over, &shown->source,
                     shown->writable ? "a private git directory" : "hooks of the host", err);
        if (status != QS_OK || outer)
            continue;
        struct plan_mount *mount = &plan->mounts[plan->count - 1];
        mount->from = shown->shown;
        mount->dev = shown->over.dev;
        mount->ino = shown->over.ino;
    }
    return status;
}

/* Where the policy leaves git alone, or a repository's form does not cross: nothing of it can be written. */
static enum qs_status add_read_only(struct gather *gather, const struct host_facts *facts, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < facts->read_only.count && status == QS_OK && !LEFT_OUT(gather->plan, PRIVATE_GIT); i++) {
        const struct path_fact *gitdir = &facts->read_only.items[i];
        bool back = plan_private(gather->plan, gitdir->path) && !in_roots(facts, gitdir->path);
        status = add(gather, back ? MOUNT_BACK : MOUNT_READ_ONLY, gitdir, gitdir, "a git directory", err);
    }
    return status;
}

static enum qs_status add_roots(struct gather *gather, const struct host_facts *facts, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < facts->root_count && status == QS_OK; i++) {
        const struct root_fact *root = &facts->roots[i];
        status =
            add(gather, MOUNT_WRITABLE, &root->dir, &root->dir, i ? "executor.writableRoots" : "the workspace", err);
        if (status == QS_OK)
            status = add_git(gather, &root->git, err);
        if (status == QS_OK && !LEFT_OUT(gather->plan, PINS))
            status = add_all(gather, MOUNT_PIN, &root->pinned, "on the way to a protected or hidden path", err);
        if (status == QS_OK && !LEFT_OUT(gather->plan, GUARDS))
            status = add_all(gather, MOUNT_READ_ONLY, &root->guarded, "executor.protectedPaths", err);
    }
    return status;
}

static enum qs_status add_caches(struct gather *gather, const struct host_facts *facts, struct qs_error *err)
{
    struct plan *plan = gather->plan;
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < facts->cache_count && status == QS_OK; i++) {
        const struct cache_fact *cache = &facts->caches[i];
        if (cache->home.kind == PATH_DIR && !plan_private(plan, cache->home.path) && cache->source.kind == PATH_DIR)
            status = add(gather, MOUNT_CACHE, &cache->home, &cache->source, "executor.caches", err);
    }
    plan->caches_shown = facts->cache_base.kind == PATH_DIR;
    plan->caches = facts->cache_base.path;
    plan->caches_fd = plan->caches_shown ? facts->cache_base.fd : -1;
    return status;
}

static enum qs_status add_hidden(struct gather *gather, const struct host_facts *facts, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    if (!LEFT_OUT(gather->plan, MASKS))
        status = add_all(gather, MOUNT_HIDDEN, &facts->hidden, "executor.hiddenPaths", err);
    if (status == QS_OK && !LEFT_OUT(gather->plan, STORE_MASKS))
        status = add_all(gather, MOUNT_HIDDEN, &facts->stores, "stores and the sandbox's own state", err);
    return status;
}

static bool granted(const struct host_facts *facts, const struct path_fact *host_socket)
{
    for (size_t i = 0; i < facts->sockets.count; i++)
        if (facts->sockets.items[i].dev == host_socket->dev && facts->sockets.items[i].ino == host_socket->ino)
            return true;
    return false;
}

static const char *hidden_above(const struct host_facts *facts, const char *path)
{
    for (size_t i = 0; i < facts->hidden.count; i++)
        if (path_within(path, facts->hidden.items[i].path))
            return facts->hidden.items[i].path;
    return NULL;
}

static enum qs_status add_sockets(struct gather *gather, const struct host_facts *facts, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < facts->host_sockets.count && status == QS_OK; i++)
        if (!granted(facts, &facts->host_sockets.items[i]))
            status = add(gather, MOUNT_HIDDEN, &facts->host_sockets.items[i], &facts->host_sockets.items[i],
                         "a socket of the host", err);
    for (size_t i = 0; i < facts->sockets.count && status == QS_OK; i++) {
        const struct path_fact *socket = &facts->sockets.items[i];
        if (socket->kind != PATH_SOCKET)
            return error_set(err, QS_INVALID, "executor.sockets: %s is not a socket", socket->path);
        const char *mask = hidden_above(facts, socket->path);
        bool private = plan_private(gather->plan, socket->path);
        if (mask && !private)
            return error_set(err, QS_INVALID, "executor.sockets: %s is inside the hidden path %s", socket->path, mask);
        if (private)
            status = add(gather, MOUNT_SOCKET, socket, socket, "executor.sockets", err);
    }
    return status;
}

static enum qs_status add_devices(struct gather *gather, const struct host_facts *facts, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < facts->devices.count && status == QS_OK; i++) {
        const struct path_fact *device = &facts->devices.items[i];
        bool fits = device->kind == PATH_DEVICE || device->kind == PATH_DIR;
        if (!fits || !path_within(device->path, "/dev") || strcmp(device->path, "/dev") == 0)
            return error_set(err, QS_INVALID, "executor.devices: %s is not a device below /dev", device->path);
        status = add(gather, MOUNT_DEVICE, device, device, "executor.devices", err);
    }
    return status;
}

static enum qs_status gather_all(struct gather *gather, const struct qs_policy *policy, const struct host_facts *facts,
                                 struct qs_error *err)
{
    enum qs_status status = QS_OK;
    if (policy->filesystem == QS_FS_WORKSPACE_WRITE)
        status = add_roots(gather, facts, err);
    else if (plan_private(gather->plan, facts->roots[0].dir.path))
        status = add(gather, MOUNT_BACK, &facts->roots[0].dir, &facts->roots[0].dir, "the workspace", err);
    if (status == QS_OK && policy->filesystem == QS_FS_WORKSPACE_WRITE)
        status = add_shown(gather, facts, err);
    if (status == QS_OK)
        status = add_read_only(gather, facts, err);
    if (status == QS_OK)
        status = add_caches(gather, facts, err);
    if (status == QS_OK)
        status = add_sockets(gather, facts, err);
    if (status == QS_OK)
        status = add_devices(gather, facts, err);
    if (status == QS_OK)
        status = add_hidden(gather, facts, err);
    return status;
}

/* ---- ordering ---- */

/* A directory before what is below it, so '/' is the smallest character. */
static int compare_places(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    if (*a == *b)
        return 0;
    if (!*a || !*b)
        return *a ? 1 : -1;
    if (*a == '/' || *b == '/')
        return *a == '/' ? -1 : 1;
    return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

static int compare_mounts(const void *a, const void *b)
{
    const struct plan_mount *x = a, *y = b;
    int order = compare_places(x->dest, y->dest);
    return order ? order : (int)y->kind - (int)x->kind;
}

static bool is_writable(enum mount_kind kind)
{
    return kind == MOUNT_WRITABLE || kind == MOUNT_PRIVATE || kind == MOUNT_CACHE || kind == MOUNT_PIN;
}

/* Does mount have an effect below top (NULL: the read-only host, or a private place)? Sets inner. */
static bool keep(const struct plan *plan, struct plan_mount *mount, const struct plan_mount *top)
{
    bool below_writable = top && is_writable(top->kind);
    bool invisible = top ? top->kind == MOUNT_HIDDEN : plan_private(plan, mount->dest);
    switch (mount->kind) {
    case MOUNT_PRIVATE:
        mount->inner = mount->from != NULL;
        return true;
    case MOUNT_READ_ONLY:
    case MOUNT_PIN:
        mount->inner = true;
        return below_writable;
    case MOUNT_HIDDEN:
        mount->inner = true;
        return !invisible;
    case MOUNT_WRITABLE:
        mount->inner = top != NULL;
        return !below_writable;
    case MOUNT_CACHE:
        return top == NULL;
    case MOUNT_SOCKET:
    case MOUNT_BACK:
    case MOUNT_DEVICE:
        return true;
    }
    return true;
}

/* One pass over the sorted mounts with the stack of those that enclose the current one. */
static enum qs_status settle(struct plan *plan, struct qs_error *err)
{
    AUTO_FREE size_t *stack = calloc(plan->count + 1, sizeof *stack);
    if (!stack)
        return error_memory(err);
    size_t depth = 0, kept = 0;
    for (size_t i = 0; i < plan->count; i++) {
        struct plan_mount mount = plan->mounts[i];
        while (depth && !path_within(mount.dest, plan->mounts[stack[depth - 1]].dest))
            depth--;
        const struct plan_mount *top = depth ? &plan->mounts[stack[depth - 1]] : NULL;
        if (top && strcmp(top->dest, mount.dest) == 0)
            continue; /* the stronger of two for one place came first */
        if (!keep(plan, &mount, top))
            continue;
        plan->mounts[kept] = mount;
        stack[depth++] = kept++;
    }
    plan->count = kept;
    size_t inner = 0;
    for (size_t i = 0; i < kept; i++)
        inner += plan->mounts[i].inner;
    if (kept - inner > PLAN_MOUNTS_MAX)
        return error_set(err, QS_INVALID, "the policy asks for %zu mounts, more than the bound of %d", kept - inner,
                         PLAN_MOUNTS_MAX);
    if (inner > PLAN_INNER_MAX)
        return error_set(err, QS_INVALID, "%zu places are to be guarded or hidden, more than the bound of %d", inner,
                         PLAN_INNER_MAX);
    return QS_OK;
}

/* ---- all else ---- */

static enum qs_status plan_filters(const struct qs_policy *policy, const struct host_facts *facts, struct plan *plan,
                                   struct qs_error *err)
{
    plan->unix_sockets = policy->unix_sockets;
    plan->network_closed = policy->network == QS_NET_CLOSED;
    plan->landlock_abi = facts->landlock_abi;
    /* In a network namespace of its own the host's abstract sockets have no names; otherwise Landlock keeps them away
     * from ABI 6 on, and without sockets none is needed. */
    plan->scope_abstract = policy->unix_sockets != QS_UNIX_OPEN && facts->landlock_abi >= 6;
    if (!plan->network_closed && policy->unix_sockets == QS_UNIX_PRIVATE && !plan->scope_abstract) {
        enum qs_status status =
            error_set(err, QS_INVALID,
                      "executor.unixSockets is private and the network open: this kernel (%s, Landlock ABI %d) cannot "
                      "keep the host's abstract sockets out of reach",
                      facts->kernel, facts->landlock_abi);
        error_add_advice(err, "use blocked, or network closed, or a kernel with Landlock ABI 6 (Linux 6.12)");
        return status;
    }
    return QS_OK;
}

static enum qs_status plan_limits(const struct qs_policy *policy, const struct host_facts *facts, struct plan *plan,
                                  struct qs_error *err)
{
    plan->wall_seconds = policy->limits.wall_seconds;
    plan->cpu_seconds = policy->limits.cpu_seconds;
    plan->memory_bytes = policy->limits.memory_bytes;
    plan->file_bytes = policy->limits.file_bytes;
    plan->processes = policy->limits.processes;
    plan->open_files = policy->limits.open_files;
    plan->memory_by_group = plan->memory_bytes && facts->group.memory;
    plan->processes_by_group = plan->processes && facts->group.pids;
    if (plan->memory_by_group || plan->processes_by_group || facts->in_session_group)
        plan->group = &facts->group;
    if (plan->processes && !plan->processes_by_group && facts->uid == 0) {
        enum qs_status status = error_set(err, QS_INVALID,
                                          "executor.limits.processes would not bind: the kernel exempts uid 0 from "
                                          "RLIMIT_NPROC, and %s",
                                          facts->group.why);
        error_add_advice(err, "run as another user or in a delegated control group, or set the limit to 0; see "
                              "docs/sandbox.md");
        return status;
    }
    return QS_OK;
}

static enum qs_status plan_cwd(const struct host_facts *facts, struct plan *plan, struct qs_error *err)
{
    plan->cwd = facts->cwd;
    const struct plan_mount *best = NULL;
    for (size_t i = 0; i < plan->count; i++)
        if (path_within(facts->cwd, plan->mounts[i].dest))
            best = &plan->mounts[i];
    if (best && best->kind == MOUNT_HIDDEN)
        return error_set(err, QS_USAGE, "the current directory %s is in the hidden path %s", facts->cwd, best->dest);
    if (!best && plan_private(plan, facts->cwd) && strcmp(facts->cwd, "/tmp") != 0)
        return error_set(err, QS_USAGE,
                         "the current directory %s is in a place that is private inside; name it with "
                         "--workspace",
                         facts->cwd);
    return QS_OK;
}

enum qs_status plan_make(const struct qs_policy *policy, const struct host_facts *facts, struct plan *ret_plan,
                         struct qs_error *err)
{
    struct plan plan = {.uid = facts->uid, .caches_fd = -1, .resolv_fd = -1, .shim_fd = facts->shim.fd};
#ifdef QS_SANDBOX_CONTROLS
    plan.left_out = barriers_left_out;
#endif
    struct gather gather = {.plan = &plan};
    plan.writable = policy->filesystem == QS_FS_WORKSPACE_WRITE;
    plan.private_var_tmp = facts->has_var_tmp;
    plan.private_run = facts->has_run && policy->unix_sockets == QS_UNIX_PRIVATE;
    if (plan.private_run && facts->resolv.kind == PATH_FILE && path_within(facts->resolv.path, "/run")) {
        plan.resolv = facts->resolv.path;
        plan.resolv_fd = facts->resolv.fd;
    }
    enum qs_status status = plan_check_roots(policy, facts, err);
    if (status == QS_OK)
        status = plan_filters(policy, facts, &plan, err);
    if (status == QS_OK)
        status = plan_limits(policy, facts, &plan, err);
    if (status == QS_OK)
        status = gather_all(&gather, policy, facts, err);
    if (status == QS_OK && plan.count)
        qsort(plan.mounts, plan.count, sizeof *plan.mounts, compare_mounts);
    if (status == QS_OK)
        status = settle(&plan, err);
    if (status == QS_OK)
        status = plan_cwd(facts, &plan, err);
    if (status != QS_OK) {
        plan_release(&plan);
        return status;
    }
    *ret_plan = plan;
    return QS_OK;
}
