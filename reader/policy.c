/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy read. Every operator store is read once, in one snapshot, and judged, also one that will not count; then
 *
 *   any fault in any of them ............................ refuse, with its name
 *   the highest that sets tools.executionSandbox ........ fixes the policy, the schema's defaults filled in
 *   system and user, whichever else they are ............ narrow it by what they set
 *   defaults ............................................ serves where neither of them sets one; else only what it
 * holds under a lock of its own narrows none sets tools.executionSandbox .................... none
 *
 * In the policy a lock never widens: what a lower scope narrows stays narrow whoever holds a lock above it. Nothing
 * else is asked: no environment variable, no workspace file, no approval mode.
 */
#include "reader/policy_result.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "qsettings/maintenance.h"
#include "schema/schema.h"
#include "store/fleet_guard.h"
#include "text/key_path.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Strongest first. */
static const enum qs_scope scopes[POLICY_SOURCES_MAX] = {QS_SCOPE_SYSTEM, QS_SCOPE_USER, QS_SCOPE_DEFAULTS};

struct layer {
    struct qs_snapshot *snapshot;
    struct policy_part part;   /* all that the store sets */
    struct policy_part locked; /* defaults: what it sets under a lock of its own */
};

struct reading {
    struct qs_policy_options options;
    struct layer layers[POLICY_SOURCES_MAX];
    struct qs_policy_result *result;
    enum qs_status failure; /* the first, by the scopes' order */
    struct qs_error reason;
};

static void reading_release(struct reading *reading)
{
    for (size_t i = 0; i < POLICY_SOURCES_MAX; i++) {
        qs_snapshot_unref(reading->layers[i].snapshot);
        policy_part_release(&reading->layers[i].part);
        policy_part_release(&reading->layers[i].locked);
    }
    qs_policy_free(reading->result);
}

/* ---- one store ---- */

/* What the leaves under this store's own locks say. */
static enum qs_status read_locked(const struct qs_snapshot *snapshot, struct policy_part *ret_part,
                                  struct qs_error *err)
{
    const struct entry_list *settings = &snapshot->areas[AREA_SETTINGS];
    const struct entry_list *locks = &snapshot->areas[AREA_LOCKS];
    AUTO_FREE struct leaf *kept = NULL;
    size_t count = 0;
    if (!locks->count)
        return QS_OK;
    kept = malloc((settings->count + 1) * sizeof *kept);
    if (!kept)
        return error_memory(err);
    for (size_t i = 0; i < settings->count; i++) {
        size_t j = 0;
        while (j < locks->count && !key_covers(locks->items[j].key.data, locks->items[j].key.len,
                                               settings->items[i].key.data, settings->items[i].key.len))
            j++;
        if (j < locks->count)
            kept[count++] = settings->items[i];
    }
    return policy_part_from_leaves(kept, count, ret_part, err);
}

static void note_facts(const struct qs_snapshot *snapshot, struct qs_policy_source *source)
{
    source->generation = qs_snapshot_generation(snapshot);
    memcpy(source->store_id, qs_snapshot_store_id(snapshot), QS_STORE_ID_BYTES);
    memcpy(source->digest, qs_snapshot_digest(snapshot), QS_DIGEST_BYTES);
}

static enum qs_status judge_store(enum qs_scope scope, struct layer *layer, struct qs_policy_source *source,
                                  struct qs_error *err)
{
    const struct entry_list *settings = &layer->snapshot->areas[AREA_SETTINGS];
    note_facts(layer->snapshot, source);
    enum qs_status status = schema_check_leaves(settings->items, settings->count, NULL, 0, err);
    if (!status)
        status = policy_part_from_leaves(settings->items, settings->count, &layer->part, err);
    if (!status && scope == QS_SCOPE_DEFAULTS)
        status = read_locked(layer->snapshot, &layer->locked, err);
    if (status) {
        error_add_advice(err, "correct it with 'qsettings --%s set', or go back with 'qsettings --%s rollback GEN'",
                         qs_scope_name(scope), qs_scope_name(scope));
        return status;
    }
    source->sets_policy = (layer->part.set & POLICY_SANDBOX_FIELDS) != 0;
    return QS_OK;
}

