/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock, the second barrier for writes: whatever the mounts say, only what the plan makes writable can be written,
 * made, removed, renamed or cut. It comes after all mounts, since it forbids mounting. landlock(7), and the kernel's
 * userspace-api/landlock for what each ABI knows.
 */
#include "sandbox/shim/shim_steps.h"

#include "base/cleanup.h"
#include "sandbox/wire/sys.h"

#include <errno.h>
#include <sys/stat.h>

#define WRITE_FILE_RIGHTS (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE)
#define WRITE_DIR_RIGHTS \
    (LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | \
     LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | \
     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | \
     LANDLOCK_ACCESS_FS_REFER)

static uint64_t handled_rights(int abi)
{
    uint64_t rights = WRITE_FILE_RIGHTS | WRITE_DIR_RIGHTS;
    if (abi < 2)
        rights &= ~(uint64_t)LANDLOCK_ACCESS_FS_REFER;
    if (abi < 3)
        rights &= ~(uint64_t)LANDLOCK_ACCESS_FS_TRUNCATE;
    return rights;
}

static enum qs_status allow(int ruleset, const char *path, uint64_t rights, struct qs_error *err)
{
    AUTO_FD int fd = sys_open(AT_FDCWD, path, O_PATH, RESOLVE_NO_SYMLINKS);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        return error_sys(err, QS_IO, errno, "cannot open %s for its Landlock rule", path);
    if (!S_ISDIR(st.st_mode))
        rights &= WRITE_FILE_RIGHTS;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights, .parent_fd = fd};
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
        return error_sys(err, QS_IO, errno, "cannot add the Landlock rule for %s", path);
    return QS_OK;
}

static bool is_writable(enum mount_kind kind)
{
    return kind == MOUNT_WRITABLE || kind == MOUNT_CACHE || kind == MOUNT_PRIVATE;
}

enum qs_status shim_landlock(const struct spec *spec, struct qs_error *err)
{
    if (spec->landlock_abi == 0)
        return QS_OK; /* this kernel has none; `inspect` says so */
    uint64_t rights = handled_rights(spec->landlock_abi);
    struct sys_landlock_attr attr = {.handled_access_fs = rights};
    if (spec->scope_abstract)
        attr.scoped = SANDBOX_LANDLOCK_SCOPE_ABSTRACT;
    size_t size = spec->landlock_abi >= 6 ? sizeof attr : sizeof attr.handled_access_fs;
    AUTO_FD int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (ruleset < 0)
        return error_sys(err, QS_IO, errno, "cannot make the Landlock rules");
    enum qs_status status = allow(ruleset, "/tmp", rights, err);
    if (status == QS_OK && spec->private_var_tmp)
        status = allow(ruleset, "/var/tmp", rights, err);
    if (status == QS_OK)
        status = allow(ruleset, "/dev", rights, err);
    if (status == QS_OK) /* a process's own oom_score_adj, comm and the like */
        status = allow(ruleset, "/proc", rights & WRITE_FILE_RIGHTS, err);
    for (size_t i = 0; i < spec->mount_count && status == QS_OK; i++)
        if (is_writable(spec->mounts[i].kind))
            status = allow(ruleset, spec->mounts[i].dest, rights, err);
    if (status == QS_OK && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        status = error_sys(err, QS_IO, errno, "the kernel refuses the Landlock rules");
    return status;
}
