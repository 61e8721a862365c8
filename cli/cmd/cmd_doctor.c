/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: all looks, one after another, as lines or as JSON. */
#include "cli/doctor/doctor.h"

enum qs_status cmd_doctor(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    static const struct {
        const char *name;
        doctor_look *look;
    } looks[] = {{"store.system", doctor_system}, {"store.user", doctor_user}, {"store.defaults", doctor_defaults},
                 {"policy", doctor_policy},       {"published", doctor_files}, {"qsandbox", doctor_sandbox},
                 {"fleet", doctor_fleet}};
    AUTO(findings_release) struct findings findings = {0};
    (void)count;
    (void)operands;
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++)
        if (looks[i].look != doctor_fleet || doctor_in_fleet(cli))
            doctor_apart(cli, looks[i].name, looks[i].look, &findings);
    if (findings.failed)
        return error_memory(err);
    if (cli->line.json)
        out_json(cli, findings_json(&findings));
    else
        findings_text(&findings, &cli->out);
    cli->exit_status = findings_worst(&findings) == FINDING_FAIL ? 1 : 0;
    return QS_OK;
}
