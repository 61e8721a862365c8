/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control groups, version 2: limits over all processes of a run together, and their sure end.
 *
 *   cgroup_look -> where a group may be made, and what would bind there (changes nothing)
 *   cgroup_make -> a group of its own, limits set, locked   ... the run is born in it ...
 *   cgroup_kill -> everything in it at once                 cgroup_remove -> and it is gone
 *
 * A group may be made only in what is delegated to the runner: the group that this process is in, or its parent.
 * Where systemd runs, that is what it marked so (Delegate=yes; an extended attribute); elsewhere, what belongs to the
 * runner. A group that holds processes cannot have groups with controllers below it (the kernel's rule), so where this
 * process is alone in its delegated group it moves into a leaf first.
 *
 * Whoever made a group holds a lock on its directory. A group without one is litter of a killed executor, and goes with
 * the next that is made beside it. Sources: the kernel's admin-guide/cgroup-v2, systemd's CGROUP_DELEGATION.
 */
#ifndef SANDBOX_CGROUP_H
#define SANDBOX_CGROUP_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_NAME_BYTES 48
#define CGROUP_OVERHEAD   2 /* bubblewrap, and PID 1 of the sandbox, are in the group beside the command */

/* What is looked at; tests put in a directory of their own. */
struct cgroup_seam {
    const char *self;      /* /proc/self/cgroup */
    const char *mounts[3]; /* where version 2 may be mounted; ended by NULL */
    const char *systemd;   /* exists where systemd runs: sd_booted(3) */
    bool any_filesystem;   /* the mounts need not be of the type cgroup2 */
};
extern const struct cgroup_seam cgroup_here;

struct cgroup_fact {
    int fd;            /* the group in which others may be made; -1: none */
    char *path;        /* for people */
    bool memory, pids; /* limits that would bind a group made there */
    bool settle;       /* this process must leave it for a leaf first */
    char why[200];     /* where something is missing: what, and why */
};

/* Never fails: what cannot be had is told by `why`. Ownership: cgroup_fact_release. */
void cgroup_look(const struct cgroup_seam *seam, uid_t uid, struct cgroup_fact *ret_fact);
/* The fact of a group that another executor made for its runs. Takes fd. */
void cgroup_adopt(int fd, struct cgroup_fact *ret_fact);
void cgroup_fact_release(struct cgroup_fact *fact);

struct cgroup_limits {
    uint64_t memory_bytes, processes; /* 0: none */
    bool divided;                     /* others are made in it, so it holds no process itself */
};
struct cgroup {
    int parent, fd; /* -1: none. fd holds the lock */
    char name[CGROUP_NAME_BYTES];
};
#define CGROUP_NONE ((struct cgroup){.parent = -1, .fd = -1})

/* Errors: QS_IO (the kernel refused a step; nothing is left). Litter beside it is removed first. */
enum qs_status cgroup_make(const struct cgroup_fact *fact, const struct cgroup_limits *limits, struct cgroup *ret_group,
                           struct qs_error *err) QS_MUST_USE;
/* Leaves a delegated group for a leaf of it, where fact says that this is needed. */
enum qs_status cgroup_settle(const struct cgroup_fact *fact, struct qs_error *err) QS_MUST_USE;

/* fork(2), but the child begins in this group; without a group, just fork. -1 with errno. */
pid_t cgroup_fork(const struct cgroup *group);
void cgroup_kill(const struct cgroup *group);
/* Kills what is left, waits until it is gone (a bound, not a moment), removes the group. What cannot be removed is
 * litter for the next. */
void cgroup_remove(struct cgroup *group);

#endif
