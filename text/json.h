/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text: strict parsing through jansson, and the places that jansson does not tell. */
#ifndef TEXT_JSON_H
#define TEXT_JSON_H

#include "text/parse_position.h"

#include <jansson.h>

/* Overwrites // and block comments outside strings with spaces; newlines stay, so that places stay right.
 * Errors: QS_INVALID (a block comment does not end) with its place. */
enum qs_status jsontext_blank_comments(char *text, size_t len, struct qs_error *err) QS_MUST_USE;

/* Strict RFC 8259; any value at the top. A new reference for the caller. Errors: QS_INVALID with line, column and,
 * within a value, its key path. Threads: the calling thread's locale is the C locale for the time of the call. */
enum qs_status jsontext_parse(const char *text, size_t len, json_t **ret_value, struct qs_error *err) QS_MUST_USE;

/* Walks text as long as it makes sense, telling position, up to the token that holds byte stop - 1, or to where
 * position's target was found. Returns the offset of the token it stopped at, or len. */
size_t jsontext_walk(const char *text, size_t len, size_t stop, struct parse_position *position);

/* Adds to an error: the place where the walk stops (or exactly that of byte stop - 1), and the key path it is in. */
void jsontext_blame(const char *text, size_t len, size_t stop, bool exact, struct qs_error *err);

#endif
