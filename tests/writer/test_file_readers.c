/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader processes open a file in a loop while a writer replaces it: never absent, never torn, never older than before.
 * The same checker catches writers that truncate and write, and writers that rename the file away.
 */
#include "qsettings/file.h"
#include "tests/support/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { READERS = 3, REPLACEMENTS = 400, CONTROL_ROUNDS = 200000, TEXT_BYTES = 16 * 1024 };

/* Shared between writer and readers. */
struct ring {
    atomic_bool stop;
    atomic_uint ready;
    atomic_ulong reads, absent, torn, older, errors;
};

static struct scratch scratch;
static struct ring *ring;
static char path[SCRATCH_PATH_BYTES];

/* Every line names the generation, the last one says that it is the last; the length changes from one to the next. */
static size_t document(char *text, unsigned generation)
{
    size_t len = 0;
    unsigned lines = 100 + generation * 37 % 400;
    for (unsigned i = 0; i < lines; i++)
        len += (size_t)snprintf(text + len, TEXT_BYTES - len, "%u\n", generation);
    len += (size_t)snprintf(text + len, TEXT_BYTES - len, "end %u\n", generation);
    return len;
}

/* The generation, or -1 for a torn text. */
static long judge(char *text, size_t len)
{
    text[len] = '\0';
    char *end = NULL;
    long generation = strtol(text, &end, 10);
    if (end == text)
        return -1;
    char whole[TEXT_BYTES];
    size_t whole_len = document(whole, (unsigned)generation);
    return whole_len == len && !memcmp(whole, text, len) ? generation : -1;
}

static void look(long *newest)
{
    char text[TEXT_BYTES + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        atomic_fetch_add(errno == ENOENT ? &ring->absent : &ring->errors, 1);
        return;
    }
    size_t len = 0;
    ssize_t n;
    while ((n = read(fd, text + len, TEXT_BYTES - len)) > 0)
        len += (size_t)n;
    (void)close(fd);
    long generation = n < 0 ? -1 : judge(text, len);
    if (n < 0)
        atomic_fetch_add(&ring->errors, 1);
    else if (generation < 0)
        atomic_fetch_add(&ring->torn, 1);
    else if (generation < *newest)
        atomic_fetch_add(&ring->older, 1);
    else
        *newest = generation;
}

static void start_readers(pid_t readers[READERS])
{
    for (int i = 0; i < READERS; i++) {
        readers[i] = fork();
        assert_true(readers[i] >= 0);
        if (readers[i] > 0)
            continue;
        long newest = 0;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed assertion must not leave readers behind */
        atomic_fetch_add(&ring->ready, 1);
        while (!atomic_load(&ring->stop)) {
            look(&newest);
            atomic_fetch_add(&ring->reads, 1);
        }
        _exit(0);
    }
    while (atomic_load(&ring->ready) < READERS)
        (void)sched_yield();
}

static void stop_readers(const pid_t readers[READERS])
{
    atomic_store(&ring->stop, true);
    for (int i = 0; i < READERS; i++) {
        int how = 0;
        assert_int_equal(waitpid(readers[i], &how, 0), readers[i]);
        assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    }
}

static unsigned long violations(void)
{
    return atomic_load(&ring->absent) + atomic_load(&ring->torn) + atomic_load(&ring->older) +
           atomic_load(&ring->errors);
}

