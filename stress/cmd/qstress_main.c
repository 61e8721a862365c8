/* SPDX-License-Identifier: Apache-2.0 */
/* qstress: shows by races, sessions, kills and power cuts that a way of saving never shows a missing or torn document.
 */
#include "stress/harness/stress.h"
#include "terminal/voice.h"

int main(int argc, char **argv)
{
    struct cli cli = {.line.program = &qstress_program};
    struct qs_error err = {0};
    stress_fail_for(&cli.line);
    enum qs_status status = command_line_parse(&cli.line, &cli, argc, argv, &err);
    if (!status)
        status = command_line_run(&cli.line, &cli, &err);
    if (!status)
        return cli.exit_status;
    voice_error(&cli.line, &err);
    return -status;
}
