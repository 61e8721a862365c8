/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judging one repository. It runs when no confined process is left, so paths may be looked at by name; links are
 * followed by hand (path_look), and nothing is changed but by sweep_away.
 */
#include "sandbox/sweep/sweep_repo.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "sandbox/host/gitconfig.h"
#include "sandbox/host/host_path.h"
#include "sandbox/wire/sys.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define POINTER_MAX_BYTES 4096
#define LINKS_MAX_ENTRIES 200000u
#define LINKS_MAX_DEPTH   64u

/*
 * ---- symbolic links in a git directory, by which git on the host would write elsewhere ----
 *
 * git appends to `logs/HEAD`, and writes `COMMIT_EDITMSG`, through a link: one to a shell's start-up file makes
 * commands of a branch's name or a commit's message. git itself makes no link that leaves its directory.
 */

typedef void link_visit(void *context, const char *name, const char *target);

struct links {
    link_visit *visit;
    void *context;
    unsigned left;
    bool whole;
};

static unsigned char type_of(int dir, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type;
    if (fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return DT_UNKNOWN;
    return S_ISLNK(st.st_mode) ? DT_LNK : S_ISDIR(st.st_mode) ? DT_DIR : DT_REG;
}

static void read_links(struct links *links, const char *dir, const char *beneath, unsigned depth)
{
    DIR *list = opendir(dir);
    struct dirent *entry;
    links->whole &= list || errno == ENOENT || errno == ENOTDIR;
    while (list && (entry = readdir(list))) {
        const char *name = entry->d_name;
        char target[PATH_MAX];
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (!links->left) {
            links->whole = false;
            break;
        }
        links->left--;
        unsigned char type = type_of(dirfd(list), entry);
        if (type != DT_LNK && type != DT_DIR)
            continue;
        AUTO_FREE char *path = path_join(dir, name);
        AUTO_FREE char *below = *beneath ? path_join(beneath, name) : strdup(name);
        ssize_t len = type == DT_LNK ? readlinkat(dirfd(list), name, target, sizeof target - 1) : -1;
        if (len > 0 && below) {
            target[len] = '\0';
            links->visit(links->context, below, target);
        } else if (type == DT_DIR && path && below && depth) {
            bool skip = strcmp(below, "modules") == 0 || strncmp(below, "objects/", 8) == 0;
            if (!skip)
                read_links(links, path, below, depth - 1);
        } else {
            links->whole = false;
        }
    }
    if (list)
        (void)closedir(list);
}

/* Calls visit for each link in the git directory dir, with its name beneath dir and what is written in it. Not looked
 * into are `modules`, whose directories are git directories themselves, and what is below the first level of `objects`,
 * where git follows none. False: there are more than LINKS_MAX_ENTRIES names, or something could not be read. */
static bool links_each(const char *dir, link_visit *visit, void *context)
{
    struct links links = {.visit = visit, .context = context, .left = LINKS_MAX_ENTRIES, .whole = true};
    read_links(&links, dir, "", LINKS_MAX_DEPTH);
    return links.whole;
}

/* Where target, as written in a file or link of base, really is: a heap string, NULL if that cannot be told. */
static char *links_resolve(const char *base, const char *target)
{
    AUTO_FREE char *path = target[0] == '/' ? strdup(target) : path_join(base, target);
    AUTO(path_fact_release) struct path_fact fact = {.fd = -1};
    if (!path || target[0] == '~' || path_look(path, "/", false, &fact, NULL) != QS_OK)
        return NULL;
    if (fact.path)
        return STEAL(fact.path);
    path_flatten(path); /* it leads to nothing yet */
    return STEAL(path);
}

/* Was what is at path changed since the list was written, by its own time? Of a link the link. */
static bool nested_changed(const struct nested *nested, const char *path, bool born)
{
    struct statx st;
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_CTIME | STATX_BTIME, &st) != 0)
        return false;
    const struct statx_timestamp *time = born && (st.stx_mask & STATX_BTIME) ? &st.stx_btime : &st.stx_ctime;
    const struct timespec *since = &nested->since;
    return time->tv_sec > since->tv_sec || (time->tv_sec == since->tv_sec && time->tv_nsec >= since->tv_nsec);
}

