/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding and checking LMDB's pages. Every number that comes from the page is checked before it is used. */
#include "store/page.h"

#include "base/buf.h"

#include <string.h>

void db_decode(const uint8_t bytes[DB_BYTES], struct db *ret_db)
{
    *ret_db = (struct db){
        .flags = load_u16(bytes + 4),
        .depth = load_u16(bytes + 6),
        .branch_pages = load_u64(bytes + 8),
        .leaf_pages = load_u64(bytes + 16),
        .overflow_pages = load_u64(bytes + 24),
        .entries = load_u64(bytes + 32),
        .root = load_u64(bytes + 40),
    };
}

uint32_t meta_version(const uint8_t *page, size_t *ret_at)
{
    static const size_t places[] = {META_OFFSET, META_OFFSET + 8};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (load_u32(page + places[i]) != META_MAGIC)
            continue;
        if (ret_at)
            *ret_at = places[i];
        return load_u32(page + places[i] + 4);
    }
    return 0;
}

static bool plausible_page_size(uint32_t size)
{
    return size >= PAGE_MIN_BYTES && size <= PAGE_MAX_BYTES && (size & (size - 1)) == 0;
}

enum qs_status meta_decode(const uint8_t *page, unsigned slot, struct meta *ret_meta, struct qs_error *err)
{
    const uint8_t *m = page + META_OFFSET;
    if (load_u64(page) != slot || load_u16(page + 10) != PAGE_META)
        return error_page(err, slot, "page %u is not a meta page", slot);
    if (load_u32(m) != META_MAGIC)
        return error_page(err, slot, "meta page %u does not have LMDB's magic number", slot);
    if (load_u32(m + 4) != META_VERSION)
        return error_page(err, slot, "meta page %u is of LMDB format %u, not %u", slot, load_u32(m + 4), META_VERSION);
    struct meta meta = {
        .map_bytes = load_u64(m + 16),
        .page_size = load_u32(m + 24),
        .last_page = load_u64(m + 24 + 2 * (size_t)DB_BYTES),
        .txn_id = load_u64(m + 32 + 2 * (size_t)DB_BYTES),
    };
    db_decode(m + 24, &meta.free);
    db_decode(m + 24 + DB_BYTES, &meta.main);
    if (!plausible_page_size(meta.page_size))
        return error_page(err, slot, "meta page %u names a page size of %u bytes", slot, meta.page_size);
    if (meta.last_page < 1 || meta.last_page >= PAGE_MAX_COUNT)
        return error_page(err, slot, "meta page %u names %llu as the last page", slot,
                          (unsigned long long)meta.last_page);
    if (meta.free.flags != DB_FLAGS_FREE || meta.main.flags != 0)
        return error_page(err, slot, "meta page %u has database flags %#x and %#x", slot, meta.free.flags,
                          meta.main.flags);
    *ret_meta = meta;
    return QS_OK;
}

unsigned page_node_count(const uint8_t *page)
{
    return (load_u16(page + 12) - PAGE_HEADER_BYTES) / 2;
}

void page_node(const uint8_t *page, unsigned index, bool leaf, struct node *ret_node)
{
    const uint8_t *n = page + load_u16(page + PAGE_HEADER_BYTES + 2 * (size_t)index);
    struct node node = {.key = n + NODE_HEADER_BYTES, .key_len = load_u16(n + 6)};
    if (!leaf) {
        node.page = (uint64_t)load_u32(n) | (uint64_t)load_u16(n + 4) << 32;
    } else {
        node.flags = load_u16(n + 4);
        node.data_len = load_u32(n);
        const uint8_t *data = node.key + node.key_len;
        if (node.flags & NODE_BIGDATA)
            node.page = load_u64(data);
        else
            node.data = data;
    }
    *ret_node = node;
}

/* The bytes a node takes on its page, or 0 where it would pass the page's end. */
static size_t node_bytes(const uint8_t *page, size_t page_size, size_t at, bool leaf)
{
    if (at + NODE_HEADER_BYTES > page_size)
        return 0;
    const uint8_t *n = page + at;
    size_t size = NODE_HEADER_BYTES + load_u16(n + 6);
    if (leaf)
        size += load_u16(n + 4) & NODE_BIGDATA ? 8 : load_u32(n);
    return size <= page_size - at ? size : 0;
}

