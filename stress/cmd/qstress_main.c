/* SPDX-License-Identifier: Apache-2.0 */
/* qstress: shows by races, sessions, kills and power cuts that a way of saving never shows a missing or torn document.
 */
#include "stress/harness/stress.h"
#include "stress/kill/kill.h"
#include "stress/powercut/powercut.h"
#include "stress/race/race.h"
#include "stress/sessions/sessions.h"

#include "base/cleanup.h"
#include "qsettings/version.h"
#include "terminal/completion.h"
#include "terminal/nearest.h"

#include <stdio.h>
#include <string.h>

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"race", stress_cmd_race, "writers save while readers read; also with anybody's program"},
    {"sessions", stress_cmd_sessions, "sessions start while their policy is being saved"},
    {"kill", stress_cmd_kill, "a writer is killed, or stopped, at each of its system calls"},
    {"powercut", stress_cmd_powercut, "the power is cut at every write, on ext4, XFS and btrfs"},
    {NULL, NULL, NULL},
};

static void usage(FILE *out)
{
    (void)fprintf(out, "usage: qstress COMMAND [OPTIONS]\n\n");
    for (size_t i = 0; commands[i].name; i++)
        (void)fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    (void)fprintf(
        out,
        "  completion print the completion script of a shell: bash, zsh or fish\n"
        "\n`qstress COMMAND --help` lists a command's options. Exit status: 0 no violation, 1 violation, 2 usage,\n"
        "7 not permitted, 10 the harness itself failed.\n");
}

/* ---- completion ---- */

static int print_script(const char *shell)
{
    AUTO(buf_release) struct buf script = {0};
    if (!shell || !completion_script(&script, "qstress", shell))
        return stress_fail(STRESS_USAGE, "completion", "knows bash, zsh and fish");
    (void)fwrite(script.data, 1, script.len, stdout);
    return STRESS_CLEAN;
}

/* argv: "__complete", "--", and the words, of which the last is to be completed. */
static int complete(int argc, char **argv)
{
    AUTO(buf_release) struct buf out = {0};
    struct completion to = {.out = &out, .word = argc > 2 ? argv[argc - 1] : ""};
    if (argc == 4 && strcmp(argv[2], "completion") == 0)
        completion_offer_choices(&to, "bash|zsh|fish");
    if (argc <= 3) {
        for (size_t i = 0; commands[i].name; i++)
            completion_offer(&to, commands[i].name, commands[i].summary);
        completion_offer(&to, "completion", "print the completion script of a shell");
        completion_offer(&to, "help", "show the commands");
        completion_offer(&to, "version", "print the version");
    }
    if (out.data && !out.failed)
        (void)fwrite(out.data, 1, out.len, stdout);
    for (size_t i = 0; argc > 3 && commands[i].name; i++)
        if (strcmp(argv[2], commands[i].name) == 0) {
            argv[1] = argv[2]; /* the command answers: it has the table of its options */
            argv[2] = (char *)STRESS_COMPLETE;
            return commands[i].run(argc - 1, argv + 1);
        }
    return STRESS_CLEAN;
}

static const char *command_name_at(size_t index, void *user)
{
    (void)user;
    return commands[index].name;
}

static int unknown(const char *name)
{
    char text[32];
    const char *near = nearest_name(name, command_name_at, NULL, text, sizeof text);
    if (near)
        (void)fprintf(stderr, "qstress: no command '%s'; did you mean %s?\n", name, near);
    else
        (void)fprintf(stderr, "qstress: no command '%s'; `qstress --help` lists them\n", name);
    return STRESS_USAGE;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        usage(stderr);
        return STRESS_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        usage(stdout);
        return STRESS_CLEAN;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
        (void)printf("qstress %s\n", QS_VERSION);
        return STRESS_CLEAN;
    }
    if (strcmp(name, "completion") == 0)
        return print_script(argc == 3 ? argv[2] : NULL);
    if (strcmp(name, STRESS_COMPLETE) == 0)
        return complete(argc - 1, argv + 1);
    for (size_t i = 0; commands[i].name; i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    return unknown(name);
}
