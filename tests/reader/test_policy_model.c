/* SPDX-License-Identifier: Apache-2.0 */
/* Policies from leaves, the defaults, the document there and back, and what passes into the environment. */
#include "reader/policy_result.h"

#include "base/cleanup.h"
#include "schema/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SANDBOX "\"tools\":{\"executionSandbox\":{\"filesystem\":\"read-only\",\"network\":\"closed\"}}"

static enum qs_status part_of(const char *settings, struct policy_part *ret_part, struct qs_error *err)
{
    AUTO(value_release) json_t *root = json_loads(settings, 0, NULL);
    AUTO(leaves_release) struct leaves leaves = {0};
    assert_non_null(root);
    assert_int_equal(flatten_value(root, NULL, NULL, &leaves, err), QS_OK);
    return policy_part_from_leaves(leaves.items, leaves.count, ret_part, err);
}

static void text_of(const struct policy_part *part, struct buf *text)
{
    AUTO(value_release) json_t *document = NULL;
    assert_int_equal(policy_part_to_json(part, &document, NULL), QS_OK);
    assert_int_equal(value_encode(document, text, NULL), QS_OK);
}

static void the_field_table_covers_each_setting_of_the_policy_once(void **state)
{
    (void)state;
    size_t count, fields = 0;
    const struct schema_entry *table = schema_table(&count);
    for (size_t i = 0; i < count; i++) {
        bool policy =
            strncmp(table[i].path, "tools.executionSandbox.", 23) == 0 || strncmp(table[i].path, "executor.", 9) == 0;
        int found = 0;
        for (unsigned f = 0; f < POLICY_FIELD_COUNT; f++)
            found += strcmp(policy_fields[f].path, table[i].path) == 0;
        assert_int_equal(found, policy && table[i].type != SCHEMA_CLOSED);
        fields += (size_t)found;
    }
    assert_int_equal(fields, POLICY_FIELD_COUNT);
    for (unsigned f = 0; f < POLICY_FIELD_COUNT; f++)
        assert_int_equal(policy_field_of(policy_fields[f].group, policy_fields[f].name), f);
    assert_int_equal(policy_field_of(NULL, "pass"), -1);
    assert_int_equal(policy_field_of("limits", "pass"), -1);
}

static void only_what_a_scope_sets_is_set(void **state)
{
    (void)state;
    AUTO(policy_part_release) struct policy_part part = {0}, none = {0};
    AUTO(buf_release) struct buf text = {0};
    struct qs_error err = {0};
    assert_int_equal(part_of("{\"tools\":{\"x\":1},\"proxy\":\"p\",\"executor\":{}}", &none, &err), QS_OK);
    assert_int_equal(none.set, 0);
    assert_int_equal(part_of("{" SANDBOX ",\"executor\":{\"environment\":{\"set\":{\"B\":\"2\",\"A\":\"1\"}},"
                             "\"writableRoots\":[\"/b//\",\"/a\",\"/b\",\"/a/in\"]}}",
                             &part, &err),
                     QS_OK);
    text_of(&part, &text);
    assert_string_equal(text.data, "{\"environment\":{\"set\":{\"A\":\"1\",\"B\":\"2\"}},\"filesystem\":\"read-only\","
                                   "\"network\":\"closed\",\"writableRoots\":[\"/a\",\"/b\"]}");
}

static void values_that_the_schema_would_refuse_make_no_policy(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"none\"}}}",
        "{\"tools\":{\"executionSandbox\":{\"network\":null}}}",
        "{\"tools\":{\"executionSandbox\":{\"network\":\"\"}}}",
        "{\"executor\":{\"writableRoots\":\"/a\"}}",
        "{\"executor\":{\"hiddenPaths\":[1]}}",
        "{\"executor\":{\"environment\":{\"set\":{\"A\":1}}}}",
        "{\"executor\":{\"environment\":{\"set\":[]}}}",
        "{\"executor\":{\"environment\":{\"pass\":{}}}}",
        "{\"executor\":{\"limits\":{\"wallSeconds\":-1}}}",
        "{\"executor\":{\"limits\":{\"wallSeconds\":1.5}}}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct policy_part part = {0};
        struct qs_error err = {0};
        assert_int_equal(part_of(texts[i], &part, &err), QS_INVALID);
        assert_int_equal(part.set, 0);
        assert_true(err.message[0]);
    }
}

