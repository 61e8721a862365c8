/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a command line by the tables. */
#include "terminal/command_line.h"

#include "base/cleanup.h"
#include "terminal/command_internal.h"
#include "terminal/nearest.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

static bool is_choice(const struct option_row *row)
{
    return row->value && islower((unsigned char)row->value[0]);
}

/* One of the words of "a|b|c"? Otherwise the error lists them. */
static enum qs_status check_choice(const struct option_row *row, const char *value, struct qs_error *err)
{
    char words[256], *at = words, *end = words + sizeof words;
    const char *list[16] = {NULL}, *separator = "";
    char copy[256];
    size_t count = 0;
    (void)snprintf(copy, sizeof copy, "%s", row->value);
    for (char *save = NULL, *word = strtok_r(copy, "|", &save); word && count < 15; word = strtok_r(NULL, "|", &save)) {
        if (strcmp(word, value) == 0)
            return QS_OK;
        list[count++] = word;
    }
    words[0] = '\0';
    for (size_t i = 0; i < count && at < end; i++) {
        at += snprintf(at, (size_t)(end - at), "%s'%s'", separator, list[i]);
        separator = i + 2 < count ? ", " : " or ";
    }
    error_set(err, QS_USAGE, "option '--%s' takes %s, not '%s'", row->name, words, value);
    nearest_advise(err, nearest_word(value, list));
    return QS_USAGE;
}

static enum qs_status bad_number(const struct option_row *row, const char *value, struct qs_error *err)
{
    const char *kind = row->kind == OPTION_REAL ? "a number" : "a whole number";
    if (!row->max && row->min)
        return error_set(err, QS_USAGE, "option '--%s' takes %s from %llu up, not '%s'", row->name, kind,
                         (unsigned long long)row->min, value);
    if (!row->max)
        return error_set(err, QS_USAGE, "option '--%s' takes %s, not '%s'", row->name, kind, value);
    return error_set(err, QS_USAGE, "option '--%s' takes %s from %llu to %llu, not '%s'", row->name, kind,
                     (unsigned long long)row->min, (unsigned long long)row->max, value);
}

static bool whole_number(const char *text, uint64_t *ret_number)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno)
        return false;
    *ret_number = number;
    return true;
}

enum qs_status command_line_number(const char *what, const char *text, uint64_t *ret_number, struct qs_error *err)
{
    if (whole_number(text, ret_number))
        return QS_OK;
    return error_set(err, QS_USAGE, "%s must be a whole number, not '%s'", what, text);
}

static enum qs_status store_number(const struct option_row *row, void *slot, const char *value, struct qs_error *err)
{
    uint64_t number = 0;
    if (!whole_number(value, &number) || number < row->min || (row->max && number > row->max))
        return bad_number(row, value, err);
    *(uint64_t *)slot = number;
    return QS_OK;
}

static enum qs_status store_real(const struct option_row *row, void *slot, const char *value, struct qs_error *err)
{
    char *end = NULL;
    errno = 0;
    double number = strtod(value, &end);
    bool digits = value[0] == '.' || isdigit((unsigned char)value[0]);
    if (!digits || *end || errno || !isfinite(number) || number < (double)row->min ||
        (row->max && number > (double)row->max))
        return bad_number(row, value, err);
    *(double *)slot = number;
    return QS_OK;
}

/* A relative --root is meant from here, and the library wants it absolute. */
static enum qs_status make_root_absolute(struct command_line *line, struct qs_error *err)
{
    if (!line->root[0])
        return error_set(err, QS_USAGE, "option '--root' needs a directory");
    if (line->root[0] == '/')
        return QS_OK;
    AUTO_FREE char *here = getcwd(NULL, 0);
    if (!here)
        return error_sys(err, QS_IO, errno, "cannot find the working directory");
    int len =
        snprintf(line->root_text, sizeof line->root_text, "%s/%s", strcmp(here, "/") == 0 ? "" : here, line->root);
    if (len < 0 || (size_t)len >= sizeof line->root_text)
        return error_set(err, QS_USAGE, "option '--root' names a directory whose path is too long");
    line->root = line->root_text;
    return QS_OK;
}

