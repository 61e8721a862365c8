/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as a report. */
#include "sandbox/cmd/inspect.h"

#include "base/digest.h"
#include "sandbox/host/probe.h"
#include "sandbox/run/run_record.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static json_t *mounts_of(const struct plan *plan, unsigned kinds)
{
    json_t *list = json_array();
    for (size_t i = 0; i < plan->count; i++)
        if (kinds >> plan->mounts[i].kind & 1u)
            (void)json_array_append_new(list, json_pack("{s:s, s:s}", "path", plan->mounts[i].dest, "why",
                                                        plan->mounts[i].reason));
    for (size_t i = 0; kinds & 1u << MOUNT_WRITABLE && i < plan->ref_dir_count; i++) {
        char path[PATH_MAX + 16];
        (void)snprintf(path, sizeof path, "%s/packed-refs", plan->ref_dirs[i].path);
        (void)json_array_append_new(list, json_pack("{s:s, s:s}", "path", path, "why",
                                                    "git may replace it, with packed-refs.lock and gc.pid beside it"));
    }
    return list;
}

static json_t *private_places(const struct plan *plan)
{
    json_t *list = json_pack("[s, s, s]", "/dev", "/proc", "/tmp");
    if (plan->private_var_tmp)
        (void)json_array_append_new(list, json_string("/var/tmp"));
    if (plan->private_run)
        (void)json_array_append_new(list, json_string("/run"));
    return list;
}

static json_t *environment(const struct env *env)
{
    json_t *passed = json_array(), *removed = json_array();
    for (size_t i = 0; i < env->count; i++)
        (void)json_array_append_new(passed, json_stringn(env->items[i], strcspn(env->items[i], "=")));
    for (size_t i = 0; i < env->removed_count; i++)
        (void)json_array_append_new(removed, json_string(env->removed[i]));
    return json_pack("{s:o, s:o}", "passed", passed, "removed", removed);
}

static json_t *limits(const struct plan *plan)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "wallSeconds", (json_int_t)plan->wall_seconds, "cpuSeconds",
                     (json_int_t)plan->cpu_seconds, "memoryBytes", (json_int_t)plan->memory_bytes, "fileBytes",
                     (json_int_t)plan->file_bytes, "processes", (json_int_t)plan->processes, "openFiles",
                     (json_int_t)plan->open_files);
}

/* What makes each limit bind, in words. */
static json_t *limits_by(const struct plan *plan)
{
    static const char none[] = "no limit", each[] = "a resource limit of each process";
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "wallSeconds",
                     plan->wall_seconds ? "the executor's clock; it ends the PID namespace" : none, "cpuSeconds",
                     plan->cpu_seconds ? each : none, "memoryBytes",
                     !plan->memory_bytes     ? none
                     : plan->memory_by_group ? "a control group, over all processes together (memory.max)"
                                             : "a resource limit of each process's address space (RLIMIT_AS)",
                     "fileBytes", plan->file_bytes ? each : none, "processes",
                     !plan->processes ? none
                     : plan->processes_by_group
                         ? "a control group, over all processes together (pids.max)"
                         : "a resource limit, counted in the run's user namespace (RLIMIT_NPROC)",
                     "openFiles", plan->open_files ? each : none);
}

/* Where the run's group is made, or why there is none. */
static json_t *control_group(const struct context *context)
{
    const struct plan *plan = &context->plan;
    const struct cgroup_fact *fact = &context->facts.group;
    const bool wanted = plan->memory_bytes || plan->processes || plan->group;
    return json_pack("{s:s?, s:s?}", "madeIn", plan->group ? fact->path : NULL, "missing",
                     !wanted        ? "no limit wants one"
                     : fact->why[0] ? fact->why
                                    : NULL);
}

static json_t *session_limits(const struct context *context)
{
    const struct session *session = &context->session;
    if (!context->in_session)
        return json_null();
    const uint64_t now = session_now_ms(), end = session->record.deadline_ms;
    json_t *left = end ? json_integer((json_int_t)(end > now ? (end - now) / 1000 : 0)) : json_null();
    return json_pack("{s:I, s:o, s:I, s:s}", "wallSeconds", (json_int_t)session->record.seconds, "wallSecondsLeft",
                     left, "processes", (json_int_t)session->record.processes, "processesBy",
                     !session->record.processes ? "no limit"
                     : session->group >= 0      ? "a control group that holds all runs"
                                                : "a pool: a run takes what it may have, and gives it back");
}

static json_t *sources(const struct context *context)
{
    json_t *list = json_array();
    for (size_t i = 0; i < qs_policy_source_count(context->result); i++) {
        const struct qs_policy_source *source = qs_policy_source(context->result, i);
        (void)json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:b, s:s}", "scope", qs_scope_name(source->scope),
                                                    "state", qs_status_name(source->state), "generation",
                                                    (json_int_t)source->generation, "setsPolicy",
                                                    (int)source->sets_policy, "place", source->place));
    }
    return list;
}

static json_t *barrier(const char *name, bool holds, const char *by)
{
    return json_pack("{s:s, s:b, s:s}", "name", name, "holds", (int)holds, "by", by);
}

