/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal: handed to the command's process group while it runs, and taken back. */
#ifndef SANDBOX_TERMINAL_H
#define SANDBOX_TERMINAL_H

#include <stdbool.h>

struct terminal {
    int fd;      /* -1: there is none */
    bool handed; /* the executor was in the foreground, so the command is to be */
};

/* Is the controlling terminal one of standard input, output and error? Where it is not, it is the caller's alone. */
bool terminal_among_stdio(void);

/* Looks for it; handed is true where this process's group is in its foreground. */
void terminal_open(struct terminal *terminal);
void terminal_take_back(const struct terminal *terminal);
bool terminal_foreground(const struct terminal *terminal);
void terminal_release(struct terminal *terminal);

#endif
