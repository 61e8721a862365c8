/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a policy's fields, and the small operations on their values. */
#include "reader/policy_model.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <string.h>

#define AT(member) offsetof(struct qs_policy, member)
const struct policy_field policy_fields[POLICY_FIELD_COUNT] = {
    {"tools.executionSandbox.filesystem", NULL, "filesystem", POLICY_ENUM, "read-only|workspace-write", AT(filesystem)},
    {"tools.executionSandbox.network", NULL, "network", POLICY_ENUM, "closed|open", AT(network)},
    {"tools.executionSandbox.backend", NULL, "backend", POLICY_ENUM, "bwrap|auto", AT(backend)},
    {"executor.writableRoots", NULL, "writableRoots", POLICY_CONTAINED, NULL, AT(writable_roots)},
    {"executor.protectedPaths", NULL, "protectedPaths", POLICY_UNITED, NULL, AT(protected_paths)},
    {"executor.hiddenPaths", NULL, "hiddenPaths", POLICY_UNITED, NULL, AT(hidden_paths)},
    {"executor.environment.pass", "environment", "pass", POLICY_PASS, NULL, AT(env_pass)},
    {"executor.environment.set", "environment", "set", POLICY_PAIRS, NULL, AT(env_set)},
    {"executor.environment.secrets", "environment", "secrets", POLICY_UNITED, NULL, AT(env_secrets)},
    {"executor.unixSockets", NULL, "unixSockets", POLICY_ENUM, "blocked|private|open", AT(unix_sockets)},
    {"executor.sockets", NULL, "sockets", POLICY_CONTAINED, NULL, AT(sockets)},
    {"executor.devices", NULL, "devices", POLICY_CONTAINED, NULL, AT(devices)},
    {"executor.caches", NULL, "caches", POLICY_ENUM, "none|private", AT(caches)},
    {"executor.limits.wallSeconds", "limits", "wallSeconds", POLICY_LIMIT, NULL, AT(limits.wall_seconds)},
    {"executor.limits.cpuSeconds", "limits", "cpuSeconds", POLICY_LIMIT, NULL, AT(limits.cpu_seconds)},
    {"executor.limits.memoryBytes", "limits", "memoryBytes", POLICY_LIMIT, NULL, AT(limits.memory_bytes)},
    {"executor.limits.fileBytes", "limits", "fileBytes", POLICY_LIMIT, NULL, AT(limits.file_bytes)},
    {"executor.limits.processes", "limits", "processes", POLICY_LIMIT, NULL, AT(limits.processes)},
    {"executor.limits.openFiles", "limits", "openFiles", POLICY_LIMIT, NULL, AT(limits.open_files)},
    {"executor.audit", NULL, "audit", POLICY_ENUM, "required|off", AT(audit)},
    {"executor.git.mode", "git", "mode", POLICY_ENUM, "read-only|crossing", AT(git_mode)},
    {"executor.git.newRepositories", "git", "newRepositories", POLICY_ENUM, "quarantine|launder|report", AT(git_new)},
    {"executor.git.limits.packBytes", "git", "packBytes", POLICY_LIMIT, NULL, AT(git_limits.pack_bytes)},
    {"executor.git.limits.scratchBytes", "git", "scratchBytes", POLICY_LIMIT, NULL, AT(git_limits.scratch_bytes)},
    {"executor.git.limits.seconds", "git", "seconds", POLICY_LIMIT, NULL, AT(git_limits.seconds)},
};
#undef AT

int policy_field_of(const char *group, const char *name)
{
    for (unsigned i = 0; i < POLICY_FIELD_COUNT; i++) {
        const struct policy_field *field = &policy_fields[i];
        if ((!group) == (!field->group) && (!group || strcmp(group, field->group) == 0) &&
            strcmp(name, field->name) == 0)
            return (int)i;
    }
    return -1;
}

void policy_list_release(struct qs_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct qs_list){0};
}

void policy_release(struct qs_policy *policy)
{
    policy_list_release(&policy->writable_roots);
    policy_list_release(&policy->protected_paths);
    policy_list_release(&policy->hidden_paths);
    policy_list_release(&policy->env_secrets);
    policy_list_release(&policy->sockets);
    policy_list_release(&policy->devices);
    for (size_t i = 0; i < policy->env_pass_count; i++)
        policy_list_release(&policy->env_pass[i]);
    free(policy->env_pass);
    for (size_t i = 0; i < policy->env_set_count; i++) {
        free(policy->env_set[i].name);
        free(policy->env_set[i].value);
    }
    free(policy->env_set);
    *policy = (struct qs_policy){0};
}

