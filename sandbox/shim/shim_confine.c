/* SPDX-License-Identifier: Apache-2.0 */
/* Closing the ways out that mounts do not close: keyring, user namespaces, capabilities, limits, the call filter. */
#include "sandbox/shim/shim_steps.h"

#include "base/cleanup.h"
#include "sandbox/wire/sys.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define CAP_BITS_MAX 64 /* the kernel has 41; PR_CAPBSET_READ says where they end */

enum qs_status shim_close_userns(const struct spec *spec, struct qs_error *err)
{
    if (LEFT_OUT(spec, USERNS_LIMIT))
        return QS_OK;
    /* The limit belongs to the user namespace of whoever opens the file: ours. namespaces(7). */
    AUTO_FD int fd = open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0", 1) != 1)
        return error_sys(err, QS_IO, errno, "cannot forbid further user namespaces");
    return QS_OK;
}

/* ---- capabilities ---- */

struct caps {
    struct __user_cap_data_struct part[2]; /* 64 bits in two halves: capget(2), version 3 */
};

static enum qs_status drop_capabilities(struct qs_error *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct caps caps = {0}, seen;
    int set;
    for (int cap = 0; cap < CAP_BITS_MAX && (set = prctl(PR_CAPBSET_READ, cap)) >= 0; cap++)
        if (set && prctl(PR_CAPBSET_DROP, cap) != 0)
            return error_sys(err, QS_IO, errno, "cannot drop capability %d from the bounding set", cap);
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 || syscall(SYS_capset, &header, caps.part) != 0)
        return error_sys(err, QS_IO, errno, "cannot drop the capabilities");
    if (syscall(SYS_capget, &header, seen.part) != 0)
        return error_sys(err, QS_IO, errno, "cannot read the capabilities back");
    for (int i = 0; i < 2; i++)
        if (seen.part[i].effective | seen.part[i].permitted | seen.part[i].inheritable)
            return error_set(err, QS_CONFLICT, "capabilities are left after they were dropped");
    for (int cap = 0; cap < CAP_BITS_MAX && (set = prctl(PR_CAPBSET_READ, cap)) >= 0; cap++)
        if (set)
            return error_set(err, QS_CONFLICT, "capability %d is left in the bounding set", cap);
    return QS_OK;
}

/* ---- limits ---- */

static enum qs_status limit(int resource, const char *name, uint64_t value, struct qs_error *err)
{
    struct rlimit now;
    if (value == 0)
        return QS_OK;
    if (getrlimit(resource, &now) != 0)
        return error_sys(err, QS_IO, errno, "cannot read the limit of %s", name);
    if (now.rlim_max != RLIM_INFINITY && value > now.rlim_max)
        value = now.rlim_max; /* the caller's own limit is the narrower one */
    struct rlimit wanted = {.rlim_cur = value, .rlim_max = value};
    if (setrlimit(resource, &wanted) != 0)
        return error_sys(err, QS_IO, errno, "cannot set the limit of %s", name);
    return QS_OK;
}

/* A core pattern's handler runs outside, on the host, as root. The kernel starts it whatever the limit is, but for 1:
 * core(5). The call filter keeps it at that. A caller whose own hard limit is 0 leaves only that. */
static enum qs_status forbid_core_dumps(struct qs_error *err)
{
    const struct rlimit no_handler = {.rlim_cur = 1, .rlim_max = 1}, none = {0};
    if (setrlimit(RLIMIT_CORE, &no_handler) != 0 && setrlimit(RLIMIT_CORE, &none) != 0)
        return error_sys(err, QS_IO, errno, "cannot forbid core dumps");
    return QS_OK;
}

enum qs_status shim_limits(const struct spec *spec, struct qs_error *err)
{
    enum qs_status status = limit(RLIMIT_CPU, "processor seconds", spec->cpu_seconds, err);
    if (status == QS_OK)
        status = limit(RLIMIT_AS, "memory", spec->memory_bytes, err);
    if (status == QS_OK)
        status = limit(RLIMIT_FSIZE, "file size", spec->file_bytes, err);
    if (status == QS_OK && spec->processes) /* PID 1 is not counted against the command */
        status = limit(RLIMIT_NPROC, "processes", spec->processes + 1, err);
    if (status == QS_OK)
        status = limit(RLIMIT_NOFILE, "open files", spec->open_files, err);
    return status;
}

/* ---- the filter ---- */

static enum qs_status load_filter(const struct spec *spec, struct qs_error *err)
{
    size_t count = spec->filter_len / sizeof(struct sock_filter);
    if (count == 0 || count > BPF_MAXINSNS)
        return error_set(err, QS_INVALID, "the system call filter has %zu instructions", count);
    AUTO_FREE struct sock_filter *program = malloc(count * sizeof *program);
    if (!program)
        return error_memory(err);
    memcpy(program, spec->filter, count * sizeof *program);
    struct sock_fprog filter = {.len = (unsigned short)count, .filter = program};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0)
        return error_sys(err, QS_IO, errno, "the kernel refuses the system call filter");
    return QS_OK;
}

enum qs_status shim_confine(const struct spec *spec, struct qs_error *err)
{
    /* The caller's session keyring holds keys that mounts cannot hide. A kernel without keyrings says ENOSYS. */
    if (!LEFT_OUT(spec, KEYRING) && syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
        return error_sys(err, QS_IO, errno, "cannot leave the caller's session keyring");
    enum qs_status status = QS_OK;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        status = error_sys(err, QS_IO, errno, "cannot give up new privileges");
    if (status == QS_OK && !LEFT_OUT(spec, LANDLOCK))
        status = shim_landlock(spec, err);
    if (status == QS_OK)
        status = forbid_core_dumps(err);
    if (status == QS_OK && !LEFT_OUT(spec, CAPABILITIES))
        status = drop_capabilities(err);
    if (status == QS_OK && !LEFT_OUT(spec, SECCOMP))
        status = load_filter(spec, err);
    return status;
}
