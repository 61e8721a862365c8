/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room stress/harness/: What do all commands of qstress share: workers, measures, reports, options?
 *
 * What all commands of qstress share: options, the seeded generator, the clock, children, scratch directories, exit
 * statuses.
 *
 * A command is one function `int stress_cmd_NAME(int argc, char **argv)`, which its room declares and the table in
 * stress/cmd/qstress_main.c lists. argv[0] is the command's name; what it returns is the program's exit status.
 */
#ifndef STRESS_STRESS_H
#define STRESS_STRESS_H

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

/* "qstress: COMMAND: text" on standard error; returns status, so that `return stress_fail(...)` reads well. */
int stress_fail(int status, const char *command, const char *format, ...) __attribute__((format(printf, 3, 4)));

enum stress_kind {
    STRESS_FLAG,   /* bool *slot */
    STRESS_NUMBER, /* uint64_t *slot, within min and max */
    STRESS_REAL,   /* double *slot, within min and max */
    STRESS_TEXT,   /* const char **slot */
    STRESS_CHOICE, /* const char **slot; choices is "a|b|c" */
};

struct stress_option {
    const char *name; /* without the dashes */
    enum stress_kind kind;
    void *slot;           /* holds the default; the help prints it */
    const char *argument; /* how the help names the value, "N"; for a choice the choices */
    const char *help;
    uint64_t min, max;
};

#define STRESS_COMPLETE "__complete" /* as argv[1]: the rest are words, the last of which is to be completed */

/*
 * Parses argv (argv[0]: the command) by a table of options. --help prints it on standard output.
 * Returns true to go on; false: end with *ret_status. Arguments that are no options are refused.
 */
bool stress_options(const char *summary, const struct stress_option *options, size_t count, int argc, char **argv,
                    int *ret_status);

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
/* One line of progress on standard error, drawn anew by each call, at most some ten times a second. Nothing where that
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
