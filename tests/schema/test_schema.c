/* SPDX-License-Identifier: Apache-2.0 */
/* The schema: the table and its tree, single values, near misses, secrets, values from text, notes, documents. */
#include "base/cleanup.h"
#include "schema/schema_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static enum qs_status judge(const char *text, unsigned flags, struct qs_error *err)
{
    AUTO(doc_release) struct doc *doc = NULL;
    *err = (struct qs_error){0};
    assert_int_equal(doc_parse("f", text, strlen(text), DOC_JSON, &doc, err), QS_OK);
    return schema_check_document(doc_root(doc), doc, flags, err);
}

static void accepts(const char *text)
{
    struct qs_error err;
    if (judge(text, 0, &err))
        fail_msg("%s is refused: %s", text, err.message);
}

/* Refused, and message or advice hold the words. */
static void refuses(const char *text, const char *words, const char *advice)
{
    struct qs_error err;
    assert_int_equal(judge(text, 0, &err), QS_INVALID);
    if (!strstr(err.message, words) || !strstr(err.advice, advice))
        fail_msg("%s: \"%s\" and \"%s\" are not in: %s; %s", text, words, advice, err.message, err.advice);
    assert_true(err.line > 0 && err.column > 0 && err.path[0]);
}

static struct qs_key key_of(const char *text)
{
    struct qs_key key;
    assert_int_equal(qs_key_parse(text, &key, NULL), QS_OK);
    return key;
}

/* ---- the table ---- */

static void the_table_fits_its_tree_and_every_path_finds_itself(void **state)
{
    (void)state;
    size_t count, nodes;
    const struct schema_entry *table = schema_table(&count);
    (void)schema_nodes(&nodes);
    assert_true(nodes < SCHEMA_MAX_NODES);
    for (size_t i = 0; i < count; i++) {
        bool exact = false;
        struct qs_key key = key_of(table[i].path);
        assert_ptr_equal(schema_find(&key, &exact), &table[i]);
        assert_true(exact);
        assert_true(table[i].description[strlen(table[i].description) - 1] == '.');
        assert_true((table[i].type == SCHEMA_ENUM) == (table[i].allowed != NULL));
    }
}

static void every_default_is_accepted_by_its_own_entry(void **state)
{
    (void)state;
    size_t count;
    const struct schema_entry *table = schema_table(&count);
    for (size_t i = 0; i < count; i++) {
        AUTO(value_release) json_t *value = NULL;
        struct qs_error err = {0};
        struct qs_key key = key_of(table[i].path);
        if (!table[i].default_json)
            continue;
        assert_int_equal(value_decode(table[i].default_json, strlen(table[i].default_json), &value, &err), QS_OK);
        if (schema_check_value(&key, value, 0, &err))
            fail_msg("%s: %s", table[i].path, err.message);
    }
}

/* "string[] (globs)" and the like, by what the fact list says of a key. */
static bool type_agrees(const struct schema_entry *entry, const char *type)
{
    if (strncmp(type, "string[]", 8) == 0)
        return entry->type == SCHEMA_STRINGS;
    if (strncmp(type, "bool|string", 11) == 0)
        return entry->type == SCHEMA_BOOL_OR_STRING;
    if (strncmp(type, "bool", 4) == 0)
        return entry->type == SCHEMA_BOOL && (!strstr(type, "default") || strstr(type, entry->default_json));
    if (strncmp(type, "string", 6) == 0)
        return entry->type == SCHEMA_STRING &&
               (entry->flags & SCHEMA_SECRET) == (strstr(type, "secret") ? SCHEMA_SECRET : 0);
    if (strncmp(type, "integer", 7) == 0)
        return entry->type == SCHEMA_INTEGER;
    if (strncmp(type, "closed object", 13) == 0)
        return entry->type == SCHEMA_CLOSED;
    if (strncmp(type, "map of string", 13) == 0)
        return entry->type == SCHEMA_STRING_MAP;
    if (strncmp(type, "map of", 6) == 0 || strncmp(type, "object", 6) == 0)
        return entry->type == SCHEMA_OBJECT;
    if (strncmp(type, "array of", 8) == 0)
        return entry->type == SCHEMA_MATCHERS;
    return entry->type == SCHEMA_ENUM && strncmp(type, entry->allowed, strlen(entry->allowed)) == 0;
}

