/* SPDX-License-Identifier: Apache-2.0 */
/* Judging one repository that was found after a run: is it new, was it redirected, does it lead out? */
#ifndef SANDBOX_SWEEP_REPO_H
#define SANDBOX_SWEEP_REPO_H

#include "sandbox/sweep/quarantine.h"

#include <time.h>

/* Where a sweep looks, and since when. */
struct nested_place {
    char *dir;
    bool gitdir, own_git, links; /* WALK_GITDIR; WALK_BELOW; WALK_LINKS */
};

struct nested {
    struct nested_place *places;
    size_t count;
    bool timed; /* there is a time: a list of an older version has none, and nothing is looked for */
    struct timespec since;
};

/*
 * Looks at root/name: a .git (directory, file or link), or a git directory of another name. Nothing, where it is as it
 * was before the run. One that the run made and that leads out of all places of `nested` (its pointer, commondir,
 * core.worktree, core.hooksPath, an include, a link in it) is moved to the quarantine; all else is a notice that says
 * which hooks and programs it names. gitrepository-layout(5), git-config(1). Errors: QS_IO.
 */
enum qs_status sweep_repo(struct sweep_findings *found, const struct nested *nested, const char *root, const char *name,
                          struct qs_error *err) QS_MUST_USE;

/* A guarded git directory, or a part of one that is writable: moves away the links that the run made and that lead out
 * of it. Errors: QS_IO. */
enum qs_status sweep_links(struct sweep_findings *found, const struct nested *nested, const char *dir,
                           struct qs_error *err) QS_MUST_USE;

/* A guarded git directory: a notice where its configuration or hooks changed all the same. A program outside that
 * replaces a file takes its protection away. */
enum qs_status sweep_own(struct sweep_findings *found, const struct nested *nested, const char *gitdir,
                         struct qs_error *err) QS_MUST_USE;

#endif
