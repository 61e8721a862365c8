/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots: their lifetime, and the reader's loop. Looking things up in one is in lookup.c. */
#include "store/snapshot.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "base/sized.h"
#include "store/env.h"

#include <errno.h>
#include <string.h>

/* Damage is declared only after this many equal faults with unchanged metas, over at least this long: a writer's copy
 * of 120 bytes can be seen half done, even twice. */
#define DAMAGE_WALKS   3u
#define DAMAGE_SPAN_MS 200u
#define RETRY_MOST_MS  100u
#define LEAST_WALKS    3u /* before a deadline counts */

/* ---- lifetime ---- */

struct qs_snapshot *qs_snapshot_ref(struct qs_snapshot *snapshot)
{
    if (snapshot)
        atomic_fetch_add_explicit(&snapshot->references, 1, memory_order_relaxed);
    return snapshot;
}

void qs_snapshot_unref(struct qs_snapshot *snapshot)
{
    if (!snapshot || atomic_fetch_sub_explicit(&snapshot->references, 1, memory_order_acq_rel) != 1)
        return;
    int saved = errno;
    for (int i = 0; i < AREA_COUNT; i++) {
        if (snapshot->areas[i].items != snapshot->owned[i].items)
            free(snapshot->areas[i].items);
        leaves_release(&snapshot->owned[i]);
    }
    page_cache_release(&snapshot->pages);
    free(atomic_load_explicit(&snapshot->index, memory_order_relaxed));
    free(snapshot->marks);
    free(snapshot);
    errno = saved;
}

void snapshot_release(struct qs_snapshot **snapshot)
{
    qs_snapshot_unref(*snapshot);
}

enum qs_status snapshot_make(const struct meta_record *record, struct leaves areas[AREA_COUNT],
                             struct qs_snapshot **ret_snapshot, struct qs_error *err)
{
    struct qs_snapshot *s = calloc(1, sizeof *s);
    if (!s)
        return error_memory(err);
    atomic_init(&s->references, 1);
    s->pages.fd = -1;
    s->record = *record;
    for (int i = 0; i < AREA_COUNT; i++) {
        s->owned[i] = areas[i];
        areas[i] = (struct leaves){0};
        s->areas[i] = (struct entry_list){s->owned[i].items, s->owned[i].count};
        s->record.counts[i] = s->areas[i].count;
    }
    content_digest(s->areas, s->record.content);
    *ret_snapshot = s;
    return QS_OK;
}

/* ---- the reader's loop ---- */

struct patience {
    uint64_t start, deadline, fault_since;
    unsigned walks, equal_faults, pause_ms;
    struct qs_error fault;
    uint8_t metas[METAS_BYTES];
    bool has_fault;
};

static bool same_fault(const struct patience *p, const struct qs_error *fault, const uint8_t metas[METAS_BYTES])
{
    return p->has_fault && p->fault.page == fault->page && strcmp(p->fault.message, fault->message) == 0 &&
           memcmp(p->metas, metas, METAS_BYTES) == 0;
}

/* Notes a fault; true when it is damage. metas are read again, apart from the walk: bytes that a fault came with. Where
 * they cannot be read, nothing is known of them, and the fault counts as another one. */
static bool is_damage(struct patience *p, int fd, const struct qs_error *fault)
{
    uint8_t metas[METAS_BYTES] = {0};
    size_t half = METAS_BYTES / 2;
    bool known = os_pread_full(fd, metas, half, 0) >= 0;
    uint32_t page_size = load_u32(metas + META_OFFSET + 24);
    if (page_size >= PAGE_MIN_BYTES && page_size <= PAGE_MAX_BYTES)
        known = os_pread_full(fd, metas + half, half, page_size) >= 0 && known;
    if (!known || !same_fault(p, fault, metas)) {
        p->equal_faults = 0;
        p->fault_since = qs_os->monotonic_ms();
        p->fault = *fault;
        memcpy(p->metas, metas, sizeof metas);
        p->has_fault = known;
    }
    p->equal_faults++;
    return p->equal_faults >= DAMAGE_WALKS && qs_os->monotonic_ms() - p->fault_since >= DAMAGE_SPAN_MS;
}

