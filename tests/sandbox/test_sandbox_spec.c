/* SPDX-License-Identifier: Apache-2.0 */
/* The message from the executor to the shim: what goes in comes out, and nothing else is taken. */
#include "sandbox/plan/filter.h"
#include "sandbox/plan/plan.h"

#include "tests/support/policy/policy_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void encode(struct buf *out)
{
    struct qs_policy policy = fixture_policy();
    struct host_facts facts;
    struct plan plan = {0};
    char *const argv[] = {(char[]){"cmd"}, (char[]){""}, (char[]){"two words\n"}, NULL};
    char *env[] = {(char[]){"HOME=/home/ann"}, (char[]){"EMPTY="}, NULL};
    policy.limits.open_files = 77;
    fixture_facts(&facts);
    assert_int_equal(plan_make(&policy, &facts, &plan, NULL), QS_OK);
    assert_int_equal(plan_encode(&plan, true, argv, env, out, NULL), QS_OK);
    plan_release(&plan);
    fixture_facts_release(&facts);
}

static enum qs_status decode(const void *data, size_t len, struct spec *spec)
{
    char *copy = malloc(len + 1);
    assert_non_null(copy);
    memcpy(copy, data, len);
    return spec_decode(copy, len, spec, NULL);
}

static void what_goes_in_comes_out(void **state)
{
    (void)state;
    struct buf message = {0};
    struct spec spec = {0};
    encode(&message);
    assert_int_equal(decode(message.data, message.len, &spec), QS_OK);
    assert_string_equal(spec.argv[0], "cmd");
    assert_string_equal(spec.argv[1], "");
    assert_string_equal(spec.argv[2], "two words\n");
    assert_null(spec.argv[3]);
    assert_string_equal(spec.env[0], "HOME=/home/ann");
    assert_string_equal(spec.env[1], "EMPTY=");
    assert_null(spec.env[2]);
    assert_string_equal(spec.cwd, "/home/ann/work");
    assert_int_equal(spec.open_files, 77);
    assert_true(spec.terminal);
    const struct filter_table *filter = &filter_tables[fixture_policy().unix_sockets];
    assert_int_equal(spec.filter_len, filter->bytes);
    assert_memory_equal(spec.filter, filter->steps, filter->bytes);
    assert_string_equal(spec.mounts[0].from, "");
    for (size_t i = 0; i < spec.mount_count; i++)
        if (spec.mounts[i].kind == MOUNT_PRIVATE)
            assert_string_equal(spec.mounts[i].from, "/tmp/.qsandbox-git/a");
    assert_int_equal(spec.mount_count, 6);
    assert_string_equal(spec.mounts[0].dest, "/etc/qsettings");
    assert_int_equal(spec.mounts[0].kind, MOUNT_HIDDEN);
    spec_release(&spec);
    buf_release(&message);
}

static void a_message_cut_anywhere_is_refused(void **state)
{
    (void)state;
    struct buf message = {0};
    struct spec spec = {0};
    encode(&message);
    for (size_t len = 0; len < message.len; len++)
        assert_int_equal(decode(message.data, len, &spec), QS_INVALID);
    buf_add_char(&message, 'x');
    assert_int_equal(decode(message.data, message.len, &spec), QS_INVALID);
    buf_release(&message);
}

/* Any byte may be anything: the message is taken or refused, and never read past its end (the sanitizers watch). */
static void a_changed_byte_does_no_harm(void **state)
{
    (void)state;
    struct buf message = {0};
    encode(&message);
    for (size_t at = 0; at < message.len; at++) {
        static const unsigned char values[] = {0x00, 0xff, 0x80, 0x01};
        for (size_t i = 0; i < sizeof values; i++) {
            struct spec spec = {0};
            char old = message.data[at];
            message.data[at] = (char)values[i];
            if (decode(message.data, message.len, &spec) == QS_OK) {
                assert_non_null(spec.argv[0]);
                assert_non_null(spec.cwd);
                spec_release(&spec);
            }
            message.data[at] = old;
        }
    }
    buf_release(&message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_in_comes_out),
        cmocka_unit_test(a_message_cut_anywhere_is_refused),
        cmocka_unit_test(a_changed_byte_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
