/* SPDX-License-Identifier: Apache-2.0 */
/* The scripts that the shells load. PROGRAM in them stands for the program's name. */
#include "terminal/completion.h"

#include <string.h>

/*
 * bash breaks words at '=', ':' and quotes too, and replaces only the last piece: the pieces are put together as they
 * stand in the line, up to the cursor, and what stands before the last piece is taken off each candidate again.
 */
static const char bash_script[] =
    "# bash completion for PROGRAM; printed by `PROGRAM completion bash`\n"
    "_PROGRAM() {\n"
    "    local rest=${COMP_LINE:0:COMP_POINT} piece= gap= keep= word= quote= line i\n"
    "    local -a words=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        gap=${rest%%[![:space:]]*} rest=${rest#\"${rest%%[![:space:]]*}\"}\n"
    "        piece=${COMP_WORDS[i]}\n"
    "        ((i == COMP_CWORD)) && piece=$rest\n"
    "        rest=${rest#\"$piece\"}\n"
    "        if [[ $gap || i -eq 0 ]]; then keep='' words+=(\"$piece\"); else keep=${words[-1]} words[-1]+=$piece; fi\n"
    "    done\n"
    "    [[ $piece == [=:] ]] && keep=${words[-1]}\n"
    "    keep=${keep%@}\n" /* a break that belongs to the word nevertheless */
    "    for i in \"${!words[@]}\"; do\n"
    "        case ${words[i]} in\n"
    "            \\'*) words[i]=${words[i]#\\'}; words[i]=${words[i]%\\'}; quote=\\' ;;\n"
    "            \\\"*) words[i]=${words[i]#\\\"}; words[i]=${words[i]%\\\"}; words[i]=${words[i]//\\\\/}; quote=\\\" "
    ";;\n"
    "            *) words[i]=${words[i]//\\\\/}; words[i]=${words[i]/#~\\//$HOME/}; quote= ;;\n"
    "        esac\n"
    "    done\n"
    "    word=${words[-1]} COMPREPLY=()\n"
    "    compopt -o nosort 2>/dev/null\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "            :files* | :dirs* | :commands*)\n"
    "                local kind=-f lead=${line#*$'\\t'}\n"
    "                [[ $line == :dirs* ]] && kind=-d\n"
    "                [[ $line == :commands* ]] && kind=-c\n"
    "                compopt -o filenames 2>/dev/null\n"
    "                while IFS= read -r line; do\n"
    "                    line=${word:0:lead}$line COMPREPLY+=(\"${line#\"$keep\"}\")\n"
    "                done < <(compgen $kind -- \"${word:lead}\") ;;\n"
    "            *)\n"
    "                line=${line%%$'\\t'*} line=${line#\"$keep\"}\n"
    "                case $quote in\n"
    "                    '') printf -v line %q \"$line\" ;;\n"
    "                    \\\") line=${line//\\\"/\\\\\\\"} ;;\n"
    "                esac\n"
    "                COMPREPLY+=(\"$line\") ;;\n"
    "        esac\n"
    "    done < <(PROGRAM __complete -- \"${words[@]:1}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _PROGRAM PROGRAM\n";

static const char zsh_script[] =
    "#compdef PROGRAM\n"
    "# zsh completion for PROGRAM; printed by `PROGRAM completion zsh`\n"
    "_PROGRAM() {\n"
    "    local line\n"
    "    local -a before values shown\n"
    "    before=(\"${(@Q)words[2,CURRENT-1]}\")\n"
    "    before=(\"${(@)before/#\\~\\//$HOME/}\")\n"
    "    for line in \"${(@f)$(PROGRAM __complete -- \"${before[@]}\" \"${(Q)PREFIX}\" 2>/dev/null)}\"; do\n"
    "        case $line in\n"
    "            '') ;;\n"
    "            :files*) compset -p ${line#*$'\\t'}; _files ;;\n"
    "            :dirs*) compset -p ${line#*$'\\t'}; _files -/ ;;\n"
    "            :commands*) compset -p ${line#*$'\\t'}; _command_names -e ;;\n"
    "            *) values+=(\"${line%%$'\\t'*}\"); shown+=(\"${line/$'\\t'/  -- }\") ;;\n"
    "        esac\n"
    "    done\n"
    "    (( ${#values} )) && compadd -l -V PROGRAM -d shown -a values\n"
    "}\n"
    "if [[ $funcstack[1] == _PROGRAM ]]; then\n"
    "    _PROGRAM \"$@\"\n"
    "else\n"
    "    compdef _PROGRAM PROGRAM\n"
    "fi\n";

static const char fish_script[] =
    "# fish completion for PROGRAM; printed by `PROGRAM completion fish`\n"
    "function __PROGRAM_complete\n"
    "    set -l raw (commandline -ct)\n"
    "    set -l token (string unescape -- $raw; or string trim -l -c '\"\\'' -- $raw)\n"
    "    set -l words (commandline -opc)\n"
    "    set -e words[1]\n"
    "    set words (string replace -r '^~/' \"$HOME/\" -- $words) \"$token\"\n"
    "    for line in (PROGRAM __complete -- $words 2>/dev/null)\n"
    "        set -l part (string split \\t -- $line)\n"
    "        switch $part[1]\n"
    "            case :files :dirs :commands\n"
    "                set -l lead (string sub -l $part[2] -- \"$token\")\n"
    "                set -l rest (string sub -s (math $part[2] + 1) -- \"$raw\")\n"
    "                set -l names (__fish_complete_path \"$rest\")\n"
    "                test $part[1] = :dirs; and set names (__fish_complete_directories \"$rest\")\n"
    "                test $part[1] = :commands; and set names (complete -C \"$rest\")\n"
    "                for name in $names\n"
    "                    printf '%s%s\\n' \"$lead\" $name\n"
    "                end\n"
    "            case '*'\n"
    "                printf '%s\\n' $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c PROGRAM -f -k -a '(__PROGRAM_complete)'\n";

static void add_for(struct buf *out, const char *script, const char *program)
{
    static const char placeholder[] = "PROGRAM";
    for (const char *next; (next = strstr(script, placeholder)); script = next + sizeof placeholder - 1) {
        buf_add(out, script, (size_t)(next - script));
        buf_add_str(out, program);
    }
    buf_add_str(out, script);
}

bool completion_script(struct buf *out, const char *program, const char *shell)
{
    static const struct {
        const char *shell, *script;
    } scripts[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        if (strcmp(shell, scripts[i].shell) == 0) {
            add_for(out, scripts[i].script, program);
            return true;
        }
    return false;
}
