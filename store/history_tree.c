/* SPDX-License-Identifier: Apache-2.0 */
/* The cursor over the history's tree. */
#include "store/history_tree.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/os.h"

#include <errno.h>
#include <string.h>

#define KEPT_PAGES 64u

struct history_page {
    uint64_t number; /* 0: none */
    uint8_t *bytes;
};

void history_tree_release(struct history_tree *tree)
{
    for (unsigned i = 0; tree->kept && i < KEPT_PAGES; i++)
        free(tree->kept[i].bytes);
    free(tree->kept);
    tree->kept = NULL;
}

/* ---- one page ---- */

/* What a subtree's keys must lie in: low <= key < high. */
struct bounds {
    struct history_place low, high;
};
static const struct bounds unbounded = {{0, 0}, {UINT64_MAX, UINT32_MAX}};

static int compare(struct history_place a, struct history_place b)
{
    if (a.generation != b.generation)
        return a.generation < b.generation ? -1 : 1;
    return a.chunk < b.chunk ? -1 : a.chunk > b.chunk;
}

static bool place_of(const struct node *node, struct history_place *ret_place)
{
    return history_key_decode((struct qs_bytes){node->key, node->key_len}, &ret_place->generation, &ret_place->chunk);
}

/* Keys are chunks' places, ascend, and lie within the bounds. A branch's first key is not used by LMDB. */
static enum qs_status check_keys(const uint8_t *page, uint64_t number, bool leaf, const struct bounds *bounds,
                                 struct qs_error *err)
{
    struct history_place previous = bounds->low, place;
    unsigned count = page_node_count(page);
    if (!leaf && count < 2)
        return error_page(err, (int64_t)number, "branch page %llu has one child", (unsigned long long)number);
    for (unsigned i = leaf ? 0 : 1; i < count; i++) {
        struct node node;
        page_node(page, i, leaf, &node);
        if (node.flags || !place_of(&node, &place))
            return error_page(err, (int64_t)number, "an entry of page %llu is not a chunk of a record",
                              (unsigned long long)number);
        int order = compare(previous, place);
        if (order > 0 || (order == 0 && i > (leaf ? 0u : 1u)) || compare(place, bounds->high) >= 0)
            return error_page(err, (int64_t)number, "the keys of page %llu are out of order",
                              (unsigned long long)number);
        previous = place;
    }
    return QS_OK;
}

/* The memory of the page that is replaced by this one. */
static enum qs_status make_space(struct history_tree *tree, struct history_page **ret_page, struct qs_error *err)
{
    if (!tree->kept)
        tree->kept = calloc(KEPT_PAGES, sizeof *tree->kept);
    if (!tree->kept)
        return error_memory(err);
    struct history_page *page = &tree->kept[tree->next];
    if (!page->bytes)
        page->bytes = malloc(tree->snapshot->meta.page_size);
    if (!page->bytes)
        return error_memory(err);
    page->number = 0;
    tree->next = (tree->next + 1) % KEPT_PAGES;
    *ret_page = page;
    return QS_OK;
}

static enum qs_status read_page(struct history_tree *tree, uint64_t number, uint8_t *bytes, struct qs_error *err)
{
    const struct meta *meta = &tree->snapshot->meta;
    if (number < 2 || number > meta->last_page)
        return error_page(err, number > INT64_MAX ? -1 : (int64_t)number,
                          "page %llu lies outside the store's %llu pages", (unsigned long long)number,
                          (unsigned long long)meta->last_page + 1);
    ssize_t got = os_pread_full(tree->fd, bytes, meta->page_size, (off_t)(number * meta->page_size));
    if (got < 0)
        return error_sys(err, QS_IO, errno, "page %llu cannot be read", (unsigned long long)number);
    if (got < (ssize_t)meta->page_size)
        return error_page(err, (int64_t)number, "page %llu lies beyond the end of the file",
                          (unsigned long long)number);
    return QS_OK;
}

