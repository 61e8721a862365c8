/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox inspect: the plan that run would follow, in words or as JSON. Nothing is made, nothing is run. */
#include "sandbox/cmd/qsandbox.h"

#include "base/cleanup.h"
#include "base/digest.h"
#include "sandbox/host/probe.h"
#include "sandbox/run/run_record.h"
#include "terminal/paint.h"
#include "text/value.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- the report: what is writable and why, what is hidden, which barriers there are, what remains ---- */

static json_t *mounts_of(const struct plan *plan, unsigned kinds)
{
    json_t *list = json_array();
    for (size_t i = 0; i < plan->count; i++)
        if (kinds >> plan->mounts[i].kind & 1u)
            (void)json_array_append_new(list, json_pack("{s:s, s:s}", "path", plan->mounts[i].dest, "why",
                                                        plan->mounts[i].reason));
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
static json_t *control_group(const struct prepared *prepared)
{
    const struct plan *plan = &prepared->plan;
    const struct cgroup_fact *fact = &prepared->facts.group;
    const bool wanted = plan->memory_bytes || plan->processes || plan->group;
    return json_pack("{s:s?, s:s?}", "madeIn", plan->group ? fact->path : NULL, "missing",
                     !wanted        ? "no limit wants one"
                     : fact->why[0] ? fact->why
                                    : NULL);
}

static json_t *session_limits(const struct prepared *prepared)
{
    const struct run_session *session = &prepared->session;
    if (!prepared->in_session)
        return json_null();
    const uint64_t now = run_now_ms(), end = session->record.deadline_ms;
    json_t *left = end ? json_integer((json_int_t)(end > now ? (end - now) / 1000 : 0)) : json_null();
    return json_pack("{s:I, s:o, s:I, s:s}", "wallSeconds", (json_int_t)session->record.seconds, "wallSecondsLeft",
                     left, "processes", (json_int_t)session->record.processes, "processesBy",
                     !session->record.processes ? "no limit"
                     : session->group >= 0      ? "a control group that holds all runs"
                                                : "a pool: a run takes what it may have, and gives it back");
}

static json_t *sources(const struct prepared *prepared)
{
    json_t *list = json_array();
    for (size_t i = 0; i < qs_policy_source_count(prepared->result); i++) {
        const struct qs_policy_source *source = qs_policy_source(prepared->result, i);
        (void)json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:b, s:s}", "scope", qs_scope_name(source->scope),
                                                    "state", qs_status_name(source->status), "generation",
                                                    (json_int_t)source->generation, "setsPolicy",
                                                    (int)source->sets_policy, "place", source->path));
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
static json_t *residual_risks(const struct prepared *prepared)
{
    const struct plan *plan = &prepared->plan;
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
         "a repository that the command makes is what it made until the run ends; then it is laundered"},
        {plan->writable, "a program outside that replaces a whole git directory during a run takes its cover away"},
        {!plan->network_closed, "the network is open: what can be read can be sent away"},
        {plan->unix_sockets == QS_UNIX_OPEN, "host sockets can be reached, and programs behind them be asked to act"},
        {plan->unix_sockets == QS_UNIX_PRIVATE, "a host socket made in a visible place after the start is not hidden"},
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

static json_t *git(const struct prepared *prepared)
{
    static const char *const modes[] = {"read-only", "crossing"}, *const fresh[] = {"quarantine", "launder", "report"};
    const struct qs_policy *policy = &prepared->policy;
    return json_pack("{s:s, s:s, s:s, s:{s:I, s:I, s:I}}", "checkout",
                     checkout_name(prepared->facts.roots[0].git.checkout), "mode", modes[policy->git_mode],
                     "newRepositories", fresh[policy->git_new], "limits", "packBytes",
                     (json_int_t)policy->git_limits.pack_bytes, "scratchBytes",
                     (json_int_t)policy->git_limits.scratch_bytes, "seconds", (json_int_t)policy->git_limits.seconds);
}

