/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room sandbox/crossing/: How does its git work reach the host's repositories?
 *
 * The crossing: what a command did in its private git directory reaches the host's as checked data, never as files.
 *
 *   look      the private side confined, the base, the host's side; parsed once
 *   decide    three sides, pure
 *   objects   packed and checked under confinement, then linked into the host's store
 *   apply     index, refs, HEAD, stash, merge state, by the host's git with old values compared
 *   settle    the base, last
 *
 * The private directory is not changed and the base is written last, and each step asks whether the host is as the
 * private side already: after a kill or a power cut the whole is done again. Objects are durable before the index, and
 * the index before refs, so that work that came over half shows as staged, never as a reversal.
 */
#ifndef SANDBOX_CROSSING_CROSSING_H
#define SANDBOX_CROSSING_CROSSING_H

#include "sandbox/crossing/objects.h"

#define CROSSING_TRIES       3
#define CROSSING_LINES_MAX   100
#define CROSSING_PACK_BYTES  ((uint64_t)1 << 30)
#define CROSSING_TOTAL_BYTES ((uint64_t)4 << 30)
#define CROSSING_SECONDS     600u

/* Lines of text for people. */
struct crossing_lines {
    char *items[CROSSING_LINES_MAX];
    size_t count;
    size_t more; /* that were left out */
};
void crossing_line(struct crossing_lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct crossing_report {
    struct crossing_lines crossed; /* with old values, by which they can be taken back */
    struct crossing_lines stayed;  /* and why */
};
void crossing_report_release(struct crossing_report *report);

struct crossing_options {
    const char *run; /* an id of letters and digits */
    struct objects_limits limits;
    /* Has the host a git directory for the .git at that path of a work tree? */
    bool (*known_git)(void *context, const char *path);
    void *context;
};

/*
 * Takes over what the command changed, under the repository's lock, which it takes. Nothing changed: a few system
 * calls. Durability: after return all that crossed is on the disk. Errors: nothing or a part crossed, all is still
 * inside, and the next crossing goes on: QS_INVALID (the private side cannot be read or its objects not be taken),
 * QS_BUSY, QS_CONFLICT (the host changed at each try), QS_DAMAGED (the base), QS_IO.
 */
enum qs_status crossing_cross(struct repository *repository, const struct crossing_options *options,
                              struct crossing_report *report, struct qs_error *err) QS_MUST_USE;

/* What would stay inside now and why, and what would cross; changes nothing. The same errors. */
enum qs_status crossing_preview(struct repository *repository, const struct crossing_options *options,
                                struct crossing_report *report, struct qs_error *err) QS_MUST_USE;

#endif
