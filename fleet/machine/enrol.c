/* SPDX-License-Identifier: Apache-2.0 */
/* A machine's way into a fleet, out of it, and the hours without it. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "fleet/machine/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum qs_status file_read(const char *path, size_t max, struct buf *out, struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    enum qs_status status = fd < 0
                                ? error_sys(err, errno == ENOENT ? QS_NOT_FOUND : QS_IO, errno, "it cannot be opened")
                                : os_read_all(fd, path, max, &text, &len, err);
    if (status) {
        error_add_file(err, path);
        return status;
    }
    buf_clear(out);
    buf_add(out, text, len);
    return out->failed ? error_memory(err) : QS_OK;
}

/* ---- enrol ---- */

struct enrolment {
    struct machine machine;
    struct buf config, keys;
    struct config parsed;
};

static void enrolment_release(struct enrolment *e)
{
    machine_close(&e->machine);
    buf_release(&e->config);
    buf_release(&e->keys);
    config_release(&e->parsed);
}

/* Neither another fleet's nor settings that no fleet wrote may stand here. */
static enum qs_status check_free(struct enrolment *e, struct qs_error *err)
{
    struct machine *machine = &e->machine;
    const char *other = "";
    if (!config_read(&machine->site, &machine->config, NULL) && strcmp(machine->config.fleet, e->parsed.fleet) != 0)
        other = machine->config.fleet;
    else if (machine->mark.fleet[0] && strcmp(machine->mark.fleet, e->parsed.fleet) != 0)
        other = machine->mark.fleet;
    if (other[0])
        return error_set(err, QS_CONFLICT, "this machine is in fleet %s already; nothing was changed", other);
    bool empty = !qs_snapshot_count(machine->snapshot) && !qs_snapshot_lock_count(machine->snapshot);
    return machine->mark.fleet[0] || empty
               ? QS_OK
               : error_set(err, QS_CONFLICT,
                           "the system scope has settings that the fleet would replace; nothing was "
                           "changed");
}

/* What another fleet left would speak against this one. The demand goes first. */
static enum qs_status forget(const struct machine *machine, bool all, struct qs_error *err)
{
    static const struct {
        enum site_dir dir;
        const char *name;
        bool all;
    } files[] = {{SITE_ETC, FLEET_SERIAL_FILE, false},
                 {SITE_STATE, "seen", false},
                 {SITE_STATE, "keys.json", false},
                 {SITE_STATE, "keys.json.minisig", false},
                 {SITE_STATE, "bundle.json", false},
                 {SITE_STATE, "bundle.json.minisig", false},
                 {SITE_STATE, "base.json", false},
                 {SITE_STATE, FLEET_GLASS_FILE, false},
                 {SITE_OUT, "have", false},
                 {SITE_ETC, "fleet/keys.json", true},
                 {SITE_ETC, "fleet/config.json", true},
                 {SITE_STATE, "sequence", true},
                 {SITE_STATE, "machine.key", true}};
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < sizeof files / sizeof files[0] && !status; i++)
        if (all || !files[i].all)
            status = site_remove(&machine->site, files[i].dir, files[i].name, err);
    return status;
}

static enum qs_status make_key(const struct machine *machine, struct public_key *ret_key, struct qs_error *err)
{
    uint8_t secret[64], seed[crypto_sign_SEEDBYTES];
    char line[2 * sizeof seed + 2];
    enum qs_status status = machine_key_read(machine, ret_key, secret, err);
    if (status == QS_NOT_FOUND) {
        status = os_random(seed, sizeof seed, err);
        hex_format(seed, sizeof seed, line);
        line[sizeof line - 2] = '\n';
        if (!status)
            status = site_write(&machine->site, SITE_STATE, "machine.key", 0600,
                                (struct qs_bytes){line, sizeof line - 1}, err);
        if (!status)
            status = machine_key_read(machine, ret_key, secret, err);
        sodium_memzero(line, sizeof line);
        sodium_memzero(seed, sizeof seed);
    }
    sodium_memzero(secret, sizeof secret);
    return status;
}

static enum qs_status read_documents(struct enrolment *e, const char *config_file, const char *keys_file,
                                     struct qs_error *err)
{
    struct key_document keys;
    enum qs_status status = file_read(config_file, FLEET_KEYS_MAX_BYTES, &e->config, err);
    if (!status && (status = config_parse(buf_bytes(&e->config), &e->parsed, err)))
        error_add_file(err, config_file);
    if (!status)
        status = file_read(keys_file, FLEET_KEYS_MAX_BYTES, &e->keys, err);
    if (!status && (status = key_document_parse(buf_bytes(&e->keys), &keys, err)))
        error_add_file(err, keys_file);
    if (!status && strcmp(keys.fleet, e->parsed.fleet) != 0)
        status = error_set(err, QS_UNTRUSTED, "the key document is of fleet %s, the configuration of %s", keys.fleet,
                           e->parsed.fleet);
    return status;
}

