/* SPDX-License-Identifier: Apache-2.0 */
/* What the shim is told of a plan. */
#include "sandbox/plan/plan.h"

#include "base/cleanup.h"
#include "sandbox/plan/filter.h"

static struct spec_mount *mounts_of(const struct plan *plan)
{
    struct spec_mount *mounts = calloc(plan->count + 1, sizeof *mounts);
    for (size_t i = 0; mounts && i < plan->count; i++)
        mounts[i] = (struct spec_mount){.kind = plan->mounts[i].kind,
                                        .inner = plan->mounts[i].inner,
                                        .directory = plan->mounts[i].directory,
                                        .dev = plan->mounts[i].dev,
                                        .ino = plan->mounts[i].ino,
                                        .from = plan->mounts[i].from,
                                        .dest = plan->mounts[i].dest};
    return mounts;
}

enum qs_status plan_encode(const struct plan *plan, bool terminal, char *const *argv, char **env, struct buf *out,
                           struct qs_error *err)
{
    const struct filter_table *filter = &filter_tables[plan->unix_sockets];
    AUTO_FREE struct spec_mount *mounts = mounts_of(plan);
    if (!mounts)
        return error_memory(err);
    struct spec spec = {.mounts = mounts,
                        .mount_count = plan->count,
                        .cwd = plan->cwd,
                        .argv = argv,
                        .env = env,
                        .filter = (const char *)filter->steps,
                        .filter_len = filter->bytes,
                        .terminal = terminal,
                        .scope_abstract = plan->scope_abstract,
                        .private_var_tmp = plan->private_var_tmp,
                        .landlock_abi = plan->landlock_abi,
#ifdef QS_SANDBOX_CONTROLS
                        .left_out = plan->left_out,
#endif
                        .cpu_seconds = plan->cpu_seconds,
                        .memory_bytes = plan->memory_by_group ? 0 : plan->memory_bytes,
                        .file_bytes = plan->file_bytes,
                        .processes = plan->processes_by_group ? 0 : plan->processes,
                        .open_files = plan->open_files};
    return spec_encode(&spec, out, err);
}
