/* SPDX-License-Identifier: Apache-2.0 */
/* Which places may not be made writable, and why. Pure. */
#include "sandbox/plan/plan.h"

#include <stdlib.h>
#include <string.h>

/* Nothing in, at or above these: hier(7). */
static const char *const system_trees[] = {"/bin",    "/boot", "/dev", "/etc",  "/lib", "/lib32", "/lib64",
                                           "/libx32", "/proc", "/run", "/sbin", "/sys", "/usr"};
/* Below these, yes; they themselves, no. */
static const char *const shared_places[] = {"/home",    "/media",     "/mnt",      "/opt",     "/root",
                                            "/srv",     "/tmp",       "/var",      "/var/lib", "/var/log",
                                            "/var/tmp", "/var/spool", "/var/cache"};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool overlaps(const char *a, const char *b)
{
    return path_within(a, b) || path_within(b, a);
}

static const char *system_overlap(const char *path)
{
    for (size_t i = 0; i < COUNT(system_trees); i++)
        if (overlaps(path, system_trees[i]))
            return system_trees[i];
    for (size_t i = 0; i < COUNT(shared_places); i++)
        if (path_within(shared_places[i], path))
            return shared_places[i];
    return NULL;
}

static enum qs_status refuse(const struct root_fact *root, bool workspace, const char *why, const char *what,
                             struct qs_error *err)
{
    enum qs_status status = workspace ? QS_USAGE : QS_INVALID;
    error_set(err, status, "%s %s cannot be writable: it %s %s", workspace ? "the workspace" : "the root",
              root->dir.path, why, what);
    if (workspace)
        error_add_advice(err, "go into a project, or name one with --workspace DIR");
    else
        error_add_path(err, "executor.writableRoots");
    return status;
}

static enum qs_status check_place(const struct host_facts *facts, const struct root_fact *root, bool workspace,
                                  struct qs_error *err)
{
    const char *path = root->dir.path;
    const char *tree = system_overlap(path);
    if (path_within(facts->home.path, path))
        return refuse(root, workspace, "is or holds the home directory", facts->home.path, err);
    if (tree)
        return refuse(root, workspace, "overlaps the system directory", tree, err);
    if (path_within(facts->executable, path))
        return refuse(root, workspace, "holds the executor", facts->executable, err);
    if (facts->shim.path && path_within(facts->shim.path, path))
        return refuse(root, workspace, "holds the executor's shim", facts->shim.path, err);
    for (size_t i = 0; i < facts->stores.count; i++)
        if (overlaps(path, facts->stores.items[i].path))
            return refuse(root, workspace, "overlaps the store or run log", facts->stores.items[i].path, err);
    if (facts->cache_base.path && overlaps(path, facts->cache_base.path))
        return refuse(root, workspace, "overlaps the sandbox's own state", facts->cache_base.path, err);
    return QS_OK;
}

static enum qs_status check_hidden(const struct host_facts *facts, const struct root_fact *root, bool workspace,
                                   struct qs_error *err)
{
    for (size_t i = 0; i < facts->hidden.count; i++) {
        const char *hidden = facts->hidden.items[i].path;
        if (path_within(root->dir.path, hidden))
            return refuse(root, workspace, "is or is inside the hidden path", hidden, err);
        /* A workspace may hold a hidden file (it stays hidden); a root of the policy that does is a contradiction. */
        if (!workspace && path_within(hidden, root->dir.path))
            return refuse(root, workspace, "holds the hidden path", hidden, err);
    }
    return QS_OK;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Is path, or a directory above it, in the sorted list? */
static bool covered(const char *path, const char *const *sorted, size_t count)
{
    char *prefix = strdup(path);
    bool found = !prefix; /* without memory: refuse */
    for (char *slash = prefix; !found && slash && *prefix; slash = strrchr(prefix, '/')) {
        const char *key = prefix;
        found = bsearch(&key, sorted, count, sizeof *sorted, compare_paths) != NULL;
        char *last = strrchr(prefix, '/');
        if (!last)
            break;
        *last = '\0';
    }
    free(prefix);
    return found;
}

/* A link in a writable place could be turned from inside; a root must not be reached through one. */
static enum qs_status check_links(const struct host_facts *facts, struct qs_error *err)
{
    const char **places = calloc(facts->root_count, sizeof *places);
    if (!places)
        return error_memory(err);
    for (size_t i = 0; i < facts->root_count; i++)
        places[i] = facts->roots[i].dir.path;
    qsort(places, facts->root_count, sizeof *places, compare_paths);
    enum qs_status status = QS_OK;
    for (size_t i = 1; i < facts->root_count && !status; i++)
        for (size_t j = 0; j < facts->roots[i].dir.link_count && !status; j++)
            if (covered(facts->roots[i].dir.links[j], places, facts->root_count))
                status = refuse(&facts->roots[i], false, "is reached through a link in a writable place,",
                                facts->roots[i].dir.links[j], err);
    free(places);
    return status;
}

enum qs_status plan_check_roots(const struct qs_policy *policy, const struct host_facts *facts, struct qs_error *err)
{
    if (policy->filesystem == QS_FS_READ_ONLY)
        return check_hidden(facts, &facts->roots[0], true, err);
    for (size_t i = 0; i < facts->root_count; i++) {
        const struct root_fact *root = &facts->roots[i];
        enum qs_status status = check_place(facts, root, i == 0, err);
        if (!status)
            status = check_hidden(facts, root, i == 0, err);
        if (status)
            return status;
        if (root->dir.uid != facts->uid) {
            error_set(err, QS_UNTRUSTED, "%s %s belongs to uid %u, not to the runner (uid %u)",
                      i == 0 ? "the workspace" : "the root", root->dir.path, (unsigned)root->dir.uid,
                      (unsigned)facts->uid);
            error_add_advice(err, "run as its owner, or name a directory of your own");
            return QS_UNTRUSTED;
        }
    }
    return check_links(facts, err);
}
