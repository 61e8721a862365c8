/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a policy read: what it holds, what it gives out, and its sources as JSON. */
#include "reader/policy_result.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/error.h"

#include <string.h>

const char *qs_policy_status_name(enum qs_status status)
{
    switch (status) {
    case QS_OK:
        return "present";
    case QS_NO_POLICY:
        return "none";
    case QS_ABSENT:
        return "absent";
    case QS_DAMAGED:
        return "damaged";
    case QS_UNTRUSTED:
        return "untrusted";
    case QS_INVALID:
        return "invalid";
    case QS_BUSY:
        return "busy";
    case QS_STALE:
        return "stale";
    case QS_NEWER:
        return "newer";
    case QS_NOT_FOUND:
    case QS_USAGE:
    case QS_CONFLICT:
    case QS_IO:
    case QS_FOLLOW_UP:
        break;
    }
    return "io";
}

void qs_policy_free(struct qs_policy_result *result)
{
    int saved = errno;
    if (result) {
        policy_part_release(&result->part);
        free(result->document);
        free(result);
    }
    errno = saved;
}

void policy_result_release(struct qs_policy_result **result)
{
    qs_policy_free(*result);
}

enum qs_status qs_policy_status(const struct qs_policy_result *result)
{
    return result ? result->status : QS_USAGE;
}

const struct qs_policy *qs_policy_get(const struct qs_policy_result *result)
{
    return result && !result->status && result->document ? &result->part.policy : NULL;
}

const unsigned char *qs_policy_digest(const struct qs_policy_result *result)
{
    return result ? result->digest : NULL;
}

size_t qs_policy_source_count(const struct qs_policy_result *result)
{
    return result ? result->source_count : 0;
}

const struct qs_policy_source *qs_policy_source(const struct qs_policy_result *result, size_t index)
{
    return result && index < result->source_count ? &result->sources[index] : NULL;
}

const char *qs_policy_document(const struct qs_policy_result *result, size_t *ret_len)
{
    if (!qs_policy_get(result))
        return NULL;
    if (ret_len)
        *ret_len = result->document_len;
    return result->document;
}

enum qs_status policy_result_complete(struct qs_policy_result *result, struct policy_part *part, struct qs_error *err)
{
    AUTO(value_release) json_t *document = NULL;
    if (part->set != POLICY_ALL)
        return error_set(err, QS_INVALID, "the policy is incomplete");
    enum qs_status status = policy_part_to_json(part, &document, err);
    if (status)
        return status;
    status = value_encode_text(document, &result->document, &result->document_len, err);
    if (status)
        return status;
    digest_of(result->document, result->document_len, result->digest);
    result->part = *part;
    *part = (struct policy_part){0};
    result->status = QS_OK;
    return QS_OK;
}

static const char *source_state(const struct qs_policy_source *source)
{
    return qs_policy_status_name(source->status || source->sets_policy ? source->status : QS_NO_POLICY);
}

static void hex(const unsigned char *bytes, size_t len, char *text)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * len] = '\0';
}

static json_t *source_json(const struct qs_policy_source *source)
{
    char id[2 * QS_STORE_ID_BYTES + 1];
    char digest[DIGEST_TEXT_BYTES];
    bool read = source->generation != 0;
    hex(source->store_id, QS_STORE_ID_BYTES, id);
    digest_format(source->digest, digest);
    return json_pack("{s:s, s:s, s:s, s:b, s:o, s:o, s:o}", "scope", qs_scope_name(source->scope), "place",
                     source->path, "state", source_state(source), "required", source->required, "storeId",
                     read ? json_string(id) : json_null(), "generation",
                     read ? json_integer((json_int_t)source->generation) : json_null(), "digest",
                     read ? json_string(digest) : json_null());
}

enum qs_status policy_sources_json(const struct qs_policy_result *result, json_t **ret_value, struct qs_error *err)
{
    AUTO(value_release) json_t *sources = json_array();
    for (size_t i = 0; i < result->source_count; i++)
        if (json_array_append_new(sources, source_json(&result->sources[i])))
            return error_memory(err);
    if (!sources)
        return error_memory(err);
    *ret_value = STEAL(sources);
    return QS_OK;
}