/* A new reference; NULL without memory. Starts bubblewrap twice, to see what it can. */
static json_t *inspect_report(const struct prepared *prepared)
{
    const struct plan *plan = &prepared->plan;
    const struct root_fact *workspace = &prepared->facts.roots[0];
    const unsigned writable =
        1u << MOUNT_WRITABLE | 1u << MOUNT_PRIVATE | 1u << MOUNT_CACHE | 1u << MOUNT_PIN | 1u << MOUNT_SOCKET;
    char digest[DIGEST_TEXT_BYTES];
    digest_format(qs_policy_digest(prepared->result), digest);
    json_t *backend =
        json_pack("{s:s, s:b, s:s, s:i}", "program", PROBE_BWRAP, "bindByDescriptor", (int)probe_bind_fd(PROBE_BWRAP),
                  "kernel", prepared->facts.kernel, "landlockAbi", plan->landlock_abi);
    return json_pack(
        "{s:o, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:b, s:o, s:o, s:o}",
        "backend", backend, "filesystem", plan->writable ? "workspace-write" : "read-only", "network",
        plan->network_closed ? "closed" : "open", "workspace", workspace->dir.path, "checkout",
        checkout_name(workspace->git.checkout), "git", git(prepared), "barriers", barriers(plan), "writable",
        mounts_of(plan, writable), "readOnly", mounts_of(plan, 1u << MOUNT_READ_ONLY | 1u << MOUNT_BACK), "hidden",
        mounts_of(plan, 1u << MOUNT_HIDDEN), "private", private_places(plan), "devices",
        mounts_of(plan, 1u << MOUNT_DEVICE), "environment", environment(&prepared->env), "limits", limits(plan),
        "limitsBy", limits_by(plan), "controlGroup", control_group(prepared), "policyDigest", digest, "session",
        (int)prepared->in_session, "sessionLimits", session_limits(prepared), "sources", sources(prepared),
        "residualRisks", residual_risks(prepared));
}

/* ---- in words ---- */

static void print_scalar(const json_t *value)
{
    if (json_is_string(value))
        terminal_put(stdout, json_string_value(value));
    else if (json_is_integer(value))
        (void)printf("%lld", (long long)json_integer_value(value));
    else
        (void)printf("%s", json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "-");
}

/* "path  (reason)" and the like: the first member, then the others in parentheses. */
static void print_entry(json_t *entry)
{
    const char *key;
    json_t *value;
    size_t count = 0;
    json_object_foreach(entry, key, value)
    {
        (void)printf("%s", count == 0 ? "  " : count == 1 ? "  (" : ", ");
        if (count)
            (void)printf("%s: ", key);
        print_scalar(value);
        count++;
    }
    (void)printf("%s\n", count > 1 ? ")" : "");
}

static void print_section(const char *name, json_t *value)
{
    const char *key;
    json_t *item;
    size_t i;
    (void)printf("%s:", name);
    if (json_is_object(value)) {
        (void)printf("\n");
        json_object_foreach(value, key, item)
        {
            if (json_is_array(item) || json_is_object(item)) {
                (void)printf("  ");
                print_section(key, item);
            } else {
                (void)printf("  %s: ", key);
                print_scalar(item);
                (void)printf("\n");
            }
        }
    } else if (json_is_array(value)) {
        (void)printf("%s\n", json_array_size(value) ? "" : " none");
        json_array_foreach(value, i, item)
        {
            if (json_is_object(item)) {
                print_entry(item);
            } else {
                (void)printf("  ");
                print_scalar(item);
                (void)printf("\n");
            }
        }
    } else {
        (void)printf(" ");
        print_scalar(value);
        (void)printf("\n");
    }
}

static enum qs_status print(const struct cli *cli, json_t *report, struct qs_error *err)
{
    const char *key;
    json_t *value;
    if (!cli->line.json) {
        json_object_foreach(report, key, value) print_section(key, value);
        return QS_OK;
    }
    AUTO(buf_release) struct buf text = {0};
    enum qs_status status = value_encode_pretty(report, &text, err);
    if (status)
        return status;
    (void)printf("%s\n", text.data);
    return QS_OK;
}

enum qs_status cmd_inspect(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    struct prepared prepared;
    AUTO(value_release) json_t *report = NULL;
    (void)count;
    (void)operands;
    enum qs_status status = prepare_run(&cli->run, false, &prepared, err);
    if (!status)
        status = probe_bwrap(PROBE_BWRAP, err);
    if (!status)
        report = inspect_report(&prepared);
    if (!status)
        status = report ? print(cli, report, err) : error_memory(err);
    prepared_release(&prepared);
    return status;
}
