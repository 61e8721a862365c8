/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions: begin, the changes, abort. Commit is in commit.c. */
#include "writer/txn_internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "schema/schema.h"
#include "store/env.h"
#include "store/fleet_guard.h"

#include "qsettings/history.h"
#include "store/history_read.h"
#include <errno.h>
#include <string.h>

#define EMPTY_OBJECT "{}"

enum qs_status qs_txn_begin(struct qs_store *store, unsigned wait_ms, struct qs_txn **ret_txn, struct qs_error *err)
{
    struct qs_txn *txn = calloc(1, sizeof *txn);
    if (!txn)
        return error_memory(err);
    txn->writer = WRITER_NONE;
    txn->owner = getpid();
    txn->action = HISTORY_SET;
    if (!store->env)
        store->env = env_cache_new();
    txn->env = env_cache_ref(store->env);
    txn->dir = store->dir;
    txn->dir.path = strdup(store->dir.path);
    txn->dir.home = store->dir.home ? strdup(store->dir.home) : NULL;
    enum qs_status status = txn->dir.path ? QS_OK : error_memory(err);
    if (!status)
        status = writer_open(&txn->dir, wait_ms, &txn->writer, err);
    if (!status)
        status = writer_read(&txn->dir, &txn->writer, &txn->base, err);
    if (status) {
        writer_close(&txn->writer);
        qs_txn_free(txn);
        return status;
    }
    txn->flags = txn->base->record.flags;
    txn->open = true;
    *ret_txn = txn;
    return QS_OK;
}

void qs_txn_abort(struct qs_txn *txn)
{
    if (!txn || !txn->open)
        return;
    txn->open = false;
    writer_close(
        &txn->writer); /* in a forked child the lock's copy is closed already, and dropping it touches nothing */
}

void qs_txn_free(struct qs_txn *txn)
{
    if (!txn)
        return;
    int saved = errno;
    qs_txn_abort(txn);
    for (int i = 0; i < AREA_COUNT; i++)
        overlay_release(&txn->areas[i]);
    qs_snapshot_unref(txn->base);
    store_dir_release(&txn->dir);
    env_cache_unref(txn->env);
    free(txn->changes);
    free(txn);
    errno = saved;
}

const struct qs_snapshot *qs_txn_base(const struct qs_txn *txn)
{
    return txn->base;
}

enum qs_status txn_check_open(const struct qs_txn *txn, struct qs_error *err)
{
    if (txn->owner != getpid())
        return error_set(err, QS_USAGE, "the transaction belongs to the process that forked this one");
    if (!txn->open)
        return error_set(err, QS_USAGE, "the transaction has ended already");
    return QS_OK;
}

/* ---- the content as it would be ---- */

static struct overlay overlay_range(const struct overlay *overlay, const struct qs_key *prefix)
{
    size_t first = 0;
    size_t end = 0;
    snapshot_range(&(struct entry_list){overlay->items, overlay->count}, prefix, &first, &end);
    if (end == first) /* then items may be NULL, from which nothing is added */
        return (struct overlay){0};
    return (struct overlay){.items = overlay->items + first, .count = end - first};
}

static enum qs_status content_range(const struct qs_txn *txn, enum store_area area, const struct qs_key *prefix,
                                    struct entry_list *ret_list, struct qs_error *err)
{
    size_t first = 0;
    size_t end = 0;
    const struct entry_list *base = &txn->base->areas[area];
    snapshot_range(base, prefix, &first, &end);
    struct entry_list part = {end > first ? base->items + first : NULL, end - first};
    struct overlay changes = overlay_range(&txn->areas[area], prefix);
    return overlay_merge(&changes, &part, ret_list, err);
}

enum qs_status txn_content(const struct qs_txn *txn, enum store_area area, struct entry_list *ret_list,
                           struct qs_error *err)
{
    return content_range(txn, area, NULL, ret_list, err);
}

static struct qs_bytes value_now(const struct qs_txn *txn, enum store_area area, struct qs_bytes key)
{
    return overlay_value(&txn->areas[area], &txn->base->areas[area], key);
}

