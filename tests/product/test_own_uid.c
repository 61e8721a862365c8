/* SPDX-License-Identifier: Apache-2.0 */
/* Two checkouts may test at the same time: what tests take from the machine, they take for themselves alone. */
#include "tests/support/own_uid.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* As a suite of another checkout would. */
static uid_t uid_of_a_suite(void)
{
    static const char command[] =
        "bash -c 'bats_require_minimum_version() { :; }; . tests/support/sandbox.bash; own_uid; echo $UID_ANN'";
    unsigned uid = 0;
    FILE *suite = popen(command, "re");
    assert_non_null(suite);
    assert_int_equal(fscanf(suite, "%u", &uid), 1);
    assert_int_equal(pclose(suite), 0);
    return uid;
}

static void nobody_gets_a_uid_that_another_test_has(void **state)
{
    (void)state;
    uid_t first = own_uid();
    uid_t second = own_uid();
    uid_t third = uid_of_a_suite();
    assert_true(first >= 20000 && second >= 20000 && third >= 20000);
    assert_int_not_equal(first, second);
    assert_int_not_equal(first, third);
    assert_int_not_equal(second, third);
}

static void nobody_gets_a_uid_that_still_has_a_process(void **state)
{
    (void)state;
    uid_t uid = uid_of_a_suite(); /* and its lock is let go */
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        bool became = setresuid(uid, uid, uid) == 0 && write(ready[1], "r", 1) == 1;
        for (;;)
            if (!became || pause() == 0)
                _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_not_equal(own_uid(), uid);
    assert_int_not_equal(uid_of_a_suite(), uid);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_gets_a_uid_that_another_test_has),
        cmocka_unit_test(nobody_gets_a_uid_that_still_has_a_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
