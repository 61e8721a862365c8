/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the filter's tables say of each system call, read here step by step and not by the kernel: a call that the
 * kernel would refuse anyway, for want of a right, cannot hide that the filter has forgotten it.
 *
 * The list is written down again, apart from the one that the filter is made of.
 */
#include "qsettings/policy.h"
#include "sandbox/plan/filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

static const struct {
    long number;
    const char *name;
} denied[] = {
#define CALL(name) \
    { \
        SYS_##name, #name \
    }
    CALL(mount),
    CALL(umount2),
    CALL(pivot_root),
    CALL(chroot),
    CALL(open_tree),
    CALL(move_mount),
    CALL(fsopen),
    CALL(fsconfig),
    CALL(fsmount),
    CALL(fspick),
    CALL(mount_setattr),
    CALL(swapon),
    CALL(swapoff),
    CALL(quotactl),
    CALL(unshare),
    CALL(setns),
    CALL(clone3),
    CALL(bpf),
    CALL(perf_event_open),
    CALL(userfaultfd),
    CALL(kexec_load),
    CALL(kexec_file_load),
    CALL(init_module),
    CALL(finit_module),
    CALL(delete_module),
    CALL(reboot),
    CALL(syslog),
    CALL(acct),
    CALL(fanotify_init),
    CALL(vhangup),
    CALL(add_key),
    CALL(request_key),
    CALL(keyctl),
    CALL(settimeofday),
    CALL(clock_settime),
    CALL(adjtimex),
    CALL(clock_adjtime),
    CALL(io_uring_setup),
    CALL(io_uring_enter),
    CALL(io_uring_register),
    CALL(open_by_handle_at),
    {443, "quotactl_fd"},
    {467, "open_tree_attr"},
#ifdef SYS_iopl
    CALL(iopl),
    CALL(ioperm),
#endif
#undef CALL
};

static const long allowed[] = {SYS_read,   SYS_write, SYS_openat,     SYS_close,    SYS_mmap,    SYS_execve,
                               SYS_wait4,  SYS_futex, SYS_renameat2,  SYS_getpid,   SYS_kill,    SYS_connect,
                               SYS_sendto, SYS_statx, SYS_getdents64, SYS_fchmodat, SYS_unlinkat};

/* Classic BPF, as far as a call filter has it: linux/filter.h, networking/filter.rst. */
static uint32_t verdict_of(const struct filter_table *table, const struct seccomp_data *data)
{
    size_t count = table->bytes / sizeof *table->steps;
    uint32_t a = 0;
    for (size_t at = 0; at < count; at++) {
        const struct sock_filter *step = &table->steps[at];
        uint32_t k = step->k;
        bool jump = false;
        switch (step->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            assert_true(k <= sizeof *data - sizeof a);
            memcpy(&a, (const char *)data + k, sizeof a);
            continue;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= k;
            continue;
        case BPF_RET | BPF_K:
            return k;
        case BPF_JMP | BPF_JA:
            at += k;
            continue;
        case BPF_JMP | BPF_JEQ | BPF_K:
            jump = a == k;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            jump = a >= k;
            break;
        case BPF_JMP | BPF_JGT | BPF_K:
            jump = a > k;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            jump = (a & k) != 0;
            break;
        default:
            fail_msg("step %zu has the unknown code %#x", at, step->code);
        }
        at += jump ? step->jt : step->jf;
    }
    fail_msg("the filter ends without a verdict");
    return 0;
}

static uint32_t verdict(enum qs_unix_sockets mode, long number)
{
    return verdict_of(&filter_tables[mode], &(struct seccomp_data){.nr = (int)number, .arch = OWN_ARCH});
}

static const enum qs_unix_sockets modes[] = {QS_UNIX_BLOCKED, QS_UNIX_PRIVATE, QS_UNIX_OPEN};

static void every_call_that_is_to_be_denied_is(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
            uint32_t wanted = SECCOMP_RET_ERRNO | (denied[i].number == SYS_clone3 ? ENOSYS : EPERM);
            uint32_t got = verdict(modes[m], denied[i].number);
            if (got != wanted)
                fail_msg("%s: %#x instead of %#x", denied[i].name, got, wanted);
        }
    }
}

static void what_programs_live_on_is_allowed(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
        for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
            if (verdict(modes[m], allowed[i]) != SECCOMP_RET_ALLOW)
                fail_msg("call %ld: %#x", allowed[i], verdict(modes[m], allowed[i]));
}

static void another_architecture_is_the_end(void **state)
{
    (void)state;
    const struct seccomp_data data = {.nr = SYS_read, .arch = AUDIT_ARCH_I386};
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
        assert_int_equal(verdict_of(&filter_tables[modes[m]], &data), SECCOMP_RET_KILL_PROCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_that_is_to_be_denied_is),
        cmocka_unit_test(what_programs_live_on_is_allowed),
        cmocka_unit_test(another_architecture_is_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