static bool restriction_agrees(const struct schema_entry *entry, const char *restriction)
{
    bool tighten = entry->restriction == SCHEMA_TIGHTEN_TRUE || entry->restriction == SCHEMA_TIGHTEN_FALSE;
    if (strcmp(restriction, "-") == 0)
        return entry->restriction == SCHEMA_ANYONE;
    return strcmp(restriction, "tighten") == 0 ? tighten
                                               : strcmp(restriction, schema_restriction_text(entry->restriction)) == 0;
}

static void every_row_of_the_fact_list_is_in_the_table(void **state)
{
    (void)state;
    char file[1024], line[1024];
    const char *top = getenv("QS_TOP");
    (void)snprintf(file, sizeof file, "%s/tests/fixtures/cases/qwen-keys.tsv", top ? top : ".");
    FILE *rows = fopen(file, "re");
    int count = 0;
    assert_non_null(rows);
    while (fgets(line, sizeof line, rows)) {
        char *save = NULL, *path = strtok_r(line, "\t\n", &save), *type = strtok_r(NULL, "\t\n", &save);
        char *merge = strtok_r(NULL, "\t\n", &save), *restriction = strtok_r(NULL, "\t\n", &save);
        bool exact = false;
        if (!path || path[0] == '#')
            continue;
        struct qs_key key = key_of(path);
        const struct schema_entry *entry = schema_find(&key, &exact);
        if (!entry || !exact || !type_agrees(entry, type) || !restriction_agrees(entry, restriction) ||
            strncmp(merge, schema_merge_name(entry->merge), strlen(schema_merge_name(entry->merge))) != 0)
            fail_msg("%s disagrees with the fact list (%s, %s, %s)", path, type, merge, restriction);
        count++;
    }
    (void)fclose(rows);
    assert_true(count >= 58);
}

static void patterns_and_covering_entries_are_found(void **state)
{
    (void)state;
    bool exact = true;
    struct qs_key key = key_of("mcpServers.\"docs.local\".command");
    assert_string_equal(schema_find(&key, &exact)->path, "mcpServers.<name>.command");
    assert_true(exact);
    key = key_of("mcpServers.docs.somethingElse.deep");
    assert_string_equal(schema_find(&key, &exact)->path, "mcpServers.<name>");
    assert_false(exact);
    key = key_of("hooks.PreToolUse");
    assert_string_equal(schema_find(&key, &exact)->path, "hooks.<Event>");
    key = key_of("env.PATH");
    assert_string_equal(schema_find(&key, &exact)->path, "env.<NAME>");
    key = key_of("tools");
    assert_null(schema_find(&key, &exact));
    key = key_of("no.such.key");
    assert_null(schema_find(&key, &exact));
    assert_false(exact);
}

static void completion_lists_the_values_that_may_be_written(void **state)
{
    (void)state;
    char text[64];
    struct qs_key key = key_of("tools.executionSandbox.network");
    assert_true(schema_allowed_at(schema_find(&key, NULL), 0, text, sizeof text));
    assert_string_equal(text, "open");
    assert_true(schema_allowed_at(schema_find(&key, NULL), 1, text, sizeof text));
    assert_string_equal(text, "closed");
    assert_false(schema_allowed_at(schema_find(&key, NULL), 2, text, sizeof text));
    key = key_of("telemetry.enabled");
    assert_true(schema_allowed_at(schema_find(&key, NULL), 1, text, sizeof text));
    assert_string_equal(text, "false");
    key = key_of("proxy");
    assert_false(schema_allowed_at(schema_find(&key, NULL), 0, text, sizeof text));
}

