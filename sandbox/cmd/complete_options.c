/* SPDX-License-Identifier: Apache-2.0 */
/* Completion of qsandbox's command line: the script of a shell, and the candidates it asks for. */
#include "sandbox/cmd/qsandbox.h"
#include "terminal/completion.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <string.h>

static const struct completion_option before_command[] = {
    {"root", "DIR", "use the stores DIR/system, DIR/user, DIR/defaults"},
    {"help", NULL, "show the commands"},
    {"version", NULL, "print the version"},
};
#define BEFORE_COUNT (sizeof before_command / sizeof before_command[0])

int completion_print(const char *shell)
{
    AUTO(buf_release) struct buf script = {0};
    struct qs_error err = {0};
    if (!shell || !completion_script(&script, "qsandbox", shell)) {
        error_set(&err, QS_USAGE, "completion knows bash, zsh and fish");
        return report_error(&err, -QS_USAGE);
    }
    (void)fwrite(script.data, 1, script.len, stdout);
    return 0;
}

static void offer_commands(const struct completion *to, const struct command *commands, size_t count)
{
    for (size_t i = 0; i < count; i++)
        completion_offer(to, commands[i].name, commands[i].summary);
    completion_offer(to, "completion", "print the completion script of a shell");
    completion_offer(to, "help", "show the commands");
    completion_offer(to, "version", "print the version");
}

int completion_answer(const struct command *commands, size_t count, int argc, char **argv)
{
    AUTO(buf_release) struct buf out = {0};
    struct completion to = {.out = &out, .word = argc > 1 ? argv[argc - 1] : ""};
    int at = 1; /* where the command's name is, or would be */
    while (at + 1 < argc && argv[at][0] == '-')
        at += strcmp(argv[at], "--root") == 0 ? 2 : 1;
    if (at + 1 < argc) {
        for (size_t i = 0; i < count; i++)
            if (strcmp(argv[at], commands[i].name) == 0)
                options_complete(&commands[i], &out, argc - at - 1, argv + at + 1);
        if (strcmp(argv[at], "completion") == 0 && at + 2 == argc)
            completion_offer_choices(&to, "bash|zsh|fish");
    } else if (!completion_walk(&out, before_command, BEFORE_COUNT, argc - 1, argv + 1).answered) {
        offer_commands(&to, commands, count);
    }
    if (out.data && !out.failed)
        (void)fwrite(out.data, 1, out.len, stdout);
    return 0;
}
