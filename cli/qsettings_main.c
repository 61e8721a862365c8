/* SPDX-License-Identifier: Apache-2.0 */
/* qsettings: reads the command line, runs one command of the table, writes its output, reports its error. */
#include "cli/cli.h"

#include <fcntl.h>
#include <sys/stat.h>

/* A closed standard descriptor would be the number of the next file opened, a store's say, and the command's output
 * would go there. Opened for reading, it stays an error to write to it. */
static bool occupy_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    struct cli cli = CLI_NONE;
    struct qs_error err = {0};
    if (!occupy_standard_descriptors())
        return -QS_IO;
    cli_own_signals();
    enum qs_status status = command_line_parse(&cli.line, &cli, argc, argv, &err);
    if (!status)
        status = command_line_run(&cli.line, &cli, &err);
    if (!status || cli.print_on_failure || cli.stored.scope) {
        struct qs_error failure = {0};
        enum qs_status printed = output_flush(&cli, &failure);
        if (!status && printed) {
            status = printed;
            err = failure;
        }
    }
    if (status)
        status = cli_report_failure(&cli, status, &err);
    buf_release(&cli.out);
    return status ? -status : cli.exit_status;
}
