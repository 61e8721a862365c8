/* SPDX-License-Identifier: Apache-2.0 */
/* The list of backends, and the verdicts' names. */
#include "stress/ways/backend.h"

#include <string.h>

const char *verdict_name(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_FINE:
        return "fine";
    case VERDICT_ABSENT:
        return "absent";
    case VERDICT_TORN:
        return "torn";
    case VERDICT_STALE:
        return "stale";
    case VERDICT_LOST:
        return "lost";
    case VERDICT_ERROR:
    case VERDICT_COUNT:
        return "errors";
    }
    return "unknown";
}

const struct backend *backend_find(const char *name)
{
    static const struct backend *const all[] = {&backend_qsettings, &backend_rename_away, &backend_in_place,
                                                &backend_copy_backup, &backend_rename_over};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}