/* ---- documents ---- */

static void unknown_keys_are_accepted_outside_closed_objects(void **state)
{
    (void)state;
    accepts("{}");
    accepts("{\"$version\": 4, \"some\": {\"thing\": [1, null, {\"a\": 2}]}, \"tools\": {\"mine\": 1}}");
    accepts("{\"tools\": {}, \"permissions\": {\"autoMode\": {}}, \"executor\": {}}");
    accepts("{\"mcpServers\": {\"a\": {\"oauth\": {\"x\": 1}}}, \"modelProviders\": {\"x\": [1]}}");
    accepts("{\"a.b\": 1, \"unknown.key\": {\"x\": 2}}");
    accepts("{\"telemetry\": {\"otlpProtocol\": \"grpc\", \"x\": null}, \"env\": {\"a.b\": \"$HOME\"}}");
    accepts("{\"security\": {\"auth\": {\"apiKey\": \"$KEY\"}}}");
    accepts("{\"tools\": {\"core\": [], \"shell\": {\"defaultTimeoutMs\": -5}}, \"model\": {\"maxSessionTurns\": -1}}");
}

static void wrong_types_are_refused_with_what_is_allowed(void **state)
{
    (void)state;
    refuses("{\"telemetry\": {\"enabled\": \"true\"}}", "telemetry.enabled is \"true\"; allowed: boolean",
            "did you mean true?");
    refuses("{\"telemetry\": {\"enabled\": \"No\"}}", "boolean", "did you mean false?");
    refuses("{\"telemetry\": {\"enabled\": 1}}", "telemetry.enabled is 1", "did you mean true?");
    refuses("{\"disableAllHooks\": {}}", "disableAllHooks is an object", "");
    refuses("{\"disableAllHooks\": {\"x\": 1}}", "disableAllHooks is an object; allowed: boolean", "");
    refuses("{\"proxy\": 8080}", "proxy is 8080; allowed: string", "did you mean \"8080\"?");
    refuses("{\"proxy\": null}", "proxy is null", "");
    refuses("{\"model\": {\"maxToolCalls\": \"12\"}}", "integer", "did you mean 12?");
    refuses("{\"model\": {\"maxToolCalls\": 1.5}}", "is 1.5; allowed: integer", "");
    refuses("{\"permissions\": {\"deny\": \"WebFetch\"}}", "array of strings", "did you mean [\"WebFetch\"]?");
    refuses("{\"permissions\": {\"deny\": [\"a\", 5]}}", "permissions.deny[1] is not a string", "");
    refuses("{\"env\": {\"A\": 1}}", "env.A is 1; allowed: string", "did you mean \"1\"?");
    refuses("{\"env\": {\"A\": {\"B\": \"c\"}}}", "env.A is an object", "");
    refuses("{\"env\": []}", "env is an array; allowed: object of strings", "");
    refuses("{\"mcpServers\": {\"a\": \"cmd\"}}", "mcpServers.a is \"cmd\"; allowed: object", "");
    refuses("{\"mcpServers\": {\"a\": {\"env\": {\"T\": 1}}}}", "mcpServers.a.env.T is 1", "");
    refuses("{\"mcpServers\": {\"a\": {\"env\": {\"T\": {\"x\": 1}}}}}", "mcpServers.a.env.T is an object", "");
    refuses("{\"hooks\": {\"Stop\": {}}}", "hooks.Stop is an object; allowed: array", "");
    refuses("{\"hooks\": {\"Stop\": [\"x\"]}}", "hooks.Stop[0] is not an object", "");
    refuses("{\"hooks\": {\"Stop\": [{}, {\"matcher\": 1}]}}", "hooks.Stop[1] has a matcher", "");
    refuses("{\"hooks\": {\"Stop\": [{\"hooks\": [1]}]}}", "has a hook that is not an object", "");
    refuses("{\"hooks\": {\"Stop\": [{\"hooks\": {}}]}}", "has hooks that are not an array", "");
    refuses("{\"hooks\": {\"Stop\": [{\"sequential\": 1}]}}", "has a sequential", "");
    refuses("{\"tools\": {\"approvalMode\": \"Yolo\"}}", "plan|default|auto-edit|auto|yolo", "did you mean \"yolo\"?");
    refuses("{\"tools\": {\"approvalMode\": \"autoedit\"}}", "auto-edit", "did you mean \"auto-edit\"?");
    refuses("{\"tools\": {\"sandbox\": 5}}", "boolean or string", "");
}

