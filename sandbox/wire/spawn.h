/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child that will execute another program, without a copy of this process's memory: as posix_spawn(3) does it, for
 * what posix_spawn cannot set (close_range, limits, the terminal). A fork would copy page tables, and both sides would
 * then copy pages.
 */
#ifndef SANDBOX_SPAWN_H
#define SANDBOX_SPAWN_H

#include <sys/types.h>

/*
 * Runs child(context) in a new process that shares this one's memory, but not its descriptors, directory or signal
 * actions, and waits until it has executed a program or ended. What it writes through context is seen here. It must
 * not return into any other function's frame, hold a lock, or run a signal handler: all signals are to be blocked, or
 * to have no handler. Its return value is its exit status. argc is the number of the program's arguments, for which its
 * stack must have room: execvp(3) copies their list where a program turns out to be a script without an interpreter's
 * name. -1 with errno: no process.
 */
pid_t spawn_child(int (*child)(void *context), void *context, size_t argc);

#endif
