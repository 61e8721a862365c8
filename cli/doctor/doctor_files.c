/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: the files that commits publish: are they there, current, and nobody else's? */
#include "cli/doctor/doctor.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define NAME "published"

/* --on-commit registers what is registered already and publishes it. */
static char *publish_command(const struct cli *cli, const struct qs_target *target, const char *more)
{
    AUTO_FREE char *what = NULL;
    const char *scope = target->scope == QS_SCOPE_EFFECTIVE ? NULL : qs_scope_name(target->scope);
    if (asprintf(&what, "publish %s%s%s%s", target->file, target->dialect == QS_DIALECT_QWEN_CODE ? " --for qwen" : "",
                 more[0] ? " " : "", more) < 0) {
        what = NULL;
        return NULL;
    }
    return doctor_command(cli, scope, what);
}

/* What publishing itself will refuse: see qs_publish_register. */
static bool kept_well(const struct qs_target *target, uid_t owner, struct findings *findings)
{
    struct stat st;
    AUTO_FREE char *advice = NULL;
    if (stat(target->file, &st) != 0)
        return true; /* missing, or not to be seen: the comparison says so */
    if (st.st_uid != owner && st.st_uid != 0) {
        if (asprintf(&advice, "chown %u %s", (unsigned)owner, target->file) < 0)
            advice = NULL;
        finding_add(findings, NAME, FINDING_FAIL, advice, "%s belongs to uid %u, not to the store's owner",
                    target->file, (unsigned)st.st_uid);
        return false;
    }
    if (st.st_mode & (S_IWGRP | S_IWOTH)) {
        if (asprintf(&advice, "chmod go-w %s", target->file) < 0)
            advice = NULL;
        finding_add(findings, NAME, FINDING_FAIL, advice, "%s can be written by group or others", target->file);
        return false;
    }
    return true;
}

static void report_release(struct qs_publish_report **report)
{
    qs_publish_report_free(*report);
}

static void compare(struct cli *cli, struct qs_store *store, const struct qs_target *target, struct findings *findings)
{
    AUTO(report_release) struct qs_publish_report *found = NULL;
    struct qs_error err = {0};
    enum qs_status status = qs_publish_check(store, target, &found, &err);
    if (status == QS_UNTRUSTED && geteuid() != 0) {
        finding_add(findings, NAME, FINDING_WARN, "ask again as its owner", "%s cannot be looked at by this user: %s",
                    target->file, err.message);
        return;
    }
    if (status) {
        finding_add(findings, NAME, FINDING_FAIL, err.advice[0] ? err.advice : NULL, "%s: %s: %s", target->file,
                    qs_status_name(status), err.message);
        return;
    }
    bool edited = found->state == QS_PUBLISH_EDITED;
    AUTO_FREE char *again = publish_command(cli, target, edited ? "--check" : "");
    finding_add(findings, NAME, found->state == QS_PUBLISH_CURRENT ? FINDING_OK : FINDING_FAIL,
                found->state == QS_PUBLISH_CURRENT ? NULL : again, "%s: %s%s", target->file,
                qs_publish_state_name(found->state),
                edited                             ? ", not what was published last"
                : found->state == QS_PUBLISH_STALE ? ", the settings have moved on"
                                                   : "");
}

static void targets_release(struct qs_target_list **targets)
{
    qs_target_list_free(*targets);
}

static size_t files_of(struct cli *cli, enum qs_scope scope, struct findings *findings)
{
    AUTO_STORE struct qs_store *store = NULL;
    AUTO(targets_release) struct qs_target_list *targets = NULL;
    struct stat st;
    if (cli_open(cli, scope, &store, NULL) || qs_publish_list(store, &targets, NULL))
        return 0; /* the look at the store says why */
    uid_t owner = stat(qs_store_path(store), &st) == 0 ? st.st_uid : geteuid();
    for (size_t i = 0; i < qs_target_list_count(targets); i++)
        if (kept_well(qs_target_list_at(targets, i), owner, findings))
            compare(cli, store, qs_target_list_at(targets, i), findings);
    return qs_target_list_count(targets);
}

void doctor_files(struct cli *cli, struct findings *findings)
{
    size_t count = 0;
    cli->home_noted = true; /* a finding of its own */
    for (enum qs_scope scope = QS_SCOPE_SYSTEM; scope >= QS_SCOPE_DEFAULTS; scope--)
        count += files_of(cli, scope, findings);
    if (count == 0)
        finding_add(findings, NAME, FINDING_OK, NULL, "no file is registered");
}
