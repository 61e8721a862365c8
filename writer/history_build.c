/* SPDX-License-Identifier: Apache-2.0 */
/* Making a history record's entries out of a change list. */
#include "writer/history_build.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/utf8.h"

#include <string.h>

void journal_chunks_release(struct journal_chunks *chunks)
{
    free(chunks->items);
    free(chunks->keys);
    buf_release(&chunks->bytes);
    *chunks = (struct journal_chunks){0};
}

enum qs_status journal_cut(uint64_t generation, struct buf *bytes, struct journal_chunks *ret_chunks,
                           struct qs_error *err)
{
    size_t count = (bytes->len + JOURNAL_CHUNK_BYTES - 1) / JOURNAL_CHUNK_BYTES;
    struct journal_chunks chunks = {.items = calloc(count + 1, sizeof *chunks.items),
                                    .keys = calloc(count + 1, sizeof *chunks.keys),
                                    .count = count};
    if (!chunks.items || !chunks.keys) {
        journal_chunks_release(&chunks);
        return error_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = i * JOURNAL_CHUNK_BYTES;
        size_t len = bytes->len - at < JOURNAL_CHUNK_BYTES ? bytes->len - at : JOURNAL_CHUNK_BYTES;
        journal_key(generation, (uint32_t)i, chunks.keys[i]);
        chunks.items[i] = (struct leaf){{chunks.keys[i], JOURNAL_KEY_BYTES}, {bytes->data + at, len}};
    }
    chunks.bytes = *bytes;
    *bytes = (struct buf){0};
    *ret_chunks = chunks;
    return QS_OK;
}

static struct journal_value value_of(struct qs_bytes bytes)
{
    return (struct journal_value){.there = bytes.data != NULL, .bytes = bytes};
}

static enum qs_status check_message(const char *message, struct qs_error *err)
{
    size_t len = strlen(message);
    if (len > QS_MESSAGE_MAX_BYTES)
        return error_set(err, QS_INVALID, "the message has %zu bytes; the limit is %u", len, QS_MESSAGE_MAX_BYTES);
    if (!utf8_valid(message, len, NULL))
        return error_set(err, QS_INVALID, "the message is not UTF-8");
    return QS_OK;
}

enum qs_status journal_build(struct record *record, const uint8_t previous[QS_DIGEST_BYTES], unsigned action,
                             const struct actor *actor, const char *message, const struct qs_change *changes,
                             size_t change_count, struct journal_chunks *ret_chunks, struct qs_error *err)
{
    struct journal_record entry = {.action = action};
    struct buf bytes = {0};
    entry.facts = (struct qs_record){.generation = record->generation,
                                     .time_s = record->time_s,
                                     .time_ns = record->time_ns,
                                     .uid = actor->uid,
                                     .login_uid = actor->login_uid,
                                     .pid = actor->pid,
                                     .user = actor->user,
                                     .program = actor->program,
                                     .message = message ? message : "",
                                     .change_count = change_count};
    memcpy(entry.facts.content, record->content, QS_DIGEST_BYTES);
    memcpy(entry.facts.previous, previous, QS_DIGEST_BYTES);
    enum qs_status status = check_message(entry.facts.message, err);
    entry.changes = calloc(change_count + 1, sizeof *entry.changes);
    if (!status && !entry.changes)
        status = error_memory(err);
    for (size_t i = 0; i < change_count && !status; i++)
        entry.changes[i] = (struct journal_change){.area = changes[i].area,
                                                   .key = changes[i].key,
                                                   .old_value = value_of(changes[i].old_value),
                                                   .new_value = value_of(changes[i].new_value)};
    for (size_t i = 0; i < change_count && !status && action == JOURNAL_PURGE; i++)
        status = journal_purge(&entry, i, err);
    if (!status)
        status = journal_encode(&entry, &bytes, err);
    if (!status)
        status = journal_cut(record->generation, &bytes, ret_chunks, err);
    if (!status)
        memcpy(record->newest_history, entry.facts.digest, QS_DIGEST_BYTES);
    buf_release(&bytes);
    free(entry.changes);
    return status;
}
