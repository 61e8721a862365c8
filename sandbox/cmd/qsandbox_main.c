/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox: runs commands under the policy that the store holds, or does not run them. */
#include "sandbox/cmd/qsandbox.h"

#include "base/cleanup.h"
#include "qsettings/version.h"
#include "sandbox/shim/shim.h"
#include "sandbox/verify/inside.h"
#include "terminal/nearest.h"
#include "terminal/paint.h"

#include <stdio.h>
#include <string.h>

static const struct command commands[] = {
    {"run",
     "[--workspace DIR] [--cwd DIR] [--timeout S] [--network closed] [--filesystem read-only]\n"
     "             [--status-fd N] [--claimed-approver WHO] -- COMMAND...",
     "run a command in the sandbox", OPTION_PLACE | OPTION_NARROW | OPTION_STATUS | OPTION_APPROVER, true, cmd_run},
    {"session", "[--timeout S] [--processes N] -- PROGRAM...",
     "run a program on the host whose own runs all use the policy of now", OPTION_NARROW | OPTION_PROCESSES, true,
     cmd_session},
    {"inspect", "[--workspace DIR] [--cwd DIR] [--json]", "say what a run would be, and which barriers hold",
     OPTION_PLACE | OPTION_NARROW | OPTION_JSON, false, cmd_inspect},
    {"verify", "[--workspace DIR] [--json]", "try every way out of the sandbox, and say what held",
     OPTION_PLACE | OPTION_NARROW | OPTION_JSON, false, cmd_verify},
    {"receipt",
     "[--workspace DIR] [--cwd DIR] [--yaml | --json] [--compare OLD] [--agent PROGRAM]\n"
     "             [--host-group NAME] [--owner NAME] [--rollback COMMAND]",
     "a rollout receipt of this repository, or what changed since an older one",
     OPTION_PLACE | OPTION_NARROW | OPTION_JSON | OPTION_RECEIPT, false, cmd_receipt},
    {"audit", "[--verify] [--json]", "show the journal of runs, or check its chain", OPTION_VERIFY | OPTION_JSON, false,
     cmd_audit},
    {"doctor", "[--json]", "say what keeps sandboxes from working here, and what to do", OPTION_JSON, false,
     cmd_doctor},
    {"caches", "[--workspace DIR] --clear | --seed",
     "remove a workspace's private caches, or fill them from the home's", OPTION_PLACE | OPTION_CLEAR, false,
     cmd_caches},
};
#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static void usage(FILE *out)
{
    (void)fprintf(out, "usage: qsandbox [--root DIR] COMMAND [OPTIONS]\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        (void)fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    (void)fprintf(out, "  completion print the completion script of a shell: bash, zsh or fish\n");
    (void)fprintf(out, "\n`qsandbox COMMAND --help` shows a command's options. Exit status of run: the command's own;\n"
                       "124 the wall limit; 125 the sandbox could not be set up and nothing was run; 126, 127 as a\n"
                       "shell gives them; 128+n on a signal.\n");
}

int report_error(const struct qs_error *err, int exit_status)
{
    const char *where = err->file[0] ? err->file : err->path;
    AUTO(buf_release) struct buf text = {0};
    AUTO(buf_release) struct buf shown = {0};
    paint(&text, PAINT_BAD);
    buf_printf(&text, "qsandbox: status %d (%s)", -err->status, qs_status_name(err->status));
    paint(&text, PAINT_END);
    buf_printf(&text, ": %s%s%s%s%s", err->message, where[0] ? ", " : "", where, err->advice[0] ? "; " : "",
               err->advice);
    terminal_text(&shown, text.data ? text.data : "", text.len,
                  TERMINAL_LINE | (colour_wanted(COLOUR_AUTO, STDERR_FILENO) ? TERMINAL_COLOUR : 0));
    (void)fprintf(stderr, "%s\n", shown.failed || !shown.data ? err->message : shown.data);
    return exit_status;
}

static int call(const struct command *command, int argc, char **argv, const char *root)
{
    struct options options = {.run = {.root = root, .status_fd = -1}};
    struct qs_error err = {0};
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        (void)printf("usage: qsandbox [--root DIR] %s %s\n\n%s\n\n", command->name, command->usage, command->summary);
        options_help(command);
        return 0;
    }
    enum qs_status status = options_parse(command, argc, argv, &options, &err);
    if (status != QS_OK)
        return report_error(&err, command->takes_command ? EXIT_REFUSED : -status);
    return command->run(&options);
}

static const char *command_name_at(size_t index, void *user)
{
    (void)user;
    return index < COMMAND_COUNT ? commands[index].name : NULL;
}

static int unknown(const char *name)
{
    char text[32];
    struct qs_error err = {0};
    const char *near = nearest_name(name, command_name_at, NULL, text, sizeof text);
    error_set(&err, QS_USAGE, "no command '%s'", name);
    if (near)
        error_add_advice(&err, "did you mean %s? `qsandbox --help` lists all", near);
    else
        error_add_advice(&err, "`qsandbox --help` lists them");
    return report_error(&err, -QS_USAGE);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--inner") == 0)
        return shim_main(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "--probe") == 0)
        return inside_main(argc - 2, argv + 2);
    const char *root = NULL;
    int at = 1;
    if (at + 1 < argc && strcmp(argv[at], "--root") == 0) {
        root = argv[at + 1];
        at += 2;
    }
    const char *name = at < argc ? argv[at] : NULL;
    if (!name) {
        usage(stderr);
        return -QS_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "help") == 0) {
        usage(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
        (void)printf("qsandbox %s\n", QS_VERSION);
        return 0;
    }
    if (strcmp(name, "completion") == 0)
        return completion_print(at + 2 == argc ? argv[at + 1] : NULL);
    if (strcmp(name, "__complete") == 0)
        return completion_answer(commands, COMMAND_COUNT, argc - at - 1, argv + at + 1);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(name, commands[i].name) == 0)
            return call(&commands[i], argc - at, argv + at, root);
    return unknown(name);
}
