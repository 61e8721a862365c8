/* SPDX-License-Identifier: Apache-2.0 */
/* The bundle: a whole document, who is to have it, and what went before. */
#include "base/cleanup.h"
#include "base/error.h"
#include "fleet/rules/documents.h"
#include "text/json.h"
#include "text/key_path.h"

#include <string.h>

static const char what[] = "bundle";

void bundle_release(struct bundle *bundle)
{
    value_release(&bundle->document);
    leaves_release(&bundle->locks);
}

/* ---- parts ---- */

static enum qs_status parse_ring(const json_t *value, struct ring *ring, struct qs_error *err)
{
    json_error_t fault;
    const char *group = NULL;
    json_int_t percent = -1;
    if (json_unpack_ex((json_t *)value, &fault, JSON_STRICT, "{s?s, s?I!}", "group", &group, "percent", &percent))
        return error_set(err, QS_INVALID, "bundle: rings: %s", fault.text);
    if (group && !name_ok(group))
        return document_fault(what, "rings: group: 1 to 64 of a-z, 0-9 and -", err);
    if (json_object_get(value, "percent") && (percent < 0 || percent > 100))
        return document_fault(what, "rings: percent: 0 to 100", err);
    if (group)
        memcpy(ring->group, group, strlen(group) + 1);
    ring->percent = (int)percent;
    return QS_OK;
}

static enum qs_status parse_rings(const json_t *rings, json_int_t open, struct bundle *bundle, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    if (!json_is_array(rings) || json_array_size(rings) < 1 || json_array_size(rings) > FLEET_RINGS_MAX)
        return document_fault(what, "rings: an array of 1 to 16", err);
    bundle->ring_count = (unsigned)json_array_size(rings);
    for (unsigned i = 0; i < bundle->ring_count && !status; i++)
        status = parse_ring(json_array_get(rings, i), &bundle->rings[i], err);
    if (!status && (open < 0 || open > (json_int_t)bundle->ring_count))
        status = document_fault(what, "open: 0 to the number of rings", err);
    bundle->open = (unsigned)open;
    return status;
}

static enum qs_status parse_base(const json_t *base, struct bundle *bundle, struct qs_error *err)
{
    json_error_t fault;
    json_int_t serial, keys;
    const char *digest;
    if (json_is_null(base))
        return QS_OK;
    if (json_unpack_ex((json_t *)base, &fault, JSON_STRICT, "{s:I, s:I, s:s!}", "serial", &serial, "keys", &keys,
                       "digest", &digest))
        return error_set(err, QS_INVALID, "bundle: base: %s", fault.text);
    if (!number_ok(serial, 1) || !number_ok(keys, 1) ||
        !hex_parse(digest, strlen(digest), bundle->base_digest, QS_DIGEST_BYTES))
        return document_fault(what, "base: serial and keys are integers from 1, digest 64 hex digits", err);
    bundle->base = (struct fleet_order){(uint64_t)keys, (uint64_t)serial};
    bundle->has_base = true;
    if (fleet_order_compare(bundle->base, bundle->order) >= 0)
        return document_fault(what, "base: is not before the bundle itself", err);
    return QS_OK;
}

static int by_key(const void *a, const void *b)
{
    const struct leaf *left = a, *right = b;
    return key_compare(left->key.data, left->key.len, right->key.data, right->key.len);
}

/* Locks as sorted leaves, whose keys lie in the arena. */
static enum qs_status parse_locks(const json_t *locks, struct bundle *bundle, struct qs_error *err)
{
    const json_t *lock;
    size_t i;
    if (!json_is_array(locks))
        return document_fault(what, "locks: an array of keys", err);
    size_t count = json_array_size(locks);
    struct qs_key *keys = calloc(count + 1, sizeof *keys);
    struct leaf *items = calloc(count + 1, sizeof *items);
    bundle->locks = (struct leaves){.items = items, .count = 0, .arena = keys};
    if (!keys || !items)
        return error_memory(err);
    json_array_foreach(locks, i, lock)
    {
        enum qs_status status = qs_key_parse(json_is_string(lock) ? json_string_value(lock) : "", &keys[i], err);
        if (status)
            return status;
        items[i] = (struct leaf){{keys[i].bytes, keys[i].len}, {"true", 4}};
        if (fleet_key_covers(items[i].key))
            return document_fault(what, "locks: the key fleet is qfleet's own", err);
    }
    qsort(items, count, sizeof *items, by_key);
    for (i = 1; i < count; i++)
        if (!by_key(&items[i - 1], &items[i]))
            return document_fault(what, "locks: one key stands twice", err);
    bundle->locks.count = count;
    return QS_OK;
}

void fleet_content_digest(const struct leaf *settings, size_t count, const struct leaf *locks, size_t lock_count,
                          uint8_t out[QS_DIGEST_BYTES])
{
    struct digest digest;
    size_t counted = 0;
    digest_init(&digest);
    for (size_t i = 0; i < count; i++)
        counted += !fleet_key_covers(settings[i].key);
    digest_add_u64(&digest, counted);
    for (size_t i = 0; i < count; i++) {
        if (fleet_key_covers(settings[i].key))
            continue;
        digest_add_field(&digest, settings[i].key.data, settings[i].key.len);
        digest_add_field(&digest, settings[i].value.data, settings[i].value.len);
    }
    digest_add_u64(&digest, lock_count);
    for (size_t i = 0; i < lock_count; i++)
        digest_add_field(&digest, locks[i].key.data, locks[i].key.len);
    digest_finish(&digest, out);
}

