/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: the sandbox's state: directories, pending sweeps, the quarantine, the run log. */
#include "sandbox/cmd/diagnose.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "sandbox/run/run_log.h"
#include "sandbox/wire/sys.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define LIST_MAX_BYTES ((size_t)4 << 20) /* as the sweep writes it at most */

/* Opens BASE/name where it is there. Untrusted directories are findings. */
static int open_state(const struct state_base *base, const char *name, char **ret_path, struct findings *findings)
{
    struct qs_error err = {0};
    int fd = -1;
    enum qs_status status = state_open(base, name, false, &fd, ret_path, &err);
    if (!status)
        return fd;
    if (status != QS_ABSENT)
        finding_add_error(findings, "state", FINDING_FAIL, &err, "give it back to the runner alone: chown, chmod go-w");
    return -1;
}

static DIR *open_dir(int fd)
{
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;
    if (!dir && again >= 0)
        (void)close(again);
    return dir;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* ---- pending sweeps ---- */

/* Does a run hold the workspace's lock now? /proc/locks is read: to try the lock would make a run that starts in this
 * moment believe that it is not the first one in. */
static bool is_locked(int locks_fd, const char *name)
{
    struct stat st;
    char line[256], inode[64];
    bool found = false;
    if (fstatat(locks_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    (void)snprintf(inode, sizeof inode, " %02x:%02x:%llu ", major(st.st_dev), minor(st.st_dev),
                   (unsigned long long)st.st_ino);
    FILE *file = fopen("/proc/locks", "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = strstr(line, " FLOCK ") && strstr(line, inode);
    if (file)
        (void)fclose(file);
    return found;
}

/* The first root that a sweep's list names: pairs, each ended by a zero byte, of which those without a root say other
 * things. */
static const char *first_root(const char *list, size_t len)
{
    for (size_t at = 0; at < len;) {
        const char *root = list + at;
        if (root[0])
            return root;
        at += 1;
        at += strlen(list + at) + 1;
    }
    return "a workspace";
}

static void pending_list(int pending_fd, const char *name, bool locked, struct findings *findings)
{
    AUTO_FD int fd = openat(pending_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    AUTO_FREE char *list = NULL;
    size_t len = 0;
    if (fd < 0 || os_read_all(fd, name, LIST_MAX_BYTES, &list, &len, NULL) != QS_OK) {
        finding_add(findings, "pending", FINDING_FAIL, NULL, "the list %s of a sweep cannot be read", name);
        return;
    }
    const char *root = first_root(list, len);
    if (locked)
        finding_add(findings, "pending", FINDING_OK, NULL, "a run is going on in %s", root);
    else
        finding_add(findings, "pending", FINDING_WARN,
                    "the next run there sweeps: 'qsandbox run --workspace DIR -- true'",
                    "a run in %s was killed before its sweep", root);
}

static size_t pending_entry(int pending_fd, int locks_fd, const char *entry, struct findings *findings)
{
    if (is_dots(entry))
        return 0;
    if (strstr(entry, ".new"))
        finding_add(findings, "pending", FINDING_OK, NULL, "%s: an unfinished list, which the next run writes anew",
                    entry);
    else
        pending_list(pending_fd, entry, locks_fd >= 0 && is_locked(locks_fd, entry), findings);
    return 1;
}

static void pending(const struct state_base *base, struct findings *findings)
{
    size_t count = 0;
    AUTO_FD int pending_fd = open_state(base, "pending", NULL, findings);
    AUTO_FD int locks_fd = open_state(base, "locks", NULL, findings);
    DIR *dir = pending_fd >= 0 ? open_dir(pending_fd) : NULL;
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        count += pending_entry(pending_fd, locks_fd, entry->d_name, findings);
    if (dir)
        (void)closedir(dir);
    if (count == 0)
        finding_add(findings, "pending", FINDING_OK, NULL, "no sweep is pending");
}

/* ---- the quarantine ---- */

static size_t count_entries(int fd, int depth)
{
    size_t count = 0;
    DIR *dir = open_dir(fd);
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        if (is_dots(entry->d_name))
            continue;
        AUTO_FD int below = depth > 0 ? openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        count += below >= 0 ? count_entries(below, depth - 1) : 1;
    }
    if (dir)
        (void)closedir(dir);
    return count;
}

/* quarantine/WORKSPACE/TIME/NAME */
static void quarantine(const struct state_base *base, struct findings *findings)
{
    AUTO_FREE char *path = NULL, *advice = NULL;
    AUTO_FD int fd = open_state(base, "quarantine", &path, findings);
    size_t count = fd >= 0 ? count_entries(fd, 2) : 0;
    if (count == 0) {
        finding_add(findings, "quarantine", FINDING_OK, NULL, "empty");
        return;
    }
    if (asprintf(&advice, "look at it, then remove it: find %s", path) < 0)
        advice = NULL;
    finding_add(findings, "quarantine", FINDING_WARN, advice, "%zu entries that runs had put where host programs look",
                count);
}

/* ---- the run log ---- */

static void run_log(const struct state_base *base, struct findings *findings)
{
    AUTO_FREE char *path = NULL, *advice = NULL;
    struct qs_error err = {0};
    struct run_log_check check = {0};
    struct stat st;
    AUTO_FD int dir = open_state(base, "journal", &path, findings);
    AUTO_FD int fd = dir >= 0 ? openat(dir, "journal", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    if (dir < 0 || (fd < 0 && errno == ENOENT)) {
        finding_add(findings, "journal", FINDING_OK, NULL, "none yet: no run was recorded");
        return;
    }
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != base->uid ||
        (st.st_mode & (S_IWGRP | S_IWOTH)) || st.st_nlink != 1) {
        if (asprintf(&advice, "ls -l %s/journal", path) < 0)
            advice = NULL;
        finding_add(findings, "journal", FINDING_FAIL, advice,
                    "%s/journal is not a file of the runner alone: runs that must be recorded are refused", path);
        return;
    }
    if (run_log_read(fd, NULL, NULL, &check, &err) != QS_OK) {
        if (asprintf(&advice, "look who edited it, then keep it aside: mv %s/journal %s/journal.broken", path, path) <
            0)
            advice = NULL;
        finding_add_error(findings, "journal", FINDING_FAIL, &err, advice);
        return;
    }
    if (check.torn)
        finding_add(findings, "journal", FINDING_WARN, "nothing to do: the next run cuts it off",
                    "%llu records, the chain is whole; an unfinished line follows", (unsigned long long)check.records);
    else
        finding_add(findings, "journal", FINDING_OK, NULL, "%llu records, the chain is whole",
                    (unsigned long long)check.records);
}

void doctor_state(const struct state_base *base, struct findings *findings)
{
    pending(base, findings);
    quarantine(base, findings);
    run_log(base, findings);
}
