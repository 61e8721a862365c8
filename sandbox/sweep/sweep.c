/* SPDX-License-Identifier: Apache-2.0 */
/* The sweep's locking and its list of absent names. */
#include "sandbox/sweep/sweep.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/os.h"
#include "sandbox/wire/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define LIST_MAX_BYTES ((size_t)4 << 20)

void sweep_release(struct sweep *sweep)
{
    cleanup_fd(&sweep->lock);
    cleanup_fd(&sweep->pending);
    sweep_findings_release(&sweep->found);
    *sweep = SWEEP_NONE;
}

/* ---- the list: pairs of texts, each ended by a zero byte: a directory, and what was absent in it ---- */

static void add_pair(struct buf *list, const char *first, const char *second)
{
    buf_add(list, first, strlen(first) + 1);
    buf_add(list, second, strlen(second) + 1);
}

static enum qs_status add_absent(const char *root, const char *name, struct buf *list, struct qs_error *err)
{
    struct path_fact fact = {.fd = -1};
    AUTO_FREE char *path = path_join(root, name);
    if (!path)
        return error_memory(err);
    /* A link on the way is guarded already; only what is plainly absent is watched. */
    enum qs_status status = path_look_itself(path, &fact, err);
    bool absent = status == QS_OK && fact.kind == PATH_ABSENT;
    path_fact_release(&fact);
    if (absent)
        add_pair(list, root, name);
    return status == QS_INVALID ? QS_OK : status;
}

static enum qs_status list_root(const struct qs_policy *policy, const struct root_fact *root, struct buf *list,
                                struct qs_error *err)
{
    const char *top = root->dir.path;
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < policy->protected_paths.count && status == QS_OK; i++)
        if (strncmp(policy->protected_paths.items[i], ".git/", 5) != 0) /* all of it is covered, or read-only */
            status = add_absent(top, policy->protected_paths.items[i], list, err);
    for (size_t i = 0; i < root->git.absent.count && status == QS_OK; i++)
        if (path_within(root->git.absent.items[i].given, top))
            status = add_absent(top, root->git.absent.items[i].given + strlen(top) + 1, list, err);
    return status;
}

static enum qs_status write_list(const struct qs_policy *policy, const struct host_facts *facts,
                                 const struct sweep *sweep, struct qs_error *err)
{
    AUTO(buf_release) struct buf list = {.max_bytes = LIST_MAX_BYTES};
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < facts->root_count && status == QS_OK; i++)
        status = list_root(policy, &facts->roots[i], &list, err);
    if (status != QS_OK)
        return status;
    char temporary[STATE_WORKSPACE_BYTES + 8];
    (void)snprintf(temporary, sizeof temporary, "%s.new", sweep->found.workspace);
    AUTO_FD int fd = openat(sweep->pending, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (list.failed || fd < 0 || os_write_full(fd, list.data ? list.data : "", list.len) != 0 ||
        renameat(sweep->pending, temporary, sweep->pending, sweep->found.workspace) != 0)
        return error_sys(err, QS_IO, errno, "cannot write down which names to sweep");
    return QS_OK;
}

/* Sweeps what the list says and forgets it. No list: nothing to do. */
static enum qs_status sweep_list(struct sweep *sweep, struct qs_error *err)
{
    AUTO_FD int fd = openat(sweep->pending, sweep->found.workspace, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return QS_OK;
    AUTO_FREE char *list = NULL;
    size_t len = 0;
    if (fd < 0)
        return error_sys(err, QS_IO, errno, "cannot open the list of names to sweep");
    enum qs_status status = os_read_all(fd, "the list of names to sweep", LIST_MAX_BYTES, &list, &len, err);
    for (size_t at = 0; at < len && status == QS_OK;) {
        const char *first = list + at;
        at += strlen(first) + 1;
        const char *second = at < len ? list + at : "";
        at += strlen(second) + 1;
        status = sweep_away(&sweep->found, first, second, "was made during a run and", err);
    }
    if (status == QS_OK && unlinkat(sweep->pending, sweep->found.workspace, 0) != 0)
        status = error_sys(err, QS_IO, errno, "cannot remove the list of names to sweep");
    return status;
}

/* ---- in and out ---- */

static enum qs_status open_lock(struct sweep *sweep, struct qs_error *err)
{
    AUTO_FD int locks = -1;
    enum qs_status status = state_open(&sweep->found.base, "pending", true, &sweep->pending, NULL, err);
    if (status == QS_OK)
        status = state_open(&sweep->found.base, "locks", true, &locks, NULL, err);
    if (status != QS_OK)
        return status;
    sweep->lock = openat(locks, sweep->found.workspace, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (sweep->lock < 0)
        return error_sys(err, QS_IO, errno, "cannot open the workspace's lock");
    return QS_OK;
}

static enum qs_status enter(struct sweep *sweep, struct qs_error *err)
{
    enum qs_status status = open_lock(sweep, err);
    if (status != QS_OK)
        return status;
    sweep->first = flock(sweep->lock, LOCK_EX | LOCK_NB) == 0;
    if (sweep->first) {
        status = sweep_list(sweep, err);
        sweep->found.violations.inherited = sweep->found.violations.count;
        sweep->found.notices.inherited = sweep->found.notices.count;
    } else if (flock(sweep->lock, LOCK_SH) != 0) {
        /* Whoever is inside holds the lock shared; a first one that still writes, or a sweep, is waited for. */
        status = error_sys(err, QS_IO, errno, "cannot lock the workspace");
    }
    return status;
}

enum qs_status sweep_write(const struct qs_policy *policy, const struct host_facts *facts, struct sweep *sweep,
                           struct qs_error *err)
{
    if (!sweep->first)
        return QS_OK;
    enum qs_status status = write_list(policy, facts, sweep, err);
    if (status)
        return status;
    sweep->first = false;
    if (flock(sweep->lock, LOCK_SH) != 0)
        return error_sys(err, QS_IO, errno, "cannot share the workspace's lock");
    return QS_OK;
}

enum qs_status sweep_begin(const struct qs_policy *policy, const struct host_facts *facts, struct sweep *ret_sweep,
                           struct qs_error *err)
{
    AUTO(sweep_release) struct sweep sweep = SWEEP_NONE;
    if (policy->filesystem == QS_FS_READ_ONLY) {
        *ret_sweep = SWEEP_NONE;
        return QS_OK;
    }
    sweep.found.base = facts->state;
    sweep.found.base.home = strdup(facts->state.home);
    if (!sweep.found.base.home)
        return error_memory(err);
    state_workspace_name(facts->roots[0].dir.path, sweep.found.workspace);
    enum qs_status status = enter(&sweep, err);
    if (status)
        return status;
    *ret_sweep = sweep;
    sweep = SWEEP_NONE;
    return QS_OK;
}

bool sweep_last(struct sweep *sweep)
{
    /* The shared lock is given up in the attempt: of two that leave at once, the one that gets here last sweeps. */
    if (sweep->lock >= 0 && !sweep->last)
        sweep->last = flock(sweep->lock, LOCK_EX | LOCK_NB) == 0;
    return sweep->last;
}

enum qs_status sweep_end(struct sweep *sweep, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    if (sweep->lock < 0)
        return QS_OK;
    if (sweep_last(sweep))
        status = sweep_list(sweep, err);
    (void)close(sweep->lock);
    sweep->lock = -1;
    return status;
}
