/* SPDX-License-Identifier: Apache-2.0 */
/* Help, from the tables: the list of commands, and one command's page. */
#include "terminal/command_line.h"

#include "base/cleanup.h"
#include "terminal/command_internal.h"
#include "terminal/paint.h"

#include <stdio.h>
#include <string.h>

#define HELP_COLUMNS 78
#define HELP_LEFT    24 /* where an option's sentence begins */

/* Text broken at spaces that stand in no brackets; lines after the first begin with so many spaces. at is the column
 * where the text begins. */
static void add_wrapped(struct buf *out, size_t at, size_t indent, const char *text)
{
    bool first = true;
    while (*text) {
        size_t len = 0;
        for (int depth = 0; text[len] && (text[len] != ' ' || depth > 0); len++)
            depth += text[len] == '[' ? 1 : text[len] == ']' ? -1 : 0;
        if (!first && at + 1 + len > HELP_COLUMNS) {
            buf_printf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            buf_add_char(out, ' ');
            at++;
        }
        buf_add(out, text, len);
        at += len;
        text += len + strspn(text + len, " ");
        first = false;
    }
    buf_add_char(out, '\n');
}

static const char *group_title(const struct program *program, int group)
{
    for (int i = 0; program->groups && program->groups[i]; i++)
        if (i == group)
            return program->groups[i];
    return NULL;
}

/* Commands of every program come last, in the last group. */
static int group_of(const struct program *program, const struct command *command)
{
    int last = 0;
    if (!command_is_shared(command))
        return command->group;
    while (program->groups && program->groups[last] && program->groups[last + 1])
        last++;
    return last;
}

/* ---- usage ---- */

#define CHOICES_SHOWN  24 /* in a usage line longer lists of choices are cut short, */
#define CHOICES_LISTED 60 /* in the list of options they stand in the text */

/* "NAME VALUE" of an option; in a usage line, short. */
static void add_option_name(struct buf *out, const struct option_row *row, bool shortest)
{
    if (row->letter && shortest)
        buf_printf(out, "-%c", row->letter);
    else
        buf_printf(out, "--%s", row->name);
    if (!row->value)
        return;
    bool cut = strchr(row->value, '|') && strlen(row->value) > (shortest ? CHOICES_SHOWN : CHOICES_LISTED);
    buf_printf(out, " %.*s%s", (int)(cut ? strcspn(row->value, "|") : strlen(row->value)), row->value,
               cut ? "|..." : "");
}

/* "[--system|--user] " */
static void add_leading(struct buf *out, const struct program *program, const struct command *command)
{
    const char *before = "[";
    const struct option_row *row;
    for (size_t i = 0; (row = option_at(program, command, i)); i++)
        if (!row->value && option_listed(program->leading, row->name)) {
            buf_add_str(out, before);
            add_option_name(out, row, true);
            before = "|";
        }
    if (before[0] == '|')
        buf_add_str(out, "] ");
}

static bool is_own(const struct program *program, const struct command *command, const struct option_row *row)
{
    return option_listed(command->options, row->name) && !option_listed(program->leading, row->name) &&
           !option_listed(program->common, row->name);
}

static void add_usage(const struct program *program, const struct command *command, struct buf *out)
{
    AUTO(buf_release) struct buf text = {0};
    const struct option_row *row;
    add_leading(&text, program, command);
    buf_add_str(&text, command->name);
    for (size_t i = 0; (row = option_at(program, command, i)); i++)
        if (is_own(program, command, row)) {
            buf_add_str(&text, " [");
            add_option_name(&text, row, true);
            buf_add_char(&text, ']');
        }
    buf_printf(&text, "%s%s", command->operands ? " " : "", command->operands ? command->operands : "");
    size_t indent = strlen("usage: ") + strlen(program->name) + 1;
    buf_printf(out, "usage: %s ", program->name);
    add_wrapped(out, indent, indent, text.data ? text.data : "");
}

void help_usage(const struct program *program, const struct command *command, struct buf *out)
{
    buf_printf(out, "usage: %s %s%s%s%s", program->name, command->name, command->options ? " [OPTIONS]" : "",
               command->operands ? " " : "", command->operands ? command->operands : "");
}

/* ---- one command ---- */

/* ": a, b, c" of "a|b|c" */
static void add_choices(struct buf *out, const char *choices)
{
    const char *before = ": ";
    for (; *choices; choices += strspn(choices, "|")) {
        size_t len = strcspn(choices, "|");
        buf_printf(out, "%s%.*s", before, (int)len, choices);
        choices += len;
        before = ", ";
    }
}

