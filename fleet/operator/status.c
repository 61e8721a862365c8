/* SPDX-License-Identifier: Apache-2.0 */
/* Reports against the registry: who is where, who is behind, and whose word does not fit what was heard before. */
#include "base/cleanup.h"
#include "base/error.h"
#include "fleet/operator/work.h"

#include <stdio.h>
#include <string.h>

#define SILENT_S       (3u * 24u * 3600u)
#define REPORT_PAUSE_S 60u /* a machine sends no more often */

static const char *const flag_names[FLAG_COUNT] = {"behind", "held",      "refused",   "expired", "drifting",
                                                   "silent", "went back", "duplicate", "unknown", "broken-glass"};

const char *flag_name(enum flag flag)
{
    return flag_names[flag];
}

void standings_release(struct standings *standings)
{
    for (size_t i = 0; i < standings->count; i++)
        report_release(&standings->items[i].report);
    free(standings->items);
    json_decref(standings->ids);
}

static uint64_t number_of(const json_t *machine, const char *name)
{
    json_int_t number = json_integer_value(json_object_get(machine, name));
    return number > 0 ? (uint64_t)number : 0;
}

/* One id with two counters: the same number over other bytes, or a number that went back and is ahead again sooner than
 * one machine could count. */
static bool is_duplicate(const json_t *machine, const struct report *report, const uint8_t digest[QS_DIGEST_BYTES])
{
    uint64_t sequence = number_of(machine, "sequence"), low = number_of(machine, "low");
    const char *last = json_string_value(json_object_get(machine, "digest"));
    char text[HEX_DIGEST_BYTES];
    hex_format(digest, QS_DIGEST_BYTES, text);
    if (report->sequence == sequence && last && strcmp(last, text) != 0)
        return true;
    uint64_t passed = report->time > number_of(machine, "time") ? report->time - number_of(machine, "time") : 0;
    return low && report->sequence > sequence && report->sequence - low > passed / REPORT_PAUSE_S + 1;
}

unsigned standing_flags(const json_t *machine, const struct report *report, const uint8_t digest[QS_DIGEST_BYTES],
                        struct fleet_order newest, uint64_t clock)
{
    static const struct {
        enum machine_state state;
        enum flag flag;
    } states[] = {{MACHINE_HELD, FLAG_HELD},
                  {MACHINE_REFUSED, FLAG_REFUSED},
                  {MACHINE_EXPIRED, FLAG_EXPIRED},
                  {MACHINE_BROKEN_GLASS, FLAG_BROKEN_GLASS}};
    unsigned flags = machine ? 0 : 1u << FLAG_UNKNOWN;
    if (!report)
        return flags | 1u << FLAG_SILENT;
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        flags |= report->state == states[i].state ? 1u << states[i].flag : 0;
    if (fleet_order_compare(report->seen, newest) < 0 && report->state != MACHINE_LEFT)
        flags |= 1u << FLAG_BEHIND;
    if (report->drift)
        flags |= 1u << FLAG_DRIFTING;
    if (clock >= report->time + SILENT_S && report->state != MACHINE_LEFT)
        flags |= 1u << FLAG_SILENT;
    const struct fleet_order known = {number_of(machine, "keys"), number_of(machine, "serial")};
    if (machine &&
        (report->sequence < number_of(machine, "sequence") || fleet_order_compare(report->applied, known) < 0))
        flags |= 1u << FLAG_WENT_BACK;
    if (machine && is_duplicate(machine, report, digest))
        flags |= 1u << FLAG_DUPLICATE;
    return flags;
}

