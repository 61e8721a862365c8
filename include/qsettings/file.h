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
    QS_REPLACE_BACKUP = 1 << 0,         /* keep the former file as FILE.bak, by link; FILE is never renamed away */
    QS_REPLACE_DANGLING = 1 << 1,       /* a dangling link: create its target */
    QS_REPLACE_HARDLINKED = 1 << 2,     /* FILE has other names, which keep the old content */
    QS_REPLACE_OTHER_OWNER = 1 << 3,    /* FILE belongs to another user, or for root its directory does */
    QS_REPLACE_NEW_ONLY = 1 << 4,       /* FILE must not exist */
};

struct qs_replace_options {
    unsigned flags;      /* enum qs_replace_flags */
    uint32_t mode;       /* of a new FILE; 0: 0666 less the umask. An existing file keeps its own */
    const char *expect;  /* if not NULL: the file's present content must be these expect_len bytes, else QS_CONFLICT and */
    size_t expect_len;   /* nothing changed (compared after an exchange, so no edit in between is lost) */
};

/*
 * FILE's content becomes data[len]. A temporary in the target's directory (exclusive, random name, 0600) is written whole,
 * given owner, mode, ACL and extended attributes of the old file, flushed, renamed over, and the directory flushed.
 * Symbolic links are followed to the end and stay; the target is replaced.
 *
 * Durability: after QS_OK the new content survives a power cut. After an error or a crash FILE is the old or the new
 * content, complete; a crash may leave one temporary, which the next call for the same FILE removes.
 * Errors: QS_UNTRUSTED (not permitted; another owner), QS_INVALID (directory, device, dangling link, hard links; the
 * message says which flag allows it), QS_CONFLICT (expect; QS_REPLACE_NEW_ONLY), QS_NOT_FOUND (the directory does not exist),
 * QS_IO.
 */
QS_API enum qs_status qs_file_replace(const char *file, const void *data, size_t len,
                                      const struct qs_replace_options *options, struct qs_error *err) QS_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
