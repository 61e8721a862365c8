/* SPDX-License-Identifier: Apache-2.0 */
/* Children with another identity. */
#include "tests/support/as_user.h"

#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where coverage is counted, a child's counts count as well. */
extern void __gcov_dump(void) __attribute__((weak));

static _Noreturn void leave(int code)
{
    if (__gcov_dump)
        __gcov_dump();
    _exit(code);
}

static int result_of(pid_t child)
{
    int how = 0;
    if (child < 0 || waitpid(child, &how, 0) != child || !WIFEXITED(how))
        return -1;
    return WEXITSTATUS(how);
}

int as_user(uid_t uid, gid_t gid, int (*work)(void *context), void *context)
{
    pid_t child = fork();
    if (child != 0)
        return result_of(child);
    if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0) {
        perror("as_user");
        abort();
    }
    leave(work(context));
}

int in_mount_namespace(int (*work)(void *context), void *context)
{
    pid_t child = fork();
    if (child != 0)
        return result_of(child);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        perror("in_mount_namespace");
        abort();
    }
    leave(work(context));
}
