/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions: begin, the changes, abort; commit.c has the commit. */
#include "writer/txn_internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "schema/schema.h"
#include "store/env.h"
#include "store/fleet_guard.h"
#include "store/history_read.h"
#include "text/element.h"

#include <errno.h>
#include <string.h>

#define EMPTY_OBJECT "{}"

static void txn_release(struct qs_txn **txn)
{
    qs_txn_free(*txn);
}

enum qs_status qs_txn_begin(struct qs_store *store, unsigned wait_ms, struct qs_txn **ret_txn, struct qs_error *err)
{
    if (!store || !ret_txn)
        return error_misuse(err, __func__);
    AUTO(txn_release) struct qs_txn *txn = calloc(1, sizeof *txn);
    if (!txn)
        return error_memory(err);
    txn->writer = WRITER_NONE;
    txn->owner = getpid();
    txn->action = HISTORY_SET;
    if (!store->env)
        store->env = env_cache_new();
    txn->env = env_cache_ref(store->env);
    enum qs_status status = store_dir_copy(&store->dir, &txn->dir, err);
    if (status)
        return status;
    status = writer_open(&txn->dir, wait_ms, &txn->writer, err);
    if (status)
        return status;
    txn->open = true;
    status = writer_read(&txn->dir, &txn->writer, &txn->base, err);
    if (status)
        return status;
    txn->flags = txn->base->record.flags;
    *ret_txn = STEAL(txn);
    return QS_OK;
}

void qs_txn_abort(struct qs_txn *txn)
{
    if (!txn || !txn->open)
        return;
    txn->open = false;
    /* In a forked child the lock's copy is closed already, and closing touches nothing. */
    writer_close(&txn->writer);
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
    return txn ? txn->base : NULL;
}

enum qs_status txn_check_open(const struct qs_txn *txn, struct qs_error *err)
{
    if (!txn)
        return error_set(err, QS_USAGE, "there is no transaction (NULL)");
    if (txn->owner != getpid())
        return error_set(err, QS_USAGE, "the transaction belongs to the process that forked this one");
    if (!txn->open)
        return error_set(err, QS_USAGE, "the transaction has ended already");
    return QS_OK;
}

/* The same, and the key. */
static enum qs_status check_call(const struct qs_txn *txn, const char *key, const char *function,
                                 struct qs_key *ret_key, struct qs_error *err)
{
    enum qs_status status = txn_check_open(txn, err);
    if (status)
        return status;
    return key ? qs_key_parse(key, ret_key, err) : error_misuse(err, function);
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
    AUTO(entry_list_release) struct entry_list list = {0};
    AUTO(value_release) json_t *value = NULL;
    enum qs_status status = key ? check_call(txn, key, __func__, &parsed, err) : txn_check_open(txn, err);
    if (status)
        return status;
    if (!ret_text)
        return error_misuse(err, __func__);
    status = content_range(txn, AREA_SETTINGS, &parsed, &list, err);
    if (status)
        return status;
    if (key && list.count == 0) {
        error_set(err, QS_NOT_FOUND, "there is no such setting in scope %s", qs_scope_name(txn->dir.scope));
        error_add_path(err, key);
        return QS_NOT_FOUND;
    }
    status = unflatten_leaves(list.items, list.count, &parsed, &value, err);
    return status ? status : value_encode_text(value, ret_text, ret_len, err);
}

static bool is_empty_object(struct qs_bytes value)
{
    return value.len == sizeof EMPTY_OBJECT - 1 && memcmp(value.data, EMPTY_OBJECT, value.len) == 0;
}

/* ---- inside a value ---- */

/* A key that leads into a value: the value that a proper prefix of key has, if it is no empty object. */
struct holder {
    struct qs_key key;
    struct qs_bytes rest; /* of the key, behind the prefix */
    json_t *value;        /* NULL: there is no such prefix */
};

static void holder_release(struct holder *holder)
{
    json_decref(holder->value);
}

