/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A git directory of the host that a run may work in, and what the executor's state has for it.
 *
 *   state/git/HASH/   lock        taken alone for a crossing, and for making or changing the private directory
 *                     runs        shared by each run while it lasts
 *                     private/    the private directory
 *                     base        refs, stashes, configuration when both sides last agreed
 *                     checkout-N  the same for one worktree
 *                     scratch/    where the objects of one crossing arrive
 *
 * HASH is made of the git directory's path, inode and time of birth; for linked worktrees of the common directory's.
 */
#ifndef SANDBOX_CROSSING_REPOSITORY_H
#define SANDBOX_CROSSING_REPOSITORY_H

#include "sandbox/host/state_dir.h"

#include <stddef.h>

#define REPOSITORY_STORES_MAX    16
#define REPOSITORY_CHECKOUTS_MAX 32
#define REPOSITORY_MOUNTS        "/tmp/.qsandbox-git" /* where private directories and object stores are shown inside */

struct object_store {
    char *path;  /* on the host */
    char *shown; /* inside */
    int fd;
    bool has_alternates; /* of its own: an empty file is shown over them */
};

/* One worktree whose files a run can write. */
struct checkout_place {
    char *name;   /* "" or that of worktrees/NAME */
    char *gitdir; /* on the host */
    char *tree;   /* its files; NULL: bare */
    int fd;       /* gitdir */
};

struct repository {
    char *host; /* the git directory, or common directory, on the host */
    int fd;
    uint64_t dev, ino;
    char name[STATE_WORKSPACE_BYTES];
    struct object_store stores[REPOSITORY_STORES_MAX];
    size_t store_count;
    struct checkout_place checkouts[REPOSITORY_CHECKOUTS_MAX];
    size_t checkout_count;
    bool bare, sha256, partial;
    int state, private, lock, runs;          /* descriptors; -1: closed */
    char *state_path, *private_path, *empty; /* empty: a directory in which the host's git starts */
    char *shown;                             /* the private directory inside, beside its place over the host's */
    bool fresh; /* made of what a command made: its private directory may name the object stores of others */
    const struct repository *others;
    size_t other_count;
};
#define REPOSITORY_NONE ((struct repository){.fd = -1, .state = -1, .private = -1, .lock = -1, .runs = -1})

/*
 * Looks at the git directory (a common directory, not a linked worktree's own) and opens its state. Errors: QS_INVALID
 * (a form that does not cross: reftable, more alternates than REPOSITORY_STORES_MAX), QS_UNTRUSTED, QS_IO.
 */
enum qs_status repository_open(const struct state_base *base, const char *gitdir, struct repository *ret_repository,
                               struct qs_error *err) QS_MUST_USE;
void repository_release(struct repository *repository);
/* HASH, of the open git directory at path. False with errno. */
bool repository_name(int gitdir, const char *path, char name[STATE_WORKSPACE_BYTES]);
/* The private directory in a state directory; -1: there is none. */
int repository_open_private(int state);

/* Adds a worktree: name "" is the main one. Known already is no error. */
enum qs_status repository_add_checkout(struct repository *repository, const char *name, const char *tree,
                                       struct qs_error *err) QS_MUST_USE;

/* Takes the lock alone; waits. Errors: QS_IO. */
enum qs_status repository_lock(struct repository *repository, struct qs_error *err) QS_MUST_USE;
void repository_unlock(struct repository *repository);
/* Takes part in the runs; and whether any other run is active. */
enum qs_status repository_enter(struct repository *repository, struct qs_error *err) QS_MUST_USE;
bool repository_active(struct repository *repository);

/* Has the configuration of this checkout sparse checkout on? Asked on the host's side. */
bool repository_sparse(const struct repository *repository, const struct checkout_place *checkout);

/* The base's file for a checkout. */
void repository_checkout_file(const struct checkout_place *checkout, char *name, size_t size);

#endif
