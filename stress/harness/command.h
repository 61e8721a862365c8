/* SPDX-License-Identifier: Apache-2.0 */
/* Running another program and waiting for it. */
#ifndef STRESS_COMMAND_H
#define STRESS_COMMAND_H

#include <stddef.h>

/* Runs argv[0] (a path) with standard input from /dev/null and standard output to standard error, or both outputs to a
 * file that is made anew. Its exit status, 128 + n on signal n, -1 with errno if it could not be started. */
int command_run(char *const argv[], const char *output_file);

/* "what ended with status 3", or why it could not be started. */
void command_describe(char *text, size_t size, const char *what, int status);

/* Adds ": " and the first line of an output file, if it has one. */
void command_first_line(char *text, size_t size, const char *output_file);

#endif
