/* SPDX-License-Identifier: Apache-2.0 */
/* Adopting an edited file: what is taken over, what is refused, and that nothing else is touched. */
#include "qsettings/history.h"
#include "tests/support/faults.h"
#include "tests/support/published.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct qs_store *user;

static int setup_both(void **state)
{
    if (published_setup(state))
        return -1;
    user = stores_open(scratch.dir, QS_SCOPE_USER);
    stores_become(system_store, "{\"tools\": {\"approvalMode\": \"plan\", \"core\": [\"ls\"]}}");
    stores_become(user, "{\"ui\": {\"theme\": \"dark\", \"font\": {\"size\": 10}}, \"gone\": 1}");
    target.scope = QS_SCOPE_USER;
    return 0;
}

static int teardown_both(void **state)
{
    qs_store_close(user);
    return published_teardown(state);
}

static void publish(void)
{
    if (qs_publish(system_store, &target, 0, NULL, &err) != QS_OK)
        fail_msg("%s", err.message);
}

static enum qs_status adopt(struct qs_commit_info *ret_info)
{
    struct qs_adopt_options options = {.size = sizeof options, .wait_ms = 1000};
    err = (struct qs_error){0};
    return qs_publish_adopt(user, &target, &options, ret_info, &err);
}

static void assert_value(struct qs_store *store, const char *key, const char *expected)
{
    char *value = stores_get(store, key);
    if (!expected ? value != NULL : !value || strcmp(value, expected) != 0)
        fail_msg("%s is %s and not %s", key ? key : "the whole", value ? value : "(unset)",
                 expected ? expected : "(unset)");
    free(value);
}

static uint64_t generation(struct qs_store *store)
{
    struct qs_snapshot *snapshot = NULL;
    assert_int_equal(qs_snapshot_take(store, &snapshot, &err), QS_OK);
    uint64_t result = qs_snapshot_generation(snapshot);
    qs_snapshot_unref(snapshot);
    return result;
}

static void edits_become_one_commit_and_the_file_is_published_again(void **state)
{
    (void)state;
    struct qs_commit_info info = {.size = sizeof info};
    struct qs_history *history = NULL;
    const struct qs_record *record = NULL;
    publish();
    uint64_t before = generation(user);
    /* One value changed, one added, one taken out, an object in place of a value; a comment, another layout. */
    scratch_write(
        file, "{ // my edit\n\"ui\": {\"theme\": {\"day\": \"light\"}, \"font\": {\"size\": 10}}, \"new\": [1, 2]}");
    assert_int_equal(adopt(&info), QS_OK);
    assert_true(info.changed);
    assert_int_equal(info.generation, before + 1);
    assert_value(user, NULL, "{\"new\":[1,2],\"ui\":{\"font\":{\"size\":10},\"theme\":{\"day\":\"light\"}}}");
    struct qs_publish_report *report = NULL;
    assert_int_equal(qs_publish_check(system_store, &target, &report, &err), QS_OK);
    assert_int_equal(report->state, QS_PUBLISH_CURRENT);
    qs_publish_report_free(report);
    assert_int_equal(qs_history_open(user, &history, &err), QS_OK);
    assert_int_equal(qs_history_find(history, before + 1, &record, &err), QS_OK);
    assert_non_null(strstr(record->message, "adopt"));
    assert_non_null(strstr(record->message, file));
    qs_history_close(history);
    /* A value in place of an object, too. */
    scratch_write(file, "{\"new\": [1, 2], \"ui\": 5}");
    assert_int_equal(adopt(&info), QS_OK);
    assert_value(user, NULL, "{\"new\":[1,2],\"ui\":5}");
}

static void a_file_that_was_not_edited_makes_no_commit(void **state)
{
    (void)state;
    struct qs_commit_info info = {.size = sizeof info};
    publish();
    uint64_t before = generation(user);
    assert_int_equal(adopt(&info), QS_OK);
    assert_false(info.changed);
    assert_int_equal(generation(user), before);
    /* Nor one that only looks different; but it gets its layout back. */
    scratch_write(file, "{\"gone\":1,\"ui\":{\"theme\":\"dark\",\"font\":{\"size\":10}}}");
    assert_int_equal(adopt(&info), QS_OK);
    assert_int_equal(generation(user), before);
    publish();
}

static void settings_newer_than_the_file_stay(void **state)
{
    (void)state;
    publish();
    scratch_write(file, "{\"ui\": {\"theme\": \"light\", \"font\": {\"size\": 10}}}"); /* theme changed, "gone" out */
    stores_set(user, "newer", "true");
    assert_int_equal(adopt(NULL), QS_OK);
    assert_value(user, "ui.theme", "\"light\"");
    assert_value(user, "newer", "true");
    assert_value(user, "gone", "1"); /* whether it was taken out or is newer cannot be told */
    char *text = scratch_read(file, NULL);
    assert_non_null(strstr(text, "newer"));
    free(text);
}

