/* SPDX-License-Identifier: Apache-2.0 */
/* The seam: wrappers finish what signals and short transfers break off, and report what does not end well. */
#include "base/cleanup.h"
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char dir[] = "/tmp/qs-test-os-XXXXXX";
static int dir_fd = -1;

/* The faulty system: every other call is interrupted, transfers are of at most `most` bytes, and after `calls_left`
 * good calls each fails with `last_errno` (never, if that is 0). */
static struct {
    size_t most;
    unsigned calls, calls_left;
    int last_errno;
    bool zero; /* transfers nothing, without an error */
    int interrupt;
} fault;

static bool breaks_off(void)
{
    if (fault.interrupt && fault.calls++ % 2 == 0) {
        errno = fault.interrupt;
        return true;
    }
    if (fault.last_errno && fault.calls_left-- == 0) {
        fault.calls_left = 0;
        errno = fault.last_errno;
        return true;
    }
    return false;
}

static size_t portion(size_t len)
{
    return fault.most && len > fault.most ? fault.most : len;
}

static ssize_t bad_pread(int fd, void *buf, size_t len, off_t at)
{
    return breaks_off() ? -1 : pread(fd, buf, portion(len), at);
}

static ssize_t bad_pwrite(int fd, const void *buf, size_t len, off_t at)
{
    return breaks_off() ? -1 : fault.zero ? 0 : pwrite(fd, buf, portion(len), at);
}

static ssize_t bad_read(int fd, void *buf, size_t len)
{
    return breaks_off() ? -1 : read(fd, buf, portion(len));
}

static ssize_t bad_write(int fd, const void *buf, size_t len)
{
    return breaks_off() ? -1 : fault.zero ? 0 : write(fd, buf, portion(len));
}

static int bad_fsync(int fd)
{
    return breaks_off() ? -1 : fsync(fd);
}

static int bad_openat2(int at_fd, const char *path, struct open_how *how)
{
    return breaks_off() ? -1 : os_real.openat2(at_fd, path, how);
}

static struct os_calls bad_os;

static int begin(void **state)
{
    (void)state;
    memset(&fault, 0, sizeof fault);
    bad_os = os_real;
    bad_os.pread = bad_pread;
    bad_os.pwrite = bad_pwrite;
    bad_os.read = bad_read;
    bad_os.write = bad_write;
    bad_os.fsync = bad_os.fdatasync = bad_fsync;
    bad_os.openat2 = bad_openat2;
    qs_os = &bad_os;
    return 0;
}

static int end(void **state)
{
    (void)state;
    qs_os = &os_real;
    return 0;
}

