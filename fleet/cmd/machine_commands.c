/* SPDX-License-Identifier: Apache-2.0 */
/* The commands on a machine. */
#include "base/error.h"
#include "fleet/carrier/carrier.h"
#include "fleet/cmd/qfleet.h"
#include "terminal/findings.h"

#include <stdio.h>
#include <string.h>

json_t *order_json(struct fleet_order order)
{
    return order.keys ? json_pack("[I, I]", (json_int_t)order.keys, (json_int_t)order.serial) : json_null();
}

void out_json(struct cli *cli, json_t *value)
{
    if (!value || value_encode_pretty(value, &cli->out, NULL))
        cli->out.failed = true;
    buf_add_char(&cli->out, '\n');
    json_decref(value);
}

enum qs_status cmd_enrol(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    char id[FLEET_ID_TEXT_BYTES], key[MINISIG_KEY_TEXT_BYTES];
    (void)count;
    enum qs_status status =
        fleet_enrol(cli->line.root, operands[0], operands[1], cli->adopt, (unsigned)cli->wait, id, key, err);
    if (status)
        return status;
    if (cli->line.json)
        out_json(cli, json_pack("{s:s, s:s}", "id", id, "publicKey", key));
    else
        buf_printf(&cli->out, "id: %s\npublic key: %s\n", id, key);
    return QS_OK;
}

enum qs_status cmd_fetch(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    (void)count;
    (void)operands;
    return fleet_fetch(&(struct fetch_options){cli->line.root, cli->once}, err);
}

enum qs_status cmd_apply(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    struct apply_outcome outcome = {0};
    (void)count;
    (void)operands;
    enum qs_status status = fleet_apply(cli->line.root, (unsigned)cli->wait, &outcome, err);
    if (status && status != QS_FOLLOW_UP)
        return status;
    if (outcome.state == MACHINE_HELD)
        cli->exit_status = 1;
    if (cli->line.json)
        out_json(cli, json_pack("{s:s, s:s, s:o, s:b, s:b}", "state", machine_state_name(outcome.state), "reason",
                                outcome.reason, "applied", order_json(outcome.applied), "changed", outcome.changed,
                                "stored", outcome.changed));
    else
        buf_printf(&cli->out, "%s: bundle %llu-%llu%s%s%s\n", machine_state_name(outcome.state),
                   (unsigned long long)outcome.applied.keys, (unsigned long long)outcome.applied.serial,
                   outcome.changed ? ", committed" : "", outcome.reason[0] ? ": " : "", outcome.reason);
    return status;
}

/* ---- state ---- */

static void store_release(struct qs_store **store)
{
    qs_store_close(*store);
}
static void snapshot_drop(struct qs_snapshot **snapshot)
{
    qs_snapshot_unref(*snapshot);
}

/* What anybody can read: the store, what is demanded of it, and the last report. */
struct view {
    struct site site;
    struct config config;
    struct fleet_mark mark, demanded;
    struct report report;
    bool reported, stale, broken, drift;
    uint64_t generation;
};

static void view_release(struct view *view)
{
    config_release(&view->config);
    report_release(&view->report);
}

static bool content_differs(const struct qs_snapshot *snapshot)
{
    const struct entry_list *areas = snapshot->areas;
    uint8_t now[QS_DIGEST_BYTES], then[QS_DIGEST_BYTES];
    struct qs_bytes text;
    if (qs_snapshot_get(snapshot, "fleet.content", &text, NULL) || text.len < 2 ||
        !hex_parse((const char *)text.data + 1, text.len - 2, then, sizeof then))
        return false;
    fleet_content_digest(areas[AREA_SETTINGS].items, areas[AREA_SETTINGS].count, areas[AREA_LOCKS].items,
                         areas[AREA_LOCKS].count, now);
    return memcmp(now, then, sizeof now) != 0;
}

