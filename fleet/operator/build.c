/* SPDX-License-Identifier: Apache-2.0 */
/* The next bundle, unsigned: a new document, more or fewer rings, or an older document again. */
#include "base/cleanup.h"
#include "base/error.h"
#include "fleet/operator/work.h"
#include "schema/schema.h"
#include "text/key_path.h"

#include <stdio.h>
#include <string.h>

/* ---- parts from words ---- */

/* "pilot", "10%", "pilot:10%" or "all". */
static json_t *ring_of(const char *word, size_t len)
{
    char group[FLEET_NAME_MAX_BYTES + 8], *colon, *end = NULL;
    json_t *ring = json_object();
    if (len >= sizeof group || !len)
        return ring ? (json_decref(ring), NULL) : NULL;
    (void)snprintf(group, sizeof group, "%.*s", (int)len, word);
    char *number = (colon = strchr(group, ':')) ? colon + 1 : group[len - 1] == '%' ? group : NULL;
    if (colon)
        *colon = '\0';
    if (number) {
        unsigned long percent = strtoul(number, &end, 10);
        if (end == number || strcmp(end, "%") != 0 || percent > 100) {
            json_decref(ring);
            return NULL;
        }
        (void)json_object_set_new(ring, "percent", json_integer((json_int_t)percent));
    }
    if (number != group && strcmp(group, "all") != 0)
        (void)json_object_set_new(ring, "group", json_string(group));
    return ring;
}

/* Words between commas, each through make. NULL: one of them is not of the form. */
static json_t *words_of(const char *words, json_t *(*make)(const char *, size_t))
{
    json_t *list = json_array();
    while (list && words[0]) {
        size_t len = strcspn(words, ",");
        json_t *item = make(words, len);
        if (!item || json_array_append_new(list, item)) {
            json_decref(list);
            return NULL;
        }
        words += len + (words[len] == ',');
    }
    return list;
}

static json_t *lock_of(const char *word, size_t len)
{
    return json_stringn(word, len);
}

static json_t *locks_json(const struct bundle *bundle)
{
    json_t *locks = json_array();
    char text[QS_KEY_TEXT_BYTES];
    for (size_t i = 0; i < bundle->locks.count; i++)
        (void)json_array_append_new(locks,
                                    json_string(qs_key_format(bundle->locks.items[i].key.data,
                                                              bundle->locks.items[i].key.len, text, sizeof text)));
    return locks;
}

static json_t *rings_json(const struct bundle *bundle)
{
    json_t *rings = json_array();
    for (unsigned i = 0; i < bundle->ring_count; i++) {
        json_t *ring = json_object();
        if (bundle->rings[i].group[0])
            (void)json_object_set_new(ring, "group", json_string(bundle->rings[i].group));
        if (bundle->rings[i].percent >= 0)
            (void)json_object_set_new(ring, "percent", json_integer(bundle->rings[i].percent));
        (void)json_array_append_new(rings, ring);
    }
    return rings;
}

/* The last bundle that was fully open: the newest, or its base. */
static json_t *base_json(const struct work *work)
{
    char digest[HEX_DIGEST_BYTES];
    const struct bundle *last = &work->bundle;
    bool itself = last->open == last->ring_count;
    if (!work->has_newest || (!itself && !last->has_base))
        return json_null();
    const struct fleet_order order = itself ? last->order : last->base;
    hex_format(itself ? last->digest : last->base_digest, QS_DIGEST_BYTES, digest);
    return json_pack("{s:I, s:I, s:s}", "serial", (json_int_t)order.serial, "keys", (json_int_t)order.keys, "digest",
                     digest);
}

/* ---- what changes ---- */

static void add_leaf(char sign, const struct leaf *leaf, struct buf *out)
{
    char text[QS_KEY_TEXT_BYTES];
    buf_printf(out, "%c %s = ", sign, qs_key_format(leaf->key.data, leaf->key.len, text, sizeof text));
    if (schema_secret(leaf->key.data, leaf->key.len))
        buf_add_str(out, "<secret>");
    else
        buf_add(out, leaf->value.data, leaf->value.len);
    buf_add_char(out, '\n');
}

static void add_diff(const struct leaves *from, const struct leaves *to, struct buf *out)
{
    size_t f = 0, t = 0;
    while (f < from->count || t < to->count) {
        const struct leaf *old_leaf = f < from->count ? &from->items[f] : NULL;
        const struct leaf *new_leaf = t < to->count ? &to->items[t] : NULL;
        int order = !old_leaf ? 1
                    : !new_leaf
                        ? -1
                        : key_compare(old_leaf->key.data, old_leaf->key.len, new_leaf->key.data, new_leaf->key.len);
        f += order <= 0;
        t += order >= 0;
        if (!order && old_leaf->value.len == new_leaf->value.len &&
            !memcmp(old_leaf->value.data, new_leaf->value.data, new_leaf->value.len))
            continue;
        if (order <= 0)
            add_leaf('-', old_leaf, out);
        if (order >= 0)
            add_leaf('+', new_leaf, out);
    }
}

static enum qs_status tell(const struct work *work, const struct bundle *bundle, struct buf *out, struct qs_error *err)
{
    struct leaves before = {0}, after = {0};
    enum qs_status status = flatten_value(bundle->document, NULL, NULL, &after, err);
    if (!status && work->has_newest)
        status = flatten_value(work->bundle.document, NULL, NULL, &before, err);
    if (!status) {
        add_diff(&before, &after, out);
        work_draw(work, bundle, out);
    }
    leaves_release(&before);
    leaves_release(&after);
    return status;
}

/* ---- writing ---- */

