/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging one repository. It runs when no confined process is left, so paths may be looked at by name; links are
 * followed by hand (path_look), and nothing is changed but by sweep_away.
 */
#include "sandbox/sweep_repo.h"

#include "sandbox/hosthooks.h"
#include "sandbox/sweep_move.h"
#include "sandbox/sys.h"
#include "store/cleanup.h"
#include "store/os.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define POINTER_MAX_BYTES 4096

struct verdict {
    const struct nested *nested;
    const char *base; /* what core.hooksPath is relative to */
    bool made;        /* the entry itself is the run's */
    char *changed;    /* the first name in it that is */
    char *leads;      /* "core.worktree to /etc": out of the workspace */
    char *program;    /* the first hook, or key of the configuration, that names a program */
};

static void verdict_release(struct verdict *verdict)
{
    free(verdict->changed);
    free(verdict->leads);
    free(verdict->program);
}

/* ---- times ---- */

static bool is_since(const struct verdict *verdict, const struct statx_timestamp *time)
{
    const struct timespec *since = &verdict->nested->since;
    return time->tv_sec > since->tv_sec || (time->tv_sec == since->tv_sec && time->tv_nsec >= since->tv_nsec);
}

/* Changed since the run began? Where born is asked for: made since then, as far as the file system knows births. */
static bool since(const struct verdict *verdict, const char *path, bool born)
{
    struct statx st;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_CTIME | STATX_BTIME, &st) != 0)
        return false;
    return is_since(verdict, born && (st.stx_mask & STATX_BTIME) ? &st.stx_btime : &st.stx_ctime);
}

/* ---- where a pointer leads ---- */

/* An absolute path without "." and "..", by its text alone; in place. */
static void flatten(char *path)
{
    char *to = path;
    for (const char *at = path; *at;) {
        size_t len = strcspn(at + 1, "/");
        if (len == 2 && at[1] == '.' && at[2] == '.') {
            while (to > path && *--to != '/')
                continue;
        } else if (len && !(len == 1 && at[1] == '.')) {
            memmove(to, at, len + 1);
            to += len + 1;
        }
        at += len + 1;
    }
    *to = '\0';
}

static bool is_inside(const struct nested *nested, const char *path)
{
    for (size_t i = 0; i < nested->count; i++)
        if (path_within(path, nested->places[i].dir))
            return true;
    return false;
}

/* Where target, as written in a file of base, really is: a heap string, or NULL where that cannot be told. */
static char *resolve(const char *base, const char *target)
{
    AUTO_FREE char *path = target[0] == '/' ? strdup(target) : path_join(base, target);
    AUTO(path_fact_release) struct path_fact fact = {.fd = -1};
    if (!path || target[0] == '~' || path_look(path, "/", false, &fact, NULL) != QS_OK)
        return NULL;
    if (fact.path)
        return STEAL(fact.path);
    flatten(path); /* it leads to nothing yet */
    return STEAL(path);
}

static void follow(struct verdict *verdict, const char *what, const char *base, const char *target)
{
    AUTO_FREE char *place = resolve(base, target);
    if (verdict->leads || (place && is_inside(verdict->nested, place)))
        return;
    if (asprintf(&verdict->leads, "%s to %s", what, place ? place : target) < 0)
        verdict->leads = NULL;
}

/* ---- a git directory ---- */

struct reading {
    struct verdict *verdict;
    const char *dir; /* of the configuration file */
};

static bool names_program(const char *section, const char *key)
{
    static const char *const core[] = {"fsmonitor", "sshCommand", "pager",    "editor",
                                       "askPass",   "gitProxy",   "hooksPath"};
    static const char *const sections[] = {"alias", "filter", "diff", "merge", "credential", "gpg", "pager", "remote"};
    static const char *const keys[] = {"clean",  "smudge",  "process",    "command",     "textconv", "driver",
                                       "helper", "program", "uploadpack", "receivepack", "external", "update"};
    if (strcasecmp(section, "core") == 0) {
        for (size_t i = 0; i < sizeof core / sizeof core[0]; i++)
            if (strcasecmp(key, core[i]) == 0)
                return true;
        return false;
    }
    if (strcasecmp(section, "alias") == 0 || strcasecmp(section, "pager") == 0)
        return true;
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        for (size_t j = 0; j < sizeof keys / sizeof keys[0]; j++)
            if (strncasecmp(section, sections[i], strlen(sections[i])) == 0 && strcasecmp(key, keys[j]) == 0)
                return true;
    return false;
}