static enum qs_status find_holder(const struct qs_txn *txn, const struct qs_key *key, struct holder *ret_holder,
                                  struct qs_error *err)
{
    for (size_t i = 1; i < key->len; i++) {
        struct qs_bytes above = {key->bytes, i};
        struct qs_bytes value = key->bytes[i] == '\0' ? value_now(txn, AREA_SETTINGS, above) : (struct qs_bytes){0};
        if (!value.data || is_empty_object(value))
            continue;
        ret_holder->key.len = i;
        memcpy(ret_holder->key.bytes, key->bytes, i);
        ret_holder->rest = (struct qs_bytes){key->bytes + i + 1, key->len - i - 1};
        return value_decode(value.data, value.len, &ret_holder->value, err);
    }
    return QS_OK;
}

/* A setting is never made an object because a longer key was set. */
static enum qs_status refuse_scalar(const struct holder *holder, struct qs_error *err)
{
    char path[QS_KEY_TEXT_BYTES];
    qs_key_format(holder->key.bytes, holder->key.len, path, sizeof path);
    error_set(err, QS_INVALID, "%s is a value of type %s, so there is nothing below it", path,
              value_type_name(holder->value));
    error_add_advice(err, "unset %s first, or set it to an object", path);
    return QS_INVALID;
}

/* ---- changes ---- */

/* Removes all of an area at and below key (root or NULL: all). */
static enum qs_status remove_subtree(struct qs_txn *txn, enum store_area area, const struct qs_key *key,
                                     struct qs_error *err)
{
    size_t first = 0;
    size_t end = 0;
    const struct qs_bytes gone = {NULL, 0};
    struct overlay *overlay = &txn->areas[area];
    const struct entry_list *base = &txn->base->areas[area];
    snapshot_range(&(struct entry_list){overlay->items, overlay->count}, key, &first, &end);
    for (size_t i = first; i < end; i++)
        overlay->items[i].value = gone;
    snapshot_range(base, key, &first, &end);
    for (size_t i = first; i < end; i++) {
        enum qs_status status = overlay_put(overlay, base->items[i].key, gone, err);
        if (status)
            return status;
    }
    return QS_OK;
}

/* Removes all of an area but the key fleet, which content that comes as a whole never touches. */
static enum qs_status remove_all(struct qs_txn *txn, enum store_area area, struct qs_error *err)
{
    AUTO(entry_list_release) struct entry_list list = {0};
    enum qs_status status = txn_content(txn, area, &list, err);
    for (size_t i = 0; i < list.count && !status; i++)
        if (area != AREA_SETTINGS || !fleet_key_covers(list.items[i].key))
            status = overlay_put(&txn->areas[area], list.items[i].key, (struct qs_bytes){NULL, 0}, err);
    return status;
}

/* Puts one leaf: what is below it goes, and a leaf above it gives way to the object it now is. */
static enum qs_status put_leaf(struct qs_txn *txn, struct qs_bytes key, struct qs_bytes value, struct qs_error *err)
{
    const unsigned char *bytes = key.data;
    struct overlay *overlay = &txn->areas[AREA_SETTINGS];
    for (size_t i = 1; i < key.len; i++) {
        struct qs_bytes above = {bytes, i};
        if (bytes[i] != '\0' || !value_now(txn, AREA_SETTINGS, above).data)
            continue;
        enum qs_status status = overlay_put(overlay, above, (struct qs_bytes){NULL, 0}, err);
        if (status)
            return status;
    }
    struct qs_key whole = {.len = key.len};
    memcpy(whole.bytes, bytes, key.len);
    enum qs_status status = remove_subtree(txn, AREA_SETTINGS, &whole, err);
    return status ? status : overlay_put(overlay, key, value, err);
}

