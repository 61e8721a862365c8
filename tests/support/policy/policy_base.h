/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stores that the tables of missing policies spoil, row by row: the system's (required) and the defaults' with a
 * policy, the user's empty.
 */
#ifndef TESTS_SUPPORT_POLICY_BASE_H
#define TESTS_SUPPORT_POLICY_BASE_H

#include "qsettings/policy.h"
#include "tests/support/policy/scopes.h"

#define POLICY_BASE_OTHER_UID 54321
#define POLICY_BASE_POLICY    "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"read-only\",\"network\":\"closed\"}}}"

extern struct scopes policy_base;
extern const enum qs_scope policy_base_scopes[3]; /* strongest first */

int policy_base_setup(void **state); /* for cmocka_run_group_tests */
int policy_base_teardown(void **state);

void policy_base_copy(struct scopes *ret_scopes); /* a copy to spoil */

/* The state of a policy read below root. Aborts where state, status, policy and message do not agree. */
enum qs_status policy_base_state(const char *root, struct qs_error *err);

/* Runs a program with up to three arguments (NULL: no more); fails the test unless it succeeds. */
void policy_base_run(const char *program, const char *a, const char *b, const char *c);

void policy_base_release(struct qs_policy_result **result); /* for AUTO */

#endif
