/* SPDX-License-Identifier: Apache-2.0 */
/* Where a store is, and the walk down to it that trusts nothing it has not looked at. */
#include "store/store_dir.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"

#include "qsettings/maintenance.h"
#include "store/snapshot.h"
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const SYSTEM_PARENT = "/etc/qsettings";

const char *qs_scope_name(enum qs_scope scope)
{
    switch (scope) {
    case QS_SCOPE_EFFECTIVE:
        return "effective";
    case QS_SCOPE_DEFAULTS:
        return "defaults";
    case QS_SCOPE_USER:
        return "user";
    case QS_SCOPE_SYSTEM:
        return "system";
    }
    return "unknown";
}

/* Not absent: where the database is out of order for a while, the user's own narrowing of a policy must not go. */
static enum qs_status no_home(uid_t uid, struct qs_error *err)
{
    error_set(err, QS_IO, "the password database has no home for uid %u", (unsigned)uid);
    error_add_advice(err, "give this user an entry with a home, or name the stores with --root");
    return QS_IO;
}

/* The home that the password database gives for the effective user; HOME has no say. */
static enum qs_status home_of_user(uid_t uid, char **ret_home, struct qs_error *err)
{
    long size = sysconf(_SC_GETPW_R_SIZE_MAX);
    size_t cap = size > 0 ? (size_t)size : 16384;
    for (;; cap *= 2) {
        AUTO_FREE char *buffer = malloc(cap);
        if (!buffer)
            return error_memory(err);
        struct passwd entry;
        struct passwd *found = NULL;
        int code = getpwuid_r(uid, &entry, buffer, cap, &found);
        if (code == ERANGE && cap < (size_t)1 << 24)
            continue;
        if (code)
            return error_sys(err, QS_IO, code, "the password database cannot be read");
        if (!found || !found->pw_dir || found->pw_dir[0] != '/')
            return no_home(uid, err);
        *ret_home = strdup(found->pw_dir);
        return *ret_home ? QS_OK : error_memory(err);
    }
}

static char *joined(const char *dir, const char *name)
{
    char *path = NULL;
    const char *slash = dir[0] && dir[strlen(dir) - 1] == '/' ? "" : "/";
    if (asprintf(&path, "%s%s%s", dir, slash, name) < 0)
        return NULL;
    return path;
}

enum qs_status store_dir_init(enum qs_scope scope, const char *root, struct store_dir *ret_dir, struct qs_error *err)
{
    if (scope < QS_SCOPE_DEFAULTS || scope > QS_SCOPE_SYSTEM)
        return error_set(err, QS_USAGE, "there is no scope number %d", (int)scope);
    struct store_dir dir = {.scope = scope, .owner = 0};
    if (root) {
        if (root[0] != '/')
            return error_set(err, QS_USAGE, "the root must be an absolute path: %s", root);
        if (strlen(root) > QS_PATH_MAX_BYTES)
            return error_set(err, QS_USAGE, "the root is longer than %u bytes", QS_PATH_MAX_BYTES);
        dir.owner = qs_os->geteuid();
        dir.path = joined(root, qs_scope_name(scope));
    } else if (scope == QS_SCOPE_USER) {
        dir.owner = qs_os->geteuid();
        enum qs_status status = home_of_user(dir.owner, &dir.home, err);
        if (status)
            return status;
        dir.path = joined(dir.home, ".config/qsettings/user");
    } else {
        dir.path = joined(SYSTEM_PARENT, qs_scope_name(scope));
    }
    if (root)
        dir.root = strdup(root);
    if (!dir.path || (root && !dir.root)) {
        store_dir_release(&dir);
        return error_memory(err);
    }
    *ret_dir = dir;
    return QS_OK;
}

