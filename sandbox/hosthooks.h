/* SPDX-License-Identifier: Apache-2.0 */
/* What a git configuration file says (git-config(1)), as far as it redirects git: core.hooksPath, core.worktree, ... */
#ifndef SANDBOX_HOSTHOOKS_H
#define SANDBOX_HOSTHOOKS_H

#include <stddef.h>

/*
 * Calls visit for each "key = value" of the text. section is what stands between the brackets, without blanks at its
 * ends (`core`, `submodule "x"`); value is unquoted, without a comment. Pure. Files that it includes are not read, and
 * continued lines are taken as they begin. Without memory nothing is visited.
 */
typedef void config_visit(void *context, const char *section, const char *key, const char *value);
void config_each(const char *text, config_visit *visit, void *context);

/* The last core.KEY of the text, as a heap string; NULL where there is none or without memory. */
char *core_value_of(const char *text, const char *key);

/* The same for a file; NULL also where it cannot be read, or is longer than HOOKS_CONFIG_MAX_BYTES. */
#define HOOKS_CONFIG_MAX_BYTES ((size_t)1 << 20)
char *core_value_in(const char *file, const char *key);

#endif
