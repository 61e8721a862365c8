/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meta writes torn at every byte, which no disk of whole sectors does: the store file alone, on no file system. LMDB
 * publishes a commit by one write of the 120 bytes of a meta page that change (from mm_mapsize to mm_txnid, the struct
 * MDB_meta of mdb.c); here any number of its first or last bytes arrive. Each state must be read exactly as the old or
 * the new generation, or refused as damaged; and from a refused one repair must bring back what was acknowledged.
 */
#include "stress/powercut/powercut.h"
#include "stress/ways/backend.h"
#include "stress/ways/store_steps.h"

#include "base/cleanup.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define META_ROOT   LAB_ASIDE "/meta"
#define META_STORE  META_ROOT "/system"
#define META_DATA   META_STORE "/data.mdb"
#define PAGE_BYTES  4096u
#define META_AT     32u /* 16 bytes of page header, then magic, version and address */
#define META_BYTES  120u
#define NEXT_NUMBER 1000000u

/* One commit: the file before and after it, and the slot that its meta write goes to. */
struct meta_commit {
    char *before, *after;
    size_t before_len, after_len;
    size_t slot_at;
    uint64_t number; /* of the document before; after it is one more */
};

/* ---- the clock: damage is declared after 200 ms of equal faults, which thousands of states cannot wait for ---- */

static uint64_t pretended_ms;

static uint64_t pretend_now(void)
{
    return pretended_ms;
}

static void pretend_sleep(unsigned ms)
{
    pretended_ms += ms ? ms : 1;
}

static void pretend_clock(void)
{
    static struct os_calls calls;
    calls = *qs_os;
    calls.monotonic_ms = pretend_now;
    calls.sleep_ms = pretend_sleep;
    qs_os = &calls;
}

/* ---- building ---- */

static enum qs_status load(char **ret_data, size_t *ret_len, struct qs_error *err)
{
    *ret_data = file_load(META_DATA, ret_len);
    return *ret_data ? QS_OK : error_sys(err, QS_IO, errno, "cannot read the store file");
}

/* The meta of transaction n is in slot n % 2: the slot whose bytes the commit changed. */
static enum qs_status take_commit(uint64_t number, struct meta_commit *commit, struct qs_error *err)
{
    *commit = (struct meta_commit){.number = number};
    enum qs_status status = load(&commit->before, &commit->before_len, err);
    if (!status)
        status = steps_apply(META_ROOT, number + 1, QS_DEFAULT_WAIT_MS, err);
    if (!status)
        status = load(&commit->after, &commit->after_len, err);
    if (status)
        return status;
    if (commit->before_len < 2 * PAGE_BYTES || commit->after_len < commit->before_len)
        return error_set(err, QS_IO, "the store file shrank in a commit");
    bool changed[2];
    for (size_t slot = 0; slot < 2; slot++)
        changed[slot] = memcmp(commit->before + slot * PAGE_BYTES, commit->after + slot * PAGE_BYTES, PAGE_BYTES) != 0;
    if (changed[0] == changed[1])
        return error_set(err, QS_IO, "a commit changed %s of the metas", changed[0] ? "both" : "none");
    commit->slot_at = (changed[1] ? PAGE_BYTES : 0) + META_AT;
    return QS_OK;
}

static enum qs_status put_file(const char *data, size_t len, struct qs_error *err)
{
    AUTO_FD int fd = open(META_DATA, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || os_write_full(fd, data, len) != 0)
        return error_sys(err, QS_IO, errno, "cannot write the store file");
    return QS_OK;
}

/* The store as it is after the commit, but of the meta write only bytes [from, to) arrived. */
static enum qs_status put_state(const struct meta_commit *commit, size_t from, size_t to, struct qs_error *err)
{
    char slot[META_BYTES];
    memcpy(slot, commit->before + commit->slot_at, sizeof slot);
    memcpy(slot + from, commit->after + commit->slot_at + from, to - from);
    enum qs_status status = put_file(commit->after, commit->after_len, err);
    AUTO_FD int fd = status ? -1 : open(META_DATA, O_WRONLY | O_CLOEXEC);
    if (!status && (fd < 0 || os_pwrite_full(fd, slot, sizeof slot, (off_t)commit->slot_at) != 0))
        status = error_sys(err, QS_IO, errno, "cannot write the meta");
    return status;
}

/* ---- judging ---- */

static bool is_either(const struct steps_look *look, const struct meta_commit *commit)
{
    return look->status == QS_OK && !look->torn &&
           ((look->number == commit->number && look->generation == commit->number + 1) ||
            (look->number == commit->number + 1 && look->generation == commit->number + 2));
}

static enum power_verdict judge_refused(const struct meta_commit *commit, char *why)
{
    struct qs_store *store = NULL;
    struct qs_error err = {0};
    struct qs_repair_report *repair = NULL;
    struct steps_look look;
    enum qs_status status =
        qs_store_open(QS_SCOPE_SYSTEM,
                      &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = META_ROOT}, &store,
                      &err);
    if (!status)
        status = qs_store_repair(store, true, QS_DEFAULT_WAIT_MS, &repair, &err);
    qs_repair_report_free(repair);
    qs_store_close(store);
    if (status) {
        (void)snprintf(why, POWER_TEXT_BYTES, "repair: %.300s", err.message);
        return POWER_DAMAGED;
    }
    steps_look(META_ROOT, STEPS_FSCK, &look);
    if (!look.status && !look.torn && (look.number == commit->number || look.number == commit->number + 1))
        return POWER_OK;
    (void)snprintf(why, POWER_TEXT_BYTES, "after repair: document %llu, %.200s", (unsigned long long)look.number,
                   look.why);
    return look.status == QS_OK && !look.torn ? POWER_LOST : POWER_DAMAGED;
}

