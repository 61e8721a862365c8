/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The atomic file writer for anyone's file: every open of FILE at any moment gives a complete old or new document.
 */
#ifndef QSETTINGS_FILE_H
#define QSETTINGS_FILE_H

#include "qsettings/key.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum qs_replace_flags {
    QS_REPLACE_BACKUP = 1 << 0,      /* keep the former file as FILE.bak, by link; FILE is never renamed away */
    QS_REPLACE_DANGLING = 1 << 1,    /* a dangling link: create its target */
    QS_REPLACE_HARDLINKED = 1 << 2,  /* FILE has other names, which keep the old content */
    QS_REPLACE_OTHER_OWNER = 1 << 3, /* FILE belongs to another user, or for root its directory does */
    QS_REPLACE_NEW_ONLY = 1 << 4,    /* FILE must not exist */
};

struct qs_replace_options {
    size_t size;
    unsigned flags; /* enum qs_replace_flags */
    uint32_t mode;  /* of a new FILE; 0: 0666 less the umask. An existing file keeps its own */
    const char
        *expect; /* if not NULL: the file's present content must be these expect_len bytes, else QS_CONFLICT and */
    size_t expect_len; /* nothing changed (compared after an exchange, so no edit in between is lost) */
};

/*
 * FILE's content becomes data[len]. A temporary in the target's directory (exclusive, random name, 0600) is written
 * whole, given owner, mode, ACL and extended attributes of the old file, flushed, renamed over, and the directory
 * flushed. Symbolic links are followed to the end and stay; the target is replaced.
 *
 * Kept are owner, group, mode bits, the access ACL and all extended attributes, or the call is refused; not those that
 * speak of the old content (file capabilities, IMA and EVM signatures), and a security label only where the caller may
 * set it. The mode of a new file and a default ACL of its directory never widen each other. For root each directory on
 * the way, links included, must be root's and not writable by others unless sticky. A stranger's link in a sticky
 * directory is never followed.
 *
 * With expect the file is exchanged (RENAME_EXCHANGE) for the new one, and what came out is compared: if it is not what
 * was expected, or somebody has it open for writing, it goes back and nothing has changed. If it was edited twice
 * within the call, the second edit is kept beside it as FILE.conflict-RANDOM, and the error's advice names it. A file
 * system that cannot exchange is refused with QS_INVALID. One that cannot rename without replacing links a new file
 * into place.
 *
 * Durability: after QS_OK the new content survives a power cut. After an error or a crash FILE is the old or the new
 * content, complete; a crash may leave one temporary (.qs-...), which the next call for the same FILE removes. An edit
 * that a killed call with expect had taken out is put back by the next call for the same FILE. Errors: QS_UNTRUSTED
 * (not permitted; another owner), QS_INVALID (directory, device, dangling link, hard links; the advice says which flag
 * allows it), QS_CONFLICT (expect; QS_REPLACE_NEW_ONLY), QS_NOT_FOUND (the directory does not exist), QS_USAGE (no
 * file; expect with QS_REPLACE_NEW_ONLY; mode with more than permission bits), QS_IO. Threads: any number at once, also
 * on one FILE: the last one to rename wins. Cost: two flushes; one pass over the names in the target's directory, for
 * leftovers.
 */
QS_API enum qs_status qs_file_replace(const char *file, const void *data, size_t len,
                                      const struct qs_replace_options *options, struct qs_error *err) QS_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
