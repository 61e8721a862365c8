/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a file name to the directory and the last name that it really means, through every symbolic link, so that what
 * was checked is what is used: each directory is opened from the one before it, no name is looked up twice, and the
 * result is a descriptor and one name in it that is no link.
 *
 *   "/srv/app/current/settings.json"        open "/", "srv", "app" one by one
 *        current -> releases/7              a link is read through its own descriptor and its text put before the rest
 *        settings.json -> ../shared/s.json  likewise at the end; dir_fd = .../shared, name = "s.json"
 */
#ifndef WRITER_RESOLVE_TARGET_H
#define WRITER_RESOLVE_TARGET_H

#include "qsettings/limits.h"
#include "qsettings/status.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct resolved_target {
    int dir_fd;              /* O_PATH; only for looking names up */
    char name[NAME_MAX + 1]; /* no link when it was looked up, and never "." or ".." */
    bool exists;
    bool dangling;  /* the file name itself is a link, and its end does not exist */
    struct stat st; /* of name, if it exists */
    unsigned hops;
};

enum resolve_flags {
    RESOLVE_FOREIGN = 1 << 0, /* let root walk through other users' directories */
};

/*
 * Resolves file. The last name need not exist; all directories must.
 *
 * Since links are followed here and not by the kernel, the kernel's fs.protected_symlinks is repeated here: a link in a
 * sticky directory that anybody may write counts only if it belongs to the caller or to the directory's owner
 * (proc(5)). For root each directory in which a name is looked up must be root's, and not writable by others unless
 * sticky: whoever can place a link on the way could else choose the file that root writes.
 *
 * Ownership: release with resolved_target_release. Errors: QS_NOT_FOUND (a directory does not exist), QS_INVALID (names
 * a directory; more than QS_LINK_HOPS_MAX links, a loop as well; a name or path too long; a link of /proc that has no
 * path), QS_UNTRUSTED (not permitted, or the rules above), QS_USAGE (empty), QS_IO. Cost: one system call for each
 * directory on the way, one more for root.
 */
enum qs_status resolve_target(const char *file, unsigned flags, struct resolved_target *ret_target,
                              struct qs_error *err) QS_MUST_USE;

void resolved_target_release(
    struct resolved_target *target); /* for AUTO(resolved_target_release); needs dir_fd -1 or open */

#endif
