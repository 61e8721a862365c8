/* SPDX-License-Identifier: Apache-2.0 */
/* The doctors' judgements of what cannot be had here: other kernels, other file systems, no bubblewrap. */
#include "base/os.h"
#include "cli/doctor/doctor.h"
#include "sandbox/cmd/diagnose.h"
#include "tests/support/store_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The one finding there is: its result, and a text that its detail holds. */
static void assert_finding(struct findings *findings, enum finding_result result, const char *text)
{
    assert_false(findings->failed);
    assert_int_equal(json_array_size(findings->list), 1);
    assert_int_equal(findings_worst(findings), result);
    const json_t *check = json_array_get(findings->list, 0);
    assert_non_null(strstr(json_string_value(json_object_get(check, "detail")), text));
    assert_int_equal(json_is_null(json_object_get(check, "advice")), result == FINDING_OK);
    findings_release(findings);
}

static void network_memory_overlay_and_fuse_file_systems_are_warned_of(void **state)
{
    struct findings findings = {0};
    (void)state;
    doctor_judge_file_system("f", 0x6969, &findings);
    assert_finding(&findings, FINDING_WARN, "network file system (NFS)");
    doctor_judge_file_system("f", 0xfe534d42, &findings);
    assert_finding(&findings, FINDING_WARN, "SMB2");
    doctor_judge_file_system("f", 0x794c7630, &findings);
    assert_finding(&findings, FINDING_WARN, "overlay");
    doctor_judge_file_system("f", 0x01021994, &findings);
    assert_finding(&findings, FINDING_WARN, "memory");
    doctor_judge_file_system("f", 0x65735546, &findings);
    assert_finding(&findings, FINDING_WARN, "FUSE");
    doctor_judge_file_system("f", 0xef53, &findings);
    assert_finding(&findings, FINDING_OK, "local");
}

static void landlock_is_judged_by_its_abi(void **state)
{
    struct findings findings = {0};
    (void)state;
    doctor_judge_landlock(0, &findings);
    assert_finding(&findings, FINDING_WARN, "mounts are the only barrier");
    doctor_judge_landlock(2, &findings);
    assert_finding(&findings, FINDING_WARN, "truncation");
    doctor_judge_landlock(3, &findings);
    assert_finding(&findings, FINDING_OK, "abstract sockets are left");
    doctor_judge_landlock(6, &findings);
    assert_finding(&findings, FINDING_OK, "ABI 6");
}

static void sysctls_are_judged_for_root_alone(void **state)
{
    struct findings findings = {0};
    struct doctor_sysctls sysctls = {1000, -1, -1};
    (void)state;
    doctor_judge_sysctls(&sysctls, true, &findings);
    assert_finding(&findings, FINDING_OK, "not kept");
    sysctls.apparmor_restrict_userns = 1;
    doctor_judge_sysctls(&sysctls, true, &findings);
    assert_finding(&findings, FINDING_WARN, "AppArmor");
    sysctls.unprivileged_userns_clone = 0;
    doctor_judge_sysctls(&sysctls, true, &findings);
    assert_finding(&findings, FINDING_WARN, "unprivileged_userns_clone");
    sysctls.max_user_namespaces = 0;
    doctor_judge_sysctls(&sysctls, true, &findings);
    assert_finding(&findings, FINDING_FAIL, "nobody");
    doctor_judge_sysctls(&sysctls, false, &findings);
    assert_null(findings.list);
}

static void a_bubblewrap_that_is_not_there_fails(void **state)
{
    struct findings findings = {0};
    (void)state;
    doctor_bwrap("/no/such/bwrap", &findings);
    assert_finding(&findings, FINDING_FAIL, "not installed");
}

/* ---- a store whose writers never rest ---- */

static struct fixture storm;
static bool in_storm;

static ssize_t pread_after_commits(int fd, void *buf, size_t len, off_t at)
{
    if (!in_storm) {
        in_storm = true;
        fixture_set(&storm, "a", "1");
        fixture_set(&storm, "a", "2");
        fixture_set(&storm, "a", "3");
        in_storm = false;
    }
    return os_real.pread(fd, buf, len, at);
}

static const char *first_of(const struct findings *findings, const char *name)
{
    return json_string_value(json_object_get(json_array_get(findings->list, 0), name));
}

static void a_store_that_cannot_be_read_for_writers_is_a_warning(void **state)
{
    struct os_calls calls = os_real;
    struct findings findings = {0};
    (void)state;
    fixture_init(&storm, true);
    struct cli cli = {.line.root = storm.root, .read_wait_ms = 50};
    doctor_system(&cli, &findings); /* the control */
    assert_string_equal(first_of(&findings, "result"), "ok");
    findings_release(&findings);
    calls.pread = pread_after_commits;
    qs_os = &calls;
    doctor_system(&cli, &findings);
    qs_os = &os_real;
    assert_string_equal(first_of(&findings, "result"), "warn");
    assert_non_null(strstr(first_of(&findings, "detail"), "busy"));
    assert_string_equal(first_of(&findings, "advice"), "try again, or wait longer with --wait SECONDS");
    findings_release(&findings);
    fixture_release(&storm);
}

static void the_worst_finding_is_that_of_the_whole(void **state)
{
    struct findings findings = {0};
    (void)state;
    assert_int_equal(findings_worst(&findings), FINDING_OK);
    finding_add(&findings, "a", FINDING_OK, NULL, "fine");
    finding_add(&findings, "b", FINDING_WARN, "do", "odd \033[31m\xff");
    assert_int_equal(findings_worst(&findings), FINDING_WARN);
    finding_add(&findings, "c", FINDING_FAIL, NULL, "bad");
    finding_add(&findings, "d", FINDING_OK, NULL, "fine");
    assert_int_equal(findings_worst(&findings), FINDING_FAIL);
    const char *detail = json_string_value(json_object_get(json_array_get(findings.list, 1), "detail"));
    assert_string_equal(detail, "odd \\u001b[31m\\xff");
    findings_release(&findings);
}

static void a_report_that_is_none_is_not_joined(void **state)
{
    static const char *const bad[] = {"",
                                      "[]",
                                      "{}",
                                      "{\"checks\":[]}",
                                      "{\"checks\":[{}]}",
                                      "{\"checks\":[1]}",
                                      "{\"checks\":[{\"name\":\"a\",\"result\":\"good\",\"detail\":\"\"}]}"};
    static const char good[] = "{\"checks\":[{\"name\":\"a\",\"result\":\"warn\",\"detail\":\"\",\"advice\":null}]}";
    struct findings findings = {0};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(findings_join(&findings, bad[i], strlen(bad[i])));
    assert_null(findings.list);
    assert_true(findings_join(&findings, good, strlen(good)));
    assert_int_equal(findings_worst(&findings), FINDING_WARN);
    findings_release(&findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(network_memory_overlay_and_fuse_file_systems_are_warned_of),
        cmocka_unit_test(landlock_is_judged_by_its_abi),
        cmocka_unit_test(sysctls_are_judged_for_root_alone),
        cmocka_unit_test(a_bubblewrap_that_is_not_there_fails),
        cmocka_unit_test(a_store_that_cannot_be_read_for_writers_is_a_warning),
        cmocka_unit_test(the_worst_finding_is_that_of_the_whole),
        cmocka_unit_test(a_report_that_is_none_is_not_joined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
