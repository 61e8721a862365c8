/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables of a program say: its commands, the options of each, the names and the number of its operands. */
#include "terminal/command_line.h"

#include "terminal/command_internal.h"
#include "terminal/nearest.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- names in a list ---- */

/* The place of a name in "a b=1 c", or NULL. */
static const char *listed_at(const char *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list ? list : ""; *at;) {
        size_t word = strcspn(at, " ");
        if (strncmp(at, name, len) == 0 && (len == word || (len < word && at[len] == '=')))
            return at;
        at += word + strspn(at + word, " ");
    }
    return NULL;
}

bool option_listed(const char *list, const char *name)
{
    return listed_at(list, name) != NULL;
}

const char *option_default(const struct command *command, const struct option_row *row, size_t *ret_len)
{
    const char *at = command ? listed_at(command->options, row->name) : NULL;
    if (!at || at[strlen(row->name)] != '=')
        return NULL;
    at += strlen(row->name) + 1;
    *ret_len = strcspn(at, " ");
    return at;
}

/* ---- commands ---- */

static const struct command shared_commands[] = {
    {.name = "completion",
     .operands = "bash|zsh|fish",
     .options = "json",
     .flags = COMMAND_EXACT,
     .summary = "print a shell's completion script",
     .more =
         "bash: 'source <(PROGRAM completion bash)' in ~/.bashrc. zsh: save it as _PROGRAM in a directory of fpath. "
         "fish: 'PROGRAM completion fish | source'."},
    {.name = "help", .operands = "[COMMAND]", .options = "json", .summary = "show how to use a command"},
    {.name = "version", .options = "json", .summary = "print the version"},
    {.name = "__complete",
     .operands = "-- [WORD...]",
     .flags = COMMAND_EXACT,
     .summary = "print candidates for the last word, for the completion scripts",
     .hidden = true},
};
#define SHARED_COUNT (sizeof shared_commands / sizeof shared_commands[0])

bool command_is_shared(const struct command *command)
{
    return command >= shared_commands && command < shared_commands + SHARED_COUNT;
}

const struct command *command_at(const struct program *program, size_t index)
{
    size_t own = 0;
    while (program->commands[own].name)
        if (own++ == index)
            return &program->commands[index];
    return index - own < SHARED_COUNT ? &shared_commands[index - own] : NULL;
}

const struct command *command_find(const struct program *program, const char *name)
{
    const struct command *command;
    for (size_t i = 0; (command = command_at(program, i)); i++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

static const char *command_name_at(size_t index, void *user)
{
    const struct command *command = command_at(user, index);
    return command ? command->name : NULL; /* the hidden one looks unlike a word */
}

enum qs_status command_unknown(const struct program *program, const char *name, struct qs_error *err)
{
    char near[32];
    error_set(err, QS_USAGE, "unknown command '%s'", name);
    nearest_advise(err, nearest_name(name, command_name_at, (void *)(uintptr_t)program, near, sizeof near));
    return QS_USAGE;
}

bool command_takes_command(const struct command *command)
{
    return command->operands && strncmp(command->operands, "-- ", 3) == 0;
}

/* ---- options ---- */

/* The members are those of struct command_line. */
static const struct option_row line_rows[] = {
    {.name = "root",
     .kind = OPTION_TEXT,
     .at = offsetof(struct command_line, root),
     .value = "DIR",
     .help = "use the stores DIR/system, DIR/user and DIR/defaults"},
    {.name = "json",
     .kind = OPTION_FLAG,
     .at = offsetof(struct command_line, json),
     .help = "print JSON, also for errors"},
    {.name = "color",
     .kind = OPTION_TEXT,
     .at = offsetof(struct command_line, color),
     .value = "auto|always|never",
     .help = "use colour; auto: on a terminal, unless NO_COLOR is set"},
    {.name = "help",
     .letter = 'h',
     .kind = OPTION_FLAG,
     .at = offsetof(struct command_line, help),
     .help = "show how to use the command"},
    {.name = "version", .kind = OPTION_FLAG, .at = offsetof(struct command_line, version), .help = "print the version"},
};
#define LINE_ROWS (sizeof line_rows / sizeof line_rows[0])

bool option_is_of_line(const struct option_row *row)
{
    return row >= line_rows && row < line_rows + LINE_ROWS;
}

const struct option_row *option_row_at(const struct program *program, size_t index)
{
    size_t own = 0;
    for (; program->options && program->options[own].name; own++)
        if (own == index)
            return &program->options[index];
    return index - own < LINE_ROWS ? &line_rows[index - own] : NULL;
}

/* The row that a list of the tables names; one that is for the command alone comes first. */
static const struct option_row *row_named(const struct program *program, const struct command *command,
                                          const char *name, size_t len)
{
    const struct option_row *row;
    for (size_t i = 0; (row = option_row_at(program, i)); i++)
        if (strlen(row->name) == len && strncmp(row->name, name, len) == 0 &&
            (!row->only || (command && strcmp(row->only, command->name) == 0)))
            return row;
    return NULL;
}

const struct option_row *option_at(const struct program *program, const struct command *command, size_t index)
{
    const char *lists[] = {command ? command->options : program->leading, program->common, "help version"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const char *at = lists[i] ? lists[i] : ""; *at;) {
            size_t word = strcspn(at, " ");
            if (index-- == 0) {
                const struct option_row *row = row_named(program, command, at, strcspn(at, " ="));
                assert(row); /* a list of the tables names an option that is not there */
                return row;
            }
            at += word + strspn(at + word, " ");
        }
    return NULL;
}

/* ---- operands ---- */

/* The next name in a text like "KEY VALUE [KEY VALUE ...]" at *at; *depth counts the brackets around it, *more tells of
 * dots. NULL at the end. */
static const char *next_operand(const char **at, int *depth, bool *more, size_t *ret_len)
{
    for (const char *p = *at; *p;) {
        size_t len = strcspn(p, " []");
        bool dots = len >= 3 && strncmp(p + len - 3, "...", 3) == 0;
        bool name = len > (dots ? 3u : 0u) && strncmp(p, "--", len) != 0;
        *depth += *p == '[' ? 1 : *p == ']' ? -1 : 0;
        *more = *more || dots;
        if (name) {
            *at = p + len;
            *ret_len = len - (dots ? 3 : 0);
            return p;
        }
        p += len ? len : 1;
    }
    return NULL;
}

struct operand_shape operand_shape(const struct command *command)
{
    struct operand_shape shape = {0};
    const char *at = command->operands ? command->operands : "";
    int depth = 0;
    size_t len;
    while (next_operand(&at, &depth, &shape.more, &len)) {
        shape.named++;
        shape.min += depth == 0;
    }
    return shape;
}

const char *operand_name(const struct command *command, int index, size_t *ret_len)
{
    struct operand_shape shape = operand_shape(command);
    const char *at = command->operands ? command->operands : "", *name = NULL;
    int depth = 0;
    bool more = false;
    if (index >= shape.named && !shape.more)
        return NULL;
    if (index >= shape.named) /* those in brackets come again, or the last one */
        index = shape.named > shape.min ? shape.min + (index - shape.min) % (shape.named - shape.min) : shape.named - 1;
    for (int i = 0; i <= index; i++)
        name = next_operand(&at, &depth, &more, ret_len);
    return name;
}