/* A slow reader has its tries, too, and a fault that came twice with the same metas is tried until it is damage or
 * gone. A walk that its deadline cut off is not begun again. */
static bool is_over(const struct patience *p, enum qs_status status, const struct qs_error *fault)
{
    bool standing = status == QS_DAMAGED && p->equal_faults > 1;
    if (fault->sys_errno == ETIMEDOUT)
        return true;
    return qs_os->monotonic_ms() >= p->deadline && p->walks >= LEAST_WALKS && !standing;
}

static enum qs_status out_of_patience(const struct patience *p, struct qs_error *err)
{
    enum qs_status status =
        error_set(err, QS_BUSY, "no complete generation in %u reads over %llu ms (the last: %s)", p->walks,
                  (unsigned long long)(qs_os->monotonic_ms() - p->start), p->fault.message);
    error_add_advice(err, "try again, or wait longer with --wait SECONDS");
    return status;
}

/* The first retry comes at once, for a read that a storm of commits overtook; later ones wait longer and longer. */
static void pause_a_little(struct patience *p)
{
    if (p->pause_ms)
        qs_os->sleep_ms(p->pause_ms);
    p->pause_ms = p->pause_ms ? p->pause_ms * 2 : 1;
    if (p->pause_ms > RETRY_MOST_MS)
        p->pause_ms = RETRY_MOST_MS;
}

/* What to do after one walk: QS_OK with *again set means start over. */
static enum qs_status judge(struct patience *p, int fd, enum qs_status status, bool *again, struct qs_error *fault,
                            struct qs_error *err)
{
    *again = false;
    if (status == QS_DAMAGED && is_damage(p, fd, fault)) {
        if (err)
            *err = *fault;
        error_add_advice(err,
                         "'qsettings fsck' shows more; 'qsettings repair' finds the newest recoverable generation");
        return status;
    }
    if (status != QS_DAMAGED && status != QS_BUSY) {
        if (err)
            *err = *fault;
        return status;
    }
    if (status == QS_BUSY)
        p->fault = *fault;
    if (is_over(p, status, fault))
        return out_of_patience(p, err);
    *again = true;
    if (status == QS_DAMAGED)
        pause_a_little(p);
    return QS_OK;
}

typedef enum qs_status (*open_again)(const void *source, int *ret_fd, struct stat *ret_stat, struct qs_error *err);

static enum qs_status read_loop(open_again open_file, const void *source, const char *name, unsigned wait_ms,
                                unsigned flags, int *ret_fd, struct qs_snapshot **ret_snapshot, struct qs_error *err)
{
    struct patience p = {.start = qs_os->monotonic_ms()};
    p.deadline = p.start + (wait_ms ? wait_ms : QS_DEFAULT_READ_WAIT_MS);
    const struct verified_read how = {SLOT_NEWER, flags, p.deadline + PAGE_CACHE_GRACE_MS};
    for (bool again = true; again;) {
        struct qs_error fault = {0};
        struct stat st;
        AUTO_FD int fd = -1;
        enum qs_status status = open_file(source, &fd, &st, err);
        if (status)
            return status;
        p.walks++;
        struct qs_snapshot *snapshot = NULL;
        status = verified_read(fd, &how, &snapshot, &fault);
        if (!status) {
            snapshot->device = st.st_dev;
            snapshot->inode = st.st_ino;
            snapshot->retries = p.walks - 1;
            *ret_snapshot = snapshot;
            if (ret_fd)
                *ret_fd = steal_fd(&fd);
            return QS_OK;
        }
        status = judge(&p, fd, status, &again, &fault, err);
        if (status) {
            error_add_file(err, name);
            return status;
        }
    }
    return QS_OK;
}

static enum qs_status open_store_dir(const void *source, int *ret_fd, struct stat *ret_stat, struct qs_error *err)
{
    return store_dir_open_to_read(source, ret_fd, ret_stat, err);
}

