/* SPDX-License-Identifier: Apache-2.0 */
/* Steps on a scratch store, and looking at it. */
#include "stress/ways/store_steps.h"

#include <stdio.h>
#include <string.h>

static void close_store(struct qs_store **store)
{
    qs_store_close(*store);
}

static void free_txn(struct qs_txn **txn)
{
    qs_txn_free(*txn);
}

#define AUTO_STORE __attribute__((cleanup(close_store)))
#define AUTO_TXN   __attribute__((cleanup(free_txn)))

static enum qs_status open_at(const char *root, struct qs_store **ret_store, struct qs_error *err)
{
    return qs_store_open(QS_SCOPE_SYSTEM,
                         &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = root}, ret_store,
                         err);
}

static struct document numbered(uint64_t number)
{
    return (struct document){.generation = number, .writer = 0, .counters = {number}};
}

void steps_document(uint64_t number, struct buf *out)
{
    struct document document = numbered(number);
    document_write(&document, STEPS_SHAPE, out);
}

enum qs_status steps_init(const char *root, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    enum qs_status status = open_at(root, &store, err);
    return status ? status : qs_store_init(store, NULL, err);
}

static enum qs_status put_document(struct qs_txn *txn, uint64_t number, bool by_set, struct qs_error *err)
{
    struct document document = numbered(number);
    struct buf text = {0}, values = {0};
    enum qs_status status = QS_OK;
    if (by_set) {
        document_write_counters(&document, STEPS_SHAPE, &text);
        document_write_values(&document, STEPS_SHAPE, &values);
        status = qs_txn_set(txn, "counters", text.data, text.len, err);
        if (!status)
            status = qs_txn_set(txn, "values", values.data, values.len, err);
    } else {
        document_write(&document, STEPS_SHAPE, &text);
        status = qs_txn_apply(txn, "document.json", text.data, text.len, QS_FORMAT_JSON, false, err);
    }
    buf_release(&text);
    buf_release(&values);
    return status;
}

static enum qs_status save(const char *root, uint64_t number, unsigned wait_ms, bool by_set, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO_TXN struct qs_txn *txn = NULL;
    struct qs_commit_info info = {.size = sizeof info};
    enum qs_status status = open_at(root, &store, err);
    if (!status)
        status = qs_txn_begin(store, wait_ms, &txn, err);
    if (!status)
        status = put_document(txn, number, by_set, err);
    if (!status)
        status = qs_txn_commit(txn, NULL, &info, err);
    return status;
}

enum qs_status steps_apply(const char *root, uint64_t number, unsigned wait_ms, struct qs_error *err)
{
    return save(root, number, wait_ms, false, err);
}

enum qs_status steps_set(const char *root, uint64_t number, unsigned wait_ms, struct qs_error *err)
{
    return save(root, number, wait_ms, true, err);
}

enum qs_status steps_rollback(const char *root, uint64_t generation, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO_TXN struct qs_txn *txn = NULL;
    struct qs_commit_info info = {.size = sizeof info};
    enum qs_status status = open_at(root, &store, err);
    if (!status)
        status = qs_txn_begin(store, QS_DEFAULT_WAIT_MS, &txn, err);
    if (!status)
        status = qs_txn_rollback(txn, generation, err);
    if (!status)
        status = qs_txn_commit(txn, NULL, &info, err);
    return status;
}

enum qs_status steps_compact(const char *root, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    enum qs_status status = open_at(root, &store, err);
    return status ? status : qs_store_compact(store, QS_DEFAULT_WAIT_MS, err);
}

enum qs_status steps_backup(const char *root, const char *file, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    enum qs_status status = open_at(root, &store, err);
    return status ? status : qs_store_backup(store, file, true, err);
}

enum qs_status steps_restore(const char *root, const char *file, struct qs_error *err)
{
    AUTO_STORE struct qs_store *store = NULL;
    struct qs_commit_info info = {.size = sizeof info};
    enum qs_status status = open_at(root, &store, err);
    return status ? status : qs_store_restore(store, file, QS_DEFAULT_WAIT_MS, &info, err);
}

/* ---- looking ---- */

static void fault(struct steps_look *look, enum qs_status status, const char *what, const char *detail)
{
    look->status = status;
    (void)snprintf(look->why, sizeof look->why, "%s%s%.200s", what, detail[0] ? ": " : "", detail);
}

bool steps_read_document(const struct qs_snapshot *snapshot, struct document_shape shape,
                         struct document_reader *reader)
{
    struct qs_iter iter = qs_snapshot_iter(snapshot, NULL);
    struct qs_bytes key;
    struct qs_bytes value;
    document_read_begin(reader, shape);
    while (qs_iter_next(&iter, &key, &value)) {
        const char *zero = memchr(key.data, '\0', key.len);
        const char *text = value.data;
        const char *name = zero ? zero + 1 : "";
        size_t name_len = zero ? (size_t)((const char *)key.data + key.len - name) : 0;
        bool string = value.len >= 2 && text[0] == '"' && text[value.len - 1] == '"';
        document_read_entry(reader, name, name_len, string ? text + 1 : "", string ? value.len - 2 : 0);
    }
    return document_read_end(reader);
}

static void read_document(const struct qs_snapshot *snapshot, struct steps_look *look)
{
    struct document_reader reader;
    if (!steps_read_document(snapshot, STEPS_SHAPE, &reader)) {
        look->torn = true;
        (void)snprintf(look->why, sizeof look->why, "%.200s", reader.reason);
    }
    look->number = reader.document.generation;
}

/* Looks on a handle that is open already (no fsck). */
static void look_at_open(struct qs_store *store, struct steps_look *ret_look)
{
    struct qs_error err = {0};
    struct qs_snapshot *snapshot = NULL;
    struct steps_look look = {.status = qs_snapshot_take(store, &snapshot, &err)};
    if (look.status) {
        fault(&look, look.status, qs_status_name(look.status), err.message);
    } else {
        look.generation = qs_snapshot_generation(snapshot);
        if (qs_snapshot_count(snapshot))
            read_document(snapshot, &look);
    }
    qs_snapshot_unref(snapshot);
    *ret_look = look;
}

/* Everything that fsck knows must agree with what the reader saw. */
static void look_deeper(struct qs_store *store, enum steps_depth depth, struct steps_look *look)
{
    struct qs_error err = {0};
    struct qs_fsck_report fsck = {.size = sizeof fsck};
    char detail[128];
    enum qs_status status = qs_store_fsck(store, &fsck, &err);
    if (status) {
        fault(look, status, "fsck", err.message);
    } else if (fsck.generation != look->generation || (depth == STEPS_HISTORY && fsck.records != fsck.generation)) {
        (void)snprintf(detail, sizeof detail, "generation %llu with %llu history records, the reader saw %llu",
                       (unsigned long long)fsck.generation, (unsigned long long)fsck.records,
                       (unsigned long long)look->generation);
        fault(look, QS_DAMAGED, "fsck", detail);
    }
}

void steps_look(const char *root, enum steps_depth depth, struct steps_look *ret_look)
{
    AUTO_STORE struct qs_store *store = NULL;
    struct qs_error err = {0};
    enum qs_status status = open_at(root, &store, &err);
    *ret_look = (struct steps_look){0};
    if (status) {
        fault(ret_look, status, "open", err.message);
        return;
    }
    look_at_open(store, ret_look);
    if (depth != STEPS_READ && !ret_look->status)
        look_deeper(store, depth, ret_look);
}
