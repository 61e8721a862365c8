/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the system call filter. */
#include "sandbox/plan/filter.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define INT_MASK          UINT64_C(0xffffffff)
#define SOCKET_TYPE_MASK  UINT64_C(0xf) /* the rest are SOCK_CLOEXEC and SOCK_NONBLOCK: net/socket.c */
#define FAMILY_MAX        64            /* AF_MAX is 46 in Linux 6.18; above it the kernel itself refuses */
#define TIOCSTI_REQUEST   0x5412
#define TIOCLINUX_REQUEST 0x541c

/* Denied with EPERM whatever the arguments. Where a kernel lacks one, libseccomp's number is simply never called. */
static const char *const denied[] = {
    /* mounts */
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "open_tree",
    "move_mount",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "swapon",
    "swapoff",
    "quotactl",
    "quotactl_fd",
    /* namespaces */
    "unshare",
    "setns",
    /* the kernel's inside */
    "bpf",
    "perf_event_open",
    "userfaultfd",
    "kexec_load",
    "kexec_file_load",
    "init_module",
    "finit_module",
    "delete_module",
    "iopl",
    "ioperm",
    "reboot",
    "syslog",
    "acct",
    "lookup_dcookie",
    "fanotify_init",
    "vhangup",
    "nfsservctl",
    "uselib",
    "_sysctl",
    /* keys */
    "add_key",
    "request_key",
    "keyctl",
    /* the clock */
    "settimeofday",
    "clock_settime",
    "adjtimex",
    "clock_adjtime",
    "stime",
    /* a second way into files and sockets, past this filter */
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "open_by_handle_at",
};
/* Newer than this libseccomp; since Linux 5.1 a new call has one number on all architectures. */
static const int denied_numbers[] = {
    467, /* open_tree_attr, Linux 6.15 */
};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void release_context(scmp_filter_ctx *context)
{
    if (*context)
        seccomp_release(*context);
}

static int deny(scmp_filter_ctx context, int error, const char *name)
{
    int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR)
        return 0; /* no such call on this architecture, or newer than this libseccomp */
    return seccomp_rule_add(context, SCMP_ACT_ERRNO((uint32_t)error), number, 0);
}

static int deny_if(scmp_filter_ctx context, int number, struct scmp_arg_cmp compare)
{
    return seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), number, 1, compare);
}

static int rules_calls(scmp_filter_ctx context)
{
    int code = 0;
    for (size_t i = 0; i < COUNT(denied) && code == 0; i++)
        code = deny(context, EPERM, denied[i]);
    for (size_t i = 0; i < COUNT(denied_numbers) && code == 0; i++)
        code = seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), denied_numbers[i], 0);
    /* clone3 hides its flags behind a pointer: a program that gets ENOSYS falls back to clone. */
    return code ? code : deny(context, ENOSYS, "clone3");
}

static int rules_namespaces(scmp_filter_ctx context)
{
    /* A time namespace cannot be had by clone: its bit is part of the exit signal there. */
    static const uint64_t flags[] = {CLONE_NEWNS,  CLONE_NEWUTS, CLONE_NEWIPC,   CLONE_NEWUSER,
                                     CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWCGROUP};
    int code = 0;
    for (size_t i = 0; i < COUNT(flags) && code == 0; i++)
        code = deny_if(context, SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i]));
    return code;
}

static int rules_terminal(scmp_filter_ctx context)
{
    int code = deny_if(context, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, INT_MASK, TIOCSTI_REQUEST));
    return code ? code : deny_if(context, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, INT_MASK, TIOCLINUX_REQUEST));
}

/* The limit of core dumps stays what the shim made it. Programs that keep secrets insist that they can set it to 0
 * (gpg, ssh-agent), and are told that they did; who asks for the old limit in the same call would see what nobody
 * wrote. */
static int rules_core(scmp_filter_ctx context)
{
    const struct scmp_arg_cmp is_core[] = {SCMP_A0(SCMP_CMP_MASKED_EQ, INT_MASK, RLIMIT_CORE),
                                           SCMP_A1(SCMP_CMP_MASKED_EQ, INT_MASK, RLIMIT_CORE)};
    const struct scmp_arg_cmp sets = SCMP_A2(SCMP_CMP_NE, 0, 0);
    int code = seccomp_rule_add(context, SCMP_ACT_ERRNO(0), SCMP_SYS(prlimit64), 3, is_core[1], sets,
                                SCMP_A3(SCMP_CMP_EQ, 0, 0));
    if (code == 0)
        code = seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 3, is_core[1], sets,
                                SCMP_A3(SCMP_CMP_NE, 0, 0));
    return code ? code : seccomp_rule_add(context, SCMP_ACT_ERRNO(0), SCMP_SYS(setrlimit), 1, is_core[0]);
}

/* personality(0xffffffff) asks and changes nothing. The 64-bit comparison denies more here than needed, never less. */
static int rules_personality(scmp_filter_ctx context)
{
    return deny_if(context, SCMP_SYS(personality), SCMP_A0(SCMP_CMP_NE, INT_MASK, 0));
}

