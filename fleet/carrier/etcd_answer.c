/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of etcd's JSON gateway. */
#include "fleet/carrier/etcd_answer.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

/* ---- answers ---- */

static enum qs_status load(struct qs_bytes text, json_t **ret_root, struct qs_error *err)
{
    json_t *root = NULL;
    if (text.len > 2 * ETCD_LINE_MAX_BYTES)
        return error_set(err, QS_INVALID, "etcd: an answer of more than %zu bytes", 2 * ETCD_LINE_MAX_BYTES);
    enum qs_status status = value_decode(text.data, text.len, &root, err);
    if (!status && !json_is_object(root)) {
        json_decref(root);
        return error_set(err, QS_INVALID, "etcd: the answer is no object");
    }
    if (!status)
        *ret_root = root;
    return status;
}

/* Absent is zero. */
static uint64_t number_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    uint64_t number = 0;
    for (; text && *text >= '0' && *text <= '9' && number <= UINT64_MAX / 10 - 1; text++)
        number = number * 10 + (uint64_t)(*text - '0');
    return text && *text ? 0 : number;
}

/* A member in base64; absent is empty. False: it is none. */
static bool bytes_of(const json_t *object, const char *name, struct buf *out)
{
    const char *text = json_string_value(json_object_get(object, name));
    size_t len = text ? strlen(text) : 0, got = 0;
    buf_clear(out);
    AUTO_FREE uint8_t *raw = malloc(len + 1);
    if (!raw ||
        sodium_base642bin(raw, len + 1, text ? text : "", len, NULL, &got, NULL, sodium_base64_VARIANT_ORIGINAL))
        return false;
    buf_add(out, raw, got);
    return !out->failed;
}

enum qs_status etcd_answer_parse(struct qs_bytes text, struct etcd_answer *ret_answer, struct buf *value,
                                 struct qs_error *err)
{
    AUTO(value_release) json_t *root = NULL;
    enum qs_status status = load(text, &root, err);
    if (status)
        return status;
    const json_t *kv = json_array_get(json_object_get(root, "kvs"), 0);
    *ret_answer = (struct etcd_answer){.revision = number_of(json_object_get(root, "header"), "revision"),
                                       .found = kv != NULL,
                                       .mod_revision = number_of(kv, "mod_revision"),
                                       .succeeded = json_is_true(json_object_get(root, "succeeded"))};
    if (!ret_answer->revision || (kv && (!ret_answer->mod_revision || (value && !bytes_of(kv, "value", value)))))
        return error_set(err, QS_INVALID, "etcd: the answer is not of the form that etcd gives");
    return QS_OK;
}

enum qs_status etcd_keys_parse(struct qs_bytes text, const char *prefix, json_t *keys, struct buf *ret_last,
                               struct qs_error *err)
{
    AUTO(value_release) json_t *root = NULL;
    size_t i, skip = strlen(prefix);
    json_t *kv;
    buf_clear(ret_last);
    enum qs_status status = load(text, &root, err);
    if (status)
        return status;
    json_array_foreach(json_object_get(root, "kvs"), i, kv)
    {
        if (!bytes_of(kv, "key", ret_last) || ret_last->len < skip || memcmp(ret_last->data, prefix, skip) != 0)
            return error_set(err, QS_INVALID, "etcd: a key that was not asked for");
        json_t *name = json_stringn(ret_last->data + skip, ret_last->len - skip); /* NULL: no UTF-8, so none of ours */
        if (name)
            (void)json_array_append_new(keys, name);
    }
    return QS_OK;
}

enum qs_status etcd_token_parse(struct qs_bytes text, struct buf *token, struct qs_error *err)
{
    AUTO(value_release) json_t *root = NULL;
    enum qs_status status = load(text, &root, err);
    const char *found = status ? NULL : json_string_value(json_object_get(root, "token"));
    if (status)
        return status;
    if (!found || !found[0] || strpbrk(found, "\r\n"))
        return error_set(err, QS_INVALID, "etcd: the answer has no token");
    buf_clear(token);
    buf_add_str(token, found);
    return token->failed ? error_memory(err) : QS_OK;
}

