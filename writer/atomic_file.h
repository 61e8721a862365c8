/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The atomic file writer, inside view.
 *
 * Plain:                                            With `expect`:
 *
 *   .qs-tmp-HASH-RANDOM  created, locked              .qs-swp-HASH-RANDOM-NEW-EXPECT/  made, locked, 0700
 *     written, attributes, fsync                        part: written, attributes, fsync; renamed to "swap"
 *     [FILE linked as .qs-bak-..., renamed to           swap <-> FILE exchanged
 *      FILE.bak]                                        swap compared with expect: equal: removed (or FILE.bak)
 *     renamed to FILE (new: without replacing)                                     else: exchanged back, QS_CONFLICT
 *   directory fsync                                   directory removed, parent fsync
 *
 * HASH names FILE, so that the next call for the same FILE finds what a killed one left. A temporary belongs to a dead
 * writer if its lock (flock(2)) can be taken: the kernel drops it with the writer. Within a swap directory, NEW and
 * EXPECT (the beginnings of digests) tell what a killed call left in "swap": its own text or the expected one, which
 * go, or somebody's edit, which is put back (or, where FILE has moved on again, kept beside FILE as
 * FILE.conflict-RANDOM).
 */
#ifndef WRITER_ATOMIC_FILE_H
#define WRITER_ATOMIC_FILE_H

#include "base/digest.h"
#include "qsettings/file.h"
#include "writer/resolve_target.h"

/* An extended attribute that the new file carries before it gets its name. */
struct file_extra {
    const char *name;
    const void *value;
    size_t len;
};

/* qs_file_replace, and extra (may be NULL). */
enum qs_status file_replace(const char *file, const void *data, size_t len, const struct qs_replace_options *options,
                            const struct file_extra *extra, struct qs_error *err) QS_MUST_USE;

#define FILE_HASH_BYTES (16 + 1)
#define FILE_TEMP_BYTES (8 + 16 + 1 + 16 + 1)
#define FILE_SWAP_BYTES (FILE_TEMP_BYTES + 2 * (1 + 32))
#define FILE_PART       "part"
#define FILE_SWAP       "swap"

/* One attempt. Descriptors are -1 while closed. */
struct file_job {
    const char *file;
    const void *data;
    size_t len;
    struct qs_replace_options options;
    const struct file_extra *extra;
    struct resolved_target target;
    int dir_fd;  /* the target's directory, open for reading, so that it can be flushed */
    int old_fd;  /* the former file; -1: there is none */
    int temp_fd; /* the new one */
    int swap_fd; /* the swap directory */
    struct stat old, temp;
    char hash[FILE_HASH_BYTES];
    char random[FILE_HASH_BYTES];
    char temp_name[FILE_TEMP_BYTES]; /* in dir_fd, or in swap_fd if that is open; "": there is none */
    char swap_name[FILE_SWAP_BYTES]; /* in dir_fd; "": there is none */
    bool again;                      /* the world moved: start over */
    bool keep_swap;                  /* something of somebody's is still in there */
};

/* ---- file_attr.c ---- */

/* Gives the new file owner, group, mode, ACL and attributes of the former one; and extra.
 * Errors: QS_UNTRUSTED (not permitted: nothing is ever dropped or widened silently), QS_IO. */
enum qs_status file_attr_keep(struct file_job *job, struct qs_error *err) QS_MUST_USE;
/* Gives a new file its mode, no wider than the directory's default ACL; and extra. */
enum qs_status file_attr_new(struct file_job *job, struct qs_error *err) QS_MUST_USE;

/* ---- file_stray.c ---- */

void file_hash(const char *name, char hash[FILE_HASH_BYTES]);
/* Removes what killed calls for this FILE left in its directory. What cannot be removed stays. */
void file_stray_clean(struct file_job *job);

/* ---- file_swap.c ---- */

/* Makes the swap directory. Sets job->again where another call took it for a dead one's. */
enum qs_status file_swap_create(struct file_job *job, struct qs_error *err) QS_MUST_USE;
/* Exchanges, compares, and puts back what was not expected. */
enum qs_status file_swap_commit(struct file_job *job, struct qs_error *err) QS_MUST_USE;
/* Makes good what a dead call left in a swap directory (whose lock the caller holds); true if that is empty now. */
bool file_swap_recover(int dir_fd, const char *name, int swap_fd, const char *digests);

/* ---- file.c ---- */

/* Is the content exactly data[len]? */
enum qs_status file_content_is(int fd, const void *data, size_t len, bool *ret_same, struct qs_error *err) QS_MUST_USE;
/* renameat2 without replacing, by a link where the file system cannot. 0, or -1 with errno. */
int file_rename_new(int from_fd, const char *from, int to_fd, const char *to);
/* NAME.bak in name; QS_INVALID if too long. */
enum qs_status file_backup_name(const struct file_job *job, char name[NAME_MAX + 1], struct qs_error *err) QS_MUST_USE;

#endif
