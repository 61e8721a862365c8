/* SPDX-License-Identifier: Apache-2.0 */
/* Uids of one's own: a lock file for each, and a look at all processes. */
#include "tests/support/own_uid.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCKS "/run/qsettings-tests"
#define FIRST 20000u
#define LAST  29999u

static _Noreturn void die(const char *what)
{
    perror(what);
    abort();
}

static bool has_process(uid_t uid)
{
    char command[128];
    (void)snprintf(command, sizeof command, "grep -qsE '^Uid:.*\\b%u\\b' /proc/[0-9]*/status", (unsigned)uid);
    return system(command) == 0;
}

uid_t own_uid(void)
{
    char path[64];
    (void)mkdir(LOCKS, 0700);
    for (uid_t uid = FIRST; uid <= LAST; uid++) {
        (void)snprintf(path, sizeof path, LOCKS "/%u", (unsigned)uid);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0)
            die(path);
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && !getpwuid(uid) && !has_process(uid))
            return uid;
        (void)close(fd);
    }
    die("no uid is free");
}
