/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox run: policy, facts, plan, start, watch, what came back, record. */
#include "sandbox/cmd/qsandbox.h"

#include "base/cleanup.h"
#include "sandbox/run/run.h"
#include "sandbox/run/run_log.h"
#include "sandbox/run/run_record.h"
#include "sandbox/sweep/sweep.h"
#include "terminal/paint.h"
#include "text/value.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* What one walk collects on its way. */
struct walk {
    struct prepared prepared;
    struct sweep sweep;
    struct run_log log;
    struct run_result result;
};

static void release_walk(struct walk *walk)
{
    run_log_close(&walk->log);
    sweep_release(&walk->sweep);
    prepared_release(&walk->prepared);
}

/* ---- start and watch ---- */

/* The list of the sweep, and the record of the start, durable; a second attempt has both already. */
static enum qs_status record_start(const struct run_options *options, struct walk *walk, struct qs_error *err)
{
    const struct prepared *prepared = &walk->prepared;
    enum qs_status status = sweep_write(&prepared->policy, &prepared->facts, &walk->sweep, err);
    if (status || prepared->policy.audit == QS_AUDIT_OFF || walk->log.fd >= 0)
        return status;
    AUTO(value_release) json_t *start = run_record_start(options, prepared);
    status = start ? run_log_open(&prepared->facts.state, &walk->log, err) : error_memory(err);
    if (!status)
        status = run_log_append(&walk->log, "start", start, true, err);
    if (status)
        error_add_advice(err, "executor.audit is required: without its record no command runs");
    return status;
}

/* bubblewrap sets up while the records are made durable; the command waits for them. */
static enum qs_status attempt(const struct run_options *options, const struct run_request *request, struct walk *walk,
                              struct qs_error *err)
{
    AUTO(run_free) struct run *run = NULL;
    enum qs_status status = run_begin(request, &run, err);
    if (status)
        return status;
    status = record_start(options, walk, err);
    if (status)
        return status;
    return run_watch(run, &walk->result, err);
}

static enum qs_status start_and_watch(const struct run_options *options, struct walk *walk, struct qs_error *err)
{
    struct prepared *prepared = &walk->prepared;
    struct run_request request = {.plan = &prepared->plan,
                                  .env = &prepared->env,
                                  .argv = options->command,
                                  .session = prepared->in_session ? &prepared->session : NULL};
    enum qs_status status = prepare_share(prepared, err);
    if (status)
        return status;
    do
        status = attempt(options, &request, walk, err);
    while (run_retry(&request, &prepared->facts, &walk->result, &status, err));
    return status;
}

/* ---- record and say ---- */

/* For those who know only the outcome. A failure here changes nothing of what was run. */
static void record_end(const struct cli *cli, struct walk *walk, const struct qs_error *why)
{
    struct qs_error err = {0};
    const struct sweep_findings *found = &walk->sweep.found;
    if (walk->log.fd >= 0) {
        AUTO(value_release) json_t *end = run_record_outcome(&walk->result, found, &walk->prepared.git.report);
        if (why && end)
            (void)json_object_set_new(end, "notRun", json_string(why->message));
        if (!end || run_log_append(&walk->log, "end", end, false, &err))
            voice_error(&cli->line, &err);
    }
    if (run_record_status(&cli->run, &walk->prepared, &walk->result, found, why, &err))
        voice_error(&cli->line, &err);
}

static const char *policy_scope(const struct qs_policy_result *result)
{
    for (size_t i = 0; i < qs_policy_source_count(result); i++)
        if (qs_policy_source(result, i)->sets_policy && qs_policy_source(result, i)->scope == QS_SCOPE_SYSTEM)
            return "system";
    for (size_t i = 0; i < qs_policy_source_count(result); i++)
        if (qs_policy_source(result, i)->sets_policy)
            return qs_scope_name(qs_policy_source(result, i)->scope);
    return "session";
}

static void say_lines(const struct sweep_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        (void)fputs("qsandbox: ", stderr);
        terminal_put(stderr, lines->items[i]); /* names that the command chose */
        (void)fputs(i < lines->inherited ? " (by an earlier run that was killed)\n" : "\n", stderr);
    }
}

static void say(const struct run_options *options, const struct walk *walk)
{
    const struct prepared *prepared = &walk->prepared;
    const struct run_result *result = &walk->result;
    unsigned long long seconds = prepared->plan.wall_seconds;
    say_lines(&walk->sweep.found.violations);
    say_lines(&walk->sweep.found.notices);
    if (result->session_over)
        (void)fprintf(stderr, "qsandbox: the command was ended with its session's time, --timeout of %llu s\n",
                      (unsigned long long)prepared->session.record.seconds);
    else if (result->timed_out && prepared->timeout_is_ours)
        (void)fprintf(stderr, "qsandbox: the command was ended after %llu s, by --timeout\n", seconds);
    else if (result->timed_out)
        (void)fprintf(stderr,
                      "qsandbox: the command was ended after %llu s, by executor.limits.wallSeconds (%s scope)\n",
                      seconds, policy_scope(prepared->result));
    if (result->not_run)
        (void)fprintf(stderr, "qsandbox: %s: %s\n", options->command[0], strerrordesc_np(result->not_run));
}

/* ---- the walk ---- */

/* To the end of the command. */
static enum qs_status walk_run(const struct run_options *options, struct walk *walk, struct qs_error *err)
{
    struct prepared *prepared = &walk->prepared;
    if (options->status_fd >= 0 && fcntl(options->status_fd, F_SETFD, FD_CLOEXEC) != 0)
        return error_set(err, QS_USAGE, "--status-fd %d is not open", options->status_fd);

    /* Policy: read once, of the session or of the stores, and narrowed by the options. */
    enum qs_status status = prepare_policy(options, prepared, err);
    if (status)
        return status;
    if (prepared->store_moved)
        (void)fprintf(stderr, "qsandbox: this session's policy is in force; the store holds another by now\n");

    /* Facts and plan. What a killed executor left in the workspace is moved away first, and not to be planned for. */
    status = prepare_plan(options, true, prepared, err);
    if (status)
        return status;
    status = sweep_begin(&prepared->policy, &prepared->facts, &walk->sweep, err);
    if (!status && walk->sweep.found.violations.inherited)
        status = prepare_plan(options, true, prepared, err);
    if (status)
        return status;

    /* Start and watch. If something went away between the look at it and its mount (by another run's sweep, say), once
     * more with a new look. */
    status = start_and_watch(options, walk, err);
    if (status != QS_CONFLICT || walk->result.started)
        return status;
    status = prepare_plan(options, true, prepared, err);
    if (status)
        return status;
    return start_and_watch(options, walk, err);
}

enum qs_status cmd_run(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(release_walk) struct walk walk = {.prepared = PREPARED_NONE, .sweep = SWEEP_NONE, .log.fd = -1};
    struct qs_error sweep_err = {0};
    (void)count;
    (void)operands;
    enum qs_status status = walk_run(&cli->run, &walk, err);

    /* What came back, also from a run that was refused. */
    run_git_end(&walk.prepared.git);
    if (sweep_end(&walk.sweep, &sweep_err))
        voice_error(&cli->line, &sweep_err);
    sweep_findings_add(&walk.sweep.found, &walk.prepared.git.findings);

    record_end(cli, &walk, status ? err : NULL);
    if (status)
        return status;
    say(&cli->run, &walk);
    cli->exit_status = run_exit_status(&walk.result);
    return QS_OK;
}
