/* SPDX-License-Identifier: Apache-2.0 */
/* Completion of a command line by the tables. */
#include "terminal/command_line.h"

#include "terminal/command_internal.h"

#include <stdio.h>
#include <string.h>

static void offer_commands(const struct completion *to, const struct program *program)
{
    const struct command *command;
    for (size_t i = 0; (command = command_at(program, i)); i++)
        if (!command->hidden)
            completion_offer(to, command->name, command->summary);
}

static void offer_options(const struct completion *to, const struct command_line *line)
{
    const struct option_row *row;
    char text[64];
    for (size_t i = 0; (row = option_at(line->program, line->command, i)); i++) {
        (void)snprintf(text, sizeof text, "--%s", row->name);
        completion_offer(to, text, row->help);
    }
}

static void offer_value(const struct completion *to, const struct parse *parse, const struct option_row *row)
{
    if (row->offer)
        row->offer(to, parse->cli, parse->line);
    else if (row->value)
        completion_offer_named(to, row->value, strlen(row->value));
}

static void offer_operand(const struct completion *to, const struct parse *parse)
{
    const struct command_line *line = parse->line;
    size_t len = 0;
    const char *name = operand_name(line->command, line->count, &len);
    if (!name)
        return; /* no more are taken */
    if (line->command->offer)
        line->command->offer(to, parse->cli, line);
    else if (len == strlen("COMMAND") && strncmp(name, "COMMAND", len) == 0)
        offer_commands(to, line->program);
    else
        completion_offer_named(to, name, len);
}

void command_line_complete(struct command_line *line, struct cli *cli, int count, char **words, struct buf *out)
{
    struct completion to = {.out = out, .word = count ? words[count - 1] : ""};
    struct parse parse = {.line = line, .cli = cli};
    const char *value = NULL;
    *line = (struct command_line){.program = line->program, .operands = words};
    for (int i = 0; i + 1 < count; i++)
        if (parse_word(&parse, words[i], NULL) && !line->command && words[i][0] != '-')
            return; /* there is no such command; what else is wrong stops nothing */
    if (parse.pending) {
        offer_value(&to, &parse, parse.pending);
    } else if (!parse.only_operands && to.word[0] == '-') {
        const struct option_row *row = strchr(to.word, '=') ? parse_long(&parse, to.word, &value) : NULL;
        if (row) {
            to.lead = (size_t)(value - to.word);
            offer_value(&to, &parse, row);
        } else {
            offer_options(&to, line);
        }
    } else if (line->command) {
        offer_operand(&to, &parse);
    } else {
        offer_commands(&to, line->program);
    }
}
