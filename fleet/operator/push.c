/* SPDX-License-Identifier: Apache-2.0 */
/* verify and push: what a machine would check, then documents first and the head last. */
#include "base/cleanup.h"
#include "base/error.h"
#include "fleet/machine/machine.h"
#include "fleet/operator/work.h"

#include <stdio.h>
#include <string.h>

static enum qs_status read_with_signature(const struct work *work, const char *name, size_t max, struct buf *text,
                                          struct buf *signature, struct qs_error *err)
{
    char other[DOCUMENT_NAME_BYTES + 16];
    (void)snprintf(other, sizeof other, "%s.minisig", name);
    enum qs_status status = work_read(work, name, max, text, err);
    if (!status && (status = work_read(work, other, MINISIG_FILE_MAX_BYTES, signature, err)) == QS_NOT_FOUND)
        error_add_advice(err, "sign it: minisign -S -s SECRETKEY -m %s", name);
    return status;
}

static enum qs_status verify_keys(const struct work *work, struct key_document *ret_keys, struct qs_error *err)
{
    char name[DOCUMENT_NAME_BYTES];
    enum qs_status status = QS_OK;
    for (uint64_t version = 1; version <= work->keys_version && !status; version++) {
        AUTO(buf_release) struct buf text = {0};
        AUTO(buf_release) struct buf signature = {0};
        struct key_document next;
        document_name_format(&(struct document_name){DOCUMENT_KEYS, {version, 0}}, name);
        if (version == 1) { /* believed because it was put on the machines */
            status = work_read(work, name, FLEET_KEYS_MAX_BYTES, &text, err);
            if (!status)
                status = key_document_parse(buf_bytes(&text), &next, err);
        } else {
            status = read_with_signature(work, name, FLEET_KEYS_MAX_BYTES, &text, &signature, err);
            if (!status)
                status = next_keys_verify(ret_keys, buf_bytes(&text), buf_bytes(&signature), &next, err);
        }
        if (!status)
            *ret_keys = next;
    }
    if (status)
        error_add_file(err, name);
    return status;
}

enum qs_status work_verify(const struct work *work, struct key_document *ret_keys, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    AUTO(buf_release) struct buf signature = {0};
    AUTO(bundle_release) struct bundle bundle = {0};
    char name[DOCUMENT_NAME_BYTES];
    const struct seen none = {0};
    struct seen next;
    bool behind;
    enum qs_status status = verify_keys(work, ret_keys, err);
    if (!status && !work->has_newest)
        return error_set(err, QS_ABSENT, "there is no bundle in %s yet", work->dir);
    document_name_format(&(struct document_name){DOCUMENT_BUNDLE, work->newest}, name);
    if (!status)
        status = read_with_signature(work, name, FLEET_BUNDLE_MAX_BYTES, &text, &signature, err);
    if (!status)
        status = bundle_verify(ret_keys, buf_bytes(&text), buf_bytes(&signature), &bundle, NULL, err);
    if (!status)
        status = decide_bundle(&none, ret_keys, &bundle, clock_now(), &next, &behind, err);
    if (!status && fleet_order_compare(bundle.order, work->newest) != 0)
        status = error_set(err, QS_INVALID, "the file's name says another bundle than its text");
    if (status)
        error_add_file(err, name);
    return status;
}

/* ---- push ---- */

static enum qs_status put_document(const struct work *work, struct carrier *carrier,
                                   const struct document_name *document, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    char name[DOCUMENT_NAME_BYTES], signature[DOCUMENT_NAME_BYTES + 16];
    document_name_format(document, name);
    (void)snprintf(signature, sizeof signature, "%s.minisig", name);
    enum qs_status status = work_read(work, signature, MINISIG_FILE_MAX_BYTES, &text, err);
    bool unsigned_first = status == QS_NOT_FOUND && document->kind == DOCUMENT_KEYS && document->order.keys == 1;
    if (!status)
        status = carrier->row->put(carrier, signature, buf_bytes(&text), (struct qs_bytes){NULL, 0}, err);
    if (status && !unsigned_first)
        return status;
    status = work_read(work, name, FLEET_BUNDLE_MAX_BYTES, &text, err);
    return status ? status : carrier->row->put(carrier, name, buf_bytes(&text), (struct qs_bytes){NULL, 0}, err);
}

static enum qs_status put_documents(const struct work *work, struct carrier *carrier, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (uint64_t version = 1; version <= work->keys_version && !status; version++)
        status = put_document(work, carrier, &(struct document_name){DOCUMENT_KEYS, {version, 0}}, err);
    if (!status && work->bundle.has_base)
        status = put_document(work, carrier, &(struct document_name){DOCUMENT_BUNDLE, work->bundle.base}, err);
    return status ? status : put_document(work, carrier, &(struct document_name){DOCUMENT_BUNDLE, work->newest}, err);
}

/* Is this what the newest bundle was built on? With new keys the carrier's serials count no more. */
static bool is_predecessor(struct fleet_order head, struct fleet_order newest)
{
    return head.keys < newest.keys || (head.keys == newest.keys && head.serial + 1 == newest.serial);
}

static enum qs_status read_head(struct carrier *carrier, struct buf *text, struct head *head, struct qs_error *err)
{
    enum qs_status status = carrier->row->head(carrier, text, err);
    if (status == QS_NOT_FOUND) {
        buf_release(text);
        return QS_OK;
    }
    return status ? status : head_parse(buf_bytes(text), head, err);
}

static enum qs_status put_head(const struct work *work, struct carrier *carrier, const struct buf *before,
                               struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    AUTO(buf_release) struct buf now = {0};
    head_format(&(struct head){work->newest}, &text);
    enum qs_status status = QS_BUSY;
    /* After a timeout nobody knows: it is tried again only while the head is still the old one. */
    for (int tries = 0; tries < 3 && status == QS_BUSY; tries++) {
        struct head head = {0};
        status =
            carrier->row->put(carrier, HEAD_NAME, buf_bytes(&text), (struct qs_bytes){before->data, before->len}, err);
        if (status != QS_BUSY || read_head(carrier, &now, &head, NULL))
            continue;
        if (!fleet_order_compare(head.order, work->newest))
            return QS_OK;
    }
    return status;
}

enum qs_status work_push(const struct work *work, bool *ret_pushed, struct qs_error *err)
{
    AUTO(carrier_close) struct carrier *carrier = NULL;
    AUTO(buf_release) struct buf before = {0};
    struct key_document keys;
    struct head head = {0};
    *ret_pushed = false;
    enum qs_status status = work_verify(work, &keys, err);
    if (!status)
        status = work_carrier(work, &carrier, err);
    if (!status)
        status = read_head(carrier, &before, &head, err);
    if (status || (before.data && !fleet_order_compare(head.order, work->newest)))
        return status;
    if (before.data && !is_predecessor(head.order, work->newest)) {
        status = error_set(err, QS_CONFLICT, "the carrier is at bundle %llu-%llu, after which %llu-%llu does not come",
                           (unsigned long long)head.order.keys, (unsigned long long)head.order.serial,
                           (unsigned long long)work->newest.keys, (unsigned long long)work->newest.serial);
        error_add_advice(err, "somebody else has pushed: bring the work directory up to date, and build again");
        return status;
    }
    status = put_documents(work, carrier, err);
    if (!status)
        status = put_head(work, carrier, &before, err);
    *ret_pushed = !status;
    return status;
}