enum qs_status qs_txn_get(struct qs_txn *txn, const char *key, char **ret_text, size_t *ret_len, struct qs_error *err)
{
    struct qs_key parsed = {0};
    struct entry_list list = {0};
    AUTO(value_release) json_t *value = NULL;
    enum qs_status status = txn_check_open(txn, err);
    if (!status && key)
        status = qs_key_parse(key, &parsed, err);
    if (!status)
        status = content_range(txn, AREA_SETTINGS, &parsed, &list, err);
    if (!status && key && list.count == 0) {
        status = error_set(err, QS_NOT_FOUND, "there is no such setting");
        error_add_path(err, key);
    }
    if (!status)
        status = unflatten_leaves(list.items, list.count, &parsed, &value, err);
    if (!status)
        status = value_encode_text(value, ret_text, ret_len, err);
    free(list.items);
    return status;
}

/* ---- changes ---- */

/* Removes all of an area at and below key (root or NULL: all). */
static enum qs_status remove_subtree(struct qs_txn *txn, enum store_area area, const struct qs_key *key,
                                     struct qs_error *err)
{
    size_t first = 0;
    size_t end = 0;
    enum qs_status status = QS_OK;
    const struct qs_bytes gone = {NULL, 0};
    struct overlay *overlay = &txn->areas[area];
    const struct entry_list *base = &txn->base->areas[area];
    snapshot_range(&(struct entry_list){overlay->items, overlay->count}, key, &first, &end);
    for (size_t i = first; i < end; i++)
        overlay->items[i].value = gone;
    snapshot_range(base, key, &first, &end);
    for (size_t i = first; i < end && !status; i++)
        status = overlay_put(overlay, base->items[i].key, gone, err);
    return status;
}

/* Removes all of an area but the key fleet, which content that comes as a whole never touches. */
static enum qs_status remove_all(struct qs_txn *txn, enum store_area area, struct qs_error *err)
{
    struct entry_list list = {0};
    enum qs_status status = txn_content(txn, area, &list, err);
    for (size_t i = 0; i < list.count && !status; i++)
        if (area != AREA_SETTINGS || !fleet_key_covers(list.items[i].key))
            status = overlay_put(&txn->areas[area], list.items[i].key, (struct qs_bytes){NULL, 0}, err);
    free(list.items);
    return status;
}

/* Puts one leaf in place: what is below it goes, and a leaf above it gives way to the object it now is. */
static enum qs_status put_leaf(struct qs_txn *txn, struct qs_bytes key, struct qs_bytes value, struct qs_error *err)
{
    const unsigned char *bytes = key.data;
    enum qs_status status = QS_OK;
    for (size_t i = 1; i < key.len && !status; i++) {
        struct qs_bytes above = {bytes, i};
        if (bytes[i] == '\0' && value_now(txn, AREA_SETTINGS, above).data)
            status = overlay_put(&txn->areas[AREA_SETTINGS], above, (struct qs_bytes){NULL, 0}, err);
    }
    struct qs_key whole = {.len = key.len};
    memcpy(whole.bytes, bytes, key.len);
    if (!status)
        status = remove_subtree(txn, AREA_SETTINGS, &whole, err);
    if (!status)
        status = overlay_put(&txn->areas[AREA_SETTINGS], key, value, err);
    return status;
}

static bool is_empty_object(struct qs_bytes value)
{
    return value.len == sizeof EMPTY_OBJECT - 1 && memcmp(value.data, EMPTY_OBJECT, value.len) == 0;
}

/* Is there an object at key already: anything below it, or the empty one? */
static bool is_object_now(const struct qs_txn *txn, struct qs_bytes key)
{
    struct qs_key whole = {.len = key.len};
    memcpy(whole.bytes, key.data, key.len);
    struct entry_list list = {0};
    if (content_range(txn, AREA_SETTINGS, &whole, &list, NULL))
        return false;
    bool object = list.count > 1 ||
                  (list.count == 1 && (list.items[0].key.len > key.len || is_empty_object(list.items[0].value)));
    free(list.items);
    return object;
}

/* Merges leaves: objects deep, the rest replaced. */
static enum qs_status merge_leaves(struct qs_txn *txn, const struct leaves *leaves, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    for (size_t i = 0; i < leaves->count && !status; i++) {
        const struct leaf *leaf = &leaves->items[i];
        if (is_empty_object(leaf->value) && is_object_now(txn, leaf->key))
            continue;
        status = put_leaf(txn, leaf->key, leaf->value, err);
    }
    return status;
}

