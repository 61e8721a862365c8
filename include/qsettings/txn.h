/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions: begin, get, set, unset, apply, then commit or abort.
 *
 *     struct qs_txn *txn = NULL;
 *     struct qs_commit_options options = {.size = sizeof options, .message = "ops-114"};
 *     struct qs_commit_info info = {.size = sizeof info};
 *     enum qs_status status = qs_txn_begin(store, QS_DEFAULT_WAIT_MS, &txn, &err);
 *     if (status == QS_OK)
 *         status = qs_txn_set(txn, "tools.approvalMode", "\"default\"", 9, &err);
 *     if (status == QS_OK)
 *         status = qs_txn_commit(txn, &options, &info, &err);
 *     qs_txn_free(txn);
 *
 * One writer at a time holds the store's writer.lock from begin to commit, abort or free; each change is made against
 * the generation read under that lock, so no change is lost. The lock is never a reader's business.
 *
 * After a commit the store handle keeps the file open (and some 3 MiB of memory) for its next one, until it is closed.
 *
 * Threads: one thread at a time. Fork: in a child every call on the parent's transaction gives QS_USAGE; the child's
 * copy of the lock is closed at once and the parent keeps it.
 */
#ifndef QSETTINGS_TXN_H
#define QSETTINGS_TXN_H

#include "qsettings/store.h"

#ifdef __cplusplus
extern "C" {
#endif

struct qs_txn;

/* Waits up to wait_ms for the lock, then verifies the store as a reader does and its free pages too.
 * Ownership: the caller frees with qs_txn_free. Errors: QS_BUSY (who holds the lock: pid, user, since when), QS_ABSENT
 * (only init creates a store), QS_UNTRUSTED (also a network file system, or a home that is not the effective user's),
 * QS_DAMAGED, QS_IO. */
QS_API enum qs_status qs_txn_begin(struct qs_store *store, unsigned wait_ms, struct qs_txn **ret_txn,
                                   struct qs_error *err) QS_MUST_USE;

/* The generation the transaction started from; the changes so far are not in it. Borrowed from the transaction. */
QS_API const struct qs_snapshot *qs_txn_base(const struct qs_txn *txn);

/* A node as canonical JSON, changes of this transaction included. Heap text of the caller (free()).
 * Errors: QS_NOT_FOUND, QS_INVALID, QS_IO. */
QS_API enum qs_status qs_txn_get(struct qs_txn *txn, const char *key, char **ret_text, size_t *ret_len,
                                 struct qs_error *err) QS_MUST_USE;

/* The node at key becomes the JSON value json: what was at and below it goes; a scalar or array above it gives way to
 * an object. Errors: QS_INVALID (path, JSON, bounds, schema), QS_IO. */
QS_API enum qs_status qs_txn_set(struct qs_txn *txn, const char *key, const char *json, size_t len,
                                 struct qs_error *err) QS_MUST_USE;

/* Removes the node at key and all below it. Errors: QS_NOT_FOUND (nothing there), QS_INVALID. */
QS_API enum qs_status qs_txn_unset(struct qs_txn *txn, const char *key, struct qs_error *err) QS_MUST_USE;

enum qs_text_format {
    QS_FORMAT_AUTO = 0, /* by the file name's ending */
    QS_FORMAT_JSON = 1, /* comments and a byte order mark allowed */
    QS_FORMAT_YAML = 2,
};

/* Merges a document: objects deep, arrays and scalars replaced; with replace the scope becomes the document.
 * file_name is for messages. Errors: QS_INVALID with file, line and column; QS_IO. */
QS_API enum qs_status qs_txn_apply(struct qs_txn *txn, const char *file_name, const char *text, size_t len,
                                   enum qs_text_format format, bool replace, struct qs_error *err) QS_MUST_USE;

/* Locks or unlocks a subtree against weaker scopes. Unlocking what is not locked: QS_NOT_FOUND. */
QS_API enum qs_status qs_txn_lock(struct qs_txn *txn, const char *key, struct qs_error *err) QS_MUST_USE;
QS_API enum qs_status qs_txn_unlock(struct qs_txn *txn, const char *key, struct qs_error *err) QS_MUST_USE;

/* Whether "no policy" is an error for readers of this store. */
QS_API enum qs_status qs_txn_require_policy(struct qs_txn *txn, bool required, struct qs_error *err) QS_MUST_USE;

struct qs_commit_options {
    size_t size;
    const char *message;    /* NULL or "": none; at most QS_MESSAGE_MAX_BYTES of UTF-8 */
    uint64_t if_generation; /* 0: any; else the commit is refused (QS_CONFLICT) when the base is another one */
    const char *program;    /* NULL: this process's name */
};

struct qs_commit_info {
    size_t size;
    uint64_t generation; /* the new one, or the base's when nothing changed */
    bool changed;        /* false: no new generation was made */
    size_t change_count; /* see qs_txn_change */
    size_t target_count; /* files that the store has registered; 0: qs_publish_registered has nothing to do */
    unsigned char digest[QS_DIGEST_BYTES];
};

/*
 * Makes the changes durable as one new generation with its history record, and releases the lock. A transaction that
 * changes nothing makes no generation.
 *
 * Durability: after QS_OK the generation survives a crash and a power cut. After any error the message says what is
 * stored now; after a crash in between the store holds the old or the new generation, complete. Errors: QS_CONFLICT,
 * QS_INVALID (schema of the whole), QS_IO (ENOSPC, EIO: old or new stands in the message), QS_DAMAGED, QS_USAGE
 * (already ended, or a forked child). The transaction has ended afterwards, whatever the result; qs_txn_free releases
 * its memory.
 */
QS_API enum qs_status qs_txn_commit(struct qs_txn *txn, const struct qs_commit_options *options,
                                    struct qs_commit_info *ret_info, struct qs_error *err) QS_MUST_USE;

/* The change list, against the base: before the commit, and after it until qs_txn_free. */
enum qs_area {
    QS_AREA_SETTINGS = 1,
    QS_AREA_LOCKS = 2,   /* values: "true" */
    QS_AREA_TARGETS = 3, /* published files: key is the file's path */
    QS_AREA_FLAGS = 4,   /* key "requirePolicy" */
    QS_AREA_HISTORY = 5, /* key "history"; old value: what was cut from it, see docs/format.md */
};
struct qs_change {
    enum qs_area area;
    struct qs_bytes key;         /* encoded */
    struct qs_bytes old_value;   /* data NULL: was not there */
    struct qs_bytes new_value;   /* data NULL: is gone */
    bool old_purged, new_purged; /* in history only: the value was taken out by purge */
};
QS_API enum qs_status qs_txn_changes(struct qs_txn *txn, size_t *ret_count, struct qs_error *err) QS_MUST_USE;
/* A change of the last qs_txn_changes, NULL unless index < count. Borrowed, with its bytes, until the transaction is
 * changed, listed again or freed. */
QS_API const struct qs_change *qs_txn_change(const struct qs_txn *txn, size_t index);

QS_API void qs_txn_abort(struct qs_txn *txn); /* releases the lock, drops the changes; NULL is fine */
QS_API void qs_txn_free(struct qs_txn *txn);  /* aborts if still open */

#ifdef __cplusplus
}
#endif
#endif