enum qs_status store_dir_copy(const struct store_dir *from, struct store_dir *ret_dir, struct qs_error *err)
{
    struct store_dir dir = *from;
    dir.path = strdup(from->path);
    dir.root = from->root ? strdup(from->root) : NULL;
    dir.home = from->home ? strdup(from->home) : NULL;
    if (!dir.path || (from->root && !dir.root) || (from->home && !dir.home)) {
        store_dir_release(&dir);
        return error_memory(err);
    }
    *ret_dir = dir;
    return QS_OK;
}

void store_dir_release(struct store_dir *dir)
{
    free(dir->path);
    free(dir->root);
    free(dir->home);
    *dir = (struct store_dir){0};
}

mode_t store_dir_mode(const struct store_dir *dir)
{
    return dir->scope == QS_SCOPE_USER ? 0700 : 0755;
}

mode_t store_dir_data_mode(const struct store_dir *dir)
{
    return dir->scope == QS_SCOPE_USER ? 0600 : 0644;
}

/* ---- trust in one owner and mode ---- */

#define OVERFLOW_UID 65534u

/* Is this process in a user namespace that maps less than the whole id range onto itself? */
static bool in_user_namespace(void)
{
    AUTO_FD int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
    char text[128] = "";
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return true; /* not known: the careful answer */
    unsigned inside = 1;
    unsigned outside = 1;
    unsigned count = 0;
    return sscanf(text, "%u %u %u", &inside, &outside, &count) != 3 || inside != 0 || outside != 0 ||
           count != UINT32_MAX;
}

static enum qs_status check_owner(const struct store_dir *dir, const struct stat *st, const char *path,
                                  struct qs_error *err)
{
    enum qs_status status = QS_OK;
    if (st->st_uid == OVERFLOW_UID && in_user_namespace()) {
        status =
            error_set(err, QS_UNTRUSTED,
                      "%s shows the overflow uid %u: its owner is not mapped into this user namespace, so it may be "
                      "anybody's",
                      path, OVERFLOW_UID);
        error_add_advice(err, "read the policy outside of the user namespace and hand it in");
    } else if (st->st_uid != 0 && st->st_uid != dir->owner) {
        status = error_set(err, QS_UNTRUSTED, "%s belongs to uid %u; only root%s may own it", path,
                           (unsigned)st->st_uid, dir->owner ? " or you" : "");
        error_add_advice(err, "chown it, or name another root");
    }
    return status;
}

enum step_kind { STEP_ABOVE, STEP_STORE };

static enum qs_status check_dir(const struct store_dir *dir, const struct stat *st, enum step_kind kind,
                                const char *path, struct qs_error *err)
{
    if (!S_ISDIR(st->st_mode))
        return error_set(err, QS_UNTRUSTED, "%s is not a directory", path);
    enum qs_status status = check_owner(dir, st, path, err);
    if (status)
        return status;
    bool open_to_others = (st->st_mode & (S_IWGRP | S_IWOTH)) != 0;
    bool sticky = kind == STEP_ABOVE && (st->st_mode & S_ISVTX);
    if (open_to_others && !sticky) {
        status = error_set(err, QS_UNTRUSTED, "%s is writable by group or others (mode %04o)", path,
                           (unsigned)st->st_mode & 07777);
        error_add_advice(err, "chmod go-w %s", path);
    }
    return status;
}

/* ---- the walk down ---- */

/* A step still to be taken; one that came out of a link's text does not count as absent when it is missing. */
struct step {
    char *name;
    bool from_link;
    bool is_store;
};

struct descent {
    const struct store_dir *dir;
    struct step *steps; /* a stack: the next step is the last item */
    size_t count, cap;
    unsigned hops;
    int fd;
    char shown[QS_PATH_MAX_BYTES + 1]; /* the way so far, for messages */
};

static void descent_release(struct descent *d)
{
    for (size_t i = 0; i < d->count; i++)
        free(d->steps[i].name);
    free(d->steps);
    if (d->fd >= 0)
        close(d->fd);
}

