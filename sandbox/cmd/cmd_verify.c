/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox verify: the checks, as a table or as JSON. */
#include "sandbox/cmd/qsandbox.h"

#include "base/cleanup.h"
#include "sandbox/verify/verify.h"
#include "terminal/paint.h"
#include "text/value.h"

#include <stdio.h>
#include <string.h>

static void print_table(const struct command_line *line, const struct verify_report *report)
{
    AUTO(buf_release) struct buf text = {0};
    AUTO(buf_release) struct buf shown = {0};
    for (unsigned i = 0; i < CHECK_COUNT; i++) {
        const struct verify_entry *entry = &report->checks[i];
        buf_printf(&text, "%-14s  %-21s  %s\n", verify_result_name(entry->result),
                   verify_check_name((enum verify_check)i), entry->detail);
    }
    bool passed = verify_passed(report);
    paint_text(&text, passed ? PAINT_GOOD : PAINT_BAD,
               passed ? "pass: the boundary holds here" : "FAIL: the boundary does not hold here");
    terminal_text(&shown, text.data, text.len, line_colour(line, STDOUT_FILENO) ? TERMINAL_COLOUR : 0);
    (void)printf("%s\n", shown.data);
}

static enum qs_status print_json(const struct verify_report *report, struct qs_error *err)
{
    AUTO(value_release) json_t *json = verify_json(report);
    AUTO(buf_release) struct buf text = {0};
    enum qs_status status = json ? value_encode_pretty(json, &text, err) : error_memory(err);
    if (status)
        return status;
    (void)printf("%s\n", text.data);
    return QS_OK;
}

enum qs_status cmd_verify(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    const struct verify_request request = {.options = &cli->run};
    struct verify_report report;
    (void)count;
    (void)operands;
    enum qs_status status = verify_run(&request, &report, err);
    if (status)
        return status;
    cli->exit_status = verify_passed(&report) ? 0 : -QS_NOT_FOUND;
    if (cli->line.json)
        return print_json(&report, err);
    print_table(&cli->line, &report);
    return QS_OK;
}
