/* SPDX-License-Identifier: Apache-2.0 */
/* Making a history record's entries: who makes a change, and what it changes. */
#ifndef WRITER_HISTORY_BUILD_H
#define WRITER_HISTORY_BUILD_H

#include "qsettings/txn.h"
#include "store/history_codec.h"
#include "store/meta_record.h"
#include "text/doc.h"

/* Entries of the history database, in order; owns its bytes. */
struct history_chunks {
    struct leaf *items;
    size_t count;
    struct buf bytes;
    uint8_t (*keys)[HISTORY_KEY_BYTES];
};
void history_chunks_release(struct history_chunks *chunks);

/* Cuts an encoded history record (taken over from bytes) into entries. */
enum qs_status history_cut(uint64_t generation, struct buf *bytes, struct history_chunks *ret_chunks,
                           struct qs_error *err) QS_MUST_USE;

/* What a record says of one change of the store. */
struct history_entry {
    unsigned action;         /* enum history_action */
    const uint8_t *previous; /* digest of the record before; NULL: there is none */
    const char *program;     /* NULL: this process's name */
    const char *message;     /* NULL: none */
    const struct qs_change *changes;
    size_t change_count;
};

/* Encodes the record of record->generation; sets record's time and its newest_history. */
enum qs_status history_build(struct meta_record *record, const struct history_entry *entry,
                             struct history_chunks *ret_chunks, struct qs_error *err) QS_MUST_USE;

/* Can a report be stored at info? Errors: QS_USAGE. */
enum qs_status history_check_info(const struct qs_commit_info *info, const char *function,
                                  struct qs_error *err) QS_MUST_USE;
/* What is reported of the generation that record describes. */
struct qs_commit_info history_commit_info(const struct meta_record *record, size_t change_count);

#endif