static bool push_step(struct descent *d, const char *name, size_t len, bool from_link)
{
    if (d->count == d->cap) {
        size_t cap = d->cap ? d->cap * 2 : 16;
        struct step *steps = realloc(d->steps, cap * sizeof *steps);
        if (!steps)
            return false;
        d->steps = steps;
        d->cap = cap;
    }
    char *copy = strndup(name, len);
    if (!copy)
        return false;
    d->steps[d->count++] = (struct step){copy, from_link, false};
    return true;
}

/* Pushes the components of path, last first, so that the first one is on top. */
static bool push_path(struct descent *d, const char *path, bool from_link)
{
    size_t end = strlen(path);
    while (end > 0) {
        while (end > 0 && path[end - 1] == '/')
            end--;
        size_t start = end;
        while (start > 0 && path[start - 1] != '/')
            start--;
        bool itself = end - start == 1 && path[start] == '.';
        if (end > start && !itself && !push_step(d, path + start, end - start, from_link))
            return false;
        end = start;
    }
    return true;
}

static enum qs_status start_at_root(struct descent *d, struct qs_error *err)
{
    int fd = os_open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY, 0, 0);
    if (fd < 0)
        return error_sys(err, QS_IO, errno, "/ cannot be opened");
    if (d->fd >= 0)
        close(d->fd);
    d->fd = fd;
    d->shown[0] = '\0';
    struct stat st;
    if (qs_os->fstat(fd, &st))
        return error_sys(err, QS_IO, errno, "/ cannot be examined");
    return check_dir(d->dir, &st, STEP_ABOVE, "/", err);
}

static void show_step(struct descent *d, const char *name)
{
    size_t len = strlen(d->shown);
    (void)snprintf(d->shown + len, sizeof d->shown - len, "/%s", name);
}

static enum qs_status missing_step(const struct descent *d, const struct step *step, int code, struct qs_error *err)
{
    if (code == ENOENT && !step->from_link)
        return error_set(err, QS_ABSENT, "%s does not exist", d->shown);
    if (code == ENOENT)
        return error_set(err, QS_UNTRUSTED, "a symbolic link on the way leads to %s, which does not exist", d->shown);
    if (code == EACCES || code == EPERM)
        return error_sys(err, QS_UNTRUSTED, code, "%s cannot be reached", d->shown);
    if (code == ENOTDIR || code == ELOOP || code == ENAMETOOLONG)
        return error_sys(err, QS_UNTRUSTED, code, "%s cannot be followed", d->shown);
    return error_sys(err, QS_IO, code, "%s cannot be opened", d->shown);
}

/* A link above the store is followed when nobody but root and the owner could have placed it. */
static enum qs_status follow_link(struct descent *d, const struct step *step, int link_fd, const struct stat *st,
                                  struct qs_error *err)
{
    if (step->is_store)
        return error_set(err, QS_UNTRUSTED, "the store %s is a symbolic link", d->shown);
    enum qs_status status = check_owner(d->dir, st, d->shown, err);
    if (status)
        return status;
    if (++d->hops > QS_LINK_HOPS_MAX)
        return error_set(err, QS_UNTRUSTED, "%s: more than %u symbolic links on the way", d->shown, QS_LINK_HOPS_MAX);
    char target[QS_PATH_MAX_BYTES + 1];
    ssize_t len = readlinkat(link_fd, "", target, sizeof target - 1);
    if (len <= 0)
        return error_sys(err, QS_IO, len < 0 ? errno : EINVAL, "the link %s cannot be read", d->shown);
    target[len] = '\0';
    if (!push_path(d, target, true))
        return error_memory(err);
    if (target[0] == '/')
        return start_at_root(d, err);
    char *slash = strrchr(d->shown, '/');
    if (slash)
        *slash = '\0';
    return QS_OK;
}

