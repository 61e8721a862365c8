/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON value codec. In memory a value is jansson's json_t; stored it is canonical JSON: object keys sorted
 * bytewise, no spaces, UTF-8, integers as 64-bit decimals, reals in the shortest text that reads back equal and always
 * with '.' or 'e', strings with the shortest escapes (\" \\ \b \f \n \r \t, \u00xx for other controls; nothing else
 * escaped). Canonical text of equal values is equal, independent of the locale.
 */
#ifndef TEXT_VALUE_H
#define TEXT_VALUE_H

#include "base/buf.h"
#include "qsettings/key.h"

#include <jansson.h>

/* Appends the canonical text. Errors: QS_INVALID (a NaN or infinite real, too deep), QS_IO (memory). */
enum qs_status value_encode(const json_t *value, struct buf *out, struct qs_error *err) QS_MUST_USE;

/* The canonical text as heap memory, zero-terminated. ret_len may be NULL. Errors: as value_encode. */
enum qs_status value_encode_text(const json_t *value, char **ret_text, size_t *ret_len,
                                 struct qs_error *err) QS_MUST_USE;

/* Appends indented JSON for people (2 spaces, keys sorted, ": " and one entry per line; reals as in canonical text);
 * no final newline. */
enum qs_status value_encode_pretty(const json_t *value, struct buf *out, struct qs_error *err) QS_MUST_USE;

/* One real number as canonical text. */
void value_encode_real(double real, struct buf *out);

/* Appends text as a JSON string literal, quotes included. */
void value_encode_string(const char *text, size_t len, struct buf *out);

/* Canonical (or any strict JSON) text to a value; a new reference for the caller (json_decref). Any JSON value may
 * stand at the top. Errors: QS_INVALID with line and column; integers beyond 64 bits, reals that overflow, \u0000,
 * duplicate keys and nesting over QS_DOCUMENT_MAX_DEPTH are refused. */
enum qs_status value_decode(const void *text, size_t len, json_t **ret_value, struct qs_error *err) QS_MUST_USE;

/* Deep equality with integers and reals apart (1 is not 1.0). */
bool value_equal(const json_t *a, const json_t *b);

/* "object", "array", "string", "integer", "real", "boolean", "null". */
const char *value_type_name(const json_t *value);

/* For AUTO(value_release) json_t *v. */
void value_release(json_t **value);

#endif
