/* SPDX-License-Identifier: Apache-2.0 */
/* Whole programs, from spawn to the end. */
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

#include "bench/bench.h"

#define PROCESS_ARGS_MAX 12

struct process {
    const char *file; /* absolute */
    const char *args[PROCESS_ARGS_MAX];
    const char *const *list; /* instead of args where there are more */
    const char *cwd;         /* NULL: as it is */
    const char *const *environment;
};

/* Runs it with standard output and standard error closed to /dev/null; it must end with status 0. For struct side. */
void process_run(void *process);
/* The same, and what it prints must be text and a newline: no row may compare with a program that fails its task. */
void process_expect(struct process *process, const char *text);
/* Is there such a program in /usr/bin? Its path. */
bool process_find(const char *name, char ret_path[BENCH_PATH_BYTES]);

#endif