/* Takes document, rings and locks over. */
struct draft {
    const char *rollout, *battery;
    json_t *document, *rings, *locks;
    uint64_t open, seconds;
};

static enum qs_status write_draft(struct work *work, struct draft *draft, char ret_name[DOCUMENT_NAME_BYTES],
                                  struct buf *out, struct qs_error *err)
{
    AUTO(bundle_release) struct bundle bundle = {0};
    AUTO(buf_release) struct buf text = {0};
    const struct fleet_order order = {work->keys_version, work->has_newest ? work->newest.serial + 1 : 1};
    uint64_t now = clock_now();
    char rollout[32];
    (void)snprintf(rollout, sizeof rollout, "s%llu", (unsigned long long)order.serial);
    AUTO(value_release)
    json_t *root =
        json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:o, s:I, s:o, s:s, s:o, s:o}", "format",
                  "qsettings-fleet-bundle-1", "fleet", work->fleet, "keys", (json_int_t)order.keys, "serial",
                  (json_int_t)order.serial, "issued", (json_int_t)now, "expires",
                  (json_int_t)now + (json_int_t)draft->seconds, "rollout", draft->rollout ? draft->rollout : rollout,
                  "rings", draft->rings, "open", (json_int_t)draft->open, "base", base_json(work), "battery",
                  draft->battery, "document", draft->document, "locks", draft->locks);
    enum qs_status status = root ? value_encode_pretty(root, &text, err) : error_memory(err);
    buf_add_char(&text, '\n');
    if (!status)
        status = bundle_parse(buf_bytes(&text), &bundle, err);
    if (!status)
        status = schema_check_document(bundle.document, NULL, schema_flags_of(QS_SCOPE_SYSTEM), err);
    if (!status)
        status = tell(work, &bundle, out, err);
    document_name_format(&(struct document_name){DOCUMENT_BUNDLE, order}, ret_name);
    return status ? status : work_write(work, ret_name, buf_bytes(&text), err);
}

enum qs_status next_build(struct work *work, const struct next *next, char ret_name[DOCUMENT_NAME_BYTES],
                          struct buf *out, struct qs_error *err)
{
    AUTO(doc_release) struct doc *doc = NULL;
    json_t *own = json_object_get(work->config, "rings");
    enum qs_status status = doc_read(next->file, FLEET_BUNDLE_MAX_BYTES, &doc, err);
    if (!status)
        status = schema_check_document(doc_root(doc), doc, schema_flags_of(QS_SCOPE_SYSTEM), err);
    if (status)
        return status;
    struct draft draft = {.rollout = next->rollout,
                          .battery = next->battery ? next->battery : "hold",
                          .document = json_incref((json_t *)doc_root(doc)),
                          .rings = next->rings ? words_of(next->rings, ring_of)
                                   : own       ? json_incref(own)
                                               : json_pack("[{}]"),
                          .locks = next->locks ? words_of(next->locks, lock_of) : locks_json(&work->bundle),
                          .open = next->open,
                          .seconds = next->days * 86400};
    if (!draft.rings) {
        json_decref(draft.document);
        json_decref(draft.locks);
        return error_set(err, QS_USAGE, "--rings: GROUP, N%%, GROUP:N%% or all, between commas");
    }
    return write_draft(work, &draft, ret_name, out, err);
}

static enum qs_status must_have_one(const struct work *work, struct qs_error *err)
{
    return work->has_newest ? QS_OK : error_set(err, QS_ABSENT, "there is no bundle in %s yet", work->dir);
}

static uint64_t duration(const struct work *work, uint64_t days)
{
    return days ? days * 86400 : work->bundle.expires - work->bundle.issued;
}

enum qs_status next_open(struct work *work, uint64_t open, uint64_t days, char ret_name[DOCUMENT_NAME_BYTES],
                         struct buf *out, struct qs_error *err)
{
    enum qs_status status = must_have_one(work, err);
    if (status)
        return status;
    struct draft draft = {.rollout = work->bundle.rollout,
                          .battery = work->bundle.hold ? "hold" : "report",
                          .document = json_incref(work->bundle.document),
                          .rings = rings_json(&work->bundle),
                          .locks = locks_json(&work->bundle),
                          .open = open < work->bundle.ring_count ? open : work->bundle.ring_count,
                          .seconds = duration(work, days)};
    return write_draft(work, &draft, ret_name, out, err);
}

/* The newest bundle with this serial, under whichever keys. */
static enum qs_status bundle_of_serial(const struct work *work, uint64_t serial, struct bundle *ret_bundle,
                                       struct qs_error *err)
{
    for (uint64_t keys = work->keys_version; keys; keys--) {
        enum qs_status status = work_bundle(work, (struct fleet_order){keys, serial}, ret_bundle, err);
        if (status != QS_NOT_FOUND)
            return status;
    }
    return error_set(err, QS_NOT_FOUND, "there is no bundle with serial %llu in %s", (unsigned long long)serial,
                     work->dir);
}

enum qs_status next_rollback(struct work *work, const struct next *next, char ret_name[DOCUMENT_NAME_BYTES],
                             struct buf *out, struct qs_error *err)
{
    AUTO(bundle_release) struct bundle older = {0};
    enum qs_status status = must_have_one(work, err);
    if (!status)
        status = bundle_of_serial(work, next->serial, &older, err);
    if (status)
        return status;
    struct draft draft = {.rollout = next->rollout,
                          .battery = work->bundle.hold ? "hold" : "report",
                          .document = json_incref(older.document),
                          .rings = rings_json(&work->bundle),
                          .locks = locks_json(&older),
                          .open = work->bundle.ring_count,
                          .seconds = duration(work, next->days)};
    return write_draft(work, &draft, ret_name, out, err);
}