/* Which values of an argument are left alone, of those below a power of two. */
struct allowed {
    int call;
    unsigned argument;
    uint64_t mask;  /* what of the argument the kernel looks at */
    uint64_t value; /* the argument's bit set of allowed values */
};

/* Denies all values from base on, size of them, but the allowed ones: a block without any is one rule, another is
 * halved. */
static int deny_block(scmp_filter_ctx context, const struct allowed *allowed, unsigned base, unsigned size)
{
    uint64_t bits = size == 64 ? UINT64_MAX : ((UINT64_C(1) << size) - 1) << base;
    if (!(allowed->value & bits)) {
        struct scmp_arg_cmp compare = {.arg = allowed->argument,
                                       .op = SCMP_CMP_MASKED_EQ,
                                       .datum_a = allowed->mask & ~(uint64_t)(size - 1),
                                       .datum_b = base};
        return deny_if(context, allowed->call, compare);
    }
    if (size == 1)
        return 0;
    int code = deny_block(context, allowed, base, size / 2);
    return code ? code : deny_block(context, allowed, base + size / 2, size / 2);
}

static int rules_sockets(scmp_filter_ctx context, enum qs_unix_sockets unix_sockets)
{
    uint64_t families = UINT64_C(1) << AF_INET | UINT64_C(1) << AF_INET6 | UINT64_C(1) << AF_NETLINK;
    if (unix_sockets != QS_UNIX_BLOCKED)
        families |= UINT64_C(1) << AF_UNIX;
    const struct allowed socket_families = {.call = SCMP_SYS(socket),
                                            .argument = 0,
                                            .mask = INT_MASK,
                                            .value = families};
    /* A datagram pair can send to any path. Stream and packet pairs are connected for good: another address is ignored
     * or refused (unix(7); tried). Rust's standard library starts processes with a packet pair. */
    const struct allowed pair_types = {.call = SCMP_SYS(socketpair),
                                       .argument = 1,
                                       .mask = SOCKET_TYPE_MASK,
                                       .value = 1u << SOCK_STREAM | 1u << SOCK_SEQPACKET};
    /* Others have no pairs, or (TIPC) a way to reach others by one; merely asking loads their modules on the host. */
    const struct allowed pair_families = {.call = SCMP_SYS(socketpair),
                                          .argument = 0,
                                          .mask = INT_MASK,
                                          .value = UINT64_C(1) << AF_UNIX};
    int code = deny_block(context, &socket_families, 0, FAMILY_MAX);
    if (code == 0)
        code = deny_block(context, &pair_families, 0, FAMILY_MAX);
    /* The kernel makes socket(AF_INET, SOCK_PACKET, ...) an AF_PACKET one: net/socket.c. */
    if (code == 0)
        code = seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
                                SCMP_A1(SCMP_CMP_MASKED_EQ, SOCKET_TYPE_MASK, SOCK_PACKET));
    /* Of netlink only routing, which address look-ups read. */
    if (code == 0)
        code = seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 2,
                                SCMP_A0(SCMP_CMP_MASKED_EQ, INT_MASK, AF_NETLINK), SCMP_A2(SCMP_CMP_NE, 0, 0));
    if (code == 0 && unix_sockets == QS_UNIX_BLOCKED)
        code = deny_block(context, &pair_types, 0, SOCKET_TYPE_MASK + 1);
    return code;
}

static int rules(scmp_filter_ctx context, enum qs_unix_sockets unix_sockets)
{
    int code = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (code == 0)
        code = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a binary tree: fewer steps for each call */
    if (code == 0)
        code = rules_calls(context);
    if (code == 0)
        code = rules_namespaces(context);
    if (code == 0)
        code = rules_terminal(context);
    if (code == 0)
        code = rules_personality(context);
    if (code == 0)
        code = rules_core(context);
    return code ? code : rules_sockets(context, unix_sockets);
}

enum qs_status filter_make(enum qs_unix_sockets unix_sockets, struct buf *out, struct qs_error *err)
{
    AUTO(release_context) scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
    AUTO_FD int fd = memfd_create("filter", MFD_CLOEXEC);
    if (!context || fd < 0)
        return error_set(err, QS_IO, "cannot begin the system call filter");
    int code = rules(context, unix_sockets);
    if (code == 0)
        code = seccomp_export_bpf(context, fd);
    if (code != 0)
        return error_sys(err, QS_IO, -code, "cannot make the system call filter");
    off_t len = lseek(fd, 0, SEEK_END);
    AUTO_FREE char *program = len > 0 ? malloc((size_t)len) : NULL;
    if (!program || pread(fd, program, (size_t)len, 0) != (ssize_t)len)
        return error_set(err, QS_IO, "cannot read the system call filter back");
    buf_add(out, program, (size_t)len);
    return out->failed ? error_memory(err) : QS_OK;
}