static void near_misses_are_refused_with_the_right_name(void **state)
{
    (void)state;
    refuses("{\"Tools\": {\"x\": 1}}", "unknown key Tools", "did you mean \"tools\"?");
    refuses("{\"TOOLS\": 1}", "unknown key TOOLS", "did you mean \"tools\"?");
    refuses("{\"tools\": {\"execution_sandbox\": {}}}", "execution_sandbox", "did you mean \"executionSandbox\"?");
    refuses("{\"tools\": {\"approvalmode\": \"yolo\"}}", "approvalmode", "did you mean \"approvalMode\"?");
    refuses("{\"permissions\": {\"autoMode\": {\"Hints\": {\"deny\": []}}}}", "permissions.autoMode.Hints",
            "did you mean \"hints\"?");
    refuses("{\"mcpservers\": {}}", "mcpservers", "did you mean \"mcpServers\"?");
    refuses("{\"mcpServers\": {\"a\": {\"ARGS\": []}}}", "mcpServers.a.ARGS", "did you mean \"args\"?");
    refuses("{\"tools.executionSandbox\": null}", "flat key", "{\"tools\": {\"executionSandbox\": ...}}");
    refuses("{\"Tools.executionSandbox.network\": \"open\"}", "flat key", "{\"tools\": {\"executionSandbox.network\"");
    refuses("{\"executor.hiddenPaths\": []}", "flat key", "{\"executor\": {\"hiddenPaths\": ...}}");
    refuses("{\"tools\": {\"executionSandbox.network\": \"open\"}}", "flat key", "executionSandbox");
    refuses("{\"tools\": []}", "tools is an array; allowed: object", "");
    refuses("{\"tools\": \"x\"}", "tools is a string; allowed: object", "");
    refuses("{\"permissions\": {\"autoMode\": true}}", "permissions.autoMode is a boolean; allowed: object", "");
    refuses("{\"executor\": null}", "executor is null", "");
}

static void the_policy_objects_are_closed_at_every_level(void **state)
{
    (void)state;
    refuses("{\"executor\": {\"sokets\": []}}", "executor has no key \"sokets\"; allowed: writableRoots",
            "\"sockets\"");
    refuses("{\"executor\": {\"environment\": {\"Pass\": []}}}", "executor.environment has no key \"Pass\"",
            "\"pass\"");
    refuses("{\"executor\": {\"limits\": {\"wall\": 1}}}", "executor.limits has no key \"wall\"", "");
    refuses("{\"executor\": {\"limits\": {\"wallSeconds\": {\"x\": 1}}}}", "executor.limits.wallSeconds is an object",
            "");
    refuses("{\"executor\": {\"environment\": {\"set\": {\"A\": {\"B\": \"c\"}}}}}", "set.A is an object", "");
    refuses("{\"tools\": {\"executionSandbox\": {\"filesystem\": \"read-only\", \"network\": \"closed\", \"x\": "
            "{\"y\": 1}}}}",
            "tools.executionSandbox has no key \"x\"", "");
    refuses("{\"tools\": {\"executionSandbox\": {}}}", "lacks the required key \"filesystem\"", "");
    refuses("{\"tools\": {\"executionSandbox\": {\"network\": \"closed\"}}}", "lacks the required key \"filesystem\"",
            "");
    refuses("{\"tools\": {\"executionSandbox\": {\"filesystem\": \"read-only\", \"network\": false}}}",
            "network is false; allowed: open|closed", "");
    refuses("{\"tools\": {\"executionSandbox\": {\"filesystem\": \"read-write\", \"network\": \"open\"}}}",
            "filesystem is \"read-write\"", "");
    refuses("{\"tools\": {\"executionSandbox\": {\"filesystem\": \"ReadOnly\", \"network\": \"open\"}}}", "ReadOnly",
            "did you mean \"read-only\"?");
}

