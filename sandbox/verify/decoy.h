/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What verify lays out on the host: secrets to read, sockets to reach, a process to signal, a checkout and a
 * linked worktree. All of it lies in one directory in the runner's home (or, where that cannot be written, in /var/tmp
 * or /tmp), and is removed again.
 */
#ifndef SANDBOX_VERIFY_DECOY_H
#define SANDBOX_VERIFY_DECOY_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define DECOY_WORD_BYTES 33 /* 16 random bytes in hex */

struct decoys {
    char *base;
    char *checkout; /* a normal checkout: the main scene's scratch workspace */
    char *worktree; /* a linked worktree of another repository, on the branch `canary` without a commit */
    char *canary;   /* the file that the first commit there makes */
    char *wall;     /* an empty workspace */
    char *outside;  /* a directory with the file `existing` */
    char *hidden_dir, *hidden_file;
    char *socket; /* "" where its path is too long for a socket */
    char abstract[64], victim_name[16];
    char secret[DECOY_WORD_BYTES], marker[DECOY_WORD_BYTES];
    int unix_fd, abstract_fd, tcp_fd, dns_fd; /* listening; -1 */
    int port, dns_port;
    pid_t victim;  /* leads a process group of its own, which the main scene's executor joins */
    int victim_fd; /* its report */
};

/* Errors: QS_IO; whatever was made is removed then. */
enum qs_status decoys_make(const char *home, struct decoys *ret_decoys, struct qs_error *err) QS_MUST_USE;

/* Something came to a listener (a connection, a question). Looks once. */
bool decoy_reached(int fd);

/* Ends the victim and says which signals it had: SIGUSR1 to itself, SIGWINCH to its group. */
void decoy_victim_end(struct decoys *decoys, bool *ret_signaled, bool *ret_group_signaled);

/* Plants secrets and redirecting names in this process's environment. */
bool decoys_plant(const struct decoys *decoys);

/* Removes a directory and all in it, without following links or entering other file systems. */
void decoys_remove_dir(const char *path);
void decoys_release(struct decoys *decoys);

#endif
