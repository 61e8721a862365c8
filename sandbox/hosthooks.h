/* SPDX-License-Identifier: Apache-2.0 */
/* core.hooksPath: where git finds its hooks instead of in .git/hooks. */
#ifndef SANDBOX_HOSTHOOKS_H
#define SANDBOX_HOSTHOOKS_H

#include <stddef.h>

/*
 * The last core.hooksPath in the text of a git configuration file (git-config(1)), as a heap string; NULL where there
 * is none or without memory. Pure. Files that it includes are not read, and continued lines are taken as they begin.
 */
char *hooks_path_of(const char *text);

/* The same for a file; NULL also where it cannot be read, or is longer than HOOKS_CONFIG_MAX_BYTES. */
#define HOOKS_CONFIG_MAX_BYTES ((size_t)1 << 20)
char *hooks_path_in(const char *file);

#endif
