/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of one store file in private memory, read with pread; and the walk over one tree of them.
 *
 * It remembers which pages were claimed: a page that two trees or two places of one tree lead to is a fault. What a
 * file makes us do is bounded by what it truly holds: a page is loaded once, a value's pages only if none of them is a
 * hole, and a walk of many pages ends with its deadline. docs/durability.md has the figures.
 */
#ifndef STORE_PAGE_CACHE_H
#define STORE_PAGE_CACHE_H

#include "store/page.h"

struct page_cache_slab;

struct page_cache {
    int fd; /* borrowed */
    uint32_t page_size;
    uint64_t page_count;  /* last page + 1 */
    uint8_t *claimed;     /* a bit per page */
    uint8_t *whole;       /* a small file's pages from first_whole on, read at once */
    uint64_t whole_count; /* pages in whole: numbers below it are there */
    struct page_cache_slab *slabs;
    uint64_t claims;
    uint64_t loaded;      /* pages read one by one */
    uint64_t deadline_ms; /* of a walk over more than PAGE_CACHE_UNHURRIED pages; 0: none */
    uint64_t file_bytes;  /* 0: not known yet */
    bool sparse;          /* the file has fewer blocks than its length takes */
};

#define PAGE_CACHE_GRACE_MS 500u /* so long after a caller's wait a walk over very many pages ends */
/* So many pages are always read to their end, on however slow a machine: more than a store of common size has. */
#define PAGE_CACHE_UNHURRIED 65536u

/* Prepares for pages 0..last_page; reads a small file whole. Release always. Errors: QS_IO. */
enum qs_status page_cache_init(struct page_cache *pages, int fd, uint32_t page_size, uint64_t last_page,
                               struct qs_error *err) QS_MUST_USE;
void page_cache_release(struct page_cache *pages);
/* Forgets the claims; the pages' memory stays until release. */
void page_cache_drop_claims(struct page_cache *pages);

/* Begins with none again, for another walk over the same file. Errors: QS_IO. */
enum qs_status page_cache_renew_claims(struct page_cache *pages, int fd, struct qs_error *err) QS_MUST_USE;

/* Marks count pages from number as used. Errors: QS_DAMAGED (outside the store, or used already). */
enum qs_status page_cache_claim(struct page_cache *pages, uint64_t number, uint64_t count,
                                struct qs_error *err) QS_MUST_USE;

/* Memory of count pages from number; lives as long as the pages. Does not claim.
 * Errors: QS_DAMAGED (beyond the store or the file's end; several, of which one is a hole), QS_BUSY (the deadline),
 * QS_IO. */
enum qs_status page_cache_load(struct page_cache *pages, uint64_t number, uint64_t count, const uint8_t **ret_page,
                               struct qs_error *err) QS_MUST_USE;

enum tree_flags {
    TREE_STRICT = 1 << 0,    /* all that LMDB relies on when it writes: tiling, order, separators, fill */
    TREE_CLAIM = 1 << 1,     /* claim every page */
    TREE_KEYS_ONLY = 1 << 2, /* visit branch pages only and claim the leaves by number; no overflow pages may exist */
    TREE_INTEGER_KEYS = 1 << 3, /* order by u64 keys (the free tree) */
    TREE_FREE = 1 << 4,         /* the free tree: LMDB allows its branch pages a single child */
};

/* Called for every leaf entry in order; data is complete (overflow pages loaded). */
typedef enum qs_status (*tree_visit)(void *context, const struct node *node, struct qs_error *err);

/* Walks db's tree. The counts of pages and entries in db must hold: no page is loaded beyond them, and they must be
 * such as the file can have. visit may be NULL. */
enum qs_status tree_walk(struct page_cache *pages, const struct db *db, unsigned flags, tree_visit visit, void *context,
                         struct qs_error *err) QS_MUST_USE;

/* Strictly checks the way from the root to the last leaf, without claiming: what appending touches, and what it will
 * replace. The pages are borrowed from pages. */
struct tree_way {
    unsigned depth;
    uint64_t numbers[DB_MAX_DEPTH];
    const uint8_t *pages[DB_MAX_DEPTH];
};
enum qs_status tree_check_last(struct page_cache *pages, const struct db *db, struct tree_way *ret_way,
                               struct qs_error *err) QS_MUST_USE;

#endif
