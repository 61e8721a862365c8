/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox caches --clear: removes the private caches of one workspace. */
#include "sandbox/sandbox.h"

#include "sandbox/hostpath.h"
#include "sandbox/state.h"
#include "sandbox/tree.h"
#include "store/cleanup.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

static enum qs_status clear(const struct options *options, struct qs_error *err)
{
    AUTO(path_fact_release) struct path_fact home = {.fd = -1}, workspace = {.fd = -1};
    const struct passwd *entry = getpwuid(geteuid());
    char name[STATE_WORKSPACE_BYTES], whole[64];
    if (!entry)
        return error_set(err, QS_IO, "the password database has no entry for uid %u", (unsigned)geteuid());
    AUTO_FREE char *here = getcwd(NULL, 0);
    AUTO_FREE char *given = !options->workspace || !here   ? NULL
                            : options->workspace[0] == '/' ? strdup(options->workspace)
                                                           : path_join(here, options->workspace);
    enum qs_status status = path_look(entry->pw_dir, "/", false, &home, err);
    if (status == QS_OK)
        status = path_look(given ? given : here ? here : "/", "/", false, &workspace, err);
    if (status != QS_OK)
        return status;
    if (home.kind != PATH_DIR || workspace.kind != PATH_DIR)
        return error_set(err, QS_USAGE, "there is no such workspace or home directory");
    const struct state_place place = state_place_of(home.path, options->root, geteuid());
    state_workspace_name(workspace.path, name);
    (void)snprintf(whole, sizeof whole, "caches/%s", name);
    int fd = -1;
    status = state_open(&place, whole, false, &fd, NULL, err);
    if (status == QS_ABSENT)
        return QS_OK; /* there are none */
    return status == QS_OK ? tree_empty(fd, err) : status;
}

int cmd_caches(const struct options *options)
{
    struct qs_error err = {0};
    if (!options->clear) {
        error_set(&err, QS_USAGE, "caches takes --clear");
        return report_error(&err, -QS_USAGE);
    }
    enum qs_status status = clear(options, &err);
    return status == QS_OK ? 0 : report_error(&err, -status);
}
