/* SPDX-License-Identifier: Apache-2.0 */
/* Looking on the host for what a run was to leave inside. */
#include "sandbox/verify/crossed.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "base/path.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX_BYTES ((size_t)1 << 20)

static bool exists(const char *dir, const char *name)
{
    AUTO_FREE char *path = path_join(dir, name);
    struct stat st;
    return !path || lstat(path, &st) == 0;
}

static bool has_text(const char *dir, const char *name, const char *text)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_FREE char *data = NULL;
    size_t len = 0;
    AUTO_FD int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    return fd >= 0 && (os_read_all(fd, name, FILE_MAX_BYTES, &data, &len, NULL) != QS_OK || strstr(data, text));
}

const char *crossed_to_host(const struct decoys *decoys, enum verify_check check)
{
    const char *tree = decoys->worktree;
    if (check == CHECK_CROSSING_CONFIG && has_text(tree, CROSSED_CONFIG, decoys->secret))
        return "the host's configuration names the command's program";
    if (check == CHECK_CROSSING_INDEX && exists(tree, CROSSED_INDEX))
        return "the host has the forged index";
    if (check == CHECK_CROSSING_LINK && exists(tree, CROSSED_LINK))
        return "the host's git directory has the link";
    if (check == CHECK_CROSSING_REF && exists(decoys->base, CROSSED_REF))
        return "the branch of another worktree was moved on the host";
    if (check == CHECK_CROSSING_HOOK && exists(tree, CROSSED_HOOK))
        return "the new repository has the command's hook";
    if (check == CHECK_CROSSING_REPOSITORY && has_text(tree, CROSSED_REPOSITORY, decoys->secret))
        return "the new repository has the command's configuration";
    return NULL;
}
