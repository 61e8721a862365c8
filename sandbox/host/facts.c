/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting the host facts: who runs, where, and each path that the policy names. */
#include "sandbox/host/facts.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "sandbox/host/caches.h"
#include "sandbox/host/guard.h"
#include "sandbox/wire/sys.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#define INSTALLED_SHIM     "/libexec/qsettings/qsandbox-shim"
#define FIELDS_BEFORE_PATH 7 /* in /proc/net/unix */

void host_facts_release(struct host_facts *facts)
{
    free(facts->user);
    free(facts->shell);
    free(facts->cwd);
    free(facts->executable);
    free(facts->kernel);
    path_fact_release(&facts->home);
    for (size_t i = 0; i < facts->shown_count; i++) {
        path_fact_release(&facts->shown[i].source);
        path_fact_release(&facts->shown[i].over);
        free(facts->shown[i].shown);
    }
    free(facts->shown);
    path_facts_release(&facts->read_only);
    for (size_t i = 0; i < facts->root_count; i++) {
        path_fact_release(&facts->roots[i].dir);
        git_fact_release(&facts->roots[i].git);
        path_facts_release(&facts->roots[i].guarded);
        path_facts_release(&facts->roots[i].pinned);
    }
    free(facts->roots);
    path_facts_release(&facts->hidden);
    path_facts_release(&facts->stores);
    path_facts_release(&facts->sockets);
    path_facts_release(&facts->devices);
    path_facts_release(&facts->host_sockets);
    path_fact_release(&facts->resolv);
    path_fact_release(&facts->shim);
    for (size_t i = 0; i < facts->cache_count; i++) {
        path_fact_release(&facts->caches[i].home);
        path_fact_release(&facts->caches[i].source);
    }
    free(facts->caches);
    path_fact_release(&facts->cache_base);
    cgroup_fact_release(&facts->group);
    *facts = HOST_FACTS_NONE;
}

/* ---- the shim ---- */

/* Absence is no error. */
static enum qs_status look_shim_at(const char *path, struct path_fact *ret_fact, struct qs_error *err)
{
    struct stat st, own;
    AUTO_FD int fd = sys_open(AT_FDCWD, path, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return QS_OK;
    if (fd < 0 || fstat(fd, &st) != 0 || stat("/proc/self/exe", &own) != 0)
        return error_sys(err, QS_IO, errno, "cannot look at the shim %s", path);
    mode_t others = S_IWGRP | S_IWOTH;
    if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != own.st_uid) || (st.st_mode & ~own.st_mode & others))
        return error_set(err, QS_UNTRUSTED, "the shim %s is not a file that is kept like the executor itself", path);
    char *copy = strdup(path);
    if (!copy)
        return error_memory(err);
    *ret_fact = (struct path_fact){.path = copy,
                                   .kind = PATH_FILE,
                                   .dev = st.st_dev,
                                   .ino = st.st_ino,
                                   .uid = st.st_uid,
                                   .mode = st.st_mode,
                                   .fd = steal_fd(&fd)};
    return QS_OK;
}

/* The length of what is before the last slash. */
static size_t parent_len(const char *path, size_t len)
{
    while (len > 0 && path[len - 1] != '/')
        len--;
    return len > 0 ? len - 1 : 0;
}

enum qs_status shim_look(const char *executable, struct path_fact *ret_fact, struct qs_error *err)
{
    struct path_fact fact = {.fd = -1};
    AUTO(buf_release) struct buf beside = {0}, installed = {0};
    buf_printf(&beside, "%s-shim", executable);
    buf_add(&installed, executable, parent_len(executable, parent_len(executable, strlen(executable))));
    buf_add_str(&installed, INSTALLED_SHIM);
    if (beside.failed || installed.failed)
        return error_memory(err);
    enum qs_status status = look_shim_at(beside.data, &fact, err);
    if (status)
        return status;
    if (fact.kind == PATH_ABSENT)
        status = look_shim_at(installed.data, &fact, err);
    if (status)
        return status;
    *ret_fact = fact;
    return QS_OK;
}

/* ---- the runner ---- */

