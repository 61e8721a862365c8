/* SPDX-License-Identifier: Apache-2.0 */
/* clone(2) with shared memory and a stack of its own. */
#include "sandbox/spawn.h"

#include <sched.h>
#include <signal.h>

#define STACK_BYTES ((size_t)64 << 10)

pid_t spawn_child(int (*child)(void *context), void *context)
{
    /* This frame lasts as long as the child needs it: CLONE_VFORK. Stacks grow downwards wherever this runs. */
    _Alignas(64) char stack[STACK_BYTES];
    return clone(child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, context);
}
