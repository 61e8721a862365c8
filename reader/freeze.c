/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy frozen into a sealed memfd, and read back.
 *
 * The content is one line, "qsettings-policy-1 blake2b-256:HEX\n", and the canonical JSON document {"policy",
 * "sources"} that the digest in the line is over. The seals make it unchangeable for everyone, its maker included
 * (fcntl(2), memfd_create(2)): a file that carries all four can only be a memfd, and what is read once stays true.
 */
#include "reader/policy_result.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/os.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U /* linux/memfd.h, since Linux 6.3 */
#endif

#define FREEZE_MAGIC      "qsettings-policy-1 "
#define FREEZE_HEAD_BYTES (sizeof FREEZE_MAGIC - 1 + DIGEST_TEXT_BYTES - 1 + 1)
#define FREEZE_MAX_BYTES  (16u * 1024u * 1024u)
#define FREEZE_SEALS      (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static enum qs_status freeze_text(const struct qs_policy_result *result, struct buf *out, struct qs_error *err)
{
    AUTO(value_release) json_t *policy = NULL;
    AUTO(value_release) json_t *sources = NULL;
    AUTO(value_release) json_t *document = NULL;
    AUTO(buf_release) struct buf body = {0};
    unsigned char digest[QS_DIGEST_BYTES];
    char digest_text[DIGEST_TEXT_BYTES];
    enum qs_status status = policy_part_to_json(&result->part, &policy, err);
    if (status)
        return status;
    status = policy_sources_json(result, &sources, err);
    if (status)
        return status;
    document = json_pack("{s:O, s:O}", "policy", policy, "sources", sources);
    if (!document)
        return error_memory(err);
    status = value_encode(document, &body, err);
    if (status)
        return status;
    digest_of(body.data, body.len, digest);
    digest_format(digest, digest_text);
    buf_printf(out, "%s%s\n", FREEZE_MAGIC, digest_text);
    buf_add(out, body.data, body.len);
    return out->failed ? error_memory(err) : QS_OK;
}

/* Older kernels refuse flags that they do not know with EINVAL. */
static int memfd_new(void)
{
    int fd = memfd_create("qsettings-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("qsettings-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd;
}

enum qs_status qs_policy_freeze(const struct qs_policy_result *result, int *ret_fd, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    AUTO_FD int fd = -1;
    if (!result || !ret_fd)
        return error_misuse(err, __func__);
    if (!qs_policy_get(result))
        return error_set(err, QS_USAGE, "there is no policy to freeze: %s", qs_policy_status_name(result->status));
    enum qs_status status = freeze_text(result, &text, err);
    if (status)
        return status;
    if (text.len > FREEZE_MAX_BYTES)
        return error_set(err, QS_INVALID, "the policy is too large to be frozen (%zu bytes)", text.len);
    fd = memfd_new();
    if (fd < 0)
        return error_sys(err, QS_IO, errno, "the frozen policy's memfd cannot be created");
    if (os_write_full(fd, text.data, text.len) < 0)
        return error_sys(err, QS_IO, errno, "the frozen policy cannot be written");
    if (fcntl(fd, F_ADD_SEALS, FREEZE_SEALS) < 0)
        return error_sys(err, QS_IO, errno, "the frozen policy cannot be sealed");
    *ret_fd = steal_fd(&fd);
    return QS_OK;
}

/* ---- reading back ---- */

static enum qs_status seals_check(int fd, size_t *ret_len, struct qs_error *err)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0)
        return errno == EBADF ? error_sys(err, QS_USAGE, errno, "the frozen policy's descriptor is not open")
                              : error_set(err, QS_UNTRUSTED, "the frozen policy is not a memfd");
    if ((seals & FREEZE_SEALS) != FREEZE_SEALS)
        return error_set(err, QS_UNTRUSTED, "the frozen policy lacks a seal (has 0x%x, needs 0x%x)", (unsigned)seals,
                         (unsigned)FREEZE_SEALS);
    if (qs_os->fstat(fd, &st) < 0)
        return error_sys(err, QS_IO, errno, "the frozen policy cannot be examined");
    if (!S_ISREG(st.st_mode) || st.st_size <= (off_t)FREEZE_HEAD_BYTES || st.st_size > (off_t)FREEZE_MAX_BYTES)
        return error_set(err, QS_DAMAGED, "the frozen policy has an impossible length");
    *ret_len = (size_t)st.st_size;
    return QS_OK;
}

static enum qs_status head_check(const char *text, size_t len, struct qs_error *err)
{
    unsigned char digest[QS_DIGEST_BYTES];
    char digest_text[DIGEST_TEXT_BYTES];
    const char *stored = text + sizeof FREEZE_MAGIC - 1;
    if (len <= FREEZE_HEAD_BYTES || memcmp(text, FREEZE_MAGIC, sizeof FREEZE_MAGIC - 1) != 0 ||
        text[FREEZE_HEAD_BYTES - 1] != '\n')
        return error_set(err, QS_DAMAGED, "the frozen policy has no head");
    digest_of(text + FREEZE_HEAD_BYTES, len - FREEZE_HEAD_BYTES, digest);
    digest_format(digest, digest_text);
    if (memcmp(stored, digest_text, DIGEST_TEXT_BYTES - 1) != 0)
        return error_set(err, QS_DAMAGED, "the frozen policy's digest is wrong");
    return QS_OK;
}

