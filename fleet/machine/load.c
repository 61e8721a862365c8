/* SPDX-License-Identifier: Apache-2.0 */
/* Step 1: what a machine knows when it starts. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "fleet/machine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#define STATE_LINE_MAX 512u

static enum qs_status damaged(const char *name, struct qs_error *err)
{
    enum qs_status status = error_set(err, QS_DAMAGED, "the state file %s is not what qfleet writes", name);
    error_add_advice(err, "remove it, and run qfleet apply: what it said is found out again");
    return status;
}

enum qs_status machine_lock(struct machine *machine, unsigned wait_ms, struct qs_error *err)
{
    char path[QS_PATH_MAX_BYTES + 8];
    uint64_t deadline = qs_os->monotonic_ms() + wait_ms;
    (void)snprintf(path, sizeof path, "%s/lock", machine->site.dirs[SITE_STATE]);
    AUTO_FD int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno == ENOENT)
        return error_set(err, QS_ABSENT, "this machine is in no fleet");
    if (fd < 0)
        return error_sys(err, QS_IO, errno, "%s cannot be opened", path);
    while (qs_os->flock(fd, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return error_sys(err, QS_IO, errno, "%s cannot be locked", path);
        if (qs_os->monotonic_ms() >= deadline)
            return error_set(err, QS_BUSY, "another qfleet is at work here; waited %u ms", wait_ms);
        qs_os->sleep_ms(5);
    }
    machine->lock_fd = steal_fd(&fd);
    return QS_OK;
}

enum qs_status state_number(const struct site *site, const char *name, uint64_t *ret_number, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    enum qs_status status = site_read(site, SITE_STATE, name, STATE_LINE_MAX, &text, err);
    if (!status && !number_line_parse(buf_bytes(&text), ret_number))
        status = damaged(name, err);
    return status;
}

/* The newest accepted key document, or that of enrolment. */
static enum qs_status read_keys(struct machine *machine, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    enum qs_status status = site_read(&machine->site, SITE_STATE, "keys.json", FLEET_KEYS_MAX_BYTES, &text, err);
    bool kept = status != QS_NOT_FOUND;
    if (!kept)
        status = site_read(&machine->site, SITE_ETC, "fleet/keys.json", FLEET_KEYS_MAX_BYTES, &text, err);
    if (!status && key_document_parse(buf_bytes(&text), &machine->keys, err))
        status = damaged(kept ? "keys.json" : "fleet/keys.json", err);
    if (status == QS_NOT_FOUND)
        status = error_set(err, QS_ABSENT, "the key document of enrolment is not there");
    if (!status && strcmp(machine->keys.fleet, machine->config.fleet) != 0)
        status = error_set(err, QS_UNTRUSTED, "the key document is of fleet %s, the configuration of %s",
                           machine->keys.fleet, machine->config.fleet);
    return status;
}

static enum qs_status read_seen(struct machine *machine, bool *ret_lost, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    enum qs_status status = site_read(&machine->site, SITE_STATE, "seen", STATE_LINE_MAX, &text, err);
    *ret_lost = status == QS_NOT_FOUND;
    if (!status && !seen_parse(buf_bytes(&text), &machine->seen))
        status = damaged("seen", err);
    return *ret_lost ? QS_OK : status;
}

static enum qs_status read_glass(struct machine *machine, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    enum qs_status status = site_read(&machine->site, SITE_STATE, FLEET_GLASS_FILE, STATE_LINE_MAX, &text, err);
    if (!status && !break_glass_parse(buf_bytes(&text), &machine->glass))
        status = damaged(FLEET_GLASS_FILE, err);
    return status == QS_NOT_FOUND ? QS_OK : status;
}

