/* SPDX-License-Identifier: Apache-2.0 */
/* Trying what bubblewrap and this machine can do. */
#include "sandbox/host/probe.h"

#include "base/cleanup.h"
#include "sandbox/wire/sys.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PROBE_ARGS_MAX 24
#define TRY_SECONDS    20

enum qs_status probe_bwrap(const char *path, struct qs_error *err)
{
    struct stat st;
    AUTO_FD int fd = sys_open(AT_FDCWD, path, O_PATH, 0);
    if (fd < 0 && errno == ENOENT) {
        error_set(err, QS_ABSENT, "bubblewrap is not installed: there is no %s", path);
        error_add_advice(err, "install the package bubblewrap");
        return QS_ABSENT;
    }
    if (fd < 0 || fstat(fd, &st) != 0)
        return error_sys(err, QS_IO, errno, "cannot open %s", path);
    if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return error_set(err, QS_UNTRUSTED, "%s is not a program that belongs to root and that only root can write",
                         path);
    if (st.st_mode & (S_ISUID | S_ISGID)) {
        error_set(err, QS_UNTRUSTED, "%s is set-user-ID, which this executor does not use", path);
        error_add_advice(err, "install a bubblewrap without that bit, and allow unprivileged user namespaces");
        return QS_UNTRUSTED;
    }
    if (!(st.st_mode & S_IXOTH) && geteuid() != 0)
        return error_set(err, QS_UNTRUSTED, "%s may not be executed", path);
    return QS_OK;
}

/* The exit status of bubblewrap with these arguments, 255 where it did not end by itself. Its output goes to out_fd, or
 * nowhere (-1). */
static int try_to(const char *path, const char *const *args, int out_fd)
{
    const char *argv[PROBE_ARGS_MAX + 2] = {path};
    static char *const environment[] = {NULL};
    for (int i = 0; args[i] && i < PROBE_ARGS_MAX; i++)
        argv[i + 1] = args[i];
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        if (null < 0 || dup2(null, 0) < 0 || dup2(out_fd < 0 ? null : out_fd, 1) < 0 || dup2(null, 2) < 0)
            _exit(255);
        (void)syscall(SYS_close_range, 3u, ~0u, 0);
        (void)signal(SIGCHLD, SIG_DFL);
        (void)alarm(TRY_SECONDS); /* stays through exec: a bubblewrap that hangs is one that does not work */
        execve(path, (char *const *)(uintptr_t)argv, environment);
        _exit(255);
    }
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static int try(const char *path, const char *const *args)
{
    return try_to(path, args, -1);
}

void probe_version(const char *path, char *text, size_t size)
{
    static const char *const version[] = {"--version", NULL};
    int ends[2];
    (void)snprintf(text, size, "bubblewrap");
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    (void)try_to(path, version, ends[1]); /* a line fits into the pipe */
    (void)close(ends[1]);
    ssize_t len = read(ends[0], text, size - 1);
    (void)close(ends[0]);
    text[len > 0 ? len : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (!text[0])
        (void)snprintf(text, size, "bubblewrap");
}

/* bubblewrap reads its arguments in order and ends with 0 at --version, with 1 at what it does not know. */
bool probe_option(const char *path, const char *const *option)
{
    const char *args[PROBE_ARGS_MAX + 1] = {NULL};
    int count = 0;
    while (option[count] && count < PROBE_ARGS_MAX - 1) {
        args[count] = option[count];
        count++;
    }
    args[count] = "--version";
    return try(path, args) == 0;
}

bool probe_bind_fd(const char *path)
{
    static const char *const writable[] = {"--bind-fd", "0", "/", NULL};
    static const char *const read_only[] = {"--ro-bind-fd", "0", "/", NULL};
    return probe_option(path, writable) && probe_option(path, read_only);
}

/* ---- why not ---- */

long probe_sysctl(const char *name)
{
    char path[128], text[32] = "";
    (void)snprintf(path, sizeof path, "/proc/sys/%s", name);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return -1;
    return strtol(text, NULL, 10);
}

static enum qs_status no_user_namespace(struct qs_error *err)
{
    if (probe_sysctl("user/max_user_namespaces") == 0) {
        error_set(err, QS_UNTRUSTED, "user namespaces are forbidden here: user.max_user_namespaces is 0");
        error_add_advice(err, "outside of a sandbox: sysctl -w user.max_user_namespaces=10000");
    } else if (probe_sysctl("kernel/unprivileged_userns_clone") == 0) {
        error_set(err, QS_UNTRUSTED, "user namespaces are root's alone here: kernel.unprivileged_userns_clone is 0");
        error_add_advice(err, "sysctl -w kernel.unprivileged_userns_clone=1");
    } else if (probe_sysctl("kernel/apparmor_restrict_unprivileged_userns") == 1) {
        error_set(err, QS_UNTRUSTED,
                  "AppArmor restricts user namespaces here: kernel.apparmor_restrict_unprivileged_userns is 1");
        error_add_advice(err, "load an AppArmor profile for %s with the rule 'userns,'; see docs/sandbox.md",
                         PROBE_BWRAP);
    } else {
        error_set(err, QS_UNTRUSTED, "the kernel refuses a user namespace to this process");
        error_add_advice(err, "a sandbox or container around it may forbid them; see docs/sandbox.md");
    }
    return QS_UNTRUSTED;
}

enum qs_status probe_namespaces(const char *path, struct qs_error *err)
{
    static const char *const user[] = {"--unshare-user", "--ro-bind", "/", "/", "--", "/bin/true", NULL};
    static const char *const proc[] = {"--unshare-user", "--unshare-pid", "--ro-bind", "/",         "/",
                                       "--proc",         "/proc",         "--",        "/bin/true", NULL};
    static const char *const net[] = {
        "--unshare-user", "--unshare-net", "--ro-bind", "/", "/", "--", "/bin/true", NULL};
    if (try(path, user) != 0)
        return no_user_namespace(err);
    if (try(path, proc) != 0) {
        error_set(err, QS_UNTRUSTED,
                  "the kernel refuses a new /proc here, as inside a container that masks parts of it");
        error_add_advice(err, "run the container with an unmasked /proc, or run outside of it");
        return QS_UNTRUSTED;
    }
    if (try(path, net) != 0)
        return error_set(err, QS_UNTRUSTED, "the kernel refuses a network namespace here");
    return QS_OK;
}

enum qs_status probe_explain(const char *path, int exit_status, const char *text, struct qs_error *err)
{
    enum qs_status status = probe_namespaces(path, err);
    if (status)
        return status;
    return error_set(err, QS_IO, "bubblewrap could not set the sandbox up (exit status %d): %s", exit_status,
                     text[0] ? text : "it gave no reason");
}
