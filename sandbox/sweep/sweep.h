/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sweep: names in a writable root that would make a program on the host do something later, and that cannot be
 * mounted over because they do not exist yet. What was not there before the run and is there afterwards is moved out of
 * the root. Repositories made deeper inside are looked for too (sweep_nested.h).
 *
 *   first one in: exclusive lock -> make good a sweep that a killed executor left -> write down what is absent ->
 * shared others:       shared lock, the first one's list holds last one out: exclusive lock -> sweep -> forget the list
 *
 * The list lies in the sandbox's state, so a SIGKILL in between is made good by the next start. What the host reads
 * while the command runs is a residual risk that the sweep does not remove.
 */
#ifndef SANDBOX_SWEEP_H
#define SANDBOX_SWEEP_H

#include "sandbox/host/state_dir.h"
#include "sandbox/run/prepare.h"

/* Lines of text, in words for people. */
struct sweep_lines {
    char **items;
    size_t count;
    size_t inherited; /* how many of them, the first ones, are an earlier run's */
};

struct sweep {
    int lock;    /* -1: nothing is writable, or done */
    bool first;  /* holds the lock alone until the list is written */
    int pending; /* the directory that holds the list */
    char name[STATE_WORKSPACE_BYTES];
    struct state_place place;
    struct sweep_lines violations; /* what was moved away; also that of an earlier run that this one made good */
    struct sweep_lines notices;    /* what was found and left where it is: new repositories, how far the look went */
};

/* Adds a line, which it takes over; without memory, or where text is NULL, QS_IO. */
enum qs_status sweep_line(struct sweep_lines *lines, char *text, struct qs_error *err) QS_MUST_USE;

/* Enters, and makes good what an earlier run left. Errors: QS_UNTRUSTED, QS_IO. */
enum qs_status sweep_begin(const struct options *options, const struct context *context, struct sweep *ret_sweep,
                           struct qs_error *err) QS_MUST_USE;
/* Writes the list, if this is the first one in; before the command starts, and while bubblewrap sets up. Errors: QS_IO:
 * the command must not start. */
enum qs_status sweep_write(const struct context *context, struct sweep *sweep, struct qs_error *err) QS_MUST_USE;
/* Leaves; the last one sweeps. Errors: QS_IO (something could not be moved; the list stays for the next start). */
enum qs_status sweep_end(struct sweep *sweep, struct qs_error *err) QS_MUST_USE;
void sweep_release(struct sweep *sweep);

#endif
