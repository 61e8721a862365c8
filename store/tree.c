/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over one LMDB tree: depth first, in key order, every page checked before it is used. */
#include "base/buf.h"
#include "store/page_cache.h"
#include "text/key_path.h"

#include <string.h>

struct span { /* what a subtree's keys must lie in: low <= key < high; data NULL: unbounded */
    struct qs_bytes low, high;
};

struct walk {
    struct page_cache *pages;
    const struct db *db;
    unsigned flags;
    tree_visit visit;
    void *context;
    uint64_t branch_pages, leaf_pages, overflow_pages, entries;
};

static int compare(const struct walk *w, const void *a, size_t a_len, const void *b, size_t b_len)
{
    if (!(w->flags & TREE_INTEGER_KEYS))
        return key_compare(a, a_len, b, b_len);
    uint64_t left = load_u64(a);
    uint64_t right = load_u64(b);
    return left < right ? -1 : left > right;
}

static enum qs_status get_page(struct walk *w, uint64_t number, unsigned want, const uint8_t **ret_page,
                               struct qs_error *err)
{
    enum qs_status status = w->flags & TREE_CLAIM ? page_cache_claim(w->pages, number, 1, err) : QS_OK;
    if (!status)
        status = page_cache_load(w->pages, number, 1, ret_page, err);
    if (!status)
        status = page_check(*ret_page, w->pages->page_size, number, want, w->flags & TREE_STRICT, err);
    return status;
}

/* Keys ascend, lie within span, and integer keys have eight bytes. A branch's first key is not used by LMDB. */
static enum qs_status check_order(const struct walk *w, const uint8_t *page, uint64_t number, bool leaf,
                                  const struct span *span, struct qs_error *err)
{
    struct qs_bytes previous = span->low;
    unsigned count = page_node_count(page);
    for (unsigned i = leaf ? 0 : 1; i < count; i++) {
        struct node node;
        page_node(page, i, leaf, &node);
        if (w->flags & TREE_INTEGER_KEYS && node.key_len != 8)
            return error_page(err, (int64_t)number, "node %u of page %llu has a key of %u bytes", i,
                              (unsigned long long)number, node.key_len);
        int order = previous.data ? compare(w, previous.data, previous.len, node.key, node.key_len) : -1;
        bool first_may_equal = leaf ? i == 0 : i == 1;
        if (order > 0 || (order == 0 && !first_may_equal) ||
            (span->high.data && compare(w, node.key, node.key_len, span->high.data, span->high.len) >= 0))
            return error_page(err, (int64_t)number, "the keys of page %llu are out of order",
                              (unsigned long long)number);
        previous = (struct qs_bytes){node.key, node.key_len};
    }
    return QS_OK;
}

static enum qs_status counts_differ(const struct walk *w, struct qs_error *err)
{
    return error_page(err, w->db->root == PAGE_NONE ? -1 : (int64_t)w->db->root,
                      "the counts of the tree at page %lld differ from those recorded", (long long)w->db->root);
}

/* The most that one entry's value may take: a list of all pages in the free tree, a setting's text elsewhere. */
static uint64_t value_most(const struct walk *w)
{
    return w->flags & TREE_FREE ? (w->pages->page_count + 1) * 8 : QS_VALUE_MAX_BYTES;
}

static enum qs_status load_overflow(struct walk *w, uint64_t number, uint32_t data_len, const uint8_t **ret_data,
                                    struct qs_error *err)
{
    const uint8_t *page = NULL;
    uint32_t pages = 0;
    uint64_t need = ((uint64_t)data_len + PAGE_HEADER_BYTES + w->pages->page_size - 1) / w->pages->page_size;
    if (data_len > value_most(w))
        return error_page(err, (int64_t)number, "the value at page %llu has %u bytes, more than there may be",
                          (unsigned long long)number, data_len);
    if (need > w->db->overflow_pages - w->overflow_pages)
        return counts_differ(w, err);
    enum qs_status status = w->flags & TREE_CLAIM ? page_cache_claim(w->pages, number, need, err) : QS_OK;
    if (!status)
        status = page_cache_load(w->pages, number, need, &page, err);
    if (!status)
        status = overflow_check(page, w->pages->page_size, number, data_len, &pages, err);
    if (!status && w->flags & TREE_CLAIM && pages > need)
        status = page_cache_claim(w->pages, number + need, pages - need, err);
    if (status)
        return status;
    if (pages > w->db->overflow_pages - w->overflow_pages)
        return counts_differ(w, err);
    w->overflow_pages += pages;
    *ret_data = page + PAGE_HEADER_BYTES;
    return QS_OK;
}

static enum qs_status visit_leaf(struct walk *w, const uint8_t *page, struct qs_error *err)
{
    unsigned count = page_node_count(page);
    if (count > w->db->entries - w->entries)
        return counts_differ(w, err);
    w->entries += count;
    for (unsigned i = 0; i < count; i++) {
        struct node node;
        page_node(page, i, true, &node);
        enum qs_status status = QS_OK;
        if (node.flags & NODE_BIGDATA)
            status = load_overflow(w, node.page, node.data_len, &node.data, err);
        if (!status && w->visit)
            status = w->visit(w->context, &node, err);
        if (status)
            return status;
    }
    return QS_OK;
}

