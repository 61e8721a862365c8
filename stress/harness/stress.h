/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room stress/harness/: What do all commands of qstress share: workers, measures, reports, options?
 *
 * What all commands of qstress share: options, the seeded generator, the clock, children, scratch directories, exit
 * statuses.
 *
 * A command is one function `int stress_cmd_NAME(const struct cli *cli)`, which its room declares and the table in
 * stress/cmd/qstress_main.c lists. What it returns is the program's exit status.
 */
#ifndef STRESS_STRESS_H
#define STRESS_STRESS_H

#include "terminal/command_line.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum stress_exit {
    STRESS_CLEAN = 0,     /* no violation; with --expect-violation: there was one */
    STRESS_VIOLATION = 1, /* a violation; with --expect-violation: there was none */
    STRESS_USAGE = 2,     /* the command line is wrong */
    STRESS_FORBIDDEN = 7, /* needs a right that is not there */
    STRESS_FAILED = 10,   /* the harness itself could not do its work: says nothing about the thing tested */
};

/* One invocation: what the options of all commands store (stress/cmd/qstress_main.c). A text that was not given and has
 * no default is NULL. */
struct cli {
    struct command_line line;
    const char *backend, *as_user, *dir, *junit, *html, *path;
    const char *writer_command, *reader_command, *must_have;   /* race */
    const char *reader, *qsandbox;                             /* sessions */
    const char *operation, *mode, *waiter, *command, *check;   /* kill */
    const char *fs, *workload, *keep;                          /* powercut */
    uint64_t writers, readers, starts, starters, seed, values; /* race and sessions */
    uint64_t every, commits, max_states, drop_flush;           /* kill and powercut */
    const char *carrier, *control;                             /* fleet */
    uint64_t hosts;
    double seconds;
    bool alone, meta_torn, expect_violation;
    int exit_status;
};

/* Reports an error as voice_error does, for the line that main has set; returns status, an enum stress_exit, so that
 * `return stress_fail(...)` reads well. */
int stress_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
void stress_fail_for(const struct command_line *line);

extern const struct program qstress_program; /* stress/cmd/commands.c */

/* A small generator (splitmix64; S. Vigna, public domain reference at prng.di.unimi.it): the same seed gives the same
 * numbers everywhere. */
struct stress_rng {
    uint64_t state;
};
void stress_rng_init(struct stress_rng *rng, uint64_t seed, uint64_t stream); /* stream: one for each process */
uint64_t stress_rng_next(struct stress_rng *rng);

/* CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t stress_now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
void stress_sleep_ns(uint64_t ns);
/* One line of progress on standard error, replaced by each call, at most ten times a second. Nothing if that
 * is no terminal. NULL takes the line away. */
void stress_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Now and then a pause of up to 200 us, as the generator says: another seed gives other interleavings. */
void stress_pause(struct stress_rng *rng);

/* Calls work in a child with so many seconds to live: for what may crash or hang, which then is a finding and not the
 * end. 0: it came to its end; else the signal that it died of; -1 with errno: there could be no child. */
int stress_in_child(void (*work)(void *context), void *context, unsigned seconds);

/* Runs argv[0] (a path) with standard input from /dev/null and standard output to standard error, or both outputs to a
 * file that is made anew. Its exit status, 128 + n on signal n, -1 with errno if it could not be started. */
int command_run(char *const argv[], const char *output_file);

/* "what ended with status 3", or why it could not be started. */
void command_describe(char *text, size_t size, const char *what, int status);

/* Adds ": " and the first line of an output file, if it has one. */
void command_first_line(char *text, size_t size, const char *output_file);

/* A fresh scratch directory, mode 0755, below dir (NULL: $TMPDIR or /tmp). Heap path of the caller; NULL with errno. */
char *stress_scratch(const char *dir);
/* Removes a directory and all below it, not following links and not crossing mounts. */
void stress_remove_tree(const char *path);

#endif
