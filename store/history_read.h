/* SPDX-License-Identifier: Apache-2.0 */
/* The history of one generation in memory: chunks by record, decoded on demand; what writers and readers of it share.
 */
#ifndef STORE_HISTORY_READ_H
#define STORE_HISTORY_READ_H

#include "store/history_codec.h"
#include "store/snapshot.h"

struct history_slot {
    uint64_t generation;
    size_t first_chunk, chunk_count;
};

/* Collects the history tree's entries in order; its visit and restart fit snapshot_read. */
struct history_pages {
    struct qs_bytes *chunks;
    size_t chunk_count, chunk_cap;
    struct history_slot *slots;
    size_t slot_count, slot_cap;
};
enum qs_status history_visit(void *pages, const struct node *node, struct qs_error *err) QS_MUST_USE;
void history_restart(void *pages);
void history_pages_release(struct history_pages *pages);

struct qs_history {
    struct qs_snapshot *snapshot;
    struct history_pages pages;
    struct buf bytes; /* of the current record */
    struct history_record current;
    bool given;             /* current was handed out by qs_history_record */
    struct qs_change shown; /* by qs_history_change */
};

/* Takes over snapshot and pages (both emptied). Checks the newest record against the meta record. */
enum qs_status history_make(struct qs_snapshot **snapshot, struct history_pages *pages, struct qs_history **ret_history,
                            struct qs_error *err) QS_MUST_USE;

void history_release(struct qs_history **history); /* for AUTO(history_release) */

/* Decodes record index into history->current. */
enum qs_status history_load(struct qs_history *history, size_t index, struct qs_error *err) QS_MUST_USE;

/* The history in a file that is no scope's store (a backup); fd stays the caller's, name is for messages. */
enum qs_status history_open_file(int fd, const char *name, struct qs_history **ret_history,
                                 struct qs_error *err) QS_MUST_USE;

#endif
