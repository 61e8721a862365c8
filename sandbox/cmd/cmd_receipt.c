/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox receipt: the plan of this repository, what `verify` found, and what was given, as one document; --compare
 * holds it against an older one. */
#include "sandbox/cmd/qsandbox.h"

#include "base/cleanup.h"
#include "sandbox/cmd/receipt.h"
#include "text/doc.h"

#include <stdio.h>

static enum qs_status print(const struct cli *cli, const json_t *document, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    enum qs_status status =
        cli->line.json ? value_encode_pretty(document, &text, err) : value_encode_yaml(document, &text, err);
    if (!status && (printf("%s%s", text.data, cli->line.json ? "\n" : "") < 0 || fflush(stdout) != 0))
        status = error_set(err, QS_IO, "cannot write to standard output");
    return status;
}

/* What somebody gave: now, or else with the older receipt, since a look at what changed takes nothing of it away. */
static const char *given_text(const char *now, const json_t *old, const char *name)
{
    return now ? now : json_string_value(json_object_get(old, name));
}

static enum qs_status make(const struct cli *cli, const json_t *old, json_t **ret_receipt, struct qs_error *err)
{
    const struct verify_request request = {.options = &cli->run};
    const struct receipt_given given = {.host_group = given_text(cli->host_group, old, "hostGroup"),
                                        .agent = cli->agent,
                                        .owner = given_text(cli->owner, old, "owner"),
                                        .rollback = given_text(cli->rollback, old, "rollback")};
    struct verify_report report;
    struct prepared prepared;
    enum qs_status status = prepare_run(&cli->run, false, &prepared, err);
    if (!status)
        status = verify_run(&request, &report, err);
    if (!status)
        status = receipt_make(&prepared, &report, &given, ret_receipt, err);
    prepared_release(&prepared);
    return status;
}

enum qs_status cmd_receipt(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(value_release) json_t *old = NULL, *receipt = NULL, *comparison = NULL;
    (void)count;
    (void)operands;
    enum qs_status status = QS_OK;
    if (cli->line.json && cli->yaml)
        return error_set(err, QS_USAGE, "options '--json' and '--yaml' exclude each other");
    if (cli->compare) /* before the checks: a wrong file costs no seconds */
        status = receipt_read(cli->compare, &old, err);
    if (!status)
        status = make(cli, old, &receipt, err);
    if (!status && old) {
        comparison = receipt_compare(old, receipt);
        status = comparison ? QS_OK : error_memory(err);
    }
    if (!status)
        status = print(cli, comparison ? comparison : receipt, err);
    cli->exit_status = comparison && json_is_true(json_object_get(comparison, "due")) ? -QS_NOT_FOUND : 0;
    return status;
}
