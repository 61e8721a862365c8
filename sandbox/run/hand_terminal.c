/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal: handed to the command's process group while it runs, and taken back. */
#include "sandbox/run/hand_terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

bool terminal_among_stdio(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (tcgetpgrp(fd) >= 0) /* of another terminal than the controlling one: ENOTTY */
            return true;
    return false;
}

void terminal_open(struct terminal *terminal)
{
    terminal->fd = terminal_among_stdio() ? open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) : -1;
    terminal->handed = terminal_foreground(terminal);
}

bool terminal_foreground(const struct terminal *terminal)
{
    return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == getpgrp();
}

void terminal_take_back(const struct terminal *terminal)
{
    sigset_t mask, old;
    if (!terminal->handed)
        return;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTTOU); /* else a background group is stopped for asking */
    (void)sigprocmask(SIG_BLOCK, &mask, &old);
    (void)tcsetpgrp(terminal->fd, getpgrp());
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
}

void terminal_release(struct terminal *terminal)
{
    terminal_take_back(terminal);
    if (terminal->fd >= 0)
        (void)close(terminal->fd);
    terminal->fd = -1;
    terminal->handed = false;
}