static void read_key(void *context, const char *section, const char *key, const char *value)
{
    struct reading *reading = context;
    struct verdict *verdict = reading->verdict;
    bool include = strcasecmp(section, "include") == 0 || strncasecmp(section, "includeif", 9) == 0;
    if (strcasecmp(section, "core") == 0 && strcasecmp(key, "worktree") == 0)
        follow(verdict, "core.worktree", reading->dir, value);
    else if (strcasecmp(section, "core") == 0 && strcasecmp(key, "hooksPath") == 0)
        follow(verdict, "core.hooksPath", verdict->base, value);
    else if (include && strcasecmp(key, "path") == 0)
        follow(verdict, "include.path", reading->dir, value);
    if (!verdict->program && names_program(section, key) && asprintf(&verdict->program, "%s.%s", section, key) < 0)
        verdict->program = NULL;
}

static char *read_text(const char *path, size_t max_bytes)
{
    AUTO_FD int fd = sys_open(AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0);
    char *text = NULL;
    size_t len = 0;
    return fd >= 0 && os_read_all(fd, path, max_bytes, &text, &len, NULL) == QS_OK ? text : NULL;
}

/* Hooks are the entries that do not end in .sample. */
static void read_hooks(struct verdict *verdict, const char *dir)
{
    DIR *list = opendir(dir);
    struct dirent *entry;
    while (list && (entry = readdir(list))) {
        const char *name = entry->d_name;
        size_t len = strlen(name);
        AUTO_FREE char *path = path_join(dir, name);
        if (name[0] == '.' || !path || !since(verdict, path, false) ||
            (len > 7 && strcmp(name + len - 7, ".sample") == 0))
            continue;
        if (!verdict->changed)
            verdict->changed = strdup("hooks");
        if (!verdict->program && asprintf(&verdict->program, "the hook %s", name) < 0)
            verdict->program = NULL;
    }
    if (list)
        (void)closedir(list);
}

static void read_name(struct verdict *verdict, const char *dir, const char *name)
{
    AUTO_FREE char *path = path_join(dir, name);
    if (!path || !since(verdict, path, false))
        return;
    if (!verdict->changed)
        verdict->changed = strdup(name);
    if (strncmp(name, "config", 6) != 0)
        return;
    AUTO_FREE char *text = read_text(path, HOOKS_CONFIG_MAX_BYTES);
    struct reading reading = {.verdict = verdict, .dir = dir};
    /* git may refuse it today; another reader may not. */
    if ((!text || !config_each(text, read_key, &reading)) && !verdict->leads &&
        asprintf(&verdict->leads, "a %s that cannot be read", name) < 0)
        verdict->leads = NULL;
}

/* Links in a git directory by which git would write or read elsewhere. */
static void read_links(struct verdict *verdict, const char *dir)
{
    DIR *list = opendir(dir);
    struct dirent *entry;
    while (list && (entry = readdir(list))) {
        char target[PATH_MAX];
        AUTO_FREE char *path = path_join(dir, entry->d_name);
        ssize_t len = path ? readlink(path, target, sizeof target - 1) : -1;
        if (len <= 0 || !since(verdict, path, false))
            continue;
        target[len] = '\0';
        follow(verdict, entry->d_name, dir, target);
    }
    if (list)
        (void)closedir(list);
}

static void read_gitdir(struct verdict *verdict, const char *dir)
{
    static const char *const names[] = {"config", "config.worktree", "commondir", "gitdir"};
    AUTO_FREE char *hooks = path_join(dir, "hooks");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        read_name(verdict, dir, names[i]);
    read_links(verdict, dir);
    if (hooks)
        read_hooks(verdict, hooks);
}

/* The first line of a pointer file, without its prefix. */
static char *read_pointer(const char *file, const char *prefix)
{
    AUTO_FREE char *text = read_text(file, POINTER_MAX_BYTES);
    if (!text || strncmp(text, prefix, strlen(prefix)) != 0)
        return NULL;
    text[strcspn(text, "\r\n")] = '\0';
    return strdup(text + strlen(prefix));
}

