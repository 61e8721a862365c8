/* SPDX-License-Identifier: Apache-2.0 */
/* The base of the tables of missing policies. */
#include "tests/support/policy/policy_base.h"

#include "base/cleanup.h"
#include "tests/support/store_fixture.h"

#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>

#include <cmocka.h>

extern char **environ;

struct scopes policy_base;
const enum qs_scope policy_base_scopes[3] = {QS_SCOPE_SYSTEM, QS_SCOPE_USER, QS_SCOPE_DEFAULTS};

void policy_base_release(struct qs_policy_result **result)
{
    qs_policy_free(*result);
}

enum qs_status policy_base_state(const char *root, struct qs_error *err)
{
    AUTO(policy_base_release) struct qs_policy_result *result = NULL;
    struct qs_policy_options options = {.size = sizeof options, .root = root};
    *err = (struct qs_error){0};
    enum qs_status status = qs_policy_read(&options, &result, err);
    enum qs_status state = qs_policy_status(result);
    /* Whatever is wrong: no policy is given out, and the reason is. */
    if ((status == QS_OK) != (qs_policy_get(result) != NULL) || state != status || (status && !err->message[0]))
        abort();
    return state;
}

void policy_base_run(const char *program, const char *a, const char *b, const char *c)
{
    char *const arguments[] = {(char *)program, (char *)a, (char *)b, (char *)c, NULL};
    pid_t child;
    int how = -1;
    assert_int_equal(posix_spawnp(&child, program, NULL, NULL, arguments, environ), 0);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
}

/* A copy of the base to spoil. */
void policy_base_copy(struct scopes *scopes)
{
    char from[80];
    scopes_make(scopes);
    (void)snprintf(from, sizeof from, "%s/.", policy_base.scratch.dir);
    policy_base_run("cp", "-a", from, scopes->scratch.dir);
}

int policy_base_setup(void **state)
{
    (void)state;
    scopes_make(&policy_base);
    for (size_t i = 0; i < 3; i++)
        scopes_init(&policy_base, policy_base_scopes[i], true, false);
    scopes_apply(&policy_base, QS_SCOPE_SYSTEM, POLICY_BASE_POLICY);
    scopes_apply(&policy_base, QS_SCOPE_DEFAULTS, POLICY_BASE_POLICY);
    fixture_fake_clock(); /* damage is declared after 200 ms of it */
    return 0;
}

int policy_base_teardown(void **state)
{
    (void)state;
    fixture_real_clock();
    scopes_remove(&policy_base);
    return 0;
}
