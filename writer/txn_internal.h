/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room writer/: How does a change become durable?
 *
 * Transactions, inside view.
 *
 *            begin                    commit
 *   (none) ────────> open: lock held ────────> ended: lock given back, memory stays until free
 *                     │ base verified   abort
 *                     └────────────────────────> ended
 */
#ifndef WRITER_TXN_INTERNAL_H
#define WRITER_TXN_INTERNAL_H

#include "store/history_codec.h"
#include "store/overlay.h"
#include "store/snapshot.h"
#include "writer/writer_open.h"

struct qs_txn {
    struct store_dir dir; /* a copy, so that the handle may be closed first */
    pid_t owner;
    bool open;
    struct writer writer;
    struct env_cache *env; /* the store handle's */
    struct qs_snapshot *base;
    struct overlay areas[AREA_COUNT];
    uint32_t flags;
    bool note;       /* a record is made though nothing changes */
    bool fleet;      /* qfleet's: may change what a fleet owns, and the key fleet */
    unsigned action; /* enum history_action */
    struct qs_change *changes;
    size_t change_count;
};

/* Errors with QS_USAGE unless txn is open and this process began it. */
enum qs_status txn_check_open(const struct qs_txn *txn, struct qs_error *err) QS_MUST_USE;

/* Registers, changes or (value.data NULL) removes a publish target. key: 1 to QS_KEY_MAX_BYTES bytes. */
enum qs_status txn_put_target(struct qs_txn *txn, struct qs_bytes key, struct qs_bytes value,
                              struct qs_error *err) QS_MUST_USE;

/* Refuses changes of what a fleet owns, unless they are qfleet's or the glass is broken; and of the key fleet always
 * (kept: the caller leaves the store's as it is, whatever the changes list). base NULL: the store is damaged, and
 * require-serial says whether it is owned. Errors: QS_CONFLICT. */
enum qs_status txn_check_fleet(const struct store_dir *dir, const struct qs_snapshot *base,
                               const struct qs_change *changes, size_t count, bool kept,
                               struct qs_error *err) QS_MUST_USE;

/* Makes settings and locks those of content; the key fleet stays as it is. */
enum qs_status txn_become(struct qs_txn *txn, const struct qs_snapshot *content, struct qs_error *err) QS_MUST_USE;

/* The content as it would be, of one area: items are heap memory of the caller, bytes borrowed. */
enum qs_status txn_content(const struct qs_txn *txn, enum store_area area, struct entry_list *ret_list,
                           struct qs_error *err) QS_MUST_USE;

#endif
