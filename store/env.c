/* SPDX-License-Identifier: Apache-2.0 */
/* The LMDB environment: open through a verified descriptor, one transaction, keep or close. */
#include "store/env.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define MAP_STEP_BYTES ((size_t)1 << 20)
#define MAP_MAX_BYTES  ((size_t)1 << 36) /* 64 GiB: PAGE_MAX_COUNT pages of 4 KiB */

size_t env_first_map_bytes;

/* LMDB's failed assertions must not end the host program: they come back here. */
struct guard {
    jmp_buf jump;
    char text[200];
};

static void on_assert(MDB_env *env, const char *text)
{
    struct guard *guard = mdb_env_get_userctx(env);
    (void)snprintf(guard->text, sizeof guard->text, "%s", text);
    longjmp(guard->jump, 1);
}

static enum qs_status lmdb_failed(struct qs_error *err, int code, const char *step)
{
    switch (code) {
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_CURSOR_FULL:
    case MDB_PANIC:
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
    case MDB_BAD_TXN:
    case MDB_NOTFOUND:
    case MDB_KEYEXIST:
    case MDB_INCOMPATIBLE:
        return error_page(err, -1, "LMDB reported corruption while %s: %s", step, mdb_strerror(code));
    case MDB_TXN_FULL:
        return error_set(err, QS_INVALID, "the change is too large for one transaction");
    case MDB_MAP_FULL:
        return error_set(err, QS_IO, "the store would grow beyond %zu bytes", MAP_MAX_BYTES);
    case ENOENT: /* open_env names the descriptor to LMDB by its path there */
        return error_set(err, QS_IO, "%s failed: writing a store needs /proc, which is not mounted", step);
    default:
        if (code > 0)
            return error_sys(err, QS_IO, code, "%s failed", step);
        return error_set(err, QS_IO, "%s failed: %s", step, mdb_strerror(code));
    }
}

static size_t round_up(size_t bytes)
{
    return (bytes + MAP_STEP_BYTES - 1) / MAP_STEP_BYTES * MAP_STEP_BYTES;
}

static int open_env(int fd, size_t map_bytes, unsigned extra_flags, struct guard *guard, MDB_env **ret_env)
{
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    MDB_env *env = NULL;
    int code = mdb_env_create(&env);
    if (code)
        return code;
    code = mdb_env_set_userctx(env, guard);
    if (!code)
        code = mdb_env_set_assert(env, on_assert);
    if (!code)
        code = mdb_env_set_maxdbs(env, DB_COUNT);
    if (!code)
        code = mdb_env_set_mapsize(env, map_bytes);
    if (!code)
        code = mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOLOCK | extra_flags, 0600);
    mdb_filehandle_t data_fd = -1;
    if (!code)
        code = mdb_env_get_fd(env, &data_fd);
    if (!code && fcntl(data_fd, F_SETFD, FD_CLOEXEC)) /* LMDB sets it on its meta descriptor only */
        code = errno;
    struct stat ours = {0};
    struct stat theirs = {0};
    if (!code && (fstat(fd, &ours) || fstat(data_fd, &theirs)))
        code = errno;
    if (!code && (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino))
        code = ESTALE;
    if (code) {
        mdb_env_close(env);
        return code;
    }
    *ret_env = env;
    return 0;
}

/* ---- the environment kept open ---- */

struct env_cache {
    atomic_uint references;
    MDB_env *env; /* NULL: none is kept */
    pid_t pid;
    dev_t device;
    ino_t inode;
    uint64_t txn_id; /* of the commit it made last */
    size_t map_bytes;
};

struct env_cache *env_cache_new(void)
{
    struct env_cache *cache = calloc(1, sizeof *cache);
    if (cache)
        atomic_init(&cache->references, 1);
    return cache;
}

struct env_cache *env_cache_ref(struct env_cache *cache)
{
    if (cache)
        atomic_fetch_add_explicit(&cache->references, 1, memory_order_relaxed);
    return cache;
}

void env_cache_unref(struct env_cache *cache)
{
    if (!cache || atomic_fetch_sub_explicit(&cache->references, 1, memory_order_acq_rel) != 1)
        return;
    int saved = errno;
    if (cache->env)
        mdb_env_close(cache->env);
    free(cache);
    errno = saved;
}

/* Takes the kept environment out if it may be used for the commit after txn_id; one that may not is closed. */
static MDB_env *cache_take(struct env_cache *cache, int fd, uint64_t txn_id, size_t map_bytes)
{
    struct stat st;
    MDB_env *env = cache ? cache->env : NULL;
    if (!env)
        return NULL;
    cache->env = NULL;
    if (cache->pid == getpid() && fstat(fd, &st) == 0 && st.st_dev == cache->device && st.st_ino == cache->inode &&
        cache->txn_id == txn_id && cache->map_bytes >= map_bytes)
        return env;
    mdb_env_close(env);
    return NULL;
}