static void values_of_the_policy_are_judged_one_by_one(void **state)
{
    (void)state;
    accepts("{\"executor\": {\"writableRoots\": [\"/srv/a\", \"~\", \"~/x\", \"/with\\nnewline and \\\"quote\\\"\"]}}");
    accepts("{\"executor\": {\"environment\": {\"pass\": [\"LC_*\", \"A?\"], \"set\": {\"_A1\": \"b c\"}, \"secrets\": "
            "[]}}}");
    accepts("{\"executor\": {\"limits\": {\"wallSeconds\": 0, \"memoryBytes\": 9223372036854775807}}}");
    refuses("{\"executor\": {\"writableRoots\": [\"srv\"]}}", "[0]: \"srv\" is neither absolute", "");
    refuses("{\"executor\": {\"writableRoots\": [\"/a\", \"\"]}}", "[1]: \"\" is empty", "");
    refuses("{\"executor\": {\"writableRoots\": [\"/a/../b\"]}}", "contains \"..\"", "");
    refuses("{\"executor\": {\"writableRoots\": [\"/a/..\"]}}", "contains \"..\"", "");
    refuses("{\"executor\": {\"hiddenPaths\": [\"~root/x\"]}}", "is neither absolute", "");
    refuses("{\"executor\": {\"protectedPaths\": [\"/etc\"]}}", "is not relative", "");
    refuses("{\"executor\": {\"protectedPaths\": [\"./.\"]}}", "names the root itself", "");
    refuses("{\"executor\": {\"protectedPaths\": [\"a/../..\"]}}", "contains \"..\"", "");
    refuses("{\"executor\": {\"environment\": {\"pass\": [\"A=B\"]}}}", "contains \"=\"", "");
    refuses("{\"executor\": {\"environment\": {\"secrets\": [\"[A-Z]*\"]}}}", "bracket", "");
    refuses("{\"executor\": {\"environment\": {\"secrets\": [\"A\\tB\"]}}}", "control character", "");
    refuses("{\"executor\": {\"environment\": {\"set\": {\"A-B\": \"x\"}}}}", "\"A-B\" is not a variable name", "");
    refuses("{\"executor\": {\"environment\": {\"set\": {\"1A\": \"x\"}}}}", "\"1A\" is not a variable name", "");
    refuses("{\"executor\": {\"environment\": {\"set\": {\"A\": 1}}}}", "set.A is 1; allowed: string", "\"1\"");
    refuses("{\"executor\": {\"limits\": {\"wallSeconds\": -1}}}", "is -1; allowed: integer from 0 up", "");
    refuses("{\"executor\": {\"limits\": {\"wallSeconds\": 1.0}}}", "is 1.0", "");
    refuses("{\"executor\": {\"limits\": {\"wallSeconds\": \"60\"}}}", "is \"60\"", "did you mean 60?");
}

static void variables_are_refused_in_the_policy_and_nowhere_else(void **state)
{
    (void)state;
    refuses("{\"executor\": {\"hiddenPaths\": [\"/x\", \"$HOME/.ssh\"]}}", "$VARIABLE", "value itself");
    refuses("{\"executor\": {\"hiddenPaths\": [\"/x/${HOME}\"]}}", "$VARIABLE", "");
    refuses("{\"executor\": {\"environment\": {\"set\": {\"A\": \"$B\"}}}}", "$VARIABLE", "");
    refuses("{\"tools\": {\"executionSandbox\": {\"filesystem\": \"${FS}\", \"network\": \"open\"}}}", "$VARIABLE", "");
    accepts("{\"executor\": {\"environment\": {\"set\": {\"PRICE\": \"5$ or $5\"}}}}");
    accepts("{\"env\": {\"A\": \"$B\"}, \"proxy\": \"${PROXY}\", \"tools\": {\"callCommand\": \"$X\"}}");
}

