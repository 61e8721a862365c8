/* SPDX-License-Identifier: Apache-2.0 */
/* YAML text: the subset that says the same as JSON, through libyaml's events. The way out is value_encode_yaml. */
#ifndef TEXT_YAML_H
#define TEXT_YAML_H

#include "text/parse_position.h"

#include <jansson.h>

/* Parses one document. Errors: QS_INVALID with line, column and, within a value, its key path; QS_IO (memory). */
enum qs_status yamltext_parse(const char *text, size_t len, json_t **ret_value, struct qs_error *err) QS_MUST_USE;

/* Finds position's target in a text that yamltext_parse accepts. */
void yamltext_locate(const char *text, size_t len, struct parse_position *position);

/* A plain scalar (zero-terminated, as libyaml gives it) by the core schema of YAML 1.2 (section 10.3.2). Returns the
 * value, a new reference; or NULL with a reason in *ret_fault, which is NULL itself where there was no memory. */
json_t *yamltext_resolve(const char *text, size_t len, const char **ret_fault);

/* May a string stand plain: is it no other type in YAML 1.2 nor 1.1, and free of all indicators? */
bool yamltext_is_plain_string(const char *text, size_t len);

#endif
