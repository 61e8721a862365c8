/* SPDX-License-Identifier: Apache-2.0 */
/* What suites in one scratch directory share, as names of their own: the directory, made anew for each test, and the
 * last error. */
#ifndef TESTS_SUPPORT_ONE_DIRECTORY_H
#define TESTS_SUPPORT_ONE_DIRECTORY_H

#include "qsettings/status.h"
#include "tests/support/scratch.h"

static struct scratch scratch;
static struct qs_error err;

static inline const char *in(const char *name)
{
    return scratch_path(&scratch, name);
}

static inline int setup(void **state)
{
    (void)state;
    scratch_make(&scratch);
    err = (struct qs_error){0};
    return 0;
}

static inline int teardown(void **state)
{
    (void)state;
    scratch_remove(&scratch);
    return 0;
}

#endif
