/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carrying a plan out on the host's git directory: values that were checked, by the host's own git, with the old value
 * compared each time. Each step asks first whether the host is as the private side already, so that after a kill
 * everything is simply done again.
 */
#ifndef SANDBOX_CROSSING_APPLY_H
#define SANDBOX_CROSSING_APPLY_H

#include "sandbox/crossing/decide.h"
#include "sandbox/crossing/look.h"

#define APPLY_LOCK_WAIT_MS 2000

struct applying {
    const struct repository *repository;
    const struct sides *sides;
    const char *run; /* its id, for reflogs and refs/qsandbox/RUN/... */
};

/* What a kill left of apply_index. Under the repository's lock. */
void apply_clean(const struct checkout_place *place);

/* The index, by a copy that the host's git changes and that is read again before it takes the index's place. Errors:
 * QS_BUSY (its lock is held, or it changed since the plan), QS_CONFLICT (git made something else of a name; its index
 * is as it was), QS_INVALID, QS_IO. Durability: after return it is on the disk. */
enum qs_status apply_index(const struct applying *applying, size_t which, const struct checkout_plan *plan,
                           struct qs_error *err) QS_MUST_USE;

/* All refs in one transaction, those put aside too. Errors: QS_CONFLICT (the host changed one meanwhile), QS_IO. */
enum qs_status apply_refs(const struct applying *applying, const struct ref_plan *plan,
                          struct qs_error *err) QS_MUST_USE;

/* HEAD, when its branch is there; the files of a merge. Errors: QS_CONFLICT, QS_IO. */
enum qs_status apply_head(const struct applying *applying, size_t which, struct qs_error *err) QS_MUST_USE;
enum qs_status apply_states(const struct applying *applying, size_t which, struct qs_error *err) QS_MUST_USE;

/* The stash, entry by entry. *ret_taken: the host's list is the private one now; else new ones were put aside. Errors:
 * QS_CONFLICT, QS_IO. */
enum qs_status apply_stashes(const struct applying *applying, bool *ret_taken, struct qs_error *err) QS_MUST_USE;

#endif
