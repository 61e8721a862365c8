/* SPDX-License-Identifier: Apache-2.0 */
/* Stepping a process by system calls, and killing it before or after one. */
#include "stress/kill/trace.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct scratch {
    char dir[64];
    char path[128];
};

static int set_up(void **state)
{
    struct scratch *scratch = calloc(1, sizeof *scratch);
    (void)snprintf(scratch->dir, sizeof scratch->dir, "/tmp/test-trace-XXXXXX");
    *state = scratch;
    if (!scratch || !mkdtemp(scratch->dir))
        return -1;
    (void)snprintf(scratch->path, sizeof scratch->path, "%s/made", scratch->dir);
    return 0;
}

static int tear_down(void **state)
{
    struct scratch *scratch = *state;
    (void)rmdir(scratch->path);
    (void)rmdir(scratch->dir);
    free(scratch);
    return 0;
}

/* One call of interest, by hand so that no library adds others. */
static int make_directory(void *arg)
{
    return syscall(SYS_mkdir, arg, 0700) == 0 ? 3 : 4;
}

static bool exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

static void a_run_ends_by_itself_with_its_own_status(void **state)
{
    struct scratch *scratch = *state;
    struct trace trace;
    assert_true(trace_start(&trace, make_directory, scratch->path));
    enum trace_event event;
    while ((event = trace_step(&trace)) == TRACE_CALL)
        continue;
    assert_int_equal(event, TRACE_END);
    assert_true(WIFEXITED(trace.wait_status));
    assert_int_equal(WEXITSTATUS(trace.wait_status), 3);
    assert_true(trace.stops >= 3); /* before and after mkdir, before exit */
    assert_true(exists(scratch->path));
    trace_kill(&trace);
}

static void a_kill_before_a_call_leaves_it_undone(void **state)
{
    struct scratch *scratch = *state;
    struct trace trace;
    assert_true(trace_start(&trace, make_directory, scratch->path));
    assert_int_equal(trace_step(&trace), TRACE_CALL);
    trace_kill(&trace);
    assert_false(exists(scratch->path));
    assert_true(WIFSIGNALED(trace.wait_status));
    assert_int_equal(WTERMSIG(trace.wait_status), SIGKILL);
}

static void a_kill_after_a_call_leaves_it_done(void **state)
{
    struct scratch *scratch = *state;
    struct trace trace;
    assert_true(trace_start(&trace, make_directory, scratch->path));
    assert_int_equal(trace_step(&trace), TRACE_CALL);
    assert_false(exists(scratch->path));
    assert_int_equal(trace_step(&trace), TRACE_CALL);
    assert_true(exists(scratch->path));
    trace_kill(&trace);
    assert_true(WIFSIGNALED(trace.wait_status));
}

static int make_directory_in_child(void *arg)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(make_directory(arg));
    int status = 0;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 5;
}

static void *make_directory_in_thread(void *arg)
{
    return make_directory(arg) == 3 ? arg : NULL;
}

static int start_thread(void *arg)
{
    pthread_t thread;
    void *result = NULL;
    return pthread_create(&thread, NULL, make_directory_in_thread, arg) == 0 && pthread_join(thread, &result) == 0 &&
                   result
               ? 3
               : 5;
}

/* Somewhere on the way the directory appears, between two neighbouring stops: so its call was stepped. */
static void expect_followed(int (*work)(void *arg), const struct scratch *scratch)
{
    struct trace trace;
    bool there = false, before = false, after = false;
    assert_true(trace_start(&trace, work, (void *)scratch->path));
    enum trace_event event;
    while ((event = trace_step(&trace)) == TRACE_CALL) {
        there = exists(scratch->path);
        before = before || (!there && trace.at != trace.pid);
        after = after || (there && trace.at != trace.pid);
    }
    assert_int_equal(event, TRACE_END);
    assert_int_equal(WEXITSTATUS(trace.wait_status), 3);
    assert_true(before && after);
    trace_kill(&trace);
}

static void children_are_followed(void **state)
{
    expect_followed(make_directory_in_child, *state);
}

static void threads_are_followed(void **state)
{
    expect_followed(start_thread, *state);
}

static int wait_forever_in_child(void *arg)
{
    int *tell = arg;
    if (fork() == 0)
        for (;;)
            (void)pause();
    return write(tell[1], "x", 1) == 1 ? 0 : 1;
}

static void a_kill_reaches_the_whole_tree(void **state)
{
    (void)state;
    int tell[2];
    struct trace trace;
    char byte;
    assert_int_equal(pipe2(tell, O_CLOEXEC), 0);
    assert_true(trace_start(&trace, wait_forever_in_child, tell));
    while (trace_step(&trace) == TRACE_CALL && trace.stops < 40)
        if (trace.at != trace.pid)
            break;
    trace_kill(&trace);
    (void)close(tell[1]);
    /* End of file only when no process of the tree holds the other end any more. */
    while (read(tell[0], &byte, 1) > 0)
        continue;
    (void)close(tell[0]);
    assert_int_equal(waitpid(-trace.pid, NULL, __WALL), -1);
}

static int die_of_signal(void *arg)
{
    (void)arg;
    (void)raise(SIGUSR1);
    return 0;
}

static void a_signal_of_its_own_is_delivered(void **state)
{
    (void)state;
    struct trace trace;
    assert_true(trace_start(&trace, die_of_signal, NULL));
    while (trace_step(&trace) == TRACE_CALL)
        continue;
    assert_true(WIFSIGNALED(trace.wait_status));
    assert_int_equal(WTERMSIG(trace.wait_status), SIGUSR1);
    assert_int_equal(trace_step(&trace), TRACE_END);
    trace_kill(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_ends_by_itself_with_its_own_status, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_kill_before_a_call_leaves_it_undone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_kill_after_a_call_leaves_it_done, set_up, tear_down),
        cmocka_unit_test_setup_teardown(children_are_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_are_followed, set_up, tear_down),
        cmocka_unit_test(a_kill_reaches_the_whole_tree),
        cmocka_unit_test(a_signal_of_its_own_is_delivered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
