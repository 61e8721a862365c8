/* SPDX-License-Identifier: Apache-2.0 */
/* What is killed: each operation of the store, and the ways of saving a file. */
#include "stress/kill/kill.h"
#include "stress/ways/backend.h"
#include "stress/ways/store_steps.h"

#include "qsettings/file.h"
#include "qsettings/publish.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 4096

struct paths {
    char root[PATH_BYTES], backup[PATH_BYTES], folder[PATH_BYTES], file[PATH_BYTES];
};

static void find_paths(const struct kill_context *context, struct paths *paths)
{
    (void)snprintf(paths->root, PATH_BYTES, "%s/root", context->dir);
    (void)snprintf(paths->backup, PATH_BYTES, "%s/backup", context->dir);
    (void)snprintf(paths->folder, PATH_BYTES, "%s/file", context->dir);
    (void)snprintf(paths->file, PATH_BYTES, "%s/file/settings.json", context->dir);
}

static bool went_well(enum qs_status status, const struct qs_error *err, char *why)
{
    if (status)
        (void)snprintf(why, KILL_TEXT_BYTES, "%s: %.300s", qs_status_name(status), err->message);
    return status == QS_OK;
}

/* ---- the store: document 2 is generation 3, document 1 generation 2 ---- */

static bool prepare_store(const struct kill_context *context, char *why)
{
    struct paths p;
    struct qs_error err = {0};
    find_paths(context, &p);
    enum qs_status status = steps_init(p.root, &err);
    for (uint64_t number = 1; !status && number <= 2; number++)
        status = steps_apply(p.root, number, QS_DEFAULT_WAIT_MS, &err);
    return went_well(status, &err, why);
}

static bool prepare_restore(const struct kill_context *context, char *why)
{
    struct paths p;
    struct qs_error err = {0};
    find_paths(context, &p);
    enum qs_status status = steps_init(p.root, &err);
    if (!status)
        status = steps_apply(p.root, 1, QS_DEFAULT_WAIT_MS, &err);
    if (!status)
        status = steps_backup(p.root, p.backup, &err);
    if (!status)
        status = steps_apply(p.root, 2, QS_DEFAULT_WAIT_MS, &err);
    return went_well(status, &err, why);
}

static bool prepare_nothing(const struct kill_context *context, char *why)
{
    (void)context, (void)why;
    return true;
}

static bool run_set(const struct kill_context *context, char *why)
{
    struct paths p;
    struct qs_error err = {0};
    find_paths(context, &p);
    return went_well(steps_set(p.root, 3, QS_DEFAULT_WAIT_MS, &err), &err, why);
}

static bool run_apply(const struct kill_context *context, char *why)
{
    struct paths p;
    struct qs_error err = {0};
    find_paths(context, &p);
    return went_well(steps_apply(p.root, 3, QS_DEFAULT_WAIT_MS, &err), &err, why);
}

static bool run_rollback(const struct kill_context *context, char *why)
{
    struct paths p;
    struct qs_error err = {0};
    find_paths(context, &p);
    return went_well(steps_rollback(p.root, 2, &err), &err, why);
}

static bool run_compact(const struct kill_context *context, char *why)
{
    struct paths p;
    struct qs_error err = {0};
    find_paths(context, &p);
    return went_well(steps_compact(p.root, &err), &err, why);
}

static bool run_restore(const struct kill_context *context, char *why)
{
    struct paths p;
    struct qs_error err = {0};
    find_paths(context, &p);
    return went_well(steps_restore(p.root, p.backup, &err), &err, why);
}

/* If the killed one got so far that there is a store, the next init finds it. */
static bool run_init(const struct kill_context *context, char *why)
{
    struct paths p;
    struct qs_error err = {0};
    find_paths(context, &p);
    enum qs_status status = steps_init(p.root, &err);
    return status == QS_CONFLICT || went_well(status, &err, why);
}

