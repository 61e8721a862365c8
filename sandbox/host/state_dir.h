/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the sandbox keeps what outlasts a run (caches, quarantine, pending sweeps, the run log): below the home that
 * the password database gives, or below --root. Hidden inside every sandbox, never writable from one.
 */
#ifndef SANDBOX_STATE_DIR_H
#define SANDBOX_STATE_DIR_H

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

struct state_base {
    const char *home; /* resolved */
    const char *root; /* --root, or NULL */
    uid_t uid;
};

/* root (may be NULL) counts only where it is the runner's own: a plain user's state cannot lie in a directory of
 * root's. */
struct state_base state_base_of(const char *home, const char *root, uid_t uid);

/*
 * Opens the directory BASE/name, where BASE is ROOT/sandbox or HOME/.local/state/qsettings/sandbox and name may have
 * several segments. With make, missing directories are made (0700). No link is followed on the way.
 * Ownership: the caller closes *ret_fd and frees *ret_path (may be NULL to not get it).
 * Errors: QS_ABSENT (not there, and not to be made), QS_UNTRUSTED (another owner, or writable by others), QS_IO.
 */
enum qs_status state_open(const struct state_base *base, const char *name, bool make, int *ret_fd, char **ret_path,
                          struct qs_error *err) QS_MUST_USE;

/* The same below a directory that state_open gave, dir_path by name. */
enum qs_status state_open_below(int dir, const char *dir_path, uid_t uid, const char *name, bool make, int *ret_fd,
                                char **ret_path, struct qs_error *err) QS_MUST_USE;

/* The name under which a workspace's state is kept: hex of a digest of its path. */
#define STATE_WORKSPACE_BYTES 33
void state_workspace_name(const char *workspace, char name[STATE_WORKSPACE_BYTES]);

#endif
