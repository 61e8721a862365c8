/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The base on disk: the texts of one side, as both sides were when they last agreed.
 *
 *   "qsbase1\n", signature of the private directory, signature of the host's (32 bytes each),
 *   then for each text its length (8 bytes; all ones: absent) and its bytes, then BLAKE2b-256 of all before.
 *
 * Numbers are little-endian. Two files are of this form: `base` has the refs, the stashes and what was copied of the
 * configuration; `checkout` has the HEAD, the index and the merge state of one worktree.
 */
#ifndef SANDBOX_CROSSING_BASE_FILE_H
#define SANDBOX_CROSSING_BASE_FILE_H

#include "base/buf.h"
#include "base/error.h"
#include "qsettings/limits.h"

#include <stdbool.h>

#define BASE_TEXTS_MAX  16
#define BASE_HEAD_BYTES (8 + 2 * QS_DIGEST_BYTES)
#define BASE_MAX_BYTES  ((size_t)1 << 30)

struct base_signs {
    uint8_t private[QS_DIGEST_BYTES], host[QS_DIGEST_BYTES];
};

struct base_text {
    const char *data; /* NULL: absent */
    size_t len;
};

/* Errors: QS_IO (memory). */
enum qs_status base_encode(const struct base_signs *signs, const struct base_text *texts, size_t count, struct buf *out,
                           struct qs_error *err) QS_MUST_USE;
/* The texts point into data. Errors: QS_DAMAGED. */
enum qs_status base_decode(const char *data, size_t len, struct base_signs *ret_signs, struct base_text *ret_texts,
                           size_t count, struct qs_error *err) QS_MUST_USE;
/* The signatures alone, unverified: good enough to see that nothing changed. */
bool base_decode_signs(const char *data, size_t len, struct base_signs *ret_signs);

#endif