static enum qs_status put_value(struct qs_txn *txn, const struct qs_key *key, const json_t *value, struct qs_error *err)
{
    struct leaves leaves = {0};
    enum qs_status status = schema_check_value(key, value, schema_flags_of(txn->dir.scope), err);
    if (!status)
        status = flatten_value(value, key, NULL, &leaves, err);
    if (!status)
        status = remove_subtree(txn, AREA_SETTINGS, key, err);
    for (size_t i = 0; i < leaves.count && !status; i++)
        status = put_leaf(txn, leaves.items[i].key, leaves.items[i].value, err);
    leaves_release(&leaves);
    return status;
}

enum qs_status qs_txn_set(struct qs_txn *txn, const char *key, const char *json, size_t len, struct qs_error *err)
{
    struct qs_key parsed;
    AUTO(value_release) json_t *value = NULL;
    enum qs_status status = txn_check_open(txn, err);
    if (!status)
        status = qs_key_parse(key, &parsed, err);
    if (!status)
        status = value_decode(json, len, &value, err);
    if (!status)
        status = put_value(txn, &parsed, value, err);
    if (status)
        error_add_path(err, key);
    return status;
}

enum qs_status qs_txn_unset(struct qs_txn *txn, const char *key, struct qs_error *err)
{
    struct qs_key parsed;
    struct entry_list list = {0};
    enum qs_status status = txn_check_open(txn, err);
    if (!status)
        status = qs_key_parse(key, &parsed, err);
    if (!status)
        status = content_range(txn, AREA_SETTINGS, &parsed, &list, err);
    if (!status && list.count == 0)
        status = error_set(err, QS_NOT_FOUND, "there is no such setting in scope %s", qs_scope_name(txn->dir.scope));
    if (!status)
        status = remove_subtree(txn, AREA_SETTINGS, &parsed, err);
    free(list.items);
    if (status)
        error_add_path(err, key);
    return status;
}

enum qs_status qs_txn_apply(struct qs_txn *txn, const char *file_name, const char *text, size_t len,
                            enum qs_text_format format, bool replace, struct qs_error *err)
{
    struct leaves leaves = {0};
    AUTO(doc_release) struct doc *doc = NULL;
    enum doc_format as = format == QS_FORMAT_YAML ? DOC_YAML : DOC_JSON;
    unsigned flags = schema_flags_of(txn->dir.scope) | (replace ? 0 : SCHEMA_PARTIAL);
    enum qs_status status = txn_check_open(txn, err);
    if (!status)
        status = doc_parse(file_name, text, len, format == QS_FORMAT_AUTO ? doc_format_of(file_name) : as, &doc, err);
    if (!status)
        status = schema_check_document(doc_root(doc), doc, flags, err);
    if (!status)
        status = flatten_value(doc_root(doc), NULL, doc, &leaves, err);
    if (!status && replace)
        status = remove_all(txn, AREA_SETTINGS, err);
    if (!status)
        status = merge_leaves(txn, &leaves, err);
    leaves_release(&leaves);
    return status;
}

/* ---- whose the scope is ---- */

enum qs_status txn_check_fleet(const struct store_dir *dir, const struct qs_snapshot *base,
                               const struct qs_change *changes, size_t count, bool kept, struct qs_error *err)
{
    bool local = !base, broken = false;
    struct fleet_mark owner = {0};
    for (size_t i = 0; i < count; i++) {
        if (!kept && changes[i].area == QS_AREA_SETTINGS && fleet_key_covers(changes[i].key))
            return error_set(err, QS_CONFLICT, "the key fleet is written by qfleet alone");
        local = local || changes[i].area != QS_AREA_TARGETS;
    }
    if (!local || dir->scope != QS_SCOPE_SYSTEM)
        return QS_OK;
    enum qs_status status = base ? fleet_mark_of(base, &owner, err) : fleet_required(dir, &owner, err);
    if (!status && owner.fleet[0])
        status = fleet_glass_broken(dir, &broken, err);
    if (status || !owner.fleet[0] || broken)
        return status;
    (void)error_set(err, QS_CONFLICT, "the system scope belongs to fleet %s; nothing was changed", owner.fleet);
    error_add_advice(err, "change it in the fleet, or for some hours here: qfleet break-glass --hours 4 -m WHY");
    return QS_CONFLICT;
}