static void the_legacy_sandbox_is_refused_for_bwrap_and_noted_for_others(void **state)
{
    (void)state;
    refuses("{\"tools\": {\"sandbox\": \"bwrap\"}}", "tools.sandbox", "tools.executionSandbox");
    refuses("{\"tools\": {\"sandbox\": \"BWRAP\"}}", "tools.sandbox", "tools.executionSandbox");
    static const char *const others[] = {"\"docker\"", "\"podman\"", "\"sandbox-exec\"", "true", "false"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        AUTO(schema_notes_release) struct schema_notes notes = {0};
        char text[64];
        struct leaf leaf = {.key = {"tools\0sandbox", 13}, .value = {others[i], strlen(others[i])}};
        (void)snprintf(text, sizeof text, "{\"tools\": {\"sandbox\": %s}}", others[i]);
        accepts(text);
        assert_int_equal(schema_collect_notes(&leaf, 1, 0, &notes, NULL), QS_OK);
        assert_int_equal(notes.count, 1);
        assert_non_null(strstr(notes.items[0], others[i]));
        assert_non_null(strstr(notes.items[0], "does nothing here"));
    }
}

static void notes_name_slips_and_likely_secrets_and_stay_silent_otherwise(void **state)
{
    (void)state;
    AUTO(schema_notes_release) struct schema_notes notes = {0};
    AUTO(schema_notes_release) struct schema_notes none = {0};
    AUTO(leaves_release) struct leaves leaves = {0};
    AUTO(value_release)
    json_t *root = json_loads("{\"tols\": 1, \"tools\": {\"exectionSandbox\": {\"a\": 1, \"b\": 2}, \"mine\": 1},"
                              "\"mcpServers\": {\"x\": {\"env\": {\"MY_TOKEN\": \"abc\", \"B_TOKEN\": \"$T\"}}}}",
                              0, NULL);
    assert_int_equal(flatten_value(root, NULL, NULL, &leaves, NULL), QS_OK);
    assert_int_equal(schema_collect_notes(leaves.items, leaves.count, SCHEMA_NO_SECRETS, &notes, NULL), QS_OK);
    assert_int_equal(notes.count, 3);
    assert_non_null(strstr(notes.items[0], "mcpServers.x.env.MY_TOKEN reads like a secret"));
    assert_non_null(strstr(notes.items[1], "did you mean \"tools\"?"));
    assert_non_null(strstr(notes.items[2], "tools.exectionSandbox is stored"));
    assert_int_equal(schema_collect_notes(leaves.items, 1, 0, &none, NULL), QS_OK);
    assert_int_equal(none.count, 0);
}