static enum qs_status check_nodes(const uint8_t *page, size_t page_size, uint64_t number, bool leaf,
                                  struct qs_error *err)
{
    unsigned count = page_node_count(page);
    size_t upper = load_u16(page + 14);
    for (unsigned i = 0; i < count; i++) {
        size_t at = load_u16(page + PAGE_HEADER_BYTES + 2 * (size_t)i);
        size_t size = at >= upper ? node_bytes(page, page_size, at, leaf) : 0;
        if (!size)
            return error_page(err, (int64_t)number, "node %u of page %llu lies outside the page", i,
                              (unsigned long long)number);
        unsigned flags = leaf ? load_u16(page + at + 4) : 0;
        if (flags & ~(NODE_BIGDATA | NODE_SUBDATA) || flags == (NODE_BIGDATA | NODE_SUBDATA))
            return error_page(err, (int64_t)number, "node %u of page %llu has flags %#x", i, (unsigned long long)number,
                              flags);
    }
    return QS_OK;
}

/* Marks bits from..to-1; true where one was marked already. */
static bool take_bits(uint64_t *taken, size_t from, size_t to)
{
    uint64_t clash = 0;
    while (from < to) {
        size_t bit = from % 64;
        size_t count = to - from < 64 - bit ? to - from : 64 - bit;
        uint64_t mask = (UINT64_MAX >> (64 - count)) << bit;
        clash |= taken[from / 64] & mask;
        taken[from / 64] |= mask;
        from += count;
    }
    return clash != 0;
}

/* The nodes tile upper..end without gap or overlap, each at an even offset. One bit per two bytes of the page. */
static enum qs_status check_tiling(const uint8_t *page, size_t page_size, uint64_t number, bool leaf,
                                   struct qs_error *err)
{
    uint64_t taken[PAGE_MAX_BYTES / 2 / 64];
    unsigned count = page_node_count(page);
    size_t sum = 0;
    memset(taken, 0, page_size / 16);
    for (unsigned i = 0; i < count; i++) {
        size_t at = load_u16(page + PAGE_HEADER_BYTES + 2 * (size_t)i);
        size_t size = (node_bytes(page, page_size, at, leaf) + 1) & ~(size_t)1;
        if (at % 2 != 0 || size > page_size - at || take_bits(taken, at / 2, (at + size) / 2))
            return error_page(err, (int64_t)number, "node %u of page %llu overlaps another", i,
                              (unsigned long long)number);
        sum += size;
    }
    if (sum != page_size - load_u16(page + 14))
        return error_page(err, (int64_t)number, "the nodes of page %llu do not fill it", (unsigned long long)number);
    return QS_OK;
}

enum qs_status page_check(const uint8_t *page, size_t page_size, uint64_t number, unsigned want, bool strict,
                          struct qs_error *err)
{
    unsigned long long shown = (unsigned long long)number;
    if (load_u64(page) != number)
        return error_page(err, (int64_t)number, "page %llu has the number %llu", shown,
                          (unsigned long long)load_u64(page));
    if (load_u16(page + 10) != want)
        return error_page(err, (int64_t)number, "page %llu has flags %#x; expected %#x", shown, load_u16(page + 10),
                          want);
    size_t lower = load_u16(page + 12);
    size_t upper = load_u16(page + 14);
    if (lower < PAGE_HEADER_BYTES || lower % 2 != 0 || lower > upper || upper > page_size)
        return error_page(err, (int64_t)number, "page %llu has bounds %zu and %zu", shown, lower, upper);
    if (lower == PAGE_HEADER_BYTES)
        return error_page(err, (int64_t)number, "page %llu is a tree page without nodes", shown);
    enum qs_status status = check_nodes(page, page_size, number, want == PAGE_LEAF, err);
    if (!status && strict)
        status = check_tiling(page, page_size, number, want == PAGE_LEAF, err);
    return status;
}

enum qs_status overflow_check(const uint8_t *page, size_t page_size, uint64_t number, uint32_t data_len,
                              uint32_t *ret_pages, struct qs_error *err)
{
    unsigned long long shown = (unsigned long long)number;
    if (load_u64(page) != number || load_u16(page + 10) != PAGE_OVERFLOW)
        return error_page(err, (int64_t)number, "page %llu is not the overflow page it should be", shown);
    uint32_t pages = load_u32(page + 12);
    uint64_t need = ((uint64_t)data_len + PAGE_HEADER_BYTES + page_size - 1) / page_size;
    if (pages < need || pages >= PAGE_MAX_COUNT)
        return error_page(err, (int64_t)number, "the overflow run at page %llu has %u pages for %u bytes", shown, pages,
                          data_len);
    *ret_pages = pages;
    return QS_OK;
}
