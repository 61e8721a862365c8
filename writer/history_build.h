/* SPDX-License-Identifier: Apache-2.0 */
/* Making a history record's entries out of a change list. */
#ifndef WRITER_JOURNAL_BUILD_H
#define WRITER_JOURNAL_BUILD_H

#include "store/history_codec.h"
#include "store/meta_record.h"
#include "text/doc.h"
#include "writer/identity.h"

/* Entries of the history database, in order; owns its bytes. */
struct journal_chunks {
    struct leaf *items;
    size_t count;
    struct buf bytes;
    uint8_t (*keys)[JOURNAL_KEY_BYTES];
};
void journal_chunks_release(struct journal_chunks *chunks);

/* Cuts an encoded journal record (taken over from bytes) into entries. */
enum qs_status journal_cut(uint64_t generation, struct buf *bytes, struct journal_chunks *ret_chunks,
                           struct qs_error *err) QS_MUST_USE;

/* Encodes the record of record->generation and sets record->newest_history. previous: digest of the record before. */
enum qs_status journal_build(struct record *record, const uint8_t previous[QS_DIGEST_BYTES], unsigned action,
                             const struct actor *actor, const char *message, const struct qs_change *changes,
                             size_t change_count, struct journal_chunks *ret_chunks, struct qs_error *err) QS_MUST_USE;

#endif
