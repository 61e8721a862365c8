/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room stress/kill/: Is anything lost if a writer is killed at a system call?
 *
 * qstress kill, inside view: an operation runs under ptrace, from a fresh starting point each time, and is killed at
 * its n-th system-call stop, for every n; what it leaves must be the old or the new state, whole, and the next writer
 * must go on from it. The second mode lets it run once, and reads at every stop.
 *
 *     scratch/root    the store's root          scratch/backup         for restore
 *     scratch/file    what publish, replace and the file ways write (file/settings.json)
 */
#ifndef STRESS_KILL_H
#define STRESS_KILL_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define KILL_TEXT_BYTES 400
#define KILL_SIGHTINGS  5

enum kill_verdict {
    KILL_OK,
    KILL_ABSENT,  /* nothing is there, and something must be */
    KILL_TORN,    /* accepted, but neither the old nor the new */
    KILL_LOST,    /* the old, after the new was acknowledged or seen */
    KILL_REFUSED, /* the reader or fsck refuses it */
    KILL_STUCK,   /* the next or the waiting writer cannot go on */
    KILL_STRAY,   /* files are left over after the next run */
    KILL_VERDICTS,
};
const char *kill_verdict_name(enum kill_verdict verdict);

/* What a look finds. number: of the document, 0: none. generation 0: does not apply. */
struct kill_look {
    bool absent, refused, torn;
    uint64_t generation, number;
    char why[KILL_TEXT_BYTES];
};

struct kill_context {
    const char *dir;     /* scratch */
    const char *command; /* a foreign program, by sh -c, and what it writes; or NULL */
    const char *path, *check;
    char *original; /* path's content before the first run, NULL: absent */
    size_t original_len;
};

/* All functions return true for success; otherwise why is filled. */
struct kill_op {
    const char *backend, *name;
    bool (*prepare)(const struct kill_context *context, char *why); /* makes the old state in an empty scratch */
    bool (*run)(const struct kill_context *context, char *why);     /* what is killed; may be repeated on any state */
    /* Another writer: writes document number; wait_ms 0: only if the lock is free (*ret_busy otherwise). */
    bool (*save)(const struct kill_context *context, uint64_t number, unsigned wait_ms, bool *ret_busy, char *why);
    void (*look)(const struct kill_context *context, struct kill_look *ret_look);
    /* What is there before and after run; number 0: absent before (init), or an empty store after it. */
    uint64_t old_generation, old_number, new_generation, new_number;
    bool made;    /* run makes the thing: absent is the old state */
    bool foreign; /* numbers are not known: anything complete is right */
};
extern const struct kill_op kill_ops[]; /* ends with a NULL name; the foreign one is first after it: kill_foreign */
extern const struct kill_op kill_foreign;

struct kill_tally {
    uint64_t points; /* system-call stops at which it was killed or stopped */
    uint64_t count[KILL_VERDICTS];
    unsigned sightings;
    char sighting[KILL_SIGHTINGS][KILL_TEXT_BYTES];
};

struct kill_options {
    uint64_t every; /* only each every-th point */
    bool waiter;    /* a second writer waits while the first is killed */
};

/* Kills op at its points, or (stop) reads at each. Adds to tally. False with why if the harness fails. */
bool kill_at_each_call(const struct kill_op *op, const struct kill_context *context, const struct kill_options *options,
                       struct kill_tally *tally, char *why);
bool kill_stop_at_each_call(const struct kill_op *op, const struct kill_context *context, struct kill_tally *tally,
                            char *why);

/* Set by the command's signal handler: end soon, and clean up. */
bool kill_interrupted(void);

struct cli;
int stress_cmd_kill(const struct cli *cli);

#endif
