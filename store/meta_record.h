/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meta record: one per store, rewritten by every commit, naming the LMDB transaction that wrote it.
 *
 *  offset bytes
 *       0     8  "QSETMETA"
 *       8     4  format version (1)
 *      12     4  flags
 *      16     4  scope
 *      20     4  zero
 *      24    16  store id
 *      40     8  generation
 *      48     8  LMDB transaction id of this commit
 *      56     8  commit time, seconds since the epoch
 *      64     4  and nanoseconds
 *      68     4  zero
 *      72  4 * 8 counts: settings, locks, targets, history records
 *     104    32  content digest
 *     136    32  digest of the newest history record
 *     168    32  BLAKE2b-256 of bytes 0..167
 */
#ifndef STORE_META_RECORD_H
#define STORE_META_RECORD_H

#include "base/digest.h"
#include "base/error.h"
#include "qsettings/store.h"

#define META_RECORD_BYTES          200u
#define META_RECORD_VERSION        1u
#define META_RECORD_KEY            "record"
#define META_RECORD_MAGIC          "QSETMETA" /* its first bytes */
#define META_RECORD_MAGIC_BYTES    8u
#define META_RECORD_LEAST_BYTES    44u /* magic, version, hash: what a record of any version has */
#define META_RECORD_MOST_BYTES     65536u
#define META_RECORD_REQUIRE_POLICY 1u                         /* flag: readers refuse "no policy" */
#define META_RECORD_FLAGS          META_RECORD_REQUIRE_POLICY /* all that this version knows */
#define GENERATION_MAX             ((uint64_t)INT64_MAX)      /* of JSON's integers, and of signed ones elsewhere */

enum store_area { AREA_SETTINGS = 0, AREA_LOCKS = 1, AREA_TARGETS = 2, AREA_COUNT = 3 };

struct meta_record {
    uint32_t flags;
    enum qs_scope scope;
    uint8_t store_id[QS_STORE_ID_BYTES];
    uint64_t generation, txn_id;
    int64_t time_s;
    uint32_t time_ns;
    uint64_t counts[AREA_COUNT];
    uint64_t history_count;
    uint8_t content[QS_DIGEST_BYTES];
    uint8_t newest_history[QS_DIGEST_BYTES];
};

void meta_record_encode(const struct meta_record *record, uint8_t out[META_RECORD_BYTES]);
/* Errors: QS_DAMAGED; QS_NEWER where the hash holds, over a version, flags, a scope or bytes that this version does not
 * know. docs/format.md says what every later version keeps so that it can be told from damage. */
enum qs_status meta_record_decode(const void *data, size_t len, struct meta_record *ret_record,
                                  struct qs_error *err) QS_MUST_USE;

/* The content digest: for each area in order its count, then each entry's key and value, all length-prefixed. */
struct leaf;
struct entry_list {
    struct leaf *items;
    size_t count;
};
void entry_list_release(struct entry_list *list); /* frees the items; for AUTO(entry_list_release) */
void content_digest(const struct entry_list areas[AREA_COUNT], uint8_t out[QS_DIGEST_BYTES]);

/* The digest's states on its way through the settings: a writer's next content begins as the last one did, and need not
 * be hashed from its start. */
#define CONTENT_MARKS 16u
struct content_marks {
    size_t settings, step; /* how many settings there were; a state before each step-th of them */
    struct digest_state states[CONTENT_MARKS];
};
void content_digest_marked(const struct entry_list areas[AREA_COUNT], struct content_marks *marks,
                           uint8_t out[QS_DIGEST_BYTES]);
/* The digest of areas whose first `same` settings are those that were marked. */
void content_digest_again(const struct entry_list areas[AREA_COUNT], const struct content_marks *marks, size_t same,
                          uint8_t out[QS_DIGEST_BYTES]);

#endif
