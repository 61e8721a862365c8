/* SPDX-License-Identifier: Apache-2.0 */
/* The table of carriers, and the one that is a directory. */
#include "fleet/carrier/carrier.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "qsettings/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static const struct carrier_row *const rows[] = {&carrier_file, &carrier_https, &carrier_etcd};

enum qs_status carrier_open(json_t *config, const char *fleet, struct carrier **ret_carrier, struct qs_error *err)
{
    const char *type = json_string_value(json_object_get(config, "type"));
    for (size_t i = 0; type && i < sizeof rows / sizeof rows[0]; i++)
        if (!strcmp(rows[i]->type, type))
            return rows[i]->open(config, fleet, ret_carrier, err);
    return error_set(err, QS_INVALID, "a carrier's type is file, https or etcd");
}

void carrier_close(struct carrier **carrier)
{
    if (*carrier)
        (*carrier)->row->close(*carrier);
    *carrier = NULL;
}

enum qs_status carrier_strings(json_t *config, const char *const *names, size_t count, size_t needed,
                               const char **ret_values, struct qs_error *err)
{
    const char *key;
    json_t *value;
    for (size_t i = 0; i < count; i++) {
        value = json_object_get(config, names[i]);
        ret_values[i] = json_string_value(value);
        if ((value && !ret_values[i]) || (!value && i < needed))
            return error_set(err, QS_INVALID, "carrier: %s: a string", names[i]);
    }
    json_object_foreach(config, key, value)
    {
        size_t i = 0;
        while (i < count && strcmp(names[i], key) != 0)
            i++;
        if (i == count && json_is_string(value) && strcmp(key, "type") != 0)
            return error_set(err, QS_INVALID, "carrier: there is no \"%s\"", key);
    }
    return QS_OK;
}

enum qs_status carrier_report_read(struct carrier *carrier, const char *id, struct report *ret_report,
                                   struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    AUTO(buf_release) struct buf signature = {0};
    char name[FLEET_ID_TEXT_BYTES + 32];
    enum qs_status status = QS_OK;
    for (int tries = 0; tries < 2; tries++) {
        (void)snprintf(name, sizeof name, "reports/%s.json", id);
        status = carrier->row->get(carrier, name, FLEET_REPORT_MAX_BYTES, &text, err);
        (void)snprintf(name, sizeof name, "reports/%s.json.minisig", id);
        if (!status)
            status = carrier->row->get(carrier, name, MINISIG_FILE_MAX_BYTES, &signature, err);
        if (!status)
            status = report_parse(buf_bytes(&text), buf_bytes(&signature), ret_report, err);
        if (status != QS_UNTRUSTED) /* else it may be changing under our eyes */
            break;
    }
    if (!status && strcmp(ret_report->id, id) != 0) {
        report_release(ret_report);
        status = error_set(err, QS_UNTRUSTED, "the report is another machine's");
    }
    if (status)
        error_add_file(err, name);
    return status;
}

/* ---- a directory ---- */

struct file_carrier {
    struct carrier carrier;
    char *path;
};

static void file_close(struct carrier *carrier)
{
    struct file_carrier *file = (struct file_carrier *)carrier;
    free(file->path);
    free(file);
}

static enum qs_status file_open(json_t *config, const char *fleet, struct carrier **ret_carrier, struct qs_error *err)
{
    static const char *const names[] = {"path"};
    const char *path;
    (void)fleet;
    enum qs_status status = carrier_strings(config, names, 1, 1, &path, err);
    if (!status && path[0] != '/')
        status = error_set(err, QS_INVALID, "carrier: path: an absolute path");
    if (status)
        return status;
    struct file_carrier *file = calloc(1, sizeof *file);
    if (!file || !(file->path = strdup(path))) {
        free(file);
        return error_memory(err);
    }
    file->carrier.row = &carrier_file;
    *ret_carrier = &file->carrier;
    return QS_OK;
}

