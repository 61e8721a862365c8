/* SPDX-License-Identifier: Apache-2.0 */
/* The policy read where it goes well: which scope fixes the policy, which narrow it, what is reported. */
#include "base/cleanup.h"
#include "qsettings/policy.h"
#include "tests/support/policy/scopes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POLICY(filesystem, network) \
    "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"" filesystem "\",\"network\":\"" network "\"}}}"
#define OPEN \
    "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"workspace-write\",\"network\":\"open\"}},\"executor\":{"

static int setup(void **state)
{
    struct scopes *scopes = calloc(1, sizeof *scopes);
    scopes_make(scopes);
    scopes_init(scopes, QS_SCOPE_DEFAULTS, false, false);
    scopes_init(scopes, QS_SCOPE_USER, false, false);
    scopes_init(scopes, QS_SCOPE_SYSTEM, true, false);
    *state = scopes;
    return 0;
}

static int teardown(void **state)
{
    scopes_remove(*state);
    free(*state);
    return 0;
}

static void result_release(struct qs_policy_result **result)
{
    qs_policy_free(*result);
}

static enum qs_status read_policy(const struct scopes *scopes, struct qs_policy_result **ret, struct qs_error *err)
{
    struct qs_policy_options options = {.size = sizeof options, .root = scopes->scratch.dir};
    *err = (struct qs_error){0};
    enum qs_status status = qs_policy_read(&options, ret, err);
    assert_non_null(*ret);
    assert_int_equal(status == QS_OK, qs_policy_get(*ret) != NULL);
    assert_int_equal(status, qs_policy_status(*ret));
    return status;
}

static void is_present(const struct scopes *scopes, struct qs_policy_result **ret)
{
    struct qs_error err;
    if (read_policy(scopes, ret, &err))
        fail_msg("%s (%s)", err.message, err.file);
    assert_int_equal(qs_policy_source_count(*ret), 3);
}

static void healthy_empty_stores_give_none(void **state)
{
    AUTO(result_release) struct qs_policy_result *result = NULL;
    struct qs_error err;
    assert_int_equal(read_policy(*state, &result, &err), QS_NO_POLICY);
    assert_non_null(strstr(err.message, "every store is healthy"));
    assert_null(qs_policy_document(result, NULL));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(qs_policy_source(result, i)->status, QS_OK);
        assert_int_equal(qs_policy_source(result, i)->generation, 1);
        assert_false(qs_policy_source(result, i)->sets_policy);
    }
}

static void each_scope_alone_fixes_the_policy(void **state)
{
    (void)state;
    static const enum qs_scope order[] = {QS_SCOPE_SYSTEM, QS_SCOPE_USER, QS_SCOPE_DEFAULTS};
    for (size_t i = 0; i < 3; i++) {
        AUTO(scopes_remove) struct scopes scopes;
        AUTO(result_release) struct qs_policy_result *result = NULL;
        scopes_make(&scopes);
        scopes_init(&scopes, order[i], false, false);
        scopes_apply(&scopes, order[i], POLICY("workspace-write", "closed"));
        is_present(&scopes, &result);
        assert_int_equal(qs_policy_get(result)->filesystem, QS_FS_WORKSPACE_WRITE);
        assert_int_equal(qs_policy_get(result)->network, QS_NET_CLOSED);
        assert_int_equal(qs_policy_get(result)->limits.wall_seconds, 600);
        for (size_t j = 0; j < 3; j++) {
            const struct qs_policy_source *source = qs_policy_source(result, j);
            assert_int_equal(source->scope, order[j]);
            assert_int_equal(source->status, i == j ? QS_OK : QS_ABSENT);
            assert_int_equal(source->sets_policy, i == j);
            assert_int_equal(source->generation, i == j ? 2 : 0);
        }
    }
}