static enum qs_status take_step(struct descent *d, const struct step *step, struct qs_error *err)
{
    show_step(d, step->name);
    AUTO_FD int fd = os_open_at(d->fd, step->name, O_PATH | O_NOFOLLOW, 0, RESOLVE_NO_MAGICLINKS);
    if (fd < 0)
        return missing_step(d, step, errno, err);
    struct stat st;
    if (qs_os->fstat(fd, &st))
        return error_sys(err, QS_IO, errno, "%s cannot be examined", d->shown);
    if (S_ISLNK(st.st_mode))
        return follow_link(d, step, fd, &st, err);
    enum qs_status status = check_dir(d->dir, &st, step->is_store ? STEP_STORE : STEP_ABOVE, d->shown, err);
    if (status)
        return status;
    close(d->fd);
    d->fd = steal_fd(&fd);
    return QS_OK;
}

static enum qs_status descend(struct descent *d, const char *path, bool to_store, struct qs_error *err)
{
    if (!push_path(d, path, false))
        return error_memory(err);
    if (to_store && d->count)
        d->steps[0].is_store = true;
    enum qs_status status = start_at_root(d, err);
    while (!status && d->count) {
        struct step step = d->steps[--d->count];
        status = take_step(d, &step, err);
        free(step.name);
    }
    return status;
}

static enum qs_status open_path(const struct store_dir *dir, const char *path, bool to_store, int *ret_fd,
                                struct qs_error *err)
{
    struct descent d = {.dir = dir, .fd = -1};
    enum qs_status status = descend(&d, path, to_store, err);
    if (!status)
        *ret_fd = steal_fd(&d.fd);
    else
        error_add_file(err, dir->path);
    descent_release(&d);
    return status;
}

enum qs_status store_dir_open(const struct store_dir *dir, int *ret_fd, struct qs_error *err)
{
    return open_path(dir, dir->path, true, ret_fd, err);
}

/* ---- the parent, made where it is missing ---- */

void store_dir_advise_owner(int dir_fd, struct qs_error *err)
{
    struct stat st;
    if (!err || err->sys_errno != EACCES || qs_os->fstat(dir_fd, &st) || st.st_uid == geteuid())
        return;
    if (st.st_uid == 0)
        error_add_advice(err, "only root may write there: use sudo, or --user for settings of your own");
    else
        error_add_advice(err, "only its owner may write there, uid %u", (unsigned)st.st_uid);
}

/* Makes one directory whose parent exists, durably. One that somebody else made meanwhile is left as it is. */
static enum qs_status make_dir(const struct store_dir *dir, const char *path, struct qs_error *err)
{
    const char *slash = strrchr(path, '/');
    AUTO_FREE char *above = slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
    AUTO_FD int above_fd = -1;
    AUTO_FD int fd = -1;
    if (!above)
        return error_memory(err);
    enum qs_status status = open_path(dir, above, false, &above_fd, err);
    if (status)
        return status;
    if (qs_os->mkdirat(above_fd, slash + 1, 0700)) {
        if (errno == EEXIST)
            return QS_OK;
        status = error_sys(err, QS_IO, errno, "%s cannot be created", path);
        store_dir_advise_owner(above_fd, err);
        return status;
    }
    fd = os_open_at(above_fd, slash + 1, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, RESOLVE_BENEATH);
    if (fd < 0 || qs_os->fchmod(fd, store_dir_mode(dir)) || os_fsync(fd) || os_fsync_dir(above_fd))
        return error_sys(err, QS_IO, errno, "%s cannot be made durable", path);
    return QS_OK;
}

/* Makes what is missing of parent, from the top down. */
static enum qs_status make_dirs(const struct store_dir *dir, const char *parent, struct qs_error *err)
{
    AUTO_FREE char *path = strdup(parent);
    enum qs_status status = path ? QS_OK : error_memory(err);
    for (char *at = path; !status && at && *at;) {
        at = strchrnul(at + 1, '/');
        char kept = *at;
        int fd = -1;
        *at = '\0';
        status = open_path(dir, path, false, &fd, NULL);
        if (status == QS_ABSENT)
            status = make_dir(dir, path, err);
        else if (status)
            status = open_path(dir, path, false, &fd, err); /* again, for its message */
        if (fd >= 0)
            (void)close(fd);
        *at = kept;
    }
    return status;
}

