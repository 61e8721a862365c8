/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox: runs commands under the policy that the store holds, or does not run them. */
#include "sandbox/cmd/qsandbox.h"

#include "sandbox/shim/shim.h"
#include "sandbox/verify/inside.h"

#include <string.h>

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--inner") == 0)
        return shim_main(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "--probe") == 0)
        return inside_main(argc - 2, argv + 2);
    struct cli cli = {.line.program = &qsandbox_program, .run.status_fd = -1};
    struct qs_error err = {0};
    enum qs_status status = command_line_parse(&cli.line, &cli, argc, argv, &err);
    cli.run.root = cli.line.root;
    cli.run.command = cli.line.operands;
    if (!status)
        status = command_line_run(&cli.line, &cli, &err);
    if (!status)
        return cli.exit_status;
    voice_error(&cli.line, &err);
    return cli.line.command && command_takes_command(cli.line.command) ? EXIT_REFUSED : -status;
}
