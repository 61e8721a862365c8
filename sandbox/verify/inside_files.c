/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the file system, from inside: what can be written, replaced, read. */
#include "sandbox/verify/inside_checks.h"

#include "base/cleanup.h"
#include "sandbox/host/host_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- attempts; each gives 0 or an errno, and takes back what succeeded ---- */

static int try_create(const char *dir, const char *name)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_FD int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return path ? errno : ENOMEM;
    return unlink(path) == 0 ? 0 : errno;
}

static int try_mkdir(const char *dir, const char *name)
{
    AUTO_FREE char *path = path_join(dir, name);
    if (!path || mkdir(path, 0700) != 0)
        return path ? errno : ENOMEM;
    return rmdir(path) == 0 ? 0 : errno;
}

/* Writes nothing: the open alone decides. */
static int try_open(const char *path, int flags)
{
    AUTO_FD int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? errno : 0;
}

static int try_rename(const char *from, const char *to)
{
    if (rename(from, to) != 0)
        return errno;
    return rename(to, from) == 0 ? 0 : errno;
}

static bool denied(int error)
{
    return error == EROFS || error == EACCES || error == EPERM || error == EBUSY;
}

/* ---- writing ---- */

static int write_and_rename(const struct inside_brief *brief)
{
    char from[64], to[64];
    (void)snprintf(from, sizeof from, ".qsandbox-verify-%.16s", brief->secret);
    (void)snprintf(to, sizeof to, ".qsandbox-verify-%.16s.new", brief->secret);
    AUTO_FREE char *path = path_join(brief->workspace, from);
    AUTO_FREE char *renamed = path_join(brief->workspace, to);
    AUTO_FD int fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (fd < 0 || !renamed)
        return errno;
    int error = write(fd, "x", 1) == 1 && fsync(fd) == 0 && rename(path, renamed) == 0 ? 0 : errno;
    if (unlink(renamed) != 0)
        (void)unlink(path);
    return error;
}

void inside_workspace_write(const struct inside_brief *brief, struct inside_record *record)
{
    record->error = write_and_rename(brief);
    if (brief->writable && record->error == 0)
        inside_pass(record, "a file was made, written, flushed, renamed and removed");
    else if (brief->writable)
        inside_fail(record, "the workspace cannot be written: %s", inside_errno(record->error));
    else if (record->error == EROFS)
        inside_skip(record, "the policy is read-only, and the write failed with EROFS");
    else
        inside_fail(record, "the policy is read-only, but a write gave %s", inside_errno(record->error));
}

void inside_outside_write(const struct inside_brief *brief, struct inside_record *record)
{
    AUTO_FREE char *existing = path_join(brief->outside, "existing");
    const struct {
        const char *what;
        int error;
    } attempts[] = {
        {"a new file in the runner's own directory", brief->outside[0] ? try_create(brief->outside, "new") : EROFS},
        {"a new directory there", brief->outside[0] ? try_mkdir(brief->outside, "dir") : EROFS},
        {"an existing file there", brief->outside[0] && existing ? try_open(existing, O_WRONLY) : EROFS},
        {"a new file in /", try_create("/", ".qsandbox-verify")},
    };
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
        record->error = attempts[i].error;
        if (record->error != EROFS) {
            inside_fail(record, "%s gave %s, not EROFS", attempts[i].what, inside_errno(record->error));
            return;
        }
    }
    inside_pass(record, "%sa new file in / failed with EROFS",
                brief->outside[0] ? "files and directories in the runner's own directory, and " : "");
}

/* ---- git ---- */

static bool no_checkout(const struct inside_brief *brief, struct inside_record *record)
{
    if (!brief->checkout)
        inside_skip(record, "the workspace is no normal checkout");
    return !brief->checkout;
}

