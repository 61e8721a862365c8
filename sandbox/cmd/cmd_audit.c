/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox audit: the run log of the runner, shown or checked. */
#include "sandbox/cmd/qsandbox.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "sandbox/host/host_path.h"
#include "sandbox/run/run_log.h"
#include "terminal/paint.h"
#include "text/value.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

static void show_json(void *context, const char *line, size_t len, const json_t *record)
{
    (void)context;
    (void)record;
    (void)fwrite(line, 1, len, stdout);
    (void)putchar('\n');
}

static const char *text_of(const json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, key));
    return text ? text : "-";
}

/* One argument after another as JSON strings where they are not plain words, so that a line stays a line. */
static void show_argv(const json_t *argv)
{
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)(uintptr_t)argv, i, item)
    {
        const char *text = json_string_value(item);
        AUTO(buf_release) struct buf quoted = {0};
        size_t len = text ? strlen(text) : 0;
        bool plain =
            len && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%") == len;
        if (!plain)
            value_encode_string(text ? text : "", len, &quoted);
        (void)putchar(' ');
        terminal_put(stdout, plain ? text : quoted.data ? quoted.data : "\"\"");
    }
}

static void show_line(void *context, const char *line, size_t len, const json_t *record)
{
    (void)context;
    (void)line;
    (void)len;
    const json_t *what = json_object_get(record, "what");
    const json_t *exit = json_object_get(record, "exit"), *signal = json_object_get(record, "signal");
    (void)printf("%s %.8s %-5s", text_of(record, "time"), text_of(record, "run"), text_of(record, "type"));
    if (what) {
        (void)printf(" %s ", text_of(json_object_get(record, "who"), "user"));
        terminal_put(stdout, text_of(what, "cwd")); /* a directory that a command may have named */
        (void)putchar(':');
        show_argv(json_object_get(what, "argv"));
    } else if (json_is_integer(exit)) {
        (void)printf(" exit %lld", (long long)json_integer_value(exit));
    } else if (json_is_integer(signal)) {
        (void)printf(" signal %lld", (long long)json_integer_value(signal));
    } else {
        (void)fputs(" not run: ", stdout);
        terminal_put(stdout, text_of(record, "notRun"));
    }
    (void)putchar('\n');
}

static enum qs_status open_log(const struct cli *cli, int *ret_fd, struct qs_error *err)
{
    AUTO(path_fact_release) struct path_fact home = {.fd = -1};
    AUTO_FD int dir = -1;
    const struct passwd *entry = getpwuid(geteuid());
    if (!entry)
        return error_set(err, QS_IO, "the password database has no entry for uid %u", (unsigned)geteuid());
    enum qs_status status = path_look(entry->pw_dir, "/", false, &home, err);
    if (!status && home.kind == PATH_ABSENT)
        status = error_set(err, QS_ABSENT, "the home directory %s does not exist", entry->pw_dir);
    if (status)
        return status;
    const struct state_base base = state_base_of(home.path, cli->run.root, geteuid());
    status = state_open(&base, "journal", false, &dir, NULL, err);
    if (status)
        return status;
    *ret_fd = openat(dir, "journal", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (*ret_fd < 0)
        return error_sys(err, errno == ENOENT ? QS_ABSENT : QS_IO, errno, "cannot open the run log");
    return QS_OK;
}

enum qs_status cmd_audit(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    struct run_log_check check = {0};
    AUTO_FD int fd = -1;
    (void)count;
    (void)operands;
    enum qs_status status = open_log(cli, &fd, err);
    if (status == QS_ABSENT)
        return error_set(err, QS_ABSENT, "there is no run log yet: no run has been recorded");
    if (!status)
        status = run_log_read(fd, cli->verify ? NULL : cli->line.json ? show_json : show_line, NULL, &check, err);
    if (status)
        return status;
    if (cli->verify && cli->line.json)
        (void)printf("{\"records\":%llu,\"status\":0,\"torn\":%s}\n", (unsigned long long)check.records,
                     check.torn ? "true" : "false");
    else if (cli->verify)
        (void)printf("%llu records, the chain is whole%s\n", (unsigned long long)check.records,
                     check.torn ? "; an unfinished line follows, which the next run cuts off" : "");
    return QS_OK;
}
