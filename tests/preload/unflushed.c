/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the flushes of data.mdb away from a program that is otherwise right: the control of the power-cut harness. The
 * synchronous write of the meta page stays, so it gets to the disk before the pages that it leads to. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default"))) /* the build hides all else */

SHOWN int fdatasync(int fd);
SHOWN int fsync(int fd);

static int is_store_file(int fd)
{
    char link[64];
    char path[512];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 1);
    if (len < 0)
        return 0;
    path[len] = '\0';
    const char *name = strrchr(path, '/');
    return name && strcmp(name, "/data.mdb") == 0;
}

int fdatasync(int fd)
{
    return is_store_file(fd) ? 0 : (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    return is_store_file(fd) ? 0 : (int)syscall(SYS_fsync, fd);
}