static enum qs_status take_value(struct parse *parse, const struct option_row *row, const char *value,
                                 struct qs_error *err)
{
    char *base = option_is_of_line(row) ? (char *)parse->line : (char *)parse->cli;
    enum qs_status status = value && is_choice(row) ? check_choice(row, value, err) : QS_OK;
    if (status)
        return status;
    switch (row->kind) {
    case OPTION_CHECKED:
        break;
    case OPTION_FLAG:
        *(bool *)(void *)(base + row->at) = true;
        break;
    case OPTION_TEXT:
        *(const char **)(void *)(base + row->at) = value;
        break;
    case OPTION_NUMBER:
        status = store_number(row, base + row->at, value, err);
        break;
    case OPTION_REAL:
        status = store_real(row, base + row->at, value, err);
        break;
    }
    if (!status && option_listed(parse->line->program->leading, row->name)) {
        parse->line->leading = row;
        parse->line->leading_value = value;
    }
    if (!status && option_is_of_line(row) && strcmp(row->name, "root") == 0)
        status = make_root_absolute(parse->line, err);
    return status || !row->take ? status : row->take(parse->cli, row, value, err);
}

/* ---- options ---- */

struct names {
    const struct parse *parse;
    char text[64];
};

static const char *option_name_at(size_t index, void *user)
{
    struct names *names = user;
    const struct command_line *line = names->parse->line;
    const struct option_row *row = option_at(line->program, line->command, index);
    if (!row)
        return NULL;
    (void)snprintf(names->text, sizeof names->text, "--%s", row->name);
    return names->text;
}

static enum qs_status unknown_option(const struct parse *parse, const char *word, struct qs_error *err)
{
    const struct command_line *line = parse->line;
    const struct option_row *row;
    struct names names = {.parse = parse};
    char name[64], near[64];
    (void)snprintf(name, sizeof name, "%.*s", word[1] == '-' ? (int)strcspn(word, "=") : 2, word);
    for (size_t i = 0; line->command && (row = option_row_at(line->program, i)); i++)
        if (strcmp(row->name, name[1] == '-' ? name + 2 : name) == 0 || (name[1] != '-' && row->letter == name[1]))
            return error_set(err, QS_USAGE, "takes no option '%s'", name);
    error_set(err, QS_USAGE, "unknown option '%s'", name);
    nearest_advise(err, nearest_name(name, option_name_at, &names, near, sizeof near));
    return QS_USAGE;
}

const struct option_row *parse_long(const struct parse *parse, const char *word, const char **ret_value)
{
    const char *name = word + 2, *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const struct option_row *row;
    *ret_value = equals ? equals + 1 : NULL;
    for (size_t i = 0; (row = option_at(parse->line->program, parse->line->command, i)); i++)
        if (strlen(row->name) == len && strncmp(row->name, name, len) == 0)
            return row;
    return NULL;
}

static enum qs_status take_row(struct parse *parse, const struct option_row *row, const char *value,
                               struct qs_error *err)
{
    if (row->value && !value) {
        parse->pending = row;
        return QS_OK;
    }
    if (!row->value && value)
        return error_set(err, QS_USAGE, "option '--%s' takes no value", row->name);
    return take_value(parse, row, value, err);
}

/* "-n5", "-n" and a value in the next word, or flags together */
static enum qs_status take_letters(struct parse *parse, const char *word, struct qs_error *err)
{
    for (const char *at = word + 1; *at; at++) {
        const struct option_row *row;
        size_t i = 0;
        while ((row = option_at(parse->line->program, parse->line->command, i)) && row->letter != *at)
            i++;
        if (!row)
            return unknown_option(parse, (const char[]){'-', *at, '\0'}, err);
        if (row->value)
            return take_row(parse, row, at[1] ? at + 1 : NULL, err);
        enum qs_status status = take_row(parse, row, NULL, err);
        if (status)
            return status;
    }
    return QS_OK;
}

/* ---- words ---- */

