/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's commands. */
#include "base/error.h"
#include "fleet/cmd/qfleet.h"
#include "schema/schema.h"

#include <stdio.h>
#include <string.h>

static void tell_next(struct cli *cli, const char *name)
{
    buf_printf(&cli->out, "wrote %s/%s; sign it: minisign -S -s SECRETKEY -m %s/%s; then: qfleet push --work %s\n",
               cli->work, name, cli->work, name, cli->work);
}

enum qs_status cmd_build(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(work_close) struct work work = {0};
    char name[DOCUMENT_NAME_BYTES];
    const struct next next = {.file = operands[0],
                              .rollout = cli->rollout,
                              .rings = cli->rings,
                              .locks = cli->locks,
                              .battery = cli->battery,
                              .open = cli->open,
                              .days = cli->days};
    (void)count;
    enum qs_status status = work_open(&work, cli->work, err);
    if (!status)
        status = next_build(&work, &next, name, &cli->out, err);
    if (status)
        return status;
    work_log(&work, "%s build", name);
    tell_next(cli, name);
    return QS_OK;
}

enum qs_status cmd_promote(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(work_close) struct work work = {0};
    char name[DOCUMENT_NAME_BYTES];
    (void)count;
    (void)operands;
    if (cli->force && (!cli->message || !cli->message[0]))
        return error_set(err, QS_USAGE, "--force needs a reason, with -m");
    enum qs_status status = work_open(&work, cli->work, err);
    if (!status && !work.has_newest)
        status = error_set(err, QS_ABSENT, "there is no bundle in %s yet", cli->work);
    if (!status && work.bundle.open == work.bundle.ring_count)
        status = error_set(err, QS_CONFLICT, "all rings are open already");
    if (!status && !cli->force)
        status = work_may_promote(&work, cli->need, err);
    if (!status)
        status = next_open(&work, cli->to ? cli->to : work.bundle.open + 1, cli->days, name, &cli->out, err);
    if (status)
        return status;
    work_log(&work, "%s promote%s%s", name, cli->force ? " forced: " : "", cli->force ? cli->message : "");
    tell_next(cli, name);
    return QS_OK;
}

enum qs_status cmd_pause(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(work_close) struct work work = {0};
    char name[DOCUMENT_NAME_BYTES];
    (void)count;
    (void)operands;
    enum qs_status status = work_open(&work, cli->work, err);
    if (!status)
        status = next_open(&work, 0, cli->days, name, &cli->out, err);
    if (status)
        return status;
    work_log(&work, "%s pause", name);
    tell_next(cli, name);
    return QS_OK;
}

enum qs_status cmd_rollback(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(work_close) struct work work = {0};
    struct next next = {.rollout = cli->rollout, .days = cli->days};
    char name[DOCUMENT_NAME_BYTES];
    (void)count;
    enum qs_status status = command_line_number("a serial", operands[0], &next.serial, err);
    if (!status)
        status = work_open(&work, cli->work, err);
    if (!status)
        status = next_rollback(&work, &next, name, &cli->out, err);
    if (status)
        return status;
    work_log(&work, "%s rollback to %llu", name, (unsigned long long)next.serial);
    tell_next(cli, name);
    return QS_OK;
}

enum qs_status cmd_push(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(work_close) struct work work = {0};
    bool pushed = false;
    (void)count;
    (void)operands;
    enum qs_status status = work_open(&work, cli->work, err);
    if (!status)
        status = work_push(&work, &pushed, err);
    if (!status)
        buf_printf(&cli->out, "bundle %llu-%llu %s\n", (unsigned long long)work.newest.keys,
                   (unsigned long long)work.newest.serial, pushed ? "is at the carrier" : "was there already");
    return status;
}

enum qs_status cmd_admit(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(work_close) struct work work = {0};
    (void)count;
    enum qs_status status = work_open(&work, cli->work, err);
    if (!status)
        status = work_admit(&work, operands[0], cli->label, cli->group, err);
    if (!status)
        buf_printf(&cli->out, "admitted %s\n", operands[0]);
    return status;
}

/* ---- verify ---- */

static enum qs_status read_keys(const struct cli *cli, struct key_document *ret_keys, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    struct site site;
    enum qs_status status = site_init(&site, cli->line.root, err);
    if (!status)
        status = cli->keys ? file_read(cli->keys, FLEET_KEYS_MAX_BYTES, &text, err)
                           : site_read(&site, SITE_ETC, "fleet/keys.json", FLEET_KEYS_MAX_BYTES, &text, err);
    if (status == QS_NOT_FOUND && !cli->keys)
        error_add_advice(err, "name the key document with --keys FILE");
    return status ? status : key_document_parse(buf_bytes(&text), ret_keys, err);
}

static enum qs_status verify_bundle(struct cli *cli, const struct key_document *keys, const struct buf *text,
                                    const struct buf *signature, struct qs_error *err)
{
    AUTO(bundle_release) struct bundle bundle = {0};
    const struct seen none = {0};
    struct seen next;
    bool behind = false;
    uint32_t signers = 0;
    enum qs_status status = bundle_verify(keys, buf_bytes(text), buf_bytes(signature), &bundle, &signers, err);
    if (!status)
        status = decide_bundle(&none, keys, &bundle, clock_now(), &next, &behind, err);
    if (!status)
        status = schema_check_document(bundle.document, NULL, schema_flags_of(QS_SCOPE_SYSTEM), err);
    if (!status && cli->line.json)
        out_json(cli, json_pack("{s:s, s:o, s:i, s:b}", "fleet", bundle.fleet, "bundle", order_json(bundle.order),
                                "signers", __builtin_popcount(signers), "clockBehind", behind));
    else if (!status)
        buf_printf(&cli->out, "good: fleet %s, bundle %llu-%llu, signed by %d of %u keys\n", bundle.fleet,
                   (unsigned long long)bundle.order.keys, (unsigned long long)bundle.order.serial,
                   __builtin_popcount(signers), keys->bundle.count);
    return status;
}