static json_t *barriers(const struct plan *plan)
{
    char landlock[64];
    (void)snprintf(landlock, sizeof landlock, "Landlock ABI %d", plan->landlock_abi);
    const bool has_landlock = plan->landlock_abi > 0;
    return json_pack("[o, o, o, o, o, o, o, o, o]", barrier("writes outside", true, "read-only mounts"),
                     barrier("writes outside, second", has_landlock,
                             has_landlock ? landlock : "this kernel has no Landlock"),
                     barrier("hidden paths", true, "masks"),
                     barrier("network", plan->network_closed,
                             plan->network_closed ? "a network namespace with only lo" : "the policy"),
                     barrier("host sockets by path", plan->unix_sockets != QS_UNIX_OPEN,
                             plan->unix_sockets == QS_UNIX_BLOCKED   ? "the call filter"
                             : plan->unix_sockets == QS_UNIX_PRIVATE ? "private /run and masks"
                                                                     : "the policy"),
                     barrier("host sockets without path",
                             plan->network_closed || plan->scope_abstract || plan->unix_sockets == QS_UNIX_BLOCKED,
                             plan->network_closed                    ? "the network namespace"
                             : plan->unix_sockets == QS_UNIX_BLOCKED ? "the call filter"
                             : plan->scope_abstract                  ? landlock
                                                                     : "the policy"),
                     barrier("kernel surface", true, "the call filter, no capabilities, no new privileges"),
                     barrier("other processes", true, "a PID namespace"),
                     barrier("further user namespaces", true, "the call filter and user.max_user_namespaces"));
}

/* What this plan does not stop on this machine, in plain words: an array of strings. */
static json_t *residual_risks(const struct context *context)
{
    const struct plan *plan = &context->plan;
    json_t *list = json_array();
    const struct {
        bool applies;
        const char *text;
    } risks[] = {
        {true, "what the agent itself does on the host (its file tools, its servers, its hooks) is not confined"},
        {true, "everything that is not hidden can be read, and printed"},
        {true, "all barriers are the kernel's: a flaw in it can be used from inside"},
        {plan->writable, "a build file, a script or a test that the command writes is run by whoever runs it later"},
        {plan->writable, "what the host reads in the workspace while the command runs is read before the sweep"},
        {plan->writable,
         "git reads more configuration than the repository's own: a hooks path set there is not guarded"},
        {plan->writable,
         "a repository made inside the workspace may have hooks; the sweep reports it and leaves it there"},
        {plan->writable, "a program outside that replaces the repository's configuration during a run unguards it"},
        {!plan->network_closed, "the network is open: what can be read can be sent away"},
        {plan->unix_sockets == QS_UNIX_OPEN, "host sockets can be reached, and programs behind them be asked to act"},
        {plan->unix_sockets == QS_UNIX_PRIVATE, "a host socket made in a visible place after the start is not hidden"},
        {plan->ref_dir_count != 0,
         "git's packed-refs of the linked worktree's repository can be replaced, and its locks be held, from inside"},
        {plan->landlock_abi == 0, "this kernel has no Landlock: mounts are the only barrier for writes"},
        {plan->memory_bytes != 0 && !plan->memory_by_group,
         "memoryBytes is a limit of each process's address space, not of all together"},
        {plan->wall_seconds == 0, "there is no wall limit"},
    };
    for (size_t i = 0; i < sizeof risks / sizeof risks[0]; i++)
        if (risks[i].applies)
            (void)json_array_append_new(list, json_string(risks[i].text));
    return list;
}

json_t *inspect_report(const struct context *context)
{
    const struct plan *plan = &context->plan;
    const struct root_fact *workspace = &context->facts.roots[0];
    const unsigned writable = 1u << MOUNT_WRITABLE | 1u << MOUNT_CACHE | 1u << MOUNT_PIN | 1u << MOUNT_SOCKET;
    char digest[DIGEST_TEXT_BYTES];
    digest_format(qs_policy_digest(context->result), digest);
    json_t *backend =
        json_pack("{s:s, s:b, s:s, s:i}", "program", PROBE_BWRAP, "bindByDescriptor", (int)probe_bind_fd(PROBE_BWRAP),
                  "kernel", context->facts.kernel, "landlockAbi", plan->landlock_abi);
    return json_pack(
        "{s:o, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:b, s:o, s:o, s:o}",
        "backend", backend, "filesystem", plan->writable ? "workspace-write" : "read-only", "network",
        plan->network_closed ? "closed" : "open", "workspace", workspace->place.path, "checkout",
        checkout_name(workspace->git.checkout), "barriers", barriers(plan), "writable", mounts_of(plan, writable),
        "readOnly", mounts_of(plan, 1u << MOUNT_READ_ONLY | 1u << MOUNT_BACK | 1u << MOUNT_COPY), "hidden",
        mounts_of(plan, 1u << MOUNT_HIDDEN), "private", private_places(plan), "devices",
        mounts_of(plan, 1u << MOUNT_DEVICE), "environment", environment(&context->env), "limits", limits(plan),
        "limitsBy", limits_by(plan), "controlGroup", control_group(context), "policyDigest", digest, "session",
        (int)context->in_session, "sessionLimits", session_limits(context), "sources", sources(context),
        "residualRisks", residual_risks(context));
}
