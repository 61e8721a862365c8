/* SPDX-License-Identifier: Apache-2.0 */
/* Stores of all scopes below one scratch root, named by their scope; tests/support/stores.h has handles. Every function
 * here ends the test on an error of its own. */
#ifndef TESTS_SUPPORT_SCOPES_H
#define TESTS_SUPPORT_SCOPES_H

#include "qsettings/maintenance.h"
#include "tests/support/scratch.h"

struct scopes {
    struct scratch scratch; /* scratch.dir is the root */
};

void scopes_make(struct scopes *scopes); /* no store yet */
void scopes_remove(struct scopes *scopes);

/* Makes the scope's store. The system scope's is required only with require_store. */
void scopes_init(const struct scopes *scopes, enum qs_scope scope, bool require_store, bool require_policy);

/* Merges a JSON document into the scope's store in one commit. */
void scopes_apply(const struct scopes *scopes, enum qs_scope scope, const char *json);

/* The same past every check of the schema, as an older or another writer might have left it. */
void scopes_force(const struct scopes *scopes, enum qs_scope scope, const char *json);

void scopes_lock(const struct scopes *scopes, enum qs_scope scope, const char *key);

/* A path below the scope's store directory ("" for itself); a ring of buffers, see scratch_path. */
const char *scopes_path(const struct scopes *scopes, enum qs_scope scope, const char *name);

#endif