static void cache_keep(struct env_cache *cache, MDB_env *env, int fd, uint64_t txn_id, size_t map_bytes)
{
    struct stat st;
    if (!cache || fstat(fd, &st)) {
        mdb_env_close(env);
        return;
    }
    cache->env = env;
    cache->pid = getpid();
    cache->device = st.st_dev;
    cache->inode = st.st_ino;
    cache->txn_id = txn_id;
    cache->map_bytes = map_bytes;
}

/* ---- one transaction ---- */

static int put_ops(MDB_txn *txn, const MDB_dbi dbis[DB_COUNT], const struct env_op *ops, size_t count, bool append)
{
    int code = 0;
    for (size_t i = 0; i < count && !code; i++) {
        MDB_val key = {ops[i].key.len, (void *)ops[i].key.data};
        MDB_val value = {ops[i].value.len, (void *)ops[i].value.data};
        /* History grows at its end only: appending fills its pages, and touches none but the last. */
        unsigned flags = append || ops[i].db == DB_HISTORY ? MDB_APPEND : 0;
        if (ops[i].value.data)
            code = mdb_put(txn, dbis[ops[i].db], &key, &value, flags);
        else
            code = mdb_del(txn, dbis[ops[i].db], &key, NULL);
    }
    return code;
}

static int open_dbs(MDB_txn *txn, unsigned flags, MDB_dbi dbis[DB_COUNT])
{
    int code = 0;
    for (unsigned i = 0; i < DB_COUNT && !code; i++)
        code = mdb_dbi_open(txn, store_db_names[i], flags, &dbis[i]);
    return code;
}

/* One transaction in an open environment. *committing tells whether the metas may have been touched. */
static int one_transaction(MDB_env *env, uint64_t expected_id, const struct env_op *ops, size_t count, bool create,
                           bool *committing)
{
    MDB_txn *txn = NULL;
    MDB_dbi dbis[DB_COUNT];
    int code = mdb_txn_begin(env, NULL, 0, &txn);
    if (code)
        return code;
    if (mdb_txn_id(txn) != expected_id)
        code = MDB_PANIC;
    if (!code)
        code = open_dbs(txn, create ? MDB_CREATE : 0, dbis);
    if (!code)
        code = put_ops(txn, dbis, ops, count, create);
    if (code) {
        mdb_txn_abort(txn);
        return code;
    }
    *committing = true;
    return mdb_txn_commit(txn);
}

/* ---- commit to a live store ---- */

struct slot {
    int fd;
    off_t at;
    uint8_t before[META_SLOT_BYTES];
};

static enum qs_status save_slot(int fd, const struct meta *base, struct slot *slot, struct qs_error *err)
{
    slot->fd = fd;
    slot->at = (off_t)((base->txn_id + 1) & 1) * base->page_size + META_OFFSET + META_SLOT_OFFSET;
    ssize_t got = os_pread_full(fd, slot->before, sizeof slot->before, slot->at);
    if (got != (ssize_t)sizeof slot->before)
        return error_sys(err, QS_IO, got < 0 ? errno : EIO, "the meta page cannot be read");
    return QS_OK;
}

/* After an error on the meta write LMDB puts the old id back, but with the new roots: the slot's own bytes must stand.
 */
static enum env_outcome restore_slot(const struct slot *slot)
{
    uint8_t now[META_SLOT_BYTES];
    if (os_pread_full(slot->fd, now, sizeof now, slot->at) == (ssize_t)sizeof now &&
        memcmp(now, slot->before, sizeof now) == 0)
        return ENV_OLD;
    bool written = os_pwrite_full(slot->fd, slot->before, sizeof slot->before, slot->at) == 0;
    bool flushed = written && os_fdatasync(slot->fd) == 0;
    (void)flushed; /* what the next reader sees is what counts; the message says that the disk is failing */
    if (os_pread_full(slot->fd, now, sizeof now, slot->at) == (ssize_t)sizeof now &&
        memcmp(now, slot->before, sizeof now) == 0)
        return ENV_OLD;
    return ENV_DAMAGED;
}

static size_t first_map(int fd, const struct env_op *ops, size_t count)
{
    if (env_first_map_bytes)
        return env_first_map_bytes;
    struct stat st;
    size_t bytes = fstat(fd, &st) ? 0 : (size_t)st.st_size;
    for (size_t i = 0; i < count; i++)
        bytes += 2 * (ops[i].key.len + ops[i].value.len) + 64;
    return round_up(bytes + MAP_STEP_BYTES);
}

struct attempt {
    int fd;
    struct env_cache *cache; /* NULL: open and close */
    uint64_t txn_id;
    const struct env_op *ops;
    size_t count;
    bool create;
    const uint8_t *second_record; /* building: the record of the transaction after */
    size_t map_bytes;
    bool committing; /* out */
};

