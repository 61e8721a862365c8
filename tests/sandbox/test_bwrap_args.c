/* SPDX-License-Identifier: Apache-2.0 */
/* bubblewrap's arguments against golden files, one option a line. QS_GOLDEN=write makes them anew, to be reviewed. */
#include "sandbox/plan/bwrap_args.h"

#include "tests/support/policy/policy_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Zero bytes become spaces, and each option begins a line. */
static void to_lines(const struct buf *args, struct buf *text)
{
    for (size_t at = 0; at < args->len; at += strlen(args->data + at) + 1) {
        bool option = strncmp(args->data + at, "--", 2) == 0;
        if (at)
            buf_add_char(text, option ? '\n' : ' ');
        buf_add_str(text, args->data + at);
    }
    buf_add_char(text, '\n');
}

static void golden(const char *name, const struct qs_policy *policy, const struct host_facts *facts, bool use_fds)
{
    struct plan plan = {0};
    struct buf args = {0}, text = {0};
    struct qs_error err = {0};
    if (plan_make(policy, facts, &plan, &err) != QS_OK || bwrap_args(&plan, use_fds, &args, &err) != QS_OK)
        fail_msg("%s", err.message);
    to_lines(&args, &text);
    char path[512], expected[8192] = "";
    const char *top = getenv("QS_TOP");
    (void)snprintf(path, sizeof path, "%s/tests/fixtures/bwrap/%s.txt", top ? top : ".", name);
    const char *mode = getenv("QS_GOLDEN");
    if (mode && strcmp(mode, "write") == 0) {
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        assert_int_equal(fwrite(text.data, 1, text.len, file), text.len);
        assert_int_equal(fclose(file), 0);
    }
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t len = fread(expected, 1, sizeof expected - 1, file);
    expected[len] = '\0';
    (void)fclose(file);
    assert_string_equal(text.data, expected);
    buf_release(&args);
    buf_release(&text);
    plan_release(&plan);
}

static void a_plain_workspace(void **state)
{
    (void)state;
    struct qs_policy policy = fixture_policy();
    struct host_facts facts;
    fixture_facts(&facts);
    golden("workspace", &policy, &facts, true);
    golden("workspace-by-name", &policy, &facts, false);
    fixture_facts_release(&facts);
}

static void read_only_with_an_open_network(void **state)
{
    (void)state;
    struct qs_policy policy = fixture_policy();
    policy.filesystem = QS_FS_READ_ONLY;
    policy.network = QS_NET_OPEN;
    struct host_facts facts;
    fixture_facts(&facts);
    golden("read-only-open", &policy, &facts, true);
    fixture_facts_release(&facts);
}

static void private_sockets_and_devices(void **state)
{
    (void)state;
    struct qs_policy policy = fixture_policy();
    policy.unix_sockets = QS_UNIX_PRIVATE;
    struct host_facts facts;
    fixture_facts(&facts);
    fixture_add(&facts.sockets, "/run/agent/socket", PATH_SOCKET);
    fixture_add(&facts.devices, "/dev/kvm", PATH_DEVICE);
    golden("private-sockets", &policy, &facts, true);
    fixture_facts_release(&facts);
}

static void roots_with_awkward_names(void **state)
{
    (void)state;
    struct qs_policy policy = fixture_policy();
    struct host_facts facts;
    fixture_facts(&facts);
    fixture_root(&facts, "/srv/a \"quoted\" root");
    fixture_root(&facts, "/srv/--bind");
    fixture_root(&facts, "/tmp/job");
    golden("awkward-roots", &policy, &facts, true);
    fixture_facts_release(&facts);
}

static void a_newline_in_a_name_stays_one_argument(void **state)
{
    (void)state;
    struct qs_policy policy = fixture_policy();
    struct host_facts facts;
    struct plan plan = {0};
    struct buf args = {0};
    fixture_facts(&facts);
    fixture_root(&facts, "/srv/new\nline");
    assert_int_equal(plan_make(&policy, &facts, &plan, NULL), QS_OK);
    assert_int_equal(bwrap_args(&plan, true, &args, NULL), QS_OK);
    bool seen = false;
    for (size_t at = 0; at < args.len; at += strlen(args.data + at) + 1)
        seen |= strcmp(args.data + at, "/srv/new\nline") == 0;
    assert_true(seen);
    buf_release(&args);
    plan_release(&plan);
    fixture_facts_release(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_workspace),
        cmocka_unit_test(read_only_with_an_open_network),
        cmocka_unit_test(private_sockets_and_devices),
        cmocka_unit_test(roots_with_awkward_names),
        cmocka_unit_test(a_newline_in_a_name_stays_one_argument),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
