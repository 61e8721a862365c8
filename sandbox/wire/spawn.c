/* SPDX-License-Identifier: Apache-2.0 */
/* clone(2) with shared memory and a stack of its own. */
#include "sandbox/wire/spawn.h"

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)64 << 10)

pid_t spawn_child(int (*child)(void *context), void *context, size_t argc)
{
    /* Below it a page that may not be touched: a stack too small would else write into this process's memory. */
    size_t guard = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (STACK_BYTES + argc * sizeof(char *) + 2 * guard - 1) / guard * guard;
    char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return -1;
    pid_t pid = -1;
    if (mprotect(stack, guard, PROT_NONE) == 0) /* stacks grow downwards wherever this runs */
        pid = clone(child, stack + size, CLONE_VM | CLONE_VFORK | SIGCHLD, context);
    (void)munmap(stack, size);
    return pid;
}