enum qs_status store_dir_open_parent(const struct store_dir *dir, bool create, int *ret_fd, struct qs_error *err)
{
    const char *slash = strrchr(dir->path, '/');
    AUTO_FREE char *parent = slash == dir->path ? strdup("/") : strndup(dir->path, (size_t)(slash - dir->path));
    if (!parent)
        return error_memory(err);
    enum qs_status status = open_path(dir, parent, false, ret_fd, err);
    if (status != QS_ABSENT || !create)
        return status;
    status = make_dirs(dir, parent, err);
    return status ? status : open_path(dir, parent, false, ret_fd, err);
}

/* ---- the data file ---- */

static enum qs_status check_data(const struct store_dir *dir, const struct stat *st, struct qs_error *err)
{
    if (!S_ISREG(st->st_mode))
        return error_page(err, -1, "%s is not a regular file", STORE_DATA_FILE);
    enum qs_status status = check_owner(dir, st, STORE_DATA_FILE, err);
    if (status)
        return status;
    if (st->st_mode & (S_IWGRP | S_IWOTH)) {
        status = error_set(err, QS_UNTRUSTED, "%s is writable by group or others (mode %04o)", STORE_DATA_FILE,
                           (unsigned)st->st_mode & 07777);
        error_add_advice(err, "find out who wrote to it, then chmod go-w");
        return status;
    }
    if (st->st_size == 0)
        return error_page(err, -1, "%s is empty", STORE_DATA_FILE);
    return QS_OK;
}

static enum qs_status data_not_opened(int code, bool writable, struct qs_error *err)
{
    switch (code) {
    case ENOENT:
        return error_page(err, -1, "the store's directory has no %s", STORE_DATA_FILE);
    case ELOOP:
        return error_page(err, -1, "%s is a symbolic link", STORE_DATA_FILE);
    case ENXIO:
    case EISDIR:
        return error_page(err, -1, "%s is not a regular file", STORE_DATA_FILE);
    case EROFS:
        return error_sys(err, QS_UNTRUSTED, code, "%s cannot be written", STORE_DATA_FILE);
    default:
        return error_sys(err, QS_IO, code, "%s cannot be opened for %s", STORE_DATA_FILE,
                         writable ? "writing" : "reading");
    }
}

