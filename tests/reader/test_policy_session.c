/* SPDX-License-Identifier: Apache-2.0 */
/* Which process is taken for the session: an ancestor with the right start time that is this same program, and whose
 * record is sealed. Each is tried with all else as it should be. */
#include "reader/policy_session.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct qs_error err;
static int policy_fd, record_fd;

static int set_up(void **state)
{
    (void)state;
    policy_fd = memfd_create("policy", MFD_CLOEXEC);
    struct session_record record = {.policy = policy_fd, .group = -1, .seconds = 5};
    return policy_fd >= 0 && session_record_write(&record, &record_fd, &err) == QS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    (void)close(policy_fd);
    (void)close(record_fd);
    return 0;
}

static void name_of(pid_t pid, int fd, char text[128])
{
    pid_t parent;
    unsigned long long start = 0;
    assert_true(session_process(pid, &parent, &start));
    (void)snprintf(text, 128, "%d:%llu:%d", (int)pid, start, fd);
}

/* What a child of this process, or its child, finds: NULL for a session, else the reason. Static memory. */
static const char *found(const char *text, const char *program, int depth)
{
    static char why[QS_ERROR_TEXT_BYTES];
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        while (depth-- > 0) {
            pid_t next = fork();
            if (next)
                _exit(waitpid(next, NULL, 0) == next ? 0 : 1);
        }
        AUTO(session_found_release) struct session_found session = {.record_fd = -1, .policy_fd = -1};
        enum qs_status status = session_find(text, program, &session, &err);
        if (status != QS_OK && status != QS_UNTRUSTED)
            (void)snprintf(err.message, sizeof err.message, "another status: %s", qs_status_name(status));
        (void)!write(ends[1], status ? err.message : "ok", status ? strlen(err.message) : 2);
        _exit(session.record.seconds == 5 || status ? 0 : 1);
    }
    (void)close(ends[1]);
    ssize_t len = read(ends[0], why, sizeof why - 1);
    why[len > 0 ? len : 0] = '\0';
    (void)close(ends[0]);
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    return strcmp(why, "ok") == 0 ? NULL : why;
}

static void refused(const char *text, const char *program, const char *words)
{
    const char *why = found(text, program, 0);
    if (!why || !strstr(why, words))
        fail_msg("%s: wanted \"%s\", got: %s", text, words, why ? why : "a session");
}

static void an_ancestor_of_the_same_program_is_the_session(void **state)
{
    (void)state;
    char text[128];
    name_of(getpid(), record_fd, text);
    assert_null(found(text, NULL, 0));
    assert_null(found(text, NULL, 2));
    assert_null(found(text, "/proc/self/exe", 0));
}

/* A sibling has the same program, record and policy. */
static void a_process_that_is_no_ancestor_is_refused(void **state)
{
    (void)state;
    char text[128];
    pid_t sibling = fork();
    if (sibling == 0) {
        (void)pause();
        _exit(0);
    }
    name_of(sibling, record_fd, text);
    refused(text, NULL, "not an ancestor");
    (void)kill(sibling, SIGKILL);
    assert_int_equal(waitpid(sibling, NULL, 0), sibling);
    refused(text, NULL, "ended");
}

static void another_start_time_is_another_process(void **state)
{
    (void)state;
    char text[128];
    pid_t parent;
    unsigned long long start = 0;
    assert_true(session_process(getpid(), &parent, &start));
    for (int by = -1; by <= 1; by += 2) {
        (void)snprintf(text, sizeof text, "%d:%llu:%d", (int)getpid(), start + (unsigned long long)by, record_fd);
        refused(text, NULL, "another process");
    }
}

static void another_program_is_refused(void **state)
{
    (void)state;
    char text[128];
    name_of(getpid(), record_fd, text);
    refused(text, "/bin/sh", "not the program");
    name_of(1, record_fd, text); /* the ancestor of all */
    refused(text, NULL, "not this program");
}

static void a_record_that_could_be_changed_is_refused(void **state)
{
    (void)state;
    char text[128], record[256] = "";
    static const int seals[] = {F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE};
    ssize_t len = pread(record_fd, record, sizeof record - 1, 0);
    assert_true(len > 0);
    for (size_t lacking = 0; lacking < sizeof seals / sizeof *seals; lacking++) {
        AUTO_FD int fd = memfd_create("record", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        assert_int_equal(write(fd, record, (size_t)len), len);
        for (size_t i = 0; i < sizeof seals / sizeof *seals; i++)
            if (i != lacking && seals[i] != F_SEAL_SEAL)
                assert_int_equal(fcntl(fd, F_ADD_SEALS, seals[i]), 0);
        if (lacking != 0)
            assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL), 0);
        name_of(getpid(), fd, text);
        refused(text, NULL, "record");
    }
    name_of(getpid(), policy_fd, text); /* a memory file, and no record */
    refused(text, NULL, "record");
    name_of(getpid(), 9999, text);
    refused(text, NULL, "record");
}

static void a_name_that_is_none_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"", "1", "1:2", "1:2:3:4", "x:2:3", "-1:2:3", "0:2:3", "1:2:-3", "1:2:3 "};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        refused(names[i], NULL, "malformed");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_ancestor_of_the_same_program_is_the_session), TEST(a_process_that_is_no_ancestor_is_refused),
        TEST(another_start_time_is_another_process),          TEST(another_program_is_refused),
        TEST(a_record_that_could_be_changed_is_refused),      TEST(a_name_that_is_none_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