static enum qs_status look(const struct cli *cli, struct view *view, struct qs_error *err)
{
    AUTO(store_release) struct qs_store *store = NULL;
    AUTO(snapshot_drop) struct qs_snapshot *snapshot = NULL;
    AUTO(buf_release) struct buf text = {0};
    AUTO(buf_release) struct buf signature = {0};
    enum qs_status status = site_init(&view->site, cli->line.root, err);
    if (!status)
        status = config_read(&view->site, &view->config, err);
    if (!status)
        status =
            qs_store_open(QS_SCOPE_SYSTEM,
                          &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = cli->line.root},
                          &store, err);
    if (!status)
        status = fleet_required(&store->dir, &view->demanded, err);
    if (!status)
        status = qs_snapshot_take(store, &snapshot, err);
    if (!status)
        status = fleet_mark_of(snapshot, &view->mark, err);
    if (status)
        return status;
    view->generation = qs_snapshot_generation(snapshot);
    view->drift = content_differs(snapshot);
    view->stale = fleet_check_stale(&view->demanded, &view->mark, NULL) != QS_OK;
    if (!site_read(&view->site, SITE_OUT, "report.json", FLEET_REPORT_MAX_BYTES, &text, NULL) &&
        !site_read(&view->site, SITE_OUT, "report.json.minisig", MINISIG_FILE_MAX_BYTES, &signature, NULL))
        view->reported = !report_parse(buf_bytes(&text), buf_bytes(&signature), &view->report, NULL);
    return QS_OK;
}

static void state_json(struct cli *cli, const struct view *view)
{
    const struct report *report = &view->report;
    out_json(cli, json_pack("{s:s, s:s?, s:s, s:s, s:o, s:o, s:o, s:I, s:b, s:b, s:o, s:s, s:s}", "fleet",
                            view->config.fleet, "id", view->reported ? report->id : NULL, "state",
                            view->reported ? machine_state_name(report->state) : "waiting", "reason",
                            view->reported ? report->reason : "apply has not run yet", "applied",
                            order_json(view->mark.order), "seen", order_json(report->seen), "required",
                            order_json(view->demanded.order), "generation", (json_int_t)view->generation, "stale",
                            view->stale, "drift", view->drift, "ring",
                            view->reported && report->ring >= 0 ? json_integer(report->ring) : json_null(), "battery",
                            report->battery, "clock", report->clock_behind ? "behind" : "ok"));
}

static void state_text(struct cli *cli, const struct view *view)
{
    const struct report *report = &view->report;
    buf_printf(&cli->out, "fleet %s: %s%s%s\n", view->config.fleet,
               view->reported ? machine_state_name(report->state) : "apply has not run yet",
               report->reason[0] ? ": " : "", report->reason);
    buf_printf(&cli->out, "  applied  %llu-%llu, generation %llu\n  seen     %llu-%llu\n",
               (unsigned long long)view->mark.order.keys, (unsigned long long)view->mark.order.serial,
               (unsigned long long)view->generation, (unsigned long long)report->seen.keys,
               (unsigned long long)report->seen.serial);
    if (view->stale)
        buf_printf(&cli->out, "  stale: require-serial demands %llu-%llu; run qfleet apply\n",
                   (unsigned long long)view->demanded.order.keys, (unsigned long long)view->demanded.order.serial);
    if (view->drift)
        buf_add_str(&cli->out, "  drift: settings or locks differ from what was committed\n");
    if (view->reported)
        buf_printf(&cli->out, "  id       %s\n  battery  %s\n  clock    %s\n", report->id, report->battery,
                   report->clock_behind ? "behind" : "ok");
}

enum qs_status cmd_state(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(view_release) struct view view = {.report = {.battery = "none"}};
    (void)count;
    (void)operands;
    enum qs_status status = look(cli, &view, err);
    if (status)
        return status;
    if (cli->line.json)
        state_json(cli, &view);
    else
        state_text(cli, &view);
    return QS_OK;
}

/* ---- doctor ---- */

#define REPORT_OLD_S (3u * 24u * 3600u)

