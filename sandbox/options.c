/* SPDX-License-Identifier: Apache-2.0 */
/* The options of qsandbox's commands. */
#include "sandbox/sandbox.h"

#include "sandbox/session.h"
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

static const struct option long_options[] = {
    {"workspace", required_argument, NULL, CODE_WORKSPACE},
    {"cwd", required_argument, NULL, CODE_CWD},
    {"timeout", required_argument, NULL, CODE_TIMEOUT},
    {"network", required_argument, NULL, CODE_NETWORK},
    {"filesystem", required_argument, NULL, CODE_FILESYSTEM},
    {"status-fd", required_argument, NULL, CODE_STATUS_FD},
    {"claimed-approver", required_argument, NULL, CODE_APPROVER},
    {"json", no_argument, NULL, CODE_JSON},
    {"clear", no_argument, NULL, CODE_CLEAR},
    {"verify", no_argument, NULL, CODE_VERIFY},
    {"root", required_argument, NULL, CODE_ROOT},
    {"yaml", no_argument, NULL, CODE_YAML},
    {"compare", required_argument, NULL, CODE_COMPARE},
    {"agent", required_argument, NULL, CODE_AGENT},
    {"host-group", required_argument, NULL, CODE_HOST_GROUP},
    {"owner", required_argument, NULL, CODE_OWNER},
    {"rollback", required_argument, NULL, CODE_ROLLBACK},
    {"processes", required_argument, NULL, CODE_PROCESSES},
    {NULL, 0, NULL, 0},
};

static unsigned group_of(int code)
{
    switch (code) {
    case CODE_WORKSPACE:
    case CODE_CWD:
        return OPTION_PLACE;
    case CODE_TIMEOUT:
    case CODE_NETWORK:
    case CODE_FILESYSTEM:
        return OPTION_NARROW;
    case CODE_STATUS_FD:
        return OPTION_STATUS;
    case CODE_APPROVER:
        return OPTION_APPROVER;
    case CODE_JSON:
        return OPTION_JSON;
    case CODE_CLEAR:
        return OPTION_CLEAR;
    case CODE_VERIFY:
        return OPTION_VERIFY;
    case CODE_YAML:
    case CODE_COMPARE:
    case CODE_AGENT:
    case CODE_HOST_GROUP:
    case CODE_OWNER:
    case CODE_ROLLBACK:
        return OPTION_RECEIPT;
    case CODE_PROCESSES:
        return OPTION_PROCESSES;
    case CODE_ROOT:
        return ~0u;
    default:
        return 0;
    }
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
        options->workspace = value;
        return QS_OK;
    case CODE_CWD:
        options->cwd = value;
        return QS_OK;
    case CODE_ROOT:
        options->root = value;
        return QS_OK;
    case CODE_TIMEOUT:
        if (!parse_number(value, UINT32_MAX, &options->timeout_s) || options->timeout_s == 0)
            return error_set(err, QS_USAGE, "--timeout takes a number of seconds from 1 up, not '%s'", value);
        return QS_OK;
    case CODE_PROCESSES:
        if (!parse_number(value, SESSION_PROCESSES_MAX, &options->processes) || options->processes == 0)
            return error_set(err, QS_USAGE, "--processes takes a number from 1 to %d, not '%s'", SESSION_PROCESSES_MAX,
                             value);
        return QS_OK;
    case CODE_NETWORK:
        return narrow("network", value, "closed", &options->closed, err);
    case CODE_FILESYSTEM:
        return narrow("filesystem", value, "read-only", &options->read_only, err);
    case CODE_STATUS_FD:
        if (!parse_number(value, 1 << 20, &number) || number < 1)
            return error_set(err, QS_USAGE, "--status-fd takes a descriptor, not '%s'", value);
        options->status_fd = (int)number;
        return QS_OK;
    case CODE_APPROVER:
        if (strcmp(value, "human") != 0 && strcmp(value, "classifier") != 0 && strcmp(value, "rule") != 0)
            return error_set(err, QS_USAGE, "--claimed-approver is human, classifier or rule, not '%s'", value);
        options->approver = value;
        return QS_OK;
    case CODE_JSON:
        options->json = true;
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
    for (const struct option *option; (option = &long_options[names->next])->name; names->next++)
        if (group_of(option->val) & (names->command->options | (1u << 31))) {
            (void)snprintf(names->text, sizeof names->text, "--%s", option->name);
            names->next++;
            return names->text;
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
    int code;
    opterr = 0;
    optind = 1;
    while ((code = getopt_long(argc, argv, "+", long_options, NULL)) != -1) {
        if (code == '?' || code == ':')
            return bad_option(command, argv[optind - 1], err);
        if (!(group_of(code) & (command->options | (1u << 31))))
            return error_set(err, QS_USAGE, "%s takes no option '%s'", command->name, argv[optind - 1]);
        enum qs_status status = take(code, optarg, &options, err);
        if (status != QS_OK)
            return status;
    }
    options.command = argv + optind;
    options.command_count = argc - optind;
    if (command->takes_command && options.command_count == 0)
        return error_set(err, QS_USAGE, "%s needs a command: qsandbox %s %s", command->name, command->name,
                         command->usage);
    if (!command->takes_command && options.command_count > 0)
        return error_set(err, QS_USAGE, "%s takes no argument '%s'", command->name, options.command[0]);
    if (options.root && options.root[0] != '/')
        return error_set(err, QS_USAGE, "--root takes an absolute path, not '%s'", options.root);
    *ret_options = options;
    return QS_OK;
}
