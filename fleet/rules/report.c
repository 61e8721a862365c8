/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a machine: what holds there, signed by its own key. */
#include "base/cleanup.h"
#include "base/error.h"
#include "fleet/rules/documents.h"

#include <stdio.h>
#include <string.h>

static const char what[] = "report";

static const char *const state_names[] = {"current", "waiting", "held", "refused", "expired", "broken-glass", "left"};
static const char *const battery_names[] = {"pass", "held", "report", "broken", "none"};

const char *machine_state_name(enum machine_state state)
{
    return state_names[state];
}

void machine_id_of(const struct public_key *key, char id[FLEET_ID_TEXT_BYTES])
{
    uint8_t digest[QS_DIGEST_BYTES];
    digest_of(key->bytes, MINISIG_KEY_BYTES, digest);
    hex_format(digest, 16, id);
}

void report_release(struct report *report)
{
    value_release(&report->failed);
}

/* ---- making ---- */

static json_t *order_json(struct fleet_order order)
{
    return order.keys ? json_pack("[I, I]", (json_int_t)order.keys, (json_int_t)order.serial) : json_null();
}

enum qs_status report_format(const struct report *report, struct buf *out, struct qs_error *err)
{
    char key[MINISIG_KEY_TEXT_BYTES];
    json_t *groups = json_array();
    public_key_format(&report->key, key);
    for (size_t i = 0; i < report->group_count; i++)
        (void)json_array_append_new(groups, json_string(report->groups[i]));
    AUTO(value_release)
    json_t *root = json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:I, s:o, s:{s:s, s:O}, s:s, s:s, s:b, s:s, s:{s:s}, s:o}",
        "format", "qsettings-fleet-report-1", "fleet", report->fleet, "id", report->id, "publicKey", key, "sequence",
        (json_int_t)report->sequence, "time", (json_int_t)report->time, "seen", order_json(report->seen), "applied",
        order_json(report->applied), "document", report->document[0] ? json_string(report->document) : json_null(),
        "generation", (json_int_t)report->generation, "ring",
        report->ring >= 0 ? json_integer(report->ring) : json_null(), "battery", "result", report->battery, "failed",
        report->failed, "state", machine_state_name(report->state), "reason", report->reason, "drift", report->drift,
        "clock", report->clock_behind ? "behind" : "ok", "versions", "qsettings", report->version, "groups", groups);
    enum qs_status status = root ? value_encode(root, out, err) : error_memory(err);
    buf_add_char(out, '\n');
    return status ? status : out->failed ? error_memory(err) : QS_OK;
}

/* ---- reading ---- */

static bool word_of(const char *text, const char *const *names, int count, int *ret_index)
{
    for (*ret_index = 0; *ret_index < count; ++*ret_index)
        if (!strcmp(text, names[*ret_index]))
            return true;
    return false;
}

static bool order_of(const json_t *value, struct fleet_order *ret_order)
{
    json_int_t keys = 0, serial = 0;
    if (!json_is_null(value) && json_unpack((json_t *)value, "[I, I!]", &keys, &serial))
        return false;
    *ret_order = (struct fleet_order){(uint64_t)keys, (uint64_t)serial};
    return json_is_null(value) || (number_ok(keys, 1) && number_ok(serial, 0));
}

static bool copy_text(const char *text, char *out, size_t size)
{
    return snprintf(out, size, "%s", text) < (int)size;
}

static bool strings_of(const json_t *array)
{
    size_t i;
    json_t *item;
    json_array_foreach(array, i, item) if (!json_is_string(item)) return false;
    return json_is_array(array);
}

static bool groups_of(const json_t *array, struct report *report)
{
    report->group_count = json_array_size(array);
    if (!strings_of(array) || report->group_count > FLEET_GROUPS_MAX)
        return false;
    for (size_t i = 0; i < report->group_count; i++) {
        const char *group = json_string_value(json_array_get(array, i));
        if (!name_ok(group) || !copy_text(group, report->groups[i], sizeof report->groups[i]))
            return false;
    }
    return true;
}

/* What holds a whole number from 0 up. */
struct report_fields {
    const char *format, *fleet, *id, *key, *battery, *state, *reason, *clock, *version;
    json_int_t sequence, time, generation;
    json_t *seen, *applied, *document, *ring, *failed, *groups;
    int drift;
};