/* Is there an object at key already: anything below it, or the empty one? */
static bool is_object_now(const struct qs_txn *txn, struct qs_bytes key)
{
    AUTO(entry_list_release) struct entry_list list = {0};
    struct qs_key whole = {.len = key.len};
    memcpy(whole.bytes, key.data, key.len);
    if (content_range(txn, AREA_SETTINGS, &whole, &list, NULL))
        return false;
    return list.count > 1 ||
           (list.count == 1 && (list.items[0].key.len > key.len || is_empty_object(list.items[0].value)));
}

/* Merges leaves: objects deep, the rest replaced. */
static enum qs_status merge_leaves(struct qs_txn *txn, const struct leaves *leaves, struct qs_error *err)
{
    for (size_t i = 0; i < leaves->count; i++) {
        const struct leaf *leaf = &leaves->items[i];
        if (is_empty_object(leaf->value) && is_object_now(txn, leaf->key))
            continue;
        enum qs_status status = put_leaf(txn, leaf->key, leaf->value, err);
        if (status)
            return status;
    }
    return QS_OK;
}

static enum qs_status put_value(struct qs_txn *txn, const struct qs_key *key, const json_t *value, struct qs_error *err)
{
    AUTO(leaves_release) struct leaves leaves = {0};
    enum qs_status status = schema_check_value(key, value, schema_flags_of(txn->dir.scope), err);
    if (status)
        return status;
    status = flatten_value(value, key, NULL, &leaves, err);
    if (status)
        return status;
    status = remove_subtree(txn, AREA_SETTINGS, key, err);
    if (status)
        return status;
    for (size_t i = 0; i < leaves.count; i++) {
        status = put_leaf(txn, leaves.items[i].key, leaves.items[i].value, err);
        if (status)
            return status;
    }
    return QS_OK;
}

/* An element of an array that nobody has set yet. */
static enum qs_status blame_array(const struct qs_txn *txn, const struct qs_key *key, struct qs_error *err)
{
    AUTO(value_release) json_t *array = json_array();
    AUTO(value_release) json_t *object = json_object();
    unsigned flags = schema_flags_of(txn->dir.scope);
    struct qs_key prefix = *key;
    char path[QS_KEY_TEXT_BYTES];
    for (qs_key_pop(&prefix); array && object && prefix.len; qs_key_pop(&prefix)) {
        if (schema_check_value(&prefix, array, flags, NULL) || !schema_check_value(&prefix, object, flags, NULL))
            continue;
        qs_key_format(prefix.bytes, prefix.len, path, sizeof path);
        error_set(err, QS_INVALID, "%s is an array, and it is not set", path);
        error_add_advice(err, "add an element with 'qsettings add %s VALUE'", path);
        return QS_INVALID;
    }
    return QS_INVALID;
}

/* Sets what lies inside an array, which is then put whole. */
static enum qs_status put_inside(struct qs_txn *txn, const struct qs_key *key, json_t *value, struct qs_error *err)
{
    AUTO(holder_release) struct holder holder = {0};
    enum qs_status status = find_holder(txn, key, &holder, err);
    if (status)
        return status;
    if (!holder.value) {
        status = put_value(txn, key, value, err);
        return status == QS_INVALID ? blame_array(txn, key, err) : status;
    }
    if (!json_is_array(holder.value))
        return refuse_scalar(&holder, err);
    status = element_put(holder.value, holder.rest, value, err);
    return status ? status : put_value(txn, &holder.key, holder.value, err);
}

enum qs_status qs_txn_set(struct qs_txn *txn, const char *key, const char *json, size_t len, struct qs_error *err)
{
    struct qs_key parsed = {0};
    AUTO(value_release) json_t *value = NULL;
    enum qs_status status = check_call(txn, key, __func__, &parsed, err);
    if (!status)
        status = json ? value_decode(json, len, &value, err) : error_misuse(err, __func__);
    if (!status)
        status = put_inside(txn, &parsed, value, err);
    if (status)
        error_add_path(err, key);
    return status;
}

