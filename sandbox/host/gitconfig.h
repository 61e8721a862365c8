/* SPDX-License-Identifier: Apache-2.0 */
/* What a git configuration file says (git-config(1)), as far as it redirects git: core.hooksPath, core.worktree, ... */
#ifndef SANDBOX_HOSTHOOKS_H
#define SANDBOX_HOSTHOOKS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Calls visit for each key of the text, as git(1) reads it. section is in lower case but for a quoted part
 * (`core`, `submodule "x"`), key in lower case, value unquoted; a key without a value has "true". Pure. Files that it
 * includes are not read. False where git would refuse the file from there on, and without memory.
 */
typedef void config_visit(void *context, const char *section, const char *key, const char *value);
bool config_each(const char *text, config_visit *visit, void *context);

/* The last core.KEY of the text, as a heap string; NULL where there is none or without memory. */
char *core_value_of(const char *text, const char *key);

/* A file's text; NULL where it cannot be read, leads through a link, or is longer than HOOKS_CONFIG_MAX_BYTES. */
char *config_text(const char *file);

/* core_value_of for a file; NULL also where it cannot be read, or is longer than HOOKS_CONFIG_MAX_BYTES. */
#define HOOKS_CONFIG_MAX_BYTES ((size_t)1 << 20)
char *core_value_in(const char *file, const char *key);

#endif
