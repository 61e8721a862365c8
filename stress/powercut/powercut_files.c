/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads on a file: the known ways of saving one, and this project's qs_file_replace. Generation g of the document
 * is what step g - 1 wrote; generation 1 is there from the start.
 */
#include "stress/powercut/powercut.h"
#include "stress/ways/backend.h"

#include "qsettings/file.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WORK_FILE LAB_WORK "/settings.json"

static const struct document_shape shape = {.writers = 1, .values = 160}; /* some 10 KiB: several blocks */

typedef bool save_fn(const void *data, size_t len, char *reason);

static bool save_generation(save_fn *save, uint64_t generation, char *reason)
{
    struct document document = {.generation = generation, .counters = {generation}};
    struct buf text = {0};
    document_write(&document, shape, &text);
    bool saved = !text.failed && save(text.data, text.len, reason);
    buf_release(&text);
    return saved;
}

static int report(bool saved, const char *reason)
{
    if (!saved)
        (void)fprintf(stderr, "qstress: powercut: %s\n", reason);
    return saved ? 0 : -1;
}

static bool save_durably(const void *data, size_t len, char *reason)
{
    return file_save(FILE_RENAME_OVER, true, WORK_FILE, data, len, reason);
}

static int file_work_prepare(uint64_t commits)
{
    (void)commits;
    char reason[STRESS_REASON_BYTES] = "";
    return report(save_generation(save_durably, 1, reason), reason);
}

static int file_work_step(save_fn *save, uint64_t n)
{
    char reason[STRESS_REASON_BYTES] = "";
    return report(save_generation(save, n + 1, reason), reason);
}

static enum power_verdict look(uint64_t *ret_generation, char *why)
{
    size_t len = 0;
    AUTO_FREE char *text = file_load(WORK_FILE, &len);
    if (!text) {
        (void)snprintf(why, POWER_TEXT_BYTES, "open: %s", strerrordesc_np(errno));
        return errno == ENOENT ? POWER_ABSENT : POWER_DAMAGED;
    }
    struct document_reader reader;
    if (!document_read(&reader, shape, text, len)) {
        (void)snprintf(why, POWER_TEXT_BYTES, "%s", reader.reason);
        return POWER_TORN;
    }
    *ret_generation = reader.document.generation;
    return POWER_OK;
}

static enum power_verdict file_work_judge(save_fn *save, uint64_t acked, uint64_t upper, char *why)
{
    uint64_t generation = 0;
    enum power_verdict verdict = look(&generation, why);
    if (verdict != POWER_OK)
        return verdict;
    if (generation < acked + 1 || generation > upper + 1) {
        (void)snprintf(why, POWER_TEXT_BYTES, "generation %llu; expected %llu to %llu", (unsigned long long)generation,
                       (unsigned long long)acked + 1, (unsigned long long)upper + 1);
        return generation < acked + 1 ? POWER_LOST : POWER_TORN;
    }
    char reason[STRESS_REASON_BYTES] = "";
    uint64_t next = 0;
    if (!save_generation(save, upper + 2, reason)) {
        (void)snprintf(why, POWER_TEXT_BYTES, "the next save: %s", reason);
        return POWER_DAMAGED;
    }
    verdict = look(&next, why);
    if (verdict == POWER_OK && next != upper + 2) {
        (void)snprintf(why, POWER_TEXT_BYTES, "the next save had no effect");
        return POWER_DAMAGED;
    }
    return verdict;
}

static bool save_replace(const void *data, size_t len, char *reason)
{
    struct qs_error err = {0};
    if (qs_file_replace(WORK_FILE, data, len, NULL, &err) == QS_OK)
        return true;
    (void)snprintf(reason, STRESS_REASON_BYTES, "%.190s", err.message);
    return false;
}

/* The ways differ in the saving function alone. */
#define FILE_WORK(symbol, way, flush) \
    static bool save_##symbol(const void *data, size_t len, char *reason) \
    { \
        return file_save(way, flush, WORK_FILE, data, len, reason); \
    } \
    FILE_WORK_STEPS(symbol)
#define FILE_WORK_STEPS(symbol) \
    static int step_##symbol(uint64_t n) \
    { \
        return file_work_step(save_##symbol, n); \
    } \
    static enum power_verdict judge_##symbol(uint64_t acked, uint64_t upper, char *why) \
    { \
        return file_work_judge(save_##symbol, acked, upper, why); \
    }

FILE_WORK(rename_over, FILE_RENAME_OVER, false)
FILE_WORK(rename_over_fsync, FILE_RENAME_OVER, true)
FILE_WORK(rename_away, FILE_RENAME_AWAY, false)
FILE_WORK(in_place, FILE_IN_PLACE, false)
FILE_WORK(copy_backup, FILE_COPY_BACKUP, false)
FILE_WORK_STEPS(replace)

const struct power_work power_file_works[] = {
    {"qsettings", "replace", file_work_prepare, step_replace, judge_replace},
    {"rename-over", "set", file_work_prepare, step_rename_over, judge_rename_over},
    {"rename-over-fsync", "set", file_work_prepare, step_rename_over_fsync, judge_rename_over_fsync},
    {"rename-away", "set", file_work_prepare, step_rename_away, judge_rename_away},
    {"in-place", "set", file_work_prepare, step_in_place, judge_in_place},
    {"copy-backup", "set", file_work_prepare, step_copy_backup, judge_copy_backup},
    {NULL, NULL, NULL, NULL, NULL},
};
