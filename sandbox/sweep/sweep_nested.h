/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repositories inside a writable root that a run has made or redirected.
 *
 * After the run each root is walked, the shallow directories first, without following a link; what was made or changed
 * since the list was written (by the file system's own times) is judged by sweep_repo. The walk ends after
 * NESTED_MAX_ENTRIES directory entries and says so: what lies beyond was not looked for.
 */
#ifndef SANDBOX_SWEEP_NESTED_H
#define SANDBOX_SWEEP_NESTED_H

#include "sandbox/sweep/sweep_repo.h"

/* A directory without directories in it is not read where that can be told without, and its entries do not count. */
#define NESTED_MAX_ENTRIES 200000u

/* In the list of the sweep: what a directory is. */
#define WALK_ALL    "/all"    /* a root without a repository */
#define WALK_BELOW  "/below"  /* a root whose own .git was there before, and is guarded */
#define WALK_GITDIR "/gitdir" /* a guarded git directory: only its submodules can be new */
#define WALK_LINKS  "/links"  /* a writable part of a git directory outside: only links in it are looked for */

#define SWEEP_TIME_BYTES 48

/* The time to put into the list: that of the file systems' clock. */
void sweep_now(char text[SWEEP_TIME_BYTES]);
bool nested_since(struct nested *nested, const char *text); /* false: no such text */
enum qs_status nested_add(struct nested *nested, const char *dir, const char *what, struct qs_error *err) QS_MUST_USE;
void nested_release(struct nested *nested);

/* Walks all places; adds violations and notices. Errors: QS_IO (something could not be moved; memory). */
enum qs_status sweep_nested(struct sweep_findings *found, const struct nested *nested,
                            struct qs_error *err) QS_MUST_USE;

#endif
