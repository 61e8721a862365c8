/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room approval/: Is this tree of files the one that was approved?
 *
 * Approved trees: what runs is a copy of a directory, made and hashed in one pass by descriptor, so that later changes
 * of the directory count for nothing.
 *
 * A tree is a list of entries, directories before what they contain, names of one directory in the order of their
 * bytes. Its digest is BLAKE2b-256 over this list:
 *
 *   file       'f', name, executable (0 or 1), 64-bit length, digest of the content
 *   link       'l', name, its text
 *   directory  'd', name, what it contains, 'e'
 *
 * names and texts with their 64-bit length before them; the directory itself has the empty name. Its text form is
 * "tree:blake2b-256:HEX". A manifest has the entries with the inode, size and change time of each copied file, so that
 * a start compares a stat each instead of reading everything again.
 */
#ifndef APPROVAL_TREE_H
#define APPROVAL_TREE_H

#include "base/buf.h"
#include "base/error.h"
#include "qsettings/limits.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TREE_MAX_ENTRIES  20000u
#define TREE_MAX_BYTES    ((uint64_t)256 << 20) /* by size, not by blocks */
#define TREE_MAX_DEPTH    64u
#define TREE_PATH_MAX     4096u
#define TREE_DIGEST_TEXT  (5 + 12 + 64 + 1)
#define TREE_MANIFEST_MAX ((size_t)128 << 20)

enum tree_type {
    TREE_DIRECTORY = 'd',
    TREE_FILE = 'f',
    TREE_LINK = 'l',
};

struct tree_entry {
    enum tree_type type;
    bool executable;
    unsigned depth; /* 1: in the tree's own directory */
    char *path;     /* relative to the tree */
    char *link;     /* of a link, else NULL */
    uint64_t size;
    uint8_t digest[QS_DIGEST_BYTES]; /* of a file */
    uint64_t ino;                    /* of the copy */
    int64_t changed_s;               /* the copy's change time */
    uint32_t changed_ns;
};

struct tree {
    struct tree_entry *entries;
    size_t count, cap;
    uint64_t bytes;
    uint64_t ino; /* of the tree's own directory */
};

void tree_release(struct tree *tree);
void tree_digest(const struct tree *tree, uint8_t out[QS_DIGEST_BYTES]);
void tree_digest_text(const uint8_t digest[QS_DIGEST_BYTES], char out[TREE_DIGEST_TEXT]);
/* False: not such a text. */
bool tree_digest_parse(const char *text, size_t len, uint8_t out[QS_DIGEST_BYTES]);
/* The entry with this path, or NULL. */
const struct tree_entry *tree_find(const struct tree *tree, const char *path);

/*
 * Copies the directory source into the empty directory target and flushes it. Taken in: directories, regular files
 * (0444 or 0555; set-user-ID bits, ACLs and extended attributes stay behind, hard links become files), links that stay
 * in the tree, and absolute links to regular files that belong to root on the whole way.
 * Errors: QS_INVALID (another kind of entry, a name that is not UTF-8 or has control characters, a link that leads out,
 * over a bound; the place is the entry's path), QS_CONFLICT (an entry changed while it was read), QS_UNTRUSTED (an
 * entry may not be read), QS_IO. What was copied so far stays in target.
 */
enum qs_status tree_copy(int source, int target, struct tree *ret_tree, struct qs_error *err) QS_MUST_USE;

/* Reads a tree as it lies, hashing every file: the same entries as its copy had. Errors as tree_copy. */
enum qs_status tree_read(int directory, struct tree *ret_tree, struct qs_error *err) QS_MUST_USE;

/* Does the directory have exactly the manifest's entries, each with its type, size, inode and change time? Reads no
 * content. Errors: QS_DAMAGED with the first path that differs, QS_IO. */
enum qs_status tree_verify(int directory, const struct tree *manifest, struct qs_error *err) QS_MUST_USE;

/* Errors: QS_IO (memory). */
enum qs_status tree_manifest_encode(const struct tree *tree, struct buf *out, struct qs_error *err) QS_MUST_USE;
/* Errors: QS_DAMAGED (not a manifest, or cut), QS_IO. Ownership: tree_release. */
enum qs_status tree_manifest_decode(const void *data, size_t len, struct tree *ret_tree,
                                    struct qs_error *err) QS_MUST_USE;

/* What changed from one tree to another. Both lists are in the same order; either side is NULL if it has none. */
typedef enum qs_status (*tree_change_fn)(const struct tree_entry *before, const struct tree_entry *after,
                                         void *context);
enum qs_status tree_compare(const struct tree *before, const struct tree *after, tree_change_fn change,
                            void *context) QS_MUST_USE;

/* Does this text, as a link in a directory of this depth (0: the tree itself), stay in the tree? Leading ".." up to the
 * tree, then plain names: a ".." behind a name would be resolved through whatever link that name is. Pure. */
bool tree_link_stays(const char *text, unsigned depth);

#endif
