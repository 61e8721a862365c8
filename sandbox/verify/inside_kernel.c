/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of processes and of the kernel's surface, from inside. */
#include "sandbox/verify/inside_checks.h"

#include "base/cleanup.h"
#include "sandbox/plan/plan_env.h"
#include "sandbox/wire/sys.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>

#define FIRST_MAX_FDS 64 /* of process 1 */

/* ---- environment and policy ---- */

static bool holds(const char *data, size_t len, const void *context)
{
    const char *word = context;
    return memmem(data, len, word, strlen(word)) != NULL;
}

void inside_env_secret(const struct inside_brief *brief, struct inside_record *record)
{
    int pid = 0;
    const char *found = NULL;
    for (char *const *item = environ; *item && !found; item++)
        if (strstr(*item, brief->secret))
            found = *item;
    if (found)
        inside_fail(record, "%.*s is passed", (int)strcspn(found, "="), found);
    else if (inside_each_process("environ", holds, brief->secret, &pid))
        inside_fail(record, "/proc/%d/environ shows a secret", pid);
    else
        inside_pass(record, "no planted secret in this environment or any /proc/*/environ");
}

void inside_env_loader(const struct inside_brief *brief, struct inside_record *record)
{
    (void)brief;
    for (char *const *item = environ; *item; item++) {
        size_t len = strcspn(*item, "=");
        if (env_name_redirects(*item, len)) {
            inside_fail(record, "%.*s is passed", (int)len, *item);
            return;
        }
    }
    inside_pass(record, "no variable that loads code or redirects a program");
}

/* Something of process 1, which was told the policy, that can be opened; "": nothing. Its descriptors may be counted by
 * root, since the directory is root's, but not opened. */
static void open_of_first(char found[64])
{
    static const char *const closed[] = {"environ", "mem", "maps", "root/", "cwd/"};
    for (int i = -(int)(sizeof closed / sizeof closed[0]); i < FIRST_MAX_FDS; i++) {
        if (i < 0)
            (void)snprintf(found, 64, "/proc/1/%s", closed[-i - 1]);
        else
            (void)snprintf(found, 64, "/proc/1/fd/%d", i);
        AUTO_FD int fd = open(found, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd >= 0)
            return;
    }
    found[0] = '\0';
}

void inside_policy(const struct inside_brief *brief, struct inside_record *record)
{
    int pid = 0;
    char found[64];
    open_of_first(found);
    if (inside_each_process("cmdline", holds, brief->marker, &pid) ||
        inside_each_process("environ", holds, brief->marker, &pid))
        inside_fail(record, "/proc/%d shows words of the policy", pid);
    else if (found[0])
        inside_fail(record, "%s, of the process that was told the policy, can be opened", found);
    else
        inside_pass(record, "no word of it in any command line or environment; process 1 cannot be looked into");
}

/* ---- processes ---- */

static bool is_named(const char *data, size_t len, const void *context)
{
    const char *name = context;
    return len >= strlen(name) && memcmp(data, name, strlen(name)) == 0;
}

void inside_pid_namespace(const struct inside_brief *brief, struct inside_record *record)
{
    struct stat st;
    int pid = 0;
    if (stat("/proc/self/ns/pid", &st) != 0)
        inside_fail(record, "/proc/self/ns/pid cannot be looked at: %s", inside_errno(errno));
    else if (st.st_ino == brief->pid_namespace)
        inside_fail(record, "this is the host's PID namespace");
    else if (inside_each_process("comm", is_named, brief->victim_name, &pid))
        inside_fail(record, "a process of the host is seen, as number %d", pid);
    else
        inside_pass(record, "a namespace of its own, and no process of the host in /proc");
}

/* The host says whether the signal came. The number may by chance be one of in here, which ignores it. */
void inside_outside_signal(const struct inside_brief *brief, struct inside_record *record)
{
    record->error = kill(brief->victim, SIGUSR1) == 0 ? 0 : errno;
    inside_pass(record, "a signal to a process of the host: %s",
                record->error ? inside_errno(record->error) : "the number is another process in here");
}

/* To all of this process group. What the host's own processes would get is told by the host; a group of 0 is one whose
 * leader is outside: getpgrp(2) in a PID namespace. */
void inside_group_signal(const struct inside_brief *brief, struct inside_record *record)
{
    (void)brief;
    record->error = kill(0, SIGWINCH) == 0 ? 0 : errno;
    if (record->error)
        inside_fail(record, "kill(0, ...) failed: %s", inside_errno(record->error));
    else if (getpgrp() == 0)
        inside_fail(record, "the process group is one of the host's");
    else
        inside_pass(record, "kill(0, ...) stays in a group of its own");
}

/* ---- the kernel's surface ---- */

static int error_of(long result)
{
    return result < 0 ? errno : 0;
}

static int try_clone(void)
{
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(0);
    int error = error_of(pid);
    if (pid > 0)
        (void)waitpid((pid_t)pid, NULL, 0);
    return error;
}