static enum qs_status file_get(struct carrier *carrier, const char *name, size_t max, struct buf *out,
                               struct qs_error *err)
{
    const char *path = ((struct file_carrier *)carrier)->path;
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    struct stat st;
    AUTO_FD int dir_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return error_sys(err, QS_IO, errno, "the carrier's directory %s cannot be opened", path);
    AUTO_FD int fd =
        os_open_at(dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
    if (fd < 0)
        return error_sys(err, errno == ENOENT ? QS_NOT_FOUND : QS_IO, errno, "%s cannot be opened in %s", name, path);
    if (qs_os->fstat(fd, &st) || !S_ISREG(st.st_mode))
        return error_set(err, QS_INVALID, "%s in %s is no regular file", name, path);
    enum qs_status status = os_read_all(fd, name, max, &text, &len, err);
    if (status)
        return status;
    buf_clear(out);
    buf_add(out, text, len);
    return out->failed ? error_memory(err) : QS_OK;
}

static enum qs_status file_head(struct carrier *carrier, struct buf *out, struct qs_error *err)
{
    return file_get(carrier, HEAD_NAME, FLEET_HEAD_MAX_BYTES, out, err);
}

static enum qs_status file_write(struct carrier *carrier, const char *name, struct qs_bytes text,
                                 const struct qs_replace_options *options, struct qs_error *err)
{
    AUTO_FREE char *path = NULL;
    if (asprintf(&path, "%s/%s", ((struct file_carrier *)carrier)->path, name) < 0) {
        path = NULL;
        return error_memory(err);
    }
    return qs_file_replace(path, text.data, text.len, options, err);
}

static enum qs_status file_put(struct carrier *carrier, const char *name, struct qs_bytes text, struct qs_bytes expect,
                               struct qs_error *err)
{
    AUTO(buf_release) struct buf there = {0};
    bool head = !strcmp(name, HEAD_NAME);
    struct qs_replace_options options = {.size = sizeof options,
                                         .flags =
                                             QS_REPLACE_OTHER_OWNER | (head && expect.data ? 0 : QS_REPLACE_NEW_ONLY),
                                         .mode = 0644,
                                         .expect = head ? expect.data : NULL,
                                         .expect_len = head ? expect.len : 0};
    enum qs_status status = file_write(carrier, name, text, &options, err);
    if (status == QS_CONFLICT && !head && !file_get(carrier, name, FLEET_BUNDLE_MAX_BYTES, &there, NULL) &&
        there.len == text.len && !memcmp(there.data, text.data, text.len))
        return QS_OK;
    return status;
}

static enum qs_status file_report(struct carrier *carrier, const char *id, struct qs_bytes text,
                                  struct qs_bytes signature, struct qs_error *err)
{
    static const struct qs_replace_options options = {.size = sizeof options,
                                                      .flags = QS_REPLACE_OTHER_OWNER,
                                                      .mode = 0644};
    char name[FLEET_ID_TEXT_BYTES + 32];
    (void)snprintf(name, sizeof name, "reports/%s.json.minisig", id);
    enum qs_status status = file_write(carrier, name, signature, &options, err);
    (void)snprintf(name, sizeof name, "reports/%s.json", id);
    return status ? status : file_write(carrier, name, text, &options, err);
}

static enum qs_status file_list(struct carrier *carrier, json_t **ret_ids, struct qs_error *err)
{
    char path[QS_PATH_MAX_BYTES + 16];
    uint8_t id[16];
    json_t *ids = json_array();
    (void)snprintf(path, sizeof path, "%s/reports", ((struct file_carrier *)carrier)->path);
    DIR *dir = opendir(path);
    if (!dir && errno != ENOENT) {
        json_decref(ids);
        return error_sys(err, QS_IO, errno, "%s cannot be read", path);
    }
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (strlen(entry->d_name) == 32 + 5 && !strcmp(entry->d_name + 32, ".json") &&
            hex_parse(entry->d_name, 32, id, sizeof id))
            (void)json_array_append_new(ids, json_stringn(entry->d_name, 32));
    if (dir)
        (void)closedir(dir);
    *ret_ids = ids;
    return QS_OK;
}

const struct carrier_row carrier_file = {.type = "file",
                                         .open = file_open,
                                         .close = file_close,
                                         .head = file_head,
                                         .get = file_get,
                                         .put = file_put,
                                         .report = file_report,
                                         .list = file_list};
