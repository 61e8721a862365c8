/* SPDX-License-Identifier: Apache-2.0 */
/* Making a history record's entries: who makes a change, and what it changes. */
#include "writer/history_build.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/utf8.h"

#include "base/os.h"
#include "base/sized.h"
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>

void history_chunks_release(struct history_chunks *chunks)
{
    free(chunks->items);
    free(chunks->keys);
    buf_release(&chunks->bytes);
    *chunks = (struct history_chunks){0};
}

enum qs_status history_cut(uint64_t generation, struct buf *bytes, struct history_chunks *ret_chunks,
                           struct qs_error *err)
{
    size_t count = (bytes->len + HISTORY_CHUNK_BYTES - 1) / HISTORY_CHUNK_BYTES;
    struct history_chunks chunks = {.items = calloc(count + 1, sizeof *chunks.items),
                                    .keys = calloc(count + 1, sizeof *chunks.keys),
                                    .count = count};
    if (!chunks.items || !chunks.keys) {
        history_chunks_release(&chunks);
        return error_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = i * HISTORY_CHUNK_BYTES;
        size_t len = bytes->len - at < HISTORY_CHUNK_BYTES ? bytes->len - at : HISTORY_CHUNK_BYTES;
        history_key(generation, (uint32_t)i, chunks.keys[i]);
        chunks.items[i] = (struct leaf){{chunks.keys[i], HISTORY_KEY_BYTES}, {bytes->data + at, len}};
    }
    chunks.bytes = *bytes;
    *bytes = (struct buf){0};
    *ret_chunks = chunks;
    return QS_OK;
}

/* ---- who makes a change ---- */

struct identity {
    uint32_t uid, login_uid, pid;
    char user[QS_NAME_MAX_BYTES + 1];
    char program[QS_NAME_MAX_BYTES + 1];
    int64_t time_s;
    uint32_t time_ns;
};

/* The login uid names the person behind sudo; see /proc/PID/loginuid in proc(5). */
static uint32_t login_uid(void)
{
    AUTO_FD int fd = open("/proc/self/loginuid", O_RDONLY | O_CLOEXEC);
    char text[16] = "";
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return UINT32_MAX;
    return (uint32_t)strtoul(text, NULL, 10);
}

static void copy_name(char to[QS_NAME_MAX_BYTES + 1], const char *from)
{
    size_t len = strnlen(from, QS_NAME_MAX_BYTES);
    if (!len || !utf8_valid(from, len, NULL)) {
        memcpy(to, "?", 2);
        return;
    }
    memcpy(to, from, len);
    to[len] = '\0';
}

/* What cannot be found out is "?", UINT32_MAX or zero. */
static void identity_now(const char *program, struct identity *ret_identity)
{
    struct identity identity = {.uid = qs_os->geteuid(), .login_uid = login_uid(), .pid = (uint32_t)getpid()};
    struct passwd entry;
    struct passwd *found = NULL;
    char buffer[4096];
    bool named = getpwuid_r(identity.uid, &entry, buffer, sizeof buffer, &found) == 0 && found;
    copy_name(identity.user, named ? found->pw_name : "?");
    copy_name(identity.program, program ? program : program_invocation_short_name);
    if (qs_os->realtime(&identity.time_s, &identity.time_ns)) {
        identity.time_s = 0;
        identity.time_ns = 0;
    }
    *ret_identity = identity;
}

/* ---- the record ---- */

static struct history_value value_of(struct qs_bytes bytes)
{
    return (struct history_value){.there = bytes.data != NULL, .bytes = bytes};
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

static enum qs_status copy_changes(const struct history_entry *entry, struct history_record *record,
                                   struct qs_error *err)
{
    record->changes = calloc(entry->change_count + 1, sizeof *record->changes);
    if (!record->changes)
        return error_memory(err);
    for (size_t i = 0; i < entry->change_count; i++) {
        const struct qs_change *change = &entry->changes[i];
        record->changes[i] = (struct history_change){.area = change->area,
                                                     .key = change->key,
                                                     .old_value = value_of(change->old_value),
                                                     .new_value = value_of(change->new_value)};
        enum qs_status status = entry->action == HISTORY_PURGE ? history_record_purge(record, i, err) : QS_OK;
        if (status)
            return status;
    }
    return QS_OK;
}

enum qs_status history_build(struct meta_record *record, const struct history_entry *entry,
                             struct history_chunks *ret_chunks, struct qs_error *err)
{
    struct identity identity;
    AUTO(buf_release) struct buf bytes = {0};
    AUTO(history_record_release) struct history_record own = {.action = entry->action};
    identity_now(entry->program, &identity);
    record->time_s = identity.time_s;
    record->time_ns = identity.time_ns;
    own.facts = (struct qs_record){.generation = record->generation,
                                   .time_s = record->time_s,
                                   .time_ns = record->time_ns,
                                   .uid = identity.uid,
                                   .login_uid = identity.login_uid,
                                   .pid = identity.pid,
                                   .user = identity.user,
                                   .program = identity.program,
                                   .message = entry->message ? entry->message : "",
                                   .change_count = entry->change_count};
    memcpy(own.facts.content, record->content, QS_DIGEST_BYTES);
    if (entry->previous)
        memcpy(own.facts.previous, entry->previous, QS_DIGEST_BYTES);
    enum qs_status status = check_message(own.facts.message, err);
    if (status)
        return status;
    status = copy_changes(entry, &own, err);
    if (status)
        return status;
    status = history_record_encode(&own, &bytes, err);
    if (status)
        return status;
    status = history_cut(record->generation, &bytes, ret_chunks, err);
    if (status)
        return status;
    memcpy(record->newest_history, own.facts.digest, QS_DIGEST_BYTES);
    return QS_OK;
}

enum qs_status history_check_info(const struct qs_commit_info *info, const char *function, struct qs_error *err)
{
    return sized_check(info, SIZED_FIRST(struct qs_commit_info, digest), function, err);
}

struct qs_commit_info history_commit_info(const struct meta_record *record, size_t change_count)
{
    struct qs_commit_info info = {.generation = record->generation,
                                  .changed = change_count > 0,
                                  .change_count = change_count,
                                  .target_count = record->counts[AREA_TARGETS]};
    memcpy(info.digest, record->content, QS_DIGEST_BYTES);
    return info;
}