static int setup(void **state)
{
    char text[TEXT_BYTES];
    (void)state;
    scratch_make(&scratch);
    (void)snprintf(path, sizeof path, "%s", scratch_path(&scratch, "file"));
    scratch_write_bytes(path, text, document(text, 1));
    ring = mmap(NULL, sizeof *ring, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return ring == MAP_FAILED;
}

static int teardown(void **state)
{
    (void)state;
    (void)munmap(ring, sizeof *ring);
    scratch_remove(&scratch);
    return 0;
}

static void storm(unsigned flags, bool expecting)
{
    char text[2][TEXT_BYTES];
    size_t len[2] = {0, document(text[1], 1)};
    pid_t readers[READERS];
    start_readers(readers);
    for (unsigned generation = 2; generation < REPLACEMENTS; generation++) {
        unsigned now = generation % 2, before = !now;
        struct qs_error err = {0};
        struct qs_replace_options options = {.size = sizeof options,
                                             .flags = flags,
                                             .expect = expecting ? text[before] : NULL,
                                             .expect_len = len[before]};
        len[now] = document(text[now], generation);
        if (qs_file_replace(path, text[now], len[now], &options, &err) != QS_OK)
            fail_msg("%s", err.message);
    }
    while (atomic_load(&ring->reads) < 1000)
        (void)sched_yield();
    stop_readers(readers);
    (void)printf("# %lu reads during %d replacements\n", atomic_load(&ring->reads), REPLACEMENTS);
    assert_int_equal(atomic_load(&ring->absent), 0);
    assert_int_equal(atomic_load(&ring->torn), 0);
    assert_int_equal(atomic_load(&ring->older), 0);
    assert_int_equal(atomic_load(&ring->errors), 0);
}

static void a_file_being_replaced_is_never_absent_torn_or_older(void **state)
{
    (void)state;
    storm(0, false);
}

static void nor_with_backups(void **state)
{
    (void)state;
    storm(QS_REPLACE_BACKUP, false);
}

static void nor_when_exchanged(void **state)
{
    (void)state;
    storm(0, true);
}

static void truncate_and_write(const char *text, size_t len)
{
    scratch_write_bytes(path, text, len);
}

static void rename_away(const char *text, size_t len)
{
    char temp[SCRATCH_PATH_BYTES + 8], orig[SCRATCH_PATH_BYTES + 8];
    (void)snprintf(temp, sizeof temp, "%s.tmp", path);
    (void)snprintf(orig, sizeof orig, "%s.orig", path);
    scratch_write_bytes(temp, text, len);
    if (rename(path, orig) != 0 || rename(temp, path) != 0 || unlink(orig) != 0)
        fail();
}

/* Writes until the checker has seen what it must see. */
static void control(void (*write_badly)(const char *text, size_t len), const atomic_ulong *must_see)
{
    char text[TEXT_BYTES];
    pid_t readers[READERS];
    start_readers(readers);
    unsigned generation = 2;
    for (; generation < CONTROL_ROUNDS && atomic_load(must_see) == 0; generation++)
        write_badly(text, document(text, generation));
    stop_readers(readers);
    (void)printf("# caught after %u rounds\n", generation);
    assert_true(atomic_load(must_see) > 0);
    assert_true(violations() > 0);
}

static void the_checker_catches_truncate_and_write(void **state)
{
    (void)state;
    control(truncate_and_write, &ring->torn);
}

static void the_checker_catches_renaming_away(void **state)
{
    (void)state;
    control(rename_away, &ring->absent);
}

/* Several writers at once: the last one to rename wins, nothing is torn, nothing is left. */
static void several_writers_at_once_leave_one_complete_file(void **state)
{
    enum { WRITERS = 4, EACH = 60 };
    pid_t readers[READERS], writers[WRITERS];
    (void)state;
    start_readers(readers);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        if (writers[i] != 0)
            continue;
        char text[TEXT_BYTES];
        for (unsigned n = 0; n < EACH; n++)
            if (qs_file_replace(path, text, document(text, 2 + n), NULL, NULL) != QS_OK)
                _exit(1);
        _exit(0);
    }
    for (int i = 0; i < WRITERS; i++) {
        int how = 0;
        assert_int_equal(waitpid(writers[i], &how, 0), writers[i]);
        assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    }
    stop_readers(readers);
    assert_int_equal(atomic_load(&ring->absent) + atomic_load(&ring->torn) + atomic_load(&ring->errors), 0);
    assert_int_equal(scratch_count(scratch.dir, ""), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_being_replaced_is_never_absent_torn_or_older),
        TEST(nor_with_backups),
        TEST(nor_when_exchanged),
        TEST(the_checker_catches_truncate_and_write),
        TEST(the_checker_catches_renaming_away),
        TEST(several_writers_at_once_leave_one_complete_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
