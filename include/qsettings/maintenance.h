/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maintenance of stores: init, fsck, repair, compact, backup, restore, purge.
 *
 * Threads: as for stores. Every function here that writes takes the writer lock itself and leaves the old or the new
 * store, complete, after a crash at any moment.
 */
#ifndef QSETTINGS_MAINTENANCE_H
#define QSETTINGS_MAINTENANCE_H

#include "qsettings/history.h"

#ifdef __cplusplus
extern "C" {
#endif

struct qs_init_options {
    size_t size;
    bool require_policy;   /* the store carries require-policy */
    bool no_require_store; /* system scope: leave the require-system file out */
    const char *message;
};

/* Creates the scope's store with generation 1: built in a temporary sibling, flushed, renamed into place without
 * replacing, parent flushed. Missing parents are created (0755; user scope 0700).
 * Errors: QS_CONFLICT (exists), QS_UNTRUSTED, QS_IO. options may be NULL. */
QS_API enum qs_status qs_store_init(struct qs_store *store, const struct qs_init_options *options,
                                    struct qs_error *err) QS_MUST_USE;

/* The require-system file beside the scopes (system scope only): set or removed durably. */
QS_API enum qs_status qs_store_require(struct qs_store *store, bool required, struct qs_error *err) QS_MUST_USE;
QS_API enum qs_status qs_store_is_required(struct qs_store *store, bool *ret_required,
                                           struct qs_error *err) QS_MUST_USE;

struct qs_fsck_report {
    size_t size;
    uint64_t generation, txn_id;
    uint64_t pages, free_pages; /* pages in use by trees and metas; pages listed free */
    uint64_t entries;           /* settings */
    uint64_t records;           /* history */
    unsigned char digest[QS_DIGEST_BYTES];
};

/* Verifies everything: settings, locks, targets, free pages, every history page and record, the chain. Lock-free;
 * retries while writers move on. Errors: as qs_history_open and qs_history_check. */
QS_API enum qs_status qs_store_fsck(struct qs_store *store, struct qs_fsck_report *ret_report,
                                    struct qs_error *err) QS_MUST_USE;

/* Allocated by the library. */
struct qs_repair_report {
    bool healthy;                   /* nothing to repair */
    uint64_t generation;            /* the newest that verifies */
    uint64_t newest_known;          /* the newest that any meta or record names, 0 if none */
    uint64_t records, lost_records; /* history records that verify; those known to be lost */
    uint64_t new_generation;        /* with apply: the generation the store continues at */
    const char *kept_aside;         /* with apply: file name of the damaged file, beside data.mdb; else NULL */
    const struct qs_error *damage;  /* what is wrong with the store as it is; NULL if it is healthy */
};

/* Looks for the newest generation that verifies, and with apply goes back to it: a new file is built from it, the
 * damaged one kept aside. Ownership: the caller frees with qs_repair_report_free. Errors: QS_DAMAGED (no generation
 * verifies: restore a backup), and those of writing. */
QS_API enum qs_status qs_store_repair(struct qs_store *store, bool apply, unsigned wait_ms,
                                      struct qs_repair_report **ret_report, struct qs_error *err) QS_MUST_USE;
QS_API void qs_repair_report_free(struct qs_repair_report *report);

/* Rebuilds the file without free pages, at the same generation. */
QS_API enum qs_status qs_store_compact(struct qs_store *store, unsigned wait_ms, struct qs_error *err) QS_MUST_USE;

/* Writes the newest generation with its history to a new file (not replaced if it exists unless replace). The file is a
 * store file by itself, mode 0600. Takes no lock. */
QS_API enum qs_status qs_store_backup(struct qs_store *store, const char *file, bool replace,
                                      struct qs_error *err) QS_MUST_USE;

/* Replaces the store's content by a backup's, as a new generation: highest known + 1. The present history is kept where
 * it verifies and belongs to the same store id, else the backup's. The store must exist (damaged is fine). */
QS_API enum qs_status qs_store_restore(struct qs_store *store, const char *file, unsigned wait_ms,
                                       struct qs_commit_info *ret_info, struct qs_error *err) QS_MUST_USE;

/* Takes a key's subtree out of settings and, in every history record, its old and new values; the records keep the
 * values' digests, so the chain still verifies. The file is rebuilt so that no free page keeps a copy. */
QS_API enum qs_status qs_store_purge(struct qs_store *store, const char *key, const char *message, unsigned wait_ms,
                                     struct qs_commit_info *ret_info, struct qs_error *err) QS_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