void inside_protected_hooks(const struct inside_brief *brief, struct inside_record *record)
{
    AUTO_FREE char *hooks = path_join(brief->workspace, ".git/hooks");
    AUTO_FREE char *moved = path_join(brief->workspace, ".git/hooks.moved");
    if (no_checkout(brief, record) || !hooks || !moved)
        return;
    record->error = try_create(hooks, "qsandbox-verify");
    int renaming = try_rename(hooks, moved);
    if (record->error == ENOENT)
        inside_skip(record, "the checkout has no .git/hooks");
    else if (record->error == EROFS && denied(renaming))
        inside_pass(record, "a new hook: EROFS; the directory renamed: %s", inside_errno(renaming));
    else
        inside_fail(record, "a new hook: %s; the directory renamed: %s", inside_errno(record->error),
                    inside_errno(renaming));
}

void inside_git_pinned(const struct inside_brief *brief, struct inside_record *record)
{
    AUTO_FREE char *dot_git = path_join(brief->workspace, ".git");
    AUTO_FREE char *moved = path_join(brief->workspace, ".git.moved");
    if (no_checkout(brief, record) || !dot_git || !moved)
        return;
    record->error = try_rename(dot_git, moved);
    if (record->error == EBUSY || (!brief->writable && record->error == EROFS))
        inside_pass(record, ".git renamed away: %s", inside_errno(record->error));
    else
        inside_fail(record, ".git renamed away: %s", inside_errno(record->error));
}

/* Replaces this process by git. */
static _Noreturn void become_git(const char *workspace, bool commit)
{
    static char *const add[] = {(char *)"git", (char *)"add", (char *)"canary", NULL};
    static char *const commit_args[] = {(char *)"git", (char *)"commit", (char *)"-q",
                                        (char *)"-m",  (char *)"canary", NULL};
    int null = open("/dev/null", O_WRONLY);
    bool set = setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1) == 0 && setenv("GIT_CONFIG_NOSYSTEM", "1", 1) == 0 &&
               setenv("GIT_AUTHOR_NAME", "canary", 1) == 0 && setenv("GIT_AUTHOR_EMAIL", "canary@localhost", 1) == 0 &&
               setenv("GIT_COMMITTER_NAME", "canary", 1) == 0 &&
               setenv("GIT_COMMITTER_EMAIL", "canary@localhost", 1) == 0;
    if (set && null >= 0 && dup2(null, STDOUT_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0 && chdir(workspace) == 0)
        (void)execvp("git", commit ? commit_args : add);
    _exit(errno == ENOENT ? 127 : 126);
}

static int run_git(const char *workspace, bool commit)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        become_git(workspace, commit);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 126;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

void inside_worktree_commit(const struct inside_brief *brief, struct inside_record *record)
{
    AUTO_FREE char *file = path_join(brief->workspace, "canary");
    AUTO_FD int fd = file ? open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0 || write(fd, "canary\n", 7) != 7) {
        record->error = errno;
        inside_fail(record, "the linked worktree cannot be written: %s", inside_errno(errno));
        return;
    }
    int added = run_git(brief->workspace, false);
    int committed = added == 0 ? run_git(brief->workspace, true) : -1;
    if (added == 127)
        inside_skip(record, "there is no git in here");
    else if (added != 0 || committed != 0)
        inside_fail(record, "git %s ended with status %d", added ? "add" : "commit", added ? added : committed);
    else
        inside_pass(record, "git add and git commit work");
}

/* ---- reading ---- */

/* The first of the paths, or of NAME below them, that can be opened; NULL: none. */
static const char *first_readable(const json_t *paths, const char *name)
{
    for (size_t i = 0; i < json_array_size(paths); i++) {
        const char *path = json_string_value(json_array_get(paths, i));
        AUTO_FREE char *below = path_join(path, name);
        if (try_open(path, O_RDONLY) == 0 || (below && try_open(below, O_RDONLY) == 0))
            return path;
    }
    return NULL;
}

