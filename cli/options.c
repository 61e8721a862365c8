/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: global options before and after the command's name, the command's own after it.
 *
 * getopt_long(3) does the work, twice: with '+' up to the command's name, then with '-', by which it hands out operands
 * in order. Digits are declared as option letters so that a negative number is taken as the operand it is meant to be.
 */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define LONG_BASE 256 /* getopt_long's value of option id is LONG_BASE + id */

struct grammar {
    struct option longs[OPT_COUNT + 1];
    char shorts[3 * OPT_COUNT + 32];
    uint64_t allowed;
};

static void grammar_make(struct grammar *grammar, const char *mode, uint64_t allowed)
{
    size_t count = 0;
    char *at = stpcpy(grammar->shorts, mode);
    for (int id = 0; id < OPT_COUNT; id++) {
        const struct option_spec *spec = &option_table[id];
        if (!(allowed & OPTION(id)))
            continue;
        grammar->longs[count++] =
            (struct option){spec->name, spec->argument ? required_argument : no_argument, NULL, LONG_BASE + id};
        if (spec->letter)
            *at++ = spec->letter;
        if (spec->letter && spec->argument)
            *at++ = ':';
    }
    grammar->longs[count] = (struct option){0};
    for (int digit = '0'; digit <= '9'; digit++) {
        *at++ = (char)digit;
        *at++ = ':';
        *at++ = ':';
    }
    *at = '\0';
    grammar->allowed = allowed;
}

static int id_of(int code)
{
    if (code >= LONG_BASE)
        return code - LONG_BASE;
    for (int id = 0; id < OPT_COUNT; id++)
        if (option_table[id].letter && option_table[id].letter == code)
            return id;
    return -1;
}

struct allowed_names {
    const struct grammar *grammar;
    char text[64];
};

static const char *option_name_at(size_t index, void *user)
{
    struct allowed_names *names = user;
    const char *name = names->grammar->longs[index].name;
    if (!name)
        return NULL;
    (void)snprintf(names->text, sizeof names->text, "--%s", name);
    return names->text;
}

static enum qs_status unknown_option(const struct grammar *grammar, const char *word, const char *of,
                                     struct qs_error *err)
{
    struct allowed_names names = {.grammar = grammar};
    char typed[64], near[64];
    (void)snprintf(typed, sizeof typed, "%.*s", (int)strcspn(word, "="), word);
    const char *found = nearest_name(typed, option_name_at, &names, near, sizeof near);
    error_set(err, QS_USAGE, "unknown option %s for %s", word, of);
    if (found)
        error_add_advice(err, "did you mean %s?", found);
    return QS_USAGE;
}

static enum qs_status bad_option(const struct cli *cli, const struct grammar *grammar, int code, char **argv,
                                 struct qs_error *err)
{
    const char *word = argv[optind - 1];
    const char *of = cli->command ? cli->command->name : "qsettings";
    int id = id_of(optopt);
    if (code == ':' && id >= 0)
        return error_set(err, QS_USAGE, "option --%s needs %s", option_table[id].name, option_table[id].argument);
    if (id >= 0 && optopt >= LONG_BASE)
        return error_set(err, QS_USAGE, "option --%s takes no argument", option_table[id].name);
    if (optopt && optopt < LONG_BASE)
        return error_set(err, QS_USAGE, "unknown option -%c for %s", optopt, of);
    return unknown_option(grammar, word, of, err);
}

enum qs_status options_number(const char *what, const char *text, uint64_t *ret_number, struct qs_error *err)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno)
        return error_set(err, QS_USAGE, "%s must be a whole number, not \"%s\"", what, text);
    *ret_number = number;
    return QS_OK;
}

bool scope_by_name(const char *name, enum qs_scope *ret_scope)
{
    for (enum qs_scope scope = QS_SCOPE_DEFAULTS; scope <= QS_SCOPE_SYSTEM; scope++)
        if (strcmp(name, qs_scope_name(scope)) == 0) {
            *ret_scope = scope;
            return true;
        }
    return false;
}

static enum qs_status take_scope(struct cli *cli, enum qs_scope scope, struct qs_error *err)
{
    if (cli->scope_given && cli->scope != scope)
        return error_set(err, QS_USAGE, "two scopes given: %s and %s", qs_scope_name(cli->scope), qs_scope_name(scope));
    cli->scope_given = true;
    cli->scope = scope;
    return QS_OK;
}

static enum qs_status take_scope_name(struct cli *cli, int id, const char *name, struct qs_error *err)
{
    enum qs_scope scope;
    if (!scope_by_name(name, &scope)) {
        const char *near = nearest_word(name, (const char *const[]){"system", "user", "defaults", NULL});
        error_set(err, QS_USAGE, "no scope is called \"%s\"; there are system, user and defaults", name);
        if (near)
            error_add_advice(err, "did you mean %s?", near);
        return QS_USAGE;
    }
    if (id == OPT_SCOPE)
        return take_scope(cli, scope, err);
    cli->require_scopes |= 1u << scope;
    return QS_OK;
}

/* A relative --root is meant from here, and the library wants it absolute. */
static enum qs_status take_root(struct cli *cli, const char *dir, struct qs_error *err)
{
    if (!dir[0])
        return error_set(err, QS_USAGE, "--root needs a directory");
    free(cli->root_text);
    cli->root_text = NULL;
    if (dir[0] == '/') {
        cli->root = dir;
        return QS_OK;
    }
    char *here AUTO_FREE = getcwd(NULL, 0);
    if (!here)
        return error_sys(err, QS_IO, errno, "cannot tell the working directory");
    if (asprintf(&cli->root_text, "%s/%s", strcmp(here, "/") == 0 ? "" : here, dir) < 0) {
        cli->root_text = NULL;
        return error_memory(err);
    }
    cli->root = cli->root_text;
    return QS_OK;
}