static void a_completed_policy_has_every_default_in_full(void **state)
{
    (void)state;
    AUTO(policy_part_release) struct policy_part part = {0};
    struct qs_error err = {0};
    assert_int_equal(part_of("{" SANDBOX "}", &part, &err), QS_OK);
    assert_int_equal(policy_part_complete(&part, &err), QS_OK);
    const struct qs_policy *policy = &part.policy;
    assert_int_equal(part.set, POLICY_ALL);
    assert_int_equal(policy->filesystem, QS_FS_READ_ONLY);
    assert_int_equal(policy->network, QS_NET_CLOSED);
    assert_int_equal(policy->backend, QS_BACKEND_AUTO);
    assert_int_equal(policy->unix_sockets, QS_UNIX_BLOCKED);
    assert_int_equal(policy->caches, QS_CACHES_PRIVATE);
    assert_int_equal(policy->audit, QS_AUDIT_REQUIRED);
    assert_int_equal(policy->limits.wall_seconds, 600);
    assert_int_equal(policy->limits.memory_bytes, 0);
    assert_int_equal(policy->writable_roots.count, 0);
    static const char *const hidden[] = {"~/.ssh",     "~/.aws",          "~/.azure",     "~/.config/gcloud",
                                         "~/.kube",    "~/.docker",       "~/.gnupg",     "~/.netrc",
                                         "~/.npmrc",   "~/.pypirc",       "~/.config/gh", "~/.git-credentials",
                                         "~/.mozilla", "~/.bash_history", "~/.qwen",      "~/.claude",
                                         "~/.codex",   "~/.gemini",       "/run/user"};
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        assert_true(policy_list_has(&policy->hidden_paths, hidden[i]));
    static const char *const protected[] = {".git/hooks", ".git/config", ".git/commondir", ".envrc", ".vscode"};
    for (size_t i = 0; i < sizeof protected / sizeof protected[0]; i++)
        assert_true(policy_list_has(&policy->protected_paths, protected[i]));
}

static void without_filesystem_or_network_nothing_is_completed(void **state)
{
    (void)state;
    AUTO(policy_part_release) struct policy_part part = {0};
    struct qs_error err = {0};
    assert_int_equal(part_of("{\"tools\":{\"executionSandbox\":{\"filesystem\":\"read-only\"}}}", &part, &err), QS_OK);
    assert_int_equal(policy_part_complete(&part, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "tools.executionSandbox.network"));
}

static void what_is_set_stays_when_the_rest_is_completed(void **state)
{
    (void)state;
    AUTO(policy_part_release) struct policy_part part = {0};
    struct qs_error err = {0};
    assert_int_equal(part_of("{" SANDBOX ",\"executor\":{\"hiddenPaths\":[],\"limits\":{\"wallSeconds\":0},"
                             "\"environment\":{\"pass\":[]}}}",
                             &part, &err),
                     QS_OK);
    assert_int_equal(policy_part_complete(&part, &err), QS_OK);
    assert_int_equal(part.policy.hidden_paths.count, 0);
    assert_int_equal(part.policy.limits.wall_seconds, 0);
    assert_int_equal(part.policy.env_pass_count, 1);
    assert_false(policy_env_passes(&part.policy, "PATH"));
}

static void secrets_win_over_pass_in_any_letter_case(void **state)
{
    (void)state;
    AUTO(policy_part_release) struct policy_part part = {0};
    struct qs_error err = {0};
    assert_int_equal(part_of("{" SANDBOX ",\"executor\":{\"environment\":{\"pass\":[\"*\"]}}}", &part, &err), QS_OK);
    assert_int_equal(policy_part_complete(&part, &err), QS_OK);
    static const char *const pass[] = {"PATH", "HOME", "LC_ALL", "OLDPWD", "KEYBOARD", "SSH_AUTH_SOCK"};
    static const char *const gone[] = {"GITHUB_TOKEN", "npm_config__authToken",
                                       "AWS_PROFILE",  "OPENAI_API_KEY",
                                       "PGPASSWORD",   "MYSQL_PWD",
                                       "aws_session",  "DATABASE_URL",
                                       "MY_SECRET_X"};
    for (size_t i = 0; i < sizeof pass / sizeof pass[0]; i++)
        assert_true(policy_env_passes(&part.policy, pass[i]));
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        assert_false(policy_env_passes(&part.policy, gone[i]));
    struct qs_policy empty = {0};
    assert_false(policy_env_passes(&empty, "PATH"));
}

/* ---- the document ---- */

static void a_policy_comes_back_from_its_document_unchanged(void **state)
{
    (void)state;
    AUTO(policy_part_release) struct policy_part part = {0}, again = {0};
    AUTO(value_release) json_t *document = NULL;
    AUTO(buf_release) struct buf before = {0}, after = {0};
    struct qs_error err = {0};
    assert_int_equal(part_of("{" SANDBOX ",\"executor\":{\"writableRoots\":[\"/a b\",\"/new\\nline\"],"
                             "\"environment\":{\"set\":{\"Q\":\"\\\"\"}}}}",
                             &part, &err),
                     QS_OK);
    assert_int_equal(policy_part_complete(&part, &err), QS_OK);
    assert_int_equal(policy_part_to_json(&part, &document, &err), QS_OK);
    assert_int_equal(policy_part_from_json(document, &again, &err), QS_OK);
    text_of(&part, &before);
    text_of(&again, &after);
    assert_string_equal(before.data, after.data);
    assert_null(policy_wider(&part, &again));
    assert_null(policy_wider(&again, &part));
}

