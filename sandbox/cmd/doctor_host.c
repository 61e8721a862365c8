/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: bubblewrap, namespaces, Landlock, the call filter. */
#include "sandbox/cmd/diagnose.h"

#include "base/cleanup.h"
#include "sandbox/host/facts.h"
#include "sandbox/host/probe.h"
#include "sandbox/wire/sys.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

/* ---- bubblewrap ---- */

static const char *bwrap_advice(enum qs_status status)
{
    return status == QS_ABSENT ? "apt-get install bubblewrap" : "apt-get install --reinstall bubblewrap";
}

/* Options that every sandbox needs, and those that it does without at a price. */
static bool knows_needed(const char *path)
{
    static const char *const needed[] = {"--unshare-cgroup", "--unshare-pid", "--as-pid-1", "--cap-drop", "ALL",
                                         "--perms",          "0755",          "--tmpfs",    "/tmp",       NULL};
    return probe_option(path, needed);
}

static void features(const char *path, struct findings *findings)
{
    char version[64];
    probe_version(path, version, sizeof version);
    if (!knows_needed(path))
        finding_add(findings, "bwrap.features", FINDING_FAIL, "apt-get install bubblewrap (0.5 or later)",
                    "%s is too old: it does not know what every sandbox needs", version);
    else if (!probe_bind_fd(path))
        finding_add(findings, "bwrap.features", FINDING_OK, NULL,
                    "%s; it does not bind by descriptor, so the shim checks each mount afterwards", version);
    else
        finding_add(findings, "bwrap.features", FINDING_OK, NULL, "%s; it binds by descriptor", version);
}

void doctor_bwrap(const char *path, struct findings *findings)
{
    struct qs_error err = {0};
    enum qs_status status = probe_bwrap(path, &err);
    if (status) {
        finding_add_error(findings, "bwrap", FINDING_FAIL, &err, bwrap_advice(status));
        return;
    }
    finding_add(findings, "bwrap", FINDING_OK, NULL, "%s: root's, not set-user-ID, writable by root alone", path);
    features(path, findings);
    if (probe_namespaces(path, &err) != QS_OK)
        finding_add_error(findings, "namespaces", FINDING_FAIL, &err, "see docs/sandbox.md");
    else
        finding_add(findings, "namespaces", FINDING_OK, NULL, "user, mount, PID and network namespaces can be made");
}

/* ---- the kernel ---- */

void doctor_judge_sysctls(const struct doctor_sysctls *sysctls, bool is_root, struct findings *findings)
{
    static const char name[] = "namespaces.users";
    if (!is_root)
        return; /* what is refused to this user was seen */
    if (sysctls->max_user_namespaces == 0)
        finding_add(findings, name, FINDING_FAIL, "sysctl -w user.max_user_namespaces=10000",
                    "user.max_user_namespaces is 0: nobody can make a sandbox");
    else if (sysctls->unprivileged_userns_clone == 0)
        finding_add(findings, name, FINDING_WARN, "sysctl -w kernel.unprivileged_userns_clone=1",
                    "kernel.unprivileged_userns_clone is 0: only root can make a sandbox");
    else if (sysctls->apparmor_restrict_userns == 1)
        finding_add(
            findings, name, FINDING_WARN, "run 'qsandbox doctor' as a plain user",
            "AppArmor restricts user namespaces: users need a profile for bubblewrap with the rule userns, (see "
            "docs/sandbox.md)");
    else
        finding_add(findings, name, FINDING_OK, NULL, "plain users are not kept from user namespaces");
}

void doctor_judge_landlock(int abi, struct findings *findings)
{
    static const char name[] = "landlock";
    static const char boot[] = "boot with landlock in lsm= (see /sys/kernel/security/lsm), or a kernel that has it";
    if (abi == 0)
        finding_add(findings, name, FINDING_WARN, boot,
                    "the kernel has none, or it is off: mounts are the only barrier for writes");
    else if (abi < 3)
        finding_add(findings, name, FINDING_WARN, "a kernel from 6.2 on knows it",
                    "ABI %d: the second barrier for writes does not cover truncation", abi);
    else if (abi < 6)
        finding_add(findings, name, FINDING_OK, NULL,
                    "ABI %d: writes; abstract sockets are left to the call filter and the network namespace", abi);
    else
        finding_add(findings, name, FINDING_OK, NULL, "ABI %d: writes and abstract sockets", abi);
}

static void seccomp(struct findings *findings)
{
    /* prctl(2): EINVAL where the kernel was built without */
    if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0 && errno == EINVAL)
        finding_add(findings, "seccomp", FINDING_FAIL, "use a kernel with CONFIG_SECCOMP_FILTER",
                    "the kernel has no call filter");
    else
        finding_add(findings, "seccomp", FINDING_OK, NULL, "the kernel has the call filter");
}

/* The shim's own program, where there is one, is kept like this one. */
static void shim(struct findings *findings)
{
    AUTO(path_fact_release) struct path_fact fact = {.fd = -1};
    struct qs_error err = {0};
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    path[len > 0 ? len : 0] = '\0';
    if (shim_look(path, &fact, &err) != QS_OK)
        finding_add_error(findings, "shim", FINDING_FAIL, &err, "install qsandbox anew");
    else if (fact.kind == PATH_ABSENT)
        finding_add(findings, "shim", FINDING_OK, NULL, "no program of its own; qsandbox serves, and starts slower");
    else
        finding_add(findings, "shim", FINDING_OK, NULL, "%s", fact.path);
}

void doctor_host(struct findings *findings)
{
    const struct doctor_sysctls sysctls = {.max_user_namespaces = probe_sysctl("user/max_user_namespaces"),
                                           .unprivileged_userns_clone =
                                               probe_sysctl("kernel/unprivileged_userns_clone"),
                                           .apparmor_restrict_userns =
                                               probe_sysctl("kernel/apparmor_restrict_unprivileged_userns")};
    doctor_bwrap(PROBE_BWRAP, findings);
    shim(findings);
    doctor_judge_sysctls(&sysctls, geteuid() == 0, findings);
    doctor_judge_landlock(sys_landlock_abi(), findings);
    seccomp(findings);
}
