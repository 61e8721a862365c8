/* SPDX-License-Identifier: Apache-2.0 */
/* Commit: the change list, the history record, the LMDB transaction, and the word on what is stored now. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "schema/schema.h"
#include "store/env.h"
#include "writer/history_build.h"
#include "writer/txn_internal.h"

#include <string.h>

/* ---- the change list ---- */

static bool same(struct qs_bytes a, struct qs_bytes b)
{
    return a.data && b.data ? a.len == b.len && memcmp(a.data, b.data, a.len) == 0 : !a.data && !b.data;
}

static struct qs_bytes truth(bool value)
{
    return value ? (struct qs_bytes){"true", 4} : (struct qs_bytes){"false", 5};
}

static void list_changes(struct qs_txn *txn)
{
    size_t count = 0;
    for (int area = 0; area < AREA_COUNT; area++) {
        const struct entry_list *base = &txn->base->areas[area];
        for (size_t i = 0; i < txn->areas[area].count; i++) {
            const struct leaf *item = &txn->areas[area].items[i];
            size_t at = snapshot_find(base, item->key.data, item->key.len);
            struct qs_bytes old_value = at == SIZE_MAX ? (struct qs_bytes){NULL, 0} : base->items[at].value;
            if (!same(old_value, item->value))
                txn->changes[count++] = (struct qs_change){.area = (enum qs_area)(QS_AREA_SETTINGS + area),
                                                           .key = item->key,
                                                           .old_value = old_value,
                                                           .new_value = item->value};
        }
    }
    uint32_t flipped = (txn->flags ^ txn->base->record.flags) & META_RECORD_REQUIRE_POLICY;
    if (flipped)
        txn->changes[count++] = (struct qs_change){.area = QS_AREA_FLAGS,
                                                   .key = {"requirePolicy", 13},
                                                   .old_value = truth(!(txn->flags & META_RECORD_REQUIRE_POLICY)),
                                                   .new_value = truth(txn->flags & META_RECORD_REQUIRE_POLICY)};
    txn->change_count = count;
}

enum qs_status qs_txn_changes(struct qs_txn *txn, size_t *ret_count, struct qs_error *err)
{
    if (!txn || !ret_count)
        return error_misuse(err, __func__);
    if (txn->open) {
        size_t most = 1;
        for (int area = 0; area < AREA_COUNT; area++)
            most += txn->areas[area].count;
        struct qs_change *changes = realloc(txn->changes, most * sizeof *changes);
        if (!changes)
            return error_memory(err);
        txn->changes = changes;
        list_changes(txn);
    }
    *ret_count = txn->change_count;
    return QS_OK;
}

const struct qs_change *qs_txn_change(const struct qs_txn *txn, size_t index)
{
    return txn && index < txn->change_count ? &txn->changes[index] : NULL;
}

/* ---- what goes into LMDB ---- */

struct commit {
    struct qs_txn *txn;
    struct entry_list content[AREA_COUNT];
    struct meta_record record;
    struct history_chunks chunks;
    struct env_op *ops;
    size_t op_count;
};

static void commit_release(struct commit *c)
{
    for (int i = 0; i < AREA_COUNT; i++)
        free(c->content[i].items);
    history_chunks_release(&c->chunks);
    free(c->ops);
}

static enum qs_status check_content(const struct commit *c, struct qs_error *err)
{
    static const struct {
        size_t most;
        const char *what;
    } limits[AREA_COUNT] = {{QS_SETTINGS_MAX_ENTRIES, "settings"},
                            {QS_LOCKS_MAX_ENTRIES, "locks"},
                            {QS_TARGETS_MAX_ENTRIES, "published files"}};
    const struct entry_list *settings = &c->content[AREA_SETTINGS];
    for (int i = 0; i < AREA_COUNT; i++)
        if (c->content[i].count > limits[i].most)
            return error_set(err, QS_INVALID, "the scope would have %zu %s; the limit is %zu", c->content[i].count,
                             limits[i].what, limits[i].most);
    return schema_check_leaves(settings->items, settings->count, NULL, schema_flags_of(c->txn->dir.scope), err);
}

/* Up to the first change the settings are the base's, and so is what their digest begins with. */
static void set_content_digest(struct commit *c)
{
    const struct qs_txn *txn = c->txn;
    const struct entry_list *base = &txn->base->areas[AREA_SETTINGS];
    size_t same = base->count;
    if (txn->change_count && txn->changes[0].area == QS_AREA_SETTINGS)
        same = snapshot_find(base, txn->changes[0].key.data, txn->changes[0].key.len);
    if (same == SIZE_MAX || !txn->base->marks) /* a new key: there is one setting more, or others are gone */
        content_digest(c->content, c->record.content);
    else
        content_digest_again(c->content, txn->base->marks, same, c->record.content);
}

static enum qs_status make_record(struct commit *c, const struct qs_commit_options *options, struct qs_error *err)
{
    const struct meta_record *base = &c->txn->base->record;
    struct history_entry entry = {.action = c->txn->action,
                                  .previous = base->newest_history,
                                  .program = options->program,
                                  .message = options->message,
                                  .changes = c->txn->changes,
                                  .change_count = c->txn->change_count};
    c->record = *base;
    c->record.flags = c->txn->flags;
    c->record.generation = base->generation + 1;
    c->record.txn_id = c->txn->base->meta.txn_id + 1;
    c->record.history_count = base->history_count + 1;
    for (int i = 0; i < AREA_COUNT; i++)
        c->record.counts[i] = c->content[i].count;
    set_content_digest(c);
    return history_build(&c->record, &entry, &c->chunks, err);
}