/* What is to be remembered: the greatest that was heard, and how low it went since. */
static void remember(json_t *machine, const struct standing *standing)
{
    const struct report *report = &standing->report;
    const struct fleet_order known = {number_of(machine, "keys"), number_of(machine, "serial")};
    char digest[HEX_DIGEST_BYTES];
    hex_format(standing->digest, QS_DIGEST_BYTES, digest);
    if (report->sequence < number_of(machine, "sequence")) {
        (void)json_object_set_new(machine, "low", json_integer((json_int_t)report->sequence));
    } else if (!(standing->flags & 1u << FLAG_DUPLICATE)) {
        (void)json_object_set_new(machine, "sequence", json_integer((json_int_t)report->sequence));
        (void)json_object_set_new(machine, "digest", json_string(digest));
        (void)json_object_del(machine, "low");
    }
    (void)json_object_set_new(machine, "time", json_integer((json_int_t)report->time));
    if (fleet_order_compare(report->applied, known) > 0) {
        (void)json_object_set_new(machine, "keys", json_integer((json_int_t)report->applied.keys));
        (void)json_object_set_new(machine, "serial", json_integer((json_int_t)report->applied.serial));
    }
}

static json_t *find_machine(const struct work *work, const char *id)
{
    size_t i;
    json_t *machine;
    json_array_foreach(work->machines, i,
                       machine) if (!strcmp(json_string_value(json_object_get(machine, "id")), id)) return machine;
    return NULL;
}

static const char *text_of(const json_t *machine, const char *name)
{
    const char *text = json_string_value(json_object_get(machine, name));
    return text ? text : "";
}

/* Those that the carrier tells, and those of the registry. */
static enum qs_status collect_ids(const struct work *work, struct carrier *carrier, json_t **ret_ids,
                                  struct qs_error *err)
{
    size_t i, j;
    json_t *machine, *id;
    enum qs_status status = QS_OK;
    if (carrier->row->list)
        status = carrier->row->list(carrier, ret_ids, err);
    else
        *ret_ids = json_array();
    if (status)
        return status;
    AUTO(value_release) json_t *known = json_object();
    json_array_foreach(*ret_ids, j, id)(void) json_object_set_new(known, json_string_value(id), json_true());
    json_array_foreach(work->machines, i, machine)
    {
        const char *text = text_of(machine, "id");
        if (!json_object_get(known, text))
            (void)json_array_append_new(*ret_ids, json_string(text));
    }
    return QS_OK;
}

static void read_standing(const struct work *work, struct carrier *carrier, struct standing *standing)
{
    AUTO(buf_release) struct buf text = {0};
    struct qs_error why = {0};
    json_t *machine = find_machine(work, standing->id);
    standing->label = text_of(machine, "label");
    standing->group = text_of(machine, "group");
    standing->reported = !carrier_report_read(carrier, standing->id, &standing->report, &why) &&
                         !strcmp(standing->report.fleet, work->fleet);
    char key[MINISIG_KEY_TEXT_BYTES] = "";
    if (standing->reported && !report_format(&standing->report, &text, NULL))
        digest_of(text.data, text.len, standing->digest);
    public_key_format(&standing->report.key, key);
    if (standing->reported && machine && strcmp(key, text_of(machine, "publicKey")) != 0)
        standing->reported = false; /* id and key go together; this can be none of ours */
    standing->flags = standing_flags(machine, standing->reported ? &standing->report : NULL, standing->digest,
                                     work->newest, clock_now());
    standing->ring = standing->reported ? standing->report.ring : -1;
    if (machine && standing->reported)
        remember(machine, standing);
}

enum qs_status work_status(struct work *work, struct standings *ret_standings, struct qs_error *err)
{
    AUTO(carrier_close) struct carrier *carrier = NULL;
    enum qs_status status = work_carrier(work, &carrier, err);
    if (!status)
        status = collect_ids(work, carrier, &ret_standings->ids, err);
    if (status)
        return status;
    size_t count = json_array_size(ret_standings->ids);
    ret_standings->items = calloc(count + 1, sizeof *ret_standings->items);
    if (!ret_standings->items)
        return error_memory(err);
    for (; ret_standings->count < count; ret_standings->count++) {
        struct standing *standing = &ret_standings->items[ret_standings->count];
        standing->id = json_string_value(json_array_get(ret_standings->ids, ret_standings->count));
        read_standing(work, carrier, standing);
    }
    return work_save_machines(work, err);
}