static enum qs_status look_user(const struct facts_request *request, struct host_facts *facts, struct qs_error *err)
{
    facts->uid = geteuid();
    facts->gid = getegid();
    if (getuid() != facts->uid || getgid() != facts->gid)
        return error_set(err, QS_UNTRUSTED,
                         "real and effective user differ; this program is not to be run set-user-ID");
    struct passwd entry, *found = NULL;
    char space[16384];
    int code = getpwuid_r(facts->uid, &entry, space, sizeof space, &found);
    if (code != 0 || !found)
        return error_set(err, QS_IO, "the password database has no entry for uid %u", (unsigned)facts->uid);
    facts->user = strdup(entry.pw_name);
    facts->shell = strdup(entry.pw_shell[0] ? entry.pw_shell : "/bin/sh");
    if (!facts->user || !facts->shell)
        return error_memory(err);
    enum qs_status status = path_look(request->home ? request->home : entry.pw_dir, "/", false, &facts->home, err);
    if (status)
        return status;
    if (facts->home.kind != PATH_DIR)
        return error_set(err, QS_INVALID, "the home directory %s does not exist", entry.pw_dir);
    facts->state = state_base_of(facts->home.path, request->root, facts->uid);
    return QS_OK;
}

static enum qs_status look_self(struct host_facts *facts, struct qs_error *err)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    if (len <= 0)
        return error_sys(err, QS_IO, errno, "cannot find this program through /proc/self/exe");
    path[len] = '\0';
    struct utsname name;
    (void)uname(&name);
    facts->executable = strdup(path);
    facts->kernel = strdup(name.release);
    facts->landlock_abi = sys_landlock_abi();
    AUTO(path_fact_release) struct path_fact var_tmp = {.fd = -1}, run = {.fd = -1};
    enum qs_status status = path_look_itself("/var/tmp", &var_tmp, NULL);
    facts->has_var_tmp = !status && var_tmp.kind == PATH_DIR;
    status = path_look_itself("/run", &run, NULL);
    facts->has_run = !status && run.kind == PATH_DIR;
    if (!facts->executable || !facts->kernel)
        return error_memory(err);
    status = shim_look(facts->executable, &facts->shim, err);
    if (status)
        return status;
    return path_look("/etc/resolv.conf", "/", true, &facts->resolv, err);
}

/* ---- roots ---- */

static enum qs_status guard_root(const struct qs_policy *policy, struct root_fact *root, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < policy->protected_paths.count; i++) {
        const char *name = policy->protected_paths.items[i];
        if (strncmp(name, ".git/", 5) == 0) /* all of it is covered, or read-only */
            continue;
        AUTO_FREE char *path = path_join(root->dir.path, name);
        status = path ? guard_below(root->dir.path, path, &root->guarded, &root->pinned, err) : error_memory(err);
        if (status)
            return status;
    }
    return QS_OK;
}

static enum qs_status look_root(const struct facts_request *request, struct host_facts *facts, const char *given,
                                struct qs_error *err)
{
    struct root_fact *root = &facts->roots[facts->root_count++];
    *root = (struct root_fact){.dir.fd = -1, .git = {.dot_git.fd = -1}};
    enum qs_status status = path_look(given, facts->home.path, true, &root->dir, err);
    if (status)
        return status;
    if (root->dir.kind == PATH_ABSENT)
        return error_set(err, QS_INVALID, "the writable root %s does not exist", given);
    if (root->dir.kind != PATH_DIR)
        return error_set(err, QS_INVALID, "the writable root %s is not a directory", given);
    if (request->policy->filesystem == QS_FS_READ_ONLY)
        return QS_OK; /* nothing to guard where nothing is writable */
    return git_look(&root->dir, &root->git, err);
}

static char *absolute(const char *path)
{
    if (path && path[0] == '/')
        return strdup(path);
    AUTO_FREE char *here = getcwd(NULL, 0);
    if (!here)
        return NULL;
    return path ? path_join(here, path) : STEAL(here);
}