static enum qs_status missing_store(struct qs_store *store, const struct fleet_mark *demanded,
                                    struct qs_policy_source *source, struct qs_error *err)
{
    bool required = false;
    struct qs_error absence = err ? *err : (struct qs_error){0};
    enum qs_status status = qs_store_is_required(store, &required, err);
    if (status)
        return status;
    source->required |= required;
    if (!source->required)
        return demanded->fleet[0] ? fleet_check_stale(demanded, &(struct fleet_mark){0}, err) : QS_ABSENT;
    error_set(err, QS_ABSENT, "the %s store is required and does not exist: %s", qs_scope_name(source->scope),
              absence.message);
    error_add_advice(err,
                     required ? "restore a backup, or create it with 'qsettings --%s init'; 'qsettings --%s require "
                                "--off' removes the requirement"
                              : "create it with 'qsettings --%s init', or restore a backup",
                     qs_scope_name(source->scope), qs_scope_name(source->scope));
    return QS_ABSENT;
}

/* A snapshot that is not older than require-serial demands. The demand is read first: it is raised after each commit,
 * so it is never ahead of a snapshot that is taken later. Where a fleet is left, the demand goes first. */
static enum qs_status take_fresh(struct qs_store *store, struct qs_snapshot **ret_snapshot,
                                 struct fleet_mark *ret_demanded, struct qs_error *err)
{
    struct fleet_mark found;
    enum qs_status status = fleet_required(&store->dir, ret_demanded, err);
    for (;;) {
        AUTO(snapshot_release) struct qs_snapshot *snapshot = NULL;
        const struct fleet_mark before = *ret_demanded;
        if (!status)
            status = qs_snapshot_take(store, &snapshot, err);
        if (!status && before.fleet[0])
            status = fleet_mark_of(snapshot, &found, err);
        if (!status && before.fleet[0])
            status = fleet_check_stale(&before, &found, err);
        if (!status)
            *ret_snapshot = STEAL(snapshot);
        if (status != QS_STALE)
            return status;
        struct qs_error again = {0};
        status = fleet_required(&store->dir, ret_demanded, &again);
        if (!status && fleet_mark_same(&before, ret_demanded))
            return QS_STALE;
        if (status && err)
            *err = again;
    }
}

/* QS_ABSENT with source->required unset is no failure. */
static enum qs_status read_store(struct reading *reading, size_t index, struct qs_policy_source *source,
                                 struct qs_error *err)
{
    struct qs_store_options options = {.size = sizeof options,
                                       .root = reading->options.root,
                                       .wait_ms = reading->options.wait_ms};
    struct qs_store *store = NULL;
    enum qs_status status = qs_store_open(source->scope, &options, &store, err);
    if (status)
        return status;
    (void)snprintf(source->path, sizeof source->path, "%s", qs_store_path(store));
    struct fleet_mark demanded;
    status = take_fresh(store, &reading->layers[index].snapshot, &demanded, err);
    if (!status)
        status = judge_store(source->scope, &reading->layers[index], source, err);
    else if (status == QS_ABSENT)
        status = missing_store(store, &demanded, source, err);
    if (status)
        error_add_file(err, qs_store_path(store));
    qs_store_close(store);
    return status;
}

static void read_all(struct reading *reading)
{
    for (size_t i = 0; i < POLICY_SOURCES_MAX; i++) {
        struct qs_policy_source *source = &reading->result->sources[i];
        struct qs_error err = {0};
        *source = (struct qs_policy_source){.scope = scopes[i],
                                            .required = (reading->options.require_scopes & 1u << scopes[i]) != 0};
        source->status = read_store(reading, i, source, &err);
        reading->result->source_count = i + 1;
        bool harmless = !source->status || (source->status == QS_ABSENT && !source->required);
        if (!harmless && !reading->failure) {
            reading->failure = source->status;
            reading->reason = err;
        }
    }
}

/* ---- together ---- */

/* The scope that fixes the policy, or POLICY_SOURCES_MAX. */
static size_t fixing_scope(const struct qs_policy_result *result)
{
    size_t i = 0;
    while (i < POLICY_SOURCES_MAX && !result->sources[i].sets_policy)
        i++;
    return i;
}

