/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of the command, built from nothing: what the policy passes or sets, and a few fixed names. Pure.
 *
 * A name is passed when every list of the policy's conjunction matches it, no secrets pattern does (letter case does
 * not count there), and it is none of those by which a program loads foreign code or is redirected (LD_PRELOAD,
 * BASH_ENV, NODE_OPTIONS, GIT_DIR, ...), whatever the policy says.
 */
#ifndef SANDBOX_ENV_H
#define SANDBOX_ENV_H

#include "sandbox/host/facts.h"
#include "sandbox/plan/plan.h"

struct env {
    char **items; /* "NAME=value", sorted by name, with a final NULL: fit for execve */
    size_t count;
    char **removed; /* names that the caller had and the command does not get, sorted */
    size_t removed_count;
};

/*
 * caller is the caller's environment, ended by NULL. Ownership: env_release. Errors: QS_INVALID
 * (executor.environment.set names a variable that never passes), QS_IO (memory).
 */
enum qs_status env_make(const struct qs_policy *policy, const struct host_facts *facts, const struct plan *plan,
                        char *const *caller, struct env *ret_env, struct qs_error *err) QS_MUST_USE;
void env_release(struct env *env);

/* Would a variable of this name load code or redirect a program? Such names never pass. */
bool env_name_redirects(const char *name, size_t len);

#endif
