/* SPDX-License-Identifier: Apache-2.0 */
/* From the policy to a plan. */
#include "sandbox/run/prepare.h"

#include "base/cleanup.h"

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
    if (status)
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

enum qs_status prepare_policy(const struct run_options *options, struct prepared *ret_prepared, struct qs_error *err)
{
    *ret_prepared = PREPARED_NONE;
    enum qs_status status = read_policy(options, ret_prepared, err);
    if (status)
        return status;
    ret_prepared->policy = *qs_policy_get(ret_prepared->result);
    narrow(options, ret_prepared);
    return QS_OK;
}

static uint64_t or_most(uint64_t limit)
{
    return limit ? limit : UINT64_MAX >> 1;
}

/* Once for a run: a second look at the host finds it entered already. */
static enum qs_status prepare_git(const struct run_options *options, struct prepared *prepared, struct qs_error *err)
{
    static const enum new_repositories fresh[] = {NEW_QUARANTINE, NEW_LAUNDER, NEW_REPORT};
    const struct qs_policy *policy = &prepared->policy;
    const struct host_facts *facts = &prepared->facts;
    AUTO_FREE const char **roots = calloc(facts->root_count, sizeof *roots);
    if (!roots)
        return error_memory(err);
    for (size_t i = 0; i < facts->root_count; i++)
        roots[i] = facts->roots[i].dir.path;
    const struct run_git_request request = {
        .base = {.home = facts->state.home,
                 .root = options->git_state ? options->git_state : facts->state.root,
                 .uid = facts->uid},
        .uid = facts->uid,
        .roots = roots,
        .root_count = facts->root_count,
        .read_only = policy->git_mode == QS_GIT_READ_ONLY,
        .new_repositories = fresh[policy->git_new],
        .limits = {.pack_bytes = or_most(policy->git_limits.pack_bytes),
                   .scratch_bytes = or_most(policy->git_limits.scratch_bytes),
                   .seconds = policy->git_limits.seconds ? (unsigned)policy->git_limits.seconds : CROSSING_SECONDS}};
    enum qs_status status = prepared->git.lock < 0 ? run_git_begin(&request, &prepared->git, err) : QS_OK;
    return status ? status : run_git_show(&prepared->git, &prepared->facts, err);
}

enum qs_status prepare_plan(const struct run_options *options, bool for_run, struct prepared *prepared,
                            struct qs_error *err)
{
    const struct facts_request request = {.policy = &prepared->policy,
                                          .workspace = options->workspace,
                                          .cwd = options->cwd,
                                          .root = options->root,
                                          .session_group = prepared->in_session ? &prepared->session.group : NULL,
                                          .make_caches = for_run};
    forget_plan(prepared);
    enum qs_status status = host_facts_collect(&request, &prepared->facts, err);
    if (status)
        return status;
    if (for_run && prepared->policy.filesystem == QS_FS_WORKSPACE_WRITE)
        status = prepare_git(options, prepared, err);
    if (status)
        return status;
    status = plan_make(&prepared->policy, &prepared->facts, &prepared->plan, err);
    if (status)
        return status;
    return env_make(&prepared->policy, &prepared->facts, &prepared->plan, environ, &prepared->env, err);
}

enum qs_status prepare_run(const struct run_options *options, bool for_run, struct prepared *ret_prepared,
                           struct qs_error *err)
{
    enum qs_status status = prepare_policy(options, ret_prepared, err);
    if (status)
        return status;
    return prepare_plan(options, for_run, ret_prepared, err);
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
    run_git_release(&prepared->git);
    run_session_release(&prepared->session);
    qs_policy_free(prepared->result);
    *prepared = PREPARED_NONE;
}
