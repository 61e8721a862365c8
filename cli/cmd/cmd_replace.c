/* SPDX-License-Identifier: Apache-2.0 */
/* replace: standard input becomes FILE, atomically. */
#include "cli/cli.h"

enum qs_status cmd_replace(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    static const struct {
        enum option_id option;
        enum qs_replace_flags flag;
    } pairs[] = {{OPT_BACKUP, QS_REPLACE_BACKUP},
                 {OPT_DANGLING, QS_REPLACE_DANGLING},
                 {OPT_HARDLINKED, QS_REPLACE_HARDLINKED},
                 {OPT_OTHER_OWNER, QS_REPLACE_OTHER_OWNER},
                 {OPT_NEW_ONLY, QS_REPLACE_NEW_ONLY}};
    struct qs_replace_options options = {.size = sizeof options};
    char *data AUTO_FREE = NULL;
    size_t len = 0;
    (void)count;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        options.flags |= cli->given[pairs[i].option] ? (unsigned)pairs[i].flag : 0;
    enum qs_status status = input_read("-", REPLACE_MAX_BYTES, &data, &len, err);
    if (status == QS_OK)
        status = qs_file_replace(operands[0], data, len, &options, err);
    if (status != QS_OK || !cli->json)
        return status;
    json_t *report = json_object();
    put(cli, report, "file", json_words(operands[0]));
    put(cli, report, "bytes", json_integer((json_int_t)len));
    out_json(cli, report);
    return QS_OK;
}
