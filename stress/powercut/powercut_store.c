/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workloads on the store. After s steps the store is at a known generation and has a known document:
 *
 *     workload   step                       generation after s   document after s
 *     set        a save                     2 + s                1 + s
 *     compact    odd: a save; even: compact 2 + (s + 1) / 2      1 + (s + 1) / 2
 *     restore    odd: a save; even: restore 2 + s                odd: 1 + s; even: 1
 *     init       a store in a new root      1 each               none
 */
#include "stress/powercut/powercut.h"
#include "stress/ways/store_steps.h"

#include <stdio.h>
#include <string.h>

#define BACKUP_FILE LAB_ASIDE "/backup"
#define NEXT_NUMBER 1000000u /* of the document that is written after the cut */

static int report(enum qs_status status, const struct qs_error *err)
{
    if (status)
        (void)fprintf(stderr, "qstress: powercut: %s: %s\n", qs_status_name(status), err->message);
    return status == QS_OK ? 0 : -1;
}

static int prepare_store(uint64_t commits)
{
    (void)commits;
    struct qs_error err = {0};
    enum qs_status status = steps_init(LAB_WORK, &err);
    if (!status)
        status = steps_apply(LAB_WORK, 1, QS_DEFAULT_WAIT_MS, &err);
    return report(status, &err);
}

static int prepare_restore(uint64_t commits)
{
    struct qs_error err = {0};
    return prepare_store(commits) == 0 ? report(steps_backup(LAB_WORK, BACKUP_FILE, &err), &err) : -1;
}

static int step_set(uint64_t n)
{
    struct qs_error err = {0};
    return report(steps_apply(LAB_WORK, 1 + n, QS_DEFAULT_WAIT_MS, &err), &err);
}

static int step_compact(uint64_t n)
{
    struct qs_error err = {0};
    enum qs_status status =
        n % 2 ? steps_apply(LAB_WORK, 1 + (n + 1) / 2, QS_DEFAULT_WAIT_MS, &err) : steps_compact(LAB_WORK, &err);
    return report(status, &err);
}

static int step_restore(uint64_t n)
{
    struct qs_error err = {0};
    enum qs_status status =
        n % 2 ? steps_apply(LAB_WORK, 1 + n, QS_DEFAULT_WAIT_MS, &err) : steps_restore(LAB_WORK, BACKUP_FILE, &err);
    return report(status, &err);
}

static uint64_t generation_after(const char *workload, uint64_t s)
{
    return strcmp(workload, "compact") == 0 ? 2 + (s + 1) / 2 : 2 + s;
}

static uint64_t number_after(const char *workload, uint64_t s)
{
    if (strcmp(workload, "compact") == 0)
        return 1 + (s + 1) / 2;
    return strcmp(workload, "restore") == 0 && s % 2 == 0 ? 1 : 1 + s;
}

static enum power_verdict verdict_of(const struct steps_look *look, char *why)
{
    (void)snprintf(why, POWER_TEXT_BYTES, "%s", look->why);
    if (look->status == QS_ABSENT)
        return POWER_ABSENT;
    if (look->status)
        return POWER_DAMAGED;
    return look->torn ? POWER_TORN : POWER_OK;
}

/* Old or new, and nothing else: the generation is that of a step in question, and the document is that generation's. */
static enum power_verdict check_step(const char *workload, const struct steps_look *look, uint64_t acked,
                                     uint64_t upper, char *why)
{
    for (uint64_t s = acked; s <= upper; s++)
        if (look->generation == generation_after(workload, s) && look->number == number_after(workload, s))
            return POWER_OK;
    (void)snprintf(why, POWER_TEXT_BYTES, "generation %llu with document %llu after %llu acknowledged steps",
                   (unsigned long long)look->generation, (unsigned long long)look->number, (unsigned long long)acked);
    return look->generation < generation_after(workload, acked) ? POWER_LOST : POWER_TORN;
}

/* The next writer goes on from what is there. */
static enum power_verdict check_next(const char *root, uint64_t generation, char *why)
{
    struct qs_error err = {0};
    struct steps_look look;
    if (steps_apply(root, NEXT_NUMBER, QS_DEFAULT_WAIT_MS, &err) != QS_OK) {
        (void)snprintf(why, POWER_TEXT_BYTES, "the next set: %.300s", err.message);
        return POWER_DAMAGED;
    }
    steps_look(root, STEPS_HISTORY, &look);
    enum power_verdict verdict = verdict_of(&look, why);
    if (verdict == POWER_OK && (look.number != NEXT_NUMBER || look.generation != generation + 1)) {
        (void)snprintf(why, POWER_TEXT_BYTES, "the next set had no effect");
        verdict = POWER_DAMAGED;
    }
    return verdict;
}

