/* SPDX-License-Identifier: Apache-2.0 */
/* Judging one repository that was found after a run: is it new, was it redirected, does it lead out? */
#ifndef SANDBOX_SWEEP_REPO_H
#define SANDBOX_SWEEP_REPO_H

#include "sandbox/sweep/sweep_nested.h"

/*
 * Looks at root/name: a .git (directory, file or link), or a git directory of another name. Nothing, where it is as it
 * was before the run. One that the run made and that leads out of all places of `nested` (its pointer, commondir,
 * core.worktree, core.hooksPath, an include, a link in it) is moved to the quarantine; all else is a notice that says
 * which hooks and programs it names. gitrepository-layout(5), git-config(1). Errors: QS_IO.
 */
enum qs_status sweep_repo(struct sweep *sweep, const struct nested *nested, const char *root, const char *name,
                          struct qs_error *err) QS_MUST_USE;

/* A guarded git directory: a notice where its configuration or hooks changed all the same. A program outside that
 * replaces a file takes its protection away. */
enum qs_status sweep_own(struct sweep *sweep, const struct nested *nested, const char *gitdir,
                         struct qs_error *err) QS_MUST_USE;

#endif
