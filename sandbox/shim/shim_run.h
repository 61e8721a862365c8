/* SPDX-License-Identifier: Apache-2.0 */
/* The shim as PID 1: the command's start, its end, and what the executor is told. */
#ifndef SANDBOX_SHIM_RUN_H
#define SANDBOX_SHIM_RUN_H

#include "sandbox/wire/spec.h"

#define SHIM_FAILED 125

struct shim_fds {
    int events, control, error, terminal; /* terminal: -1 if none is given to the command */
};

/* Tells the executor. */
void shim_event(int fd, enum event_type type, int value, const char *text);

/* Starts the command and stays until it has ended; returns the exit status of PID 1. */
int shim_run(const struct spec *spec, const struct shim_fds *fds);

#endif
