/* SPDX-License-Identifier: Apache-2.0 */
/* A board in shared memory on which processes pin the first few things of each kind that they saw. */
#ifndef STRESS_NOTES_H
#define STRESS_NOTES_H

#include "stress/harness/report.h"

#include <stdatomic.h>

#define NOTES_KINDS 8u
#define NOTES_KEPT  6u /* of each kind */

struct note {
    atomic_bool ready;
    uint64_t at_ns; /* since the start */
    char who[24];
    char text[240];
};

struct notes { /* zero is empty */
    atomic_uint count[NOTES_KINDS];
    struct note kept[NOTES_KINDS][NOTES_KEPT];
};

/* Drops what is over the first few. The text may hold bytes of a torn file: what is not printable becomes '?'. */
void notes_add(struct notes *notes, unsigned kind, uint64_t at_ns, const char *who, const char *text);

/* Puts the notes of a kind into a report, which borrows them. */
void notes_report(const struct notes *notes, unsigned kind, const char *name, struct report *report);

#endif
