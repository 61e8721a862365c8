/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox run: policy, plan, workspace lock, run log, the run, sweep, outcome. */
#include "sandbox/cmd/qsandbox.h"

#include "base/cleanup.h"
#include "sandbox/run/run_fallback.h"
#include "sandbox/run/run_log.h"
#include "sandbox/run/run_record.h"
#include "sandbox/sweep/sweep.h"
#include "terminal/paint.h"
#include "text/value.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct attempt {
    struct cli *cli;
    struct prepared prepared;
    struct sweep sweep;
    struct run_log log;
    struct run_result result;
    struct run_early early;
    struct qs_error sweep_err;
};

static void opened(void *context, const struct host_facts *facts)
{
    struct attempt *attempt = context;
    run_early_start(facts, &attempt->early);
}

/* While bubblewrap sets up: the list of the sweep, and the record of the start, durable. Called again when the run is
 * tried again. */
static enum qs_status record_first(void *context, struct qs_error *err)
{
    struct attempt *attempt = context;
    enum qs_status written = sweep_write(&attempt->prepared.policy, &attempt->prepared.facts, &attempt->sweep, err);
    if (written != QS_OK)
        return written;
    if (attempt->prepared.policy.audit == QS_AUDIT_OFF || attempt->log.fd >= 0)
        return QS_OK;
    AUTO(value_release) json_t *start = run_record_start(&attempt->cli->run, &attempt->prepared);
    enum qs_status status =
        start ? run_log_open(&attempt->prepared.facts.state, &attempt->log, err) : error_memory(err);
    if (status == QS_OK)
        status = run_log_append(&attempt->log, "start", start, true, err);
    if (status != QS_OK)
        error_add_advice(err, "executor.audit is required: without its record no command runs");
    return status;
}

/* Once: when nothing runs any more, or at the end. */
static void sweep_last(void *context)
{
    struct attempt *attempt = context;
    (void)!sweep_end(&attempt->sweep, &attempt->sweep_err); /* reported at the end */
}

/* Tells those who know only the outcome. A failure here changes nothing of what was run. */
static void record_last(struct attempt *attempt, const struct qs_error *why)
{
    struct qs_error err = {0};
    if (attempt->log.fd >= 0) {
        AUTO(value_release) json_t *end = run_record_outcome(&attempt->result, &attempt->sweep.found);
        if (why && end)
            (void)json_object_set_new(end, "notRun", json_string(why->message));
        if (!end || run_log_append(&attempt->log, "end", end, false, &err) != QS_OK)
            voice_error(&attempt->cli->line, &err);
    }
    if (run_record_status(&attempt->cli->run, &attempt->prepared, &attempt->result, &attempt->sweep.found, why, &err) !=
        QS_OK)
        voice_error(&attempt->cli->line, &err);
}

static enum qs_status run_it(struct attempt *attempt, struct qs_error *err)
{
    struct run_request request = {.plan = &attempt->prepared.plan,
                                  .env = &attempt->prepared.env,
                                  .argv = attempt->cli->run.command,
                                  .session = attempt->prepared.in_session ? &attempt->prepared.session : NULL,
                                  .early = &attempt->early,
                                  .before_start = record_first,
                                  .after_end = sweep_last,
                                  .context = attempt};
    enum qs_status status = prepare_share(&attempt->prepared, err);
    return status == QS_OK ? run_try(&request, &attempt->prepared.facts, &attempt->result, err) : status;
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

static void say(const struct attempt *attempt)
{
    const struct prepared *prepared = &attempt->prepared;
    say_lines(&attempt->sweep.found.violations);
    say_lines(&attempt->sweep.found.notices);
    if (attempt->result.session_over)
        (void)fprintf(stderr, "qsandbox: the command was ended with its session's time, --timeout of %llu s\n",
                      (unsigned long long)prepared->session.record.seconds);
    else if (attempt->result.timed_out && prepared->timeout_is_ours)
        (void)fprintf(stderr, "qsandbox: the command was ended after %llu s, by --timeout\n",
                      (unsigned long long)prepared->plan.wall_seconds);
    else if (attempt->result.timed_out)
        (void)fprintf(stderr,
                      "qsandbox: the command was ended after %llu s, by executor.limits.wallSeconds (%s scope)\n",
                      (unsigned long long)prepared->plan.wall_seconds, policy_scope(prepared->result));
    if (attempt->result.not_run)
        (void)fprintf(stderr, "qsandbox: %s: %s\n", attempt->cli->run.command[0],
                      strerrordesc_np(attempt->result.not_run));
}

static enum qs_status conclude(struct attempt *attempt, enum qs_status status, const struct qs_error *err)
{
    sweep_last(attempt); /* nothing to do where it was done already */
    if (attempt->sweep_err.status)
        voice_error(&attempt->cli->line, &attempt->sweep_err);
    record_last(attempt, status ? err : NULL);
    if (status)
        return status;
    say(attempt);
    attempt->cli->exit_status = run_exit_status(&attempt->result);
    return QS_OK;
}

enum qs_status cmd_run(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    struct attempt attempt = {
        .cli = cli, .sweep = SWEEP_NONE, .log.fd = -1, .early = RUN_EARLY_NONE, .result = {.started = false}};
    (void)count;
    (void)operands;
    enum qs_status status = prepare_early(&cli->run, opened, &attempt, &attempt.prepared, err);
    if (!status && attempt.prepared.store_moved)
        (void)fprintf(stderr, "qsandbox: this session's policy is in force; the store holds another by now\n");
    if (!status)
        status = sweep_begin(&attempt.prepared.policy, &attempt.prepared.facts, &attempt.sweep, err);
    if (!status && attempt.sweep.found.violations.inherited) /* what was just moved away is not to be planned for */
        status = prepare_plan(&cli->run, true, &attempt.prepared, err);
    if (!status)
        status = run_it(&attempt, err);
    /* Another run's sweep, say, took something away between the look at it and the mount: look again, once. */
    if (status == QS_CONFLICT && !attempt.result.started) {
        status = prepare_plan(&cli->run, true, &attempt.prepared, err);
        if (!status)
            status = run_it(&attempt, err);
    }
    run_early_cancel(&attempt.early); /* where the run was refused before it was needed */
    status = conclude(&attempt, status, err);
    run_log_close(&attempt.log);
    sweep_release(&attempt.sweep);
    prepared_release(&attempt.prepared);
    return status;
}
