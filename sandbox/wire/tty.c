/* SPDX-License-Identifier: Apache-2.0 */
/* The controlling terminal and its foreground group. */
#include "sandbox/wire/tty.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

bool tty_among_stdio(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (tcgetpgrp(fd) >= 0) /* of another terminal than the controlling one: ENOTTY */
            return true;
    return false;
}

void tty_give(int fd, pid_t group)
{
    sigset_t mask, old;
    if (fd < 0)
        return;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTTOU); /* else a background group is stopped for asking */
    (void)sigprocmask(SIG_BLOCK, &mask, &old);
    (void)tcsetpgrp(fd, group);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
}

void tty_open(struct tty *tty)
{
    tty->fd = tty_among_stdio() ? open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) : -1;
    tty->given = tty_foreground(tty);
}

bool tty_foreground(const struct tty *tty)
{
    return tty->fd >= 0 && tcgetpgrp(tty->fd) == getpgrp();
}

void tty_take_back(const struct tty *tty)
{
    if (tty->given)
        tty_give(tty->fd, getpgrp());
}

void tty_release(struct tty *tty)
{
    tty_take_back(tty);
    if (tty->fd >= 0)
        (void)close(tty->fd);
    tty->fd = -1;
    tty->given = false;
}
