/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history of one generation: records found and decoded when somebody asks for them; what writers and readers of it
 * share.
 *
 *   qs_history_open ──> settings and the way to the last record, under a reader's rules ──> the newest record, checked
 *   a record asked for ──> its chunks (history_tree.h) ──> decoded, its digest checked
 *      fault ──> has the file moved on so far that its pages may have other use? ──> looked up again in what stands now
 */
#ifndef STORE_HISTORY_READ_H
#define STORE_HISTORY_READ_H

#include "store/history_tree.h"

struct qs_history {
    int fd;                       /* owned */
    struct qs_snapshot *snapshot; /* the generation whose history it is */
    struct qs_snapshot *later;    /* NULL, or what the file was found to hold later: its tree is gone through then */
    struct history_tree tree;
    struct buf bytes; /* of the current record, */
    uint64_t chunks;  /* and of how many chunks they are */
    struct history_record current;
    size_t index;           /* of the current record; SIZE_MAX: not known */
    bool given;             /* current was handed out by qs_history_record */
    struct qs_change shown; /* the change that was handed out last */
};

/* Takes over fd and snapshot (both emptied), which was read with SNAPSHOT_HISTORY. Checks the newest record against the
 * meta record. */
enum qs_status history_make(int *fd, struct qs_snapshot **snapshot, struct qs_history **ret_history,
                            struct qs_error *err) QS_MUST_USE;
/* The same with nothing checked, for a file whose history may be damaged (repair). */
enum qs_status history_make_unchecked(int *fd, struct qs_snapshot **snapshot, struct qs_history **ret_history,
                                      struct qs_error *err) QS_MUST_USE;

void history_release(struct qs_history **history); /* for AUTO(history_release) */

/* Decodes the record of generation into history->current. Errors: QS_NOT_FOUND. */
enum qs_status history_load(struct qs_history *history, uint64_t generation, struct qs_error *err) QS_MUST_USE;

/* After a fault (*status is QS_DAMAGED): is it to be looked up again, in what the file holds now? Else *status is what
 * the fault is: damage, or QS_BUSY. */
bool history_look_again(struct qs_history *history, enum qs_status *status, struct qs_error *err);

/* The nearest generation with a record, after or before the given one; 0: there is none. */
enum qs_status history_after(struct qs_history *history, uint64_t generation, uint64_t *ret_generation,
                             struct qs_error *err) QS_MUST_USE;
enum qs_status history_before(struct qs_history *history, uint64_t generation, uint64_t *ret_generation,
                              struct qs_error *err) QS_MUST_USE;

/* The history in a file that is no scope's store (a backup); fd stays the caller's, name is for messages. */
enum qs_status history_open_file(int fd, const char *name, struct qs_history **ret_history,
                                 struct qs_error *err) QS_MUST_USE;

/* ---- looking through records without their values (history_scan.c) ---- */

struct change_head {
    enum qs_area area;
    struct qs_bytes key;
    bool old_there, new_there, old_purged;
};

/* Is it a change of this kind that is looked for? */
typedef bool (*history_match)(const void *context, const struct change_head *head);

/* The newest generation up to from with a change that matches; 0: none. What lies between is gone over, not verified:
 * history_load verifies the one that was found. */
enum qs_status history_search(struct qs_history *history, uint64_t from, history_match match, const void *context,
                              uint64_t *ret_generation, struct qs_error *err) QS_MUST_USE;

#endif
