/* SPDX-License-Identifier: Apache-2.0 */
/* The options of qsandbox's commands. */
#include "sandbox/cmd/qsandbox.h"

#include "sandbox/run/run_session.h"
#include "terminal/completion.h"
#include "terminal/nearest.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_code {
    CODE_WORKSPACE = 256,
    CODE_CWD,
    CODE_TIMEOUT,
    CODE_NETWORK,
    CODE_FILESYSTEM,
    CODE_STATUS_FD,
    CODE_APPROVER,
    CODE_JSON,
    CODE_CLEAR,
    CODE_SEED,
    CODE_VERIFY,
    CODE_ROOT,
    CODE_YAML,
    CODE_COMPARE,
    CODE_AGENT,
    CODE_HOST_GROUP,
    CODE_OWNER,
    CODE_ROLLBACK,
    CODE_PROCESSES,
};

/* Every option once: parsing, help and completion read this table. What an argument is called tells what fits (see
 * terminal/completion.h). */
static const struct row {
    const char *name, *argument;
    int code;
    unsigned groups; /* of OPTION_ bits: a command takes it that has one of them */
    const char *help;
} rows[] = {
    {"workspace", "DIR", CODE_WORKSPACE, OPTION_PLACE, "the workspace, instead of the repository around here"},
    {"cwd", "DIR", CODE_CWD, OPTION_PLACE, "where the command starts"},
    {"timeout", "SECONDS", CODE_TIMEOUT, OPTION_NARROW, "a wall limit below the policy's"},
    {"network", "closed", CODE_NETWORK, OPTION_NARROW, "without the network, whatever the policy allows"},
    {"filesystem", "read-only", CODE_FILESYSTEM, OPTION_NARROW, "nothing writable, whatever the policy allows"},
    {"status-fd", "N", CODE_STATUS_FD, OPTION_STATUS, "write the outcome to this descriptor, as JSON"},
    {"claimed-approver", "human|classifier|rule", CODE_APPROVER, OPTION_APPROVER, "for the journal: who approved"},
    {"json", NULL, CODE_JSON, OPTION_JSON, "print JSON"},
    {"clear", NULL, CODE_CLEAR, OPTION_CLEAR, "remove them"},
    {"seed", NULL, CODE_SEED, OPTION_CLEAR, "copy what the home's caches hold"},
    {"verify", NULL, CODE_VERIFY, OPTION_VERIFY, "check the journal's chain"},
    {"root", "DIR", CODE_ROOT, OPTION_ALL, "use the stores DIR/system, DIR/user, DIR/defaults"},
    {"yaml", NULL, CODE_YAML, OPTION_RECEIPT, "print YAML"},
    {"compare", "FILE", CODE_COMPARE, OPTION_RECEIPT, "say what changed since this receipt"},
    {"agent", "PROGRAM", CODE_AGENT, OPTION_RECEIPT, "the agent that is started"},
    {"host-group", "NAME", CODE_HOST_GROUP, OPTION_RECEIPT, "the machines that the receipt is for"},
    {"owner", "NAME", CODE_OWNER, OPTION_RECEIPT, "who answers for it"},
    {"rollback", "COMMAND", CODE_ROLLBACK, OPTION_RECEIPT, "how to go back"},
    {"processes", "N", CODE_PROCESSES, OPTION_PROCESSES, "at most this many in all runs together"},
};
#define ROW_COUNT (sizeof rows / sizeof rows[0])

static bool takes(const struct command *command, const struct row *row)
{
    return row->groups & (command->options | OPTION_ALL);
}

static const struct row *row_of(int code)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (rows[i].code == code)
            return &rows[i];
    return NULL;
}

void options_help(const struct command *command)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        char left[64];
        (void)snprintf(left, sizeof left, "--%s%s%s", rows[i].name, rows[i].argument ? " " : "",
                       rows[i].argument ? rows[i].argument : "");
        if (takes(command, &rows[i]))
            (void)printf("  %-24s %s\n", left, rows[i].help);
    }
}

void options_complete(const struct command *command, struct buf *out, int count, char **words)
{
    struct completion_option options[ROW_COUNT + 1];
    size_t known = 0;
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (takes(command, &rows[i]))
            options[known++] = (struct completion_option){rows[i].name, rows[i].argument, rows[i].help};
    options[known++] = (struct completion_option){"help", NULL, "show how to use the command"};
    struct completion_line line = completion_walk(out, options, known, count, words);
    struct completion to = {.out = out, .word = words[count - 1]};
    if (!line.answered && command->takes_command && line.operands == 0)
        completion_offer_programs(&to);
    else if (!line.answered && command->takes_command)
        completion_offer_files(&to);
}

static bool parse_number(const char *text, uint64_t max, uint64_t *number)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || value > max)
        return false;
    *number = value;
    return true;
}

/* The flags of a run only narrow, so each takes the narrow value alone. */
static enum qs_status narrow(const char *option, const char *value, const char *allowed, bool *flag,
                             struct qs_error *err)
{
    if (strcmp(value, allowed) != 0)
        return error_set(err, QS_USAGE, "--%s can only narrow the policy: '%s' is the one value it takes", option,
                         allowed);
    *flag = true;
    return QS_OK;
}