enum qs_status store_dir_open_data(const struct store_dir *dir, int dir_fd, bool writable, int *ret_fd,
                                   struct stat *ret_stat, struct qs_error *err)
{
    int flags = (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    enum qs_status status = QS_OK;
    AUTO_FD int fd = os_open_at(dir_fd, STORE_DATA_FILE, flags, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    struct stat st;
    if (fd < 0)
        status = data_not_opened(errno, writable, err);
    else if (qs_os->fstat(fd, &st))
        status = error_sys(err, QS_IO, errno, "%s cannot be examined", STORE_DATA_FILE);
    else
        status = check_data(dir, &st, err);
    if (status) {
        error_add_file(err, dir->path);
        return status;
    }
    *ret_stat = st;
    *ret_fd = steal_fd(&fd);
    return QS_OK;
}

enum qs_status store_dir_open_to_read(const struct store_dir *dir, int *ret_fd, struct stat *ret_stat,
                                      struct qs_error *err)
{
    AUTO_FD int dir_fd = -1;
    enum qs_status status = store_dir_open(dir, &dir_fd, err);
    return status ? status : store_dir_open_data(dir, dir_fd, false, ret_fd, ret_stat, err);
}

/* ---- may the effective user write here? ---- */

/* File systems that other machines write too: LMDB's map and our lock hold on one machine only. Numbers from statfs(2)
 * and linux/magic.h. */
static const struct {
    uint32_t magic;
    const char *name;
} NETWORK_FILE_SYSTEMS[] = {
    {0x6969, "NFS"},      {0xff534d42, "CIFS"}, {0xfe534d42, "SMB2"},   {0x517b, "SMB"},    {0x5346414f, "AFS"},
    {0x6b414653, "AFS"},  {0x73757245, "Coda"}, {0x00c36400, "Ceph"},   {0x01021997, "9P"}, {0x7461636f, "OCFS2"},
    {0x01161970, "GFS2"}, {0x564c, "NCP"},      {0x0bd00bd0, "Lustre"},
};

const char *store_dir_network_name(uint32_t magic)
{
    for (size_t i = 0; i < sizeof NETWORK_FILE_SYSTEMS / sizeof NETWORK_FILE_SYSTEMS[0]; i++)
        if (magic == NETWORK_FILE_SYSTEMS[i].magic)
            return NETWORK_FILE_SYSTEMS[i].name;
    return NULL;
}

static enum qs_status check_file_system(int dir_fd, struct qs_error *err)
{
    struct statfs fs;
    if (qs_os->fstatfs(dir_fd, &fs))
        return error_sys(err, QS_IO, errno, "the store's file system cannot be examined");
    const char *name = store_dir_network_name((uint32_t)fs.f_type);
    if (!name)
        return QS_OK;
    error_set(err, QS_UNTRUSTED, "the store is on a network file system (%s), where it can only be read", name);
    error_add_advice(err, "keep stores on a local disk and write them there");
    return QS_UNTRUSTED;
}

static enum qs_status check_home(const char *home, const char *what, uid_t uid, struct qs_error *err)
{
    struct stat st;
    if (qs_os->fstatat(AT_FDCWD, home, &st, 0) || st.st_uid == uid)
        return QS_OK; /* a home that does not exist is nobody else's */
    enum qs_status status = error_set(err, QS_UNTRUSTED, "%s (%s) belongs to uid %u, but the effective user is uid %u",
                                      home, what, (unsigned)st.st_uid, (unsigned)uid);
    error_add_advice(err, "run this as the user whose settings are meant, without sudo -E");
    return status;
}

enum qs_status store_dir_check_writable(const struct store_dir *dir, int dir_fd, struct qs_error *err)
{
    enum qs_status status = check_file_system(dir_fd, err);
    if (status || dir->scope != QS_SCOPE_USER || dir->root)
        return status;
    uid_t uid = qs_os->geteuid();
    status = check_home(dir->home, "the home in the password database", uid, err);
    const char *home = getenv("HOME");
    if (!status && home && home[0] == '/' && strcmp(home, dir->home) != 0)
        status = check_home(home, "HOME", uid, err);
    return status;
}

/* ---- must the system store exist? ---- */

enum qs_status qs_store_is_required(struct qs_store *store, bool *ret_required, struct qs_error *err)
{
    AUTO_FD int parent_fd = -1;
    struct stat st;
    if (!store || !ret_required)
        return error_misuse(err, __func__);
    *ret_required = false;
    if (store->dir.scope != QS_SCOPE_SYSTEM)
        return QS_OK;
    enum qs_status status = store_dir_open_parent(&store->dir, false, &parent_fd, err);
    if (status == QS_ABSENT)
        return QS_OK; /* no directory of scopes, so no file in it */
    if (status)
        return status;
    /* Whatever stands there under this name counts: a link or a directory must not take the demand away. */
    if (qs_os->fstatat(parent_fd, STORE_REQUIRE_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0)
        *ret_required = true;
    else if (errno != ENOENT)
        return error_sys(err, QS_IO, errno, "%s cannot be examined", STORE_REQUIRE_FILE);
    return QS_OK;
}
