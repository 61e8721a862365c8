/* SPDX-License-Identifier: Apache-2.0 */
/* What a reading command looks at: one store's newest generation, an older one, or all layers merged. */
#ifndef CLI_VIEW_H
#define CLI_VIEW_H

#include "cli/cli.h"

/* Exactly one of the two is set. */
struct cli_view {
    struct qs_snapshot *snapshot;
    struct qs_settings *settings;
};

/* By the scope, --at and --workspace. Warnings of the merge are printed. */
enum qs_status cli_view_open(struct cli *cli, struct cli_view *ret_view, struct qs_error *err) QS_MUST_USE;
void cli_view_release(struct cli_view *view);

/* A node as canonical JSON (key NULL: all). Heap text of the caller. */
enum qs_status cli_view_json(const struct cli_view *view, const char *key, char **ret_text, size_t *ret_len,
                             struct qs_error *err) QS_MUST_USE;

/* {..., scope, generation}: the store's. Of effective settings those of the layer whose value stands at key;
 * "effective" and null where several contribute, or key is NULL. */
void cli_view_put_source(struct cli *cli, const struct cli_view *view, const char *key, json_t *report);

#endif