static void the_users_policy_narrows_the_systems_and_never_widens_it(void **state)
{
    static const struct {
        const char *system, *user;
        enum qs_filesystem filesystem;
        enum qs_network network;
    } rows[] = {
        {POLICY("workspace-write", "open"), POLICY("read-only", "closed"), QS_FS_READ_ONLY, QS_NET_CLOSED},
        {POLICY("read-only", "closed"), POLICY("workspace-write", "open"), QS_FS_READ_ONLY, QS_NET_CLOSED},
        {POLICY("read-only", "open"), POLICY("workspace-write", "closed"), QS_FS_READ_ONLY, QS_NET_CLOSED},
        {POLICY("workspace-write", "open"), POLICY("workspace-write", "open"), QS_FS_WORKSPACE_WRITE, QS_NET_OPEN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        AUTO(result_release) struct qs_policy_result *result = NULL;
        scopes_apply(*state, QS_SCOPE_SYSTEM, rows[i].system);
        scopes_apply(*state, QS_SCOPE_USER, rows[i].user);
        is_present(*state, &result);
        assert_int_equal(qs_policy_get(result)->filesystem, rows[i].filesystem);
        assert_int_equal(qs_policy_get(result)->network, rows[i].network);
    }
}

static void executor_keys_of_the_other_scopes_narrow_too(void **state)
{
    AUTO(result_release) struct qs_policy_result *result = NULL;
    scopes_apply(*state, QS_SCOPE_SYSTEM,
                 OPEN "\"unixSockets\":\"open\",\"writableRoots\":[\"/srv\"],\"environment\":{\"pass\":[\"*\"]}}}");
    scopes_apply(*state, QS_SCOPE_USER,
                 "{\"executor\":{\"unixSockets\":\"private\",\"writableRoots\":[\"/srv/mine\",\"/opt\"],"
                 "\"hiddenPaths\":[\"/secret\"],\"environment\":{\"pass\":[\"PATH\"],\"set\":{\"X\":\"1\"}},"
                 "\"limits\":{\"wallSeconds\":60,\"memoryBytes\":1000}}}");
    is_present(*state, &result);
    const struct qs_policy *policy = qs_policy_get(result);
    assert_int_equal(policy->unix_sockets, QS_UNIX_PRIVATE);
    assert_int_equal(policy->writable_roots.count, 1);
    assert_string_equal(policy->writable_roots.items[0], "/srv/mine");
    assert_int_equal(policy->env_pass_count, 2);
    assert_int_equal(policy->env_set_count, 0);
    assert_int_equal(policy->limits.wall_seconds, 60);
    assert_int_equal(policy->limits.memory_bytes, 1000);
    bool secret = false, ssh = false;
    for (size_t i = 0; i < policy->hidden_paths.count; i++) {
        secret |= strcmp(policy->hidden_paths.items[i], "/secret") == 0;
        ssh |= strcmp(policy->hidden_paths.items[i], "~/.ssh") == 0;
    }
    assert_true(secret && ssh);
}

static void a_higher_scope_with_executor_keys_alone_narrows_the_lower_ones_policy(void **state)
{
    AUTO(result_release) struct qs_policy_result *result = NULL;
    scopes_apply(*state, QS_SCOPE_SYSTEM,
                 "{\"executor\":{\"unixSockets\":\"blocked\",\"limits\":{\"wallSeconds\":30}}}");
    scopes_apply(*state, QS_SCOPE_USER, OPEN "\"unixSockets\":\"open\"}}");
    is_present(*state, &result);
    assert_int_equal(qs_policy_get(result)->unix_sockets, QS_UNIX_BLOCKED);
    assert_int_equal(qs_policy_get(result)->limits.wall_seconds, 30);
    assert_false(qs_policy_source(result, 0)->sets_policy);
    assert_true(qs_policy_source(result, 1)->sets_policy);
}

static void defaults_serve_alone_and_give_way_to_a_user(void **state)
{
    AUTO(result_release) struct qs_policy_result *alone = NULL;
    AUTO(result_release) struct qs_policy_result *overridden = NULL;
    scopes_apply(*state, QS_SCOPE_DEFAULTS, POLICY("read-only", "closed"));
    is_present(*state, &alone);
    assert_int_equal(qs_policy_get(alone)->network, QS_NET_CLOSED);
    scopes_apply(*state, QS_SCOPE_USER, POLICY("workspace-write", "open"));
    is_present(*state, &overridden);
    assert_int_equal(qs_policy_get(overridden)->network, QS_NET_OPEN);
    assert_int_equal(qs_policy_get(overridden)->filesystem, QS_FS_WORKSPACE_WRITE);
}

static void what_defaults_hold_under_a_lock_binds_the_user(void **state)
{
    AUTO(result_release) struct qs_policy_result *result = NULL;
    AUTO(result_release) struct qs_policy_result *whole = NULL;
    scopes_apply(*state, QS_SCOPE_DEFAULTS, POLICY("read-only", "closed"));
    scopes_apply(*state, QS_SCOPE_USER, POLICY("workspace-write", "open"));
    scopes_lock(*state, QS_SCOPE_DEFAULTS, "tools.executionSandbox.network");
    is_present(*state, &result);
    assert_int_equal(qs_policy_get(result)->network, QS_NET_CLOSED);
    assert_int_equal(qs_policy_get(result)->filesystem, QS_FS_WORKSPACE_WRITE);
    scopes_lock(*state, QS_SCOPE_DEFAULTS, "tools");
    is_present(*state, &whole);
    assert_int_equal(qs_policy_get(whole)->filesystem, QS_FS_READ_ONLY);
}

static void a_lock_never_widens_the_policy(void **state)
{
    AUTO(result_release) struct qs_policy_result *result = NULL;
    scopes_apply(*state, QS_SCOPE_SYSTEM, POLICY("workspace-write", "open"));
    scopes_apply(*state, QS_SCOPE_USER, POLICY("read-only", "closed"));
    scopes_lock(*state, QS_SCOPE_SYSTEM, "tools");
    is_present(*state, &result);
    assert_int_equal(qs_policy_get(result)->network, QS_NET_CLOSED);
}

static void executor_without_a_sandbox_object_is_no_policy(void **state)
{
    AUTO(result_release) struct qs_policy_result *result = NULL;
    struct qs_error err;
    scopes_apply(*state, QS_SCOPE_USER, "{\"executor\":{\"audit\":\"required\"}}");
    assert_int_equal(read_policy(*state, &result, &err), QS_NO_POLICY);
    assert_non_null(strstr(err.message, "executor is set in user, but alone it makes no policy"));
}

static void a_store_that_demands_a_policy_is_named_when_there_is_none(void **state)
{
    (void)state;
    AUTO(scopes_remove) struct scopes scopes;
    AUTO(result_release) struct qs_policy_result *result = NULL;
    struct qs_error err;
    scopes_make(&scopes);
    scopes_init(&scopes, QS_SCOPE_DEFAULTS, false, true);
    assert_int_equal(read_policy(&scopes, &result, &err), QS_NO_POLICY);
    assert_non_null(strstr(err.message, "a policy is demanded by defaults"));
}

static void required_scopes_must_exist(void **state)
{
    (void)state;
    AUTO(scopes_remove) struct scopes scopes;
    struct qs_error err;
    scopes_make(&scopes);
    scopes_init(&scopes, QS_SCOPE_USER, false, false);
    scopes_apply(&scopes, QS_SCOPE_USER, POLICY("read-only", "closed"));
    static const enum qs_scope scope_list[] = {QS_SCOPE_SYSTEM, QS_SCOPE_DEFAULTS, QS_SCOPE_USER};
    for (size_t i = 0; i < 3; i++) {
        AUTO(result_release) struct qs_policy_result *result = NULL;
        struct qs_policy_options options = {.size = sizeof options,
                                            .root = scopes.scratch.dir,
                                            .require_scopes = 1u << scope_list[i]};
        bool there = scope_list[i] == QS_SCOPE_USER;
        assert_int_equal(qs_policy_read(&options, &result, &err), there ? QS_OK : QS_ABSENT);
        assert_int_equal(qs_policy_status(result), there ? QS_OK : QS_ABSENT);
        if (!there)
            assert_non_null(strstr(err.message, qs_scope_name(scope_list[i])));
    }
    struct qs_policy_options wrong = {.size = sizeof wrong, .root = scopes.scratch.dir, .require_scopes = 1u << 7};
    struct qs_policy_result *none = NULL;
    assert_int_equal(qs_policy_read(&wrong, &none, &err), QS_USAGE);
    wrong = (struct qs_policy_options){.size = sizeof(struct qs_policy_options), .root = "relative"};
    assert_int_equal(qs_policy_read(&wrong, &none, &err), QS_USAGE);
    assert_int_equal(qs_policy_status(none), QS_USAGE);
    qs_policy_free(none);
}

static void the_require_file_makes_a_missing_system_store_an_error(void **state)
{
    const struct scopes *scopes = *state;
    AUTO(result_release) struct qs_policy_result *before = NULL;
    AUTO(result_release) struct qs_policy_result *after = NULL;
    AUTO(result_release) struct qs_policy_result *lifted = NULL;
    struct qs_error err;
    scopes_apply(scopes, QS_SCOPE_USER, POLICY("read-only", "closed"));
    is_present(scopes, &before);
    assert_int_equal(rename(scopes_path(scopes, QS_SCOPE_SYSTEM, ""), scratch_path(&scopes->scratch, "gone")), 0);
    assert_int_equal(read_policy(scopes, &after, &err), QS_ABSENT);
    assert_true(qs_policy_source(after, 0)->required);
    assert_non_null(strstr(err.advice, "require --off"));
    assert_int_equal(unlink(scratch_path(&scopes->scratch, "require-system")), 0);
    is_present(scopes, &lifted);
}

static void equal_policies_have_equal_digests_whatever_else_is_stored(void **state)
{
    AUTO(result_release) struct qs_policy_result *before = NULL;
    AUTO(result_release) struct qs_policy_result *same = NULL;
    AUTO(result_release) struct qs_policy_result *other = NULL;
    scopes_apply(*state, QS_SCOPE_SYSTEM, POLICY("read-only", "closed"));
    is_present(*state, &before);
    scopes_apply(*state, QS_SCOPE_SYSTEM,
                 "{\"tools\":{\"approvalMode\":\"yolo\"},\"more\":1,\"executor\":{\"sockets\":[]}}");
    scopes_apply(*state, QS_SCOPE_USER, "{\"tools\":{\"approvalMode\":\"yolo\",\"sandbox\":false}}");
    is_present(*state, &same);
    assert_memory_equal(qs_policy_digest(before), qs_policy_digest(same), 32);
    assert_memory_not_equal(qs_policy_source(before, 0)->digest, qs_policy_source(same, 0)->digest, 32);
    scopes_apply(*state, QS_SCOPE_USER, "{\"executor\":{\"caches\":\"none\"}}");
    is_present(*state, &other);
    assert_memory_not_equal(qs_policy_digest(before), qs_policy_digest(other), 32);
}

static void a_read_policy_can_be_frozen_and_outlives_its_stores(void **state)
{
    const struct scopes *scopes = *state;
    AUTO(result_release) struct qs_policy_result *result = NULL;
    AUTO(result_release) struct qs_policy_result *thawed = NULL;
    AUTO_FD int fd = -1;
    struct qs_error err = {0};
    scopes_apply(scopes, QS_SCOPE_SYSTEM, POLICY("read-only", "closed"));
    is_present(scopes, &result);
    assert_int_equal(qs_policy_freeze(result, &fd, &err), QS_OK);
    scopes_apply(scopes, QS_SCOPE_SYSTEM, POLICY("workspace-write", "open"));
    assert_int_equal(qs_policy_thaw(fd, &thawed, &err), QS_OK);
    assert_int_equal(qs_policy_get(thawed)->network, QS_NET_CLOSED);
    assert_memory_equal(qs_policy_digest(thawed), qs_policy_digest(result), 32);
    assert_int_equal(qs_policy_source(thawed, 0)->generation, 2);
    assert_memory_equal(qs_policy_source(thawed, 0)->store_id, qs_policy_source(result, 0)->store_id, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(healthy_empty_stores_give_none, setup, teardown),
        cmocka_unit_test(each_scope_alone_fixes_the_policy),
        cmocka_unit_test_setup_teardown(the_users_policy_narrows_the_systems_and_never_widens_it, setup, teardown),
        cmocka_unit_test_setup_teardown(executor_keys_of_the_other_scopes_narrow_too, setup, teardown),
        cmocka_unit_test_setup_teardown(a_higher_scope_with_executor_keys_alone_narrows_the_lower_ones_policy, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(defaults_serve_alone_and_give_way_to_a_user, setup, teardown),
        cmocka_unit_test_setup_teardown(what_defaults_hold_under_a_lock_binds_the_user, setup, teardown),
        cmocka_unit_test_setup_teardown(a_lock_never_widens_the_policy, setup, teardown),
        cmocka_unit_test_setup_teardown(executor_without_a_sandbox_object_is_no_policy, setup, teardown),
        cmocka_unit_test(a_store_that_demands_a_policy_is_named_when_there_is_none),
        cmocka_unit_test(required_scopes_must_exist),
        cmocka_unit_test_setup_teardown(the_require_file_makes_a_missing_system_store_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(equal_policies_have_equal_digests_whatever_else_is_stored, setup, teardown),
        cmocka_unit_test_setup_teardown(a_read_policy_can_be_frozen_and_outlives_its_stores, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
