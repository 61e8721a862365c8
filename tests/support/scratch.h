/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch directories and whole files for tests. Every function here ends the test on an error of its own. */
#ifndef TESTS_SUPPORT_SCRATCH_H
#define TESTS_SUPPORT_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#define SCRATCH_PATH_BYTES 4096

struct scratch {
    char dir[64]; /* absolute */
};

void scratch_make(struct scratch *scratch); /* a new directory, mode 0755, below /tmp */
/* The same in memory, where tests of what happens between calls need no disk's time: below /dev/shm, if that is there
 * and has extended attributes, else as above. */
void scratch_make_in_memory(struct scratch *scratch);
void scratch_remove(struct scratch *scratch); /* with all that is in it */

/* DIR/name in a buffer of the ring of 16 that this module keeps. */
const char *scratch_path(const struct scratch *scratch, const char *name);

void scratch_write(const char *path, const char *text); /* truncates or makes; 0644 */
void scratch_write_bytes(const char *path, const void *data, size_t len);
char *scratch_read(const char *path, size_t *ret_len);     /* heap, zero-terminated; NULL where it does not exist */
bool scratch_holds(const char *path, const char *text);    /* exactly */
bool scratch_exists(const char *path);                     /* lstat */
struct stat scratch_stat(const char *path);                /* lstat */
size_t scratch_count(const char *dir, const char *prefix); /* entries that begin with prefix */
bool scratch_find(const char *dir, const char *prefix, char *ret_path); /* the first such entry's path */

#endif
