/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's work directory. */
#include "fleet/operator/work.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "fleet/machine/machine.h"
#include "qsettings/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WORK_MAX_BYTES ((size_t)16 << 20)

void work_close(struct work *work)
{
    value_release(&work->config);
    value_release(&work->machines);
    bundle_release(&work->bundle);
}

enum qs_status work_read(const struct work *work, const char *name, size_t max, struct buf *out, struct qs_error *err)
{
    AUTO_FREE char *path = NULL;
    if (asprintf(&path, "%s/%s", work->dir, name) < 0) {
        path = NULL;
        return error_memory(err);
    }
    return file_read(path, max, out, err);
}

enum qs_status work_write(const struct work *work, const char *name, struct qs_bytes text, struct qs_error *err)
{
    AUTO_FREE char *path = NULL;
    if (asprintf(&path, "%s/%s", work->dir, name) < 0) {
        path = NULL;
        return error_memory(err);
    }
    return qs_file_replace(path, text.data, text.len, NULL, err);
}

enum qs_status work_bundle(const struct work *work, struct fleet_order order, struct bundle *ret_bundle,
                           struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    char name[DOCUMENT_NAME_BYTES];
    document_name_format(&(struct document_name){DOCUMENT_BUNDLE, order}, name);
    enum qs_status status = work_read(work, name, FLEET_BUNDLE_MAX_BYTES, &text, err);
    if (!status && (status = bundle_parse(buf_bytes(&text), ret_bundle, err)))
        error_add_file(err, name);
    return status;
}

enum qs_status work_carrier(const struct work *work, struct carrier **ret_carrier, struct qs_error *err)
{
    json_t *carriers = json_object_get(work->config, "carriers");
    if (!json_array_size(carriers))
        return error_set(err, QS_INVALID, "fleet.json: carriers: at least one object");
    return carrier_open(json_array_get(carriers, 0), work->fleet, ret_carrier, err);
}

static enum qs_status load_json(const struct work *work, const char *name, json_t **ret_root, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    enum qs_status status = work_read(work, name, WORK_MAX_BYTES, &text, err);
    if (!status && (status = document_load(name, buf_bytes(&text), WORK_MAX_BYTES, ret_root, err)))
        error_add_file(err, name);
    return status;
}

static enum qs_status read_config(struct work *work, struct qs_error *err)
{
    json_error_t fault;
    const char *format, *fleet;
    json_t *carriers = NULL, *rings = NULL;
    enum qs_status status = load_json(work, "fleet.json", &work->config, err);
    if (status == QS_NOT_FOUND) {
        status = error_set(err, QS_ABSENT, "%s is no work directory: it has no fleet.json", work->dir);
        error_add_advice(err, "name it with --work DIR; fleet.json is described in qfleet(5)");
    }
    if (status)
        return status;
    if (json_unpack_ex(work->config, &fault, JSON_STRICT, "{s:s, s:s, s?o, s?o!}", "format", &format, "fleet", &fleet,
                       "carriers", &carriers, "rings", &rings))
        return document_fault("fleet.json", fault.text, err);
    if (strcmp(format, "qsettings-fleet-work-1") != 0 || !name_ok(fleet))
        return document_fault("fleet.json", "format is qsettings-fleet-work-1, fleet 1 to 64 of a-z, 0-9 and -", err);
    (void)snprintf(work->fleet, sizeof work->fleet, "%s", fleet);
    return QS_OK;
}

static enum qs_status read_machines(struct work *work, struct qs_error *err)
{
    AUTO(value_release) json_t *root = NULL;
    enum qs_status status = load_json(work, "machines.json", &root, err);
    if (status == QS_NOT_FOUND) {
        work->machines = json_array();
        return work->machines ? QS_OK : error_memory(err);
    }
    json_t *machines = json_object_get(root, "machines");
    size_t i;
    json_t *machine;
    if (!status && !json_is_array(machines))
        status = document_fault("machines.json", "machines: an array", err);
    json_array_foreach(machines, i, machine)
    {
        if (!json_is_string(json_object_get(machine, "id")) || !json_is_string(json_object_get(machine, "publicKey")))
            status = document_fault("machines.json", "each machine has id and publicKey", err);
    }
    if (!status)
        work->machines = json_incref(machines);
    return status;
}

static enum qs_status find_newest(struct work *work, struct qs_error *err)
{
    struct document_name name;
    DIR *dir = opendir(work->dir);
    if (!dir)
        return error_sys(err, QS_IO, errno, "%s cannot be read", work->dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!document_name_parse(entry->d_name, &name))
            continue;
        if (name.kind == DOCUMENT_KEYS) {
            work->keys_version = name.order.keys > work->keys_version ? name.order.keys : work->keys_version;
        } else if (!work->has_newest || fleet_order_compare(name.order, work->newest) > 0) {
            work->has_newest = true;
            work->newest = name.order;
        }
    }
    (void)closedir(dir);
    if (!work->keys_version) {
        enum qs_status status = error_set(err, QS_ABSENT, "there is no key document in %s", work->dir);
        error_add_advice(err, "write keys-1.json, as docs/fleet.md shows");
        return status;
    }
    return work->has_newest ? work_bundle(work, work->newest, &work->bundle, err) : QS_OK;
}

enum qs_status work_open(struct work *work, const char *dir, struct qs_error *err)
{
    work->dir = dir;
    enum qs_status status = read_config(work, err);
    if (!status)
        status = read_machines(work, err);
    return status ? status : find_newest(work, err);
}

enum qs_status work_save_machines(const struct work *work, struct qs_error *err)
{
    AUTO(value_release)
    json_t *root = json_pack("{s:s, s:s, s:O}", "format", "qsettings-fleet-machines-1", "fleet", work->fleet,
                             "machines", work->machines);
    AUTO(buf_release) struct buf text = {0};
    enum qs_status status = root ? value_encode_pretty(root, &text, err) : error_memory(err);
    buf_add_char(&text, '\n');
    return status ? status : work_write(work, "machines.json", buf_bytes(&text), err);
}

void work_log(const struct work *work, const char *format, ...)
{
    AUTO_FREE char *path = NULL;
    va_list args;
    FILE *file = asprintf(&path, "%s/log", work->dir) < 0 ? NULL : fopen(path, "ae");
    if (!file)
        return;
    (void)fprintf(file, "%llu ", (unsigned long long)clock_now());
    va_start(args, format);
    (void)vfprintf(file, format, args);
    va_end(args);
    (void)fputc('\n', file);
    (void)fclose(file);
}
