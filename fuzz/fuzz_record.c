/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stored records. The first byte chooses: bytes taken as a history record; a history record built from the rest, then
 * with one byte of it changed, then purged; bytes taken as a meta record, its hash put right.
 *
 * Invariants: what is refused is QS_DAMAGED (or a later version's) with a message; what is accepted encodes to the
 * same bytes; no changed byte is accepted; a purge keeps the digest and takes the values out.
 */
#include "base/digest.h"
#include "fuzz/fuzz.h"
#include "store/history_codec.h"
#include "store/meta_record.h"
#include "text/doc.h"

#include <stdbool.h>
#include <string.h>

#define CHANGES_MAX 8u

static void check_stored(const uint8_t *data, size_t size)
{
    struct history_record record = {0};
    struct qs_error err = {0};
    struct buf again = {0};
    enum qs_status status = history_record_decode(data, size, &record, &err);
    if (status) {
        MUST((status == QS_DAMAGED || status == QS_NEWER) && err.message[0] && !record.offsets && !record.texts);
        return;
    }
    MUST(history_action_name(record.action));
    MUST(history_record_encode(&record, &again, NULL) == QS_OK);
    MUST(again.len == size && memcmp(again.data, data, size) == 0);
    buf_release(&again);
    history_record_release(&record);
}

/* A text of printable characters, or of a two byte one: records hold UTF-8 only. */
static char *take_text(struct cursor *input, size_t max)
{
    size_t len = cursor_u16(input) % (max + 1);
    char *text = malloc(len + 1);
    MUST(text);
    uint8_t byte = cursor_u8(input);
    memset(text, '!' + byte % 90, len);
    if (byte % 4 == 0)
        for (size_t i = 0; i + 1 < len; i += 2)
            memcpy(text + i, "\xc3\xa9", 2);
    if (byte % 4 == 0 && len % 2)
        text[len - 1] = 'x';
    text[len] = '\0';
    return text;
}

static void take_value(struct cursor *input, struct history_value *value)
{
    size_t len = cursor_u8(input) % 40;
    if (len > cursor_left(input))
        len = cursor_left(input);
    value->there = true;
    value->bytes = (struct qs_bytes){cursor_bytes(input, len), len};
    memset(value->salt, 1 + (int)len, sizeof value->salt); /* not all zero, or it would be drawn at random */
    struct digest digest;
    digest_init(&digest);
    digest_add(&digest, value->salt, sizeof value->salt);
    digest_add(&digest, value->bytes.data, value->bytes.len);
    digest_finish(&digest, value->hash);
}

static void build(struct cursor *input, struct history_record *record)
{
    struct qs_record *f = &record->facts;
    record->action = HISTORY_INIT + cursor_u8(input) % HISTORY_PURGE;
    f->generation = cursor_u64(input);
    f->time_s = (int64_t)cursor_u64(input);
    f->time_ns = cursor_u32(input);
    f->uid = f->login_uid = f->pid = cursor_u32(input);
    f->user = take_text(input, QS_NAME_MAX_BYTES);
    f->program = take_text(input, QS_NAME_MAX_BYTES);
    f->message = take_text(input, QS_MESSAGE_MAX_BYTES);
    memset(f->content, cursor_u8(input), sizeof f->content);
    record->changes = calloc(CHANGES_MAX, sizeof *record->changes);
    MUST(record->changes);
    for (; f->change_count < CHANGES_MAX && cursor_left(input) > 4; f->change_count++) {
        struct history_change *change = &record->changes[f->change_count];
        unsigned kind = cursor_u8(input);
        change->area = (enum qs_area)(QS_AREA_SETTINGS + kind % 4);
        change->key = (struct qs_bytes){cursor_bytes(input, 1 + kind / 4 % 3), 1 + kind / 4 % 3};
        if (kind & 64 || !(kind & 128))
            take_value(input, &change->old_value);
        if (kind & 128)
            take_value(input, &change->new_value);
    }
}

static void check_purge(struct history_record *record, const uint8_t digest[QS_DIGEST_BYTES])
{
    struct buf text = {0};
    struct history_record read = {0};
    for (size_t i = 0; i < record->facts.change_count; i += 2)
        MUST(history_record_purge(record, i, NULL) == QS_OK);
    MUST(history_record_encode(record, &text, NULL) == QS_OK);
    MUST(history_record_decode(text.data, text.len, &read, NULL) == QS_OK);
    MUST(memcmp(read.facts.digest, digest, QS_DIGEST_BYTES) == 0);
    for (size_t i = 0; i < read.facts.change_count; i += 2) {
        struct history_change change = history_record_change(&read, i);
        MUST(change.old_value.purged == change.old_value.there && change.new_value.purged == change.new_value.there);
        MUST(!change.old_value.bytes.data && !change.new_value.bytes.data);
    }
    history_record_release(&read);
    buf_release(&text);
}

static void check_built(const uint8_t *data, size_t size)
{
    struct history_record record = {0};
    struct history_record read = {0};
    struct buf text = {0};
    struct cursor input;
    cursor_init(&input, data, size);
    uint32_t where = cursor_u32(&input);
    uint8_t flip = cursor_u8(&input);
    build(&input, &record);
    MUST(history_record_encode(&record, &text, NULL) == QS_OK);
    check_stored((const uint8_t *)text.data, text.len);
    MUST(history_record_decode(text.data, text.len, &read, NULL) == QS_OK);
    MUST(read.facts.change_count == record.facts.change_count && read.facts.generation == record.facts.generation);
    MUST(strcmp(read.facts.message, record.facts.message) == 0);
    history_record_release(&read);
    check_purge(&record, record.facts.digest);
    text.data[where % text.len] ^= (char)(flip ? flip : 1);
    MUST(history_record_decode(text.data, text.len, &read, NULL) == QS_DAMAGED);
    buf_release(&text);
    free((char *)record.facts.user);
    free((char *)record.facts.program);
    free((char *)record.facts.message);
    history_record_release(&record);
}

static void check_meta(const uint8_t *data, size_t size)
{
    uint8_t bytes[META_RECORD_BYTES] = "QSETMETA";
    uint8_t again[META_RECORD_BYTES];
    struct meta_record record;
    struct meta_record twice;
    struct qs_error err = {0};
    MUST(size == META_RECORD_BYTES || meta_record_decode(data, size, &record, &err) == QS_DAMAGED);
    memcpy(bytes + 8, data, size < 160 ? size : 160);
    digest_of(bytes, 168, bytes + 168);
    enum qs_status status = meta_record_decode(bytes, sizeof bytes, &record, &err);
    if (status) {
        MUST((status == QS_NEWER || status == QS_DAMAGED) && err.message[0]);
        return;
    }
    meta_record_encode(&record, again);
    MUST(meta_record_decode(again, sizeof again, &twice, NULL) == QS_OK);
    MUST(twice.generation == record.generation && twice.txn_id == record.txn_id && twice.flags == record.flags);
    MUST(memcmp(twice.counts, record.counts, sizeof record.counts) == 0);
    bytes[size ? data[size - 1] % META_RECORD_BYTES : 9] ^= 0x10;
    MUST(meta_record_decode(bytes, sizeof bytes, &twice, NULL) == QS_DAMAGED);
}

/* The same bytes as key and value, cut elsewhere, or in another area, are other content. */
static void check_content(const uint8_t *data, size_t size)
{
    uint8_t digests[3][QS_DIGEST_BYTES];
    for (size_t i = 0; i < 3; i++) {
        size_t cut = i == 1 ? size - 1 : size;
        struct leaf leaf = {{data, cut}, {data + cut, size - cut}};
        struct entry_list areas[AREA_COUNT] = {0};
        areas[i == 2 ? AREA_LOCKS : AREA_SETTINGS] = (struct entry_list){&leaf, 1};
        content_digest(areas, digests[i]);
    }
    MUST(memcmp(digests[0], digests[1], QS_DIGEST_BYTES) && memcmp(digests[0], digests[2], QS_DIGEST_BYTES));
}

static void check_key(const uint8_t *data, size_t size)
{
    uint64_t generation;
    uint32_t chunk;
    uint8_t key[HISTORY_KEY_BYTES];
    MUST(history_key_decode((struct qs_bytes){data, size}, &generation, &chunk) == (size == HISTORY_KEY_BYTES));
    if (size != HISTORY_KEY_BYTES)
        return;
    history_key(generation, chunk, key);
    MUST(memcmp(key, data, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_key(data, size);
    if (!size)
        return 0;
    check_content(data, size);
    switch (data[0] % 3) {
    case 0:
        check_stored(data + 1, size - 1);
        break;
    case 1:
        check_built(data + 1, size - 1);
        break;
    default:
        check_meta(data + 1, size - 1);
    }
    return 0;
}