void inside_hidden(const struct inside_brief *brief, struct inside_record *record)
{
    const char *found = first_readable(brief->hidden, "secret");
    if (found)
        inside_fail(record, "%s can be read", found);
    else if (json_array_size(brief->hidden) == 0)
        inside_fail(record, "there was nothing hidden to try");
    else
        inside_pass(record, "%zu hidden paths cannot be opened", json_array_size(brief->hidden));
}

void inside_store(const struct inside_brief *brief, struct inside_record *record)
{
    const char *found = first_readable(brief->stores, "system/data.mdb");
    if (found)
        inside_fail(record, "%s can be read", found);
    else if (json_array_size(brief->stores) == 0)
        inside_fail(record, "there was no store to try");
    else
        inside_pass(record, "%zu places of stores cannot be opened", json_array_size(brief->stores));
}

void inside_run_log(const struct inside_brief *brief, struct inside_record *record)
{
    if (!brief->run_log[0]) {
        inside_skip(record, "executor.audit is off, there is no run log");
        return;
    }
    record->error = try_open(brief->run_log, O_WRONLY | O_APPEND);
    if (record->error == EACCES || record->error == ENOENT)
        inside_pass(record, "the run log cannot be seen: %s", inside_errno(record->error));
    else if (record->error)
        inside_fail(record, "the run log is not hidden: %s", inside_errno(record->error));
    else
        inside_fail(record, "the run log can be written");
}

/* ---- devices ---- */

static bool known_device(const struct inside_brief *brief, const char *name)
{
    /* bwrap(1), --dev; and what it links. */
    static const char *const known[] = {".",      "..",  "console", "core",  "fd",     "full", "null",    "ptmx", "pts",
                                        "random", "shm", "stderr",  "stdin", "stdout", "tty",  "urandom", "zero"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    for (size_t i = 0; i < json_array_size(brief->devices); i++) {
        const char *granted = json_string_value(json_array_get(brief->devices, i)) + strlen("/dev/");
        size_t len = strlen(name);
        if (strncmp(granted, name, len) == 0 && (granted[len] == '\0' || granted[len] == '/'))
            return true;
    }
    return false;
}

void inside_dev(const struct inside_brief *brief, struct inside_record *record)
{
    DIR *list = opendir("/dev");
    struct dirent *entry;
    char foreign[NAME_MAX + 1] = "";
    while (list && !foreign[0] && (entry = readdir(list)))
        if (!known_device(brief, entry->d_name))
            (void)snprintf(foreign, sizeof foreign, "%s", entry->d_name);
    record->error = try_create("/dev", "qsandbox-verify");
    int node = mknod("/tmp/qsandbox-verify-node", S_IFCHR | 0600, (dev_t)0x101) == 0 ? 0 : errno; /* /dev/mem */
    if (!list)
        inside_fail(record, "/dev cannot be listed");
    else if (foreign[0])
        inside_fail(record, "/dev/%.200s is there", foreign);
    else if (record->error != EROFS)
        inside_fail(record, "a new file in /dev: %s", inside_errno(record->error));
    else if (node == 0)
        inside_fail(record, "a device node can be made");
    else
        inside_pass(record, "only the minimal devices; a new file there: EROFS; a device node: %s", inside_errno(node));
    if (list)
        (void)closedir(list);
}

void inside_descriptor(const struct inside_brief *brief, struct inside_record *record)
{
    (void)brief;
    DIR *list = opendir("/proc/self/fd");
    struct dirent *entry;
    int foreign = -1;
    while (list && (entry = readdir(list))) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (fd > STDERR_FILENO && fd != dirfd(list))
            foreign = fd;
    }
    if (!list)
        inside_fail(record, "/proc/self/fd cannot be listed");
    else if (foreign >= 0)
        inside_fail(record, "descriptor %d of the caller is open", foreign);
    else
        inside_pass(record, "no descriptor above 2 is open");
    if (list)
        (void)closedir(list);
}
