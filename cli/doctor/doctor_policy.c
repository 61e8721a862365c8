/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: is there a policy, and does the environment mislead? */
#include "cli/doctor/doctor.h"

#include <pwd.h>
#include <string.h>

static void policy(struct cli *cli, struct findings *findings)
{
    struct qs_policy_options options = {.size = sizeof options, .root = cli->line.root, .wait_ms = cli->read_wait_ms};
    struct qs_policy_result *result = NULL;
    struct qs_error err = {0};
    AUTO_FREE char *see = doctor_command(cli, NULL, "policy");
    enum qs_status status = qs_policy_read(&options, &result, &err);
    if (!status) {
        const struct qs_policy *found = qs_policy_get(result);
        finding_add(findings, "policy", FINDING_OK, NULL, "set: filesystem %s, network %s",
                    found->filesystem == QS_FS_READ_ONLY ? "read-only" : "workspace-write",
                    found->network == QS_NET_CLOSED ? "closed" : "open");
    } else if (status == QS_NO_POLICY) {
        finding_add(findings, "policy", FINDING_WARN, err.advice, "none is set: qsandbox runs nothing");
    } else {
        finding_add_error(findings, "policy", FINDING_FAIL, &err, see);
    }
    qs_policy_free(result);
}

/* The environment moves no store; other programs follow it, and people wonder. */
static void environment(struct cli *cli, struct findings *findings)
{
    const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
    const struct passwd *entry = getpwuid(geteuid());
    AUTO_FREE char *usual = NULL;
    if (cli->line.root)
        return;
    if (!entry || !entry->pw_dir) {
        finding_add(findings, "home", FINDING_FAIL, "give the user an entry in the password database",
                    "the password database has no entry for uid %u: there is no user scope", (unsigned)geteuid());
        return;
    }
    if (asprintf(&usual, "%s/.config", entry->pw_dir) < 0)
        usual = NULL;
    if (home && strcmp(home, entry->pw_dir) != 0)
        finding_add(findings, "home", FINDING_WARN, "unset HOME, or set it to that directory",
                    "HOME is %s, but the user store is below %s", home, entry->pw_dir);
    else if (config && config[0] && usual && strcmp(config, usual) != 0)
        finding_add(findings, "home", FINDING_WARN, "unset XDG_CONFIG_HOME",
                    "XDG_CONFIG_HOME is %s, but the user store stays below %s", config, usual);
    else
        finding_add(findings, "home", FINDING_OK, NULL, "%s", entry->pw_dir);
}

void doctor_policy(struct cli *cli, struct findings *findings)
{
    environment(cli, findings);
    policy(cli, findings);
}
