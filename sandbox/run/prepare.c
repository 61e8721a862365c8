/* SPDX-License-Identifier: Apache-2.0 */
/* From the policy to a plan, once. */
#include "sandbox/run/prepare.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void narrow(const struct run_options *options, struct prepared *prepared)
{
    struct qs_policy *policy = &prepared->policy;
    if (options->closed)
        policy->network = QS_NET_CLOSED;
    if (options->read_only)
        policy->filesystem = QS_FS_READ_ONLY;
    uint64_t *wall = &policy->limits.wall_seconds;
    if (options->timeout_s && (*wall == 0 || options->timeout_s < *wall)) {
        *wall = options->timeout_s;
        prepared->timeout_is_ours = true;
    }
}

static enum qs_status read_policy(const struct run_options *options, struct prepared *prepared, struct qs_error *err)
{
    const struct qs_policy_options where = {.size = sizeof where, .root = options->root};
    const char *session = getenv(QS_SESSION_VARIABLE);
    if (!session)
        return qs_policy_read(&where, &prepared->result, err);
    enum qs_status status = run_session_enter(session, &prepared->session, &prepared->result, err);
    if (status != QS_OK)
        return status;
    prepared->in_session = true;
    struct qs_policy_result *now = NULL;
    prepared->store_moved = qs_policy_read(&where, &now, NULL) != QS_OK ||
                            memcmp(qs_policy_digest(now), qs_policy_digest(prepared->result), QS_DIGEST_BYTES) != 0;
    qs_policy_free(now);
    return QS_OK;
}

static void forget_plan(struct prepared *prepared)
{
    env_release(&prepared->env);
    plan_release(&prepared->plan);
    host_facts_release(&prepared->facts);
}

static void place_request(const struct run_options *options, struct facts_request *request)
{
    request->workspace = options->workspace;
    request->cwd = options->cwd;
    request->root = options->root;
}

static enum qs_status plan(const struct run_options *options, struct facts_request *request, struct prepared *prepared,
                           struct qs_error *err)
{
    place_request(options, request);
    request->policy = &prepared->policy;
    request->session_group = prepared->in_session ? &prepared->session.group : NULL;
    forget_plan(prepared);
    enum qs_status status = host_facts_collect(request, &prepared->facts, err);
    if (status == QS_OK)
        status = plan_make(&prepared->policy, &prepared->facts, &prepared->plan, err);
    if (status == QS_OK)
        status = env_make(&prepared->policy, &prepared->facts, &prepared->plan, environ, &prepared->env, err);
    return status;
}

enum qs_status prepare_plan(const struct run_options *options, bool for_run, struct prepared *prepared,
                            struct qs_error *err)
{
    struct facts_request request = {.make_caches = for_run};
    return plan(options, &request, prepared, err);
}

static enum qs_status open_policy(const struct run_options *options, struct prepared *prepared, struct qs_error *err)
{
    *prepared = (struct prepared){.facts = HOST_FACTS_NONE, .session = RUN_SESSION_NONE};
    enum qs_status status = read_policy(options, prepared, err);
    if (status != QS_OK)
        return status;
    prepared->policy = *qs_policy_get(prepared->result);
    narrow(options, prepared);
    return QS_OK;
}

enum qs_status prepare_run(const struct run_options *options, bool for_run, struct prepared *ret_prepared,
                           struct qs_error *err)
{
    enum qs_status status = open_policy(options, ret_prepared, err);
    return status == QS_OK ? prepare_plan(options, for_run, ret_prepared, err) : status;
}

enum qs_status prepare_early(const struct run_options *options,
                             void (*opened)(void *opened_context, const struct host_facts *facts), void *opened_context,
                             struct prepared *ret_prepared, struct qs_error *err)
{
    struct host_facts early = HOST_FACTS_NONE;
    struct facts_request request = {.make_caches = true};
    place_request(options, &request);
    bool guessed = host_facts_early(&request, options->read_only, &early);
    if (guessed)
        opened(opened_context, &early);
    enum qs_status status = open_policy(options, ret_prepared, err);
    const struct qs_policy *policy = &ret_prepared->policy;
    if (status == QS_OK && guessed && host_facts_early_hold(policy, options->read_only))
        request.early = &early;
    if (!request.early || !host_facts_early_serve(policy, options->read_only)) {
        request.opened = opened; /* once more, and with the right ones */
        request.context = opened_context;
    }
    if (status == QS_OK)
        status = plan(options, &request, ret_prepared, err);
    host_facts_release(&early);
    return status;
}

enum qs_status prepare_share(struct prepared *prepared, struct qs_error *err)
{
    const struct run_session *session = &prepared->session;
    struct plan *plan = &prepared->plan;
    if (!session->record.processes || session->group >= 0)
        return QS_OK;
    if (prepared->facts.uid == 0)
        return error_set(err, QS_INVALID, "the session's --processes would not bind for root");
    return run_session_take(session, plan->processes, &plan->processes, err);
}

void prepared_release(struct prepared *prepared)
{
    forget_plan(prepared);
    run_session_release(&prepared->session);
    qs_policy_free(prepared->result);
    *prepared = (struct prepared){.facts = HOST_FACTS_NONE, .session = RUN_SESSION_NONE};
}