static int make_file(const char *name, const char *content)
{
    int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void reads_survive_interrupts_and_short_transfers(void **state)
{
    (void)state;
    AUTO_FD int fd = make_file("read", "0123456789abcdef");
    char got[32] = {0};
    fault.interrupt = EINTR;
    fault.most = 3;
    assert_int_equal(os_pread_full(fd, got, 10, 2), 10);
    assert_string_equal(got, "23456789ab");
    assert_true(fault.calls >= 8);                               /* four portions, each interrupted once */
    assert_int_equal(os_pread_full(fd, got, sizeof got, 10), 6); /* the end of the file is no error */
    assert_int_equal(os_pread_full(fd, got, sizeof got, 100), 0);
    assert_int_equal(os_pread_full(fd, got, 0, 0), 0);
}

static void a_read_error_after_a_good_part_is_an_error(void **state)
{
    (void)state;
    AUTO_FD int fd = make_file("read", "0123456789abcdef");
    char got[16];
    fault.most = 4;
    fault.calls_left = 2;
    fault.last_errno = EIO;
    assert_int_equal(os_pread_full(fd, got, sizeof got, 0), -1);
    assert_int_equal(errno, EIO);
}

static void writes_survive_interrupts_and_short_transfers(void **state)
{
    (void)state;
    AUTO_FD int fd = make_file("write", "..........");
    char got[32] = {0};
    fault.interrupt = EINTR;
    fault.most = 3;
    assert_int_equal(os_pwrite_full(fd, "0123456789", 10, 4), 0);
    assert_int_equal(pread(fd, got, sizeof got, 0), 14);
    assert_string_equal(got, "....0123456789");
    assert_int_equal(os_write_full(fd, "abcdefgh", 8), 0);
    assert_int_equal(pread(fd, got, sizeof got, 0), 14);
    assert_string_equal(got, "abcdefgh456789");
    assert_int_equal(os_fsync(fd), 0);
    assert_int_equal(os_fdatasync(fd), 0);
}

static void write_errors_and_empty_writes_are_errors(void **state)
{
    (void)state;
    AUTO_FD int fd = make_file("write", "");
    fault.most = 3;
    fault.calls_left = 1;
    fault.last_errno = ENOSPC;
    assert_int_equal(os_pwrite_full(fd, "0123456789", 10, 0), -1);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(os_write_full(fd, "0123456789", 10), -1);
    assert_int_equal(errno, ENOSPC);
    assert_int_equal(os_fsync(fd), -1);
    assert_int_equal(os_fdatasync(fd), -1);
    fault.last_errno = 0;
    fault.zero = true; /* must not spin */
    assert_int_equal(os_pwrite_full(fd, "0123456789", 10, 0), -1);
    assert_int_equal(errno, EIO);
    assert_int_equal(os_write_full(fd, "0123456789", 10), -1);
    assert_int_equal(errno, EIO);
}

static void a_whole_file_is_read_in_any_portions(void **state)
{
    (void)state;
    char content[3000], *data = NULL;
    size_t len = 0;
    memset(content, 'x', sizeof content - 1);
    content[sizeof content - 1] = '\0';
    AUTO_FD int fd = make_file("all", content);
    fault.interrupt = EINTR;
    fault.most = 7;
    assert_int_equal(os_read_all(fd, "all", 4096, &data, &len, NULL), QS_OK);
    assert_int_equal(len, sizeof content - 1);
    assert_string_equal(data, content);
    free(data);
}

static void a_pipe_is_read_to_its_end(void **state)
{
    (void)state;
    int ends[2];
    char *data = NULL;
    size_t len = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "from a pipe", 11), 11);
    close(ends[1]);
    assert_int_equal(os_read_all(ends[0], "pipe", 11, &data, &len, NULL), QS_OK);
    assert_int_equal(len, 11);
    assert_string_equal(data, "from a pipe");
    free(data);
    close(ends[0]);
}

static void a_file_above_the_bound_is_refused_and_one_at_the_bound_is_not(void **state)
{
    (void)state;
    AUTO_FD int fd = make_file("bound", "0123456789");
    AUTO_FREE char *data = NULL;
    char *untouched = NULL;
    size_t len = 99;
    struct qs_error err = {0};
    assert_int_equal(os_read_all(fd, "bound", 9, &untouched, &len, &err), QS_INVALID);
    assert_null(untouched);
    assert_int_equal(len, 99);
    assert_non_null(strstr(err.message, "9 bytes"));
    assert_string_equal(err.file, "bound");
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(os_read_all(fd, "bound", 10, &data, &len, &err), QS_OK);
    assert_int_equal(len, 10);
}

static void reading_all_reports_what_failed(void **state)
{
    (void)state;
    char *data = NULL;
    size_t len;
    struct qs_error err = {0};
    AUTO_FD int fd = make_file("all", "abc");
    fault.last_errno = EIO;
    assert_int_equal(os_read_all(fd, "the file", 100, &data, &len, &err), QS_IO);
    assert_int_equal(err.sys_errno, EIO);
    assert_non_null(strstr(err.message, "the file"));
    assert_null(data);
    fault.last_errno = 0;
    assert_int_equal(os_read_all(dir_fd, "a directory", 100, &data, &len, &err), QS_IO);
    assert_int_equal(err.sys_errno, EISDIR);
}