static bool unhex(const char *text, size_t bytes, unsigned char *out)
{
    if (!text || strlen(text) != 2 * bytes || strspn(text, "0123456789abcdef") != 2 * bytes)
        return false;
    for (size_t i = 0; i < bytes; i++) {
        unsigned high = (unsigned)(text[2 * i] > '9' ? text[2 * i] - 'a' + 10 : text[2 * i] - '0');
        unsigned low = (unsigned)(text[2 * i + 1] > '9' ? text[2 * i + 1] - 'a' + 10 : text[2 * i + 1] - '0');
        out[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static bool scope_from(const char *name, enum qs_scope *ret_scope)
{
    for (int scope = QS_SCOPE_DEFAULTS; name && scope <= QS_SCOPE_SYSTEM; scope++) {
        if (strcmp(name, qs_scope_name((enum qs_scope)scope)) == 0) {
            *ret_scope = (enum qs_scope)scope;
            return true;
        }
    }
    return false;
}

/* Only what can be beside a policy that is present: read ("present", "none") or absent and not required. */
static bool source_from_json(const json_t *value, struct qs_policy_source *source)
{
    static const char prefix[] = "blake2b-256:";
    const char *state = json_string_value(json_object_get(value, "state"));
    const char *place = json_string_value(json_object_get(value, "place"));
    const char *digest = json_string_value(json_object_get(value, "digest"));
    if (!state || !place || !scope_from(json_string_value(json_object_get(value, "scope")), &source->scope))
        return false;
    (void)snprintf(source->path, sizeof source->path, "%s", place);
    source->required = json_is_true(json_object_get(value, "required"));
    source->status = strcmp(state, "absent") == 0 ? QS_ABSENT : QS_OK;
    source->sets_policy = strcmp(state, "present") == 0;
    if (source->status == QS_ABSENT)
        return true;
    json_int_t generation = json_integer_value(json_object_get(value, "generation"));
    source->generation = (uint64_t)generation;
    return (source->sets_policy || strcmp(state, "none") == 0) && generation > 0 && digest &&
           strncmp(digest, prefix, sizeof prefix - 1) == 0 &&
           unhex(digest + sizeof prefix - 1, QS_DIGEST_BYTES, source->digest) &&
           unhex(json_string_value(json_object_get(value, "storeId")), QS_STORE_ID_BYTES, source->store_id);
}

static enum qs_status sources_from_json(const json_t *sources, struct qs_policy_result *result, struct qs_error *err)
{
    size_t index;
    json_t *source;
    if (!json_is_array(sources) || json_array_size(sources) > POLICY_SOURCES_MAX)
        return error_set(err, QS_INVALID, "the frozen policy has no list of sources");
    json_array_foreach(sources, index, source)
    {
        if (!source_from_json(source, &result->sources[index]))
            return error_set(err, QS_INVALID, "source %zu of the frozen policy is malformed", index);
        result->source_count = index + 1;
    }
    return QS_OK;
}

/* Byte for byte what freezing gives: nothing more in it, nothing spelt another way. */
static enum qs_status same_text(const struct qs_policy_result *result, const char *text, size_t len,
                                struct qs_error *err)
{
    AUTO(buf_release) struct buf again = {0};
    enum qs_status status = freeze_text(result, &again, err);
    if (status)
        return status;
    if (again.len != len || memcmp(again.data, text, len) != 0)
        return error_set(err, QS_INVALID, "the frozen policy is not in its canonical form");
    return QS_OK;
}

static enum qs_status thaw_text(const char *text, size_t len, struct qs_policy_result *result, struct qs_error *err)
{
    AUTO(value_release) json_t *document = NULL;
    AUTO(policy_part_release) struct policy_part part = {0};
    enum qs_status status = head_check(text, len, err);
    if (status)
        return status;
    status = value_decode(text + FREEZE_HEAD_BYTES, len - FREEZE_HEAD_BYTES, &document, err);
    if (status)
        return status;
    status = policy_part_from_json(json_object_get(document, "policy"), &part, err);
    if (status)
        return status;
    status = sources_from_json(json_object_get(document, "sources"), result, err);
    if (status)
        return status;
    status = policy_result_complete(result, &part, err);
    return status ? status : same_text(result, text, len, err);
}

enum qs_status policy_thaw_text(const char *text, size_t len, struct qs_policy_result **ret_result,
                                struct qs_error *err)
{
    AUTO(policy_result_release) struct qs_policy_result *result = calloc(1, sizeof *result);
    if (!result)
        return error_memory(err);
    enum qs_status status = thaw_text(text, len, result, err);
    if (status)
        return status;
    *ret_result = STEAL(result);
    return QS_OK;
}

enum qs_status qs_policy_thaw(int fd, struct qs_policy_result **ret_result, struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    if (!ret_result)
        return error_misuse(err, __func__);
    enum qs_status status = seals_check(fd, &len, err);
    if (status)
        return status;
    text = malloc(len);
    if (!text)
        return error_memory(err);
    ssize_t got = os_pread_full(fd, text, len, 0);
    if (got != (ssize_t)len)
        return got < 0 ? error_sys(err, QS_IO, errno, "the frozen policy cannot be read")
                       : error_set(err, QS_DAMAGED, "the frozen policy is shorter than its length");
    return policy_thaw_text(text, len, ret_result, err);
}
