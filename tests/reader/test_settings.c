/* SPDX-License-Identifier: Apache-2.0 */
/* Effective settings out of stores and a workspace file, their warnings and errors, and explain. */
#include "base/cleanup.h"
#include "qsettings/settings.h"
#include "tests/support/policy/scopes.h"

#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int setup(void **state)
{
    struct scopes *scopes = calloc(1, sizeof *scopes);
    scopes_make(scopes);
    *state = scopes;
    return 0;
}

static int teardown(void **state)
{
    scopes_remove(*state);
    free(*state);
    return 0;
}

static void all_stores(const struct scopes *scopes)
{
    scopes_init(scopes, QS_SCOPE_DEFAULTS, false, false);
    scopes_init(scopes, QS_SCOPE_USER, false, false);
    scopes_init(scopes, QS_SCOPE_SYSTEM, false, false);
}

static enum qs_status open_settings(const struct scopes *scopes, const char *workspace, struct qs_settings **ret,
                                    struct qs_error *err)
{
    struct qs_settings_options options = {.size = sizeof options,
                                          .root = scopes->scratch.dir,
                                          .workspace_file = workspace};
    *err = (struct qs_error){0};
    return qs_settings_open(&options, ret, err);
}

static void settings_release(struct qs_settings **settings)
{
    qs_settings_close(*settings);
}

static void value_is(const struct qs_settings *settings, const char *key, const char *json)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    struct qs_error err = {0};
    enum qs_status status = qs_settings_json(settings, key, &text, &len, &err);
    if (!json) {
        assert_int_equal(status, QS_NOT_FOUND);
        assert_true(err.message[0]);
        return;
    }
    assert_int_equal(status, QS_OK);
    assert_string_equal(text, json);
    assert_int_equal(len, strlen(json));
}

static const char *workspace_file(const struct scopes *scopes, const char *name, const char *text)
{
    const char *path = scratch_path(&scopes->scratch, name);
    scratch_write(path, text);
    return path;
}

/* ---- values ---- */

static void absent_stores_are_empty_layers(void **state)
{
    AUTO(settings_release) struct qs_settings *settings = NULL;
    struct qs_error err;
    assert_int_equal(open_settings(*state, NULL, &settings, &err), QS_OK);
    value_is(settings, NULL, "{}");
    value_is(settings, "a", NULL);
    assert_int_equal(qs_settings_warning_count(settings), 0);
    assert_null(qs_settings_warning(settings, 0));
}

static void all_four_layers_are_merged_by_precedence(void **state)
{
    const struct scopes *scopes = *state;
    AUTO(settings_release) struct qs_settings *settings = NULL;
    struct qs_error err;
    all_stores(scopes);
    scopes_apply(scopes, QS_SCOPE_DEFAULTS, "{\"a\":1,\"d\":1,\"permissions\":{\"deny\":[\"d\"]}}");
    scopes_apply(scopes, QS_SCOPE_USER, "{\"a\":2,\"u\":2,\"permissions\":{\"deny\":[\"u\"]}}");
    scopes_apply(scopes, QS_SCOPE_SYSTEM, "{\"a\":4,\"permissions\":{\"deny\":[]}}");
    const char *file = workspace_file(scopes, "w.yaml", "a: 3\nw: 3\npermissions: {deny: [w]}\n");
    assert_int_equal(open_settings(scopes, file, &settings, &err), QS_OK);
    value_is(settings, NULL, "{\"a\":4,\"d\":1,\"permissions\":{\"deny\":[\"d\",\"u\",\"w\"]},\"u\":2,\"w\":3}");
    value_is(settings, "permissions", "{\"deny\":[\"d\",\"u\",\"w\"]}");
    value_is(settings, "/permissions/deny", "[\"d\",\"u\",\"w\"]");
    value_is(settings, "permissions.allow", NULL);
    value_is(settings, "permissions.deny.x", NULL);
    AUTO_FREE char *text = NULL;
    size_t len;
    assert_int_equal(qs_settings_json(settings, "a..b", &text, &len, &err), QS_INVALID);
}

