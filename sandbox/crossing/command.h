/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running git, and bubblewrap around it: fixed programs by absolute path, an environment built from nothing, pipes
 * whose content is bounded, limits of time and size. What a program prints is data for a parser; its exit status
 * decides.
 */
#ifndef SANDBOX_CROSSING_COMMAND_H
#define SANDBOX_CROSSING_COMMAND_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define COMMAND_GIT           "/usr/bin/git"
#define COMMAND_OUTPUTS       3 /* descriptors 1, 3 and 4 of the program */
#define COMMAND_ERROR_BYTES   300
#define COMMAND_ERROR_MAX     ((size_t)64 << 10)
#define COMMAND_TIMEOUT_MS    120000u
#define COMMAND_PASSED_MAX    64
#define COMMAND_WORDS_MAX     128
#define COMMAND_DIRECTORY_MAX 4096

struct git_command {
    const char *program;
    const char *words[COMMAND_WORDS_MAX]; /* the program's arguments, its own name first; ended by NULL */
    size_t word_count;
    bool overflow;                        /* more words than there is room for */
    struct buf texts;                     /* pointers to the words that were made for it */
    const char *directory;                /* where it starts; NULL: / */
    const char *index_file;               /* GIT_INDEX_FILE; NULL */
    const struct buf *input;              /* what it reads; NULL: nothing */
    int input_fd, output_fd;              /* instead of input and outputs[0], taken over; -1: none */
    struct buf *outputs[COMMAND_OUTPUTS]; /* with max_bytes set; NULL: thrown away */
    int passed[COMMAND_PASSED_MAX];       /* taken over; kept open in the program, under their own numbers */
    size_t passed_count;
    uint64_t file_bytes, data_bytes, cpu_seconds; /* limits; 0: none */
    unsigned timeout_ms;                          /* 0: COMMAND_TIMEOUT_MS */

    /* results */
    int exit_status;                 /* as a shell has it */
    bool cut;                        /* an output was longer than its bound, or the time was up */
    char error[COMMAND_ERROR_BYTES]; /* the first line of what it wrote to standard error, escaped */

    /* while it runs */
    pid_t pid;
    int feed, drain[COMMAND_OUTPUTS + 1];
    size_t fed;
    bool more_error;
};
#define COMMAND_NONE \
    ((struct git_command){.input_fd = -1, .output_fd = -1, .feed = -1, .drain = {-1, -1, -1, -1}, .timeout_ms = 0})

void command_word(struct git_command *command, const char *word);               /* borrowed */
void command_words(struct git_command *command, ...) __attribute__((sentinel)); /* the same, ended by NULL */
void command_format(struct git_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
void command_pass(struct git_command *command, int fd);
void command_release(struct git_command *command);

/* A git command of the host on the git directory gitdir, which is trusted as the host's own: no hook, monitor, filter,
 * transport or helper of its configuration runs. It starts in the empty directory. Its arguments follow. */
void command_git(struct git_command *command, const char *empty, const char *gitdir);

/* Runs all of them at once and waits for all. Errors: QS_IO (one could not be started, or ran into a bound of time or
 * output, by name). A program's own failure is its exit_status. */
enum qs_status commands_run(struct git_command *const *commands, size_t count, struct qs_error *err) QS_MUST_USE;
/* One, which must end with 0. Errors: those, and QS_INVALID with what it said. */
enum qs_status command_must(struct git_command *command, struct qs_error *err) QS_MUST_USE;

/*
 * ---- a small sandbox for git on hostile data ----
 *
 * The system's programs, the directories named, nothing else of the host; no network, no capability, the call filter of
 * a run.
 */
#define CONFINE_DIRECTORY "/tmp/empty" /* where the program starts */

/* Makes command one of bubblewrap; the directories and, after confine_program, the program and its arguments follow.
 * Errors: QS_IO. */
enum qs_status confine_begin(struct git_command *command, struct qs_error *err) QS_MUST_USE;
/* Shows the directory fd as dest. */
enum qs_status confine_show(struct git_command *command, int fd, const char *dest, bool writable,
                            struct qs_error *err) QS_MUST_USE;
/* An empty file, read-only, over dest. */
enum qs_status confine_cover(struct git_command *command, const char *dest, struct qs_error *err) QS_MUST_USE;
void confine_program(struct git_command *command, const char *program);

#endif
