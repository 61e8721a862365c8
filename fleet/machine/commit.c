/* SPDX-License-Identifier: Apache-2.0 */
/* Steps 6, 8 and 9: a bundle's content and the key fleet in one transaction, and then what reads demand. */
#include "base/cleanup.h"
#include "base/error.h"
#include "fleet/machine/machine.h"
#include "schema/schema.h"
#include "writer/txn_internal.h"

#include <stdio.h>
#include <string.h>

static void txn_release(struct qs_txn **txn)
{
    qs_txn_free(*txn);
}

static enum qs_status begin(struct machine *machine, struct qs_txn **ret_txn, struct qs_error *err)
{
    enum qs_status status = qs_txn_begin(machine->store, QS_DEFAULT_WAIT_MS, ret_txn, err);
    if (!status)
        (*ret_txn)->fleet = true;
    return status;
}

static enum qs_status finish(struct machine *machine, struct qs_txn *txn, const char *message, struct qs_error *err)
{
    const struct qs_commit_options options = {.size = sizeof options,
                                              .message = message,
                                              .if_generation = qs_snapshot_generation(machine->snapshot),
                                              .program = "qfleet"};
    return qs_txn_commit(txn, &options, NULL, err);
}

static enum qs_status replace_locks(struct qs_txn *txn, const struct leaves *locks, struct qs_error *err)
{
    const struct qs_snapshot *base = qs_txn_base(txn);
    char text[QS_KEY_TEXT_BYTES];
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < qs_snapshot_lock_count(base) && !status; i++) {
        struct qs_bytes key = qs_snapshot_lock_at(base, i);
        status = qs_txn_unlock(txn, qs_key_format(key.data, key.len, text, sizeof text), err);
    }
    for (size_t i = 0; i < locks->count && !status; i++)
        status =
            qs_txn_lock(txn, qs_key_format(locks->items[i].key.data, locks->items[i].key.len, text, sizeof text), err);
    return status;
}

static enum qs_status set_fleet(struct machine *machine, struct qs_txn *txn, const struct bundle *content,
                                struct qs_error *err)
{
    char text[512], digest[HEX_DIGEST_BYTES], of_content[HEX_DIGEST_BYTES];
    const struct bundle *bundle = &machine->bundle;
    hex_format(bundle->digest, QS_DIGEST_BYTES, digest);
    hex_format(content->content, QS_DIGEST_BYTES, of_content);
    int len =
        snprintf(text, sizeof text,
                 "{\"name\":\"%s\",\"keys\":%llu,\"serial\":%llu,\"bundle\":\"%s\",\"source\":%llu,\"content\":\"%s\"}",
                 bundle->fleet, (unsigned long long)bundle->order.keys, (unsigned long long)bundle->order.serial,
                 digest, (unsigned long long)content->order.serial, of_content);
    return qs_txn_set(txn, "fleet", text, (size_t)len, err);
}

static void make_message(const struct machine *machine, const struct bundle *content, struct buf *out)
{
    const char *separator = ", signed by ";
    char key[MINISIG_KEY_TEXT_BYTES];
    buf_printf(out, "fleet %s: bundle %llu-%llu", machine->bundle.fleet, (unsigned long long)machine->bundle.order.keys,
               (unsigned long long)machine->bundle.order.serial);
    if (content == &machine->base)
        buf_printf(out, ", its base %llu-%llu", (unsigned long long)content->order.keys,
                   (unsigned long long)content->order.serial);
    for (unsigned i = 0; i < machine->keys.bundle.count; i++) {
        if (!(machine->signers & 1u << i))
            continue;
        public_key_format(&machine->keys.bundle.keys[i], key);
        buf_printf(out, "%s%s", separator, key);
        separator = ", ";
    }
}

enum qs_status machine_commit(struct machine *machine, const struct bundle *content, struct qs_error *err)
{
    AUTO(txn_release) struct qs_txn *txn = NULL;
    AUTO(buf_release) struct buf message = {0};
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    enum qs_status status = schema_check_document(content->document, NULL, schema_flags_of(QS_SCOPE_SYSTEM), err);
    if (!status)
        status = value_encode_text(content->document, &text, &len, err);
    if (!status)
        status = begin(machine, &txn, err);
    if (!status)
        status = qs_txn_apply(txn, "bundle", text, len, QS_FORMAT_JSON, true, err);
    if (!status)
        status = replace_locks(txn, &content->locks, err);
    if (!status)
        status = set_fleet(machine, txn, content, err);
    make_message(machine, content, &message);
    if (!status)
        status = finish(machine, txn, message.failed ? NULL : message.data, err);
    if (!status)
        status = machine_read_store(machine, err);
    return status;
}

enum qs_status machine_disown(struct machine *machine, const char *message, struct qs_error *err)
{
    AUTO(txn_release) struct qs_txn *txn = NULL;
    enum qs_status status = begin(machine, &txn, err);
    if (!status)
        status = qs_txn_unset(txn, "fleet", err);
    if (status == QS_NOT_FOUND)
        return QS_OK;
    return status ? status : finish(machine, txn, message, err);
}

enum qs_status machine_note(struct machine *machine, const char *message, struct qs_error *err)
{
    AUTO(txn_release) struct qs_txn *txn = NULL;
    enum qs_status status = begin(machine, &txn, err);
    if (status)
        return status;
    txn->note = true;
    return finish(machine, txn, message, err);
}

enum qs_status machine_raise(struct machine *machine, struct qs_error *err)
{
    AUTO(buf_release) struct buf line = {0};
    const struct fleet_mark *mark = &machine->mark;
    if (strcmp(mark->fleet, machine->config.fleet) != 0 ||
        (!strcmp(mark->fleet, machine->demanded.fleet) &&
         fleet_order_compare(mark->order, machine->demanded.order) <= 0))
        return QS_OK;
    mark_format(mark, &line);
    enum qs_status status = site_write(&machine->site, SITE_ETC, FLEET_SERIAL_FILE, 0644, buf_bytes(&line), err);
    if (!status)
        machine->demanded = *mark;
    return status;
}