static bool is_guarded(const struct nested *nested, const char *dir)
{
    for (size_t i = 0; i < nested->count; i++)
        if (nested->places[i].gitdir && strcmp(nested->places[i].dir, dir) == 0)
            return true;
    return false;
}

static void read_repository(struct verdict *verdict, const char *gitdir)
{
    AUTO_FREE char *file = path_join(gitdir, "commondir");
    AUTO_FREE char *named = file ? read_pointer(file, "") : NULL;
    AUTO_FREE char *common = named ? resolve(gitdir, named) : NULL;
    if (is_guarded(verdict->nested, gitdir))
        return;
    read_gitdir(verdict, gitdir);
    if (named && since(verdict, file, false))
        follow(verdict, "commondir", gitdir, named);
    if (common && strcmp(common, gitdir) != 0 && is_inside(verdict->nested, common) &&
        !is_guarded(verdict->nested, common))
        read_gitdir(verdict, common);
}

/* ---- the whole ---- */

static void read_entry(struct verdict *verdict, const char *path, const struct stat *st)
{
    char target[PATH_MAX];
    ssize_t len = S_ISLNK(st->st_mode) ? readlink(path, target, sizeof target - 1) : -1;
    AUTO_FREE char *pointer = S_ISREG(st->st_mode) ? read_pointer(path, "gitdir: ") : NULL;
    AUTO_FREE char *gitdir = NULL;
    verdict->made = since(verdict, path, S_ISDIR(st->st_mode));
    if (S_ISDIR(st->st_mode)) {
        read_repository(verdict, path);
        return;
    }
    if (len > 0)
        target[len] = '\0';
    const char *to = len > 0 ? target : pointer;
    if (!to)
        return;
    if (verdict->made)
        follow(verdict, len > 0 ? "the link" : "gitdir", verdict->base, to);
    gitdir = resolve(verdict->base, to);
    if (gitdir && is_inside(verdict->nested, gitdir))
        read_repository(verdict, gitdir);
}

static enum qs_status say(struct sweep *sweep, const struct verdict *verdict, const char *path, struct qs_error *err)
{
    char *text = NULL, names[300] = "";
    if (verdict->program)
        (void)snprintf(names, sizeof names, "; %s of it is run by git on the host", verdict->program);
    int code = verdict->made ? asprintf(&text, "%s is a repository made during a run, left where it is%s", path, names)
                             : asprintf(&text, "%s is a repository whose %s changed during a run%s%s%s", path,
                                        verdict->changed, verdict->leads ? "; it leads out of the workspace: " : "",
                                        verdict->leads ? verdict->leads : "", names);
    return sweep_line(&sweep->notices, code < 0 ? NULL : text, err);
}

enum qs_status sweep_repo(struct sweep *sweep, const struct nested *nested, const char *root, const char *name,
                          struct qs_error *err)
{
    AUTO(verdict_release) struct verdict verdict = {.nested = nested};
    AUTO_FREE char *path = path_join(root, name);
    AUTO_FREE char *base = path ? strdup(path) : NULL;
    struct stat st;
    if (!base)
        return error_set(err, QS_IO, "out of memory");
    if (lstat(path, &st) != 0)
        return QS_OK; /* gone by itself, or moved away a moment ago */
    *strrchr(base, '/') = '\0';
    verdict.base = base;
    read_entry(&verdict, path, &st);
    if (verdict.made && verdict.leads) {
        AUTO_FREE char *why = NULL;
        if (asprintf(&why, "was made during a run, leads out of the workspace (%s), and was", verdict.leads) < 0)
            return error_set(err, QS_IO, "out of memory");
        return sweep_away(sweep, root, name, why, err);
    }
    return verdict.made || verdict.changed ? say(sweep, &verdict, path, err) : QS_OK;
}

enum qs_status sweep_own(struct sweep *sweep, const struct nested *nested, const char *gitdir, struct qs_error *err)
{
    AUTO(verdict_release) struct verdict verdict = {.nested = nested, .base = gitdir};
    read_gitdir(&verdict, gitdir);
    return verdict.changed ? say(sweep, &verdict, gitdir, err) : QS_OK;
}