static enum power_verdict judge_steps(const char *workload, uint64_t acked, uint64_t upper, char *why)
{
    struct steps_look look;
    steps_look(LAB_WORK, STEPS_HISTORY, &look);
    enum power_verdict verdict = verdict_of(&look, why);
    if (verdict == POWER_OK)
        verdict = check_step(workload, &look, acked, upper, why);
    return verdict == POWER_OK ? check_next(LAB_WORK, look.generation, why) : verdict;
}

static enum power_verdict judge_set(uint64_t acked, uint64_t upper, char *why)
{
    return judge_steps("set", acked, upper, why);
}

static enum power_verdict judge_compact(uint64_t acked, uint64_t upper, char *why)
{
    return judge_steps("compact", acked, upper, why);
}

static enum power_verdict judge_restore(uint64_t acked, uint64_t upper, char *why)
{
    return judge_steps("restore", acked, upper, why);
}

/* ---- init: each step makes a store in a root of its own, which does not exist before ---- */

static const char *root_of(uint64_t n, char path[64])
{
    (void)snprintf(path, 64, LAB_WORK "/root%llu", (unsigned long long)n);
    return path;
}

static int prepare_init(uint64_t commits)
{
    (void)commits;
    return 0;
}

static int step_init(uint64_t n)
{
    char path[64];
    struct qs_error err = {0};
    return report(steps_init(root_of(n, path), &err), &err);
}

static enum power_verdict check_required(const char *root, char *why)
{
    struct qs_store *store = NULL;
    struct qs_error err = {0};
    bool required = false;
    enum qs_status status =
        qs_store_open(QS_SCOPE_SYSTEM,
                      &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = root}, &store, &err);
    if (!status)
        status = qs_store_is_required(store, &required, &err);
    qs_store_close(store);
    if (!status && required)
        return POWER_OK;
    (void)snprintf(why, POWER_TEXT_BYTES, "require-system: %.200s", status == QS_OK ? "gone" : err.message);
    return POWER_LOST;
}

static enum power_verdict judge_root(uint64_t n, bool acknowledged, uint64_t *ret_generation, char *why)
{
    char path[64];
    struct steps_look look;
    steps_look(root_of(n, path), STEPS_HISTORY, &look);
    enum power_verdict verdict = verdict_of(&look, why);
    *ret_generation = look.generation;
    if (verdict == POWER_ABSENT && !acknowledged)
        return POWER_OK;
    if (verdict == POWER_OK && (look.generation != 1 || look.number != 0)) {
        (void)snprintf(why, POWER_TEXT_BYTES, "root %llu is at generation %llu", (unsigned long long)n,
                       (unsigned long long)look.generation);
        return POWER_TORN;
    }
    return verdict == POWER_OK && acknowledged ? check_required(path, why) : verdict;
}

static enum power_verdict judge_init(uint64_t acked, uint64_t upper, char *why)
{
    uint64_t generation = 0;
    for (uint64_t n = 1; n <= acked; n++) {
        enum power_verdict verdict = judge_root(n, true, &generation, why);
        if (verdict != POWER_OK)
            return verdict;
    }
    enum power_verdict verdict = judge_root(upper, upper <= acked, &generation, why);
    if (verdict != POWER_OK)
        return verdict;
    char path[64];
    struct qs_error err = {0};
    enum qs_status status = steps_init(root_of(upper, path), &err);
    if (status != (generation ? QS_CONFLICT : QS_OK)) {
        (void)snprintf(why, POWER_TEXT_BYTES, "the next init: %.300s", err.message);
        return POWER_DAMAGED;
    }
    verdict = check_required(path, why);
    return verdict == POWER_OK ? check_next(path, 1, why) : verdict;
}

const struct power_work power_store_works[] = {
    {"qsettings", "set", prepare_store, step_set, judge_set},
    {"qsettings", "compact", prepare_store, step_compact, judge_compact},
    {"qsettings", "restore", prepare_restore, step_restore, judge_restore},
    {"qsettings", "init", prepare_init, step_init, judge_init},
    {NULL, NULL, NULL, NULL, NULL},
};