static void open_adds_close_on_exec_and_retries(void **state)
{
    (void)state;
    close(make_file("open", "abc"));
    fault.interrupt = EINTR;
    AUTO_FD int fd =
        os_open_at(dir_fd, "open", O_RDONLY, 0777, RESOLVE_BENEATH); /* the mode has no use and is dropped */
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    fault.interrupt = EAGAIN; /* a rename on the way */
    fault.calls = 0;
    AUTO_FD int again = os_open_at(dir_fd, "open", O_RDONLY, 0, RESOLVE_BENEATH);
    assert_true(again >= 0);
}

static void open_gives_up_where_it_should(void **state)
{
    (void)state;
    fault.last_errno = EAGAIN; /* for ever */
    assert_int_equal(os_open_at(dir_fd, "open", O_RDONLY, 0, RESOLVE_BENEATH), -1);
    assert_int_equal(errno, EAGAIN);
    fault.last_errno = 0;
    assert_int_equal(os_open_at(dir_fd, "absent", O_RDONLY, 0, 0), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(symlinkat("/etc/passwd", dir_fd, "link"), 0);
    assert_int_equal(os_open_at(dir_fd, "link", O_RDONLY, 0, RESOLVE_NO_SYMLINKS), -1);
    assert_int_equal(errno, ELOOP);
    assert_int_equal(os_open_at(dir_fd, "link", O_RDONLY, 0, RESOLVE_BENEATH), -1);
    assert_int_equal(errno, EXDEV);
}

static void open_creates_with_the_mode_given(void **state)
{
    (void)state;
    struct stat st;
    mode_t former = umask(0);
    AUTO_FD int fd = os_open_at(dir_fd, "made", O_WRONLY | O_CREAT | O_EXCL, 0640, RESOLVE_BENEATH);
    umask(former);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
}

static void the_real_clock_goes_forward(void **state)
{
    (void)state;
    int64_t s = 0;
    uint32_t ns = UINT32_MAX;
    uint64_t before = os_real.monotonic_ms();
    os_real.sleep_ms(2);
    assert_true(os_real.monotonic_ms() >= before + 1);
    assert_int_equal(os_real.realtime(&s, &ns), 0);
    assert_true(s > 1700000000 && ns < 1000000000);
}

static void every_call_of_the_real_table_is_there(void **state)
{
    (void)state;
    const unsigned char *bytes = (const unsigned char *)&os_real;
    for (size_t at = 0; at + sizeof(void (*)(void)) <= sizeof os_real; at += sizeof(void (*)(void))) {
        static const unsigned char null[sizeof(void (*)(void))];
        assert_memory_not_equal(bytes + at, null, sizeof null);
    }
}

static void random_bytes_differ(void **state)
{
    (void)state;
    unsigned char a[32] = {0}, b[32] = {0};
    assert_int_equal(os_random(a, sizeof a, NULL), QS_OK);
    assert_int_equal(os_random(b, sizeof b, NULL), QS_OK);
    assert_memory_not_equal(a, b, sizeof a);
}

static int make_dir(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0 ? -1 : 0;
}

static int remove_dir(void **state)
{
    (void)state;
    static const char *const names[] = {"read", "write", "all", "bound", "open", "link", "made"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)unlinkat(dir_fd, names[i], 0);
    close(dir_fd);
    return rmdir(dir);
}

#define faulty(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        faulty(reads_survive_interrupts_and_short_transfers),
        faulty(a_read_error_after_a_good_part_is_an_error),
        faulty(writes_survive_interrupts_and_short_transfers),
        faulty(write_errors_and_empty_writes_are_errors),
        faulty(a_whole_file_is_read_in_any_portions),
        faulty(a_pipe_is_read_to_its_end),
        faulty(a_file_above_the_bound_is_refused_and_one_at_the_bound_is_not),
        faulty(reading_all_reports_what_failed),
        faulty(open_adds_close_on_exec_and_retries),
        faulty(open_gives_up_where_it_should),
        faulty(open_creates_with_the_mode_given),
        cmocka_unit_test(the_real_clock_goes_forward),
        cmocka_unit_test(every_call_of_the_real_table_is_there),
        cmocka_unit_test(random_bytes_differ),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
