/* SPDX-License-Identifier: Apache-2.0 */
/* A machine's files. */
#include "fleet/machine/site.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "qsettings/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

static const char *const fixed[SITE_DIRS] = {"/etc/qsettings", "/var/lib/qfleet", "/var/spool/qfleet",
                                             "/var/lib/qfleet-out", "/run/qfleet"};

enum qs_status site_init(struct site *site, const char *root, struct qs_error *err)
{
    if (root && (root[0] != '/' || strlen(root) > QS_PATH_MAX_BYTES - 64))
        return error_set(err, QS_USAGE, "the root is an absolute path: %s", root);
    site->root = root;
    for (int i = 0; i < SITE_DIRS; i++)
        (void)snprintf(site->dirs[i], sizeof site->dirs[i], "%s%s", root ? root : "",
                       root && i == SITE_ETC ? "" : fixed[i]);
    return QS_OK;
}

static enum qs_status site_error(const struct site *site, enum site_dir dir, const char *name, enum qs_status status,
                                 struct qs_error *err)
{
    char path[2 * QS_PATH_MAX_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", site->dirs[dir], name);
    error_add_file(err, path);
    return status;
}

enum qs_status site_read(const struct site *site, enum site_dir dir, const char *name, size_t max, struct buf *out,
                         struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    struct stat st;
    enum qs_status status = QS_OK;
    AUTO_FD int dir_fd = open(site->dirs[dir], O_PATH | O_DIRECTORY | O_CLOEXEC);
    AUTO_FD int fd = dir_fd < 0 ? -1
                                : os_open_at(dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0,
                                             RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    if (fd < 0 && errno == ENOENT)
        status = error_set(err, QS_NOT_FOUND, "there is no such file");
    else if (fd < 0)
        status = error_sys(err, errno == ELOOP ? QS_UNTRUSTED : QS_IO, errno, "the file cannot be opened");
    else if (qs_os->fstat(fd, &st))
        status = error_sys(err, QS_IO, errno, "the file cannot be examined");
    else if (!S_ISREG(st.st_mode))
        status = error_set(err, QS_UNTRUSTED, "no regular file");
    else if (dir != SITE_SPOOL && ((st.st_uid != 0 && st.st_uid != qs_os->geteuid()) || (st.st_mode & 022)))
        status = error_set(err, QS_UNTRUSTED, "somebody else than root can write it");
    if (!status)
        status = os_read_all(fd, name, max, &text, &len, err);
    if (!status) {
        buf_clear(out);
        buf_add(out, text, len);
        status = out->failed ? error_memory(err) : QS_OK;
    }
    return status ? site_error(site, dir, name, status, err) : QS_OK;
}

enum qs_status site_write(const struct site *site, enum site_dir dir, const char *name, mode_t mode,
                          struct qs_bytes text, struct qs_error *err)
{
    AUTO_FREE char *path = NULL;
    if (asprintf(&path, "%s/%s", site->dirs[dir], name) < 0) {
        path = NULL;
        return error_memory(err);
    }
    return qs_file_replace(path, text.data, text.len,
                           &(struct qs_replace_options){.size = sizeof(struct qs_replace_options), .mode = mode}, err);
}

enum qs_status site_remove(const struct site *site, enum site_dir dir, const char *name, struct qs_error *err)
{
    AUTO_FD int fd = open(site->dirs[dir], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool gone = fd < 0 ? errno == ENOENT : qs_os->unlinkat(fd, name, 0) && errno == ENOENT;
    if (gone || (fd >= 0 && faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) && !os_fsync(fd)))
        return QS_OK;
    return site_error(site, dir, name, error_sys(err, QS_IO, errno, "the file cannot be removed"), err);
}

enum qs_status site_make(const struct site *site, enum site_dir dir, mode_t mode, const char *owner,
                         struct qs_error *err)
{
    char path[QS_PATH_MAX_BYTES + 1];
    const struct passwd *user = owner && qs_os->geteuid() == 0 && !site->root ? getpwnam(owner) : NULL;
    (void)snprintf(path, sizeof path, "%s", site->dirs[dir]);
    for (char *slash = path + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        (void)qs_os->mkdirat(AT_FDCWD, path, 0755);
    }
    if (qs_os->mkdirat(AT_FDCWD, path, mode) && errno != EEXIST)
        return site_error(site, dir, "", error_sys(err, QS_IO, errno, "the directory cannot be made"), err);
    AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || (user && qs_os->fchown(fd, user->pw_uid, user->pw_gid)) || qs_os->fchmod(fd, mode))
        return site_error(site, dir, "", error_sys(err, QS_IO, errno, "the directory cannot be given its owner"), err);
    return QS_OK;
}

enum qs_status site_spool(const struct site *site, struct document_name names[SPOOL_NAMES_MAX], size_t *ret_count,
                          struct qs_error *err)
{
    size_t count = 0;
    DIR *dir = opendir(site->dirs[SITE_SPOOL]);
    *ret_count = 0;
    if (!dir && errno == ENOENT)
        return QS_OK;
    if (!dir)
        return site_error(site, SITE_SPOOL, "", error_sys(err, QS_IO, errno, "the spool cannot be read"), err);
    for (struct dirent *entry; count < SPOOL_NAMES_MAX && (entry = readdir(dir));)
        count += document_name_parse(entry->d_name, &names[count]);
    (void)closedir(dir);
    *ret_count = count;
    return QS_OK;
}

uint64_t clock_now(void)
{
    int64_t now = 0;
    uint32_t now_ns = 0;
    return qs_os->realtime(&now, &now_ns) || now < 0 ? 0 : (uint64_t)now;
}

/* ---- config.json ---- */

void config_release(struct config *config)
{
    value_release(&config->carriers);
}

static enum qs_status parse_groups(const json_t *groups, struct config *config, struct qs_error *err)
{
    size_t i;
    json_t *group;
    if (!json_is_array(groups) || json_array_size(groups) > FLEET_GROUPS_MAX)
        return document_fault("config", "groups: an array of at most 16", err);
    json_array_foreach(groups, i, group)
    {
        if (!json_is_string(group) || !name_ok(json_string_value(group)))
            return document_fault("config", "groups: 1 to 64 of a-z, 0-9 and - each", err);
        (void)snprintf(config->groups[i], sizeof config->groups[i], "%s", json_string_value(group));
    }
    config->group_count = json_array_size(groups);
    return QS_OK;
}

enum qs_status config_parse(struct qs_bytes text, struct config *ret_config, struct qs_error *err)
{
    static const char what[] = "config";
    struct config config = {0};
    AUTO(value_release) json_t *root = NULL;
    json_error_t fault;
    const char *format, *fleet, *on_drift = "report";
    json_int_t keys = 0, serial = 0, interval = 300;
    json_t *groups = NULL, *carriers = NULL;
    enum qs_status status = document_load(what, text, FLEET_KEYS_MAX_BYTES, &root, err);
    if (status)
        return status;
    if (json_unpack_ex(root, &fault, JSON_STRICT, "{s:s, s:s, s?o, s?o, s?{s:I, s:I!}, s?s, s?I!}", "format", &format,
                       "fleet", &fleet, "groups", &groups, "carriers", &carriers, "minimum", "keys", &keys, "serial",
                       &serial, "onDrift", &on_drift, "interval", &interval))
        return document_fault(what, fault.text, err);
    if (strcmp(format, "qsettings-fleet-config-1") != 0)
        return document_fault(what, "format is not qsettings-fleet-config-1", err);
    if (!name_ok(fleet))
        return document_fault(what, "fleet: 1 to 64 of a-z, 0-9 and -", err);
    if (strcmp(on_drift, "report") != 0 && strcmp(on_drift, "restore") != 0)
        return document_fault(what, "onDrift: report or restore", err);
    if (!number_ok(keys, 0) || !number_ok(serial, 0) || interval < 1 || interval > 86400)
        return document_fault(what, "minimum: keys and serial from 0; interval: 1 to 86400 seconds", err);
    if (carriers && !json_is_array(carriers))
        return document_fault(what, "carriers: an array of objects", err);
    if (groups && (status = parse_groups(groups, &config, err)))
        return status;
    (void)snprintf(config.fleet, sizeof config.fleet, "%s", fleet);
    config.minimum = (struct fleet_order){(uint64_t)keys, (uint64_t)serial};
    config.restore = !strcmp(on_drift, "restore");
    config.interval = (uint64_t)interval;
    config.carriers = carriers ? json_incref(carriers) : json_array();
    *ret_config = config;
    return QS_OK;
}

enum qs_status config_read(const struct site *site, struct config *ret_config, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    enum qs_status status = site_read(site, SITE_ETC, "fleet/config.json", FLEET_KEYS_MAX_BYTES, &text, err);
    if (status == QS_NOT_FOUND) {
        status = error_set(err, QS_ABSENT, "this machine is in no fleet");
        error_add_advice(err, "put it into one with: qfleet enrol CONFIG KEYS");
        return status;
    }
    if (!status)
        status = config_parse(buf_bytes(&text), ret_config, err);
    if (status)
        error_add_file(err, "config.json");
    return status;
}
