/* SPDX-License-Identifier: Apache-2.0 */
/* watch: a line, or a command, for each new generation. */
#include "cli/cli.h"
#include "cli/history_record.h"

#include "base/os.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define WATCH_TIMER_MS  1000 /* where inotify is deaf, generations are found this way */
#define WATCH_STORES    3
#define FAULT_STANDS_MS 1000 /* a store that is being removed, or swapped by hand, is a damaged one for a moment */

struct watched {
    struct qs_store *store;
    struct qs_watch *watch;
    struct qs_error fault; /* of the last look, where it failed */
    uint64_t fault_since_ms;
    bool fault_told;
};

struct watching {
    struct watched items[WATCH_STORES];
    size_t count;
    const struct qs_key *prefix; /* NULL: all */
    bool done;
};

static void watching_release(struct watching *watching)
{
    for (size_t i = 0; i < watching->count; i++) {
        qs_watch_close(watching->items[i].watch);
        qs_store_close(watching->items[i].store);
    }
}

static enum qs_status watching_add(struct cli *cli, struct watching *watching, enum qs_scope scope, uint64_t from,
                                   struct qs_error *err)
{
    struct watched *item = &watching->items[watching->count];
    AUTO_STORE struct qs_store *store = NULL;
    enum qs_status status = cli_open(cli, scope, &store, err);
    if (!status)
        status = qs_watch_open(store, from, &item->watch, err);
    if (status)
        return status;
    item->store = STEAL(store);
    watching->count++;
    return QS_OK;
}

static enum qs_status watching_open(struct cli *cli, struct watching *watching, struct qs_error *err)
{
    enum qs_status status = QS_OK;
    if (cli->from && !cli->scope_given)
        return error_set(err, QS_USAGE, "option '--from' needs a scope, since each store counts its own generations");
    for (enum qs_scope scope = QS_SCOPE_SYSTEM; !status && scope >= QS_SCOPE_DEFAULTS; scope--)
        if (!cli->scope_given || scope == cli->scope)
            status = watching_add(cli, watching, scope, cli->from, err);
    return status;
}

/* ---- one generation ---- */

static void event_json(struct cli *cli, const struct watched *item, const struct qs_watch_event *event,
                       const struct qs_record *record)
{
    enum qs_scope scope = qs_store_scope(item->store);
    json_t *line = record ? record_json(cli, scope, qs_watch_history(item->watch), record, NULL) : json_object();
    put(cli, line, "generation", json_integer((json_int_t)event->generation));
    put(cli, line, "scope", json_string(qs_scope_name(scope)));
    put(cli, line, "policyChanged", json_boolean(event->policy_changed));
    put(cli, line, "storeReplaced", json_boolean(event->store_replaced));
    put(cli, line, "historyMissing", json_boolean(event->history_missing));
    out_json_line(cli, line);
}

static void event_text(struct cli *cli, const struct watched *item, const struct qs_watch_event *event,
                       const struct qs_record *record)
{
    char when[TIME_TEXT_BYTES];
    struct buf *out = &cli->out;
    buf_printf(out, "%s generation %llu", qs_scope_name(qs_store_scope(item->store)),
               (unsigned long long)event->generation);
    if (record) {
        buf_printf(out, "  %s  ", time_text(record->time_s, when));
        plain_text(out, "", record->user);
        buf_printf(out, "  %s, %zu changed", record->action, record->change_count);
    }
    if (record && record->message[0]) {
        buf_add_str(out, "  ");
        plain_text(out, "", record->message);
    }
    if (event->history_missing)
        buf_add_str(out, "  (the history before it is missing)");
    if (event->store_replaced)
        buf_add_str(out, "  store replaced");
    if (event->policy_changed)
        buf_add_str(out, "  the policy changed: restart needed");
    buf_add_char(out, '\n');
}

static void set_number(const char *name, uint64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    (void)setenv(name, text, 1);
}