static enum qs_status make_places(const struct site *site, struct qs_error *err)
{
    char fleet[QS_PATH_MAX_BYTES + 8];
    enum qs_status status = site_make(site, SITE_ETC, 0755, NULL, err);
    (void)snprintf(fleet, sizeof fleet, "%s/fleet", site->dirs[SITE_ETC]);
    if (!status && qs_os->mkdirat(AT_FDCWD, fleet, 0755) && errno != EEXIST)
        status = error_sys(err, QS_IO, errno, "%s cannot be made", fleet);
    if (!status)
        status = site_make(site, SITE_STATE, 0700, NULL, err);
    if (!status)
        status = site_make(site, SITE_SPOOL, 0750, SITE_USER, err);
    return status ? status : site_make(site, SITE_OUT, 0755, NULL, err);
}

enum qs_status fleet_enrol(const char *root, const char *config_file, const char *keys_file, bool adopt,
                           unsigned wait_ms, char id[FLEET_ID_TEXT_BYTES], char key[MINISIG_KEY_TEXT_BYTES],
                           struct qs_error *err)
{
    AUTO(enrolment_release) struct enrolment e = {.machine = {.lock_fd = -1}};
    struct machine *machine = &e.machine;
    struct public_key public = {0};
    enum qs_status status = site_init(&machine->site, root, err);
    if (!status)
        status = read_documents(&e, config_file, keys_file, err);
    if (!status)
        status = make_places(&machine->site, err);
    if (!status)
        status = machine_lock(machine, wait_ms, err);
    if (!status)
        status = qs_store_open(QS_SCOPE_SYSTEM,
                               &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = root},
                               &machine->store, err);
    if (!status)
        status = machine_read_store(machine, err);
    if (!status && (status = check_free(&e, err)) == QS_CONFLICT) {
        error_add_advice(err, "give it up with --adopt");
        status = adopt ? forget(machine, false, err) : status;
    }
    if (!status)
        status = make_key(machine, &public, err);
    if (!status)
        status = site_write(&machine->site, SITE_ETC, "fleet/keys.json", 0644, buf_bytes(&e.keys), err);
    if (!status) /* the last: with it the machine is in the fleet */
        status = site_write(&machine->site, SITE_ETC, "fleet/config.json", 0644, buf_bytes(&e.config), err);
    if (status)
        return status;
    machine_id_of(&public, id);
    public_key_format(&public, key);
    return QS_OK;
}

/* ---- leave ---- */

static enum qs_status open_known(struct machine *machine, const char *root, const char *why, unsigned wait_ms,
                                 struct qs_error *err)
{
    if (strlen(why) >= sizeof machine->glass.reason || strpbrk(why, "\n\r"))
        return error_set(err, QS_USAGE, "a reason is one line of at most 200 bytes");
    return machine_open(machine, root, wait_ms, err);
}

enum qs_status fleet_leave(const char *root, const char *why, unsigned wait_ms, struct qs_error *err)
{
    AUTO(machine_close) struct machine machine = {.lock_fd = -1};
    char message[512];
    enum qs_status status = open_known(&machine, root, why, wait_ms, err);
    (void)snprintf(message, sizeof message, "left fleet %s: %s", machine.config.fleet, why);
    if (!status)
        status = machine_report(&machine, MACHINE_LEFT, why, err);
    if (!status)
        status = site_remove(&machine.site, SITE_ETC, FLEET_SERIAL_FILE, err);
    if (!status)
        status = machine_disown(&machine, message, err);
    return status ? status : forget(&machine, true, err);
}

/* ---- break glass ---- */

static enum qs_status report_now(struct machine *machine, struct qs_error *err)
{
    char reason[256];
    bool holds = break_glass_holds(&machine->glass, machine->clock);
    (void)snprintf(reason, sizeof reason, "until %llu, by uid %llu: %s", (unsigned long long)machine->glass.end,
                   (unsigned long long)machine->glass.uid, machine->glass.reason);
    return machine_report(machine, holds ? MACHINE_BROKEN_GLASS : MACHINE_CURRENT, holds ? reason : "", err);
}

/* The history first: nothing is allowed that it does not tell. */
enum qs_status fleet_break_glass(const char *root, unsigned hours, const char *why, unsigned wait_ms,
                                 struct qs_error *err)
{
    AUTO(machine_close) struct machine machine = {.lock_fd = -1};
    AUTO(buf_release) struct buf line = {0};
    char message[512];
    enum qs_status status = open_known(&machine, root, why, wait_ms, err);
    if (!status && !hours && !machine.glass.end)
        status = error_set(err, QS_NOT_FOUND, "the glass is not broken");
    if (status)
        return status;
    struct break_glass glass = {machine.clock, machine.clock + hours * UINT64_C(3600), getuid(), ""};
    (void)snprintf(glass.reason, sizeof glass.reason, "%s", why);
    if (hours)
        (void)snprintf(message, sizeof message, "break-glass until %llu by uid %llu: %s", (unsigned long long)glass.end,
                       (unsigned long long)glass.uid, why);
    else
        (void)snprintf(message, sizeof message, "break-glass ended by uid %llu", (unsigned long long)glass.uid);
    status = machine_note(&machine, message, err);
    break_glass_format(&glass, &line);
    if (!status)
        status = hours ? site_write(&machine.site, SITE_STATE, FLEET_GLASS_FILE, 0600, buf_bytes(&line), err)
                       : site_remove(&machine.site, SITE_STATE, FLEET_GLASS_FILE, err);
    if (!status)
        machine.glass = hours ? glass : (struct break_glass){0};
    if (!status)
        status = machine_read_store(&machine, err);
    return status ? status : report_now(&machine, err);
}