static void each_layer_tells_the_generation_it_was_read_at(void **state)
{
    struct qs_settings *settings AUTO(settings_release) = NULL;
    struct qs_error err;
    const char *workspace = workspace_file(*state, "w.json", "{\"a\": 1}");
    scopes_init(*state, QS_SCOPE_USER, false, false);
    scopes_init(*state, QS_SCOPE_SYSTEM, false, false);
    scopes_apply(*state, QS_SCOPE_SYSTEM, "{\"a\": 2}");
    assert_int_equal(open_settings(*state, workspace, &settings, &err), QS_OK);
    scopes_apply(*state, QS_SCOPE_USER, "{\"a\": 3}"); /* what comes later is not what was read */
    assert_int_equal(qs_settings_generation(settings, QS_LAYER_DEFAULTS), 0);
    assert_int_equal(qs_settings_generation(settings, QS_LAYER_USER), 1);
    assert_int_equal(qs_settings_generation(settings, QS_LAYER_WORKSPACE), 0);
    assert_int_equal(qs_settings_generation(settings, QS_LAYER_SYSTEM), 2);
    assert_int_equal(qs_settings_generation(settings, QS_LAYER_COUNT), 0);
}

static void locks_of_stores_are_obeyed(void **state)
{
    const struct scopes *scopes = *state;
    AUTO(settings_release) struct qs_settings *settings = NULL;
    struct qs_error err;
    all_stores(scopes);
    scopes_apply(scopes, QS_SCOPE_DEFAULTS, "{\"a\":1,\"b\":{\"c\":1}}");
    scopes_apply(scopes, QS_SCOPE_USER, "{\"a\":2,\"b\":{\"c\":2,\"d\":2},\"mcp\":{\"allowed\":[\"u\"]}}");
    scopes_apply(scopes, QS_SCOPE_SYSTEM, "{\"mcp\":{\"allowed\":[\"s\"]}}");
    scopes_lock(scopes, QS_SCOPE_DEFAULTS, "b.c");
    scopes_lock(scopes, QS_SCOPE_SYSTEM, "mcp");
    assert_int_equal(open_settings(scopes, NULL, &settings, &err), QS_OK);
    value_is(settings, NULL, "{\"a\":2,\"b\":{\"c\":1,\"d\":2},\"mcp\":{\"allowed\":[\"s\"]}}");
}

/* ---- the workspace ---- */

static void operator_only_keys_of_a_workspace_are_dropped_with_file_and_line(void **state)
{
    const struct scopes *scopes = *state;
    AUTO(settings_release) struct qs_settings *settings = NULL;
    char expected[512];
    struct qs_error err;
    const char *file =
        workspace_file(scopes, "w.json",
                       "{\n \"tools\": {\n  \"executionSandbox\": {\n   \"filesystem\": \"workspace-write\",\n"
                       "   \"network\": \"open\"},\n  \"approvalMode\": \"yolo\"},\n"
                       " \"executor\": {\"unixSockets\": \"open\", \"caches\": \"none\"},\n"
                       " \"agents\": {\"crossSessionMessaging\": true}\n}\n");
    assert_int_equal(open_settings(scopes, file, &settings, &err), QS_OK);
    value_is(settings, NULL, "{\"tools\":{\"approvalMode\":\"yolo\"}}");
    assert_int_equal(qs_settings_warning_count(settings), 3);
    (void)snprintf(expected, sizeof expected, "%s:8: agents.crossSessionMessaging", file);
    assert_non_null(strstr(qs_settings_warning(settings, 0), expected));
    assert_non_null(strstr(qs_settings_warning(settings, 0), "may only narrow"));
    (void)snprintf(expected, sizeof expected, "%s:7: executor is ignored", file);
    assert_non_null(strstr(qs_settings_warning(settings, 1), expected));
    (void)snprintf(expected, sizeof expected, "%s:3: tools.executionSandbox is ignored", file);
    assert_non_null(strstr(qs_settings_warning(settings, 2), expected));
}

