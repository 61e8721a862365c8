/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history's tree, one page at a time: a cursor over the chunks of its records.
 *
 * Records are only appended, so of generation S's pages a later commit replaces those on the way to the last leaf and
 * no other. These are read with S, under a reader's rules; every other page stays where it is as long as the file, and
 * is read when somebody asks for it, checked as it comes. (compact on a full disk may cut the oldest records away in
 * place: history_read.c tells that from damage.) docs/durability.md says the same with its reasons.
 *
 * Cost: a seek reads a page for each level of the tree; a few pages are kept.
 */
#ifndef STORE_HISTORY_TREE_H
#define STORE_HISTORY_TREE_H

#include "store/history_codec.h"
#include "store/snapshot.h"

struct history_place {
    uint64_t generation;
    uint32_t chunk;
};

struct history_tree {
    int fd;                             /* borrowed */
    const struct qs_snapshot *snapshot; /* borrowed: the tree's root, and the pages on the way to its last leaf */
    struct history_page *kept;          /* owned: pages read lately */
    unsigned next;                      /* the one to be replaced next */
    uint64_t leaves;                    /* how many the cursor went into, for who goes over all */
};

/* Prepares for the history of a snapshot that was read from fd. Errors: QS_DAMAGED. */
enum qs_status history_tree_init(struct history_tree *tree, int fd, const struct qs_snapshot *snapshot,
                                 struct qs_error *err) QS_MUST_USE;
void history_tree_release(struct history_tree *tree);

/* Where a cursor is: a node in each page on the way down, the root first. */
struct history_cursor {
    struct {
        uint64_t page;
        unsigned index, count;
    } way[DB_MAX_DEPTH];
    int beyond; /* 1: behind the last chunk; -1: before the first; 0: at one */
};

/* To the first chunk at or behind place. Errors here and below: QS_DAMAGED with the page, QS_IO. */
enum qs_status history_seek(struct history_tree *tree, struct history_place place, struct history_cursor *ret_cursor,
                            struct qs_error *err) QS_MUST_USE;
enum qs_status history_next(struct history_tree *tree, struct history_cursor *cursor, struct qs_error *err) QS_MUST_USE;
enum qs_status history_previous(struct history_tree *tree, struct history_cursor *cursor,
                                struct qs_error *err) QS_MUST_USE;

/* The chunk at a cursor that is at one. The bytes are borrowed until the next call on this tree. */
enum qs_status history_chunk(struct history_tree *tree, const struct history_cursor *cursor,
                             struct history_place *ret_place, struct qs_bytes *ret_bytes,
                             struct qs_error *err) QS_MUST_USE;

#endif