static int try_unshare(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(error_of(syscall(SYS_unshare, CLONE_NEWUSER)));
    int status = 0;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

void inside_user_namespace(const struct inside_brief *brief, struct inside_record *record)
{
    (void)brief;
    char limit[16] = "";
    AUTO_FD int fd = open("/proc/sys/user/max_user_namespaces", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, limit, sizeof limit - 1);
    int unshared = try_unshare(), cloned = try_clone();
    record->error = unshared;
    if (unshared != EPERM || cloned != EPERM)
        inside_fail(record, "unshare gave %s and clone %s, where the call filter says EPERM", inside_errno(unshared),
                    inside_errno(cloned));
    else if (len <= 0 || strcmp(limit, "0\n") != 0)
        inside_fail(record, "denied by the call filter alone: user.max_user_namespaces is not 0");
    else
        inside_pass(record, "unshare and clone: EPERM; user.max_user_namespaces is 0");
}

/* open_tree without a copy needs no privilege, so what denies it is the filter alone. */
void inside_mount(const struct inside_brief *brief, struct inside_record *record)
{
    (void)brief;
    const struct {
        const char *what;
        int error;
    } attempts[] = {
        {"mount", error_of(mount("none", "/tmp", "tmpfs", MS_NOSUID, NULL))},
        {"umount", error_of(umount2("/proc", MNT_DETACH))},
        {"fsopen", error_of(sys_fsopen("tmpfs"))},
        {"open_tree", error_of(syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLOEXEC))},
    };
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
        record->error = attempts[i].error;
        if (record->error != EPERM) {
            inside_fail(record, "%s gave %s", attempts[i].what, inside_errno(record->error));
            return;
        }
    }
    inside_pass(record, "mount, umount, fsopen and open_tree: EPERM");
}

/* In a session of its own with a terminal of its own, where the call needs no privilege. */
static int try_terminal(unsigned long request, unsigned char word)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        int terminal = posix_openpt(O_RDWR | O_NOCTTY);
        const char *name =
            terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0 ? ptsname(terminal) : NULL;
        int end = name && setsid() > 0 ? open(name, O_RDWR) : -1; /* becomes the controlling terminal */
        _exit(end < 0 ? ENODEV : error_of(syscall(SYS_ioctl, end, request, &word)));
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

void inside_tiocsti(const struct inside_brief *brief, struct inside_record *record)
{
    (void)brief;
    const unsigned long upper = 1UL << 32;      /* the kernel looks at the lower half of the request only */
    const unsigned long linux_request = 0x541c; /* TIOCLINUX */
    int plain = try_terminal(TIOCSTI, 'x'), wide = try_terminal(TIOCSTI | upper, 'x');
    int console = try_terminal(linux_request, 0);
    record->error = plain;
    if (plain == EPERM && wide == EPERM && console == EPERM)
        inside_pass(record, "TIOCSTI, also with an upper half, and TIOCLINUX: EPERM");
    else
        inside_fail(record, "TIOCSTI: %s; with an upper half: %s; TIOCLINUX: %s", inside_errno(plain),
                    inside_errno(wide), inside_errno(console));
}

void inside_io_uring(const struct inside_brief *brief, struct inside_record *record)
{
    (void)brief;
    struct io_uring_params params = {0};
    AUTO_FD int ring = (int)syscall(SYS_io_uring_setup, 1, &params);
    record->error = ring < 0 ? errno : 0;
    int entered = error_of(syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0));
    if (record->error == EPERM && entered == EPERM)
        inside_pass(record, "io_uring_setup and io_uring_enter: EPERM");
    else if (record->error == ENOSYS)
        inside_pass(record, "this kernel has no io_uring");
    else
        inside_fail(record, "io_uring_setup: %s; io_uring_enter: %s", inside_errno(record->error),
                    inside_errno(entered));
}

/* ---- privileges ---- */

/* The number in a line of /proc/self/status; -1 where there is none. */
static long long status_value(const char *name, int base)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long long value = -1;
    size_t len = strlen(name);
    while (file && value < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, name, len) == 0 && line[len] == ':')
            value = strtoll(line + len + 1, NULL, base);
    if (file)
        (void)fclose(file);
    return value;
}

void inside_capabilities(const struct inside_brief *brief, struct inside_record *record)
{
    (void)brief;
    static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if (status_value(sets[i], 16) != 0) {
            inside_fail(record, "%s is not empty", sets[i]);
            return;
        }
    record->error = sethostname("qsandbox", 8) == 0 ? 0 : errno;
    if (record->error == EPERM)
        inside_pass(record, "all five sets are empty; sethostname: EPERM");
    else
        inside_fail(record, "the sets are empty, but sethostname gave %s", inside_errno(record->error));
}

void inside_no_new_privs(const struct inside_brief *brief, struct inside_record *record)
{
    (void)brief;
    int flag = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
    errno = 0;
    int undone = prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0 ? 0 : errno;
    if (flag == 1 && undone)
        inside_pass(record, "set, and cannot be taken back");
    else
        inside_fail(record, "no_new_privs is %d", flag);
}

/* ---- the wall limit ---- */

/* An orphan in a session of its own holds standard output open; the probe's own process lingers too. The host sees
 * whether both are gone in time; what is said here is only that they were there. */
void inside_wall_limit(const struct inside_brief *brief, struct inside_record *record)
{
    (void)brief;
    pid_t pid = fork();
    if (pid == 0) {
        if (setsid() > 0 && fork() == 0)
            inside_linger();
        _exit(0);
    }
    (void)waitpid(pid, NULL, 0);
    inside_pass(record, "a command and its orphan that ignore SIGTERM");
}
