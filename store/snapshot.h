/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room store/: What is in this store, and is it whole?
 *
 * The verified snapshot, inside view. How a reader gets one without locks:
 *
 *   metas ──> the newer one is S ──> walk S's trees ──> digests ──> metas again: newest at most S+1? ──> snapshot
 *     ^                                   │ fault                        │ no
 *     └───────────────────────────────────┴──────────────────────────────┘ until a deadline (QS_BUSY); the same fault
 * with the same metas, three times over 200 ms: QS_DAMAGED
 *
 * docs/durability.md says why S+1 and why each page is then known to be one generation's.
 */
#ifndef STORE_SNAPSHOT_H
#define STORE_SNAPSHOT_H

#include "store/meta_record.h"
#include "store/page_cache.h"
#include "store/store_dir.h"
#include "text/doc.h"

#include <stdatomic.h>

/* The databases of a store, in the order of their names. */
enum store_db { DB_HISTORY, DB_LOCKS, DB_META, DB_SETTINGS, DB_TARGETS, DB_COUNT };
extern const char *const store_db_names[DB_COUNT];

#define METAS_BYTES (2u * (META_OFFSET + META_BYTES))

struct key_index;

struct qs_snapshot {
    atomic_uint references;
    struct meta_record record;
    struct entry_list areas[AREA_COUNT];
    struct page_cache pages; /* memory of the pages; no descriptor, no claims once handed out */
    struct meta meta;        /* the one it was read from */
    struct db dbs[DB_COUNT];
    uint8_t metas[METAS_BYTES]; /* as read before the walk */
    dev_t device;
    ino_t inode;
    unsigned retries;
    struct tree_way last_history;      /* the pages on the way to the history's last leaf (history, writers) */
    uint64_t used_pages, free_pages;   /* of the trees; listed in the free tree (writers and fsck) */
    struct leaves owned[AREA_COUNT];   /* likewise */
    _Atomic(struct key_index *) index; /* made when it pays; lookup.c */
    atomic_uint asked;                 /* lookups without it */
    struct content_marks *marks;       /* a writer's; NULL where there was no memory */
};

enum snapshot_flags {
    SNAPSHOT_WRITER = 1 << 0,  /* strict, the free tree and all that the history's branch pages name, too */
    SNAPSHOT_HISTORY = 1 << 1, /* the way to the history's last leaf is read too */
};

struct verified_read {
    int slot; /* SLOT_NEWER: all rules of a healthy store; 0 or 1: that meta alone (repair) */
    unsigned flags;
    uint64_t deadline_ms; /* when a walk over very many pages ends with QS_BUSY; 0: never */
};
#define SLOT_NEWER (-1)

/* One attempt on an open file, no retry. Errors: QS_DAMAGED, QS_NEWER, QS_BUSY (writers moved on, or the deadline),
 * QS_IO. Cost: each page at most once; memory for what the file truly holds, and 40 MiB at most. */
enum qs_status verified_read(int fd, const struct verified_read *how, struct qs_snapshot **ret_snapshot,
                             struct qs_error *err) QS_MUST_USE;

/* The reader's loop over verified_read. ret_fd (may be NULL): the file it was read from, open for the caller. */
enum qs_status snapshot_read(const struct store_dir *dir, unsigned wait_ms, unsigned flags, int *ret_fd,
                             struct qs_snapshot **ret_snapshot, struct qs_error *err) QS_MUST_USE;

/* The same loop for a file that is no scope's store (a backup); fd stays the caller's. */
enum qs_status snapshot_read_file(int fd, const char *name, unsigned flags, int *ret_fd,
                                  struct qs_snapshot **ret_snapshot, struct qs_error *err) QS_MUST_USE;

/* Did what a file held when the snapshot was read move on since? Errors: QS_IO. */
enum snapshot_moves {
    SNAPSHOT_STILL,  /* nothing that it uses may be written: its generation is the newest, or the newest but one */
    SNAPSHOT_UNDONE, /* its generation is not in the file any more, after a commit that failed */
    SNAPSHOT_OLDER,  /* later commits may use its pages again */
};
enum qs_status snapshot_moved(int fd, const struct qs_snapshot *snapshot, enum snapshot_moves *ret_moves,
                              struct qs_error *err) QS_MUST_USE;

/* A snapshot made of lists instead of a file: takes over the leaves (which are emptied). counts and content digest are
 * set from them. */
enum qs_status snapshot_make(const struct meta_record *record, struct leaves areas[AREA_COUNT],
                             struct qs_snapshot **ret_snapshot, struct qs_error *err) QS_MUST_USE;

/* The range of entries of an area at and below prefix. */
void snapshot_range(const struct entry_list *list, const struct qs_key *prefix, size_t *ret_first, size_t *ret_end);

/* Index of an exact key, or SIZE_MAX. */
size_t snapshot_find(const struct entry_list *list, const void *key, size_t len);

size_t snapshot_target_count(const struct qs_snapshot *snapshot);
void snapshot_target_at(const struct qs_snapshot *snapshot, size_t index, struct qs_bytes *ret_key,
                        struct qs_bytes *ret_value);

/* Store handle, inside view. */
struct qs_store {
    struct store_dir dir;
    unsigned wait_ms;
    struct env_cache *env; /* a writer's; NULL before its first transaction */
};

void snapshot_release(struct qs_snapshot **snapshot); /* for AUTO(snapshot_release) */

#endif