static enum qs_status look_workspace(const struct facts_request *request, struct host_facts *facts,
                                     struct qs_error *err)
{
    facts->roots = calloc(1, sizeof *facts->roots);
    AUTO_FREE char *workspace = absolute(request->workspace);
    if (!facts->roots)
        return error_memory(err);
    if (!workspace)
        return error_sys(err, QS_USAGE, errno, "cannot tell the current directory");
    enum qs_status status = look_root(request, facts, workspace, err);
    if (status && facts->roots[0].dir.kind != PATH_DIR && status == QS_INVALID)
        return error_set(err, QS_USAGE, "the workspace %s is not a directory that can be reached", workspace);
    return status;
}

/* The workspace, and what else the policy makes writable; guarded when all are known. */
static enum qs_status look_roots(const struct facts_request *request, struct host_facts *facts, struct qs_error *err)
{
    const struct qs_list *listed = &request->policy->writable_roots;
    enum qs_status status = look_workspace(request, facts, err);
    if (status || request->policy->filesystem != QS_FS_WORKSPACE_WRITE)
        return status; /* nothing to guard where nothing is writable */
    struct root_fact *grown = reallocarray(facts->roots, 1 + listed->count, sizeof *grown);
    if (!grown)
        return error_memory(err);
    facts->roots = grown;
    for (size_t i = 0; i < listed->count; i++) {
        status = look_root(request, facts, listed->items[i], err);
        if (status)
            return status;
    }
    for (size_t i = 0; i < facts->root_count; i++) {
        status = guard_root(request->policy, &facts->roots[i], err);
        if (status)
            return status;
    }
    return QS_OK;
}

static enum qs_status look_cwd(const struct facts_request *request, struct host_facts *facts, struct qs_error *err)
{
    AUTO_FREE char *given = absolute(request->cwd ? request->cwd : request->workspace);
    AUTO(path_fact_release) struct path_fact fact = {.fd = -1};
    if (!given)
        return error_sys(err, QS_USAGE, errno, "cannot tell the current directory");
    enum qs_status status = path_look(given, "/", false, &fact, err);
    if (status)
        return status;
    if (fact.kind != PATH_DIR)
        return error_set(err, QS_USAGE, "%s is not a directory", given);
    facts->cwd = STEAL(fact.path);
    return QS_OK;
}

/* ---- the host's pathname sockets: "Num: RefCount Protocol Flags Type St Inode Path", proc(5) ---- */

static void release_file(FILE **file)
{
    if (*file)
        (void)fclose(*file);
}

/* The path in one line of the table, NULL where the socket has none or an abstract one. Changes line. */
static char *socket_path(char *line)
{
    line[strcspn(line, "\n")] = '\0';
    for (int field = 0; field < FIELDS_BEFORE_PATH; field++) {
        line += strspn(line, " ");
        line += strcspn(line, " ");
    }
    if (*line == ' ')
        line++;
    return line[0] == '/' ? line : NULL;
}

static enum qs_status look_host_sockets(const char *table, struct path_facts *facts, struct qs_error *err)
{
    AUTO(release_file) FILE *file = fopen(table, "re");
    if (!file)
        return error_sys(err, QS_IO, errno, "cannot read %s, which lists the sockets to hide", table);
    AUTO_FREE char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, file) > 0) {
        const char *path = socket_path(line);
        struct path_fact fact = {.fd = -1};
        /* A name that runs through a link is listed as it was bound; the place behind it is what has to be hidden. */
        if (!path || path_look(path, "/", false, &fact, NULL) != QS_OK)
            continue;
        if (fact.kind != PATH_SOCKET)
            path_fact_release(&fact);
        else if (!path_facts_add(facts, &fact))
            return error_memory(err);
    }
    if (ferror(file))
        return error_sys(err, QS_IO, errno, "cannot read %s, which lists the sockets to hide", table);
    return QS_OK;
}

/* ---- lists of paths ---- */

/* A hidden path in a writable place: a directory on the way that was renamed, or closed, would show it to the next run.
 */