/* ---- a guarded git directory ---- */

struct leading {
    struct sweep_findings *found;
    const struct nested *nested;
    const char *dir;
    enum qs_status status;
    struct qs_error *err;
};

static void judge(void *context, const char *name, const char *target)
{
    struct leading *leading = context;
    AUTO_FREE char *path = path_join(leading->dir, name);
    AUTO_FREE char *base = path ? strdup(path) : NULL;
    AUTO_FREE char *why = NULL;
    if (leading->status != QS_OK)
        return;
    if (!base) {
        leading->status = error_memory(leading->err);
        return;
    }
    *strrchr(base, '/') = '\0';
    AUTO_FREE char *place = links_resolve(base, target);
    /* To the workspace, too: what lies there could be exchanged for a link by the next run. */
    if (!nested_changed(leading->nested, path, false) || (place && path_within(place, leading->dir)))
        return;
    if (asprintf(&why, "is a link to %s made during a run, through which git would write there, and was",
                 place ? place : target) < 0)
        leading->status = error_memory(leading->err);
    else
        leading->status = sweep_away(leading->found, leading->dir, name, why, leading->err);
}

enum qs_status sweep_links(struct sweep_findings *found, const struct nested *nested, const char *dir,
                           struct qs_error *err)
{
    struct leading leading = {.found = found, .nested = nested, .dir = dir, .err = err};
    char *text = NULL;
    if (links_each(dir, judge, &leading) || leading.status != QS_OK)
        return leading.status;
    if (asprintf(&text, "%s could not be read to its end: links that lead out of it were not looked for there", dir) <
        0)
        text = NULL;
    return sweep_line(&found->notices, text, err);
}

/* ---- a repository ---- */

