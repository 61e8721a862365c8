/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LMDB's pages as bytes: decoding and checking without liblmdb. Nothing here reads a file.
 *
 * Layout as in LMDB 0.9 (mdb.c, "struct MDB_page", "MDB_node", "MDB_meta"), 64-bit little-endian:
 *   page    u64 number, u16 pad, u16 flags, then u16 lower and u16 upper (branch, leaf) or u32 page count (overflow),
 *           then from byte 16 the u16 node offsets up to lower; nodes lie from upper to the end of the page
 *   node    u16 lo, u16 hi, u16 flags, u16 key size, key, data; a branch's lo, hi, flags are the child's page number,
 *           a leaf's lo and hi the data size; a leaf with NODE_BIGDATA holds the number of its first overflow page
 *   meta    from byte 16 of pages 0 and 1: u32 magic, u32 version, u64 address, u64 map size, two database records
 *           (free, main), u64 last page, u64 transaction id
 *   db      u32 pad, u16 flags, u16 depth, u64 branch, leaf, overflow pages, u64 entries, u64 root
 */
#ifndef STORE_PAGE_H
#define STORE_PAGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_HEADER_BYTES 16u
#define PAGE_MIN_BYTES    512u
#define PAGE_MAX_BYTES    32768u
#define PAGE_NONE         UINT64_MAX /* the root of an empty tree */
#define PAGE_MAX_COUNT \
    (UINT64_C(1) << 24) /* a store's pages: 64 GiB at 4 KiB; bounds what a damaged meta makes us do */

#define PAGE_BRANCH   0x01u
#define PAGE_LEAF     0x02u
#define PAGE_OVERFLOW 0x04u
#define PAGE_META     0x08u

#define NODE_HEADER_BYTES 8u
#define NODE_BIGDATA      0x01u
#define NODE_SUBDATA      0x02u

#define DB_BYTES      48u
#define DB_MAX_DEPTH  32u
#define DB_FLAGS_FREE 0x4008u /* MDB_INTEGERKEY and the environment's MDB_NOSUBDIR: what our writer creates */

#define META_OFFSET      16u
#define META_BYTES       136u
#define META_SLOT_OFFSET 16u /* within the meta: from the map size on, what a commit writes */
#define META_SLOT_BYTES  120u
#define META_MAGIC       0xbeefc0deu
#define META_VERSION     1u

struct db {
    uint16_t flags, depth;
    uint64_t branch_pages, leaf_pages, overflow_pages, entries, root;
};

struct meta {
    uint32_t page_size;
    uint64_t map_bytes, last_page, txn_id;
    struct db free, main;
};

struct node {
    const uint8_t *key, *data; /* data NULL with NODE_BIGDATA */
    uint32_t data_len;
    uint16_t key_len, flags;
    uint64_t page; /* a branch's child, or the first overflow page */
};

/* The version of LMDB's format that the head of a meta page names, and at *ret_at (may be NULL) where the meta begins;
 * 0: it is no meta of LMDB. A page of LMDB 1.0 has eight bytes more before it. */
uint32_t meta_version(const uint8_t *page, size_t *ret_at);

void db_decode(const uint8_t bytes[DB_BYTES], struct db *ret_db);

/* Decodes and checks one meta page given its first META_OFFSET + META_BYTES bytes. slot is 0 or 1.
 * Errors: QS_DAMAGED with the page. */
enum qs_status meta_decode(const uint8_t *page, unsigned slot, struct meta *ret_meta, struct qs_error *err) QS_MUST_USE;

/* Checks a tree page's header, offsets and nodes so that page_node may be called for every index; strict also that the
 * nodes tile the page exactly and that its keys ascend (what a writer relies on). want: PAGE_BRANCH or PAGE_LEAF. */
enum qs_status page_check(const uint8_t *page, size_t page_size, uint64_t number, unsigned want, bool strict,
                          struct qs_error *err) QS_MUST_USE;
unsigned page_node_count(const uint8_t *page);
void page_node(const uint8_t *page, unsigned index, bool leaf, struct node *ret_node);

/* Checks the header of the first page of an overflow run. */
enum qs_status overflow_check(const uint8_t *page, size_t page_size, uint64_t number, uint32_t data_len,
                              uint32_t *ret_pages, struct qs_error *err) QS_MUST_USE;

#endif