static void take_receipt(int code, const char *value, struct options *options)
{
    switch (code) {
    case CODE_YAML:
        options->yaml = true;
        break;
    case CODE_COMPARE:
        options->compare = value;
        break;
    case CODE_AGENT:
        options->agent = value;
        break;
    case CODE_HOST_GROUP:
        options->host_group = value;
        break;
    case CODE_OWNER:
        options->owner = value;
        break;
    case CODE_ROLLBACK:
        options->rollback = value;
        break;
    default:
        break;
    }
}

static enum qs_status take(int code, const char *value, struct options *options, struct qs_error *err)
{
    uint64_t number = 0;
    switch (code) {
    case CODE_WORKSPACE:
        options->run.workspace = value;
        return QS_OK;
    case CODE_CWD:
        options->run.cwd = value;
        return QS_OK;
    case CODE_ROOT:
        options->run.root = value;
        return QS_OK;
    case CODE_TIMEOUT:
        if (!parse_number(value, UINT32_MAX, &options->run.timeout_s) || options->run.timeout_s == 0)
            return error_set(err, QS_USAGE, "--timeout takes a number of seconds from 1 up, not '%s'", value);
        return QS_OK;
    case CODE_PROCESSES:
        if (!parse_number(value, SESSION_PROCESSES_MAX, &options->processes) || options->processes == 0)
            return error_set(err, QS_USAGE, "--processes takes a number from 1 to %d, not '%s'", SESSION_PROCESSES_MAX,
                             value);
        return QS_OK;
    case CODE_NETWORK:
        return narrow("network", value, "closed", &options->run.closed, err);
    case CODE_FILESYSTEM:
        return narrow("filesystem", value, "read-only", &options->run.read_only, err);
    case CODE_STATUS_FD:
        if (!parse_number(value, 1 << 20, &number) || number < 1)
            return error_set(err, QS_USAGE, "--status-fd takes a descriptor, not '%s'", value);
        options->run.status_fd = (int)number;
        return QS_OK;
    case CODE_APPROVER:
        if (strcmp(value, "human") != 0 && strcmp(value, "classifier") != 0 && strcmp(value, "rule") != 0)
            return error_set(err, QS_USAGE, "--claimed-approver is human, classifier or rule, not '%s'", value);
        options->run.approver = value;
        return QS_OK;
    case CODE_JSON:
        options->json = true;
        return QS_OK;
    case CODE_SEED:
        options->seed = true;
        return QS_OK;
    case CODE_CLEAR:
        options->clear = true;
        return QS_OK;
    case CODE_VERIFY:
        options->verify = true;
        return QS_OK;
    default:
        take_receipt(code, value, options);
        return QS_OK;
    }
}

struct option_names {
    const struct command *command;
    size_t next;
    char text[64];
};

/* The names of the command's options, one after another. */
static const char *option_name_at(size_t index, void *user)
{
    struct option_names *names = user;
    (void)index;
    while (names->next < ROW_COUNT) {
        const struct row *row = &rows[names->next++];
        if (takes(names->command, row)) {
            (void)snprintf(names->text, sizeof names->text, "--%s", row->name);
            return names->text;
        }
    }
    return NULL;
}

static enum qs_status bad_option(const struct command *command, const char *word, struct qs_error *err)
{
    struct option_names names = {.command = command};
    char typed[64], near[64];
    (void)snprintf(typed, sizeof typed, "%.*s", (int)strcspn(word, "="), word);
    const char *found = nearest_name(typed, option_name_at, &names, near, sizeof near);
    error_set(err, QS_USAGE, "%s: no option '%s', or its value is missing", command->name, word);
    if (found)
        error_add_advice(err, "did you mean %s?", found);
    return QS_USAGE;
}

enum qs_status options_parse(const struct command *command, int argc, char **argv, struct options *ret_options,
                             struct qs_error *err)
{
    struct options options = *ret_options;
    struct option long_options[ROW_COUNT + 1] = {0};
    int code;
    for (size_t i = 0; i < ROW_COUNT; i++)
        long_options[i] =
            (struct option){rows[i].name, rows[i].argument ? required_argument : no_argument, NULL, rows[i].code};
    opterr = 0;
    optind = 1;
    while ((code = getopt_long(argc, argv, "+", long_options, NULL)) != -1) {
        if (code == '?' || code == ':')
            return bad_option(command, argv[optind - 1], err);
        if (!takes(command, row_of(code)))
            return error_set(err, QS_USAGE, "%s takes no option '%s'", command->name, argv[optind - 1]);
        enum qs_status status = take(code, optarg, &options, err);
        if (status != QS_OK)
            return status;
    }
    options.run.command = argv + optind;
    options.command_count = argc - optind;
    if (command->takes_command && options.command_count == 0)
        return error_set(
            err, QS_USAGE,
            "%s needs a command: qsandbox %s [OPTIONS] -- COMMAND...; `qsandbox %s --help` lists the options",
            command->name, command->name, command->name);
    if (!command->takes_command && options.command_count > 0)
        return error_set(err, QS_USAGE, "%s takes no argument '%s'", command->name, options.run.command[0]);
    if (options.run.root && options.run.root[0] != '/')
        return error_set(err, QS_USAGE, "--root takes an absolute path, not '%s'", options.run.root);
    *ret_options = options;
    return QS_OK;
}