bool etcd_wants_token(long code, struct qs_bytes text)
{
    return code == 401 || (code == 400 && text.len &&
                           (memmem(text.data, text.len, "user", 4) || memmem(text.data, text.len, "auth store", 10)));
}

/* In an idle cluster `created` has the revision before the one asked for. One that is still lower is of a cluster that
 * was restored: it would be silent until it has caught up, that is, for ever. */
enum etcd_watch etcd_watch_line(struct qs_bytes line, uint64_t asked)
{
    AUTO(value_release) json_t *root = NULL;
    if (line.len > ETCD_LINE_MAX_BYTES)
        return ETCD_WATCH_AGAIN;
    if (load(line, &root, NULL))
        return ETCD_WATCH_PART;
    const json_t *result = json_object_get(root, "result");
    if (!result || json_object_get(root, "error") || json_is_true(json_object_get(result, "canceled")))
        return ETCD_WATCH_AGAIN;
    if (json_is_true(json_object_get(result, "created")) &&
        number_of(json_object_get(result, "header"), "revision") + 1 < asked)
        return ETCD_WATCH_AGAIN;
    return json_array_size(json_object_get(result, "events")) ? ETCD_WATCH_NEWS : ETCD_WATCH_ON;
}

/* ---- requests ---- */

static void add_base64(struct buf *out, const void *data, size_t len)
{
    size_t size = sodium_base64_ENCODED_LEN(len, sodium_base64_VARIANT_ORIGINAL);
    AUTO_FREE char *text = malloc(size);
    if (text)
        buf_add_str(out, sodium_bin2base64(text, size, data, len, sodium_base64_VARIANT_ORIGINAL));
    else
        out->failed = true;
}

static void add_key(struct buf *out, const char *name, const char *key)
{
    buf_printf(out, "\"%s\":\"", name);
    add_base64(out, key, strlen(key));
    buf_add_char(out, '"');
}

static void add_pair(struct buf *out, const char *key, struct qs_bytes value)
{
    add_key(out, "key", key);
    buf_add_str(out, ",\"value\":\"");
    add_base64(out, value.data, value.len);
    buf_add_char(out, '"');
}

void etcd_range(const char *key, struct buf *out)
{
    buf_add_char(out, '{');
    add_key(out, "key", key);
    buf_add_char(out, '}');
}

void etcd_list(const char *prefix, struct qs_bytes after, struct buf *out)
{
    AUTO(buf_release) struct buf end = {0};
    buf_add_str(&end, prefix);
    if (end.len)
        end.data[end.len - 1]++; /* the prefix ends with a character that has a next one */
    buf_add_str(out, "{\"key\":\"");
    add_base64(out, after.len ? after.data : prefix, after.len ? after.len : strlen(prefix));
    buf_add_str(out, "\",");
    add_key(out, "range_end", end.data ? end.data : "");
    buf_add_str(out, ",\"keys_only\":true,\"limit\":\"500\"}");
}

void etcd_put(const char *key, struct qs_bytes value, struct buf *out)
{
    buf_add_char(out, '{');
    add_pair(out, key, value);
    buf_add_char(out, '}');
}

void etcd_exchange(const char *key, uint64_t mod_revision, struct qs_bytes value, struct buf *out)
{
    buf_add_str(out, "{\"compare\":[{\"result\":\"EQUAL\",\"target\":\"MOD\",");
    add_key(out, "key", key);
    buf_printf(out, ",\"mod_revision\":\"%llu\"}],\"success\":[{\"request_put\":{", (unsigned long long)mod_revision);
    add_pair(out, key, value);
    buf_add_str(out, "}}]}");
}

void etcd_watch_request(const char *key, uint64_t revision, struct buf *out)
{
    buf_add_str(out, "{\"create_request\":{");
    add_key(out, "key", key);
    buf_printf(out, ",\"start_revision\":\"%llu\"}}", (unsigned long long)revision);
}

void etcd_authenticate(const char *user, const char *password, struct buf *out)
{
    buf_add_str(out, "{\"name\":");
    value_encode_string(user, strlen(user), out);
    buf_add_str(out, ",\"password\":");
    value_encode_string(password, strlen(password), out);
    buf_add_char(out, '}');
}