static void an_unreadable_or_malformed_workspace_file_is_an_error(void **state)
{
    const struct scopes *scopes = *state;
    static const struct {
        const char *name, *text;
        unsigned line;
    } rows[] = {
        {"cut.json", "{\"a\": 1", 1},    {"type.json", "{\n\"tools\": null}", 2},
        {"array.json", "[]", 1},         {"empty.json", "", 1},
        {"tab.yaml", "a:\n\tb: 1\n", 2}, {"wrong.yaml", "a: 1\ntelemetry: {enabled: maybe}\n", 2},
    };
    struct qs_settings *settings = NULL;
    struct qs_error err;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *file = workspace_file(scopes, rows[i].name, rows[i].text);
        assert_int_equal(open_settings(scopes, file, &settings, &err), QS_INVALID);
        assert_int_equal(err.line, rows[i].line);
        assert_string_equal(err.file, file);
    }
    assert_int_not_equal(open_settings(scopes, scratch_path(&scopes->scratch, "none.json"), &settings, &err), QS_OK);
    assert_int_not_equal(open_settings(scopes, scopes->scratch.dir, &settings, &err), QS_OK);
    assert_null(settings);
}

static void a_partial_policy_in_a_workspace_is_dropped_like_a_whole_one(void **state)
{
    const struct scopes *scopes = *state;
    AUTO(settings_release) struct qs_settings *settings = NULL;
    struct qs_error err;
    const char *file = workspace_file(scopes, "w.json", "{\"tools\":{\"executionSandbox\":{\"network\":\"open\"}}}");
    assert_int_equal(open_settings(scopes, file, &settings, &err), QS_OK);
    value_is(settings, NULL, "{}");
    assert_int_equal(qs_settings_warning_count(settings), 1);
}

static void a_damaged_or_untrusted_store_is_an_error_and_no_empty_layer(void **state)
{
    const struct scopes *scopes = *state;
    struct qs_settings *settings = NULL;
    struct qs_error err;
    all_stores(scopes);
    scratch_write(scopes_path(scopes, QS_SCOPE_USER, "data.mdb"), "");
    assert_int_equal(open_settings(scopes, NULL, &settings, &err), QS_DAMAGED);
    assert_int_equal(unlink(scopes_path(scopes, QS_SCOPE_USER, "data.mdb")), 0);
    assert_int_equal(open_settings(scopes, NULL, &settings, &err), QS_DAMAGED);
    assert_int_equal(chmod(scopes_path(scopes, QS_SCOPE_DEFAULTS, ""), 0777), 0);
    assert_int_equal(open_settings(scopes, NULL, &settings, &err), QS_UNTRUSTED);
    assert_null(settings);
}

/* ---- explain ---- */

static void explanation_release(struct qs_explanation **explanation)
{
    qs_explanation_free(*explanation);
}

static struct qs_explanation *explain(struct qs_settings *settings, const char *key)
{
    struct qs_error err = {0};
    struct qs_explanation *why = NULL;
    if (qs_settings_explain(settings, key, &why, &err))
        fail_msg("%s: %s", key, err.message);
    print_message("# %s = %s: %s\n", key, why->value ? why->value : "-", why->text);
    return why;
}

