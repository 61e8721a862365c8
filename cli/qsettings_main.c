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

static enum qs_status run(struct cli *cli, int argc, char **argv, struct qs_error *err)
{
    char **operands AUTO_FREE = calloc((size_t)argc + 1, sizeof *operands);
    int count = 0;
    if (!operands)
        return error_memory(err);
    enum qs_status status = options_parse(cli, argc, argv, operands, &count, err);
    if (status != QS_OK)
        return status;
    if (cli->given[OPT_VERSION])
        return cmd_version(cli, 0, NULL, err);
    if (!cli->command)
        return cmd_help(cli, 0, NULL, err);
    if (cli->given[OPT_HELP])
        return cmd_help(cli, 1, (char *[]){(char *)cli->command->name}, err);
    return cli->command->run(cli, count, operands, err);
}

int main(int argc, char **argv)
{
    struct cli cli = {0};
    struct qs_error err = {0};
    if (!occupy_standard_descriptors())
        return -QS_IO;
    cli_own_signals();
    enum qs_status status = run(&cli, argc, argv, &err);
    if (status == QS_OK || cli.print_on_failure) {
        struct qs_error failure = {0};
        enum qs_status printed = output_flush(&cli, &failure);
        if (status == QS_OK && printed != QS_OK) {
            status = printed;
            err = failure;
        }
    }
    if (status != QS_OK)
        report_error(&cli, &err);
    buf_release(&cli.out);
    free(cli.root_text);
    return status != QS_OK ? -status : cli.exit_status;
}
