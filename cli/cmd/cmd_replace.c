/* SPDX-License-Identifier: Apache-2.0 */
/* replace: standard input becomes FILE, atomically. */
#include "cli/cli.h"

enum qs_status cmd_replace(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    struct qs_replace_options options = {.size = sizeof options};
    AUTO_FREE char *data = NULL;
    size_t len = 0;
    (void)count;
    options.flags = (cli->backup ? QS_REPLACE_BACKUP : 0u) | (cli->dangling ? QS_REPLACE_DANGLING : 0u) |
                    (cli->hard_linked ? QS_REPLACE_HARDLINKED : 0u) | (cli->other_owner ? QS_REPLACE_OTHER_OWNER : 0u) |
                    (cli->new_only ? QS_REPLACE_NEW_ONLY : 0u);
    enum qs_status status = input_read("-", REPLACE_MAX_BYTES, &data, &len, err);
    if (!status)
        status = qs_file_replace(operands[0], data, len, &options, err);
    if (status || !cli->line.json)
        return status;
    json_t *report = json_object();
    put(cli, report, "file", json_words(operands[0]));
    put(cli, report, "bytes", json_integer((json_int_t)len));
    out_json(cli, report);
    return QS_OK;
}
