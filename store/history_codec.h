/* SPDX-License-Identifier: Apache-2.0 */
/*
 * History records as bytes: what changed, by whom, when, chained by digests.
 *
 * A record is stored in chunks of at most HISTORY_CHUNK_BYTES under the keys generation (u64, big-endian) and chunk
 * number (u32, big-endian). Chunks are small enough to lie inside leaf pages, never in overflow pages: the branch pages
 * of the history tree then name every page it has, and a writer can check that no free list hands one out without
 * reading them.
 *
 * The bytes of a record, little-endian, texts as length and UTF-8:
 *   u16 version (1), u8 action, u8 zero, u64 generation, i64 seconds, u32 nanoseconds, u32 uid, u32 login uid, u32 pid,
 *   u16+user, u16+program, u32+message, 32 content digest, 32 digest of the previous record, u32 number of changes;
 *   each change: u8 area, u8 bits (1 old there, 2 new there, 4 old purged, 8 new purged), u16+key,
 *                for each value there: 16 salt, u32+value; or, purged, its 32 byte hash;
 *   32 digest of the record.
 * The record's digest goes over the head and, for each change, area, the bits 1 and 2, the key, and for each value the
 * hash BLAKE2b-256(salt || value). So a value can be purged, salt and all, and the digest still holds.
 */
#ifndef STORE_HISTORY_CODEC_H
#define STORE_HISTORY_CODEC_H

#include "base/buf.h"
#include "qsettings/history.h"

#define HISTORY_VERSION     1u
#define HISTORY_CHUNK_BYTES 1900u
#define HISTORY_KEY_BYTES   12u
#define HISTORY_SALT_BYTES  16u

enum history_action {
    HISTORY_INIT = 1,
    HISTORY_SET = 2,
    HISTORY_ROLLBACK = 3,
    HISTORY_RESTORE = 4,
    HISTORY_REPAIR = 5,
    HISTORY_PURGE = 6,
};
#define HISTORY_AREA_LAST QS_AREA_HISTORY
const char *history_action_name(unsigned action); /* NULL if unknown */

enum change_bits { CHANGE_OLD_THERE = 1, CHANGE_NEW_THERE = 2, CHANGE_OLD_PURGED = 4, CHANGE_NEW_PURGED = 8 };

/* A value as a record holds it. */
struct history_value {
    bool there, purged;
    struct qs_bytes bytes;            /* unless purged */
    uint8_t salt[HISTORY_SALT_BYTES]; /* unless purged */
    uint8_t hash[QS_DIGEST_BYTES];
};
struct history_change {
    enum qs_area area;
    struct qs_bytes key;
    struct history_value old_value, new_value;
};

struct history_record {
    struct qs_record facts; /* texts point into owned memory of the record; facts.digest is computed by encode */
    unsigned action;
    struct history_change
        *changes; /* to be encoded: facts.change_count of them; the array is owned, the bytes are not */
    /* decoded: where each change begins in data, which is borrowed; so a record costs four bytes a change */
    uint32_t *offsets;
    const uint8_t *data;
    size_t len;
    char *texts; /* owned */
};
void history_record_release(struct history_record *record);

/* Encodes, also what was decoded; sets facts.digest; makes salts and hashes for values that have none yet (salt all
 * zero, not purged). */
enum qs_status history_record_encode(struct history_record *record, struct buf *out, struct qs_error *err) QS_MUST_USE;

/* Decodes and checks the digest. Changes borrow from data, which must outlive the record. Errors: QS_DAMAGED; QS_NEWER
 * where the digest holds over something that this version does not know; QS_IO. */
enum qs_status history_record_decode(const void *data, size_t len, struct history_record *ret_record,
                                     struct qs_error *err) QS_MUST_USE;

/* One change, without the hashes of values that are there. index < facts.change_count. */
struct history_change history_record_change(const struct history_record *record, size_t index);

/* Takes both values of change index out, keeping their hashes; a new record's values get theirs first. */
enum qs_status history_record_purge(struct history_record *record, size_t index, struct qs_error *err) QS_MUST_USE;

void history_key(uint64_t generation, uint32_t chunk, uint8_t out[HISTORY_KEY_BYTES]);
/* False where the bytes are no such key. */
bool history_key_decode(struct qs_bytes key, uint64_t *ret_generation, uint32_t *ret_chunk);

#endif
