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

static void candidate_release(struct candidate *c)
{
    qs_history_close(c->history);
}

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

/* The report, and what it points to. */
struct report {
    struct qs_repair_report shown; /* the first field: what callers see of it */
    char kept_aside[256];
    struct qs_error damage;
};

void qs_repair_report_free(struct qs_repair_report *report)
{
    cleanup_free(&report);
}

static void report_release(struct report **report)
{
    cleanup_free(report);
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
                                     struct report *report, struct qs_error *err)
{
    char message[80];
    const struct qs_snapshot *content = c->history->snapshot;
    (void)snprintf(message, sizeof message, "repaired: back to generation %llu",
                   (unsigned long long)content->record.generation);
    struct build build = {.record = content->record,
                          .areas = content->areas,
                          .history = c->history,
                          .history_count = c->records};
    struct history_entry entry = {.action = HISTORY_REPAIR, .previous = c->last_digest, .message = message};
    build.record.generation = report->shown.newest_known + 1;
    name_aside(report->kept_aside, sizeof report->kept_aside);
    enum qs_status status = build_next(&store->dir, writer, &build, &entry, report->kept_aside, err);
    if (status)
        return status;
    report->shown.new_generation = build.record.generation;
    report->shown.kept_aside = report->kept_aside;
    return QS_OK;
}

static enum qs_status repair_damaged(struct qs_store *store, struct writer *writer, bool apply, struct report *report,
                                     struct qs_error *err)
{
    AUTO(candidate_release) struct candidate c = {0};
    if (writer->data_fd >= 0)
        find_candidate(writer->data_fd, store->dir.scope, &c, &report->shown.newest_known);
    if (!c.history) {
        error_set(err, QS_DAMAGED, "no generation of the store verifies (%s)", report->damage.message);
        error_add_advice(err, "restore a backup with 'qsettings --%s restore FILE'", qs_scope_name(store->dir.scope));
        return QS_DAMAGED;
    }
    uint64_t expected = c.history->snapshot->record.history_count;
    report->shown.damage = &report->damage;
    report->shown.generation = c.history->snapshot->record.generation;
    report->shown.records = c.records;
    report->shown.lost_records = expected > c.records ? expected - c.records : 0;
    return apply ? build_repaired(store, writer, &c, report, err) : QS_OK;
}

static enum qs_status repair(struct qs_store *store, struct writer *writer, bool apply, struct report *report,
                             struct qs_error *err)
{
    AUTO(history_release) struct qs_history *history = NULL;
    struct stat st;
    enum qs_status status =
        store_dir_open_data(&store->dir, writer->dir_fd, true, &writer->data_fd, &st, &report->damage);
    if (!status)
        status = maintenance_read(writer->data_fd, &history, &report->damage);
    if (status == QS_DAMAGED)
        return repair_damaged(store, writer, apply, report, err);
    if (status) {
        if (err)
            *err = report->damage;
        return status;
    }
    report->shown.healthy = true;
    report->shown.generation = history->snapshot->record.generation;
    report->shown.newest_known = report->shown.generation;
    report->shown.records = qs_history_count(history);
    return QS_OK;
}

enum qs_status qs_store_repair(struct qs_store *store, bool apply, unsigned wait_ms,
                               struct qs_repair_report **ret_report, struct qs_error *err)
{
    AUTO(writer_close) struct writer writer = WRITER_NONE;
    if (!store || !ret_report)
        return error_misuse(err, __func__);
    AUTO(report_release) struct report *report = calloc(1, sizeof *report);
    if (!report)
        return error_memory(err);
    enum qs_status status = writer_open(&store->dir, wait_ms, &writer, err);
    if (!status)
        status = repair(store, &writer, apply, report, err);
    if (status) {
        error_add_file(err, store->dir.path);
        return status;
    }
    *ret_report = &STEAL(report)->shown;
    return QS_OK;
}