static enum qs_status make_ops(struct commit *c, uint8_t record_bytes[META_RECORD_BYTES], struct qs_error *err)
{
    static const enum store_db area_dbs[AREA_COUNT] = {DB_SETTINGS, DB_LOCKS, DB_TARGETS};
    c->ops = malloc((c->chunks.count + c->txn->change_count + 1) * sizeof *c->ops);
    if (!c->ops)
        return error_memory(err);
    for (size_t i = 0; i < c->chunks.count; i++)
        c->ops[c->op_count++] = (struct env_op){DB_HISTORY, c->chunks.items[i].key, c->chunks.items[i].value};
    for (size_t i = 0; i < c->txn->change_count; i++) {
        const struct qs_change *change = &c->txn->changes[i];
        if (change->area != QS_AREA_FLAGS)
            c->ops[c->op_count++] =
                (struct env_op){area_dbs[change->area - QS_AREA_SETTINGS], change->key, change->new_value};
    }
    meta_record_encode(&c->record, record_bytes);
    c->ops[c->op_count++] =
        (struct env_op){DB_META, {META_RECORD_KEY, sizeof META_RECORD_KEY - 1}, {record_bytes, META_RECORD_BYTES}};
    return QS_OK;
}

/* A failed commit's message says what is stored now, which is found out by reading it. */
static void say_what_is_stored(const struct commit *c, enum env_outcome outcome, struct qs_error *err)
{
    AUTO(snapshot_release) struct qs_snapshot *now = NULL;
    unsigned long long old = c->txn->base->record.generation;
    if (outcome != ENV_OLD &&
        verified_read(c->txn->writer.data_fd, &(struct verified_read){.slot = SLOT_NEWER}, &now, NULL) == QS_OK)
        outcome = now->record.generation == old ? ENV_OLD : ENV_NEW;
    switch (outcome) {
    case ENV_OLD:
        error_add_advice(err, "nothing was changed: the store holds generation %llu", old);
        break;
    case ENV_NEW:
        error_add_advice(err,
                         "the disk fails: the store holds the new generation %llu, which may not survive a power cut",
                         old + 1);
        break;
    case ENV_DAMAGED:
        error_add_advice(err,
                         "the disk fails: the store could not be put back to generation %llu; run 'qsettings fsck'",
                         old);
        break;
    }
    error_add_file(err, c->txn->dir.path);
}

static enum qs_status run_commit(struct commit *c, const struct qs_commit_options *options, struct qs_error *err)
{
    uint8_t record_bytes[META_RECORD_BYTES];
    enum env_outcome outcome = ENV_OLD;
    enum qs_status status = QS_OK;
    for (int i = 0; i < AREA_COUNT && !status; i++)
        status = txn_content(c->txn, (enum store_area)i, &c->content[i], err);
    if (status)
        return status;
    status = check_content(c, err);
    if (status)
        return status;
    status = make_record(c, options, err);
    if (status)
        return status;
    status = make_ops(c, record_bytes, err);
    if (status)
        return status;
    status = env_commit(c->txn->env, c->txn->writer.data_fd, &c->txn->base->meta, c->ops, c->op_count, &outcome, err);
    if (status)
        say_what_is_stored(c, outcome, err);
    return status;
}

static enum qs_status check_generation(const struct qs_txn *txn, uint64_t expected, struct qs_error *err)
{
    uint64_t now = txn->base->record.generation;
    if (!expected || expected == now)
        return QS_OK;
    error_set(err, QS_CONFLICT, "the store is at generation %llu, not %llu", (unsigned long long)now,
              (unsigned long long)expected);
    error_add_file(err, txn->dir.path);
    error_add_advice(err, "look at what changed with 'qsettings log', then try again");
    return QS_CONFLICT;
}

static enum qs_status commit_changes(struct qs_txn *txn, const struct qs_commit_options *options,
                                     struct qs_commit_info *ret_info, struct qs_error *err)
{
    AUTO(commit_release) struct commit c = {.txn = txn};
    size_t count = 0;
    enum qs_status status = check_generation(txn, options->if_generation, err);
    if (status)
        return status;
    status = qs_txn_changes(txn, &count, err);
    if (status)
        return status;
    status = txn->fleet ? QS_OK : txn_check_fleet(&txn->dir, txn->base, txn->changes, count, false, err);
    if (status)
        return status;
    bool commits = count || txn->note;
    status = commits ? run_commit(&c, options, err) : QS_OK;
    if (status)
        return status;
    struct qs_commit_info info = history_commit_info(commits ? &c.record : &txn->base->record, count);
    sized_give(ret_info, &info, sizeof info);
    return QS_OK;
}

enum qs_status qs_txn_commit(struct qs_txn *txn, const struct qs_commit_options *options,
                             struct qs_commit_info *ret_info, struct qs_error *err)
{
    struct qs_commit_options own;
    enum qs_status status = txn_check_open(txn, err);
    if (status)
        return status;
    status = SIZED_TAKE(options, own, program, err);
    if (!status)
        status = history_check_info(ret_info, __func__, err);
    if (!status)
        status = commit_changes(txn, &own, ret_info, err);
    qs_txn_abort(txn); /* gives the lock back; what was committed stays */
    return status;
}
