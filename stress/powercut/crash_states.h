/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crash states: from the log of what reached a disk, which images a power cut may leave. Pure: no I/O, no clock.
 *
 * The disk that is assumed keeps these promises and no others: what was written before a flush is there after it; a
 * 512-byte sector is old or new as a whole. Writes since the last flush may be there or not, in any combination, and a
 * write of several sectors may be there in part. So the log falls into windows between flushes, and a state is: all
 * windows before, and a choice from one window.
 *
 *     entries   W W F | W M W W F | W ...        W write, F flush, M mark (an acknowledged step)
 *     window      0   |     1     |   2
 *
 * A state is judged as strictly as the disk allows: the cut comes at the very end of its window, so every step that was
 * marked before the closing flush must be there; and nothing may be there that had not begun when the last write of the
 * choice was issued.
 */
#ifndef STRESS_CRASH_STATES_H
#define STRESS_CRASH_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRASH_SECTOR_BYTES 512u

enum crash_kind {
    CRASH_WRITE = 1,
    CRASH_ZERO = 2, /* a range that reads as zeros from now on (discard, write zeroes) */
    CRASH_FLUSH = 3,
    CRASH_IGNORED = 4, /* a flush that the disk acknowledged and did not do: no barrier */
    CRASH_MARK = 5,
};

struct crash_entry {
    enum crash_kind kind;
    uint64_t offset, len; /* WRITE, ZERO: the range */
    uint64_t data_at;     /* WRITE: where its bytes are in the log's data */
    uint64_t mark;        /* MARK: steps acknowledged so far */
};

struct crash_log {
    const struct crash_entry *entries;
    size_t count;
    size_t start; /* states before this entry are of no interest (making and mounting the file system) */
};

enum crash_choice {
    CRASH_PREFIX = 0, /* the window's first writes, whole: a disk that never reorders */
    CRASH_SUBSET = 1, /* some of the window's writes, whole */
    CRASH_TORN = 2,   /* some of them, one in part */
};

struct crash_state {
    enum crash_choice choice;
    size_t begin, end;           /* the window: entries [begin, end); all before begin is on the disk */
    size_t writes;               /* writes in the window */
    uint8_t *keep;               /* one bit for each write of the window */
    size_t torn;                 /* CRASH_TORN: number of the write of which only a part is there */
    uint64_t torn_from, torn_to; /* that part, in bytes of the write */
    uint64_t acked;              /* steps that must be there */
    uint64_t upper;              /* steps that may be there at most */
};

struct crash_plan {
    struct crash_state *states;
    size_t count;
    size_t windows;
    bool complete; /* every subset is in it (tears are a choice always) */
};

/* Plans up to max_states states (at least one): every prefix, and then subsets and tears, all of them if they fit,
 * else a choice by seed. If even the prefixes are too many, they get half of the number. States of one window are
 * together, windows in order, so that an image can be carried forward. False when memory ran out.
 * Ownership: the caller releases with crash_plan_release. */
bool crash_plan_make(const struct crash_log *log, size_t max_states, uint64_t seed, struct crash_plan *ret_plan);
void crash_plan_release(struct crash_plan *plan);

/* One range of a write that is on the disk in a state. */
struct crash_piece {
    const struct crash_entry *entry;
    uint64_t from, len; /* within the entry */
};

/* Iterates the pieces of the state's window in the log's order; *at starts at 0. */
bool crash_state_next(const struct crash_log *log, const struct crash_state *state, size_t *at,
                      struct crash_piece *ret_piece);

/* A state in words, for reports: "window 4, 3 of 5 writes, write 2 torn at [512, 1024)". Returns text. */
const char *crash_state_describe(const struct crash_state *state, char *text, size_t size);

#endif
