/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What suites over one store share, as names of their own: the store (system scope), made anew for each test, the last
 * error, and what must go well.
 */
#ifndef TESTS_SUPPORT_ONE_STORE_H
#define TESTS_SUPPORT_ONE_STORE_H

#include "tests/support/store_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct fixture f;
static struct qs_error err;

static inline int set_up(void **state)
{
    (void)state;
    fixture_init(&f, true);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    fixture_real_clock();
    fixture_release(&f);
    return 0;
}

static inline void ok(enum qs_status status)
{
    if (status)
        fail_msg("%s: %s [%s%s] %s", qs_status_name(status), err.message, err.file, err.path, err.advice);
}

static inline void json_is(const struct qs_snapshot *snapshot, const char *json)
{
    char *text = NULL;
    ok(qs_snapshot_json(snapshot, NULL, &text, NULL, &err));
    assert_string_equal(text, json);
    free(text);
}

static inline void store_is(const char *json)
{
    struct qs_snapshot *snapshot = fixture_read(&f);
    json_is(snapshot, json);
    qs_snapshot_unref(snapshot);
}

#endif
