/* SPDX-License-Identifier: Apache-2.0 */
/* What a sweep found, in words for people, and the place that it moves names to. */
#ifndef SANDBOX_QUARANTINE_H
#define SANDBOX_QUARANTINE_H

#include "sandbox/host/state_dir.h"

/* Lines of text, in words for people. */
struct sweep_lines {
    char **items;
    size_t count;
    size_t inherited; /* how many of them, the first ones, are an earlier run's */
};

struct sweep_findings {
    struct state_base base; /* its home is a copy, owned here: facts are looked at anew during a run */
    char workspace[STATE_WORKSPACE_BYTES];
    struct sweep_lines violations; /* what was moved away; also that of an earlier run that this one made good */
    struct sweep_lines notices;    /* what was found and left where it is: new repositories, how far the look went */
};

/* Adds a line, which it takes over; without memory, or if text is NULL, QS_IO. */
enum qs_status sweep_line(struct sweep_lines *lines, char *text, struct qs_error *err) QS_MUST_USE;
/* Takes over the lines of another look, which is empty then. */
void sweep_findings_add(struct sweep_findings *found, struct sweep_findings *other);
void sweep_findings_release(struct sweep_findings *found);

/*
 * If root/name (or a link on the way to it) exists, moves it to the quarantine of the workspace and adds a violation:
 * "root/name WHY moved to ...". Works by descriptors beneath root and follows no link. If the quarantine is on another
 * file system it is renamed beside itself, so that it no longer bears the name, copied and removed; what is over the
 * bounds of copy_tree stays there, and the violation says so. Errors: QS_IO.
 */
enum qs_status sweep_away(struct sweep_findings *found, const char *root, const char *name, const char *why,
                          struct qs_error *err) QS_MUST_USE;

#endif
