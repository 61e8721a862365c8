/* SPDX-License-Identifier: Apache-2.0 */
/* Effective settings, inside view: shared by reading and explaining. */
#ifndef READER_SETTINGS_INTERNAL_H
#define READER_SETTINGS_INTERNAL_H

#include "reader/merge.h"

struct qs_settings {
    struct qs_store *stores[QS_LAYER_COUNT];       /* NULL for the workspace */
    struct qs_snapshot *snapshots[QS_LAYER_COUNT]; /* NULL: absent, or the workspace */
    struct doc *workspace;                         /* NULL: none was named */
    struct leaves workspace_leaves;
    struct merge_input input; /* borrows from the above */
    char **warnings;
    size_t warning_count;
};

#endif
