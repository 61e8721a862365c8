/* SPDX-License-Identifier: Apache-2.0 */
/* Completion: the script of a shell, and what it asks for, from the table of commands, the schema and the live keys. */
#include "cli/complete_command.h"
#include "cli/cli.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum qs_status cmd_completion(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    struct buf script AUTO(buf_release) = {0};
    (void)count;
    if (!completion_script(&script, "qsettings", operands[0]))
        return error_set(err, QS_USAGE, "completion knows bash, zsh and fish, not \"%s\"", operands[0]);
    if (cli->json)
        out_json(cli, json_pack("{s:s,s:s#}", "shell", operands[0], "script", script.data, script.len));
    else
        buf_add(&cli->out, script.data, script.len);
    return QS_OK;
}

/* ---- __complete ---- */

/* What stands before the word to complete. */
struct line {
    struct cli cli; /* as the options before it say */
    const struct command *command;
    int operands;        /* complete ones */
    const char *operand; /* the last of them */
    int pending;         /* the option whose argument the word is; -1: none */
    bool only_operands;  /* after -- */
    char root[PATH_MAX];
};

static int option_by_word(const char *word, size_t len)
{
    for (int id = 0; id < OPT_COUNT; id++) {
        const struct option_spec *spec = &option_table[id];
        if (word[1] == '-' && strlen(spec->name) == len - 2 && strncmp(word + 2, spec->name, len - 2) == 0)
            return id;
        if (word[1] != '-' && len == 2 && spec->letter == word[1])
            return id;
    }
    return -1;
}

static void line_option(struct line *line, int id, const char *argument)
{
    enum qs_scope scope;
    line->cli.given[id] = argument ? argument : "";
    if (id == OPT_ROOT && argument && realpath(argument, line->root))
        line->cli.root = line->root;
    if (id == OPT_SCOPE && argument && scope_by_name(argument, &scope)) {
        line->cli.scope_given = true;
        line->cli.scope = scope;
    }
    for (int i = OPT_SYSTEM; i <= OPT_DEFAULTS; i++)
        if (id == i && scope_by_name(option_table[i].name, &scope)) {
            line->cli.scope_given = true;
            line->cli.scope = scope;
        }
}

static void line_word(struct line *line, const char *word)
{
    if (line->pending >= 0) {
        line_option(line, line->pending, word);
        line->pending = -1;
    } else if (!line->only_operands && strcmp(word, "--") == 0) {
        line->only_operands = true;
    } else if (!line->only_operands && word[0] == '-' && word[1]) {
        const char *equals = strchr(word, '=');
        int id = option_by_word(word, equals ? (size_t)(equals - word) : strlen(word));
        if (id >= 0 && option_table[id].argument && !equals)
            line->pending = id;
        else if (id >= 0)
            line_option(line, id, equals ? equals + 1 : NULL);
    } else if (!line->command) {
        line->command = command_find(word);
    } else {
        line->operands++;
        line->operand = word;
    }
}

static void offer_options(const struct completion *to, const struct line *line)
{
    const struct command *command = line->command;
    char text[64] = "--";
    for (int id = 0; id < OPT_COUNT; id++) {
        bool known = id < OPT_GLOBAL_COUNT || (command && (command->options & OPTION(id)));
        if (command && command->scope == SCOPE_UNUSED && id <= OPT_SCOPE)
            known = false;
        strcpy(text + 2, option_table[id].name);
        if (known)
            completion_offer(to, text, option_table[id].help);
    }
}

/* "--NAME=..." */
static void offer_joined(struct completion to, struct line *line)
{
    const char *equals = strchr(to.word, '=');
    int id = option_by_word(to.word, (size_t)(equals - to.word));
    to.lead = (size_t)(equals - to.word) + 1;
    if (id >= 0)
        complete_argument(&to, &line->cli, option_table[id].kind);
}

static bool takes_more(const struct line *line)
{
    return line->command->max < 0 || line->operands < line->command->max;
}

enum qs_status cmd_complete(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    struct line line = {.pending = -1};
    struct completion to = {.out = &cli->out, .word = count ? operands[count - 1] : ""};
    (void)err;
    for (int i = 0; i + 1 < count; i++)
        line_word(&line, operands[i]);
    line.cli.command = line.command;
    line.cli.home_noted = true;
    if (line.pending >= 0)
        complete_argument(&to, &line.cli, option_table[line.pending].kind);
    else if (!line.only_operands && to.word[0] == '-' && strchr(to.word, '='))
        offer_joined(to, &line);
    else if (!line.only_operands && to.word[0] == '-')
        offer_options(&to, &line);
    else if (!line.command)
        complete_argument(&to, &line.cli, ARG_COMMAND);
    else if (line.command->operand == ARG_PAIR && line.operands % 2 == 1)
        complete_value(&to, line.operand);
    else if (takes_more(&line))
        complete_argument(&to, &line.cli, line.command->operand);
    return QS_OK;
}
