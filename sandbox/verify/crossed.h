/* SPDX-License-Identifier: Apache-2.0 */
/* What of the attempts in git directories is on the host after the run. */
#ifndef SANDBOX_VERIFY_CROSSED_H
#define SANDBOX_VERIFY_CROSSED_H

#include "sandbox/verify/checks.h"
#include "sandbox/verify/decoy.h"

/* In the linked worktree: a repository that was there before, and one that the run makes. */
#define CROSSED_CONFIG     "nested/.git/config"
#define CROSSED_INDEX      "nested/.git/index"
#define CROSSED_LINK       "nested/.git/COMMIT_EDITMSG"
#define CROSSED_HOOK       "planted/.git/hooks/post-checkout"
#define CROSSED_REPOSITORY "planted/.git/config"
/* Beside it: the branch that the main worktree is on. */
#define CROSSED_REF "repository/.git/refs/heads/main"

/* In words, what of this check's attempt reached the host; NULL: nothing, or it is another check. */
const char *crossed_to_host(const struct decoys *decoys, enum verify_check check);

#endif