static void a_file_that_was_never_published_is_merged(void **state)
{
    (void)state;
    scratch_write(file, "{\"from\": \"elsewhere\"}");
    assert_int_equal(adopt(NULL), QS_OK);
    assert_value(user, "from", "\"elsewhere\"");
    assert_value(user, "ui.theme", "\"dark\"");
}

static void of_effective_settings_only_the_edits_land_in_the_scope(void **state)
{
    (void)state;
    target.scope = QS_SCOPE_EFFECTIVE;
    publish();
    char *text = scratch_read(file, NULL);
    assert_non_null(strstr(text, "\"plan\""));
    free(text);
    scratch_write(file, "{\"gone\": 1, \"ui\": {\"theme\": \"light\", \"font\": {\"size\": 10}},"
                        " \"tools\": {\"approvalMode\": \"plan\", \"core\": [\"ls\"]}}");
    assert_int_equal(adopt(NULL), QS_OK);
    assert_value(user, NULL, "{\"gone\":1,\"ui\":{\"font\":{\"size\":10},\"theme\":\"light\"}}");
    assert_value(system_store, "tools.approvalMode", "\"plan\"");
}

static void what_another_scope_sets_cannot_be_taken_out(void **state)
{
    (void)state;
    target.scope = QS_SCOPE_EFFECTIVE;
    publish();
    uint64_t before = generation(user);
    const char *edit =
        "{\"gone\": 1, \"ui\": {\"theme\": \"light\", \"font\": {\"size\": 10}}, \"tools\": {\"core\": [\"ls\"]}}";
    scratch_write(file, edit);
    assert_int_equal(adopt(NULL), QS_INVALID);
    assert_string_equal(err.path, "tools.approvalMode");
    assert_int_equal(generation(user), before);
    assert_true(scratch_holds(file, edit));
}

static void a_list_that_scopes_add_up_is_not_adopted_from_the_sum(void **state)
{
    (void)state;
    stores_set(system_store, "context.includeDirectories", "[\"/srv\"]");
    stores_set(user, "context.includeDirectories", "[\"/home/me\"]");
    target.scope = QS_SCOPE_EFFECTIVE;
    publish();
    char *text = scratch_read(file, NULL);
    char *at = strstr(text, "\"/srv\"");
    assert_non_null(at);
    at[1] = '@'; /* an edit of one element */
    scratch_write(file, text);
    assert_int_equal(adopt(NULL), QS_INVALID);
    assert_string_equal(err.path, "context.includeDirectories");
    assert_true(scratch_holds(file, text));
    free(text);
}

static void a_text_that_cannot_be_read_or_is_not_allowed_is_refused_with_its_place(void **state)
{
    (void)state;
    publish();
    uint64_t before = generation(user);
    scratch_write(file, "{\n  \"ui\": {,\n}");
    assert_int_equal(adopt(NULL), QS_INVALID);
    assert_int_equal(err.line, 2);
    assert_string_equal(err.file, file);
    scratch_write(file, "{\"good\": 1, \"tools\": {\"approvalMode\": \"sometimes\"}}");
    assert_int_equal(adopt(NULL), QS_INVALID);
    assert_string_equal(err.path, "tools.approvalMode");
    assert_int_equal(generation(user), before); /* not even the good part */
    assert_int_equal(unlink(file), 0);
    assert_int_equal(adopt(NULL), QS_NOT_FOUND);
    target.scope = QS_SCOPE_SYSTEM;
    assert_int_equal(adopt(NULL), QS_USAGE); /* into the user store */
}

static void edit_again(unsigned number, const char *call, void *context)
{
    (void)number;
    (void)call;
    (void)context;
    scratch_write(file, "{\"again\": true}");
}

static void a_file_edited_again_meanwhile_is_not_overwritten(void **state)
{
    (void)state;
    struct qs_commit_info info = {.size = sizeof info};
    publish();
    uint64_t before = generation(user);
    scratch_write(file, "{\"first\": true}");
    /* mkdirat is the first thing that replacing the file does. */
    faults_start(&(struct fault){.at = 1, .only = "mkdirat", .kind = FAULT_NONE, .before = edit_again});
    enum qs_status status = adopt(&info);
    bool hit = faults_were_hit();
    (void)faults_stop();
    assert_true(hit);
    assert_int_equal(status, QS_CONFLICT);
    assert_int_equal(info.generation, before + 1); /* the commit stands */
    assert_value(user, "first", "true");
    assert_true(scratch_holds(file, "{\"again\": true}"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_both, teardown_both)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(edits_become_one_commit_and_the_file_is_published_again),
        TEST(a_file_that_was_not_edited_makes_no_commit),
        TEST(settings_newer_than_the_file_stay),
        TEST(a_file_that_was_never_published_is_merged),
        TEST(of_effective_settings_only_the_edits_land_in_the_scope),
        TEST(what_another_scope_sets_cannot_be_taken_out),
        TEST(a_list_that_scopes_add_up_is_not_adopted_from_the_sum),
        TEST(a_text_that_cannot_be_read_or_is_not_allowed_is_refused_with_its_place),
        TEST(a_file_edited_again_meanwhile_is_not_overwritten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
