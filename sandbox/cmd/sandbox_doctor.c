/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox doctor: the findings as lines or as JSON; `qsettings doctor` asks for them, too. */
#include "sandbox/cmd/qsandbox.h"

#include "base/cleanup.h"
#include "sandbox/cmd/diagnose.h"
#include "sandbox/host/host_path.h"
#include "terminal/paint.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

static void look_state(const char *root, struct findings *findings)
{
    AUTO(path_fact_release) struct path_fact home = {.fd = -1};
    struct qs_error err = {0};
    const struct passwd *entry = getpwuid(geteuid());
    if (!entry) {
        finding_add(findings, "state", FINDING_FAIL, "give the user an entry in the password database",
                    "the password database has no entry for uid %u", (unsigned)geteuid());
        return;
    }
    enum qs_status status = path_look(entry->pw_dir, "/", false, &home, &err);
    if (!status && home.kind != PATH_DIR)
        status = error_set(&err, QS_ABSENT, "the home directory %s does not exist", entry->pw_dir);
    if (status) {
        finding_add_error(findings, "state", FINDING_FAIL, &err, "make it, or give the user another one");
        return;
    }
    const struct state_base base = state_base_of(home.path, root, geteuid());
    doctor_state(&base, findings);
}

static enum qs_status print(const struct command_line *line, const struct findings *findings, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    AUTO(buf_release) struct buf shown = {0};
    AUTO(value_release) json_t *report = findings_json(findings);
    if (!report)
        return error_memory(err);
    if (line->json) {
        enum qs_status status = value_encode_pretty(report, &shown, err);
        if (status)
            return status;
        buf_add_char(&shown, '\n');
    } else {
        findings_text(findings, &text);
        terminal_text(&shown, text.data ? text.data : "", text.len,
                      line_colour(line, STDOUT_FILENO) ? TERMINAL_COLOUR : 0);
    }
    if (text.failed || shown.failed)
        return error_memory(err);
    (void)fputs(shown.data, stdout);
    return QS_OK;
}

enum qs_status cmd_doctor(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(findings_release) struct findings findings = {.line = &cli->line};
    (void)count;
    (void)operands;
    doctor_host(&findings);
    look_state(cli->line.root, &findings);
    cli->exit_status = findings_worst(&findings) == FINDING_FAIL ? -QS_NOT_FOUND : 0;
    return print(&cli->line, &findings, err);
}
