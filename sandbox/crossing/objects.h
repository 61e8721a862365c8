/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of a private directory for the host's store: as a pack that one confined git writes, and another one, which
 * does not see the private directory, hashes, checks and indexes. The host's git reads none of it before that.
 */
#ifndef SANDBOX_CROSSING_OBJECTS_H
#define SANDBOX_CROSSING_OBJECTS_H

#include "sandbox/crossing/look.h"

#define OBJECTS_TIPS_MAX 5000u

enum wanted_kind {
    WANTED_COMMIT,
    WANTED_STASH, /* a commit of two or three parents */
    WANTED_BLOB,
    WANTED_ANY, /* what a tag may name */
};
struct wanted_object {
    const char *id; /* borrowed */
    enum wanted_kind kind;
};
struct wanted {
    struct wanted_object *items;
    size_t count, cap;
};
bool wanted_add(struct wanted *wanted, const char *id, enum wanted_kind kind);
void wanted_release(struct wanted *wanted);

struct objects_limits {
    uint64_t pack_bytes, scratch_bytes;
    unsigned seconds;
};

/* Makes the scratch directory anew. Errors: QS_IO. */
enum qs_status objects_scratch(const struct repository *repository, struct qs_error *err) QS_MUST_USE;

/* Is there an object of the host whose id begins so? */
enum qs_status objects_have_prefix(const struct repository *repository, const char *prefix, bool *ret_have,
                                   struct qs_error *err) QS_MUST_USE;

/*
 * Brings all that is wanted, and all that it needs, into the host's object store. Durability: after return the objects
 * are on the disk. Errors: QS_INVALID (one is missing, damaged, of another kind, or over a limit; nothing came over),
 * QS_IO.
 */
enum qs_status objects_bring(const struct repository *repository, const struct sides *sides,
                             const struct wanted *wanted, const struct objects_limits *limits,
                             struct qs_error *err) QS_MUST_USE;

/* Removes the marks that keep the packs of a crossing, and the scratch directory. */
void objects_finish(const struct repository *repository);

#endif
