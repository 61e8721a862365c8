/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A crew: processes that begin at once, work until they are told to stop, and never outlive the one who started them.
 *
 * Each member is forked, waits at a gate until all are there, runs its function and ends with status 0. A member that
 * ends otherwise, by a signal say, is reported to failed().
 */
#ifndef STRESS_CREW_H
#define STRESS_CREW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct crew_member {
    void (*run)(void *context, unsigned index);
    const char *role; /* "reader" */
    unsigned index;
    bool drops; /* becomes the crew's user, if there is one */
    pid_t pid;  /* the crew's own; 0: not running */
};

struct crew {
    void *context;
    struct crew_member *members;
    size_t count;
    const char *user; /* NULL: all stay who we are */
    uid_t uid;
    gid_t gid;
    atomic_bool *stop;             /* in shared memory; members look at it */
    uint64_t *start_ns;            /* in shared memory; set before anyone runs */
    double seconds;                /* when stop is set; 0: when enough() says so */
    bool (*enough)(void *context); /* may be NULL */
    void (*failed)(void *context, const struct crew_member *member, const char *text);
    void (*tick)(void *context); /* ten times a second; may be NULL */
};

/* Runs the crew to its end. False: it could not be started, or was interrupted; reason says which, and nobody is left.
 */
bool crew_run(struct crew *crew, char *reason, size_t reason_size);

/* Finds the user that members are to become. Returns an enum stress_exit; *ret_user is NULL where that is who we are
 * already. */
int crew_find_user(const char *command, const char *name, struct crew *ret_crew);

/* Zeroed memory shared with children, NULL with errno. Release with munmap. */
void *crew_share(size_t bytes);

#endif