/* A command that the caller may give: root's is the system scope. */
static void advise_policy(const struct reading *reading, struct qs_error *err)
{
    enum qs_scope mine = geteuid() == 0 ? QS_SCOPE_SYSTEM : QS_SCOPE_USER;
    const char *root = reading->options.root;
    const char *scope = qs_scope_name(mine);
    char command[QS_ERROR_TEXT_BYTES];
    bool there = false;
    (void)snprintf(command, sizeof command, "qsettings%s%s --%s", root ? " --root " : "", root ? root : "", scope);
    for (size_t i = 0; i < POLICY_SOURCES_MAX; i++)
        there = there || (scopes[i] == mine && reading->layers[i].snapshot);
    error_add_advice(
        err, "%s%s%s set tools.executionSandbox '{\"filesystem\": \"workspace-write\", \"network\": \"closed\"}'",
        there ? "" : command, there ? "" : " init && ", command);
}

static enum qs_status no_policy(const struct reading *reading, struct qs_error *err)
{
    const char *demand = NULL;
    const char *executor = NULL;
    size_t there = 0;
    for (size_t i = 0; i < POLICY_SOURCES_MAX; i++) {
        const struct layer *layer = &reading->layers[i];
        there += layer->snapshot != NULL;
        if (layer->snapshot && qs_snapshot_requires_policy(layer->snapshot) && !demand)
            demand = qs_scope_name(scopes[i]);
        if (layer->part.set && !executor)
            executor = qs_scope_name(scopes[i]);
    }
    error_set(err, QS_NO_POLICY, "no policy: %s%s%s%s%s%s",
              there ? "every store is healthy, and none sets tools.executionSandbox" : "there is no store",
              executor ? "; executor is set in " : "", executor ? executor : "",
              executor ? ", but alone it makes no policy" : "", demand ? "; a policy is demanded by " : "",
              demand ? demand : "");
    advise_policy(reading, err);
    return QS_NO_POLICY;
}

/* What a scope other than the fixing one adds: NULL for nothing. */
static const struct policy_part *narrowing_part(const struct reading *reading, size_t index)
{
    const struct layer *layer = &reading->layers[index];
    const struct policy_part *part = scopes[index] == QS_SCOPE_DEFAULTS ? &layer->locked : &layer->part;
    return part->set ? part : NULL;
}

static enum qs_status put_together(struct reading *reading, struct qs_error *err)
{
    AUTO(policy_part_release) struct policy_part policy = {0};
    size_t fixing = fixing_scope(reading->result);
    if (fixing == POLICY_SOURCES_MAX)
        return no_policy(reading, err);
    policy = reading->layers[fixing].part;
    reading->layers[fixing].part = (struct policy_part){0};
    enum qs_status status = policy_part_complete(&policy, err);
    if (status)
        return status;
    for (size_t i = 0; i < POLICY_SOURCES_MAX; i++) {
        const struct policy_part *part = i == fixing ? NULL : narrowing_part(reading, i);
        status = part ? policy_part_narrow(&policy, part, err) : QS_OK;
        if (status)
            return status;
    }
    return policy_result_complete(reading->result, &policy, err);
}

enum qs_status qs_policy_read(const struct qs_policy_options *options, struct qs_policy_result **ret_result,
                              struct qs_error *err)
{
    static const unsigned known = 1u << QS_SCOPE_SYSTEM | 1u << QS_SCOPE_USER | 1u << QS_SCOPE_DEFAULTS;
    AUTO(reading_release) struct reading reading = {0};
    if (!ret_result)
        return error_misuse(err, __func__);
    *ret_result = NULL;
    enum qs_status status = SIZED_TAKE(options, reading.options, require_scopes, err);
    if (status)
        return status;
    if (reading.options.require_scopes & ~known)
        return error_set(err, QS_USAGE, "require_scopes names a scope that does not exist");
    reading.result = calloc(1, sizeof *reading.result);
    if (!reading.result)
        return error_memory(err);
    read_all(&reading);
    status = reading.failure;
    if (!status)
        status = put_together(&reading, &reading.reason);
    if (status && err)
        *err = reading.reason;
    reading.result->status = status;
    *ret_result = STEAL(reading.result);
    return status;
}
