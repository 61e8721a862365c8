/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox caches --clear: removes the private caches of one workspace. */
#include "sandbox/sandbox.h"

#include "sandbox/hostpath.h"
#include "sandbox/state.h"
#include "store/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Opens a directory of the same file system, made readable first: Go's modules are read-only directories. */
static int enter(int dir, const char *name, dev_t device)
{
    char self[64];
    struct stat st;
    AUTO_FD int place = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (place < 0 || fstat(place, &st) != 0 || st.st_dev != device)
        return -1;
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", place);
    return chmod(self, 0700) == 0 ? openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

/* Removes everything in the directory fd, which it takes over. Names come from a confined command: no link is followed,
 * no file system entered. */
static enum qs_status empty(int fd, struct qs_error *err)
{
    DIR *dir = fdopendir(fd);
    enum qs_status status = QS_OK;
    struct dirent *entry;
    struct stat here;
    if (!dir) {
        (void)close(fd);
        return error_sys(err, QS_IO, errno, "cannot read a cache directory");
    }
    if (fstat(dirfd(dir), &here) != 0 || fchmod(dirfd(dir), 0700) != 0)
        status = error_sys(err, QS_IO, errno, "cannot open a cache directory");
    while (status == QS_OK && (entry = readdir(dir))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), name, 0) == 0)
            continue;
        int child = errno == EISDIR ? enter(dirfd(dir), name, here.st_dev) : -1;
        if (child < 0)
            status = error_sys(err, QS_IO, errno, "cannot remove %s from the caches", name);
        else if ((status = empty(child, err)) == QS_OK && unlinkat(dirfd(dir), name, AT_REMOVEDIR) != 0)
            status = error_sys(err, QS_IO, errno, "cannot remove %s from the caches", name);
    }
    (void)closedir(dir);
    return status;
}

static enum qs_status clear(const struct options *options, struct qs_error *err)
{
    AUTO(path_fact_release) struct path_fact home = {.fd = -1}, workspace = {.fd = -1};
    const struct passwd *entry = getpwuid(geteuid());
    char name[STATE_WORKSPACE_BYTES], whole[64];
    if (!entry)
        return error_set(err, QS_IO, "the password database has no entry for uid %u", (unsigned)geteuid());
    AUTO_FREE char *here = getcwd(NULL, 0);
    AUTO_FREE char *given = !options->workspace || !here   ? NULL
                            : options->workspace[0] == '/' ? strdup(options->workspace)
                                                           : path_join(here, options->workspace);
    enum qs_status status = path_look(entry->pw_dir, "/", false, &home, err);
    if (status == QS_OK)
        status = path_look(given ? given : here ? here : "/", "/", false, &workspace, err);
    if (status != QS_OK)
        return status;
    if (home.kind != PATH_DIR || workspace.kind != PATH_DIR)
        return error_set(err, QS_USAGE, "there is no such workspace or home directory");
    const struct state_place place = state_place_of(home.path, options->root, geteuid());
    state_workspace_name(workspace.path, name);
    (void)snprintf(whole, sizeof whole, "caches/%s", name);
    int fd = -1;
    status = state_open(&place, whole, false, &fd, NULL, err);
    if (status == QS_ABSENT)
        return QS_OK; /* there are none */
    return status == QS_OK ? empty(fd, err) : status;
}

int cmd_caches(const struct options *options)
{
    struct qs_error err = {0};
    if (!options->clear) {
        error_set(&err, QS_USAGE, "caches takes --clear");
        return report_error(&err, -QS_USAGE);
    }
    enum qs_status status = clear(options, &err);
    return status == QS_OK ? 0 : report_error(&err, -status);
}