/* QS_OK, or why the next writer does not go on. */
static enum qs_status try_next(char *why)
{
    struct qs_error err = {0};
    struct steps_look look = {0};
    enum qs_status status = steps_apply(META_ROOT, NEXT_NUMBER, QS_DEFAULT_WAIT_MS, &err);
    if (!status) {
        steps_look(META_ROOT, STEPS_FSCK, &look);
        status = look.status == QS_OK && (look.torn || look.number != NEXT_NUMBER) ? QS_IO : look.status;
    }
    if (status)
        (void)snprintf(why, POWER_TEXT_BYTES, "the next set: %.200s%.200s", err.message, look.why);
    return status;
}

/* A write that did not arrive at all, or arrived whole, is no damage. A meta may also be torn where only writers look
 * (the root of the free pages): then readers go on, and the writer is the one who refuses. */
static enum power_verdict judge_state(const struct meta_commit *commit, size_t arrived, bool *ret_refused, char *why)
{
    struct steps_look look;
    bool torn_write = arrived > 0 && arrived < META_BYTES;
    steps_look(META_ROOT, STEPS_READ, &look);
    *ret_refused = look.status == QS_DAMAGED && torn_write;
    if (!*ret_refused && !is_either(&look, commit)) {
        (void)snprintf(why, POWER_TEXT_BYTES, "%zu bytes of the meta arrived: generation %llu, document %llu, %.200s",
                       arrived, (unsigned long long)look.generation, (unsigned long long)look.number, look.why);
        return look.status == QS_ABSENT ? POWER_ABSENT : look.status != QS_OK ? POWER_DAMAGED : POWER_TORN;
    }
    if (!*ret_refused) {
        enum qs_status status = try_next(why);
        if (status != QS_DAMAGED || !torn_write)
            return status == QS_OK ? POWER_OK : POWER_DAMAGED;
        *ret_refused = true;
    }
    enum power_verdict verdict = judge_refused(commit, why);
    if (verdict == POWER_OK && try_next(why) != QS_OK)
        verdict = POWER_DAMAGED;
    return verdict;
}

struct hearing {
    const struct meta_commit *commit;
    size_t arrived;
    struct power_testimony *testimony;
};

static void judge(void *hearing)
{
    const struct hearing *h = hearing;
    pretend_clock();
    h->testimony->verdict = judge_state(h->commit, h->arrived, &h->testimony->refused, h->testimony->why);
}

static void count_state(const struct power_testimony *testimony, struct power_result *result)
{
    result->states++;
    result->count[testimony->verdict]++;
    result->refused += testimony->refused;
    if (testimony->verdict != POWER_OK && result->sightings < POWER_SIGHTINGS)
        (void)snprintf(result->sighting[result->sightings++], POWER_TEXT_BYTES, "state %llu: %.400s",
                       (unsigned long long)result->states - 1, testimony->why);
}

/* What repair keeps aside is of no more use. */
static enum qs_status renew_directory(struct qs_error *err)
{
    stress_remove_tree(META_STORE);
    if (mkdir(META_STORE, 0755) != 0)
        return error_sys(err, QS_IO, errno, "cannot make the store's directory");
    return QS_OK;
}

/* Afterwards the store is as after the commit, for the next one. */
static enum qs_status tear_commit(const struct meta_commit *commit, struct power_testimony *testimony,
                                  struct power_result *result, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; !status && i <= 2 * META_BYTES; i++) {
        size_t from = i <= META_BYTES ? 0 : i - META_BYTES, to = i <= META_BYTES ? i : META_BYTES;
        status = renew_directory(err);
        if (!status)
            status = put_state(commit, from, to, err);
        if (!status)
            status = power_ask(judge, &(struct hearing){commit, to - from, testimony}, testimony, err);
        if (!status)
            count_state(testimony, result);
    }
    if (!status)
        status = renew_directory(err);
    return status ? status : put_file(commit->after, commit->after_len, err);
}

enum qs_status power_meta_torn(const struct power_options *options, struct power_result *result, struct qs_error *err)
{
    struct power_testimony *testimony =
        mmap(NULL, sizeof *testimony, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (testimony == MAP_FAILED)
        return error_memory(err);
    enum qs_status status = steps_init(META_ROOT, err);
    if (!status)
        status = steps_apply(META_ROOT, 1, QS_DEFAULT_WAIT_MS, err);
    for (uint64_t n = 1; !status && n <= options->commits; n++) {
        stress_progress("commit %llu of %llu, %llu states judged", (unsigned long long)n,
                        (unsigned long long)options->commits, (unsigned long long)result->states);
        struct meta_commit commit;
        status = take_commit(n, &commit, err);
        if (!status)
            status = tear_commit(&commit, testimony, result, err);
        result->writes++;
        free(commit.before);
        free(commit.after);
    }
    stress_progress(NULL);
    (void)munmap(testimony, sizeof *testimony);
    return status;
}