static void explain_lists_each_layer_with_who_set_it_and_when(void **state)
{
    const struct scopes *scopes = *state;
    AUTO(settings_release) struct qs_settings *settings = NULL;
    AUTO(explanation_release) struct qs_explanation *why = NULL;
    struct qs_error err;
    const struct passwd *me = getpwuid(geteuid());
    scopes_init(scopes, QS_SCOPE_USER, false, false);
    scopes_init(scopes, QS_SCOPE_SYSTEM, false, false);
    scopes_apply(scopes, QS_SCOPE_USER, "{\"tools\":{\"approvalMode\":\"plan\"}}");
    scopes_apply(scopes, QS_SCOPE_USER, "{\"proxy\":\"x\"}");
    scopes_apply(scopes, QS_SCOPE_USER, "{\"tools\":{\"approvalMode\":\"auto\"}}");
    scopes_apply(scopes, QS_SCOPE_USER, "{\"proxy\":\"y\"}");
    const char *file = workspace_file(scopes, "w.yaml", "x: 1\ntools:\n  approvalMode: yolo\n");
    assert_int_equal(open_settings(scopes, file, &settings, &err), QS_OK);
    why = explain(settings, "tools.approvalMode");
    const struct qs_explain_layer *layers[QS_LAYER_COUNT];
    for (int layer = 0; layer < QS_LAYER_COUNT; layer++)
        layers[layer] = qs_explanation_layer(why, (enum qs_layer)layer);
    assert_null(qs_explanation_layer(why, QS_LAYER_COUNT));
    assert_int_equal(layers[QS_LAYER_DEFAULTS]->state, QS_LAYER_ABSENT);
    assert_int_equal(layers[QS_LAYER_DEFAULTS]->generation, 0);
    assert_non_null(strstr(layers[QS_LAYER_DEFAULTS]->store, "/defaults"));
    assert_int_equal(layers[QS_LAYER_SYSTEM]->state, QS_LAYER_UNSET);
    assert_int_equal(layers[QS_LAYER_SYSTEM]->generation, 1);
    assert_null(layers[QS_LAYER_SYSTEM]->value);
    assert_int_equal(layers[QS_LAYER_USER]->state, QS_LAYER_SET);
    assert_string_equal(layers[QS_LAYER_USER]->value, "\"auto\"");
    assert_int_equal(layers[QS_LAYER_USER]->generation, 5);
    assert_int_equal(layers[QS_LAYER_USER]->set_generation, 4);
    assert_true(layers[QS_LAYER_USER]->set_time_s > 0);
    if (me)
        assert_string_equal(layers[QS_LAYER_USER]->user, me->pw_name);
    assert_string_equal(layers[QS_LAYER_WORKSPACE]->value, "\"yolo\"");
    assert_int_equal(layers[QS_LAYER_WORKSPACE]->line, 3);
    assert_string_equal(layers[QS_LAYER_WORKSPACE]->store, file);
    assert_string_equal(why->value, "\"yolo\"");
    assert_int_equal(why->winner, QS_LAYER_WORKSPACE);
    assert_int_equal(why->reason, QS_REASON_PRECEDENCE);
}

struct reason_row {
    const char *key, *value;
    int winner;
    enum qs_reason reason;
    const char *words;
};

static void explain_tells_the_reason(void **state)
{
    const struct scopes *scopes = *state;
    AUTO(settings_release) struct qs_settings *settings = NULL;
    struct qs_error err;
    all_stores(scopes);
    scopes_apply(scopes, QS_SCOPE_DEFAULTS, "{\"both\":1,\"held\":{\"x\":1},\"mcp\":{\"allowed\":[\"d\"]}}");
    scopes_apply(scopes, QS_SCOPE_USER,
                 "{\"one\":1,\"both\":2,\"held\":{\"x\":2},\"mcp\":{\"allowed\":[\"u\"]},\"locked\":2,"
                 "\"modelProviders\":{\"a\":1},\"goals\":{\"modelProposed\":false}}");
    scopes_apply(scopes, QS_SCOPE_SYSTEM, "{\"locked\":4,\"modelProviders\":{\"b\":1}}");
    scopes_lock(scopes, QS_SCOPE_SYSTEM, "locked");
    scopes_lock(scopes, QS_SCOPE_DEFAULTS, "held");
    const char *file = workspace_file(scopes, "w.json",
                                      "{\"goals\":{\"modelProposed\":true},\"tools\":{\"workflowNameOnly\":false},"
                                      "\"executor\":{\"audit\":\"off\"}}");
    static const struct reason_row rows[] = {
        {"nothing", NULL, -1, QS_REASON_NONE, "no layer sets it"},
        {"one", "1", QS_LAYER_USER, QS_REASON_ONLY, "only user sets it"},
        {"both", "2", QS_LAYER_USER, QS_REASON_PRECEDENCE, "user is the highest layer"},
        {"mcp.allowed", "[\"d\",\"u\"]", -1, QS_REASON_MERGED, "merged (concat)"},
        {"mcp", "{\"allowed\":[\"d\",\"u\"]}", -1, QS_REASON_MERGED, "merged (deep)"},
        {"locked", "4", QS_LAYER_SYSTEM, QS_REASON_LOCK, "a lock in system silences the value of user"},
        {"held.x", "1", QS_LAYER_DEFAULTS, QS_REASON_LOCK, "a lock in defaults"},
        {"modelProviders.a", NULL, -1, QS_REASON_ONLY, "replaces as a whole"},
        {"modelProviders", "{\"b\":1}", QS_LAYER_SYSTEM, QS_REASON_PRECEDENCE, "system is the highest"},
        {"goals.modelProposed", "false", QS_LAYER_USER, QS_REASON_OPERATOR, "only an operator's scope"},
        {"tools.workflowNameOnly", NULL, -1, QS_REASON_TIGHTEN, "may only narrow"},
        {"executor.audit", NULL, -1, QS_REASON_OPERATOR, "see 'qsettings policy'"},
    };
    assert_int_equal(open_settings(scopes, file, &settings, &err), QS_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        AUTO(explanation_release) struct qs_explanation *why = explain(settings, rows[i].key);
        assert_true(!why->value == !rows[i].value);
        if (why->value)
            assert_string_equal(why->value, rows[i].value);
        assert_int_equal(why->winner, rows[i].winner);
        assert_int_equal(why->reason, rows[i].reason);
        assert_non_null(strstr(why->text, rows[i].words));
    }
}

