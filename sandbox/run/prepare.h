/* SPDX-License-Identifier: Apache-2.0 */
/* From the policy to a plan: what run, inspect and the others begin with. */
#ifndef SANDBOX_PREPARE_H
#define SANDBOX_PREPARE_H

#include "qsettings/policy.h"
#include "sandbox/crossing/run_git.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/plan_env.h"
#include "sandbox/run/run_session.h"

/* What the caller of a run asks for. Each only narrows the policy. */
struct run_options {
    const char *root;      /* --root DIR */
    const char *workspace; /* --workspace DIR */
    const char *cwd;       /* --cwd DIR */
    uint64_t timeout_s;    /* --timeout S; 0: the policy's alone */
    bool closed;           /* --network closed */
    bool read_only;        /* --filesystem read-only */
    const char *approver;  /* --claimed-approver */
    int status_fd;         /* --status-fd N; -1 */
    const char *git_state; /* of verify: a directory for what git needs, instead of the state; NULL */
    char **command;        /* after --; ended by NULL */
};

struct prepared {
    struct qs_policy_result *result;
    struct qs_policy policy; /* the result's, narrowed by the options; borrows its lists */
    struct host_facts facts;
    struct run_git git; /* of a run */
    struct plan plan;
    struct env env;
    struct run_session session;
    bool in_session;      /* the policy is a session's frozen one */
    bool store_moved;     /* and the store now holds another */
    bool timeout_is_ours; /* --timeout is the narrower wall limit */
};
#define PREPARED_NONE ((struct prepared){.facts = HOST_FACTS_NONE, .git = RUN_GIT_NONE, .session = RUN_SESSION_NONE})

/*
 * Reads the policy once (of the session that the environment names, else of the stores) and narrows it by the options.
 * What an error leaves in ret_prepared tells its sources; release it in any case. Errors: those of qs_policy_read and
 * run_session_enter.
 */
enum qs_status prepare_policy(const struct run_options *options, struct prepared *ret_prepared,
                              struct qs_error *err) QS_MUST_USE;

/*
 * Looks at the host and plans, under the policy that was read; again, if it was done before. for_run makes the private
 * cache and git directories. Errors: those of host_facts_collect, run_git_begin, plan_make, env_make.
 */
enum qs_status prepare_plan(const struct run_options *options, bool for_run, struct prepared *prepared,
                            struct qs_error *err) QS_MUST_USE;

/* Both. */
enum qs_status prepare_run(const struct run_options *options, bool for_run, struct prepared *ret_prepared,
                           struct qs_error *err) QS_MUST_USE;

/* Before a run: its share of the session's processes, if those are a pool. Errors: QS_BUSY (none is free), QS_IO. */
enum qs_status prepare_share(struct prepared *prepared, struct qs_error *err) QS_MUST_USE;
void prepared_release(struct prepared *prepared);

#endif
