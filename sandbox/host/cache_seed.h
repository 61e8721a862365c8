/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copying a tree of the host's into a private cache, which a confined command may be writing to.
 *
 * Every name is one step from an open directory, and no link is followed on either side, so that nothing which a
 * command left there leads the copy elsewhere. A file appears whole under its name; what is there already stays.
 */
#ifndef SANDBOX_CACHE_SEED_H
#define SANDBOX_CACHE_SEED_H

#include "base/error.h"

#include <stdint.h>

struct seed_count {
    uint64_t files, bytes;
};

/* Takes to, borrows from (may be O_PATH). Regular files, directories and links; all else is left out. Errors: QS_IO. */
enum qs_status seed_tree(int from, int to, struct seed_count *count, struct qs_error *err) QS_MUST_USE;

#endif