static void explain_marks_what_counts_for_nothing_and_who_locks(void **state)
{
    const struct scopes *scopes = *state;
    AUTO(settings_release) struct qs_settings *settings = NULL;
    AUTO(explanation_release) struct qs_explanation *why = NULL;
    struct qs_explanation *none = NULL;
    struct qs_error err;
    all_stores(scopes);
    scopes_apply(scopes, QS_SCOPE_USER, "{\"a\":{\"b\":2}}");
    scopes_apply(scopes, QS_SCOPE_SYSTEM, "{\"a\":{\"b\":4}}");
    scopes_lock(scopes, QS_SCOPE_SYSTEM, "a");
    assert_int_equal(open_settings(scopes, NULL, &settings, &err), QS_OK);
    why = explain(settings, "a.b");
    assert_true(qs_explanation_layer(why, QS_LAYER_USER)->silenced);
    assert_false(qs_explanation_layer(why, QS_LAYER_SYSTEM)->silenced);
    assert_true(qs_explanation_layer(why, QS_LAYER_SYSTEM)->locked_here);
    assert_false(qs_explanation_layer(why, QS_LAYER_USER)->locked_here);
    assert_int_equal(qs_settings_explain(settings, "a..b", &none, &err), QS_INVALID);
    assert_int_equal(qs_settings_explain(settings, "", &none, &err), QS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(absent_stores_are_empty_layers, setup, teardown),
        cmocka_unit_test_setup_teardown(all_four_layers_are_merged_by_precedence, setup, teardown),
        cmocka_unit_test_setup_teardown(each_layer_tells_the_generation_it_was_read_at, setup, teardown),
        cmocka_unit_test_setup_teardown(locks_of_stores_are_obeyed, setup, teardown),
        cmocka_unit_test_setup_teardown(operator_only_keys_of_a_workspace_are_dropped_with_file_and_line, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_unreadable_or_malformed_workspace_file_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(a_partial_policy_in_a_workspace_is_dropped_like_a_whole_one, setup, teardown),
        cmocka_unit_test_setup_teardown(a_damaged_or_untrusted_store_is_an_error_and_no_empty_layer, setup, teardown),
        cmocka_unit_test_setup_teardown(explain_lists_each_layer_with_who_set_it_and_when, setup, teardown),
        cmocka_unit_test_setup_teardown(explain_tells_the_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(explain_marks_what_counts_for_nothing_and_who_locks, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