enum qs_status txn_become(struct qs_txn *txn, const struct qs_snapshot *content, struct qs_error *err)
{
    static const enum store_area areas[] = {AREA_SETTINGS, AREA_LOCKS};
    enum qs_status status = QS_OK;
    for (size_t a = 0; a < sizeof areas / sizeof areas[0] && !status; a++) {
        const struct entry_list *list = &content->areas[areas[a]];
        status = remove_all(txn, areas[a], err);
        for (size_t i = 0; i < list->count && !status; i++)
            if (areas[a] != AREA_SETTINGS || !fleet_key_covers(list->items[i].key))
                status = overlay_put(&txn->areas[areas[a]], list->items[i].key, list->items[i].value, err);
    }
    if (!status)
        txn->flags = content->record.flags;
    return status;
}

/* ---- locks, flags, publish targets ---- */

static const struct qs_bytes LOCK_VALUE = {"true", 4};

enum qs_status qs_txn_lock(struct qs_txn *txn, const char *key, struct qs_error *err)
{
    struct qs_key parsed;
    enum qs_status status = txn_check_open(txn, err);
    if (!status)
        status = qs_key_parse(key, &parsed, err);
    if (!status)
        status = overlay_put(&txn->areas[AREA_LOCKS], (struct qs_bytes){parsed.bytes, parsed.len}, LOCK_VALUE, err);
    return status;
}

enum qs_status qs_txn_unlock(struct qs_txn *txn, const char *key, struct qs_error *err)
{
    struct qs_key parsed;
    enum qs_status status = txn_check_open(txn, err);
    if (!status)
        status = qs_key_parse(key, &parsed, err);
    if (status)
        return status;
    struct qs_bytes bytes = {parsed.bytes, parsed.len};
    if (!overlay_value(&txn->areas[AREA_LOCKS], &txn->base->areas[AREA_LOCKS], bytes).data) {
        status = error_set(err, QS_NOT_FOUND, "scope %s holds no lock on this key", qs_scope_name(txn->dir.scope));
        error_add_path(err, key);
        return status;
    }
    return overlay_put(&txn->areas[AREA_LOCKS], bytes, (struct qs_bytes){NULL, 0}, err);
}

enum qs_status qs_txn_require_policy(struct qs_txn *txn, bool required, struct qs_error *err)
{
    enum qs_status status = txn_check_open(txn, err);
    if (!status)
        txn->flags = required ? txn->flags | META_RECORD_REQUIRE_POLICY : txn->flags & ~META_RECORD_REQUIRE_POLICY;
    return status;
}

enum qs_status txn_put_target(struct qs_txn *txn, struct qs_bytes key, struct qs_bytes value, struct qs_error *err)
{
    enum qs_status status = txn_check_open(txn, err);
    if (!status && (key.len == 0 || key.len > QS_KEY_MAX_BYTES))
        status = error_set(err, QS_INVALID, "a target's name has 1 to %u bytes", QS_KEY_MAX_BYTES);
    return status ? status : overlay_put(&txn->areas[AREA_TARGETS], key, value, err);
}

/* ---- an older generation ---- */

enum qs_status qs_txn_rollback(struct qs_txn *txn, uint64_t generation, struct qs_error *err)
{
    struct history_pages pages = {0};
    struct qs_history *history = NULL;
    AUTO(snapshot_release) struct qs_snapshot *present = NULL;
    AUTO(snapshot_release) struct qs_snapshot *content = NULL;
    enum qs_status status = txn_check_open(txn, err);
    if (!status)
        status = verified_read(txn->writer.data_fd,
                               &(struct verified_read){SLOT_NEWER, SNAPSHOT_HISTORY, 0, history_visit, &pages},
                               &present, err);
    if (!status)
        status = history_make(&present, &pages, &history, err);
    if (!status)
        status = qs_history_at(history, generation, &content, err);
    if (!status)
        status = txn_become(txn, content, err);
    if (!status)
        txn->action = HISTORY_ROLLBACK;
    if (status)
        error_add_file(err, txn->dir.path);
    qs_history_close(history);
    history_pages_release(&pages);
    return status;
}
