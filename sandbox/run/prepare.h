/* SPDX-License-Identifier: Apache-2.0 */
/* From the policy to a plan, once: what run, inspect and the others begin with. */
#ifndef SANDBOX_CONTEXT_H
#define SANDBOX_CONTEXT_H

#include "qsettings/policy.h"
#include "sandbox/cmd/qsandbox.h"
#include "sandbox/plan/plan.h"
#include "sandbox/plan/plan_env.h"
#include "sandbox/run/run_session.h"

struct context {
    struct qs_policy_result *result;
    struct qs_policy policy; /* the result's, narrowed by the options; borrows its lists */
    struct host_facts facts;
    struct plan plan;
    struct env env;
    struct session session;
    bool in_session;      /* the policy is a session's frozen one */
    bool store_moved;     /* and the store now holds another */
    bool timeout_is_ours; /* --timeout is the narrower wall limit */
};

/*
 * Reads the policy once (of the session that the environment names, else of the stores), narrows it by the options,
 * looks at the host, plans. for_run makes the private cache directories. Everything an error leaves behind is in
 * ret_context for its sources; release it in any case. Errors: those of qs_policy_read, session_enter,
 * host_facts_collect, plan_make.
 */
enum qs_status context_open(const struct options *options, bool for_run, unsigned without, struct context *ret_context,
                            struct qs_error *err) QS_MUST_USE;
/* For a run; opened is called as soon as all descriptors of the facts are open, which a later error does not undo:
 * before the policy is read, with what most policies ask for, and once more where this one asks for something else. */
enum qs_status context_open_run(const struct options *options,
                                void (*opened)(void *opened_context, const struct host_facts *facts),
                                void *opened_context, struct context *ret_context, struct qs_error *err) QS_MUST_USE;
/* Looks at the host and plans anew, under the policy that was read. */
enum qs_status context_plan(const struct options *options, bool for_run, unsigned without, struct context *context,
                            struct qs_error *err) QS_MUST_USE;
/* Before a run: its share of the session's processes, where those are a pool. Errors: QS_BUSY (none is free), QS_IO. */
enum qs_status context_take_share(struct context *context, struct qs_error *err) QS_MUST_USE;
void context_release(struct context *context);

#endif
