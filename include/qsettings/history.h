/* SPDX-License-Identifier: Apache-2.0 */
/*
 * History: one record per generation, chained by digests; read without locks like the settings.
 *
 *     struct qs_history *history = NULL;
 *     const struct qs_record *record = NULL;
 *     if (qs_history_open(store, &history, &err) == QS_OK)
 *         for (size_t i = 0; i < qs_history_count(history); i++)
 *             if (qs_history_record(history, i, &record, &err) == QS_OK)
 *                 printf("%llu %s\n", (unsigned long long)record->generation, record->message);
 *     qs_history_close(history);
 *
 * The chain shows accidents and edits by hand; whoever may write the store could rebuild it.
 */
#ifndef QSETTINGS_HISTORY_H
#define QSETTINGS_HISTORY_H

#include "qsettings/txn.h"

#ifdef __cplusplus
extern "C" {
#endif

struct qs_history;

/* Allocated by the library. */
struct qs_record {
    uint64_t generation;
    int64_t time_s; /* UTC */
    uint32_t time_ns;
    uint32_t uid, login_uid; /* effective; the kernel's login uid, UINT32_MAX where none is set */
    uint32_t pid;
    const char *user, *program, *message; /* zero-terminated */
    const char *action;                   /* "init", "set", "rollback", "restore", "repair", "purge" */
    size_t change_count;
    unsigned char content[QS_DIGEST_BYTES];  /* digest of the content as of this generation */
    unsigned char previous[QS_DIGEST_BYTES]; /* digest of the previous record; zeros for the first */
    unsigned char digest[QS_DIGEST_BYTES];   /* of this record; what the next one names */
};

/* Takes a verified view of history and settings of the newest generation.
 * Ownership: the caller closes; a descriptor of the store's file stays open until then. Errors: as qs_snapshot_take; a
 * broken chain is QS_DAMAGED. Cost: that of a read of the settings, and the newest record; a record asked for costs the
 * pages on the way to it, whatever the length of the history. */
QS_API enum qs_status qs_history_open(struct qs_store *store, struct qs_history **ret_history,
                                      struct qs_error *err) QS_MUST_USE;
QS_API void qs_history_close(struct qs_history *history);

QS_API size_t qs_history_count(const struct qs_history *history);
QS_API const struct qs_snapshot *qs_history_snapshot(const struct qs_history *history); /* borrowed */

/* Record by index, oldest first. Borrowed until the next call of qs_history_record, _find, _at or _check on this
 * history. Errors: QS_NOT_FOUND (index), QS_DAMAGED, QS_NEWER (a later version's record), QS_BUSY (its generation was
 * taken back by a failed commit, or cut from the history meanwhile). */
QS_API enum qs_status qs_history_record(struct qs_history *history, size_t index, const struct qs_record **ret_record,
                                        struct qs_error *err) QS_MUST_USE;
/* Record by generation. Errors: QS_NOT_FOUND with the range that exists, QS_DAMAGED. */
QS_API enum qs_status qs_history_find(struct qs_history *history, uint64_t generation,
                                      const struct qs_record **ret_record, struct qs_error *err) QS_MUST_USE;
/* A change of the record last given out, NULL unless index < change_count. Borrowed until the next call. */
QS_API const struct qs_change *qs_history_change(const struct qs_history *history, size_t index);

/* The settings as of a generation, rebuilt from the newest by undoing changes and checked against that generation's
 * digest. Cost: a page or two for each record since, and the values that the generation has. Ownership: a snapshot
 * reference of the caller. Errors: QS_NOT_FOUND, QS_INVALID (a value on the way was purged), QS_DAMAGED, QS_IO. */
QS_API enum qs_status qs_history_at(struct qs_history *history, uint64_t generation, struct qs_snapshot **ret_snapshot,
                                    struct qs_error *err) QS_MUST_USE;

/* Decodes every record and checks the chain, the content digests and the newest against the snapshot.
 * Errors: QS_DAMAGED with the generation at fault. */
QS_API enum qs_status qs_history_check(struct qs_history *history, struct qs_error *err) QS_MUST_USE;

/* Makes the transaction's content that of an older generation (settings, locks; not targets). Errors: as qs_history_at.
 */
QS_API enum qs_status qs_txn_rollback(struct qs_txn *txn, uint64_t generation, struct qs_error *err) QS_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