static bool save_store(const struct kill_context *context, uint64_t number, unsigned wait_ms, bool *ret_busy, char *why)
{
    struct paths p;
    struct qs_error err = {0};
    find_paths(context, &p);
    enum qs_status status = steps_apply(p.root, number, wait_ms, &err);
    *ret_busy = status == QS_BUSY;
    return went_well(status, &err, why);
}

/* Other writers of a store that is being made make it too. */
static bool save_init(const struct kill_context *context, uint64_t number, unsigned wait_ms, bool *ret_busy, char *why)
{
    *ret_busy = false;
    return run_init(context, why) && save_store(context, number, wait_ms, ret_busy, why);
}

static void look_store(const struct kill_context *context, struct kill_look *ret_look)
{
    struct paths p;
    struct steps_look look;
    find_paths(context, &p);
    steps_look(p.root, STEPS_HISTORY, &look);
    *ret_look = (struct kill_look){.absent = look.status == QS_ABSENT,
                                   .refused = look.status != QS_OK && look.status != QS_ABSENT,
                                   .torn = look.torn,
                                   .generation = look.generation,
                                   .number = look.number};
    (void)snprintf(ret_look->why, sizeof ret_look->why, "%s", look.why);
}

/* ---- files ---- */

static bool make_folder(const struct paths *paths, char *why)
{
    if (mkdir(paths->folder, 0755) == 0)
        return true;
    (void)snprintf(why, KILL_TEXT_BYTES, "mkdir: %s", strerrordesc_np(errno));
    return false;
}

static void look_file(const struct kill_context *context, struct kill_look *ret_look)
{
    struct paths p;
    size_t len = 0;
    find_paths(context, &p);
    AUTO_FREE char *text = file_load(p.file, &len);
    *ret_look = (struct kill_look){.absent = !text && errno == ENOENT, .refused = !text && errno != ENOENT};
    if (!text) {
        (void)snprintf(ret_look->why, sizeof ret_look->why, "open: %s", strerrordesc_np(errno));
        return;
    }
    struct document_reader reader;
    ret_look->torn = !document_read(&reader, STEPS_SHAPE, text, len);
    ret_look->number = reader.document.generation;
    (void)snprintf(ret_look->why, sizeof ret_look->why, "%s", reader.reason);
}

/* ---- publish: document 2 is in the store, and document 1 was published to the file ---- */

static enum qs_status publish(const struct paths *paths, struct qs_error *err)
{
    struct qs_store *store = NULL;
    struct qs_target target = {.size = sizeof target, .file = paths->file, .scope = QS_SCOPE_SYSTEM};
    enum qs_publish_outcome outcome;
    enum qs_status status =
        qs_store_open(QS_SCOPE_SYSTEM,
                      &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = paths->root}, &store,
                      err);
    if (!status)
        status = qs_publish(store, &target, 0, &outcome, err);
    qs_store_close(store);
    return status;
}

static bool prepare_publish(const struct kill_context *context, char *why)
{
    struct paths p;
    struct qs_error err = {0};
    find_paths(context, &p);
    if (!make_folder(&p, why))
        return false;
    enum qs_status status = steps_init(p.root, &err);
    if (!status)
        status = steps_apply(p.root, 1, QS_DEFAULT_WAIT_MS, &err);
    if (!status)
        status = publish(&p, &err);
    if (!status)
        status = steps_apply(p.root, 2, QS_DEFAULT_WAIT_MS, &err);
    return went_well(status, &err, why);
}

static bool run_publish(const struct kill_context *context, char *why)
{
    struct paths p;
    struct qs_error err = {0};
    find_paths(context, &p);
    return went_well(publish(&p, &err), &err, why);
}

static bool save_publish(const struct kill_context *context, uint64_t number, unsigned wait_ms, bool *ret_busy,
                         char *why)
{
    return save_store(context, number, wait_ms, ret_busy, why) && run_publish(context, why);
}

/* The store must be whole; the number is that of the file. */
static void look_publish(const struct kill_context *context, struct kill_look *ret_look)
{
    look_store(context, ret_look);
    if (ret_look->absent || ret_look->refused || ret_look->torn)
        return;
    look_file(context, ret_look);
}

