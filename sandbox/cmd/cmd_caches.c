/* SPDX-License-Identifier: Apache-2.0 */
/* qsandbox caches: removes the private caches of one workspace, or fills them from the home's. */
#include "sandbox/cmd/qsandbox.h"

#include "base/cleanup.h"
#include "sandbox/host/cache_seed.h"
#include "sandbox/host/caches.h"
#include "sandbox/host/copy_tree.h"
#include "sandbox/host/host_path.h"
#include "sandbox/host/state_dir.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

static enum qs_status clear(const struct state_base *base, const char *workspace, struct qs_error *err)
{
    char whole[64];
    int fd = -1;
    (void)snprintf(whole, sizeof whole, "caches/%s", workspace);
    enum qs_status status = state_open(base, whole, false, &fd, NULL, err);
    if (status == QS_ABSENT)
        return QS_OK; /* there are none */
    if (status)
        return status;
    return empty_tree(fd, err);
}

static enum qs_status seed(const struct state_base *base, const char *workspace, struct qs_error *err)
{
    struct seed_count count = {0};
    enum qs_status status = caches_seed(base, workspace, &count, err);
    if (status)
        return status;
    (void)printf("%llu files, %llu bytes\n", (unsigned long long)count.files, (unsigned long long)count.bytes);
    return QS_OK;
}

static enum qs_status change(const struct cli *cli, struct qs_error *err)
{
    AUTO(path_fact_release) struct path_fact home = {.fd = -1}, workspace = {.fd = -1};
    const struct passwd *entry = getpwuid(geteuid());
    char name[STATE_WORKSPACE_BYTES];
    if (!entry)
        return error_set(err, QS_IO, "the password database has no entry for uid %u", (unsigned)geteuid());
    AUTO_FREE char *here = getcwd(NULL, 0);
    AUTO_FREE char *given = !cli->run.workspace || !here   ? NULL
                            : cli->run.workspace[0] == '/' ? strdup(cli->run.workspace)
                                                           : path_join(here, cli->run.workspace);
    enum qs_status status = path_look(entry->pw_dir, "/", false, &home, err);
    if (!status)
        status = path_look(given ? given : here ? here : "/", "/", false, &workspace, err);
    if (status)
        return status;
    if (home.kind != PATH_DIR || workspace.kind != PATH_DIR)
        return error_set(err, QS_USAGE, "there is no such workspace or home directory");
    const struct state_base base = state_base_of(home.path, cli->run.root, geteuid());
    state_workspace_name(workspace.path, name);
    if (cli->clear)
        status = clear(&base, name, err);
    if (!status && cli->seed)
        status = seed(&base, name, err);
    return status;
}

enum qs_status cmd_caches(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    (void)count;
    (void)operands;
    if (!cli->clear && !cli->seed)
        return error_set(err, QS_USAGE, "'--clear', '--seed' or both are missing");
    return change(cli, err);
}