static const char *fill(const struct report_fields *f, struct report *report)
{
    int battery, state;
    uint8_t digest[QS_DIGEST_BYTES];
    char id[FLEET_ID_TEXT_BYTES];
    if (strcmp(f->format, "qsettings-fleet-report-1") != 0)
        return "format is not qsettings-fleet-report-1";
    if (!name_ok(f->fleet) || !copy_text(f->fleet, report->fleet, sizeof report->fleet))
        return "fleet: 1 to 64 of a-z, 0-9 and -";
    machine_id_of(&report->key, id);
    if (strcmp(f->id, id) != 0)
        return "id is not that of publicKey";
    memcpy(report->id, id, sizeof id);
    if (!number_ok(f->sequence, 1) || !number_ok(f->time, 0) || !number_ok(f->generation, 0))
        return "sequence is an integer from 1; time and generation from 0; all below 2^53";
    if (!order_of(f->seen, &report->seen) || !order_of(f->applied, &report->applied))
        return "seen and applied: [keys, serial] or null";
    const char *document = json_string_value(f->document);
    if (!json_is_null(f->document) && (!document || !hex_parse(document, strlen(document), digest, sizeof digest)))
        return "document: 64 hex digits or null";
    (void)copy_text(document ? document : "", report->document, sizeof report->document);
    if (!json_is_null(f->ring) && (!json_is_integer(f->ring) || json_integer_value(f->ring) < 0 ||
                                   json_integer_value(f->ring) >= (json_int_t)FLEET_RINGS_MAX))
        return "ring: an index or null";
    if (!word_of(f->battery, battery_names, 5, &battery) || !strings_of(f->failed))
        return "battery: a result and the names of what failed";
    if (!word_of(f->state, state_names, 7, &state))
        return "state: not one of those there are";
    if (strcmp(f->clock, "ok") != 0 && strcmp(f->clock, "behind") != 0)
        return "clock: ok or behind";
    if (!groups_of(f->groups, report))
        return "groups: at most 16 of 1 to 64 of a-z, 0-9 and -";
    if (!copy_text(f->reason, report->reason, sizeof report->reason) ||
        !copy_text(f->version, report->version, sizeof report->version))
        return "reason or version is too long";
    (void)copy_text(battery_names[battery], report->battery, sizeof report->battery);
    report->ring = json_is_null(f->ring) ? -1 : (int)json_integer_value(f->ring);
    report->sequence = (uint64_t)f->sequence;
    report->time = (uint64_t)f->time;
    report->generation = (uint64_t)f->generation;
    report->state = (enum machine_state)state;
    report->drift = f->drift;
    report->clock_behind = f->clock[0] == 'b';
    return NULL;
}

enum qs_status report_parse(struct qs_bytes text, struct qs_bytes signature, struct report *ret_report,
                            struct qs_error *err)
{
    struct report report = {0};
    struct report_fields f = {0};
    struct minisig sig;
    AUTO(value_release) json_t *root = NULL;
    json_error_t fault;
    enum qs_status status = document_load(what, text, FLEET_REPORT_MAX_BYTES, &root, err);
    if (status)
        return status;
    if (json_unpack_ex(root, &fault, JSON_STRICT,
                       "{s:s, s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:I, s:o, s:{s:s, s:o!}, s:s, s:s, s:b, s:s, "
                       "s:{s:s!}, s:o!}",
                       "format", &f.format, "fleet", &f.fleet, "id", &f.id, "publicKey", &f.key, "sequence",
                       &f.sequence, "time", &f.time, "seen", &f.seen, "applied", &f.applied, "document", &f.document,
                       "generation", &f.generation, "ring", &f.ring, "battery", "result", &f.battery, "failed",
                       &f.failed, "state", &f.state, "reason", &f.reason, "drift", &f.drift, "clock", &f.clock,
                       "versions", "qsettings", &f.version, "groups", &f.groups))
        return document_fault(what, fault.text, err);
    status = public_key_parse(f.key, &report.key, err);
    if (!status)
        status = minisig_parse(signature.data, signature.len, &sig, err);
    struct role self = {.threshold = 1, .count = 1, .keys = {report.key}};
    if (!status)
        status = minisig_check(&sig, text, &self, NULL, err);
    if (status)
        return status;
    const char *wrong = fill(&f, &report);
    if (wrong)
        return document_fault(what, wrong, err);
    report.failed = json_incref(f.failed);
    *ret_report = report;
    return QS_OK;
}
