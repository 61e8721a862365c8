/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbolic links in a git directory, by which git on the host would write elsewhere.
 *
 * git appends to `logs/HEAD`, and writes `COMMIT_EDITMSG`, through a link: one to a shell's start-up file makes
 * commands of a branch's name or a commit's message. git itself makes no link that leaves its directory.
 */
#ifndef SANDBOX_SWEEP_LINKS_H
#define SANDBOX_SWEEP_LINKS_H

#include "sandbox/sweep/sweep_nested.h"

/*
 * Calls visit for each link in the git directory dir, with its name beneath dir and what is written in it. Not looked
 * into are `modules`, whose directories are git directories themselves, and what is below the first level of `objects`,
 * where git follows none. False: there are more than LINKS_MAX_ENTRIES names, or something could not be read.
 */
#define LINKS_MAX_ENTRIES 200000u
typedef void link_visit(void *context, const char *name, const char *target);
bool links_each(const char *dir, link_visit *visit, void *context);

/* Where target, as written in a file or link of base, really is: a heap string, NULL where that cannot be told. */
char *links_resolve(const char *base, const char *target);

/* A guarded git directory, or a part of one that is writable: moves away the links that the run made and that lead out
 * of it. Errors: QS_IO. */
enum qs_status sweep_links(struct sweep *sweep, const struct nested *nested, const char *dir,
                           struct qs_error *err) QS_MUST_USE;

/* Was what is at path changed since the list was written, by its own time? Of a link the link. */
bool nested_changed(const struct nested *nested, const char *path, bool born);

#endif