static int run_in_env(MDB_env *env, struct attempt *a)
{
    int code = one_transaction(env, a->txn_id, a->ops, a->count, a->create, &a->committing);
    if (code || !a->second_record)
        return code;
    struct env_op again = {DB_META,
                           {META_RECORD_KEY, sizeof META_RECORD_KEY - 1},
                           {a->second_record, META_RECORD_BYTES}};
    return one_transaction(env, a->txn_id + 1, &again, 1, false, &a->committing);
}

/* setjmp lives in a function of its own, whose locals it cannot clobber. */
static int guarded(struct attempt *a, struct guard *guard)
{
    MDB_env *volatile env = NULL;
    if (setjmp(guard->jump)) {
        /* LMDB's own state is not to be trusted any more, not even for closing; only the descriptor is given back. */
        int data_fd = -1;
        if (env && mdb_env_get_fd((MDB_env *)env, &data_fd) == 0)
            (void)close(data_fd);
        return MDB_CORRUPTED;
    }
    MDB_env *opened = cache_take(a->cache, a->fd, a->txn_id - 1, a->map_bytes);
    int code = 0;
    if (opened)
        code = mdb_env_set_userctx(opened, guard);
    else
        code = open_env(a->fd, a->map_bytes, a->create ? MDB_NOSYNC : 0, guard, &opened);
    env = opened;
    if (!code)
        code = run_in_env(opened, a);
    if (!code)
        cache_keep(a->cache, opened, a->fd, a->txn_id, a->map_bytes);
    else if (opened)
        mdb_env_close(opened);
    return code;
}

/* A write that the file system cut short for want of space is EIO to LMDB (mdb_page_flush), whatever its reason. */
static int full_disk_code(int fd, int code)
{
    struct statfs fs;
    if (code != EIO || qs_os->fstatfs(fd, &fs) != 0)
        return code;
    return fs.f_bfree == 0 || fs.f_bavail == 0 ? ENOSPC : code;
}

static int attempt_growing(struct attempt *a, struct guard *guard)
{
    int code = guarded(a, guard);
    while (code == MDB_MAP_FULL && a->map_bytes < MAP_MAX_BYTES && !(a->create && a->committing)) {
        a->committing = false;
        a->map_bytes = round_up(a->map_bytes * 2);
        code = guarded(a, guard);
    }
    return code;
}

enum qs_status env_commit(struct env_cache *cache, int fd, const struct meta *base, const struct env_op *ops,
                          size_t count, enum env_outcome *ret_outcome, struct qs_error *err)
{
    struct slot slot;
    struct guard guard = {.text = ""};
    enum qs_status status = save_slot(fd, base, &slot, err);
    if (status) {
        *ret_outcome = ENV_OLD;
        return status;
    }
    struct attempt attempt = {.fd = fd,
                              .cache = cache,
                              .txn_id = base->txn_id + 1,
                              .ops = ops,
                              .count = count,
                              .map_bytes = first_map(fd, ops, count)};
    int code = attempt_growing(&attempt, &guard);
    if (!code) {
        *ret_outcome = ENV_NEW;
        return QS_OK;
    }
    *ret_outcome = attempt.committing ? restore_slot(&slot) : ENV_OLD;
    status = lmdb_failed(err, full_disk_code(fd, code), "committing to the store");
    if (guard.text[0])
        error_add_advice(err, "LMDB's assertion: %s", guard.text);
    return status;
}

enum qs_status env_build(int fd, const struct env_op *ops, size_t count, const uint8_t record1[META_RECORD_BYTES],
                         const uint8_t record2[META_RECORD_BYTES], struct qs_error *err)
{
    AUTO_FREE struct env_op *all = malloc((count + 1) * sizeof *all);
    if (!all)
        return error_memory(err);
    size_t used = 0;
    bool placed = false;
    for (size_t i = 0; i <= count; i++) { /* the record goes to its place in the order of databases */
        if (!placed && (i == count || ops[i].db > DB_META)) {
            all[used++] =
                (struct env_op){DB_META, {META_RECORD_KEY, sizeof META_RECORD_KEY - 1}, {record1, META_RECORD_BYTES}};
            placed = true;
        }
        if (i < count)
            all[used++] = ops[i];
    }
    struct guard guard = {.text = ""};
    struct attempt attempt = {
        .fd = fd, .txn_id = 1, .ops = all, .count = used, .create = true, .second_record = record2};
    attempt.map_bytes = first_map(fd, all, used);
    int code = attempt_growing(&attempt, &guard);
    if (code)
        return lmdb_failed(err, full_disk_code(fd, code), "building the store");
    if (os_fsync(fd))
        return error_sys(err, QS_IO, errno, "the new store cannot be flushed");
    return QS_OK;
}
