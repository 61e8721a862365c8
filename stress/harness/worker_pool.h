/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool: processes that begin at once, work until they are told to stop, and never outlive the one who started them.
 *
 * Each worker is forked, waits at a gate until all are there, runs its function and ends with status 0. A worker that
 * ends otherwise, by a signal say, is reported to failed().
 */
#ifndef STRESS_WORKER_POOL_H
#define STRESS_WORKER_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct worker {
    void (*run)(void *context, unsigned index);
    const char *role; /* "reader" */
    unsigned index;
    bool drops; /* becomes the pool's user, if there is one */
    pid_t pid;  /* the pool's own; 0: not running */
};

struct pool {
    void *context;
    struct worker *workers;
    size_t count;
    const char *user; /* NULL: all stay who we are */
    uid_t uid;
    gid_t gid;
    atomic_bool *stop;             /* in shared memory; workers look at it */
    uint64_t *start_ns;            /* in shared memory; set before anyone runs */
    double seconds;                /* when stop is set; 0: when enough() says so */
    bool (*enough)(void *context); /* may be NULL */
    void (*failed)(void *context, const struct worker *worker, const char *text);
    void (*tick)(void *context); /* ten times a second; may be NULL */
};

/* Runs the pool to its end. False: it could not be started, or was interrupted; reason says which, and nobody is left.
 */
bool pool_run(struct pool *pool, char *reason, size_t reason_size);

/* Finds the user that workers are to become. Returns an enum stress_exit; *ret_user is NULL if that is who we are
 * already. */
int pool_find_user(const char *name, struct pool *ret_crew);

/* Zeroed memory shared with children, NULL with errno. Release with munmap. */
void *pool_share(size_t bytes);

#endif
