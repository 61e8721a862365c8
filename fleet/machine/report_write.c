/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's key and its report: written anew if something else than number and time differs, and once a day. */
#include "base/cleanup.h"
#include "base/error.h"
#include "fleet/machine/machine.h"

#include <stdio.h>
#include <string.h>

#define REPORT_DAY_S (24u * 3600u)

enum qs_status machine_key_read(const struct machine *machine, struct public_key *ret_key, uint8_t secret[64],
                                struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    uint8_t seed[crypto_sign_SEEDBYTES];
    enum qs_status status = site_read(&machine->site, SITE_STATE, "machine.key", 80, &text, err);
    if (status)
        return status;
    if (text.len != 2 * sizeof seed + 1 || text.data[text.len - 1] != '\n' ||
        !hex_parse(text.data, text.len - 1, seed, sizeof seed) ||
        crypto_sign_seed_keypair(ret_key->bytes, secret, seed)) {
        status = error_set(err, QS_DAMAGED, "the state file machine.key is no key");
        error_add_advice(err, "remove it, and enrol this machine again: it gets a new identity");
    } else {
        uint8_t digest[QS_DIGEST_BYTES];
        digest_of(ret_key->bytes, MINISIG_KEY_BYTES, digest);
        memcpy(ret_key->id, digest, MINISIG_ID_BYTES);
    }
    sodium_memzero(seed, sizeof seed);
    sodium_memzero(text.data, text.len);
    return status;
}

static void fill(const struct machine *machine, const struct report *last, struct report *report)
{
    char id[FLEET_ID_TEXT_BYTES];
    struct draw_subject subject = machine_subject(machine, id);
    const struct bundle *bundle = &machine->bundle;
    report->ring = bundle->document ? decide_ring(bundle, bundle->ring_count, &subject) : -1;
    report->seen = machine->seen.order;
    if (!strcmp(machine->mark.fleet, machine->config.fleet))
        report->applied = machine->mark.order;
    hex_format(machine->content, QS_DIGEST_BYTES, report->document);
    report->generation = qs_snapshot_generation(machine->snapshot);
    report->drift = machine->drift;
    report->clock_behind = machine->clock_behind;
    report->group_count = machine->config.group_count;
    memcpy(report->groups, machine->config.groups, sizeof report->groups);
    (void)snprintf(report->fleet, sizeof report->fleet, "%s", machine->config.fleet);
    (void)snprintf(report->version, sizeof report->version, "%s", QS_VERSION);
    (void)snprintf(report->battery, sizeof report->battery, "%s",
                   machine->battery   ? machine->battery
                   : last->battery[0] ? last->battery
                                      : "none");
    report->failed = machine->battery && machine->failed ? json_incref(machine->failed)
                     : !machine->battery && last->failed ? json_incref(last->failed)
                                                         : json_array();
}

/* The last report, if it is this machine's. */
static void read_last(const struct machine *machine, struct report *last, struct buf *text)
{
    AUTO(buf_release) struct buf signature = {0};
    if (!site_read(&machine->site, SITE_OUT, "report.json", FLEET_REPORT_MAX_BYTES, text, NULL) &&
        !site_read(&machine->site, SITE_OUT, "report.json.minisig", MINISIG_FILE_MAX_BYTES, &signature, NULL))
        (void)!report_parse(buf_bytes(text), buf_bytes(&signature), last, NULL);
}

/* Once a day, each machine at an hour of its own. */
static bool due(const struct machine *machine, const struct report *last)
{
    uint64_t day = REPORT_DAY_S - decide_draw("", "", last->id) * 36;
    return machine->clock >= last->time + day || machine->clock < last->time;
}

static enum qs_status next_sequence(const struct machine *machine, uint64_t at_least, uint64_t *ret_number,
                                    struct qs_error *err)
{
    char line[32];
    uint64_t number = 0;
    enum qs_status status = state_number(&machine->site, "sequence", &number, err);
    if (status && status != QS_NOT_FOUND)
        return status;
    *ret_number = (number > at_least ? number : at_least) + 1;
    (void)snprintf(line, sizeof line, "%llu\n", (unsigned long long)*ret_number);
    return site_write(&machine->site, SITE_STATE, "sequence", 0600, (struct qs_bytes){line, strlen(line)}, err);
}

static void add_prometheus(const struct machine *machine, const struct report *report, struct buf *out)
{
    buf_printf(out, "qfleet_seen_serial %llu\nqfleet_applied_serial %llu\nqfleet_keys %llu\n",
               (unsigned long long)report->seen.serial, (unsigned long long)report->applied.serial,
               (unsigned long long)machine->keys.version);
    buf_printf(out, "qfleet_expires_seconds %llu\nqfleet_drift %d\nqfleet_clock_behind %d\n",
               (unsigned long long)machine->bundle.expires, report->drift, report->clock_behind);
    for (int i = MACHINE_CURRENT; i <= MACHINE_LEFT; i++)
        buf_printf(out, "qfleet_state{state=\"%s\"} %d\n", machine_state_name((enum machine_state)i),
                   report->state == (enum machine_state)i);
}

static enum qs_status sign_and_write(struct machine *machine, struct report *report, const uint8_t secret[64],
                                     struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    AUTO(buf_release) struct buf signature = {0};
    AUTO(buf_release) struct buf figures = {0};
    enum qs_status status = report_format(report, &text, err);
    if (status)
        return status;
    minisig_make(&report->key, secret, buf_bytes(&text), report->id, &signature);
    add_prometheus(machine, report, &figures);
    status = site_write(&machine->site, SITE_OUT, "report.json.minisig", 0644, buf_bytes(&signature), err);
    if (!status)
        status = site_write(&machine->site, SITE_OUT, "qfleet.prom", 0644, buf_bytes(&figures), err);
    if (!status) /* the last: without it all are written again */
        status = site_write(&machine->site, SITE_OUT, "report.json", 0644, buf_bytes(&text), err);
    return status;
}

enum qs_status machine_report(struct machine *machine, enum machine_state state, const char *reason,
                              struct qs_error *err)
{
    AUTO(report_release) struct report last = {0};
    AUTO(report_release) struct report report = {.state = state};
    AUTO(buf_release) struct buf before = {0};
    AUTO(buf_release) struct buf now = {0};
    uint8_t secret[64];
    enum qs_status status = machine_key_read(machine, &report.key, secret, err);
    if (status)
        return status;
    machine_id_of(&report.key, report.id);
    read_last(machine, &last, &before);
    fill(machine, &last, &report);
    (void)snprintf(report.reason, sizeof report.reason, "%s", reason);
    report.sequence = last.sequence;
    report.time = last.time;
    status = report_format(&report, &now, err);
    if (!status && (!last.sequence || strcmp(last.id, report.id) != 0 || due(machine, &last) || now.len != before.len ||
                    memcmp(now.data, before.data, now.len) != 0)) {
        report.time = machine->clock;
        status = next_sequence(machine, last.sequence, &report.sequence, err);
        if (!status)
            status = sign_and_write(machine, &report, secret, err);
    }
    sodium_memzero(secret, sizeof secret);
    return status;
}
