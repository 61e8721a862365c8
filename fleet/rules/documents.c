/* SPDX-License-Identifier: Apache-2.0 */
/* What the parsers share, and the small documents: key document and head. */
#include "fleet/rules/documents.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <string.h>

bool name_ok(const char *text)
{
    return fleet_name_valid(text, strlen(text));
}

void hex_format(const uint8_t *bytes, size_t len, char *text)
{
    (void)sodium_bin2hex(text, 2 * len + 1, bytes, len);
}

bool hex_parse(const char *text, size_t len, uint8_t *bytes, size_t size)
{
    size_t got = 0;
    for (size_t i = 0; i < len; i++)
        if (text[i] >= 'A' && text[i] <= 'F')
            return false;
    return len == 2 * size && !sodium_hex2bin(bytes, size, text, len, NULL, &got, NULL) && got == size;
}

bool number_ok(json_int_t number, json_int_t least)
{
    return number >= least && number <= FLEET_NUMBER_MAX;
}

enum qs_status document_fault(const char *what, const char *fault, struct qs_error *err)
{
    return error_set(err, QS_INVALID, "%s: %s", what, fault);
}

static bool has_real(const json_t *value)
{
    const char *key;
    json_t *member;
    size_t i;
    if (json_is_real(value))
        return true;
    json_object_foreach((json_t *)value, key, member) if (has_real(member)) return true;
    json_array_foreach(value, i, member) if (has_real(member)) return true;
    return false;
}

enum qs_status document_load(const char *what, struct qs_bytes text, size_t max_bytes, json_t **ret_root,
                             struct qs_error *err)
{
    AUTO(value_release) json_t *root = NULL;
    if (text.len > max_bytes)
        return error_set(err, QS_INVALID, "%s: more than %zu bytes", what, max_bytes);
    enum qs_status status = value_decode(text.data, text.len, &root, err);
    if (status)
        return status;
    if (!json_is_object(root))
        return document_fault(what, "no object", err);
    if (has_real(root))
        return document_fault(what, "holds a number with a fraction or an exponent; only integers are allowed", err);
    *ret_root = STEAL(root);
    return QS_OK;
}

/* ---- key document ---- */

static enum qs_status role_parse(const char *name, json_t *value, struct role *role, struct qs_error *err)
{
    json_error_t fault;
    json_int_t threshold = 0;
    json_t *keys = NULL, *key;
    size_t i;
    if (json_unpack_ex(value, &fault, JSON_STRICT, "{s:I, s:o!}", "threshold", &threshold, "keys", &keys))
        return error_set(err, QS_INVALID, "key document: %s: %s", name, fault.text);
    if (!json_is_array(keys) || json_array_size(keys) < 1 || json_array_size(keys) > ROLE_KEYS_MAX)
        return error_set(err, QS_INVALID, "key document: %s.keys: 1 to %u public keys", name, ROLE_KEYS_MAX);
    json_array_foreach(keys, i, key)
    {
        enum qs_status status =
            public_key_parse(json_is_string(key) ? json_string_value(key) : "", &role->keys[i], err);
        for (size_t j = 0; j < i && !status; j++)
            if (!memcmp(role->keys[j].bytes, role->keys[i].bytes, MINISIG_KEY_BYTES))
                status = error_set(err, QS_INVALID, "key document: %s.keys has one key twice", name);
        if (status)
            return status;
    }
    role->count = (unsigned)json_array_size(keys);
    if (threshold < 1 || threshold > (json_int_t)role->count)
        return error_set(err, QS_INVALID, "key document: %s.threshold: 1 to %u, the number of its keys", name,
                         role->count);
    role->threshold = (unsigned)threshold;
    return QS_OK;
}

enum qs_status key_document_parse(struct qs_bytes text, struct key_document *ret_keys, struct qs_error *err)
{
    static const char what[] = "key document";
    struct key_document keys = {0};
    AUTO(value_release) json_t *root = NULL;
    json_error_t fault;
    const char *format, *fleet;
    json_int_t version, issued;
    json_t *root_role, *bundle_role;
    enum qs_status status = document_load(what, text, FLEET_KEYS_MAX_BYTES, &root, err);
    if (status)
        return status;
    if (json_unpack_ex(root, &fault, JSON_STRICT, "{s:s, s:s, s:I, s:I, s:o, s:o!}", "format", &format, "fleet", &fleet,
                       "version", &version, "issued", &issued, "root", &root_role, "bundle", &bundle_role))
        return document_fault(what, fault.text, err);
    if (strcmp(format, "qsettings-fleet-keys-1") != 0)
        return document_fault(what, "format is not qsettings-fleet-keys-1", err);
    if (!name_ok(fleet))
        return document_fault(what, "fleet: 1 to 64 of a-z, 0-9 and -", err);
    if (!number_ok(version, 1) || !number_ok(issued, 0))
        return document_fault(what, "version is an integer from 1, issued one from 0, both below 2^53", err);
    memcpy(keys.fleet, fleet, strlen(fleet) + 1);
    keys.version = (uint64_t)version;
    keys.issued = (uint64_t)issued;
    status = role_parse("root", root_role, &keys.root, err);
    if (!status)
        status = role_parse("bundle", bundle_role, &keys.bundle, err);
    if (!status)
        *ret_keys = keys;
    return status;
}

/* ---- head ---- */

enum qs_status head_parse(struct qs_bytes text, struct head *ret_head, struct qs_error *err)
{
    static const char what[] = "head";
    AUTO(value_release) json_t *root = NULL;
    json_error_t fault;
    const char *format;
    json_int_t keys, serial;
    enum qs_status status = document_load(what, text, FLEET_HEAD_MAX_BYTES, &root, err);
    if (status)
        return status;
    if (json_unpack_ex(root, &fault, JSON_STRICT, "{s:s, s:I, s:I!}", "format", &format, "keys", &keys, "serial",
                       &serial))
        return document_fault(what, fault.text, err);
    if (strcmp(format, "qsettings-fleet-head-1") != 0)
        return document_fault(what, "format is not qsettings-fleet-head-1", err);
    if (!number_ok(keys, 1) || !number_ok(serial, 1))
        return document_fault(what, "keys and serial are integers from 1, below 2^53", err);
    ret_head->order = (struct fleet_order){(uint64_t)keys, (uint64_t)serial};
    return QS_OK;
}

void head_format(const struct head *head, struct buf *out)
{
    buf_printf(out, "{\"format\":\"qsettings-fleet-head-1\",\"keys\":%llu,\"serial\":%llu}\n",
               (unsigned long long)head->order.keys, (unsigned long long)head->order.serial);
}