/* The document of a whole policy, with one member replaced (value NULL: taken out). */
static enum qs_status with_member(const char *group, const char *name, json_t *value, struct qs_error *err)
{
    AUTO(policy_part_release) struct policy_part part = {0}, again = {0};
    AUTO(value_release) json_t *document = NULL;
    assert_int_equal(part_of("{" SANDBOX "}", &part, err), QS_OK);
    assert_int_equal(policy_part_complete(&part, err), QS_OK);
    assert_int_equal(policy_part_to_json(&part, &document, err), QS_OK);
    json_t *in = group ? json_object_get(document, group) : document;
    assert_int_equal(value ? json_object_set_new(in, name, value) : json_object_del(in, name), 0);
    return policy_part_from_json(document, &again, err);
}

static void a_document_that_lacks_a_member_or_has_one_too_many_is_refused(void **state)
{
    (void)state;
    struct qs_error err = {0};
    for (unsigned i = 0; i < POLICY_FIELD_COUNT; i++) {
        assert_int_equal(with_member(policy_fields[i].group, policy_fields[i].name, NULL, &err), QS_INVALID);
        assert_non_null(strstr(err.message, policy_fields[i].name));
    }
    assert_int_equal(with_member(NULL, "environment", NULL, &err), QS_INVALID);
    assert_int_equal(with_member(NULL, "more", json_true(), &err), QS_INVALID);
    assert_int_equal(with_member("limits", "more", json_integer(1), &err), QS_INVALID);
    assert_int_equal(with_member(NULL, "limits", json_integer(1), &err), QS_INVALID);
    assert_int_equal(with_member(NULL, "pass", json_array(), &err), QS_INVALID);
    assert_int_equal(policy_part_from_json(NULL, &(struct policy_part){0}, &err), QS_INVALID);
}

static void a_document_with_a_wrong_value_is_refused(void **state)
{
    (void)state;
    struct qs_error err = {0};
    assert_int_equal(with_member(NULL, "network", json_string("open"), &err), QS_OK);
    assert_int_equal(with_member(NULL, "network", json_string("off"), &err), QS_INVALID);
    assert_int_equal(with_member(NULL, "network", json_null(), &err), QS_INVALID);
    assert_int_equal(with_member(NULL, "writableRoots", json_pack("[s]", "relative"), &err), QS_INVALID);
    assert_int_equal(with_member(NULL, "writableRoots", json_pack("[s]", "/a/../b"), &err), QS_INVALID);
    assert_int_equal(with_member(NULL, "protectedPaths", json_pack("[s]", "/abs"), &err), QS_INVALID);
    assert_int_equal(with_member("environment", "pass", json_array(), &err), QS_INVALID);
    assert_int_equal(with_member("environment", "pass", json_pack("[s]", "A"), &err), QS_INVALID);
    assert_int_equal(with_member("environment", "pass", json_pack("[[s]]", "A=B"), &err), QS_INVALID);
    assert_int_equal(with_member("environment", "pass", json_pack("[[s]]", "A"), &err), QS_OK);
    assert_int_equal(with_member("environment", "set", json_pack("{s:i}", "A", 1), &err), QS_INVALID);
    assert_int_equal(with_member("limits", "processes", json_integer(-1), &err), QS_INVALID);
}

static void a_result_is_present_only_with_a_whole_policy(void **state)
{
    (void)state;
    AUTO(policy_part_release) struct policy_part part = {0};
    struct qs_policy_result result = {.status = QS_NO_POLICY};
    struct qs_error err = {0};
    assert_int_equal(part_of("{" SANDBOX "}", &part, &err), QS_OK);
    assert_int_equal(policy_result_complete(&result, &part, &err), QS_INVALID);
    assert_null(qs_policy_get(&result));
    assert_null(qs_policy_document(&result, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_field_table_covers_each_setting_of_the_policy_once),
        cmocka_unit_test(only_what_a_scope_sets_is_set),
        cmocka_unit_test(values_that_the_schema_would_refuse_make_no_policy),
        cmocka_unit_test(a_completed_policy_has_every_default_in_full),
        cmocka_unit_test(without_filesystem_or_network_nothing_is_completed),
        cmocka_unit_test(what_is_set_stays_when_the_rest_is_completed),
        cmocka_unit_test(secrets_win_over_pass_in_any_letter_case),
        cmocka_unit_test(a_policy_comes_back_from_its_document_unchanged),
        cmocka_unit_test(a_document_that_lacks_a_member_or_has_one_too_many_is_refused),
        cmocka_unit_test(a_document_with_a_wrong_value_is_refused),
        cmocka_unit_test(a_result_is_present_only_with_a_whole_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
