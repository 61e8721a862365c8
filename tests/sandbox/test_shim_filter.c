/* SPDX-License-Identifier: Apache-2.0 */
/* The call filter, loaded in a child and tried. Each denial is also tried without the filter where that has no effect
 * on the machine, so that it is the filter that denies. */
#include "sandbox/plan/filter.h"

#include "base/cleanup.h"
#include "sandbox/wire/sys.h"
#include "tests/support/scratch.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#define OPEN_TREE_ATTR_NUMBER 467

static void load(enum qs_unix_sockets unix_sockets)
{
    const struct filter_table *table = &filter_tables[unix_sockets];
    struct sock_fprog filter = {.len = (unsigned short)(table->bytes / sizeof(struct sock_filter)),
                                .filter = (struct sock_filter *)(uintptr_t)table->steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0)
        _exit(98);
}

/* Runs attempt in a child under the filter; it returns 0 or an errno, which is returned. A signal gives 1000 + n. */
static int under_filter(enum qs_unix_sockets unix_sockets, int (*attempt)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        load(unix_sockets);
        _exit(attempt());
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int blocked(int (*attempt)(void))
{
    return under_filter(QS_UNIX_BLOCKED, attempt);
}

#define CALL(name, expression) \
    static int name(void) \
    { \
        return (expression) < 0 ? errno : 0; \
    }

CALL(make_unix, socket(AF_UNIX, SOCK_STREAM, 0))
CALL(make_unix_high_bits, syscall(SYS_socket, 0x100000001UL, SOCK_STREAM, 0))
CALL(make_unix_datagram, socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0))
CALL(make_inet, socket(AF_INET, SOCK_STREAM, 0))
CALL(make_inet6, socket(AF_INET6, SOCK_DGRAM, 0))
CALL(make_packet, socket(AF_PACKET, SOCK_RAW, 0))
CALL(make_old_packet, socket(AF_INET, SOCK_PACKET, 0))
CALL(make_old_packet_flags, socket(AF_INET, SOCK_PACKET | SOCK_CLOEXEC, 0))
CALL(make_vsock, socket(AF_VSOCK, SOCK_STREAM, 0))
CALL(make_alg, socket(38, SOCK_SEQPACKET, 0))
CALL(make_route, socket(AF_NETLINK, SOCK_RAW, 0))
CALL(make_audit, socket(AF_NETLINK, SOCK_RAW, 9))
CALL(make_audit_high_bits, syscall(SYS_socket, AF_NETLINK, SOCK_RAW, 0x100000009UL))

static int pair_of(int type)
{
    int pair[2];
    return socketpair(AF_UNIX, type, 0, pair) < 0 ? errno : 0;
}
CALL(stream_pair, pair_of(SOCK_STREAM | SOCK_CLOEXEC) ? -1 : 0)
CALL(datagram_pair, (errno = pair_of(SOCK_DGRAM)) ? -1 : 0)
CALL(datagram_pair_flags, (errno = pair_of(SOCK_DGRAM | SOCK_NONBLOCK)) ? -1 : 0)
CALL(raw_pair, (errno = pair_of(SOCK_RAW)) ? -1 : 0)

static int count_pairs(void)
{
    int count = 0, pair[2];
    for (int family = 0; family < 64; family++)
        count += socketpair(family, SOCK_STREAM, 0, pair) == 0 || errno != EPERM;
    return count;
}

static int use_stream_pair(void)
{
    int pair[2];
    char byte = 0;
    struct iovec part = {.iov_base = (char[]){'b'}, .iov_len = 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || sendto(pair[0], "a", 1, 0, NULL, 0) != 1 ||
        sendmsg(pair[0], &message, 0) != 1 || recv(pair[1], &byte, 1, 0) != 1 || byte != 'a')
        return errno ? errno : 77;
    struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "/run/nobody"};
    /* A connected stream takes no address: this is why pairs may stay. */
    return sendto(pair[0], "a", 1, 0, (struct sockaddr *)&to, sizeof to) < 0 && errno == EISCONN ? 0 : 78;
}

static struct sockaddr_un listening = {.sun_family = AF_UNIX};