static void judge_state(const struct view *view, struct findings *findings)
{
    const struct report *report = &view->report;
    if (!view->reported)
        finding_add(findings, "fleet.state", FINDING_WARN, "run qfleet apply as root", "apply has not run yet");
    else if (report->state == MACHINE_EXPIRED)
        finding_add(findings, "fleet.state", FINDING_FAIL, "see why no newer bundle comes: the carrier, the clock",
                    "%s", report->reason);
    else if (report->state == MACHINE_REFUSED || report->state == MACHINE_HELD)
        finding_add(findings, "fleet.state", FINDING_WARN, NULL, "%s: %s", machine_state_name(report->state),
                    report->reason);
    else if (report->state == MACHINE_BROKEN_GLASS)
        finding_add(findings, "fleet.state", FINDING_WARN, "end it with qfleet break-glass --end", "broken-glass %s",
                    report->reason);
    else
        finding_add(findings, "fleet.state", FINDING_OK, NULL, "%s, bundle %llu-%llu",
                    machine_state_name(report->state), (unsigned long long)view->mark.order.keys,
                    (unsigned long long)view->mark.order.serial);
    if (view->reported && clock_now() >= report->time + REPORT_OLD_S)
        finding_add(findings, "fleet.report", FINDING_WARN, "see whether qfleet-apply.timer runs",
                    "the last report is older than three days");
    if (view->reported && report->clock_behind)
        finding_add(findings, "fleet.clock", FINDING_WARN, "set the clock", "the clock is behind the bundle's");
}

enum qs_status cmd_doctor(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(view_release) struct view view = {.report = {.battery = "none"}};
    AUTO(findings_release) struct findings findings = {0};
    struct qs_error why = {0};
    (void)count;
    (void)operands;
    if (look(cli, &view, &why)) {
        finding_add(&findings, "fleet.state", FINDING_FAIL, why.advice[0] ? why.advice : NULL, "%s", why.message);
    } else {
        judge_state(&view, &findings);
        if (view.stale)
            finding_add(&findings, "fleet.serial", FINDING_FAIL, "run qfleet apply as root",
                        "the store is older than require-serial demands: no session starts");
        if (view.drift)
            finding_add(&findings, "fleet.drift", FINDING_WARN, "qfleet apply puts it back if onDrift is restore",
                        "settings or locks differ from what was committed");
    }
    if (findings.failed)
        return error_memory(err);
    if (cli->line.json)
        out_json(cli, findings_json(&findings));
    else
        findings_text(&findings, &cli->out);
    cli->exit_status = findings_worst(&findings) == FINDING_FAIL ? 1 : 0;
    return QS_OK;
}

/* ---- exceptions ---- */

static enum qs_status need_message(const struct cli *cli, struct qs_error *err)
{
    return cli->message && cli->message[0] ? QS_OK : error_set(err, QS_USAGE, "say why, with -m");
}

enum qs_status cmd_break_glass(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    (void)count;
    (void)operands;
    if (cli->end == (cli->hours != 0))
        return error_set(err, QS_USAGE, "give --hours N, or --end");
    enum qs_status status = cli->end ? QS_OK : need_message(cli, err);
    if (!status)
        status = fleet_break_glass(cli->line.root, (unsigned)cli->hours, cli->end ? "" : cli->message,
                                   (unsigned)cli->wait, err);
    if (!status && cli->end)
        buf_add_str(&cli->out, "the fleet's bundle holds again with the next qfleet apply\n");
    else if (!status)
        buf_printf(&cli->out, "the system scope can be written here for %llu hours\n", (unsigned long long)cli->hours);
    return status;
}

enum qs_status cmd_leave(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    (void)count;
    (void)operands;
    enum qs_status status = need_message(cli, err);
    if (!status)
        status = fleet_leave(cli->line.root, cli->message, (unsigned)cli->wait, err);
    if (!status)
        buf_add_str(&cli->out, "left; the settings stay, as this machine's own\n");
    return status;
}
