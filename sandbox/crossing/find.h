/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that git takes for a repository below a directory: each `.git` (directory, file or link), and each directory that
 * is a git directory by what is in it. gitrepository-layout(5); setup.c, is_git_directory.
 *
 * A walk before a run tells what was there; one after it finds what is new. Nothing is told by time.
 */
#ifndef SANDBOX_CROSSING_FIND_H
#define SANDBOX_CROSSING_FIND_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define FIND_MAX_ENTRIES 200000u
#define FIND_MAX_MS      10000u

enum found_kind {
    FOUND_DIR,  /* a `.git` directory */
    FOUND_FILE, /* a `.git` file */
    FOUND_LINK, /* a `.git` link, or what is neither */
    FOUND_BARE, /* a directory of another name */
};

struct found_repository {
    char *path; /* of the `.git`, or the bare directory */
    enum found_kind kind;
    bool valid; /* a directory: it has what git asks for */
    uint64_t dev, ino;
    char *text; /* a file's first line, or a link's target; else NULL */
};

struct found_repositories {
    struct found_repository *items;
    size_t count;
    bool cut;     /* there are more entries than were read, or the time was up */
    char *unread; /* the first directory that could not be read, and not be opened up; NULL */
};

/* Adds what is at and below root. open_up: directories of the caller that are closed are opened (chmod u+rwx), for a
 * command may have closed them. Errors: QS_IO (memory, root). Cost: one look at each directory; where the file system
 * counts links, one without directories in it is not read. */
enum qs_status find_repositories(const char *root, bool open_up, struct found_repositories *found,
                                 struct qs_error *err) QS_MUST_USE;
void found_release(struct found_repositories *found);

/* The identity of what was found: the same text, the same repository under the same name. */
void found_identity(const struct found_repository *repository, struct buf *out);

/* Is dir what git takes for a git directory? */
bool find_is_gitdir(int dir, const char *name);

#endif