/* A packet pair takes an address and ignores it: what is sent is the peer's; nor can it be connected anew. */
static int use_packet_pair(void)
{
    int pair[2];
    char byte = 0;
    const struct sockaddr *address = (const struct sockaddr *)&listening;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0 ||
        sendto(pair[0], "a", 1, 0, address, sizeof listening) != 1 || recv(pair[1], &byte, 1, 0) != 1 || byte != 'a')
        return errno ? errno : 77;
    if (connect(pair[0], address, sizeof listening) == 0 || errno != EISCONN)
        return 78;
    (void)close(pair[1]);
    return connect(pair[0], address, sizeof listening) != 0 && errno == EISCONN ? 0 : 79;
}

CALL(call_unshare, unshare(CLONE_NEWUSER))
CALL(call_setns, setns(0, 0))
CALL(call_clone3, syscall(SYS_clone3, NULL, 0))
CALL(call_mount, syscall(SYS_mount, "none", "/nowhere", "tmpfs", 0, NULL))
CALL(call_open_tree, syscall(SYS_open_tree, AT_FDCWD, "/", 0))
CALL(call_open_tree_attr, syscall(OPEN_TREE_ATTR_NUMBER, AT_FDCWD, "/", 0, NULL, 0))
CALL(call_fsopen, syscall(SYS_fsopen, "tmpfs", 0))
CALL(call_setattr, syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, NULL, 0))
CALL(call_umount, syscall(SYS_umount2, "/nowhere", 0))
CALL(call_bpf, syscall(SYS_bpf, 0, NULL, 0))
CALL(call_perf, syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0))
CALL(call_userfaultfd, syscall(SYS_userfaultfd, 0))
CALL(call_keyctl, syscall(SYS_keyctl, 0, 0, 0, 0, 0))
CALL(call_add_key, syscall(SYS_add_key, NULL, NULL, NULL, 0, 0))
CALL(call_io_uring, syscall(SYS_io_uring_setup, 1, NULL))
CALL(call_kexec, syscall(SYS_kexec_load, 0, 0, NULL, 0))
CALL(call_module, syscall(SYS_init_module, NULL, 0, ""))
CALL(call_handle, syscall(SYS_open_by_handle_at, -1, NULL, 0))
CALL(call_tiocsti, ioctl(0, 0x5412, "x"))
CALL(call_tiocsti_high_bits, syscall(SYS_ioctl, 0, 0x100005412UL, "x"))
CALL(call_tioclinux, ioctl(0, 0x541c, "x"))
CALL(ask_personality, personality(0xffffffff))
CALL(change_personality, personality(ADDR_NO_RANDOMIZE))

static int clone_user(void)
{
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(0);
    return pid < 0 ? errno : 0;
}

/* Nothing of the limit of core dumps can be changed, by either call, though who sets it to 0 is told that it is. */
static int change_core(void)
{
    struct rlimit now = {0}, was = {0}, zero = {0};
    if (getrlimit(RLIMIT_CORE, &was) != 0 || was.rlim_cur == 0)
        return 80;
    if (syscall(SYS_prlimit64, 0, 0x100000000UL | RLIMIT_CORE, &zero, NULL) != 0)
        return 81;
#ifdef SYS_setrlimit
    if (syscall(SYS_setrlimit, RLIMIT_CORE, &zero) != 0)
        return 82;
#endif
    if (syscall(SYS_prlimit64, 0, RLIMIT_CORE, &zero, &now) == 0 || errno != EPERM)
        return 83;
    return getrlimit(RLIMIT_CORE, &now) == 0 && now.rlim_cur == was.rlim_cur ? 0 : 84;
}

static int change_another_limit(void)
{
    struct rlimit now = {0}, wanted = {.rlim_cur = 50, .rlim_max = 50};
    if (setrlimit(RLIMIT_NOFILE, &wanted) != 0)
        return errno;
    return getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur == 50 ? 0 : 80;
}

static int plain_fork(void)
{
    pid_t pid = fork();
    int status = 0;
    if (pid == 0)
        _exit(5);
    return pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5 ? 0 : 79;
}

