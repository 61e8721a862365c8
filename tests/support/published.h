/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What suites of publishing share, as names of their own: a system store with one setting, made anew for each test, and
 * a file that it is to be published to.
 */
#ifndef TESTS_SUPPORT_PUBLISHED_H
#define TESTS_SUPPORT_PUBLISHED_H

#include "qsettings/publish.h"
#include "tests/support/one_directory.h"
#include "tests/support/stores.h"

#include <stdio.h>

#define DEFAULT_TEXT "{\n  \"tools\": {\n    \"approvalMode\": \"default\"\n  }\n}\n"

static struct qs_store *system_store;
static char file[SCRATCH_PATH_BYTES]; /* in a directory of its own, out; not there yet */
static struct qs_target target;

static inline int published_setup(void **state)
{
    (void)setup(state);
    if (mkdir(in("out"), 0755))
        return -1;
    system_store = stores_open(scratch.dir, QS_SCOPE_SYSTEM);
    stores_set(system_store, "tools.approvalMode", "\"default\"");
    (void)snprintf(file, sizeof file, "%s", in("out/settings.json"));
    target = (struct qs_target){.size = sizeof(struct qs_target), .file = file, .scope = QS_SCOPE_SYSTEM};
    return 0;
}

static inline int published_teardown(void **state)
{
    qs_store_close(system_store);
    return teardown(state);
}

#endif
