/* SPDX-License-Identifier: Apache-2.0 */
/* qfleet: reads the command line, runs one command of the table, writes its output, reports its error. */
#include "base/os.h"
#include "fleet/cmd/qfleet.h"

#include <curl/curl.h>
#include <signal.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
    struct cli cli = {.line = {.program = &qfleet_program}};
    struct qs_error err = {0};
    (void)umask(022);
    (void)signal(SIGPIPE, SIG_IGN);
    if (sodium_init() < 0 || curl_global_init(CURL_GLOBAL_DEFAULT))
        return -QS_IO;
    enum qs_status status = command_line_parse(&cli.line, &cli, argc, argv, &err);
    if (!status)
        status = command_line_run(&cli.line, &cli, &err);
    if ((!status || status == QS_FOLLOW_UP) &&
        (cli.out.failed || os_write_full(STDOUT_FILENO, cli.out.data, cli.out.len)))
        status = error_set(&err, QS_IO, "the output cannot be written");
    if (status)
        voice_error(&cli.line, &err);
    buf_release(&cli.out);
    curl_global_cleanup();
    return status ? -status : cli.exit_status;
}