static void secrets_are_refused_where_everyone_can_read(void **state)
{
    (void)state;
    struct qs_error err;
    static const char text[] = "{\"security\": {\"auth\": {\"apiKey\": \"k\"}}}";
    assert_int_equal(judge(text, schema_flags_of(QS_SCOPE_SYSTEM), &err), QS_INVALID);
    assert_non_null(strstr(err.message, "security.auth.apiKey is a secret"));
    assert_null(strstr(err.message, "\"k\""));
    assert_int_equal(judge(text, schema_flags_of(QS_SCOPE_DEFAULTS), &err), QS_INVALID);
    assert_int_equal(judge(text, schema_flags_of(QS_SCOPE_USER), &err), QS_OK);
    static const struct {
        const char *key;
        bool secret;
    } rows[] = {
        {"security.auth.apiKey", true},  {"security.auth", true}, {"security", true}, {"security.auth.baseUrl", false},
        {"security.folderTrust", false}, {"tools", false},        {"none", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct qs_key key = key_of(rows[i].key);
        assert_int_equal(schema_secret(key.bytes, key.len), rows[i].secret);
    }
}

static void a_change_may_be_partial_and_a_whole_scope_may_not(void **state)
{
    (void)state;
    AUTO(value_release) json_t *closed = json_string("closed");
    AUTO(value_release) json_t *part = json_loads("{\"network\": \"closed\"}", 0, NULL);
    AUTO(value_release) json_t *wrong = json_loads("{\"Network\": \"closed\"}", 0, NULL);
    struct qs_error err = {0};
    struct qs_key key = key_of("tools.executionSandbox.network"), above = key_of("tools.executionSandbox");
    assert_int_equal(schema_check_value(&key, closed, 0, &err), QS_OK);
    assert_int_equal(schema_check_value(&above, part, 0, &err), QS_OK);
    assert_int_equal(schema_check_value(&above, wrong, 0, &err), QS_INVALID);
    assert_string_equal(err.path, "tools.executionSandbox.Network");
    assert_int_equal(judge("{\"tools\": {\"executionSandbox\": {\"network\": \"closed\"}}}", SCHEMA_PARTIAL, &err),
                     QS_OK);
    assert_int_equal(judge("{\"tools\": {\"executionSandbox\": {\"network\": \"closed\"}}}", 0, &err), QS_INVALID);
    key = key_of("tools.approvalMode.x");
    assert_int_equal(schema_check_value(&key, closed, 0, &err), QS_INVALID);
    key = key_of("Tools.x");
    assert_int_equal(schema_check_value(&key, closed, 0, NULL), QS_INVALID);
}

/* ---- VALUE on a command line ---- */

static void a_value_is_json_where_the_schema_agrees_and_else_a_string(void **state)
{
    (void)state;
    static const struct {
        const char *key, *text, *json;
    } rows[] = {
        {"tools.approvalMode", "default", "\"default\""},
        {"tools.approvalMode", "\"default\"", "\"default\""},
        {"env.A", "1", "\"1\""},
        {"env.A", "true", "\"true\""},
        {"env.A", "\"x\"", "\"x\""},
        {"telemetry.enabled", "true", "true"},
        {"telemetry.enabled", "yes", "\"yes\""},
        {"telemetry.enabled", "1", "1"},
        {"model.maxToolCalls", "12", "12"},
        {"permissions.deny", "[\"a\"]", "[\"a\"]"},
        {"unknown.key", "12", "12"},
        {"unknown.key", "1.0", "1.0"},
        {"unknown.key", "null", "null"},
        {"unknown.key", "{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}"},
        {"unknown.key", "{\"a\":", "\"{\\\"a\\\":\""},
        {"unknown.key", "", "\"\""},
        {"proxy", "[1]", "\"[1]\""},
        {"tools.executionSandbox", "{\"network\":\"open\"}", "{\"network\":\"open\"}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        AUTO(value_release) json_t *value = NULL;
        AUTO(buf_release) struct buf text = {0};
        struct qs_key key = key_of(rows[i].key);
        assert_int_equal(schema_value_for_text(&key, rows[i].text, strlen(rows[i].text), &value, NULL), QS_OK);
        assert_int_equal(value_encode(value, &text, NULL), QS_OK);
        assert_string_equal(text.data, rows[i].json);
    }
}

static void text_that_no_value_can_hold_is_refused(void **state)
{
    (void)state;
    struct qs_key key = key_of("env.A");
    json_t *value = NULL;
    struct qs_error err = {0};
    assert_int_equal(schema_value_for_text(&key, "\xff", 1, &value, &err), QS_INVALID);
    assert_int_equal(schema_value_for_text(&key, "a\0b", 3, &value, &err), QS_INVALID);
    assert_null(value);
}

/* ---- the table as documents ---- */

static void the_table_is_given_out_whole_or_below_a_key(void **state)
{
    (void)state;
    AUTO(value_release) json_t *all = NULL;
    AUTO(value_release) json_t *some = NULL;
    AUTO(value_release) json_t *one = NULL;
    size_t count;
    struct qs_error err = {0};
    struct qs_key key = key_of("executor.limits"), map = key_of("env.FOO"), none = key_of("no.such");
    (void)schema_table(&count);
    assert_int_equal(schema_json(NULL, &all, &err), QS_OK);
    assert_int_equal(json_array_size(json_object_get(all, "keys")), count);
    assert_int_equal(schema_json(&key, &some, &err), QS_OK);
    assert_int_equal(json_array_size(json_object_get(some, "keys")), 7);
    assert_int_equal(schema_json(&map, &one, &err), QS_OK);
    assert_int_equal(json_array_size(json_object_get(one, "keys")), 1);
    assert_int_equal(schema_json(&none, &one, &err), QS_NOT_FOUND);
}

static const json_t *property(const json_t *schema, const char *name)
{
    return json_object_get(json_object_get(schema, "properties"), name);
}

static void the_json_schema_closes_what_is_closed_and_asks_for_what_is_required(void **state)
{
    (void)state;
    AUTO(value_release) json_t *schema = NULL;
    assert_int_equal(schema_json_schema(&schema, NULL), QS_OK);
    assert_string_equal(json_string_value(json_object_get(schema, "$schema")),
                        "https://json-schema.org/draft/2020-12/schema");
    const json_t *sandbox = property(property(schema, "tools"), "executionSandbox");
    assert_true(json_is_false(json_object_get(sandbox, "additionalProperties")));
    assert_int_equal(json_array_size(json_object_get(sandbox, "required")), 2);
    assert_int_equal(json_array_size(json_object_get(property(sandbox, "network"), "enum")), 2);
    const json_t *limits = property(property(schema, "executor"), "limits");
    assert_true(json_is_false(json_object_get(limits, "additionalProperties")));
    assert_int_equal(json_integer_value(json_object_get(property(limits, "wallSeconds"), "default")), 600);
    assert_null(json_object_get(property(schema, "tools"), "additionalProperties"));
    const json_t *server = json_object_get(property(schema, "mcpServers"), "additionalProperties");
    assert_string_equal(json_string_value(json_object_get(property(server, "command"), "type")), "string");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_fits_its_tree_and_every_path_finds_itself),
        cmocka_unit_test(every_default_is_accepted_by_its_own_entry),
        cmocka_unit_test(every_row_of_the_fact_list_is_in_the_table),
        cmocka_unit_test(patterns_and_covering_entries_are_found),
        cmocka_unit_test(completion_lists_the_values_that_may_be_written),
        cmocka_unit_test(unknown_keys_are_accepted_outside_closed_objects),
        cmocka_unit_test(wrong_types_are_refused_with_what_is_allowed),
        cmocka_unit_test(near_misses_are_refused_with_the_right_name),
        cmocka_unit_test(the_policy_objects_are_closed_at_every_level),
        cmocka_unit_test(values_of_the_policy_are_judged_one_by_one),
        cmocka_unit_test(variables_are_refused_in_the_policy_and_nowhere_else),
        cmocka_unit_test(the_legacy_sandbox_is_refused_for_bwrap_and_noted_for_others),
        cmocka_unit_test(notes_name_slips_and_likely_secrets_and_stay_silent_otherwise),
        cmocka_unit_test(secrets_are_refused_where_everyone_can_read),
        cmocka_unit_test(a_change_may_be_partial_and_a_whole_scope_may_not),
        cmocka_unit_test(a_value_is_json_where_the_schema_agrees_and_else_a_string),
        cmocka_unit_test(text_that_no_value_can_hold_is_refused),
        cmocka_unit_test(the_table_is_given_out_whole_or_below_a_key),
        cmocka_unit_test(the_json_schema_closes_what_is_closed_and_asks_for_what_is_required),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