static enum qs_status unset_inside(struct qs_txn *txn, const struct qs_key *key, struct qs_error *err)
{
    AUTO(holder_release) struct holder holder = {0};
    enum qs_status status = find_holder(txn, key, &holder, err);
    if (status)
        return status;
    if (!json_is_array(holder.value))
        return error_set(err, QS_NOT_FOUND, "there is no such setting in scope %s", qs_scope_name(txn->dir.scope));
    status = element_remove(holder.value, holder.rest, err);
    return status ? status : put_value(txn, &holder.key, holder.value, err);
}

static enum qs_status unset(struct qs_txn *txn, const struct qs_key *key, struct qs_error *err)
{
    AUTO(entry_list_release) struct entry_list list = {0};
    enum qs_status status = content_range(txn, AREA_SETTINGS, key, &list, err);
    if (status)
        return status;
    if (list.count == 0)
        return unset_inside(txn, key, err);
    return remove_subtree(txn, AREA_SETTINGS, key, err);
}

enum qs_status qs_txn_unset(struct qs_txn *txn, const char *key, struct qs_error *err)
{
    struct qs_key parsed = {0};
    enum qs_status status = check_call(txn, key, __func__, &parsed, err);
    if (!status)
        status = unset(txn, &parsed, err);
    if (status)
        error_add_path(err, key);
    return status;
}

enum qs_status qs_txn_apply(struct qs_txn *txn, const char *file_name, const char *text, size_t len,
                            enum qs_text_format format, bool replace, struct qs_error *err)
{
    AUTO(leaves_release) struct leaves leaves = {0};
    AUTO(doc_release) struct doc *doc = NULL;
    enum doc_format as = format == QS_FORMAT_YAML ? DOC_YAML : DOC_JSON;
    enum qs_status status = txn_check_open(txn, err);
    if (status)
        return status;
    if (!file_name || (!text && len) || format < QS_FORMAT_AUTO || format > QS_FORMAT_YAML)
        return error_misuse(err, __func__);
    unsigned flags = schema_flags_of(txn->dir.scope) | (replace ? 0 : SCHEMA_PARTIAL);
    if (format == QS_FORMAT_AUTO)
        as = doc_format_of(file_name);
    status = doc_parse(file_name, text ? text : "", len, as, &doc, err);
    if (status)
        return status;
    status = schema_check_document(doc_root(doc), doc, flags, err);
    if (status)
        return status;
    status = flatten_value(doc_root(doc), NULL, doc, &leaves, err);
    if (status)
        return status;
    status = replace ? remove_all(txn, AREA_SETTINGS, err) : QS_OK;
    return status ? status : merge_leaves(txn, &leaves, err);
}

/* ---- whose the scope is ---- */

enum qs_status txn_check_fleet(const struct store_dir *dir, const struct qs_snapshot *base,
                               const struct qs_change *changes, size_t count, bool kept, struct qs_error *err)
{
    bool local = !base;
    bool broken = false;
    struct fleet_mark owner = {0};
    for (size_t i = 0; i < count; i++) {
        if (!kept && changes[i].area == QS_AREA_SETTINGS && fleet_key_covers(changes[i].key))
            return error_set(err, QS_CONFLICT, "only qfleet may write the key fleet");
        local = local || changes[i].area != QS_AREA_TARGETS;
    }
    if (!local || dir->scope != QS_SCOPE_SYSTEM)
        return QS_OK;
    enum qs_status status = base ? fleet_mark_of(base, &owner, err) : fleet_required(dir, &owner, err);
    if (!status && owner.fleet[0])
        status = fleet_glass_broken(dir, &broken, err);
    if (status || !owner.fleet[0] || broken)
        return status;
    error_set(err, QS_CONFLICT, "the system scope belongs to fleet %s; nothing was changed", owner.fleet);
    error_add_advice(err, "change it in the fleet, or for some hours here: qfleet break-glass --hours 4 -m WHY");
    return QS_CONFLICT;
}