#ifdef __x86_64__
static int call_x32(void)
{
    return syscall(0x40000000 + 39) < 0 ? errno : 0; /* getpid by the x32 entry */
}
static int call_i386(void)
{
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory"); /* getpid by the 32-bit entry */
    return result < 0 ? (int)-result : 0;
}
#endif

static void unix_sockets_cannot_be_made_when_blocked(void **state)
{
    (void)state;
    assert_int_equal(make_unix(), 0);
    assert_int_equal(blocked(make_unix), EPERM);
    assert_int_equal(blocked(make_unix_datagram), EPERM);
    assert_int_equal(blocked(make_unix_high_bits), EPERM);
    assert_int_equal(under_filter(QS_UNIX_PRIVATE, make_unix), 0);
    assert_int_equal(under_filter(QS_UNIX_OPEN, make_unix), 0);
}

static void connected_pairs_work_and_no_other_pair_does(void **state)
{
    (void)state;
    assert_int_equal(blocked(stream_pair), 0);
    assert_int_equal(blocked(use_stream_pair), 0);
    assert_int_equal(blocked(datagram_pair), EPERM);
    assert_int_equal(blocked(datagram_pair_flags), EPERM);
    struct scratch scratch;
    scratch_make(&scratch);
    (void)snprintf(listening.sun_path, sizeof listening.sun_path, "%s/socket", scratch.dir);
    AUTO_FD int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&listening, sizeof listening), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(blocked(use_packet_pair), 0);
    assert_int_equal(accept(listener, NULL, NULL), -1); /* nobody came */
    scratch_remove(&scratch);
    assert_int_equal(blocked(raw_pair), EPERM);
    assert_int_equal(under_filter(QS_UNIX_PRIVATE, datagram_pair), 0);
}

static void only_the_common_families_are_left(void **state)
{
    (void)state;
    const enum qs_unix_sockets modes[] = {QS_UNIX_BLOCKED, QS_UNIX_PRIVATE, QS_UNIX_OPEN};
    assert_true(geteuid() != 0 || make_old_packet() == 0);
    assert_true(count_pairs() > 1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(under_filter(modes[i], make_inet), 0);
        assert_int_equal(under_filter(modes[i], make_inet6), 0);
        assert_int_equal(under_filter(modes[i], make_route), 0);
        assert_int_equal(under_filter(modes[i], make_audit), EPERM);
        assert_int_equal(under_filter(modes[i], make_audit_high_bits), EPERM);
        assert_int_equal(under_filter(modes[i], make_packet), EPERM);
        assert_int_equal(under_filter(modes[i], make_old_packet), EPERM);
        assert_int_equal(under_filter(modes[i], make_old_packet_flags), EPERM);
        assert_int_equal(under_filter(modes[i], count_pairs), 1); /* AF_UNIX; another's would load its module */
        assert_int_equal(under_filter(modes[i], make_vsock), EPERM);
        assert_int_equal(under_filter(modes[i], make_alg), EPERM);
    }
}

/* How many of all families can be made, or fail by another reason than the filter's. */
static int count_families(void)
{
    int count = 0;
    for (int family = 0; family < 64; family++) {
        int fd = socket(family, SOCK_STREAM, 0);
        count += fd >= 0 || (errno != EPERM && family < 46); /* above AF_MAX the kernel itself has none */
        if (fd >= 0)
            (void)close(fd);
    }
    return count;
}

static void no_family_is_forgotten(void **state)
{
    (void)state;
    assert_int_equal(blocked(count_families), 3); /* IPv4, IPv6, and netlink, which knows no streams */
    assert_int_equal(under_filter(QS_UNIX_OPEN, count_families), 4);
    assert_true(count_families() > 4);
}

static void namespaces_and_mounts_are_denied(void **state)
{
    (void)state;
    assert_int_equal(blocked(call_unshare), EPERM);
    assert_int_equal(blocked(call_setns), EPERM);
    assert_int_equal(blocked(clone_user), EPERM);
    assert_int_equal(blocked(call_clone3), ENOSYS);
    assert_int_equal(blocked(call_mount), EPERM);
    assert_int_equal(blocked(call_umount), EPERM);
    assert_int_equal(blocked(call_open_tree), EPERM);
    assert_int_equal(blocked(call_open_tree_attr), EPERM);
    assert_int_equal(blocked(call_fsopen), EPERM);
    assert_int_equal(blocked(call_setattr), EPERM);
    assert_int_equal(blocked(plain_fork), 0);
}