enum qs_status cmd_verify(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    AUTO(buf_release) struct buf signature = {0};
    AUTO_FREE char *beside = NULL;
    struct key_document keys, next;
    (void)count;
    if (asprintf(&beside, "%s.minisig", operands[0]) < 0) {
        beside = NULL;
        return error_memory(err);
    }
    enum qs_status status = file_read(operands[0], FLEET_BUNDLE_MAX_BYTES, &text, err);
    if (!status)
        status = file_read(beside, MINISIG_FILE_MAX_BYTES, &signature, err);
    if (!status)
        status = read_keys(cli, &keys, err);
    if (status)
        return status;
    if (key_document_parse(buf_bytes(&text), &next, NULL)) {
        status = verify_bundle(cli, &keys, &text, &signature, err);
    } else {
        status = next_keys_verify(&keys, buf_bytes(&text), buf_bytes(&signature), &next, err);
        if (!status && cli->line.json)
            out_json(cli, json_pack("{s:s, s:I}", "fleet", next.fleet, "keys", (json_int_t)next.version));
        else if (!status)
            buf_printf(&cli->out, "good: fleet %s, key document %llu, which follows %llu\n", next.fleet,
                       (unsigned long long)next.version, (unsigned long long)keys.version);
    }
    if (status)
        error_add_file(err, operands[0]);
    return status;
}

/* ---- status ---- */

static json_t *flags_json(unsigned flags)
{
    json_t *list = json_array();
    for (int i = 0; i < FLAG_COUNT; i++)
        if (flags & 1u << i)
            (void)json_array_append_new(list, json_string(flag_name((enum flag)i)));
    return list;
}

static json_t *standing_json(const struct standing *standing)
{
    const struct report *report = &standing->report;
    return json_pack("{s:s, s:s, s:s, s:s?, s:o, s:o, s:o, s:o, s:o}", "id", standing->id, "label", standing->label,
                     "group", standing->group, "state", standing->reported ? machine_state_name(report->state) : NULL,
                     "ring", standing->ring >= 0 ? json_integer(standing->ring) : json_null(), "seen",
                     order_json(report->seen), "applied", order_json(report->applied), "time",
                     standing->reported ? json_integer((json_int_t)report->time) : json_null(), "flags",
                     flags_json(standing->flags));
}

static void status_row(struct cli *cli, const struct standing *standing)
{
    const char *separator = "";
    char ring[16] = "-", applied[48] = "-";
    if (standing->ring >= 0)
        (void)snprintf(ring, sizeof ring, "%d", standing->ring);
    if (standing->report.applied.keys)
        (void)snprintf(applied, sizeof applied, "%llu-%llu", (unsigned long long)standing->report.applied.keys,
                       (unsigned long long)standing->report.applied.serial);
    buf_printf(&cli->out, "%-32s  %-16s  %-8s  %-4s  %-9s  %-12s  ", standing->id, standing->label, standing->group,
               ring, applied, standing->reported ? machine_state_name(standing->report.state) : "-");
    for (int i = 0; i < FLAG_COUNT; i++) {
        if (!(standing->flags & 1u << i))
            continue;
        buf_printf(&cli->out, "%s%s", separator, flag_name((enum flag)i));
        separator = ", ";
    }
    buf_add_char(&cli->out, '\n');
}

enum qs_status cmd_status(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(work_close) struct work work = {0};
    AUTO(standings_release) struct standings standings = {0};
    size_t counts[FLAG_COUNT] = {0};
    (void)count;
    (void)operands;
    enum qs_status status = work_open(&work, cli->work, err);
    if (!status)
        status = work_status(&work, &standings, err);
    if (status)
        return status;
    json_t *machines = json_array(), *summary = json_object();
    if (!cli->line.json)
        buf_printf(&cli->out, "%-32s  %-16s  %-8s  %-4s  %-9s  %-12s  %s\n", "ID", "LABEL", "GROUP", "RING", "APPLIED",
                   "STATE", "NOTE");
    for (size_t i = 0; i < standings.count; i++) {
        const struct standing *standing = &standings.items[i];
        for (int f = 0; f < FLAG_COUNT; f++)
            counts[f] += standing->flags >> f & 1;
        if (standing->flags)
            cli->exit_status = 1;
        if (cli->line.json)
            (void)json_array_append_new(machines, standing_json(standing));
        else
            status_row(cli, standing);
    }
    for (int f = 0; f < FLAG_COUNT; f++)
        (void)json_object_set_new(summary, flag_name((enum flag)f), json_integer((json_int_t)counts[f]));
    json_t *report = json_pack("{s:s, s:o, s:o, s:o}", "fleet", work.fleet, "bundle", order_json(work.newest),
                               "machines", machines, "counts", summary);
    if (cli->line.json)
        out_json(cli, report);
    else
        json_decref(report);
    AUTO(buf_release) struct buf page = {0};
    if (cli->html)
        status_page(&work, &standings, &page);
    if (cli->html && page.failed)
        return error_memory(err);
    return cli->html ? qs_file_replace(cli->html, page.data, page.len, NULL, err) : QS_OK;
}