void policy_part_release(struct policy_part *part)
{
    policy_release(&part->policy);
    part->set = 0;
}

enum qs_status policy_list_add(struct qs_list *list, const char *text, size_t len, struct qs_error *err)
{
    /* Room is made at each power of two, so that the count alone tells when. */
    if ((list->count & (list->count - 1)) == 0) {
        char **items = reallocarray(list->items, list->count ? 2 * list->count : 1, sizeof *items);
        if (!items)
            return error_memory(err);
        list->items = items;
    }
    char *copy = strndup(text, len);
    if (!copy)
        return error_memory(err);
    list->items[list->count++] = copy;
    return QS_OK;
}

static int compare_items(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void policy_list_sort(struct qs_list *list)
{
    size_t kept = 0;
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_items);
    for (size_t i = 0; i < list->count; i++) {
        if (kept && strcmp(list->items[kept - 1], list->items[i]) == 0)
            free(list->items[i]);
        else
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

bool policy_list_has(const struct qs_list *list, const char *text)
{
    return list->count && bsearch(&text, list->items, list->count, sizeof *list->items, compare_items);
}

int policy_list_compare(const struct qs_list *a, const struct qs_list *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        int order = strcmp(a->items[i], b->items[i]);
        if (order)
            return order;
    }
    return (a->count > b->count) - (a->count < b->count);
}

static int compare_lists(const void *a, const void *b)
{
    return policy_list_compare(a, b);
}

void policy_pass_sort(struct qs_policy *policy)
{
    size_t kept = 0;
    struct qs_list *lists = policy->env_pass;
    if (policy->env_pass_count)
        qsort(lists, policy->env_pass_count, sizeof *lists, compare_lists);
    for (size_t i = 0; i < policy->env_pass_count; i++) {
        if (kept && policy_list_compare(&lists[kept - 1], &lists[i]) == 0)
            policy_list_release(&lists[i]);
        else
            lists[kept++] = lists[i];
    }
    policy->env_pass_count = kept;
}

void policy_normalise_path(char *path)
{
    char *to = path;
    const char *from = path;
    bool absolute = *from == '/';
    while (*from) {
        size_t len = strcspn(from, "/");
        bool counts = len && !(len == 1 && *from == '.');
        if (counts) {
            if (to != path || absolute)
                *to++ = '/';
            memmove(to, from, len);
            to += len;
        }
        from += len + (from[len] == '/');
    }
    if (to == path && absolute)
        *to++ = '/';
    *to = '\0';
}

bool policy_path_within(const char *path, const char *root)
{
    size_t len = strlen(root);
    if (strcmp(root, "/") == 0)
        return path[0] == '/';
    return strncmp(path, root, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

static char folded(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

bool policy_glob_match(const char *glob, const char *name, bool fold_case)
{
    const char *star = NULL, *resume = NULL; /* the last *, and where in name it is to try next */
    while (*name) {
        bool same = fold_case ? folded(*glob) == folded(*name) : *glob == *name;
        if (*glob == '*') {
            star = ++glob;
            resume = name;
        } else if (*glob && (*glob == '?' || same)) {
            glob++;
            name++;
        } else if (star) {
            glob = star;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (*glob == '*')
        glob++;
    return *glob == '\0';
}

static bool list_matches(const struct qs_list *list, const char *name, bool fold_case)
{
    for (size_t i = 0; i < list->count; i++) {
        if (policy_glob_match(list->items[i], name, fold_case))
            return true;
    }
    return false;
}

bool policy_env_passes(const struct qs_policy *policy, const char *name)
{
    /* A policy without a list would pass everything; no complete policy is, and nothing passes by such an accident. */
    bool passes = policy->env_pass_count > 0;
    for (size_t i = 0; i < policy->env_pass_count && passes; i++)
        passes = list_matches(&policy->env_pass[i], name, false);
    return passes && !list_matches(&policy->env_secrets, name, true);
}
