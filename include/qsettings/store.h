/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores and snapshots: read one complete generation of one scope, or be refused with a reason.
 *
 *     struct qs_error err = {0};
 *     struct qs_store *store = NULL;
 *     struct qs_snapshot *snapshot = NULL;
 *     if (qs_store_open(QS_SCOPE_SYSTEM, NULL, &store, &err) == QS_OK &&
 *         qs_snapshot_take(store, &snapshot, &err) == QS_OK) {
 *         struct qs_bytes value;
 *         if (qs_snapshot_get(snapshot, "tools.approvalMode", &value, &err) == QS_OK)
 *             printf("%.*s\n", (int)value.len, (const char *)value.data);
 *     }
 *     qs_snapshot_unref(snapshot);
 *     qs_store_close(store);
 *
 * Reading takes no lock, writes nothing, maps nothing and needs only read permission. It never falls back to an older
 * generation: what cannot be verified is refused.
 *
 * Threads: a store handle may be used by one thread at a time; a snapshot is immutable and may be shared. Any number of
 * stores and snapshots may be open. Both survive fork in parent and child.
 */
#ifndef QSETTINGS_STORE_H
#define QSETTINGS_STORE_H

#include "qsettings/key.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct qs_store;
struct qs_snapshot;

/* Weakest first; the numbers are stored on disk. A workspace is a file, not a store. */
enum qs_scope {
    QS_SCOPE_EFFECTIVE = 0, /* no store: what all scopes give together; only where a function allows it */
    QS_SCOPE_DEFAULTS = 1,
    QS_SCOPE_USER = 2,
    QS_SCOPE_SYSTEM = 3,
};

QS_API const char *qs_scope_name(enum qs_scope scope); /* "effective", "defaults", "user", "system" */

struct qs_store_options {
    size_t size;      /* sizeof(struct qs_store_options); likewise in all that follow */
    const char *root; /* NULL: the fixed places. Else DIR/defaults, DIR/user, DIR/system, owned by root or the caller.
                       * Never taken from the environment. */
    unsigned wait_ms; /* how long a read may retry; 0: QS_DEFAULT_READ_WAIT_MS */
};

/* Names the place of a scope; touches no file but the password database (user scope). options may be NULL.
 * Ownership: the caller closes. Errors: QS_USAGE (bad scope, root not absolute), QS_IO (no home in the password
 * database, memory). */
QS_API enum qs_status qs_store_open(enum qs_scope scope, const struct qs_store_options *options,
                                    struct qs_store **ret_store, struct qs_error *err) QS_MUST_USE;
QS_API void qs_store_close(struct qs_store *store);

QS_API enum qs_scope qs_store_scope(const struct qs_store *store);
QS_API const char *qs_store_path(const struct qs_store *store); /* the directory; valid until close */
QS_API const char *qs_store_root(const struct qs_store *store); /* as given, NULL for the fixed places; until close */

/*
 * Reads the newest generation whole, verified, into private memory.
 *
 * Ownership: one reference for the caller; release with qs_snapshot_unref.
 * Errors: QS_ABSENT (ENOENT in a directory that could be opened, at some step of the way), QS_UNTRUSTED (owner, mode,
 * not permitted, a link inside the store), QS_DAMAGED (page and reason; the same fault in three walks over 200 ms with
 * unchanged metas), QS_BUSY (writers moved on faster than the deadline allowed, in three walks at least; figures in the
 * message), QS_NEWER (a later version's store), QS_IO.
 * Durability: what is read may be the generation whose last write has not returned to its writer yet.
 * Cost: one pass over the settings' pages; independent of the length of the history.
 */
QS_API enum qs_status qs_snapshot_take(struct qs_store *store, struct qs_snapshot **ret_snapshot,
                                       struct qs_error *err) QS_MUST_USE;
QS_API struct qs_snapshot *qs_snapshot_ref(struct qs_snapshot *snapshot);
QS_API void qs_snapshot_unref(struct qs_snapshot *snapshot); /* NULL is fine; keeps errno */

/* Facts of a snapshot. Pointers are valid as long as the snapshot. */
QS_API enum qs_scope qs_snapshot_scope(const struct qs_snapshot *snapshot);
QS_API uint64_t qs_snapshot_generation(const struct qs_snapshot *snapshot);
QS_API const unsigned char *qs_snapshot_digest(const struct qs_snapshot *snapshot);   /* QS_DIGEST_BYTES */
QS_API const unsigned char *qs_snapshot_store_id(const struct qs_snapshot *snapshot); /* QS_STORE_ID_BYTES */
QS_API int64_t qs_snapshot_time(const struct qs_snapshot *snapshot); /* commit time, seconds since the epoch, UTC */
QS_API size_t qs_snapshot_count(const struct qs_snapshot *snapshot); /* leaves */
QS_API bool qs_snapshot_requires_policy(const struct qs_snapshot *snapshot);
QS_API unsigned qs_snapshot_retries(const struct qs_snapshot *snapshot); /* walks that were started over */

/* One leaf by its key path, as canonical JSON; borrowed from the snapshot.
 * Errors: QS_NOT_FOUND (also for a path that has only leaves below it), QS_INVALID (the path's text).
 * Cost: no system call. A snapshot that is asked often makes itself an index once, some twelve bytes an entry, and
 * does without where there is no memory. */
QS_API enum qs_status qs_snapshot_get(const struct qs_snapshot *snapshot, const char *key, struct qs_bytes *ret_value,
                                      struct qs_error *err) QS_MUST_USE;

/* The same by encoded key. */
QS_API enum qs_status qs_snapshot_get_key(const struct qs_snapshot *snapshot, const struct qs_key *key,
                                          struct qs_bytes *ret_value) QS_MUST_USE;

/* Any node as canonical JSON text, a subtree assembled to an object; key NULL: the whole document.
 * Ownership: heap text of the caller, zero-terminated; release with free(). Errors: QS_NOT_FOUND, QS_INVALID, QS_IO. */
QS_API enum qs_status qs_snapshot_json(const struct qs_snapshot *snapshot, const char *key, char **ret_text,
                                       size_t *ret_len, struct qs_error *err) QS_MUST_USE;

/* The leaves at and below prefix (NULL: all), in the store's order:
 *
 *     struct qs_iter iter = qs_snapshot_iter(snapshot, NULL);
 *     struct qs_bytes key, value;
 *     while (qs_iter_next(&iter, &key, &value))
 *         printf("%zu bytes\n", value.len);
 *
 * key is encoded (qs_key_format makes text of it); both are borrowed from the snapshot. */
struct qs_iter {
    const struct qs_snapshot *snapshot;
    size_t at, end;
};
QS_API struct qs_iter qs_snapshot_iter(const struct qs_snapshot *snapshot, const struct qs_key *prefix);
QS_API bool qs_iter_next(struct qs_iter *iter, struct qs_bytes *ret_key, struct qs_bytes *ret_value);

/* Locked subtrees, in the store's order. data NULL unless index < count. */
QS_API size_t qs_snapshot_lock_count(const struct qs_snapshot *snapshot);
QS_API struct qs_bytes qs_snapshot_lock_at(const struct qs_snapshot *snapshot, size_t index);

/* Has the store changed since? True if the path's device or inode differs, or the metas differ; a store that is gone or
 * cannot be opened any more has changed too (and NULL). Cost: a walk of the path and one small read. */
QS_API bool qs_snapshot_changed(const struct qs_snapshot *snapshot, struct qs_store *store);

#ifdef __cplusplus
}
#endif
#endif
