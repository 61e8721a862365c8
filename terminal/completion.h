/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion on the command line: what the programs share.
 *
 * The scripts for the shells are thin and the same for every program: they hand the words to `PROGRAM __complete`,
 * whose last argument is the word to complete, and which answers one "candidate<TAB>description" a line, whole words
 * each. A line
 * ":files<TAB>N", ":dirs<TAB>N" or ":commands<TAB>N" asks the shell for its own completion of names of that kind, after
 * the word's first N bytes.
 */
#ifndef TERMINAL_COMPLETION_H
#define TERMINAL_COMPLETION_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends the script of shell, "bash", "zsh" or "fish", for program. false: there is no such shell. */
bool completion_script(struct buf *out, const char *program, const char *shell);

/* The word to complete, and where candidates go. They continue the word after its first `lead` bytes: those of
 * "--scope=" in "--scope=sys", say. */
struct completion {
    struct buf *out;
    const char *word;
    size_t lead;
};

/* Appends a candidate if the word's rest begins it. description may be NULL; its first line is shown. */
void completion_offer(const struct completion *to, const char *candidate, const char *description);
void completion_offer_files(const struct completion *to);
void completion_offer_dirs(const struct completion *to);
void completion_offer_programs(const struct completion *to);
/* By what a value or an operand is called: FILE (and ARGUMENT, of a program), DIR, PROGRAM, or in small letters "a|b|c"
 * for one of these. Other names offer nothing. */
void completion_offer_named(const struct completion *to, const char *name, size_t len);

#endif
