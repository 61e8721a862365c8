/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion. The scripts for the shells are thin: they hand the words to `qsettings __complete`, which answers from
 * the table of commands, the schema and the live keys, one "candidate<TAB>description" a line; ":files" and ":dirs" ask
 * the shell for its own completion of file names.
 */
#include "cli/completion.h"
#include "cli/cli.h"

#include <string.h>

static const char bash_script[] = "# bash completion for qsettings; printed by `qsettings completion bash`\n"
                                  "_qsettings() {\n"
                                  "    local line word=${COMP_WORDS[COMP_CWORD]} quote=\n"
                                  "    local -a words=(\"${COMP_WORDS[@]:1:COMP_CWORD}\")\n"
                                  "    local i\n"
                                  "    for i in \"${!words[@]}\"; do\n"
                                  "        case ${words[i]} in\n"
                                  "            \\'*) words[i]=${words[i]#\\'}; words[i]=${words[i]%\\'} ;;\n"
                                  "            *) words[i]=${words[i]//\\\\/} ;;\n"
                                  "        esac\n"
                                  "    done\n"
                                  "    [[ $word == \\'* ]] && quote=1\n"
                                  "    COMPREPLY=()\n"
                                  "    while IFS= read -r line; do\n"
                                  "        case $line in\n"
                                  "            :files) compopt -o filenames; mapfile -t -O \"${#COMPREPLY[@]}\" "
                                  "COMPREPLY < <(compgen -f -- \"$word\") ;;\n"
                                  "            :dirs) compopt -o filenames; mapfile -t -O \"${#COMPREPLY[@]}\" "
                                  "COMPREPLY < <(compgen -d -- \"$word\") ;;\n"
                                  "            *) line=${line%%$'\\t'*}\n"
                                  "               [[ $quote ]] || printf -v line %q \"$line\"\n"
                                  "               COMPREPLY+=(\"$line\") ;;\n"
                                  "        esac\n"
                                  "    done < <(qsettings __complete -- \"${words[@]}\" 2>/dev/null)\n"
                                  "}\n"
                                  "complete -F _qsettings qsettings\n";

static const char zsh_script[] =
    "#compdef qsettings\n"
    "# zsh completion for qsettings; printed by `qsettings completion zsh`\n"
    "_qsettings() {\n"
    "    local line\n"
    "    local -a values shown\n"
    "    for line in \"${(@f)$(qsettings __complete -- \"${(@Q)words[2,CURRENT]}\" 2>/dev/null)}\"; do\n"
    "        case $line in\n"
    "            '') ;;\n"
    "            :files) _files ;;\n"
    "            :dirs) _files -/ ;;\n"
    "            *) values+=(\"${line%%$'\\t'*}\"); shown+=(\"${line/$'\\t'/  -- }\") ;;\n"
    "        esac\n"
    "    done\n"
    "    (( ${#values} )) && compadd -l -d shown -a values\n"
    "}\n"
    "if [[ $funcstack[1] == _qsettings ]]; then\n"
    "    _qsettings \"$@\"\n"
    "else\n"
    "    compdef _qsettings qsettings\n"
    "fi\n";

static const char fish_script[] = "# fish completion for qsettings; printed by `qsettings completion fish`\n"
                                  "function __qsettings_complete\n"
                                  "    set -l words (commandline -opc) (commandline -ct)\n"
                                  "    for line in (qsettings __complete -- $words[2..-1] 2>/dev/null)\n"
                                  "        switch $line\n"
                                  "            case :files\n"
                                  "                __fish_complete_path (commandline -ct)\n"
                                  "            case :dirs\n"
                                  "                __fish_complete_directories (commandline -ct)\n"
                                  "            case '*'\n"
                                  "                printf '%s\\n' $line\n"
                                  "        end\n"
                                  "    end\n"
                                  "end\n"
                                  "complete -c qsettings -f -a '(__qsettings_complete)'\n";

enum qs_status cmd_completion(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    static const struct {
        const char *shell, *script;
    } scripts[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
    (void)count;
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        if (strcmp(operands[0], scripts[i].shell) != 0)
            continue;
        if (cli->json)
            out_json(cli, json_pack("{s:s,s:s}", "shell", scripts[i].shell, "script", scripts[i].script));
        else
            buf_add_str(&cli->out, scripts[i].script);
        return QS_OK;
    }
    return error_set(err, QS_USAGE, "completion knows bash, zsh and fish, not \"%s\"", operands[0]);
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
    if (id == OPT_ROOT && argument && argument[0] == '/')
        line->cli.root = argument;
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

static void offer_options(struct cli *cli, const struct line *line, const char *word)
{
    for (int id = 0; id < OPT_COUNT; id++) {
        bool known = id < OPT_GLOBAL_COUNT || (line->command && (line->command->options & OPTION(id)));
        char text[64] = "--";
        if (known)
            complete_offer(cli, word, strcat(text, option_table[id].name), option_table[id].help);
    }
}

static bool takes_more(const struct line *line)
{
    return line->command->max < 0 || line->operands < line->command->max;
}

enum qs_status cmd_complete(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    struct line line = {.pending = -1};
    const char *word = count ? operands[count - 1] : "";
    (void)err;
    for (int i = 0; i + 1 < count; i++)
        line_word(&line, operands[i]);
    line.cli.command = line.command;
    if (line.pending >= 0)
        complete_argument(cli, &line.cli, option_table[line.pending].kind, word);
    else if (!line.only_operands && word[0] == '-')
        offer_options(cli, &line, word);
    else if (!line.command)
        complete_argument(cli, &line.cli, ARG_COMMAND, word);
    else if (line.command->operand == ARG_PAIR && line.operands % 2 == 1)
        complete_value(cli, line.operand, word);
    else if (takes_more(&line))
        complete_argument(cli, &line.cli, line.command->operand, word);
    return QS_OK;
}