enum qs_status snapshot_read(const struct store_dir *dir, unsigned wait_ms, unsigned flags, int *ret_fd,
                             struct qs_snapshot **ret_snapshot, struct qs_error *err)
{
    struct qs_snapshot *snapshot = NULL;
    AUTO_FD int fd = -1;
    enum qs_status status = read_loop(open_store_dir, dir, dir->path, wait_ms, flags, &fd, &snapshot, err);
    if (status)
        return status;
    if (snapshot->record.scope != dir->scope) {
        status = error_page(err, -1, "the store is of scope %s, but lies in the directory of scope %s",
                            qs_scope_name(snapshot->record.scope), qs_scope_name(dir->scope));
        error_add_file(err, dir->path);
        qs_snapshot_unref(snapshot);
        return status;
    }
    *ret_snapshot = snapshot;
    if (ret_fd)
        *ret_fd = steal_fd(&fd);
    return QS_OK;
}

static enum qs_status open_copy(const void *source, int *ret_fd, struct stat *ret_stat, struct qs_error *err)
{
    int fd = dup(*(const int *)source);
    if (fd < 0 || qs_os->fstat(fd, ret_stat)) {
        int code = errno;
        if (fd >= 0)
            close(fd);
        return error_sys(err, QS_IO, code, "the file cannot be examined");
    }
    *ret_fd = fd;
    return QS_OK;
}

enum qs_status snapshot_read_file(int fd, const char *name, unsigned flags, int *ret_fd,
                                  struct qs_snapshot **ret_snapshot, struct qs_error *err)
{
    return read_loop(open_copy, &fd, name, 0, flags, ret_fd, ret_snapshot, err);
}

/* ---- store handles ---- */

enum qs_status qs_store_open(enum qs_scope scope, const struct qs_store_options *options, struct qs_store **ret_store,
                             struct qs_error *err)
{
    struct qs_store_options own;
    if (!ret_store)
        return error_misuse(err, __func__);
    enum qs_status status = SIZED_TAKE(options, own, wait_ms, err);
    if (status)
        return status;
    AUTO_FREE struct qs_store *store = calloc(1, sizeof *store);
    if (!store)
        return error_memory(err);
    status = store_dir_init(scope, own.root, &store->dir, err);
    if (status)
        return status;
    store->wait_ms = own.wait_ms ? own.wait_ms : QS_DEFAULT_READ_WAIT_MS;
    *ret_store = STEAL(store);
    return QS_OK;
}

void qs_store_close(struct qs_store *store)
{
    if (!store)
        return;
    int saved = errno;
    store_dir_release(&store->dir);
    env_cache_unref(store->env);
    free(store);
    errno = saved;
}

enum qs_scope qs_store_scope(const struct qs_store *store)
{
    return store ? store->dir.scope : QS_SCOPE_EFFECTIVE;
}

const char *qs_store_path(const struct qs_store *store)
{
    return store ? store->dir.path : NULL;
}

const char *qs_store_root(const struct qs_store *store)
{
    return store ? store->dir.root : NULL;
}

enum qs_status qs_snapshot_take(struct qs_store *store, struct qs_snapshot **ret_snapshot, struct qs_error *err)
{
    if (!store || !ret_snapshot)
        return error_misuse(err, __func__);
    return snapshot_read(&store->dir, store->wait_ms, 0, NULL, ret_snapshot, err);
}

bool qs_snapshot_changed(const struct qs_snapshot *snapshot, struct qs_store *store)
{
    AUTO_FD int fd = -1;
    struct stat st;
    if (!snapshot || !store || store_dir_open_to_read(&store->dir, &fd, &st, NULL))
        return true;
    if (st.st_dev != snapshot->device || st.st_ino != snapshot->inode)
        return true;
    uint8_t metas[METAS_BYTES];
    size_t half = METAS_BYTES / 2;
    return os_pread_full(fd, metas, half, 0) != (ssize_t)half ||
           os_pread_full(fd, metas + half, half, snapshot->meta.page_size) != (ssize_t)half ||
           memcmp(metas, snapshot->metas, sizeof metas) != 0;
}
