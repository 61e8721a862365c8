/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The LMDB environment: how bytes that were verified become the next generation. The only room that knows lmdb.h.
 *
 * LMDB gets an open descriptor (through /proc/self/fd/N, MDB_NOSUBDIR), never a name to create, and runs with
 * MDB_NOLOCK: one writer at a time is our own lock's business, and transaction ids come from the metas alone.
 */
#ifndef STORE_ENV_H
#define STORE_ENV_H

#include "store/snapshot.h"

/* One entry to put, or to delete (value.data NULL). Keys of one database ascend within a list. */
struct env_op {
    enum store_db db;
    struct qs_bytes key, value;
};

/* What a store holds after a commit. After one that failed env_commit itself knows OLD only; what else there is, is for
 * the caller to find out by reading. */
enum env_outcome { ENV_OLD, ENV_NEW, ENV_DAMAGED };

/*
 * An environment kept open between the commits of one store handle: opening one costs as much as a commit. It is used
 * again only by the process that opened it, for the same file, and only where nobody else committed since: then all
 * that LMDB remembers (its oldest id above all) is as true as in a fresh one. After any error it is closed.
 *
 * Counted references, for a transaction may outlive its store handle. Only who holds the writer lock uses it.
 */
struct env_cache;
struct env_cache *env_cache_new(void); /* one reference; NULL where there is no memory, which env_commit takes */
struct env_cache *env_cache_ref(struct env_cache *cache);
void env_cache_unref(struct env_cache *cache); /* NULL is fine; keeps errno */

/*
 * Applies ops to the store open at fd (read-write) as one durable LMDB transaction, which must be base's id + 1. cache
 * may be NULL.
 *
 * Durability: after QS_OK the pages and the meta are on disk. On an error *ret_outcome says what the file holds now:
 * the meta slot's former bytes were put back where the commit had changed them. Errors: QS_IO, QS_DAMAGED (LMDB found
 * fault with what was verified, or the slot could not be put back).
 */
enum qs_status env_commit(struct env_cache *cache, int fd, const struct meta *base, const struct env_op *ops,
                          size_t count, enum env_outcome *ret_outcome, struct qs_error *err) QS_MUST_USE;

/* The entries of a new store, each database's in ascending order of its keys, the history's before all others'. An
 * entry is borrowed until the next one is asked for; one without a key is the end. record is looked at then. */
struct env_source {
    enum qs_status (*next)(void *context, struct env_op *ret_op, struct qs_error *err);
    void *context;
    struct meta_record *record; /* the meta record; its transaction id is set here */
};

/*
 * Builds a new store in the empty file open at fd, and then one more transaction that rewrites the meta record, so that
 * the file is born with two metas that lead to records naming them. The file is flushed. Errors: QS_IO, the source's.
 * Cost: memory for some 16 MiB of entries, however many there are.
 */
enum qs_status env_build(int fd, const struct env_source *source, struct qs_error *err) QS_MUST_USE;

/* For tests: the map size to start with (0: by the file's size). Growing is what they look at. */
extern size_t env_first_map_bytes;

#endif