static void add_option(struct buf *out, const struct command *command, const struct option_row *row)
{
    AUTO(buf_release) struct buf name = {0}, help = {0};
    size_t len = 0;
    const char *standard = option_default(command, row, &len);
    if (row->letter)
        buf_printf(&name, "-%c, ", row->letter);
    add_option_name(&name, row, false);
    buf_add_str(&help, row->help);
    if (row->value && strchr(row->value, '|') && strlen(row->value) > CHOICES_LISTED)
        add_choices(&help, row->value);
    if (standard)
        buf_printf(&help, " [%.*s]", (int)len, standard);
    if (name.len > HELP_LEFT - 4)
        buf_printf(out, "  %s\n%*s", name.data, HELP_LEFT, "");
    else
        buf_printf(out, "  %-*s ", HELP_LEFT - 3, name.data ? name.data : "");
    add_wrapped(out, HELP_LEFT, HELP_LEFT, help.data ? help.data : "");
}

static void add_options(struct buf *out, const struct program *program, const struct command *command, bool own)
{
    const struct option_row *row;
    bool titled = false;
    for (size_t i = 0; (row = option_at(program, command, i)); i++) {
        if (is_own(program, command, row) != own)
            continue;
        if (!titled)
            paint_text(out, PAINT_HEAD, own ? "\noptions" : "\ncommon options");
        if (!titled)
            buf_add_char(out, '\n');
        titled = true;
        add_option(out, command, row);
    }
}

/* "PROGRAM" in texts of commands that every program has */
static void add_text(struct buf *out, const struct program *program, const char *text)
{
    static const char placeholder[] = "PROGRAM";
    AUTO(buf_release) struct buf named = {0};
    for (const char *next; (next = strstr(text, placeholder)); text = next + sizeof placeholder - 1) {
        buf_add(&named, text, (size_t)(next - text));
        buf_add_str(&named, program->name);
    }
    buf_add_str(&named, text);
    add_wrapped(out, 0, 0, named.data ? named.data : "");
}

void help_command(const struct program *program, const struct command *command, struct buf *out)
{
    buf_printf(out, "%s %s: %s\n\n", program->name, command->name, command->summary);
    add_usage(program, command, out);
    if (command->more) {
        buf_add_char(out, '\n');
        add_text(out, program, command->more);
    }
    add_options(out, program, command, true);
    add_options(out, program, command, false);
    if (command->examples) {
        paint_text(out, PAINT_HEAD, "\nexamples");
        buf_printf(out, "\n%s", command->examples);
    }
}

/* ---- all commands ---- */

static void add_head(const struct program *program, struct buf *out)
{
    AUTO(buf_release) struct buf text = {0};
    const struct option_row *row;
    buf_printf(out, "%s: %s\n\n", program->name, program->summary);
    add_leading(&text, program, NULL);
    for (size_t i = 0; (row = option_at(program, NULL, i)); i++)
        if (option_listed(program->common, row->name)) {
            buf_add_char(&text, '[');
            add_option_name(&text, row, true);
            buf_add_str(&text, "] ");
        }
    buf_add_str(&text, "COMMAND [OPTIONS] [ARGUMENTS]");
    size_t indent = strlen("usage: ") + strlen(program->name) + 1;
    buf_printf(out, "usage: %s ", program->name);
    add_wrapped(out, indent, indent, text.data ? text.data : "");
}

static void add_names(const struct program *program, int group, struct buf *out)
{
    const struct command *command;
    for (size_t i = 0; (command = command_at(program, i)); i++)
        if (!command->hidden && group_of(program, command) == group)
            buf_printf(out, " %s", command->name);
    buf_add_char(out, '\n');
}

void help_short(const struct program *program, struct buf *out)
{
    if (!program->groups) {
        help_commands(program, out);
        return;
    }
    add_head(program, out);
    buf_add_char(out, '\n');
    for (int group = 0; program->groups[group]; group++) {
        paint(out, PAINT_HEAD);
        terminal_pad(out, program->groups[group], 26);
        paint(out, PAINT_END);
        add_names(program, group, out);
    }
    buf_printf(out, "\n%s'%s help' shows what each command does, '%s help COMMAND' how to use it.\n",
               program->start ? program->start : "", program->name, program->name);
}

void help_commands(const struct program *program, struct buf *out)
{
    const struct command *command;
    int group = 0;
    add_head(program, out);
    do {
        const char *title = group_title(program, group);
        buf_add_char(out, '\n');
        if (title) {
            paint_text(out, PAINT_HEAD, title);
            buf_add_char(out, '\n');
        }
        for (size_t i = 0; (command = command_at(program, i)); i++)
            if (!command->hidden && group_of(program, command) == group)
                buf_printf(out, "  %-11s %s\n", command->name, command->summary);
    } while (group_title(program, ++group));
    buf_printf(out, "\n'%s help COMMAND' shows how to use it.\n%s", program->name,
               program->closing ? program->closing : "");
}
