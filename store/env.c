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
    MDB_env *env; /* the one at work */
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

static int put_op(MDB_txn *txn, const MDB_dbi dbis[DB_COUNT], const struct env_op *op, bool append)
{
    MDB_val key = {op->key.len, (void *)op->key.data};
    MDB_val value = {op->value.len, (void *)op->value.data};
    /* History grows at its end only: appending fills its pages, and touches none but the last. */
    if (op->value.data)
        return mdb_put(txn, dbis[op->db], &key, &value, append || op->db == DB_HISTORY ? MDB_APPEND : 0);
    return mdb_del(txn, dbis[op->db], &key, NULL);
}

static int open_dbs(MDB_txn *txn, unsigned flags, MDB_dbi dbis[DB_COUNT])
{
    int code = 0;
    for (unsigned i = 0; i < DB_COUNT && !code; i++)
        code = mdb_dbi_open(txn, store_db_names[i], flags, &dbis[i]);
    return code;
}

/* One transaction in an open environment. *committing tells whether the metas may have been touched. */
static int one_transaction(MDB_env *env, uint64_t expected_id, const struct env_op *ops, size_t count, bool *committing)
{
    MDB_txn *txn = NULL;
    MDB_dbi dbis[DB_COUNT];
    int code = mdb_txn_begin(env, NULL, 0, &txn);
    if (code)
        return code;
    if (mdb_txn_id(txn) != expected_id)
        code = MDB_PANIC;
    if (!code)
        code = open_dbs(txn, 0, dbis);
    for (size_t i = 0; i < count && !code; i++)
        code = put_op(txn, dbis, &ops[i], false);
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

/* setjmp lives in a function of its own, whose locals it cannot clobber. */
static int guarded(struct guard *guard, int (*run)(struct guard *guard, void *context), void *context)
{
    guard->env = NULL;
    if (setjmp(guard->jump) == 0)
        return run(guard, context);
    /* LMDB's own state is not to be trusted any more, not even for closing; only the descriptor is given back. */
    int data_fd = -1;
    if (guard->env && mdb_env_get_fd(guard->env, &data_fd) == 0)
        (void)close(data_fd);
    return MDB_CORRUPTED;
}

struct attempt {
    int fd;
    struct env_cache *cache; /* NULL: open and close */
    uint64_t txn_id;
    const struct env_op *ops;
    size_t count;
    size_t map_bytes;
    bool committing; /* out */
};

static int attempt_once(struct guard *guard, void *context)
{
    struct attempt *a = context;
    int code = 0;
    guard->env = cache_take(a->cache, a->fd, a->txn_id - 1, a->map_bytes);
    if (guard->env)
        code = mdb_env_set_userctx(guard->env, guard);
    else
        code = open_env(a->fd, a->map_bytes, 0, guard, &guard->env);
    if (!code)
        code = one_transaction(guard->env, a->txn_id, a->ops, a->count, &a->committing);
    if (!code)
        cache_keep(a->cache, guard->env, a->fd, a->txn_id, a->map_bytes);
    else if (guard->env)
        mdb_env_close(guard->env);
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
    int code = guarded(guard, attempt_once, a);
    while (code == MDB_MAP_FULL && a->map_bytes < MAP_MAX_BYTES) {
        a->committing = false;
        a->map_bytes = round_up(a->map_bytes * 2);
        code = guarded(guard, attempt_once, a);
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

/* ---- building a new file ---- */

/* What one transaction takes in: bounds the memory that LMDB needs for its pages. */
#define BATCH_BYTES ((size_t)16 << 20)

struct building {
    int fd;
    const struct env_source *source;
    size_t bytes; /* taken in by the transaction at hand */
    bool ended;
    enum qs_status status; /* of the source, if that is what failed */
    struct qs_error *err;
};

static struct env_op record_op(const struct env_source *source, uint64_t txn_id, uint8_t bytes[META_RECORD_BYTES])
{
    source->record->txn_id = txn_id;
    meta_record_encode(source->record, bytes);
    return (struct env_op){DB_META, {META_RECORD_KEY, sizeof META_RECORD_KEY - 1}, {bytes, META_RECORD_BYTES}};
}

/* Entries until there are none, or enough for one transaction; with the last one the record. */
static int take_in(struct building *b, MDB_txn *txn)
{
    MDB_dbi dbis[DB_COUNT];
    uint8_t bytes[META_RECORD_BYTES];
    int code = open_dbs(txn, MDB_CREATE, dbis);
    for (b->bytes = 0; !code && !b->ended && b->bytes < BATCH_BYTES;) {
        struct env_op op = {0};
        b->status = b->source->next(b->source->context, &op, b->err);
        if (b->status)
            return MDB_PANIC; /* not seen: the source's status is told */
        b->ended = !op.key.data;
        if (b->ended)
            op = record_op(b->source, mdb_txn_id(txn), bytes);
        code = put_op(txn, dbis, &op, true);
        b->bytes += op.key.len + op.value.len;
    }
    return code;
}

/* The map is made large enough for the next transaction before it begins, for it cannot be begun again. */
static int make_map(MDB_env *env)
{
    MDB_envinfo info;
    MDB_stat stat;
    int code = mdb_env_info(env, &info);
    if (!code)
        code = mdb_env_stat(env, &stat);
    if (code)
        return code;
    size_t needed = (info.me_last_pgno + 1) * stat.ms_psize + 4 * BATCH_BYTES;
    return needed <= info.me_mapsize ? 0 : mdb_env_set_mapsize(env, round_up(needed + needed / 4));
}

static int build_all(struct guard *guard, void *context)
{
    struct building *b = context;
    uint8_t bytes[META_RECORD_BYTES];
    bool committing = false;
    int code = open_env(b->fd, 4 * BATCH_BYTES, MDB_NOSYNC, guard, &guard->env);
    if (code)
        return code;
    while (!code && !b->ended) {
        MDB_txn *txn = NULL;
        code = make_map(guard->env);
        if (!code)
            code = mdb_txn_begin(guard->env, NULL, 0, &txn);
        if (!code && (code = take_in(b, txn)))
            mdb_txn_abort(txn);
        else if (!code)
            code = mdb_txn_commit(txn);
    }
    uint64_t next = b->source->record->txn_id + 1;
    struct env_op again = record_op(b->source, next, bytes);
    if (!code)
        code = one_transaction(guard->env, next, &again, 1, &committing);
    mdb_env_close(guard->env);
    return code;
}

enum qs_status env_build(int fd, const struct env_source *source, struct qs_error *err)
{
    struct guard guard = {.text = ""};
    struct building building = {.fd = fd, .source = source, .err = err};
    int code = guarded(&guard, build_all, &building);
    if (building.status)
        return building.status;
    if (code)
        return lmdb_failed(err, full_disk_code(fd, code), "building the store");
    if (os_fsync(fd))
        return error_sys(err, QS_IO, errno, "the new store cannot be flushed");
    return QS_OK;
}