static struct span child_span(const uint8_t *page, unsigned index, const struct span *span)
{
    struct span child = *span;
    struct node node;
    if (index > 0) {
        page_node(page, index, false, &node);
        child.low = (struct qs_bytes){node.key, node.key_len};
    }
    if (index + 1 < page_node_count(page)) {
        page_node(page, index + 1, false, &node);
        child.high = (struct qs_bytes){node.key, node.key_len};
    }
    return child;
}

static enum qs_status walk_level(struct walk *w, uint64_t number, unsigned depth, const struct span *span,
                                 struct qs_error *err)
{
    const uint8_t *page = NULL;
    bool leaf = depth == 1;
    if (leaf ? w->leaf_pages++ == w->db->leaf_pages : w->branch_pages++ == w->db->branch_pages)
        return counts_differ(w, err);
    if (leaf && w->flags & TREE_KEYS_ONLY)
        return w->flags & TREE_CLAIM ? page_cache_claim(w->pages, number, 1, err) : QS_OK;
    enum qs_status status = get_page(w, number, leaf ? PAGE_LEAF : PAGE_BRANCH, &page, err);
    if (!status && w->flags & TREE_STRICT)
        status = check_order(w, page, number, leaf, span, err);
    if (status || leaf)
        return status ? status : visit_leaf(w, page, err);
    unsigned count = page_node_count(page);
    if (count < 2 && !(w->flags & TREE_FREE))
        return error_page(err, (int64_t)number, "branch page %llu has one child", (unsigned long long)number);
    for (unsigned i = 0; i < count && !status; i++) {
        struct node node;
        page_node(page, i, false, &node);
        struct span inner = child_span(page, i, span);
        status = walk_level(w, node.page, depth - 1, &inner, err);
    }
    return status;
}

static enum qs_status check_shape(const struct page_cache *pages, const struct db *db, struct qs_error *err)
{
    uint64_t most = pages->page_count;
    bool empty = db->root == PAGE_NONE;
    if (empty != (db->depth == 0) || db->depth > DB_MAX_DEPTH ||
        (empty && (db->entries || db->leaf_pages || db->branch_pages || db->overflow_pages)))
        return error_page(err, -1, "an impossible tree: depth %u, root %lld, %llu entries", db->depth,
                          (long long)db->root, (unsigned long long)db->entries);
    if (db->branch_pages >= most || db->leaf_pages >= most || db->overflow_pages >= most ||
        db->branch_pages + db->leaf_pages + db->overflow_pages >= most)
        return error_page(err, (int64_t)db->root, "a tree has more pages than the store's %llu",
                          (unsigned long long)most);
    return QS_OK;
}

enum qs_status tree_walk(struct page_cache *pages, const struct db *db, unsigned flags, tree_visit visit, void *context,
                         struct qs_error *err)
{
    struct walk w = {.pages = pages, .db = db, .flags = flags, .visit = visit, .context = context};
    enum qs_status status = check_shape(pages, db, err);
    if (!status && db->depth)
        status = walk_level(&w, db->root, db->depth, &(struct span){0}, err);
    if (status)
        return status;
    bool counts_hold = w.branch_pages == db->branch_pages && w.leaf_pages == db->leaf_pages;
    if (flags & TREE_KEYS_ONLY)
        counts_hold = counts_hold && db->overflow_pages == 0;
    else
        counts_hold = counts_hold && w.overflow_pages == db->overflow_pages && w.entries == db->entries;
    return counts_hold ? QS_OK : counts_differ(&w, err);
}

enum qs_status tree_check_last(struct page_cache *pages, const struct db *db, struct tree_way *ret_way,
                               struct qs_error *err)
{
    struct walk w = {.pages = pages, .db = db, .flags = TREE_STRICT};
    struct span span = {0};
    struct tree_way way = {.depth = db->depth};
    uint64_t number = db->root;
    enum qs_status status = check_shape(pages, db, err);
    for (unsigned level = 0; !status && level < way.depth; level++) {
        const uint8_t *page = NULL;
        bool leaf = level + 1 == way.depth;
        status = get_page(&w, number, leaf ? PAGE_LEAF : PAGE_BRANCH, &page, err);
        if (!status)
            status = check_order(&w, page, number, leaf, &span, err);
        if (status)
            return status;
        way.numbers[level] = number;
        way.pages[level] = page;
        unsigned last = page_node_count(page) - 1;
        if (!leaf && last == 0)
            return error_page(err, (int64_t)number, "branch page %llu has one child", (unsigned long long)number);
        if (!leaf) {
            struct node node;
            page_node(page, last, false, &node);
            span = child_span(page, last, &span);
            number = node.page;
        }
    }
    if (!status)
        *ret_way = way;
    return status;
}
