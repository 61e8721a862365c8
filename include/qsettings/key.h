/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key paths: the two spellings people type, and the one encoding the store uses.
 *
 *   tools.executionSandbox.network      segments joined by dots
 *   mcpServers."docs.local".command     a segment with a dot, a quote, a control character or nothing else to tell it
 *                                       apart is quoted as a basic string in TOML (escapes \b \t \n \f \r \" \\ \uXXXX
 *                                       \UXXXXXXXX)
 *   /mcpServers/docs.local/command      a text that begins with '/' is a JSON Pointer (RFC 6901)
 *
 * Encoded: the segments' UTF-8 joined by one zero byte, so that a subtree is one contiguous range in the store's order.
 * An empty segment, a zero byte, text that is not UTF-8 and more than QS_KEY_MAX_BYTES are refused with QS_INVALID.
 */
#ifndef QSETTINGS_KEY_H
#define QSETTINGS_KEY_H

#include "qsettings/limits.h"
#include "qsettings/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Borrowed bytes. Who owns them, and for how long, stands at each function that gives them out. */
struct qs_bytes {
    const void *data;
    size_t len;
};

/* An encoded key. The zero value is the root, which is no key of an entry but names the whole document. */
struct qs_key {
    size_t len;
    unsigned char bytes[QS_KEY_MAX_BYTES + 1]; /* always followed by a zero byte */
};

/* Enough for qs_key_format of any key: a byte may need six (\u001f), a segment two quotes and a dot. */
#define QS_KEY_TEXT_BYTES (6 * QS_KEY_MAX_BYTES + 3 * QS_KEY_MAX_SEGMENTS + 1)

/* Text (zero-terminated) to key. "" is QS_INVALID: name the root by a NULL key where a function allows it.
 * Errors: QS_INVALID with the column of the fault in text. */
QS_API enum qs_status qs_key_parse(const char *text, struct qs_key *ret_key, struct qs_error *err) QS_MUST_USE;

/* Key to the dotted spelling, quoted where needed; parses back to the same key. The text is cut (but terminated) if
 * size is less than QS_KEY_TEXT_BYTES needs. Returns text. The root gives "". */
QS_API const char *qs_key_format(const void *bytes, size_t len, char *text, size_t size);

/* Appends one segment. Errors: QS_INVALID (empty segment, zero byte, not UTF-8, too long or too many segments). */
QS_API enum qs_status qs_key_push(struct qs_key *key, const char *segment, size_t len,
                                  struct qs_error *err) QS_MUST_USE;

/* Removes the last segment; nothing happens at the root. */
QS_API void qs_key_pop(struct qs_key *key);

#ifdef __cplusplus
}
#endif
#endif
