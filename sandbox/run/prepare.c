/* SPDX-License-Identifier: Apache-2.0 */
/* From the policy to a plan, once. */
#include "sandbox/run/prepare.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void narrow(const struct options *options, struct context *context)
{
    struct qs_policy *policy = &context->policy;
    if (options->closed)
        policy->network = QS_NET_CLOSED;
    if (options->read_only)
        policy->filesystem = QS_FS_READ_ONLY;
    uint64_t *wall = &policy->limits.wall_seconds;
    if (options->timeout_s && (*wall == 0 || options->timeout_s < *wall)) {
        *wall = options->timeout_s;
        context->timeout_is_ours = true;
    }
}

static enum qs_status read_policy(const struct options *options, struct context *context, struct qs_error *err)
{
    const struct qs_policy_options where = {.root = options->root};
    const char *session = getenv(QS_SESSION_VARIABLE);
    if (!session)
        return qs_policy_read(&where, &context->result, err);
    enum qs_status status = session_enter(session, &context->session, &context->result, err);
    if (status != QS_OK)
        return status;
    context->in_session = true;
    struct qs_policy_result *now = NULL;
    context->store_moved = qs_policy_read(&where, &now, NULL) != QS_OK ||
                           memcmp(qs_policy_digest(now), qs_policy_digest(context->result), QS_DIGEST_BYTES) != 0;
    qs_policy_free(now);
    return QS_OK;
}

static void forget_plan(struct context *context)
{
    env_release(&context->env);
    plan_release(&context->plan);
    host_facts_release(&context->facts);
}

static void place_request(const struct options *options, struct facts_request *request)
{
    request->workspace = options->workspace;
    request->cwd = options->cwd;
    request->root = options->root;
}

static enum qs_status plan(const struct options *options, struct facts_request *request, unsigned without,
                           struct context *context, struct qs_error *err)
{
    place_request(options, request);
    request->policy = &context->policy;
    request->session_group = context->in_session ? &context->session.group : NULL;
    forget_plan(context);
    enum qs_status status = host_facts_collect(request, &context->facts, err);
    if (status == QS_OK)
        status = plan_make(&context->policy, &context->facts, without, &context->plan, err);
    if (status == QS_OK)
        status = env_make(&context->policy, &context->facts, &context->plan, environ, &context->env, err);
    return status;
}

enum qs_status context_plan(const struct options *options, bool for_run, unsigned without, struct context *context,
                            struct qs_error *err)
{
    struct facts_request request = {.make_caches = for_run};
    return plan(options, &request, without, context, err);
}

static enum qs_status open_policy(const struct options *options, struct context *context, struct qs_error *err)
{
    *context = (struct context){.facts = HOST_FACTS_NONE, .session = SESSION_NONE};
    enum qs_status status = read_policy(options, context, err);
    if (status != QS_OK)
        return status;
    context->policy = *qs_policy_get(context->result);
    narrow(options, context);
    return QS_OK;
}

enum qs_status context_open(const struct options *options, bool for_run, unsigned without, struct context *ret_context,
                            struct qs_error *err)
{
    enum qs_status status = open_policy(options, ret_context, err);
    return status == QS_OK ? context_plan(options, for_run, without, ret_context, err) : status;
}

enum qs_status context_open_run(const struct options *options,
                                void (*opened)(void *opened_context, const struct host_facts *facts),
                                void *opened_context, struct context *ret_context, struct qs_error *err)
{
    struct host_facts early = HOST_FACTS_NONE;
    struct facts_request request = {.make_caches = true};
    place_request(options, &request);
    bool guessed = host_facts_early(&request, options->read_only, &early);
    if (guessed)
        opened(opened_context, &early);
    enum qs_status status = open_policy(options, ret_context, err);
    const struct qs_policy *policy = &ret_context->policy;
    if (status == QS_OK && guessed && host_facts_early_hold(policy, options->read_only))
        request.early = &early;
    if (!request.early || !host_facts_early_serve(policy, options->read_only)) {
        request.opened = opened; /* once more, and with the right ones */
        request.context = opened_context;
    }
    if (status == QS_OK)
        status = plan(options, &request, 0, ret_context, err);
    host_facts_release(&early);
    return status;
}

enum qs_status context_take_share(struct context *context, struct qs_error *err)
{
    const struct session *session = &context->session;
    struct plan *plan = &context->plan;
    if (!session->record.processes || session->group >= 0)
        return QS_OK;
    if (context->facts.uid == 0)
        return error_set(err, QS_INVALID, "the session's --processes would not bind for root");
    return session_take(session, plan->processes, &plan->processes, err);
}

void context_release(struct context *context)
{
    forget_plan(context);
    session_release(&context->session);
    qs_policy_free(context->result);
    *context = (struct context){.facts = HOST_FACTS_NONE, .session = SESSION_NONE};
}
