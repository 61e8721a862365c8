/* SPDX-License-Identifier: Apache-2.0 */
/* The controlling terminal: given to the command's process group while it runs, and taken back. */
#ifndef SANDBOX_TTY_H
#define SANDBOX_TTY_H

#include <stdbool.h>
#include <sys/types.h>

struct tty {
    int fd;     /* -1: there is none */
    bool given; /* the executor was in the foreground, so the command is to be */
};

/* Is the controlling terminal one of standard input, output and error? If not, it is the caller's alone. */
bool tty_among_stdio(void);

/* Makes group the foreground group of the terminal fd, also for a process in the background. -1: nothing to do. */
void tty_give(int fd, pid_t group);

/* ---- for the executor ---- */

/* Looks for it; given is true if this process's group is in its foreground. */
void tty_open(struct tty *tty);
void tty_take_back(const struct tty *tty);
bool tty_foreground(const struct tty *tty);
void tty_release(struct tty *tty);

#endif
