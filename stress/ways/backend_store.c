/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of this project as a backend, through the public library alone: a writer's change is one transaction, a
 * read is one snapshot, of which every leaf is looked at. That the generation in the values is the store's own is
 * checked too.
 */
#include "stress/ways/backend.h"
#include "stress/ways/store_steps.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct store_client {
    struct document_shape shape;
    struct qs_store *store;
};

static void told(char *reason, const struct qs_error *err)
{
    (void)snprintf(reason, STRESS_REASON_BYTES, "%s: %.150s", qs_status_name(err->status), err->message);
}

static enum qs_status open_store(const struct backend_config *config, struct qs_store **ret_store, struct qs_error *err)
{
    return qs_store_open(QS_SCOPE_SYSTEM,
                         &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = config->dir},
                         ret_store, err);
}

/* The document becomes the store's content. */
static enum qs_status put(struct qs_txn *txn, const struct document *document, struct document_shape shape,
                          struct qs_error *err)
{
    struct buf counters = {0};
    struct buf values = {0};
    document_write_counters(document, shape, &counters);
    document_write_values(document, shape, &values);
    enum qs_status status = counters.failed || values.failed ? error_memory(err) : QS_OK;
    if (!status && shape.writers)
        status = qs_txn_set(txn, "counters", counters.data, counters.len, err);
    if (!status)
        status = qs_txn_set(txn, "values", values.data, values.len, err);
    buf_release(&counters);
    buf_release(&values);
    return status;
}

static bool store_prepare(const struct backend_config *config, char *reason)
{
    struct qs_error err = {0};
    struct qs_store *store = NULL;
    struct qs_txn *txn = NULL;
    struct qs_commit_info info = {.size = sizeof info};
    struct document first = {.generation = 2, .writer = DOCUMENT_NOBODY}; /* init made generation 1 */
    enum qs_status status = open_store(config, &store, &err);
    if (!status)
        status = qs_store_init(store, NULL, &err);
    if (!status)
        status = qs_txn_begin(store, QS_DEFAULT_WAIT_MS, &txn, &err);
    if (!status)
        status = put(txn, &first, config->shape, &err);
    if (!status)
        status = qs_txn_commit(txn, NULL, &info, &err);
    qs_txn_free(txn);
    qs_store_close(store);
    if (status)
        told(reason, &err);
    return status == QS_OK;
}

static void *store_open(const struct backend_config *config, char *reason)
{
    struct qs_error err = {0};
    struct store_client *client = calloc(1, sizeof *client);
    if (client && open_store(config, &client->store, &err) == QS_OK) {
        client->shape = config->shape;
        return client;
    }
    if (client)
        told(reason, &err);
    else
        (void)snprintf(reason, STRESS_REASON_BYTES, "out of memory");
    free(client);
    return NULL;
}

static void store_close(void *opened)
{
    struct store_client *client = opened;
    qs_store_close(client->store);
    free(client);
}

static enum verdict verdict_of(enum qs_status status)
{
    switch (status) {
    case QS_ABSENT:
    case QS_NO_POLICY:
    case QS_NOT_FOUND:
        return VERDICT_ABSENT;
    case QS_DAMAGED:
        return VERDICT_TORN;
    case QS_OK:
    case QS_USAGE:
    case QS_INVALID:
    case QS_UNTRUSTED:
    case QS_CONFLICT:
    case QS_BUSY:
    case QS_IO:
    case QS_FOLLOW_UP:
    case QS_STALE:
    case QS_NEWER:
        break;
    }
    return VERDICT_ERROR;
}

static void judge(const struct qs_snapshot *snapshot, struct document_shape shape, struct backend_look *look)
{
    struct document_reader reader;
    look->retries = qs_snapshot_retries(snapshot);
    if (!steps_read_document(snapshot, shape, &reader)) {
        look->verdict = VERDICT_TORN;
        memcpy(look->reason, reader.reason, sizeof look->reason);
    } else if (reader.document.generation != qs_snapshot_generation(snapshot)) {
        look->verdict = VERDICT_TORN;
        (void)snprintf(look->reason, sizeof look->reason, "values of generation %llu in generation %llu",
                       (unsigned long long)reader.document.generation,
                       (unsigned long long)qs_snapshot_generation(snapshot));
    } else {
        look->has_document = true;
        look->document = reader.document;
    }
}

static void store_look(void *opened, struct backend_look *ret_look)
{
    const struct store_client *client = opened;
    struct qs_error err = {0};
    struct qs_snapshot *snapshot = NULL;
    memset(ret_look, 0, sizeof *ret_look);
    enum qs_status status = qs_snapshot_take(client->store, &snapshot, &err);
    if (!status) {
        judge(snapshot, client->shape, ret_look);
    } else {
        ret_look->verdict = verdict_of(status);
        told(ret_look->reason, &err);
    }
    qs_snapshot_unref(snapshot);
}

/* Read-modify-write inside the transaction: what it reads is what it changes. */
static enum qs_status change(struct qs_txn *txn, struct document_shape shape, unsigned writer,
                             struct backend_save *save, struct qs_error *err)
{
    struct backend_look look = {0};
    struct qs_commit_info info = {.size = sizeof info};
    judge(qs_txn_base(txn), shape, &look);
    if (!look.has_document) {
        memcpy(save->reason, look.reason, sizeof save->reason);
        return QS_DAMAGED;
    }
    struct document next = look.document;
    save->has_seen = true;
    save->seen = next.counters[writer]++;
    next.writer = writer;
    next.generation++;
    enum qs_status status = put(txn, &next, shape, err);
    if (!status)
        status = qs_txn_commit(txn, NULL, &info, err);
    if (!status && info.generation != next.generation) {
        (void)snprintf(save->reason, sizeof save->reason, "the commit after generation %llu was named %llu",
                       (unsigned long long)look.document.generation, (unsigned long long)info.generation);
        return QS_CONFLICT;
    }
    save->generation = next.generation;
    save->acknowledged = status == QS_OK;
    return status;
}

static void store_save(void *opened, unsigned writer, struct backend_save *ret_save)
{
    const struct store_client *client = opened;
    struct qs_error err = {0};
    struct qs_txn *txn = NULL;
    memset(ret_save, 0, sizeof *ret_save);
    enum qs_status status = qs_txn_begin(client->store, QS_DEFAULT_WAIT_MS, &txn, &err);
    if (!status)
        status = change(txn, client->shape, writer, ret_save, &err);
    qs_txn_free(txn);
    if (status && !ret_save->reason[0])
        told(ret_save->reason, &err);
}

static void store_watched(const struct backend_config *config, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/system/data.mdb", config->dir);
}

const struct backend backend_qsettings = {"qsettings",   "the store: transactions, verified snapshots",
                                          store_prepare, store_open,
                                          store_look,    store_save,
                                          store_close,   store_watched};