static enum qs_status take_wait(struct cli *cli, const char *text, struct qs_error *err)
{
    char *end = NULL;
    errno = 0;
    double seconds = strtod(text, &end);
    if (text[0] < '0' || text[0] > '9' || *end || errno || !(seconds <= 1e6))
        return error_set(err, QS_USAGE, "--wait must be a number of seconds, not \"%s\"", text);
    cli->wait_ms = (unsigned)(seconds * 1000);
    cli->read_wait_ms = cli->wait_ms ? cli->wait_ms : 1;
    return QS_OK;
}

static enum qs_status take_option(struct cli *cli, int id, const char *argument, struct qs_error *err)
{
    cli->given[id] = argument ? argument : "";
    if (id == OPT_SYSTEM)
        return take_scope(cli, QS_SCOPE_SYSTEM, err);
    if (id == OPT_USER)
        return take_scope(cli, QS_SCOPE_USER, err);
    if (id == OPT_DEFAULTS)
        return take_scope(cli, QS_SCOPE_DEFAULTS, err);
    if (id == OPT_SCOPE || id == OPT_REQUIRE)
        return take_scope_name(cli, id, argument, err);
    if (id == OPT_ROOT)
        return take_root(cli, argument, err);
    if (id == OPT_WAIT)
        return take_wait(cli, argument, err);
    if (id == OPT_COLOR && !colour_wish_by_name(argument, &cli->colour))
        return error_set(err, QS_USAGE, "--color is auto, always or never, not \"%s\"", argument);
    if (id == OPT_JSON)
        cli->json = true;
    if (id == OPT_NO_PAGER)
        cli->no_pager = true;
    return QS_OK;
}

/* One pass of getopt_long. Operands are collected, unless the grammar ends at the first one. */
static enum qs_status parse_pass(struct cli *cli, const struct grammar *grammar, int argc, char **argv, char **operands,
                                 int *count, struct qs_error *err)
{
    int code;
    optind = 0; /* glibc: start afresh */
    opterr = 0;
    while ((code = getopt_long(argc, argv, grammar->shorts, grammar->longs, NULL)) != -1) {
        if (code == 1 || (code >= '0' && code <= '9')) {
            operands[(*count)++] = argv[optind - 1];
            continue;
        }
        if (code == '?' || code == ':')
            return bad_option(cli, grammar, code, argv, err);
        enum qs_status status = take_option(cli, id_of(code), optarg, err);
        if (status != QS_OK)
            return status;
    }
    return QS_OK;
}

static enum qs_status find_command(struct cli *cli, const char *name, struct qs_error *err)
{
    cli->command = command_find(name);
    return cli->command ? QS_OK : command_unknown(name, err);
}

static enum qs_status check_use(struct cli *cli, int count, struct qs_error *err)
{
    const struct command *command = cli->command;
    if (cli->given[OPT_HELP])
        return QS_OK;
    if (count < command->min || (command->max >= 0 && count > command->max)) {
        error_set(err, QS_USAGE, "%s: too %s arguments", command->name, count < command->min ? "few" : "many");
        error_add_advice(err, "usage: qsettings %s %s", command->name, command->usage);
        return QS_USAGE;
    }
    if (cli->scope_given && command->scope == SCOPE_UNUSED)
        return error_set(err, QS_USAGE, "%s concerns no single store; leave --%s out", command->name,
                         qs_scope_name(cli->scope));
    return QS_OK;
}

enum qs_status options_parse(struct cli *cli, int argc, char **argv, char **operands, int *ret_count,
                             struct qs_error *err)
{
    struct grammar grammar;
    int count = 0;
    cli->wait_ms = QS_DEFAULT_WAIT_MS;
    grammar_make(&grammar, "+:", OPTION(OPT_GLOBAL_COUNT) - 1);
    enum qs_status status = parse_pass(cli, &grammar, argc, argv, operands, &count, err);
    /* "qsettings -5": a digit before the command's name is no operand */
    if (status == QS_OK && count > 0)
        status = error_set(err, QS_USAGE, "unknown option %s for qsettings", operands[0]);
    if (status != QS_OK || optind >= argc)
        return status;
    int at = optind;
    if ((status = find_command(cli, argv[at], err)) != QS_OK)
        return status;
    grammar_make(&grammar, "-:", (OPTION(OPT_GLOBAL_COUNT) - 1) | cli->command->options);
    if ((status = parse_pass(cli, &grammar, argc - at, argv + at, operands, &count, err)) != QS_OK)
        return status;
    for (int i = optind; i < argc - at; i++)
        operands[count++] = argv[at + i];
    *ret_count = count;
    return check_use(cli, count, err);
}

enum qs_status options_format(const struct cli *cli, enum qs_text_format *ret_format, struct qs_error *err)
{
    const char *given = cli->given[OPT_FORMAT];

    if (!given)
        *ret_format = QS_FORMAT_AUTO;
    else if (strcmp(given, "json") == 0)
        *ret_format = QS_FORMAT_JSON;
    else if (strcmp(given, "yaml") == 0)
        *ret_format = QS_FORMAT_YAML;
    else
        return error_set(err, QS_USAGE, "--format must be json or yaml, not \"%s\"", given);
    return QS_OK;
}
