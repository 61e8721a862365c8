/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One path of the host, looked at once: where it really is, what it is, which symbolic links led there. Part of the
 * host facts; nothing above them looks at a path again.
 */
#ifndef SANDBOX_HOST_PATH_H
#define SANDBOX_HOST_PATH_H

#include "base/error.h"
#include "base/path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum path_kind {
    PATH_ABSENT, /* ENOENT, ENOTDIR, or a directory on the way that the runner may not search */
    PATH_DIR,
    PATH_FILE,
    PATH_LINK, /* only from path_look_itself: a symbolic link, not what it leads to */
    PATH_SOCKET,
    PATH_DEVICE,
    PATH_OTHER,
};

struct path_fact {
    char *given; /* as the policy or the caller wrote it, "~/" expanded */
    char *path;  /* absolute, without links; NULL where absent */
    enum path_kind kind;
    uint64_t dev, ino;
    uid_t uid;
    mode_t mode;
    int fd;       /* O_PATH, close-on-exec; -1 unless asked for */
    char *closed; /* where absent because the runner may not search a directory on the way: that one; else NULL */
    char **links; /* the links that were followed, each by its own path without links */
    size_t link_count;
};

/* A growing list of facts. Zero-initialised is empty. */
struct path_facts {
    struct path_fact *items;
    size_t count, cap;
};

/*
 * Looks at given ("~" and "~/..." are below home, all else must be absolute), following links by hand so that each is
 * known, then opens the result without following any. Absence is no error: kind says it. keep_fd keeps the descriptor.
 * Ownership: path_fact_release. Errors: QS_INVALID (relative, a loop of links), QS_IO.
 */
enum qs_status path_look(const char *given, const char *home, bool keep_fd, struct path_fact *ret_fact,
                         struct qs_error *err) QS_MUST_USE;

/* Looks at an absolute path itself: no link is followed on the way (QS_INVALID where there is one), and a link at its
 * end is PATH_LINK. Absence is no error. */
enum qs_status path_look_itself(const char *path, struct path_fact *ret_fact, struct qs_error *err) QS_MUST_USE;

void path_fact_release(struct path_fact *fact);

/* Appends a fact and takes it over; false without memory (then it was released). */
bool path_facts_add(struct path_facts *facts, struct path_fact *fact);
void path_facts_release(struct path_facts *facts);

#endif
