/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox verify: the battery, as a table or as JSON. */
#include "sandbox/sandbox.h"

#include "sandbox/battery.h"
#include "store/cleanup.h"
#include "store/value.h"

#include <stdio.h>
#include <string.h>

static void print_table(const struct battery_report *report)
{
    for (unsigned i = 0; i < CHECK_COUNT; i++) {
        const struct battery_entry *entry = &report->checks[i];
        (void)printf("%-14s  %-21s  %s\n", battery_result_name(entry->result),
                     battery_check_name((enum battery_check)i), entry->detail);
    }
    (void)printf("%s\n",
                 battery_passed(report) ? "pass: the boundary holds here" : "FAIL: the boundary does not hold here");
}

static enum qs_status print_json(const struct battery_report *report, struct qs_error *err)
{
    AUTO(value_release) json_t *json = battery_json(report);
    AUTO(buf_release) struct buf text = {0};
    enum qs_status status = json ? value_encode_pretty(json, &text, err) : error_set(err, QS_IO, "out of memory");
    if (status == QS_OK)
        (void)printf("%s\n", text.data);
    return status;
}

int cmd_verify(const struct options *options)
{
    const struct battery_request request = {.options = options};
    struct battery_report report;
    struct qs_error err = {0};
    enum qs_status status = battery_run(&request, &report, &err);
    if (status == QS_OK && options->json)
        status = print_json(&report, &err);
    else if (status == QS_OK)
        print_table(&report);
    if (status != QS_OK)
        return report_error(&err, -status);
    return battery_passed(&report) ? 0 : -QS_NOT_FOUND;
}
