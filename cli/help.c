/* SPDX-License-Identifier: Apache-2.0 */
/* Help, from the tables: the map of commands, one command's page, the version. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#define HELP_COLUMNS 78

static const char *const group_titles[GROUP_COUNT] = {
    [GROUP_START] = "Begin",          [GROUP_READ] = "Read",     [GROUP_WRITE] = "Change",
    [GROUP_HISTORY] = "Look back",    [GROUP_POLICY] = "Policy", [GROUP_FILES] = "Files for other programs",
    [GROUP_CARE] = "Care of a store", [GROUP_HELP] = "Help",
};

/* Text broken at spaces. */
static void add_wrapped(struct buf *out, const char *indent, const char *text)
{
    size_t room = HELP_COLUMNS - strlen(indent);
    while (*text) {
        size_t len = strlen(text);
        if (len > room) {
            len = room;
            while (len > 0 && text[len] != ' ')
                len--;
            if (len == 0)
                len = strcspn(text, " ");
        }
        buf_printf(out, "%s%.*s\n", indent, (int)len, text);
        text += len + strspn(text + len, " ");
    }
}

static void short_line(struct buf *out, enum group group)
{
    paint(out, PAINT_HEAD);
    terminal_pad(out, group_titles[group], 26);
    paint(out, PAINT_END);
    for (size_t i = 0; i < command_count; i++)
        if (command_table[i].group == group && !command_table[i].hidden)
            buf_printf(out, " %s", command_table[i].name);
    buf_add_char(out, '\n');
}

static void help_short(struct cli *cli)
{
    struct buf *out = &cli->out;
    buf_add_str(out, "qsettings: settings and policy in a transactional store\n\n"
                     "usage: qsettings [--system|--user|--defaults] [OPTIONS] COMMAND [ARGUMENT...]\n\n");
    for (int group = 0; group < GROUP_COUNT; group++)
        short_line(out, (enum group)group);
    buf_add_str(out, "\nTo begin: qsettings --user init; qsettings set KEY VALUE; qsettings get KEY\n"
                     "`qsettings help` says what each command does, `qsettings help COMMAND` how to use it.\n");
}

static void help_map(struct cli *cli)
{
    struct buf *out = &cli->out;
    buf_add_str(out, "qsettings: settings and policy in a transactional store\n\n"
                     "usage: qsettings [--system|--user|--defaults] [--root DIR] [--json] [OPTIONS] COMMAND\n");
    for (int group = 0; group < GROUP_COUNT; group++) {
        buf_add_char(out, '\n');
        paint_text(out, PAINT_HEAD, group_titles[group]);
        buf_add_char(out, '\n');
        for (size_t i = 0; i < command_count; i++)
            if ((int)command_table[i].group == group && !command_table[i].hidden)
                buf_printf(out, "  %-11s %s\n", command_table[i].name, command_table[i].summary);
    }
    buf_add_str(out,
                "\nWithout a scope, reads are effective and writes go to the user's store; root must name a scope to\n"
                "write. `qsettings help COMMAND` tells more. Exit status: 0 done, 1 not found or differs, 2 usage,\n"
                "3 input rejected, 4 no policy, 5 store absent, 6 damaged, 7 not permitted or untrusted,\n"
                "8 conflict, 9 busy, 10 input/output error.\n");
}

static void help_option(struct buf *out, int id)
{
    const struct option_spec *spec = &option_table[id];
    char name[64];
    if (spec->letter)
        (void)snprintf(name, sizeof name, "-%c, --%s%s%s", spec->letter, spec->name, spec->argument ? " " : "",
                       spec->argument ? spec->argument : "");
    else
        (void)snprintf(name, sizeof name, "--%s%s%s", spec->name, spec->argument ? " " : "",
                       spec->argument ? spec->argument : "");
    buf_printf(out, "  %-22s %s\n", name, spec->help);
}

static void help_command(struct cli *cli, const struct command *command)
{
    struct buf *out = &cli->out;
    bool scoped = command->scope != SCOPE_UNUSED;
    buf_printf(out, "qsettings %s: %s\n\nusage: qsettings %s%s%s%s\n", command->name, command->summary,
               scoped ? "[--system|--user|--defaults] " : "", command->name, command->usage[0] ? " " : "",
               command->usage);
    if (command->more) {
        buf_add_char(out, '\n');
        add_wrapped(out, "", command->more);
    }
    if (command->options)
        buf_add_str(out, "\noptions\n");
    for (int id = OPT_GLOBAL_COUNT; id < OPT_COUNT; id++)
        if (command->options & OPTION(id))
            help_option(out, id);
    buf_add_str(out, "\noptions of every command\n");
    for (int id = 0; id < OPT_GLOBAL_COUNT; id++)
        if (scoped || id > OPT_SCOPE)
            help_option(out, id);
}

static void help_json(struct cli *cli, const struct command *only)
{
    json_t *list = json_array();
    for (size_t i = 0; i < command_count; i++) {
        const struct command *command = &command_table[i];
        if (command->hidden || (only && only != command))
            continue;
        json_t *options = json_array();
        for (int id = 0; id < OPT_COUNT; id++)
            if (id < OPT_GLOBAL_COUNT || (command->options & OPTION(id)))
                push(cli, options, json_string(option_table[id].name));
        push(cli, list,
             json_pack("{s:s,s:s,s:s,s:o}", "name", command->name, "usage", command->usage, "summary", command->summary,
                       "options", options));
    }
    out_json(cli, list);
}

enum qs_status cmd_help(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    const struct command *command = count ? command_find(operands[0]) : NULL;
    if (count && (!command || command->hidden))
        return command_unknown(operands[0], err);
    if (cli->json)
        help_json(cli, command);
    else if (command)
        help_command(cli, command);
    else if (cli->command || cli->given[OPT_HELP])
        help_map(cli);
    else
        help_short(cli);
    return QS_OK;
}

enum qs_status cmd_version(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    (void)count;
    (void)operands;
    (void)err;
    if (cli->json)
        out_json(cli, json_pack("{s:s,s:s}", "version", QS_VERSION, "library", qs_version()));
    else
        buf_printf(&cli->out, "qsettings %s\n", qs_version());
    return QS_OK;
}
