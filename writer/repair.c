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
    uint64_t last;              /* the generation of the last record that decodes and chains; 0: none does */
    uint64_t records;           /* how many do, from the oldest on */
    uint8_t last_digest[QS_DIGEST_BYTES];
};

static void candidate_release(struct candidate *c)
{
    qs_history_close(c->history);
}

/* One record more, if it is as sound as those before. QS_DAMAGED: it is not, or there is none. */
static enum qs_status salvage_record(struct candidate *c, struct qs_error *err)
{
    uint64_t next = 0;
    const struct qs_record *record = &c->history->current.facts;
    enum qs_status status = history_after(c->history, c->last, &next, err);
    if (!status && (next == 0 || next > c->history->snapshot->record.generation))
        return QS_DAMAGED;
    if (!status)
        status = history_load(c->history, next, err);
    if (!status && c->records > 0 && memcmp(record->previous, c->last_digest, QS_DIGEST_BYTES) != 0)
        return QS_DAMAGED;
    if (status)
        return status;
    memcpy(c->last_digest, record->digest, QS_DIGEST_BYTES);
    c->last = next;
    c->records++;
    return QS_OK;
}

/* As much of the history as the tree still leads to, from the oldest record on. What could not be looked at is no
 * damage: then nothing is known, and nothing is repaired. */
static enum qs_status salvage_history(int fd, struct qs_snapshot **snapshot, struct candidate *c, struct qs_error *err)
{
    AUTO_FD int own = dup(fd);
    if (own < 0)
        return error_sys(err, QS_IO, errno, "the store cannot be kept open");
    enum qs_status status = history_make_unchecked(&own, snapshot, &c->history, err);
    while (!status)
        status = salvage_record(c, err);
    return status == QS_DAMAGED && c->history ? QS_OK : status;
}

static bool is_better(const struct qs_snapshot *s, const struct qs_snapshot *best)
{
    return !best || s->record.generation > best->record.generation ||
           (s->record.generation == best->record.generation && s->meta.txn_id > best->meta.txn_id);
}

/* Each meta by itself; the newest generation that verifies wins. NULL: none does. */
static enum qs_status find_newest(int fd, struct qs_snapshot **ret_best, struct qs_error *err)
{
    AUTO(snapshot_release) struct qs_snapshot *best = NULL;
    for (int slot = 0; slot < 2; slot++) {
        AUTO(snapshot_release) struct qs_snapshot *s = NULL;
        enum qs_status status = verified_read(fd, &(struct verified_read){.slot = slot}, &s, err);
        if (status && status != QS_DAMAGED)
            return status;
        if (status || !is_better(s, best))
            continue;
        qs_snapshot_unref(best);
        best = STEAL(s);
    }
    *ret_best = STEAL(best);
    return QS_OK;
}

/* The newest generation that anything in the file names. The other slot, if it does not verify, was the next commit's
 * or is the former one's: at most one generation more. */
static enum qs_status find_known(int fd, const struct qs_snapshot *best, uint64_t *ret_known, struct qs_error *err)
{
    uint8_t other[META_OFFSET + META_BYTES];
    struct meta meta;
    unsigned slot = !(best->meta.txn_id & 1);
    uint64_t known = best->record.generation, named = 0;
    ssize_t got = os_pread_full(fd, other, sizeof other, (off_t)slot * best->meta.page_size);
    if (got < 0)
        return error_sys(err, QS_IO, errno, "the meta pages cannot be read");
    if (got != (ssize_t)sizeof other || meta_decode(other, slot, &meta, NULL) || meta.txn_id > best->meta.txn_id)
        known++;
    enum qs_status status = highest_generation(fd, best->record.scope, &named, err);
    if (!status)
        *ret_known = named > known ? named : known;
    return status;
}

static enum qs_status find_candidate(int fd, enum qs_scope scope, struct candidate *c, uint64_t *ret_known,
                                     struct qs_error *err)
{
    AUTO(snapshot_release) struct qs_snapshot *best = NULL;
    enum qs_status status = find_newest(fd, &best, err);
    if (status || !best)
        return status;
    if (best->record.scope != scope)
        return error_set(err, QS_INVALID, "the store is of scope %s, but stands in the place of %s",
                         qs_scope_name(best->record.scope), qs_scope_name(scope));
    status = find_known(fd, best, ret_known, err);
    return status ? status : salvage_history(fd, &best, c, err);
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
                          .history = c->last ? c->history : NULL,
                          .last = c->last};
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
    if (writer->data_fd >= 0) {
        enum qs_status status = find_candidate(writer->data_fd, store->dir.scope, &c, &report->shown.newest_known, err);
        if (status)
            return status;
    }
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
