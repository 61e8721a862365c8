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

/* Who makes a change: what the history says of this process. */
struct history_identity {
    uint32_t uid, login_uid, pid;
    char user[QS_NAME_MAX_BYTES + 1];
    char program[QS_NAME_MAX_BYTES + 1];
    int64_t time_s;
    uint32_t time_ns;
};

/* program NULL: this process's name. What cannot be found out is "?" or UINT32_MAX. */
void history_identity_now(const char *program, struct history_identity *ret_identity);

/* Cuts an encoded history record (taken over from bytes) into entries. */
enum qs_status history_cut(uint64_t generation, struct buf *bytes, struct history_chunks *ret_chunks,
                           struct qs_error *err) QS_MUST_USE;

/* Encodes the record of record->generation and sets record->newest_history. previous: digest of the record before. */
enum qs_status history_build(struct meta_record *record, const uint8_t previous[QS_DIGEST_BYTES], unsigned action,
                             const struct history_identity *identity, const char *message,
                             const struct qs_change *changes, size_t change_count, struct history_chunks *ret_chunks,
                             struct qs_error *err) QS_MUST_USE;

/* What is reported of the generation that record describes. */
struct qs_commit_info history_commit_info(const struct meta_record *record, size_t change_count);

#endif