/* ---- replace, and the file ways: document 2 becomes 3 ---- */

static bool save_replace(const struct kill_context *context, uint64_t number, unsigned wait_ms, bool *ret_busy,
                         char *why)
{
    (void)wait_ms;
    struct paths p;
    struct qs_error err = {0};
    struct buf text = {0};
    find_paths(context, &p);
    steps_document(number, &text);
    enum qs_status status = qs_file_replace(p.file, text.data, text.len, NULL, &err);
    buf_release(&text);
    *ret_busy = false;
    return went_well(status, &err, why);
}

static bool save_way(enum file_way way, const struct kill_context *context, uint64_t number, bool *ret_busy, char *why)
{
    struct paths p;
    struct buf text = {0};
    char reason[STRESS_REASON_BYTES] = "";
    find_paths(context, &p);
    steps_document(number, &text);
    bool saved = file_save(way, false, p.file, text.data, text.len, reason);
    buf_release(&text);
    if (!saved)
        (void)snprintf(why, KILL_TEXT_BYTES, "%s", reason);
    *ret_busy = false;
    return saved;
}

#define FILE_STEPS(symbol) \
    static bool prepare_##symbol(const struct kill_context *context, char *why) \
    { \
        struct paths p; \
        bool busy; \
        find_paths(context, &p); \
        return make_folder(&p, why) && save_##symbol(context, 2, 0, &busy, why); \
    } \
    static bool run_##symbol(const struct kill_context *context, char *why) \
    { \
        bool busy; \
        return save_##symbol(context, 3, 0, &busy, why); \
    }
#define FILE_WAY(symbol, way) \
    static bool save_##symbol(const struct kill_context *context, uint64_t number, unsigned wait_ms, bool *ret_busy, \
                              char *why) \
    { \
        (void)wait_ms; \
        return save_way(way, context, number, ret_busy, why); \
    } \
    FILE_STEPS(symbol)

FILE_STEPS(replace)
FILE_WAY(rename_away, FILE_RENAME_AWAY)
FILE_WAY(in_place, FILE_IN_PLACE)
FILE_WAY(copy_backup, FILE_COPY_BACKUP)
FILE_WAY(rename_over, FILE_RENAME_OVER)

#define FILE_OP(label, symbol) \
    { \
        .backend = (label), .name = "save", .prepare = prepare_##symbol, .run = run_##symbol, .save = save_##symbol, \
        .look = look_file, .old_number = 2, .new_number = 3 \
    }

/* On a store with document 2 as generation 3. */
#define STORE_OP(label, symbol, before, generation, number) \
    { \
        .backend = "qsettings", .name = (label), .prepare = (before), .run = run_##symbol, .save = save_store, \
        .look = look_store, .old_generation = 3, .old_number = 2, .new_generation = (generation), \
        .new_number = (number) \
    }

const struct kill_op kill_ops[] = {
    STORE_OP("set", set, prepare_store, 4, 3),
    STORE_OP("apply", apply, prepare_store, 4, 3),
    STORE_OP("rollback", rollback, prepare_store, 4, 1),
    STORE_OP("compact", compact, prepare_store, 3, 2),
    STORE_OP("restore", restore, prepare_restore, 4, 1),
    {.backend = "qsettings",
     .name = "publish",
     .prepare = prepare_publish,
     .run = run_publish,
     .save = save_publish,
     .look = look_publish,
     .old_number = 1,
     .new_number = 2},
    {.backend = "qsettings",
     .name = "replace",
     .prepare = prepare_replace,
     .run = run_replace,
     .save = save_replace,
     .look = look_file,
     .old_number = 2,
     .new_number = 3},
    {.backend = "qsettings",
     .name = "init",
     .prepare = prepare_nothing,
     .run = run_init,
     .save = save_init,
     .look = look_store,
     .new_generation = 1,
     .made = true},
    FILE_OP("rename-away", rename_away),
    FILE_OP("in-place", in_place),
    FILE_OP("copy-backup", copy_backup),
    FILE_OP("rename-over", rename_over),
    {.name = NULL},
};