struct verdict {
    const struct nested *nested;
    const char *base; /* what core.hooksPath is relative to */
    bool made;        /* the entry itself is the run's */
    bool put;         /* it is older, and may have been renamed to what it is during the run */
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

/* Changed since the run began? */
static bool since(const struct verdict *verdict, const char *path)
{
    return nested_changed(verdict->nested, path, false);
}

/* To be looked at: changed, or in a repository that may have been put where it is. */
static bool suspect(const struct verdict *verdict, const char *path)
{
    struct stat st;
    return (verdict->put && lstat(path, &st) == 0) || since(verdict, path);
}

/* ---- where a pointer leads ---- */

static bool is_inside(const struct nested *nested, const char *path)
{
    for (size_t i = 0; i < nested->count; i++)
        if (!nested->places[i].links && path_within(path, nested->places[i].dir))
            return true;
    return false;
}

static void follow(struct verdict *verdict, const char *what, const char *base, const char *target)
{
    AUTO_FREE char *place = links_resolve(base, target);
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
        if (name[0] == '.' || !path || !suspect(verdict, path) || (len > 7 && strcmp(name + len - 7, ".sample") == 0))
            continue;
        if (!verdict->changed && since(verdict, path))
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
    if (!path || !suspect(verdict, path))
        return;
    if (!verdict->changed && since(verdict, path))
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

static void read_link(void *context, const char *name, const char *target)
{
    struct reading *reading = context;
    struct verdict *verdict = reading->verdict;
    AUTO_FREE char *path = path_join(reading->dir, name);
    bool before = verdict->leads != NULL;
    if (!path || !suspect(verdict, path))
        return;
    bool changed = since(verdict, path);
    *strrchr(path, '/') = '\0';
    follow(verdict, name, path, target);
    if (!before && verdict->leads && changed && !verdict->changed)
        verdict->changed = strdup(name);
}

static void read_gitdir(struct verdict *verdict, const char *dir)
{
    static const char *const names[] = {"config", "config.worktree", "commondir", "gitdir"};
    AUTO_FREE char *hooks = path_join(dir, "hooks");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        read_name(verdict, dir, names[i]);
    struct reading reading = {.verdict = verdict, .dir = dir};
    (void)links_each(dir, read_link, &reading); /* the walk says what could not be read */
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
    AUTO_FREE char *common = named ? links_resolve(gitdir, named) : NULL;
    if (is_guarded(verdict->nested, gitdir))
        return;
    read_gitdir(verdict, gitdir);
    if (named && suspect(verdict, file))
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
    verdict->made = nested_changed(verdict->nested, path, S_ISDIR(st->st_mode));
    /* A directory has its birth from before it was renamed. Renaming changes it and what it is in; a git directory of
     * another name can become one by a file in it. */
    const char *last = strrchr(path, '/') + 1;
    verdict->put = S_ISDIR(st->st_mode) && !verdict->made && since(verdict, path) &&
                   (strcmp(last, ".git") != 0 || since(verdict, verdict->base));
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
    gitdir = links_resolve(verdict->base, to);
    if (gitdir && is_inside(verdict->nested, gitdir))
        read_repository(verdict, gitdir);
}

static enum qs_status say(struct sweep_findings *found, const struct verdict *verdict, const char *path,
                          struct qs_error *err)
{
    char *text = NULL, names[300] = "";
    if (verdict->program)
        (void)snprintf(names, sizeof names, "; %s of it is run by git on the host", verdict->program);
    const char *changed = verdict->changed ? verdict->changed : "directory";
    int code = verdict->made ? asprintf(&text, "%s is a repository made during a run, left where it is%s", path, names)
                             : asprintf(&text, "%s is a repository whose %s changed during a run%s%s%s", path, changed,
                                        verdict->leads ? "; it leads out of the workspace: " : "",
                                        verdict->leads ? verdict->leads : "", names);
    return sweep_line(&found->notices, code < 0 ? NULL : text, err);
}

/* Its name is too long for a path, say. */
static enum qs_status unseen(struct sweep_findings *found, const char *path, struct qs_error *err)
{
    char *text = NULL;
    if (asprintf(&text, "%s is a repository that cannot be looked at (%s)", path, strerrordesc_np(errno)) < 0)
        text = NULL;
    return sweep_line(&found->notices, text, err);
}

enum qs_status sweep_repo(struct sweep_findings *found, const struct nested *nested, const char *root, const char *name,
                          struct qs_error *err)
{
    AUTO(verdict_release) struct verdict verdict = {.nested = nested};
    AUTO_FREE char *path = path_join(root, name);
    AUTO_FREE char *base = path ? strdup(path) : NULL;
    struct stat st;
    if (!base)
        return error_memory(err);
    if (lstat(path, &st) != 0)
        return errno == ENOENT || errno == ENOTDIR ? QS_OK /* gone by itself, or moved away a moment ago */
                                                   : unseen(found, path, err);
    *strrchr(base, '/') = '\0';
    verdict.base = base;
    read_entry(&verdict, path, &st);
    if (verdict.made && verdict.leads) {
        AUTO_FREE char *why = NULL;
        if (asprintf(&why, "was made during a run, leads out of the workspace (%s), and was", verdict.leads) < 0)
            return error_memory(err);
        return sweep_away(found, root, name, why, err);
    }
    bool put = verdict.put && (verdict.leads || verdict.program);
    return verdict.made || verdict.changed || put ? say(found, &verdict, path, err) : QS_OK;
}

enum qs_status sweep_own(struct sweep_findings *found, const struct nested *nested, const char *gitdir,
                         struct qs_error *err)
{
    AUTO(verdict_release) struct verdict verdict = {.nested = nested, .base = gitdir};
    enum qs_status status = sweep_links(found, nested, gitdir, err);
    if (status != QS_OK)
        return status;
    read_gitdir(&verdict, gitdir);
    return verdict.changed ? say(found, &verdict, gitdir, err) : QS_OK;
}
