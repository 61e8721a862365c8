/* SPDX-License-Identifier: Apache-2.0 */
/* What a session does first: it reads its policy, whole or not at all.
 * cc reader.c $(pkg-config --cflags --libs qsettings) */
#include <qsettings/qsettings.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct qs_policy_options options = {.size = sizeof options, .root = argc > 1 ? argv[1] : NULL};
    struct qs_policy_result *result = NULL;
    struct qs_error err = {0};
    enum qs_status status = qs_policy_read(&options, &result, &err);

    if (status == QS_OK) {
        const struct qs_policy *policy = qs_policy_get(result);
        printf("filesystem %s, network %s\n",
               policy->filesystem == QS_FS_WORKSPACE_WRITE ? "workspace-write" : "read-only",
               policy->network == QS_NET_OPEN ? "open" : "closed");
    } else {
        fprintf(stderr, "refused: %s: %s\n", qs_status_name(status), err.message);
    }
    qs_policy_free(result);
    return -(int)status;
}
