/* SPDX-License-Identifier: Apache-2.0 */
/* What reading a policy from settings and from its document share. */
#ifndef READER_POLICY_INTERNAL_H
#define READER_POLICY_INTERNAL_H

#include "reader/policy_model.h"

/* Sets a field, which must be unset, from a value as settings hold it (environment.pass is one list there). */
enum qs_status policy_field_from_json(const json_t *value, unsigned field, struct policy_part *part,
                                      struct qs_error *err) QS_MUST_USE;

/* Adds one list to the conjunction. */
enum qs_status policy_pass_add(struct qs_policy *policy, const json_t *globs, unsigned field,
                               struct qs_error *err) QS_MUST_USE;

/* QS_INVALID: the field's value is one that no policy can have. */
enum qs_status policy_field_invalid(unsigned field, struct qs_error *err);

#endif