static enum qs_status guard_hidden(struct host_facts *facts, const struct path_fact *hidden, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < facts->root_count && !status; i++) {
        struct root_fact *root = &facts->roots[i];
        const char *top = root->dir.path;
        status = guard_seen(top, hidden, err);
        if (!status && hidden->path && path_within(hidden->path, top) && strcmp(hidden->path, top) != 0)
            status = guard_way(top, hidden->path, &root->pinned, err);
    }
    return status;
}

typedef enum qs_status seen_path(struct host_facts *facts, const struct path_fact *path, struct qs_error *err);

/* seen: called for each path, also one that is absent; may be NULL. */
static enum qs_status look_list(const struct qs_list *list, struct host_facts *host, bool keep_fd, seen_path *seen,
                                struct path_facts *facts, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < list->count && !status; i++) {
        struct path_fact fact = {.fd = -1};
        status = path_look(list->items[i], host->home.path, keep_fd, &fact, err);
        if (!status && seen)
            status = seen(host, &fact, err);
        if (status) {
            path_fact_release(&fact);
            break;
        }
        if (fact.kind == PATH_ABSENT)
            path_fact_release(&fact);
        else if (!path_facts_add(facts, &fact))
            status = error_memory(err);
    }
    return status;
}

static enum qs_status look_stores(const struct facts_request *request, struct host_facts *facts, struct qs_error *err)
{
    char *fixed[] = {(char *)"/etc/qsettings", (char *)"~/.config/qsettings", (char *)"~/.local/state/qsettings"};
    struct qs_list places = {.items = fixed, .count = 3};
    enum qs_status status = look_list(&places, facts, false, NULL, &facts->stores, err);
    if (status || !request->root)
        return status;
    char *root[] = {(char *)request->root};
    struct qs_list extra = {.items = root, .count = 1};
    return look_list(&extra, facts, false, NULL, &facts->stores, err);
}

static enum qs_status look_group(const struct facts_request *request, struct host_facts *facts, struct qs_error *err)
{
    facts->in_session_group = request->session_group && *request->session_group >= 0;
    if (facts->in_session_group) {
        int copy = fcntl(*request->session_group, F_DUPFD_CLOEXEC, 3);
        if (copy < 0)
            return error_sys(err, QS_IO, errno, "cannot open the session's control group");
        cgroup_adopt(copy, &facts->group);
    } else if (request->policy->limits.memory_bytes || request->policy->limits.processes) {
        cgroup_look(&cgroup_here, facts->uid, &facts->group);
    }
    return QS_OK;
}

static enum qs_status collect(const struct facts_request *request, struct host_facts *facts, struct qs_error *err)
{
    const struct qs_policy *policy = request->policy;
    bool writable = policy->filesystem == QS_FS_WORKSPACE_WRITE, private = policy->unix_sockets == QS_UNIX_PRIVATE;
    enum qs_status status = look_user(request, facts, err);
    if (status)
        return status;
    status = look_self(facts, err);
    if (status)
        return status;
    status = look_roots(request, facts, err);
    if (status)
        return status;
    status = writable && policy->caches == QS_CACHES_PRIVATE ? caches_look(request, facts, err) : QS_OK;
    if (status)
        return status;
    status = private ? look_list(&policy->sockets, facts, true, NULL, &facts->sockets, err) : QS_OK;
    if (status)
        return status;
    status = look_list(&policy->devices, facts, true, NULL, &facts->devices, err);
    if (status)
        return status;
    status = look_group(request, facts, err);
    if (status)
        return status;
    status = look_cwd(request, facts, err);
    if (status)
        return status;
    status = look_list(&policy->hidden_paths, facts, false, writable ? guard_hidden : NULL, &facts->hidden, err);
    if (status)
        return status;
    status = private ? look_host_sockets("/proc/net/unix", &facts->host_sockets, err) : QS_OK;
    if (status)
        return status;
    return look_stores(request, facts, err);
}

enum qs_status host_facts_collect(const struct facts_request *request, struct host_facts *ret_facts,
                                  struct qs_error *err)
{
    AUTO(host_facts_release) struct host_facts facts = HOST_FACTS_NONE;
    enum qs_status status = collect(request, &facts, err);
    if (status)
        return status;
    *ret_facts = facts;
    facts = HOST_FACTS_NONE;
    return QS_OK;
}
