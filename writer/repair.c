/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repair, for disks that broke their promise: the newest generation that verifies by itself, and as much of its history
 * as can be read. A person decides; nothing is changed without apply.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/os.h"
#include "qsettings/maintenance.h"
#include "writer/build.h"
#include "writer/maintenance_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct candidate {
    struct qs_history *history; /* its snapshot is the content; NULL: none verifies */
    size_t records;             /* of them, from the oldest, that decode and chain */
    uint8_t last_digest[QS_DIGEST_BYTES];
};

/* Reads as much of the history as the tree still leads to. */
static void salvage_history(int fd, struct qs_snapshot *snapshot, struct candidate *c)
{
    struct qs_history *history = calloc(1, sizeof *history);
    if (!history)
        return;
    history->snapshot = snapshot;
    if (page_cache_renew_claims(&snapshot->pages, fd, NULL) == QS_OK &&
        tree_walk(&snapshot->pages, &snapshot->dbs[DB_HISTORY], TREE_CLAIM, history_visit, &history->pages, NULL))
        errno = 0; /* what was visited before the fault is there */
    snapshot->pages.fd = -1;
    page_cache_drop_claims(&snapshot->pages);
    uint8_t previous[QS_DIGEST_BYTES] = {0};
    size_t good = 0;
    for (; good < history->pages.slot_count; good++) {
        if (history_load(history, good, NULL))
            break;
        const struct qs_record *record = &history->current.facts;
        bool chained = good == 0 || memcmp(record->previous, previous, sizeof previous) == 0;
        if (!chained || record->generation > snapshot->record.generation)
            break;
        memcpy(previous, record->digest, sizeof previous);
    }
    *c = (struct candidate){.history = history, .records = good};
    memcpy(c->last_digest, previous, sizeof previous);
}

/* Each meta by itself; the newest generation that verifies wins. known: the newest that anything names. */
static void find_candidate(int fd, enum qs_scope scope, struct candidate *c, uint64_t *known)
{
    struct qs_snapshot *best = NULL;
    uint64_t newest_txn = 0;
    for (int slot = 0; slot < 2; slot++) {
        struct qs_snapshot *s = NULL;
        if (verified_read(fd, &(struct verified_read){.slot = slot}, &s, NULL))
            continue;
        if (s->meta.txn_id > newest_txn)
            newest_txn = s->meta.txn_id;
        bool better = !best || s->record.generation > best->record.generation ||
                      (s->record.generation == best->record.generation && s->meta.txn_id > best->meta.txn_id);
        qs_snapshot_unref(better ? best : s);
        best = better ? s : best;
    }
    if (!best)
        return;
    /* The other slot, if it does not verify, was the next commit's or is the former one's: at most one generation more.
     */
    *known = best->record.generation;
    uint8_t other[META_OFFSET + META_BYTES];
    struct meta meta;
    unsigned slot = !(best->meta.txn_id & 1);
    if (os_pread_full(fd, other, sizeof other, (off_t)slot * best->meta.page_size) != (ssize_t)sizeof other ||
        meta_decode(other, slot, &meta, NULL) || meta.txn_id > best->meta.txn_id)
        *known = best->record.generation + 1;
    uint64_t named = highest_generation(fd, scope);
    if (named > *known)
        *known = named;
    salvage_history(fd, best, c);
    if (!c->history)
        qs_snapshot_unref(best);
}

static void name_aside(char *name, size_t size)
{
    int64_t seconds = 0;
    uint32_t ns = 0;
    struct tm tm;
    (void)qs_os->realtime(&seconds, &ns);
    time_t t = (time_t)seconds;
    char when[32] = "unknown";
    if (gmtime_r(&t, &tm))
        (void)strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", &tm);
    (void)snprintf(name, size, "%s.damaged-%s-%09u", STORE_DATA_FILE, when, ns);
}

static enum qs_status build_repaired(struct qs_store *store, struct writer *writer, const struct candidate *c,
                                     struct qs_repair_report *report, struct qs_error *err)
{
    struct history_chunks newest = {0};
    struct history_identity identity;
    char message[80];
    const struct qs_snapshot *content = c->history->snapshot;
    history_identity_now(NULL, &identity);
    (void)snprintf(message, sizeof message, "repaired: back to generation %llu",
                   (unsigned long long)content->record.generation);
    struct build build = {.record = content->record,
                          .areas = content->areas,
                          .history = c->history,
                          .history_count = c->records,
                          .newest = &newest};
    build.record.generation = report->newest_known + 1;
    build.record.time_s = identity.time_s;
    build.record.time_ns = identity.time_ns;
    name_aside(report->kept_aside, sizeof report->kept_aside);
    enum qs_status status =
        history_build(&build.record, c->last_digest, HISTORY_REPAIR, &identity, message, NULL, 0, &newest, err);
    if (!status)
        status = build_replace(&store->dir, writer, &build, report->kept_aside, err);
    if (!status)
        report->new_generation = build.record.generation;
    history_chunks_release(&newest);
    return status;
}

static enum qs_status repair_damaged(struct qs_store *store, struct writer *writer, bool apply,
                                     struct qs_repair_report *report, struct qs_error *err)
{
    struct candidate c = {0};
    enum qs_status status = QS_OK;
    if (writer->data_fd >= 0)
        find_candidate(writer->data_fd, store->dir.scope, &c, &report->newest_known);
    if (!c.history) {
        status = error_set(err, QS_DAMAGED, "no generation of the store verifies (%s)", report->damage.message);
        error_add_advice(err, "restore a backup with: qsettings --%s restore FILE", qs_scope_name(store->dir.scope));
        return status;
    }
    report->generation = c.history->snapshot->record.generation;
    report->records = c.records;
    uint64_t expected = c.history->snapshot->record.history_count;
    report->lost_records = expected > c.records ? expected - c.records : 0;
    if (apply)
        status = build_repaired(store, writer, &c, report, err);
    qs_history_close(c.history);
    return status;
}

enum qs_status qs_store_repair(struct qs_store *store, bool apply, unsigned wait_ms,
                               struct qs_repair_report *ret_report, struct qs_error *err)
{
    struct writer writer = WRITER_NONE;
    struct stat st;
    struct qs_history *history = NULL;
    struct qs_repair_report report = {0};
    struct qs_error fault = {0};
    enum qs_status status = writer_open(&store->dir, wait_ms, &writer, err);
    if (!status) {
        status = store_dir_open_data(&store->dir, writer.dir_fd, true, &writer.data_fd, &st, &fault);
        if (!status)
            status = maintenance_read(writer.data_fd, &history, &fault);
        if (status == QS_DAMAGED) {
            report.damage = fault;
            status = repair_damaged(store, &writer, apply, &report, err);
        } else if (status && err) {
            *err = fault;
        } else if (!status) {
            report.healthy = true;
            report.generation = history->snapshot->record.generation;
            report.newest_known = report.generation;
            report.records = qs_history_count(history);
        }
    }
    if (status)
        error_add_file(err, store->dir.path);
    if (!status)
        *ret_report = report;
    qs_history_close(history);
    writer_close(&writer);
    return status;
}