enum qs_status txn_become(struct qs_txn *txn, const struct qs_snapshot *content, struct qs_error *err)
{
    static const enum store_area areas[] = {AREA_SETTINGS, AREA_LOCKS};
    for (size_t a = 0; a < sizeof areas / sizeof areas[0]; a++) {
        const struct entry_list *list = &content->areas[areas[a]];
        enum qs_status status = remove_all(txn, areas[a], err);
        for (size_t i = 0; i < list->count && !status; i++)
            if (areas[a] != AREA_SETTINGS || !fleet_key_covers(list->items[i].key))
                status = overlay_put(&txn->areas[areas[a]], list->items[i].key, list->items[i].value, err);
        if (status)
            return status;
    }
    txn->flags = content->record.flags;
    return QS_OK;
}

/* ---- locks, flags, publish targets ---- */

static const struct qs_bytes LOCK_VALUE = {"true", 4};

enum qs_status qs_txn_lock(struct qs_txn *txn, const char *key, struct qs_error *err)
{
    struct qs_key parsed = {0};
    enum qs_status status = check_call(txn, key, __func__, &parsed, err);
    if (status)
        return status;
    return overlay_put(&txn->areas[AREA_LOCKS], (struct qs_bytes){parsed.bytes, parsed.len}, LOCK_VALUE, err);
}

enum qs_status qs_txn_unlock(struct qs_txn *txn, const char *key, struct qs_error *err)
{
    struct qs_key parsed = {0};
    enum qs_status status = check_call(txn, key, __func__, &parsed, err);
    if (status)
        return status;
    struct qs_bytes bytes = {parsed.bytes, parsed.len};
    if (!value_now(txn, AREA_LOCKS, bytes).data) {
        error_set(err, QS_NOT_FOUND, "scope %s has no lock on this key", qs_scope_name(txn->dir.scope));
        error_add_path(err, key);
        return QS_NOT_FOUND;
    }
    return overlay_put(&txn->areas[AREA_LOCKS], bytes, (struct qs_bytes){NULL, 0}, err);
}

enum qs_status qs_txn_require_policy(struct qs_txn *txn, bool required, struct qs_error *err)
{
    enum qs_status status = txn_check_open(txn, err);
    if (status)
        return status;
    txn->flags = required ? txn->flags | META_RECORD_REQUIRE_POLICY : txn->flags & ~META_RECORD_REQUIRE_POLICY;
    return QS_OK;
}

enum qs_status txn_put_target(struct qs_txn *txn, struct qs_bytes key, struct qs_bytes value, struct qs_error *err)
{
    enum qs_status status = txn_check_open(txn, err);
    if (status)
        return status;
    if (key.len == 0 || key.len > QS_KEY_MAX_BYTES)
        return error_set(err, QS_INVALID, "a target's name must have 1 to %u bytes", QS_KEY_MAX_BYTES);
    return overlay_put(&txn->areas[AREA_TARGETS], key, value, err);
}

/* ---- an older generation ---- */

static enum qs_status roll_back(struct qs_txn *txn, uint64_t generation, struct qs_error *err)
{
    AUTO(history_release) struct qs_history *history = NULL;
    AUTO(snapshot_release) struct qs_snapshot *present = qs_snapshot_ref(txn->base);
    AUTO(snapshot_release) struct qs_snapshot *content = NULL;
    AUTO_FD int fd = dup(txn->writer.data_fd);
    if (fd < 0)
        return error_sys(err, QS_IO, errno, "the store cannot be kept open");
    enum qs_status status = history_make(&fd, &present, &history, err);
    if (!status)
        status = qs_history_at(history, generation, &content, err);
    return status ? status : txn_become(txn, content, err);
}

enum qs_status qs_txn_rollback(struct qs_txn *txn, uint64_t generation, struct qs_error *err)
{
    enum qs_status status = txn_check_open(txn, err);
    if (status)
        return status;
    status = roll_back(txn, generation, err);
    if (status) {
        error_add_file(err, txn->dir.path);
        return status;
    }
    txn->action = HISTORY_ROLLBACK;
    return QS_OK;
}
