/* SPDX-License-Identifier: Apache-2.0 */
/* What a reading command looks at: one store's newest generation, an older one, or all layers merged. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include "cli/cli.h"

/* Exactly one of the two is set. */
struct view {
    struct qs_snapshot *snapshot;
    struct qs_settings *settings;
};

/* By the scope, --at and --workspace. Warnings of the merge are printed. */
enum qs_status view_open(struct cli *cli, struct view *ret_view, struct qs_error *err) QS_MUST_USE;
void view_release(struct view *view);

/* A node as canonical JSON (key NULL: all). Heap text of the caller. */
enum qs_status view_json(const struct view *view, const char *key, char **ret_text, size_t *ret_len,
                         struct qs_error *err) QS_MUST_USE;

/* {..., scope, generation}: the store's. Of effective settings those of the layer whose value stands at key;
 * "effective" and null where several contribute, or key is NULL. */
void view_put_source(struct cli *cli, const struct view *view, const char *key, json_t *report);

/* One store as of a generation. */
enum qs_status view_at(struct cli *cli, const char *generation, struct qs_snapshot **ret_snapshot,
                       struct qs_error *err) QS_MUST_USE;

#endif
