/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a policy read, inside view. */
#ifndef READER_POLICY_RESULT_H
#define READER_POLICY_RESULT_H

#include "reader/narrow.h"

#define POLICY_SOURCES_MAX 3u

struct qs_policy_result {
    enum qs_status status;
    struct policy_part part; /* the policy; whole when present, else empty */
    struct qs_policy_source sources[POLICY_SOURCES_MAX];
    size_t source_count;
    char *document; /* canonical; NULL unless present */
    size_t document_len;
    unsigned char digest[QS_DIGEST_BYTES];
};

/* Takes the part over as the policy: present, with document and digest. The part must be whole. */
enum qs_status policy_result_complete(struct qs_policy_result *result, struct policy_part *part,
                                      struct qs_error *err) QS_MUST_USE;

/* [{scope, place, storeId, generation, digest, state, required}]; storeId, generation and digest are null if the
 * store was not read. A new reference. */
enum qs_status policy_sources_json(const struct qs_policy_result *result, json_t **ret_value,
                                   struct qs_error *err) QS_MUST_USE;

/* Reads back the content of a frozen policy (qs_policy_thaw without the seals). Errors: QS_DAMAGED (head, digest),
 * QS_INVALID (document), QS_IO. */
enum qs_status policy_thaw_text(const char *text, size_t len, struct qs_policy_result **ret_result,
                                struct qs_error *err) QS_MUST_USE;

void policy_result_release(struct qs_policy_result **result); /* for AUTO(policy_result_release) */

#endif