/* sh -c CMD with the generation in its environment. Its failure is told, and ends a --once. */
static enum qs_status run_command(struct cli *cli, const struct watched *item, const struct qs_watch_event *event,
                                  struct qs_error *err)
{
    const char *command = cli->exec;
    int state = 0;
    pid_t pid = fork();
    if (pid < 0)
        return error_sys(err, QS_IO, errno, "cannot start the command");
    if (pid == 0) {
        cli_child_signals();
        set_number("QSETTINGS_GENERATION", event->generation);
        (void)setenv("QSETTINGS_SCOPE", qs_scope_name(qs_store_scope(item->store)), 1);
        (void)setenv("QSETTINGS_STORE", qs_store_path(item->store), 1);
        (void)setenv("QSETTINGS_POLICY_CHANGED", event->policy_changed ? "1" : "0", 1);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    while (waitpid(pid, &state, 0) < 0)
        if (errno != EINTR)
            return error_sys(err, QS_IO, errno, "cannot wait for the command");
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
        return QS_OK;
    error_set(err, QS_IO, "the command for generation %llu failed: %s %d", (unsigned long long)event->generation,
              WIFEXITED(state) ? "exit status" : "signal", WIFEXITED(state) ? WEXITSTATUS(state) : WTERMSIG(state));
    return QS_IO;
}

static enum qs_status take_event(struct cli *cli, struct watching *watching, const struct watched *item,
                                 const struct qs_watch_event *event, struct qs_error *err)
{
    const struct qs_record *record = NULL;
    struct qs_history *history = qs_watch_history(item->watch);
    bool known = history && !qs_history_find(history, event->generation, &record, err);
    bool whole =
        known && !event->history_missing && !event->store_replaced; /* does the record tell all that changed? */
    if (watching->prefix && whole && !record_concerns(history, record, watching->prefix))
        return QS_OK;
    if (cli->line.json)
        event_json(cli, item, event, known ? record : NULL);
    else
        event_text(cli, item, event, known ? record : NULL);
    enum qs_status status = output_flush(cli, err);
    watching->done = cli->once;
    if (status || !cli->exec)
        return status;
    struct qs_error failure = {0};
    status = run_command(cli, item, event, &failure);
    if (status && !watching->done) {
        voice_note(&cli->line, NULL, "%s", failure.message);
        return QS_OK;
    }
    if (status && err)
        *err = failure;
    return status;
}

/* A store that cannot be read is told of once the fault stands for a while, and watched on: it may be repaired or
 * restored. Only a --once, which somebody waits for, ends with it. */
static enum qs_status take_fault(struct cli *cli, struct watched *item, struct qs_error *err)
{
    uint64_t now_ms = qs_os->monotonic_ms();
    if (item->fault.status != err->status || strcmp(item->fault.message, err->message) != 0) {
        item->fault = *err;
        item->fault_since_ms = now_ms;
        item->fault_told = false;
    }
    if (item->fault_told || now_ms - item->fault_since_ms < FAULT_STANDS_MS)
        return QS_OK;
    if (cli->once)
        return err->status;
    voice_error(&cli->line, err);
    item->fault_told = true;
    return QS_OK;
}

static enum qs_status drain(struct cli *cli, struct watching *watching, struct watched *item, struct qs_error *err)
{
    struct qs_watch_event event = {.size = sizeof event};
    while (!watching->done) {
        enum qs_status status = qs_watch_next(item->watch, &event, err);
        if (status == QS_BUSY)
            return QS_OK; /* writers that were too fast for one read: the next turn tells */
        if (status && status != QS_NOT_FOUND && status != QS_ABSENT)
            return take_fault(cli, item, err);
        item->fault = (struct qs_error){0};
        item->fault_told = false;
        if (status)
            return QS_OK; /* nothing new, or a store that is not there */
        if ((status = take_event(cli, watching, item, &event, err)))
            return status;
    }
    return QS_OK;
}

static enum qs_status watch_loop(struct cli *cli, struct watching *watching, struct qs_error *err)
{
    for (;;) {
        struct pollfd fds[WATCH_STORES];
        enum qs_status status = QS_OK;
        for (size_t i = 0; !status && i < watching->count; i++)
            status = drain(cli, watching, &watching->items[i], err);
        if (status || watching->done)
            return status;
        for (size_t i = 0; i < watching->count; i++)
            fds[i] = (struct pollfd){.fd = qs_watch_fd(watching->items[i].watch), .events = POLLIN};
        if (poll(fds, watching->count, WATCH_TIMER_MS) < 0 && errno != EINTR)
            return error_sys(err, QS_IO, errno, "cannot wait for changes");
    }
}

enum qs_status cmd_watch(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(watching_release) struct watching watching = {0};
    struct qs_key prefix;
    enum qs_status status = QS_OK;
    if (count) {
        watching.prefix = &prefix;
        if ((status = qs_key_parse(operands[0], &prefix, err)))
            error_add_path(err, operands[0]);
    }
    if (!status)
        status = watching_open(cli, &watching, err);
    return status ? status : watch_loop(cli, &watching, err);
}