enum qs_status work_admit(struct work *work, const char *id, const char *label, const char *group, struct qs_error *err)
{
    AUTO(carrier_close) struct carrier *carrier = NULL;
    AUTO(report_release) struct report report = {0};
    uint8_t raw[16];
    char key[MINISIG_KEY_TEXT_BYTES];
    if (!hex_parse(id, strlen(id), raw, sizeof raw))
        return error_set(err, QS_USAGE, "an id is 32 hex digits, as qfleet enrol prints it");
    if (group && !name_ok(group))
        return error_set(err, QS_USAGE, "a group is 1 to 64 of a-z, 0-9 and -");
    enum qs_status status = work_carrier(work, &carrier, err);
    if (!status)
        status = carrier_report_read(carrier, id, &report, err);
    if (status)
        return status;
    if (strcmp(report.fleet, work->fleet) != 0)
        return error_set(err, QS_UNTRUSTED, "the report is of fleet %s, not %s", report.fleet, work->fleet);
    json_t *machine = find_machine(work, id);
    if (!machine && json_array_append_new(work->machines, machine = json_object()))
        return error_memory(err);
    public_key_format(&report.key, key);
    (void)json_object_set_new(machine, "id", json_string(id));
    (void)json_object_set_new(machine, "publicKey", json_string(key));
    if (label)
        (void)json_object_set_new(machine, "label", json_string(label));
    if (group)
        (void)json_object_set_new(machine, "group", json_string(group));
    return work_save_machines(work, err);
}

/* ---- rings ---- */

/* By the group of the registry, which the operator has given, not by what a machine says of itself. */
static int ring_of(const json_t *machine, const struct bundle *bundle, unsigned count)
{
    fleet_name groups[1] = {""};
    (void)snprintf(groups[0], sizeof groups[0], "%s", text_of(machine, "group"));
    struct draw_subject subject = {text_of(machine, "id"), (const fleet_name *)groups, groups[0][0] != 0};
    return decide_ring(bundle, count, &subject);
}

void work_draw(const struct work *work, const struct bundle *bundle, struct buf *out)
{
    size_t counts[FLEET_RINGS_MAX + 1] = {0}, i;
    json_t *machine;
    json_array_foreach(work->machines, i, machine) counts[ring_of(machine, bundle, bundle->ring_count) + 1]++;
    for (unsigned r = 0; r < bundle->ring_count; r++) {
        buf_printf(out, "ring %u (%s): ", r, r < bundle->open ? "open" : "closed");
        if (bundle->rings[r].group[0])
            buf_printf(out, "group %s ", bundle->rings[r].group);
        if (bundle->rings[r].percent >= 0)
            buf_printf(out, "%d %% ", bundle->rings[r].percent);
        buf_printf(out, "%zu of %zu machines\n", counts[r + 1], json_array_size(work->machines));
    }
    if (counts[0])
        buf_printf(out, "in no ring: %zu machines\n", counts[0]);
}

enum qs_status work_may_promote(struct work *work, uint64_t need, struct qs_error *err)
{
    AUTO(standings_release) struct standings standings = {0};
    size_t drawn = 0, good = 0, failed = 0;
    char content[HEX_DIGEST_BYTES];
    hex_format(work->bundle.content, QS_DIGEST_BYTES, content);
    enum qs_status status = work_status(work, &standings, err);
    for (size_t i = 0; i < standings.count && !status; i++) {
        const struct standing *standing = &standings.items[i];
        const json_t *machine = find_machine(work, standing->id);
        if (!machine || ring_of(machine, &work->bundle, work->bundle.open) < 0)
            continue;
        drawn++;
        failed += standing->reported && (standing->flags & (1u << FLAG_HELD | 1u << FLAG_REFUSED)) != 0;
        good += standing->reported && standing->report.state == MACHINE_CURRENT &&
                !strcmp(standing->report.document, content) && !(standing->flags & 1u << FLAG_BEHIND);
    }
    if (status || (!failed && good * 100 >= drawn * need))
        return status;
    status =
        error_set(err, QS_NOT_FOUND,
                  "of %zu machines in the open rings %zu report success and %zu failed; %llu %% must succeed and none "
                  "fail",
                  drawn, good, failed, (unsigned long long)need);
    error_add_advice(err, "see qfleet status; go on all the same with --force -m WHY");
    return status;
}