/* A page that was checked is of one kind, and a place in it may be out of it once the file was written over. */
static enum qs_status check_kind(const uint8_t *page, uint64_t number, bool leaf, struct qs_error *err)
{
    unsigned want = leaf ? PAGE_LEAF : PAGE_BRANCH;
    return load_u16(page + 10) == want ? QS_OK
                                       : error_page(err, (int64_t)number, "page %llu has flags %#x; expected %#x",
                                                    (unsigned long long)number, load_u16(page + 10), want);
}

/* A page of the tree, from memory or from the file. Borrowed until the next call on this tree. */
static enum qs_status get_page(struct history_tree *tree, uint64_t number, bool leaf, const struct bounds *bounds,
                               const uint8_t **ret_page, struct qs_error *err)
{
    const struct tree_way *last = &tree->snapshot->last_history;
    struct history_page *page = NULL;
    for (unsigned i = 0; i < last->depth; i++)
        if (last->numbers[i] == number) {
            *ret_page = last->pages[i];
            return check_kind(*ret_page, number, leaf, err);
        }
    for (unsigned i = 0; tree->kept && i < KEPT_PAGES; i++)
        if (tree->kept[i].number == number) {
            *ret_page = tree->kept[i].bytes;
            return check_kind(*ret_page, number, leaf, err);
        }
    enum qs_status status = make_space(tree, &page, err);
    if (!status)
        status = read_page(tree, number, page->bytes, err);
    if (!status)
        status =
            page_check(page->bytes, tree->snapshot->meta.page_size, number, leaf ? PAGE_LEAF : PAGE_BRANCH, true, err);
    if (!status)
        status = check_keys(page->bytes, number, leaf, bounds, err);
    if (status)
        return status;
    page->number = number;
    *ret_page = page->bytes;
    return QS_OK;
}

enum qs_status history_tree_init(struct history_tree *tree, int fd, const struct qs_snapshot *snapshot,
                                 struct qs_error *err)
{
    const struct tree_way *last = &snapshot->last_history;
    const struct db *db = &snapshot->dbs[DB_HISTORY];
    *tree = (struct history_tree){.fd = fd, .snapshot = snapshot};
    if (db->depth > DB_MAX_DEPTH)
        return error_page(err, -1, "the history's tree has depth %u", db->depth);
    for (unsigned i = 0; i < last->depth; i++) {
        enum qs_status status = check_keys(last->pages[i], last->numbers[i], i + 1u == db->depth, &unbounded, err);
        if (status)
            return status;
    }
    return QS_OK;
}

/* ---- the cursor ---- */

/* How to go down a page that the cursor has no place in yet. */
enum go { GO_FIRST, GO_LAST, GO_TO };

static void bounds_of_child(const uint8_t *page, unsigned index, struct bounds *bounds)
{
    struct node node;
    page_node(page, index, false, &node);
    if (index > 0)
        (void)place_of(&node, &bounds->low); /* which the page's check saw to be one */
    if (index + 1 < page_node_count(page)) {
        page_node(page, index + 1, false, &node);
        (void)place_of(&node, &bounds->high);
    }
}

/* The last child whose keys may be at or before place; in a leaf the first chunk that is not before it. */
static unsigned index_of(const uint8_t *page, bool leaf, struct history_place place)
{
    unsigned low = leaf ? 0 : 1, end = page_node_count(page);
    while (low < end) {
        unsigned middle = low + (end - low) / 2;
        struct node node;
        struct history_place at;
        page_node(page, middle, leaf, &node);
        (void)place_of(&node, &at);
        int order = compare(at, place);
        if (leaf ? order < 0 : order <= 0)
            low = middle + 1;
        else
            end = middle;
    }
    return leaf ? low : low - 1;
}

