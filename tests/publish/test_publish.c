/* SPDX-License-Identifier: Apache-2.0 */
/* Publishing: what is written, when it is refused, and what is told of an edited file. */
#include "tests/support/published.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#define ALICE 1234

static struct qs_store *user;

static int teardown_user(void **state)
{
    qs_store_close(user);
    user = NULL;
    return published_teardown(state);
}

static enum qs_status publish_with(unsigned flags)
{
    err = (struct qs_error){0};
    return qs_publish(system_store, &target, flags, NULL, &err);
}

static void assert_published(enum qs_publish_outcome expected)
{
    enum qs_publish_outcome outcome;
    err = (struct qs_error){0};
    if (qs_publish(system_store, &target, 0, &outcome, &err) != QS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(outcome, expected);
}

static enum qs_publish_state state_of(void)
{
    struct qs_publish_report *report = NULL;
    if (qs_publish_check(system_store, &target, &report, &err) != QS_OK)
        fail_msg("%s", err.message);
    enum qs_publish_state state = report->state;
    qs_publish_report_free(report);
    return state;
}

static void a_scopes_settings_are_written_for_everyone(void **state)
{
    (void)state;
    mode_t old = umask(077);
    assert_published(QS_PUBLISH_WRITTEN);
    (void)umask(old);
    assert_true(scratch_holds(file, DEFAULT_TEXT));
    assert_int_equal(scratch_stat(file).st_mode & 07777, 0644);
    assert_int_equal(scratch_count(in("out"), ""), 1);
}

static void effective_settings_are_written_for_their_user_alone(void **state)
{
    (void)state;
    user = stores_open(scratch.dir, QS_SCOPE_USER);
    stores_become(user, "{\"tools\": {\"approvalMode\": \"yolo\"}, \"ui\": {\"theme\": \"dark\"}}");
    target.scope = QS_SCOPE_EFFECTIVE;
    mode_t old = umask(0);
    assert_int_equal(publish_with(0), QS_OK);
    (void)umask(old);
    assert_true(scratch_holds(file, "{\n  \"tools\": {\n    \"approvalMode\": \"default\"\n  },\n"
                                    "  \"ui\": {\n    \"theme\": \"dark\"\n  }\n}\n"));
    assert_int_equal(scratch_stat(file).st_mode & 07777, 0600);
}

static void yaml_is_written_on_wish(void **state)
{
    (void)state;
    target.format = QS_PUBLISH_YAML;
    assert_published(QS_PUBLISH_WRITTEN);
    char *text = scratch_read(file, NULL);
    assert_non_null(strstr(text, "approvalMode: default"));
    free(text);
}

static void for_qwen_the_executor_is_left_out_and_its_closed_object_is_exact(void **state)
{
    (void)state;
    stores_become(system_store,
                  "{\"tools\": {\"executionSandbox\": {\"filesystem\": \"workspace-write\", \"network\": \"closed\"}},"
                  " \"executor\": {\"audit\": \"required\"}}");
    assert_published(QS_PUBLISH_WRITTEN);
    char *text = scratch_read(file, NULL);
    assert_non_null(strstr(text, "executor"));
    free(text);
    target.dialect = QS_DIALECT_QWEN_CODE;
    assert_published(QS_PUBLISH_WRITTEN);
    assert_true(scratch_holds(file, "{\n  \"tools\": {\n    \"executionSandbox\": {\n"
                                    "      \"filesystem\": \"workspace-write\",\n      \"network\": \"closed\"\n"
                                    "    }\n  }\n}\n"));
}

static void what_is_up_to_date_is_not_written_again(void **state)
{
    (void)state;
    assert_published(QS_PUBLISH_WRITTEN);
    ino_t before = scratch_stat(file).st_ino;
    assert_published(QS_PUBLISH_UNCHANGED);
    assert_int_equal(scratch_stat(file).st_ino, before);
    stores_set(system_store, "tools.approvalMode", "\"plan\"");
    assert_int_equal(state_of(), QS_PUBLISH_STALE);
    assert_published(QS_PUBLISH_WRITTEN);
    assert_int_equal(state_of(), QS_PUBLISH_CURRENT);
}

static void the_record_travels_with_the_file(void **state)
{
    (void)state;
    char record[128] = {0}, after[128] = {0};
    assert_published(QS_PUBLISH_WRITTEN);
    assert_int_equal(getxattr(file, "user.qsettings.published", record, sizeof record), 76);
    assert_int_equal(strncmp(record, "blake2b-256:", 12), 0);
    stores_set(system_store, "tools.approvalMode", "\"plan\"");
    assert_published(QS_PUBLISH_WRITTEN);
    assert_int_equal(getxattr(file, "user.qsettings.published", after, sizeof after), 76);
    assert_string_not_equal(record, after);
    /* Moved or copied with its attributes, it is still known. */
    assert_int_equal(rename(file, in("out/moved.json")), 0);
    (void)snprintf(file, sizeof file, "%s", in("out/moved.json"));
    assert_published(QS_PUBLISH_UNCHANGED);
}

static void an_edited_file_is_not_overwritten_unless_forced(void **state)
{
    (void)state;
    assert_published(QS_PUBLISH_WRITTEN);
    scratch_write(file, "{\"mine\": true}\n");
    assert_int_equal(publish_with(0), QS_CONFLICT);
    assert_string_equal(err.file, file);
    assert_true(scratch_holds(file, "{\"mine\": true}\n"));
    stores_set(system_store, "tools.approvalMode", "\"plan\"");
    assert_int_equal(publish_with(QS_PUBLISH_BACKUP), QS_CONFLICT);
    assert_false(scratch_exists(in("out/settings.json.bak")));
    assert_int_equal(publish_with(QS_PUBLISH_FORCE | QS_PUBLISH_BACKUP), QS_OK);
    assert_true(scratch_holds(in("out/settings.json.bak"), "{\"mine\": true}\n"));
    assert_int_equal(state_of(), QS_PUBLISH_CURRENT);
    assert_int_equal(publish_with(0), QS_OK);
}

static void a_file_that_was_never_published_is_somebodys(void **state)
{
    (void)state;
    scratch_write(file, "{}");
    assert_int_equal(publish_with(0), QS_CONFLICT);
    assert_true(scratch_holds(file, "{}"));
    /* But one that holds the very text already only gets its record. */
    scratch_write(file, DEFAULT_TEXT);
    assert_published(QS_PUBLISH_UNCHANGED);
    stores_set(system_store, "tools.approvalMode", "\"plan\"");
    assert_published(QS_PUBLISH_WRITTEN);
}

static void an_editor_that_makes_a_new_file_is_noticed(void **state)
{
    (void)state;
    assert_published(QS_PUBLISH_WRITTEN);
    scratch_write(in("out/tmp"), "{\"mine\": true}");
    assert_int_equal(rename(in("out/tmp"), file), 0); /* no record any more */
    assert_int_equal(state_of(), QS_PUBLISH_EDITED);
    assert_int_equal(publish_with(0), QS_CONFLICT);
}

static void check_tells_each_state_and_changes_nothing(void **state)
{
    (void)state;
    assert_int_equal(state_of(), QS_PUBLISH_MISSING);
    assert_false(scratch_exists(file));
    assert_published(QS_PUBLISH_WRITTEN);
    assert_int_equal(state_of(), QS_PUBLISH_CURRENT);
    stores_become(system_store, "{\"a\": 1, \"b\": [1], \"tools\": {\"approvalMode\": \"plan\"}}");
    scratch_write(file, "{ // mine\n \"b\": [1, 2], \"c\": {}, \"tools\": {\"approvalMode\": \"plan\"}}");
    struct qs_publish_report *report = NULL;
    assert_int_equal(qs_publish_check(system_store, &target, &report, &err), QS_OK);
    assert_int_equal(report->state, QS_PUBLISH_EDITED);
    assert_string_equal(qs_publish_state_name(report->state), "edited");
    assert_int_equal(report->count, 3);
    assert_string_equal(qs_publish_report_difference(report, 0)->key, "a");
    assert_null(qs_publish_report_difference(report, 0)->in_file);
    assert_string_equal(qs_publish_report_difference(report, 0)->in_store, "1");
    assert_string_equal(qs_publish_report_difference(report, 1)->key, "b");
    assert_string_equal(qs_publish_report_difference(report, 1)->in_file, "[1,2]");
    assert_string_equal(qs_publish_report_difference(report, 1)->in_store, "[1]");
    assert_string_equal(qs_publish_report_difference(report, 2)->key, "c");
    assert_string_equal(qs_publish_report_difference(report, 2)->in_file, "{}");
    assert_null(qs_publish_report_difference(report, 2)->in_store);
    qs_publish_report_free(report);
    assert_int_equal(scratch_count(in("out"), ""), 1);
}

static void check_tells_layout_and_broken_text_apart(void **state)
{
    (void)state;
    struct qs_publish_report *report = NULL;
    assert_published(QS_PUBLISH_WRITTEN);
    scratch_write(file, "{\"tools\": {\"approvalMode\": \"default\"}}");
    assert_int_equal(qs_publish_check(system_store, &target, &report, &err), QS_OK);
    assert_int_equal(report->state, QS_PUBLISH_EDITED);
    assert_int_equal(report->count, 0);
    assert_null(report->parse);
    qs_publish_report_free(report);
    scratch_write(file, "{\n  \"tools\": }");
    assert_int_equal(qs_publish_check(system_store, &target, &report, &err), QS_OK);
    assert_int_equal(report->state, QS_PUBLISH_EDITED);
    assert_int_equal(report->count, 0);
    assert_int_equal(report->parse->status, QS_INVALID);
    assert_int_equal(report->parse->line, 2);
    qs_publish_report_free(report);
}

static void an_absent_store_never_becomes_an_empty_file(void **state)
{
    (void)state;
    target.scope = QS_SCOPE_EFFECTIVE;
    assert_int_equal(publish_with(0), QS_OK);
    char *before = scratch_read(file, NULL);
    /* The system store is required, and gone: the text without it would drop its policy. */
    assert_int_equal(qs_store_require(system_store, true, &err), QS_OK);
    assert_int_equal(rename(in("system"), in("gone")), 0);
    user = stores_open(scratch.dir, QS_SCOPE_USER);
    stores_set(user, "ui.theme", "\"dark\"");
    assert_int_equal(publish_with(QS_PUBLISH_FORCE), QS_ABSENT);
    assert_true(scratch_holds(file, before));
    free(before);
    assert_int_equal(qs_store_require(system_store, false, &err), QS_OK);
    assert_int_equal(publish_with(0), QS_OK); /* now it may be absent */
    qs_store_close(user);
    user = NULL;
    assert_int_equal(rename(in("user"), in("gone-too")), 0);
    assert_int_equal(publish_with(QS_PUBLISH_FORCE), QS_ABSENT); /* no store at all */
    target.scope = QS_SCOPE_SYSTEM;
    assert_int_equal(publish_with(QS_PUBLISH_FORCE), QS_ABSENT);
    target.scope = QS_SCOPE_DEFAULTS;
    assert_int_equal(publish_with(QS_PUBLISH_FORCE), QS_ABSENT);
}

static void secrets_are_not_published_for_everyone(void **state)
{
    (void)state;
    user = stores_open(scratch.dir, QS_SCOPE_USER);
    stores_set(user, "security.auth.apiKey", "\"sk-very-secret\"");
    target.scope = QS_SCOPE_USER;
    scratch_write(file, "{}");
    assert_int_equal(chmod(file, 0644), 0);
    assert_int_equal(publish_with(QS_PUBLISH_FORCE), QS_UNTRUSTED);
    assert_string_equal(err.path, "security.auth.apiKey");
    assert_true(scratch_holds(file, "{}"));
    assert_int_equal(chmod(file, 0640), 0);
    assert_int_equal(publish_with(QS_PUBLISH_FORCE), QS_OK);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(publish_with(0), QS_OK);
    assert_int_equal(scratch_stat(file).st_mode & 07777, 0600);
}

static void what_the_writer_refuses_is_refused_here_unless_asked_for(void **state)
{
    (void)state;
    assert_int_equal(symlink("elsewhere.json", file), 0);
    assert_int_equal(publish_with(0), QS_INVALID);
    assert_int_equal(publish_with(QS_PUBLISH_DANGLING), QS_OK);
    assert_true(scratch_holds(in("out/elsewhere.json"), DEFAULT_TEXT));
    assert_int_equal(link(in("out/elsewhere.json"), in("out/second")), 0);
    stores_set(system_store, "tools.approvalMode", "\"plan\"");
    assert_int_equal(publish_with(0), QS_INVALID);
    assert_int_equal(publish_with(QS_PUBLISH_HARDLINKED), QS_OK);
    assert_true(scratch_holds(in("out/second"), DEFAULT_TEXT));
    assert_int_equal(chown(in("out/elsewhere.json"), ALICE, ALICE), 0);
    stores_set(system_store, "tools.approvalMode", "\"auto\"");
    assert_int_equal(publish_with(0), QS_UNTRUSTED);
    assert_int_equal(publish_with(QS_PUBLISH_OTHER_OWNER), QS_OK);
    assert_int_equal(mkdir(in("out/dir"), 0755), 0);
    (void)snprintf(file, sizeof file, "%s", in("out/dir"));
    assert_int_equal(publish_with(QS_PUBLISH_FORCE), QS_INVALID);
}

static void targets_without_sense_are_refused(void **state)
{
    static const char *const paths[] = {"relative", "/a//b", "/a/./b", "/a/../b", "/a/", "/", ""};
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        target.file = paths[i];
        assert_int_equal(publish_with(0), QS_USAGE);
    }
    target.file = file;
    target.scope = (enum qs_scope)4;
    assert_int_equal(publish_with(0), QS_USAGE);
    target.scope = (enum qs_scope) - 1;
    assert_int_equal(publish_with(0), QS_USAGE);
    target.scope = QS_SCOPE_SYSTEM;
    target.dialect = (enum qs_dialect)2;
    assert_int_equal(publish_with(0), QS_USAGE);
    target.dialect = QS_DIALECT_FULL;
    target.scope = QS_SCOPE_SYSTEM;
    target.format = (enum qs_publish_format)7;
    assert_int_equal(publish_with(0), QS_USAGE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, published_setup, teardown_user)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_scopes_settings_are_written_for_everyone),
        TEST(effective_settings_are_written_for_their_user_alone),
        TEST(yaml_is_written_on_wish),
        TEST(for_qwen_the_executor_is_left_out_and_its_closed_object_is_exact),
        TEST(what_is_up_to_date_is_not_written_again),
        TEST(the_record_travels_with_the_file),
        TEST(an_edited_file_is_not_overwritten_unless_forced),
        TEST(a_file_that_was_never_published_is_somebodys),
        TEST(an_editor_that_makes_a_new_file_is_noticed),
        TEST(check_tells_each_state_and_changes_nothing),
        TEST(check_tells_layout_and_broken_text_apart),
        TEST(an_absent_store_never_becomes_an_empty_file),
        TEST(secrets_are_not_published_for_everyone),
        TEST(what_the_writer_refuses_is_refused_here_unless_asked_for),
        TEST(targets_without_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