/* What the files that remain say of a `seen` that was lost. */
static void rebuild_seen(struct machine *machine)
{
    struct seen *seen = &machine->seen;
    *seen = (struct seen){.order = machine->config.minimum};
    if (!strcmp(machine->demanded.fleet, machine->config.fleet) &&
        fleet_order_compare(machine->demanded.order, seen->order) > 0)
        seen->order = machine->demanded.order;
    struct qs_bytes digest;
    if (strcmp(machine->mark.fleet, machine->config.fleet) != 0 ||
        fleet_order_compare(machine->mark.order, seen->order) < 0)
        return;
    seen->order = machine->mark.order;
    seen->has_digest = !qs_snapshot_get(machine->snapshot, "fleet.bundle", &digest, NULL) && digest.len > 2 &&
                       hex_parse((const char *)digest.data + 1, digest.len - 2, seen->digest, QS_DIGEST_BYTES);
}

/* ---- the store ---- */

static enum qs_status take_snapshot(struct machine *machine, struct qs_error *err)
{
    struct qs_snapshot *snapshot = NULL;
    enum qs_status status = qs_snapshot_take(machine->store, &snapshot, err);
    if (status == QS_ABSENT)
        status = qs_store_init(machine->store,
                               &(struct qs_init_options){.size = sizeof(struct qs_init_options),
                                                         .message = "made by qfleet"},
                               err);
    if (!status && !snapshot)
        status = qs_snapshot_take(machine->store, &snapshot, err);
    if (status)
        return status;
    qs_snapshot_unref(machine->snapshot);
    machine->snapshot = snapshot;
    return QS_OK;
}

/* Settings in place that qfleet did not write are no mark: the next commit writes them again. */
enum qs_status machine_read_store(struct machine *machine, struct qs_error *err)
{
    struct qs_bytes value;
    enum qs_status status = take_snapshot(machine, err);
    if (status)
        return status;
    const struct entry_list *areas = machine->snapshot->areas;
    if (fleet_mark_of(machine->snapshot, &machine->mark, NULL))
        machine->mark = (struct fleet_mark){0};
    machine->has_applied = machine->mark.fleet[0] &&
                           !qs_snapshot_get(machine->snapshot, "fleet.content", &value, NULL) && value.len > 2 &&
                           hex_parse((const char *)value.data + 1, value.len - 2, machine->applied, QS_DIGEST_BYTES);
    fleet_content_digest(areas[AREA_SETTINGS].items, areas[AREA_SETTINGS].count, areas[AREA_LOCKS].items,
                         areas[AREA_LOCKS].count, machine->content);
    machine->drift = machine->has_applied && memcmp(machine->applied, machine->content, QS_DIGEST_BYTES) != 0;
    return QS_OK;
}

/* ---- all of it ---- */

enum qs_status machine_open(struct machine *machine, const char *root, unsigned wait_ms, struct qs_error *err)
{
    bool lost = false;
    machine->lock_fd = -1;
    machine->clock = clock_now();
    enum qs_status status = site_init(&machine->site, root, err);
    if (!status)
        status = config_read(&machine->site, &machine->config, err);
    if (!status)
        status = machine_lock(machine, wait_ms, err);
    if (!status)
        status = read_keys(machine, err);
    if (!status)
        status = read_seen(machine, &lost, err);
    if (!status)
        status = read_glass(machine, err);
    if (!status)
        status = qs_store_open(QS_SCOPE_SYSTEM,
                               &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = root},
                               &machine->store, err);
    if (!status)
        status = machine_read_store(machine, err);
    if (!status && fleet_required(&machine->store->dir, &machine->demanded, err) != QS_OK)
        machine->demanded = (struct fleet_mark){0}; /* written again at the end */
    if (!status && lost)
        rebuild_seen(machine);
    return status;
}

void machine_close(struct machine *machine)
{
    if (machine->lock_fd >= 0)
        (void)close(machine->lock_fd);
    config_release(&machine->config);
    bundle_release(&machine->bundle);
    bundle_release(&machine->base);
    qs_snapshot_unref(machine->snapshot);
    qs_store_close(machine->store);
    value_release(&machine->failed);
}

struct draw_subject machine_subject(const struct machine *machine, char id[FLEET_ID_TEXT_BYTES])
{
    struct public_key key;
    uint8_t secret[64];
    id[0] = '\0';
    if (!machine_key_read(machine, &key, secret, NULL))
        machine_id_of(&key, id);
    sodium_memzero(secret, sizeof secret);
    return (struct draw_subject){id, machine->config.groups, machine->config.group_count};
}