/* From the root down: by the cursor's own nodes in the first `known` pages, and from there on as `go` says. */
static enum qs_status go_down(struct history_tree *tree, struct history_cursor *cursor, unsigned known, enum go go,
                              struct history_place place, struct qs_error *err)
{
    const struct db *db = &tree->snapshot->dbs[DB_HISTORY];
    struct bounds bounds = unbounded;
    uint64_t number = db->root;
    for (unsigned level = 0; level < db->depth; level++) {
        const uint8_t *page = NULL;
        bool leaf = level + 1u == db->depth;
        enum qs_status status = get_page(tree, number, leaf, &bounds, &page, err);
        if (status)
            return status;
        if (level >= known) {
            unsigned count = page_node_count(page);
            unsigned index = go == GO_FIRST ? 0 : go == GO_LAST ? count - 1 : index_of(page, leaf, place);
            cursor->way[level].page = number;
            cursor->way[level].index = index;
            cursor->way[level].count = count;
            tree->leaves += leaf;
        }
        if (cursor->way[level].index >= page_node_count(page) + leaf) /* GO_TO may end behind a leaf */
            return error_page(err, (int64_t)number, "page %llu is another one now", (unsigned long long)number);
        if (!leaf) {
            struct node node;
            page_node(page, cursor->way[level].index, false, &node);
            bounds_of_child(page, cursor->way[level].index, &bounds);
            number = node.page;
        }
    }
    return QS_OK;
}

/* One chunk on, within the leaf or in the next one; by: 1 or -1. */
static enum qs_status move(struct history_tree *tree, struct history_cursor *cursor, int by, struct qs_error *err)
{
    static const struct history_place anywhere;
    unsigned level = tree->snapshot->dbs[DB_HISTORY].depth;
    if (level == 0)
        return QS_OK;            /* no chunk at all: beyond it stays */
    if (cursor->beyond == -by) { /* back to the last one, or the first */
        cursor->beyond = 0;
        return QS_OK;
    }
    while (level-- > 0) {
        unsigned index = cursor->way[level].index;
        if (by > 0 ? index + 1 < cursor->way[level].count : index > 0) {
            cursor->way[level].index = by > 0 ? index + 1 : index - 1;
            return level + 1u == tree->snapshot->dbs[DB_HISTORY].depth
                       ? QS_OK
                       : go_down(tree, cursor, level + 1, by > 0 ? GO_FIRST : GO_LAST, anywhere, err);
        }
    }
    cursor->beyond = by;
    return QS_OK;
}

enum qs_status history_seek(struct history_tree *tree, struct history_place place, struct history_cursor *ret_cursor,
                            struct qs_error *err)
{
    const struct db *db = &tree->snapshot->dbs[DB_HISTORY];
    *ret_cursor = (struct history_cursor){.beyond = db->depth == 0};
    if (db->depth == 0)
        return QS_OK;
    enum qs_status status = go_down(tree, ret_cursor, 0, GO_TO, place, err);
    if (status)
        return status;
    unsigned leaf = db->depth - 1u;
    if (ret_cursor->way[leaf].index < ret_cursor->way[leaf].count)
        return QS_OK;
    ret_cursor->way[leaf].index--; /* behind the leaf's last chunk: the first one of the next leaf */
    return move(tree, ret_cursor, 1, err);
}

enum qs_status history_next(struct history_tree *tree, struct history_cursor *cursor, struct qs_error *err)
{
    return move(tree, cursor, 1, err);
}

enum qs_status history_previous(struct history_tree *tree, struct history_cursor *cursor, struct qs_error *err)
{
    return move(tree, cursor, -1, err);
}

enum qs_status history_chunk(struct history_tree *tree, const struct history_cursor *cursor,
                             struct history_place *ret_place, struct qs_bytes *ret_bytes, struct qs_error *err)
{
    unsigned leaf = tree->snapshot->dbs[DB_HISTORY].depth - 1u;
    const uint8_t *page = NULL;
    struct node node;
    enum qs_status status = get_page(tree, cursor->way[leaf].page, true, &unbounded, &page, err);
    if (!status && cursor->way[leaf].index >= page_node_count(page))
        status = error_page(err, (int64_t)cursor->way[leaf].page, "page %llu is another one now",
                            (unsigned long long)cursor->way[leaf].page);
    if (status)
        return status;
    page_node(page, cursor->way[leaf].index, true, &node);
    (void)place_of(&node, ret_place);
    *ret_bytes = (struct qs_bytes){node.data, node.data_len};
    return QS_OK;
}
