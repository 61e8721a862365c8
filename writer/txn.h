/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions, inside view.
 *
 *            begin                    commit
 *   (none) ────────> open: lock held ────────> ended: lock given back, memory stays until free
 *                     │ base verified   abort
 *                     └────────────────────────> ended
 */
#ifndef WRITER_TXN_H
#define WRITER_TXN_H

#include "store/journal.h"
#include "store/overlay.h"
#include "store/snapshot.h"
#include "writer/lock.h"

/* The store opened for writing: the lock, the verified directory and file, and the generation in it. */
struct hold {
    struct writer_lock lock;
    int dir_fd, data_fd;
};
#define HOLD_NONE ((struct hold){.lock = {.fd = -1}, .dir_fd = -1, .data_fd = -1})

/* Takes the lock of a store whose place is verified; removes what a killed writer left over. data_fd stays -1.
 * Errors: as qs_txn_begin but for damage. */
enum qs_status hold_take(const struct place *place, unsigned wait_ms, struct hold *hold,
                         struct qs_error *err) QS_MUST_USE;
/* Opens the data file read-write and verifies it with a writer's strictness. */
enum qs_status hold_read(const struct place *place, struct hold *hold, struct qs_snapshot **ret_base,
                         struct qs_error *err) QS_MUST_USE;
void hold_drop(struct hold *hold);

struct qs_txn {
    struct place place; /* a copy, so that the handle may be closed first */
    pid_t owner;
    bool open;
    struct hold hold;
    struct env_cache *env; /* the store handle's */
    struct qs_snapshot *base;
    struct overlay areas[AREA_COUNT];
    uint32_t flags;
    unsigned action; /* enum journal_action */
    struct qs_change *changes;
    size_t change_count;
};

/* Errors with QS_USAGE unless txn is open and this process began it. */
enum qs_status txn_check_open(const struct qs_txn *txn, struct qs_error *err) QS_MUST_USE;

/* Registers, changes or (value.data NULL) removes a publish target. key: 1 to QS_KEY_MAX_BYTES bytes. */
enum qs_status txn_put_target(struct qs_txn *txn, struct qs_bytes key, struct qs_bytes value,
                              struct qs_error *err) QS_MUST_USE;

/* Makes settings and locks those of content. */
enum qs_status txn_become(struct qs_txn *txn, const struct qs_snapshot *content, struct qs_error *err) QS_MUST_USE;

/* Merges leaves: objects deep, the rest replaced. */
enum qs_status txn_merge(struct qs_txn *txn, const struct leaves *leaves, struct qs_error *err) QS_MUST_USE;

/* Removes all of an area at and below key (root: all). */
enum qs_status txn_remove_subtree(struct qs_txn *txn, enum record_area area, const struct qs_key *key,
                                  struct qs_error *err) QS_MUST_USE;

/* The content as it would be, of one area: items are heap memory of the caller, bytes borrowed. */
enum qs_status txn_content(const struct qs_txn *txn, enum record_area area, struct entry_list *ret_list,
                           struct qs_error *err) QS_MUST_USE;

#endif