static void the_limit_of_core_dumps_stays(void **state)
{
    (void)state;
    struct rlimit limit = {.rlim_cur = 1, .rlim_max = 1}, old;
    assert_int_equal(getrlimit(RLIMIT_CORE, &old), 0);
    limit.rlim_max = old.rlim_max;
    if (old.rlim_max == 0)
        skip(); /* this caller's is 0 for good */
    assert_int_equal(setrlimit(RLIMIT_CORE, &limit), 0);
    assert_int_equal(blocked(change_core), 0);
    assert_int_equal(blocked(change_another_limit), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(change_core()); /* without the filter */
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_not_equal(WEXITSTATUS(status), 0);
    assert_int_equal(setrlimit(RLIMIT_CORE, &old), 0);
}

static void the_kernels_inside_is_denied(void **state)
{
    (void)state;
    assert_int_equal(blocked(call_bpf), EPERM);
    assert_int_equal(blocked(call_perf), EPERM);
    assert_int_equal(blocked(call_userfaultfd), EPERM);
    assert_int_equal(blocked(call_keyctl), EPERM);
    assert_int_equal(blocked(call_add_key), EPERM);
    assert_int_equal(blocked(call_io_uring), EPERM);
    assert_int_equal(blocked(call_kexec), EPERM);
    assert_int_equal(blocked(call_module), EPERM);
    assert_int_equal(blocked(call_handle), EPERM);
    assert_int_equal(blocked(ask_personality), 0);
    assert_int_equal(blocked(change_personality), EPERM);
}

static void typing_into_the_terminal_is_denied(void **state)
{
    (void)state;
    assert_int_not_equal(call_tiocsti_high_bits(), EPERM); /* without the filter it is the terminal that answers */
    assert_int_equal(blocked(call_tiocsti), EPERM);
    assert_int_equal(blocked(call_tiocsti_high_bits), EPERM);
    assert_int_equal(blocked(call_tioclinux), EPERM);
}

static void another_architectures_entry_kills(void **state)
{
    (void)state;
#ifdef __x86_64__
    assert_int_equal(blocked(call_x32), 1000 + SIGSYS);
    int plain = call_i386();
    if (plain == 0)
        assert_int_equal(blocked(call_i386), 1000 + SIGSYS);
#endif
}

static void the_built_in_tables_are_what_libseccomp_makes(void **state)
{
    (void)state;
    const enum qs_unix_sockets modes[] = {QS_UNIX_BLOCKED, QS_UNIX_PRIVATE, QS_UNIX_OPEN};
    for (size_t i = 0; i < 3; i++) {
        struct buf made = {0};
        struct qs_error err = {0};
        assert_int_equal(filter_make(modes[i], &made, &err), QS_OK);
        assert_int_equal(filter_tables[modes[i]].bytes, made.len);
        assert_memory_equal(filter_tables[modes[i]].steps, made.data, made.len);
        buf_release(&made);
    }
    /* Not the same table three times: blocked differs from open. */
    assert_true(filter_tables[QS_UNIX_BLOCKED].bytes != filter_tables[QS_UNIX_OPEN].bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_built_in_tables_are_what_libseccomp_makes),
        cmocka_unit_test(unix_sockets_cannot_be_made_when_blocked),
        cmocka_unit_test(connected_pairs_work_and_no_other_pair_does),
        cmocka_unit_test(only_the_common_families_are_left),
        cmocka_unit_test(no_family_is_forgotten),
        cmocka_unit_test(namespaces_and_mounts_are_denied),
        cmocka_unit_test(the_limit_of_core_dumps_stays),
        cmocka_unit_test(the_kernels_inside_is_denied),
        cmocka_unit_test(typing_into_the_terminal_is_denied),
        cmocka_unit_test(another_architectures_entry_kills),
    };
    (void)signal(SIGTTOU, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