/* A list of the table names no option that is not there, and its defaults have room. */
static enum qs_status take_defaults(struct parse *parse, struct qs_error *err)
{
    struct command_line *line = parse->line;
    const struct option_row *row;
    line->defaults_len = 0;
    for (size_t i = 0; (row = option_at(line->program, line->command, i)); i++) {
        size_t len = 0;
        const char *value = option_default(line->command, row, &len);
        if (!value)
            continue;
        char *text = line->defaults + line->defaults_len;
        assert(line->defaults_len + len < sizeof line->defaults);
        memcpy(text, value, len);
        text[len] = '\0';
        line->defaults_len += len + 1;
        enum qs_status status = take_value(parse, row, text, err);
        if (status)
            return status;
    }
    return QS_OK;
}

static enum qs_status take_command(struct parse *parse, const char *name, struct qs_error *err)
{
    struct command_line *line = parse->line;
    const struct command *command = command_find(line->program, name);
    if (!command)
        return command_unknown(line->program, name, err);
    line->command = command;
    parse->only_operands = false;
    if (line->leading && !option_listed(command->options, line->leading->name))
        return error_set(err, QS_USAGE, "takes no option '--%s'", line->leading->name);
    return take_defaults(parse, err);
}

enum qs_status parse_word(struct parse *parse, char *word, struct qs_error *err)
{
    struct command_line *line = parse->line;
    const struct option_row *row = parse->pending;
    const char *value = NULL;
    if (row) {
        parse->pending = NULL;
        return take_value(parse, row, word, err);
    }
    bool option = !parse->only_operands && word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]);
    if (option && strcmp(word, "--") == 0) {
        parse->only_operands = true;
        return QS_OK;
    }
    if (option && word[1] != '-')
        return take_letters(parse, word, err);
    if (option) {
        row = parse_long(parse, word, &value);
        return row ? take_row(parse, row, value, err) : unknown_option(parse, word, err);
    }
    if (!line->command)
        return take_command(parse, word, err);
    line->operands[line->count++] = word;
    parse->only_operands = parse->only_operands || command_takes_command(line->command);
    return QS_OK;
}

/* Which operand is missing; of "set theme=light", what was meant. */
static enum qs_status missing_operand(const struct command_line *line, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    size_t len = 0;
    const char *name = operand_name(line->command, line->count, &len);
    const char *last = line->count ? line->operands[line->count - 1] : "", *equals = strchr(last, '=');
    error_set(err, QS_USAGE, "%.*s is missing", (int)len, name);
    if (strncmp(name, "VALUE", len) != 0)
        equals = NULL;
    if (equals)
        buf_printf(&text, "%s %s %.*s %s", line->program->name, line->command->name, (int)(equals - last), last,
                   equals + 1);
    else
        help_usage(line->program, line->command, &text);
    if (equals && text.data && !text.failed)
        nearest_advise(err, text.data);
    else if (text.data && !text.failed)
        error_add_advice(err, "%s", text.data);
    return QS_USAGE;
}

static enum qs_status check_operands(const struct command_line *line, struct qs_error *err)
{
    struct operand_shape shape = operand_shape(line->command);
    if (line->count > shape.named && !shape.more)
        return error_set(err, QS_USAGE, "unexpected argument '%s'", line->operands[shape.named]);
    return line->count < shape.min ? missing_operand(line, err) : QS_OK;
}

enum qs_status command_line_parse(struct command_line *line, struct cli *cli, int argc, char **argv,
                                  struct qs_error *err)
{
    struct parse parse = {.line = line, .cli = cli};
    line->operands = argv + (argc > 0); /* a word is read before an operand is written over it */
    for (int i = 1; i < argc; i++) {
        enum qs_status status = parse_word(&parse, argv[i], err);
        if (status)
            return status;
    }
    if (parse.pending)
        return error_set(err, QS_USAGE, "option '--%s' needs %s", parse.pending->name, parse.pending->value);
    if (line->count > 0)
        line->operands[line->count] = NULL; /* for those that pass them on */
    if (!line->command || line->help || line->version)
        return QS_OK;
    return check_operands(line, err);
}