static enum qs_status parse_content(json_t *document, const json_t *locks, struct bundle *bundle, struct qs_error *err)
{
    struct leaves leaves = {0};
    if (!json_is_object(document))
        return document_fault(what, "document: an object, the settings of the scope", err);
    if (json_object_get(document, "fleet"))
        return document_fault(what, "document: the key fleet is qfleet's own", err);
    bundle->document = json_incref(document);
    enum qs_status status = parse_locks(locks, bundle, err);
    if (!status)
        status = flatten_value(document, NULL, NULL, &leaves, err);
    if (!status)
        fleet_content_digest(leaves.items, leaves.count, bundle->locks.items, bundle->locks.count, bundle->content);
    leaves_release(&leaves);
    return status;
}

/* ---- the whole ---- */

struct envelope {
    const char *format, *fleet, *rollout, *battery;
    json_int_t keys, serial, issued, expires, open;
    json_t *rings, *base, *document, *locks;
};

static enum qs_status check_envelope(const struct envelope *e, struct qs_error *err)
{
    if (strcmp(e->format, "qsettings-fleet-bundle-1") != 0)
        return document_fault(what, "format is not qsettings-fleet-bundle-1", err);
    if (!name_ok(e->fleet) || !name_ok(e->rollout))
        return document_fault(what, "fleet and rollout: 1 to 64 of a-z, 0-9 and -", err);
    if (!number_ok(e->keys, 1) || !number_ok(e->serial, 1))
        return document_fault(what, "keys and serial are integers from 1, below 2^53", err);
    if (!number_ok(e->issued, 0) || !number_ok(e->expires, 0) || e->expires <= e->issued)
        return document_fault(what, "issued and expires are seconds since the epoch, expires after issued", err);
    if (strcmp(e->battery, "hold") != 0 && strcmp(e->battery, "report") != 0)
        return document_fault(what, "battery: hold or report", err);
    return QS_OK;
}

static enum qs_status fill(const struct envelope *e, struct bundle *bundle, struct qs_error *err)
{
    memcpy(bundle->fleet, e->fleet, strlen(e->fleet) + 1);
    memcpy(bundle->rollout, e->rollout, strlen(e->rollout) + 1);
    bundle->order = (struct fleet_order){(uint64_t)e->keys, (uint64_t)e->serial};
    bundle->issued = (uint64_t)e->issued;
    bundle->expires = (uint64_t)e->expires;
    bundle->hold = e->battery[0] == 'h';
    enum qs_status status = parse_rings(e->rings, e->open, bundle, err);
    if (!status)
        status = parse_base(e->base, bundle, err);
    if (!status)
        status = parse_content(e->document, e->locks, bundle, err);
    return status;
}

enum qs_status bundle_parse(struct qs_bytes text, struct bundle *ret_bundle, struct qs_error *err)
{
    AUTO(value_release) json_t *root = NULL;
    struct bundle bundle = {0};
    struct envelope e;
    json_error_t fault;
    enum qs_status status = document_load(what, text, FLEET_BUNDLE_MAX_BYTES, &root, err);
    if (!status &&
        json_unpack_ex(root, &fault, JSON_STRICT, "{s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:o, s:I, s:o, s:s, s:o, s:o!}",
                       "format", &e.format, "fleet", &e.fleet, "keys", &e.keys, "serial", &e.serial, "issued",
                       &e.issued, "expires", &e.expires, "rollout", &e.rollout, "rings", &e.rings, "open", &e.open,
                       "base", &e.base, "battery", &e.battery, "document", &e.document, "locks", &e.locks))
        status = document_fault(what, fault.text, err);
    if (!status)
        status = check_envelope(&e, err);
    if (!status)
        status = fill(&e, &bundle, err);
    if (status) {
        bundle_release(&bundle);
        return status;
    }
    digest_of(text.data, text.len, bundle.digest);
    *ret_bundle = bundle;
    return QS_OK;
}

/* ---- a look without building it ---- */

static bool peek_number(struct qs_bytes text, const char *name, uint64_t *ret_number)
{
    const struct qs_bytes path[] = {{"base", 4}, {name, strlen(name)}};
    struct parse_position position;
    uint64_t number = 0;
    parse_position_init(&position, path, 2);
    (void)jsontext_walk(text.data, text.len, text.len, &position);
    bool found = position.found == 2 && !position.failed;
    size_t at = position.value_at;
    parse_position_release(&position);
    const char *bytes = text.data;
    for (size_t i = at; found && i < text.len && bytes[i] >= '0' && bytes[i] <= '9' && number < FLEET_NUMBER_MAX / 10;
         i++)
        number = number * 10 + (uint64_t)(bytes[i] - '0');
    *ret_number = number;
    return found && number > 0;
}

bool bundle_base_peek(struct qs_bytes text, struct fleet_order *ret_base)
{
    return peek_number(text, "keys", &ret_base->keys) && peek_number(text, "serial", &ret_base->serial);
}
