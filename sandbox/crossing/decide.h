/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What crosses: three sides are compared, the private directory's, the base's (as both were when they last agreed) and
 * the host's. Pure: no file is opened here, and nothing is changed but the plan.
 *
 *   private = base, or private = host    nothing
 *   host = base                          the command's change is taken over
 *   else                                 both changed: the host's stays, the command's is put aside
 *
 * A checkout (HEAD, the branch it names, the index, a merge's state) crosses as a whole or not at all: half of one
 * would show on the host as a reversal of the other half.
 */
#ifndef SANDBOX_CROSSING_DECIDE_H
#define SANDBOX_CROSSING_DECIDE_H

#include "sandbox/crossing/side.h"

#define DECIDE_REFS_MAX 10000u /* that change in one crossing */

enum ref_verdict {
    REF_TAKE,  /* the host gets the private value */
    REF_ASIDE, /* it goes to refs/qsandbox/... */
    REF_STAYS, /* inside, and is told */
};

struct ref_change {
    const char *name;
    const char *old_id; /* the host's; NULL: it has none */
    const char *new_id; /* the private one; NULL: deleted there, or not an id */
    enum ref_verdict verdict;
    const char *why; /* after "it"; not for REF_TAKE */
};

struct ref_plan {
    struct ref_change *items;
    size_t count;
};
void ref_plan_release(struct ref_plan *plan);

/* Names, borrowed. */
struct names {
    const char **items;
    size_t count, cap;
};
bool names_add(struct names *names, const char *name);
bool names_have(const struct names *names, const char *name);
void names_release(struct names *names);

struct index_change {
    const char *name;
    size_t at, count; /* its entries in the private checkout; none: removed */
    bool skip;        /* skip-worktree, under the host's sparse checkout */
};

struct checkout_facts {
    bool sparse;                                            /* the host has sparse checkout on */
    bool (*gitlink_known)(void *context, const char *name); /* no .git there, or one that leads to the host's */
    void *context;
    const struct names *checked_out; /* branches of the host's other worktrees */
};

struct checkout_plan {
    bool changed;           /* the private one differs from the base */
    bool crosses;           /* and is taken over */
    const char *why, *what; /* where it is not: "both sides changed", "file" */
    struct index_change *items;
    size_t count;
    struct names omitted; /* changed entries that stay inside: intent-to-add, assume-unchanged */
    bool sparse_inside;   /* skip-worktree without the host's sparse checkout */
};
void checkout_plan_release(struct checkout_plan *plan);

struct three_refs {
    const struct git_refs *private, *base, *host;
};
struct three_checkouts {
    const struct git_checkout *private, *base, *host;
};

/* Errors: QS_IO (memory). */
enum qs_status decide_checkout(const struct three_checkouts *checkouts, const struct three_refs *refs,
                               const struct checkout_facts *facts, struct checkout_plan *ret_plan,
                               struct qs_error *err) QS_MUST_USE;

/* checked_out: branches that only a worktree of the host may move. held: branches of checkouts that stay inside.
 * Errors: QS_INVALID (more than DECIDE_REFS_MAX changes), QS_IO. */
enum qs_status decide_refs(const struct three_refs *refs, const struct names *checked_out, const struct names *held,
                           struct ref_plan *ret_plan, struct qs_error *err) QS_MUST_USE;

/* The texts of the base after the plan was carried out: what both sides agree on now, and else what the base was. */
void settle_refs(const struct three_refs *refs, const struct ref_plan *plan, struct buf *out);
void settle_index(const struct three_checkouts *checkouts, const struct checkout_plan *plan, struct buf *out);

#endif
