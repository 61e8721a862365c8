/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Misuse of every public function: NULL, numbers out of range, calls before or after their time. What returns a status
 * says QS_USAGE, all else answers NULL, zero or false, and nothing crashes; with an error record and without one. A
 * function of the recorded ABI that is called nowhere here fails the suite.
 */
#include "qsettings/qsettings.h"
#include "tests/support/one_store.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_FUNCTIONS 256

static const char *called[MOST_FUNCTIONS];
static size_t called_count;
static struct qs_error *e; /* &err, or NULL */

static void note(const char *function)
{
    for (size_t i = 0; i < called_count; i++)
        if (strcmp(called[i], function) == 0)
            return;
    assert_true(called_count < MOST_FUNCTIONS);
    called[called_count++] = function;
}

static void is_usage(const char *call, enum qs_status status)
{
    if (status != QS_USAGE)
        fail_msg("%s: %s", call, qs_status_name(status));
    if (e && (e->status != QS_USAGE || !e->message[0]))
        fail_msg("%s: no message", call);
    err = (struct qs_error){0};
}

static void is_neutral(const char *call, bool neutral)
{
    if (!neutral)
        fail_msg("%s: not the neutral answer", call);
}

#define REFUSED(function, ...)          (note(#function), is_usage(#function #__VA_ARGS__, function __VA_ARGS__))
#define NEUTRAL(function, args, answer) (note(#function), is_neutral(#function #args, function args answer))
#define CALM(function, args)            (note(#function), (void)(function args))

/* ---- names and texts ---- */

static void names_of_numbers_out_of_range(void)
{
    NEUTRAL(qs_status_name, ((enum qs_status)7), != NULL);
    NEUTRAL(qs_scope_name, ((enum qs_scope)7), != NULL);
    NEUTRAL(qs_layer_name, ((enum qs_layer)7), != NULL);
    NEUTRAL(qs_layer_state_name, ((enum qs_layer_state)7), != NULL);
    NEUTRAL(qs_reason_name, ((enum qs_reason)77), != NULL);
    NEUTRAL(qs_publish_state_name, ((enum qs_publish_state)7), != NULL);
    NEUTRAL(qs_policy_status_name, ((enum qs_status)7), != NULL);
    NEUTRAL(qs_version, (), != NULL);
}

static void keys(void)
{
    struct qs_key key = {0};
    struct qs_key long_key = {.len = QS_KEY_MAX_BYTES + 1};
    char text[8] = "x";
    REFUSED(qs_key_parse, (NULL, &key, e));
    REFUSED(qs_key_parse, ("a", NULL, e));
    REFUSED(qs_key_push, (NULL, "a", 1, e));
    REFUSED(qs_key_push, (&key, NULL, 1, e));
    REFUSED(qs_key_push, (&long_key, "a", 1, e));
    CALM(qs_key_pop, (NULL));
    CALM(qs_key_pop, (&long_key));
    NEUTRAL(qs_key_format, ("a", 1, NULL, 8), == NULL);
    NEUTRAL(qs_key_format, ("a", 1, text, 0), == text);
    NEUTRAL(qs_key_format, (NULL, 1, text, sizeof text)[0], == '\0');
}

/* ---- stores and snapshots ---- */

static void stores(void)
{
    struct qs_store *store = NULL;
    struct qs_snapshot *snapshot = NULL;
    struct qs_store_options options = {.size = sizeof options, .root = "relative"};
    struct qs_fsck_report report = {0};
    bool required = false;
    REFUSED(qs_store_open, (QS_SCOPE_SYSTEM, NULL, NULL, e));
    REFUSED(qs_store_open, (QS_SCOPE_EFFECTIVE, NULL, &store, e));
    REFUSED(qs_store_open, ((enum qs_scope)7, NULL, &store, e));
    REFUSED(qs_store_open, (QS_SCOPE_SYSTEM, &options, &store, e));
    options.size = 0;
    REFUSED(qs_store_open, (QS_SCOPE_SYSTEM, &options, &store, e));
    NEUTRAL(qs_store_scope, (NULL), == QS_SCOPE_EFFECTIVE);
    NEUTRAL(qs_store_path, (NULL), == NULL);
    NEUTRAL(qs_store_root, (NULL), == NULL);
    CALM(qs_store_close, (NULL));
    REFUSED(qs_snapshot_take, (NULL, &snapshot, e));
    REFUSED(qs_snapshot_take, (f.store, NULL, e));
    REFUSED(qs_store_init, (NULL, NULL, e));
    REFUSED(qs_store_init, (f.store, &(struct qs_init_options){.require_policy = true}, e));
    REFUSED(qs_store_require, (NULL, true, e));
    REFUSED(qs_store_is_required, (NULL, &required, e));
    REFUSED(qs_store_is_required, (f.store, NULL, e));
    REFUSED(qs_store_fsck, (NULL, NULL, e));
    REFUSED(qs_store_fsck, (f.store, &report, e));
}

static void maintenance(void)
{
    struct qs_repair_report *report = NULL;
    struct qs_commit_info info = {0};
    REFUSED(qs_store_repair, (NULL, false, 0, &report, e));
    REFUSED(qs_store_repair, (f.store, false, 0, NULL, e));
    CALM(qs_repair_report_free, (NULL));
    REFUSED(qs_store_compact, (NULL, 0, e));
    REFUSED(qs_store_backup, (NULL, f.backup, false, e));
    REFUSED(qs_store_backup, (f.store, NULL, false, e));
    REFUSED(qs_store_backup, (f.store, "/tmp/", false, e));
    REFUSED(qs_store_restore, (NULL, f.backup, 0, NULL, e));
    REFUSED(qs_store_restore, (f.store, NULL, 0, NULL, e));
    REFUSED(qs_store_restore, (f.store, f.backup, 0, &info, e));
    REFUSED(qs_store_purge, (NULL, "a", NULL, 0, NULL, e));
    REFUSED(qs_store_purge, (f.store, NULL, NULL, 0, NULL, e));
    REFUSED(qs_store_purge, (f.store, "a", NULL, 0, &info, e));
}

static void no_snapshot(void)
{
    struct qs_iter iter = qs_snapshot_iter(NULL, NULL);
    struct qs_bytes bytes;
    note("qs_snapshot_iter");
    NEUTRAL(qs_iter_next, (&iter, &bytes, &bytes), == false);
    NEUTRAL(qs_iter_next, (NULL, &bytes, &bytes), == false);
    NEUTRAL(qs_snapshot_ref, (NULL), == NULL);
    CALM(qs_snapshot_unref, (NULL));
    NEUTRAL(qs_snapshot_scope, (NULL), == QS_SCOPE_EFFECTIVE);
    NEUTRAL(qs_snapshot_generation, (NULL), == 0);
    NEUTRAL(qs_snapshot_digest, (NULL), == NULL);
    NEUTRAL(qs_snapshot_store_id, (NULL), == NULL);
    NEUTRAL(qs_snapshot_time, (NULL), == 0);
    NEUTRAL(qs_snapshot_count, (NULL), == 0);
    NEUTRAL(qs_snapshot_requires_policy, (NULL), == false);
    NEUTRAL(qs_snapshot_retries, (NULL), == 0);
    NEUTRAL(qs_snapshot_lock_count, (NULL), == 0);
    NEUTRAL(qs_snapshot_lock_at, (NULL, 0).data, == NULL);
    NEUTRAL(qs_snapshot_changed, (NULL, f.store), == true); /* as a store that is gone */
}

static void a_snapshot(void)
{
    struct qs_snapshot *snapshot = fixture_read(&f);
    struct qs_key key = {0};
    struct qs_key long_key = {.len = QS_KEY_MAX_BYTES + 1};
    struct qs_bytes bytes;
    char *text = NULL;
    struct qs_iter iter = qs_snapshot_iter(snapshot, &long_key);
    NEUTRAL(qs_iter_next, (&iter, &bytes, &bytes), == false);
    iter = qs_snapshot_iter(snapshot, NULL);
    NEUTRAL(qs_iter_next, (&iter, NULL, &bytes), == false);
    NEUTRAL(qs_iter_next, (&iter, &bytes, NULL), == false);
    NEUTRAL(qs_snapshot_changed, (snapshot, NULL), == true);
    NEUTRAL(qs_snapshot_lock_at, (snapshot, 99).data, == NULL);
    REFUSED(qs_snapshot_get, (NULL, "a", &bytes, e));
    REFUSED(qs_snapshot_get, (snapshot, NULL, &bytes, e));
    REFUSED(qs_snapshot_get, (snapshot, "a", NULL, e));
    note("qs_snapshot_get_key"); /* it takes no error record */
    assert_int_equal(qs_snapshot_get_key(NULL, &key, &bytes), QS_USAGE);
    assert_int_equal(qs_snapshot_get_key(snapshot, NULL, &bytes), QS_USAGE);
    assert_int_equal(qs_snapshot_get_key(snapshot, &long_key, &bytes), QS_USAGE);
    assert_int_equal(qs_snapshot_get_key(snapshot, &key, NULL), QS_USAGE);
    REFUSED(qs_snapshot_json, (NULL, NULL, &text, NULL, e));
    REFUSED(qs_snapshot_json, (snapshot, NULL, NULL, NULL, e));
    qs_snapshot_unref(snapshot);
}

/* ---- transactions ---- */

static void transactions(void)
{
    struct qs_txn *txn = NULL;
    char *text = NULL;
    size_t count = 0;
    REFUSED(qs_txn_begin, (NULL, 0, &txn, e));
    REFUSED(qs_txn_begin, (f.store, 0, NULL, e));
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    REFUSED(qs_txn_get, (txn, NULL, NULL, NULL, e));
    REFUSED(qs_txn_get, (NULL, NULL, &text, NULL, e));
    REFUSED(qs_txn_set, (txn, NULL, "1", 1, e));
    REFUSED(qs_txn_set, (txn, "a", NULL, 1, e));
    REFUSED(qs_txn_unset, (txn, NULL, e));
    REFUSED(qs_txn_lock, (txn, NULL, e));
    REFUSED(qs_txn_unlock, (txn, NULL, e));
    REFUSED(qs_txn_apply, (txn, NULL, "{}", 2, QS_FORMAT_JSON, false, e));
    REFUSED(qs_txn_apply, (txn, "f", NULL, 2, QS_FORMAT_JSON, false, e));
    REFUSED(qs_txn_apply, (txn, "f", "{}", 2, (enum qs_text_format)7, false, e));
    REFUSED(qs_txn_changes, (NULL, &count, e));
    REFUSED(qs_txn_changes, (txn, NULL, e));
    NEUTRAL(qs_txn_change, (txn, 0), == NULL); /* before qs_txn_changes */
    NEUTRAL(qs_txn_change, (NULL, 0), == NULL);
    NEUTRAL(qs_txn_base, (NULL), == NULL);
    CALM(qs_txn_abort, (NULL));
    CALM(qs_txn_free, (NULL));
    qs_txn_free(txn);
}

static void ended_transactions(void)
{
    struct qs_txn *txn = NULL;
    struct qs_commit_info info = {0};
    char *text = NULL;
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    REFUSED(qs_txn_commit, (txn, &(struct qs_commit_options){.message = "m"}, NULL, e)); /* it has ended now */
    struct qs_txn *const none_or_ended[] = {NULL, txn};
    for (size_t i = 0; i < 2; i++) {
        struct qs_txn *t = none_or_ended[i];
        REFUSED(qs_txn_get, (t, NULL, &text, NULL, e));
        REFUSED(qs_txn_set, (t, "a", "1", 1, e));
        REFUSED(qs_txn_unset, (t, "a", e));
        REFUSED(qs_txn_apply, (t, "f", "{}", 2, QS_FORMAT_JSON, false, e));
        REFUSED(qs_txn_lock, (t, "a", e));
        REFUSED(qs_txn_unlock, (t, "a", e));
        REFUSED(qs_txn_require_policy, (t, true, e));
        REFUSED(qs_txn_rollback, (t, 1, e));
        REFUSED(qs_txn_commit, (t, NULL, NULL, e));
    }
    qs_txn_free(txn);
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    REFUSED(qs_txn_commit, (txn, NULL, &info, e));
    qs_txn_free(txn);
}

/* ---- history and watches ---- */

static void histories(void)
{
    struct qs_history *history = NULL;
    const struct qs_record *record = NULL;
    struct qs_snapshot *snapshot = NULL;
    REFUSED(qs_history_open, (NULL, &history, e));
    REFUSED(qs_history_open, (f.store, NULL, e));
    ok(qs_history_open(f.store, &history, &err));
    NEUTRAL(qs_history_change, (history, 0), == NULL); /* before a record */
    REFUSED(qs_history_record, (NULL, 0, &record, e));
    REFUSED(qs_history_record, (history, 0, NULL, e));
    REFUSED(qs_history_find, (NULL, 1, &record, e));
    REFUSED(qs_history_find, (history, 1, NULL, e));
    ok(qs_history_record(history, 1, &record, &err));
    assert_non_null(qs_history_change(history, 0));
    NEUTRAL(qs_history_change, (history, record->change_count), == NULL);
    NEUTRAL(qs_history_change, (NULL, 0), == NULL);
    REFUSED(qs_history_at, (NULL, 1, &snapshot, e));
    REFUSED(qs_history_at, (history, 1, NULL, e));
    REFUSED(qs_history_check, (NULL, e));
    NEUTRAL(qs_history_count, (NULL), == 0);
    NEUTRAL(qs_history_snapshot, (NULL), == NULL);
    CALM(qs_history_close, (NULL));
    qs_history_close(history);
}

static void watches(void)
{
    struct qs_watch *watch = NULL;
    struct qs_watch_event event = {.size = sizeof event};
    REFUSED(qs_watch_open, (NULL, 0, &watch, e));
    REFUSED(qs_watch_open, (f.store, 0, NULL, e));
    ok(qs_watch_open(f.store, 0, &watch, &err));
    REFUSED(qs_watch_next, (NULL, &event, e));
    REFUSED(qs_watch_next, (watch, NULL, e));
    REFUSED(qs_watch_next, (watch, &(struct qs_watch_event){0}, e));
    NEUTRAL(qs_watch_history, (watch), == NULL); /* before an event */
    NEUTRAL(qs_watch_history, (NULL), == NULL);
    NEUTRAL(qs_watch_fd, (NULL), == -1);
    CALM(qs_watch_close, (NULL));
    qs_watch_close(watch);
}

/* ---- settings and policy ---- */

static void settings(void)
{
    struct qs_settings *settings = NULL;
    struct qs_settings_options options = {.size = sizeof options, .root = f.root};
    struct qs_explanation *explanation = NULL;
    uint64_t generation = 0;
    char *text = NULL;
    int winner = 0;
    REFUSED(qs_settings_open, (&options, NULL, e));
    REFUSED(qs_settings_open, (&(struct qs_settings_options){.root = f.root}, &settings, e));
    ok(qs_settings_open(&options, &settings, &err));
    REFUSED(qs_settings_json, (NULL, NULL, &text, NULL, e));
    REFUSED(qs_settings_json, (settings, NULL, NULL, NULL, e));
    REFUSED(qs_settings_explain, (NULL, "a", &explanation, e));
    REFUSED(qs_settings_explain, (settings, NULL, &explanation, e));
    REFUSED(qs_settings_explain, (settings, "a", NULL, e));
    REFUSED(qs_settings_origin, (NULL, "a", &winner, &generation, e));
    REFUSED(qs_settings_origin, (settings, NULL, &winner, &generation, e));
    REFUSED(qs_settings_origin, (settings, "a", NULL, &generation, e));
    REFUSED(qs_settings_origin, (settings, "a", &winner, NULL, e));
    ok(qs_settings_explain(settings, "a", &explanation, &err));
    NEUTRAL(qs_explanation_layer, (explanation, (enum qs_layer)7), == NULL);
    NEUTRAL(qs_explanation_layer, (explanation, (enum qs_layer) - 1), == NULL);
    NEUTRAL(qs_explanation_layer, (NULL, QS_LAYER_USER), == NULL);
    CALM(qs_explanation_free, (NULL));
    NEUTRAL(qs_settings_generation, (settings, (enum qs_layer)7), == 0);
    NEUTRAL(qs_settings_generation, (NULL, QS_LAYER_USER), == 0);
    NEUTRAL(qs_settings_warning_count, (NULL), == 0);
    NEUTRAL(qs_settings_warning, (NULL, 0), == NULL);
    NEUTRAL(qs_settings_warning, (settings, 99), == NULL);
    CALM(qs_settings_close, (NULL));
    qs_explanation_free(explanation);
    qs_settings_close(settings);
}

static void policies(void)
{
    struct qs_policy_result *result = NULL;
    struct qs_policy_options options = {.size = sizeof options, .root = f.root, .require_scopes = 1u << 7};
    int fd = -1;
    size_t len = 0;
    REFUSED(qs_policy_read, (&options, NULL, e));
    REFUSED(qs_policy_read, (&options, &result, e));
    REFUSED(qs_policy_read, (&(struct qs_policy_options){.root = f.root}, &result, e));
    assert_null(result);
    options.require_scopes = 0;
    assert_int_equal(qs_policy_read(&options, &result, &err), QS_NO_POLICY);
    REFUSED(qs_policy_freeze, (NULL, &fd, e));
    REFUSED(qs_policy_freeze, (result, NULL, e));
    REFUSED(qs_policy_freeze, (result, &fd, e)); /* there is no policy in it */
    REFUSED(qs_policy_thaw, (-1, &result, e));
    REFUSED(qs_policy_thaw, (0, NULL, e));
    REFUSED(qs_policy_session, (NULL, NULL, &result, e));
    REFUSED(qs_policy_session, ("1:1:1", NULL, NULL, e));
    NEUTRAL(qs_policy_status, (NULL), == QS_USAGE);
    NEUTRAL(qs_policy_get, (NULL), == NULL);
    NEUTRAL(qs_policy_get, (result), == NULL);
    NEUTRAL(qs_policy_digest, (NULL), == NULL);
    NEUTRAL(qs_policy_source_count, (NULL), == 0);
    NEUTRAL(qs_policy_source, (NULL, 0), == NULL);
    NEUTRAL(qs_policy_source, (result, 99), == NULL);
    NEUTRAL(qs_policy_document, (NULL, &len), == NULL);
    NEUTRAL(qs_policy_document, (result, NULL), == NULL);
    CALM(qs_policy_free, (NULL));
    qs_policy_free(result);
}

/* ---- files and publishing ---- */

static void files(void)
{
    const char *file = f.backup;
    struct qs_replace_options both = {.size = sizeof both,
                                      .flags = QS_REPLACE_NEW_ONLY,
                                      .expect = "x",
                                      .expect_len = 1};
    REFUSED(qs_file_replace, (NULL, "x", 1, NULL, e));
    REFUSED(qs_file_replace, ("", "x", 1, NULL, e));
    REFUSED(qs_file_replace, (file, NULL, 1, NULL, e));
    REFUSED(qs_file_replace, (file, "x", 1, &both, e));
    both = (struct qs_replace_options){.size = sizeof both, .flags = 1u << 30};
    REFUSED(qs_file_replace, (file, "x", 1, &both, e));
    both = (struct qs_replace_options){.size = sizeof both, .mode = 01777};
    REFUSED(qs_file_replace, (file, "x", 1, &both, e));
    both = (struct qs_replace_options){.mode = 0600};
    REFUSED(qs_file_replace, (file, "x", 1, &both, e));
    assert_int_equal(access(file, F_OK), -1);
}

static void targets(void)
{
    struct qs_target good = {.size = sizeof good, .file = f.backup};
    const struct qs_target bad[] = {
        {.file = f.backup},
        {.size = sizeof good},
        {.size = sizeof good, .file = "relative"},
        {.size = sizeof good, .file = f.backup, .scope = (enum qs_scope)7},
        {.size = sizeof good, .file = f.backup, .format = (enum qs_publish_format)7},
        {.size = sizeof good, .file = f.backup, .dialect = (enum qs_dialect)7},
    };
    struct qs_publish_report *report = NULL;
    for (size_t i = 0; i <= sizeof bad / sizeof bad[0]; i++) {
        const struct qs_target *target = i < sizeof bad / sizeof bad[0] ? &bad[i] : NULL;
        REFUSED(qs_publish, (f.store, target, 0, NULL, e));
        REFUSED(qs_publish_check, (f.store, target, &report, e));
        REFUSED(qs_publish_adopt, (f.store, target, NULL, NULL, e));
        REFUSED(qs_publish_register, (f.store, target, NULL, 0, NULL, e));
    }
    REFUSED(qs_publish, (NULL, &good, 0, NULL, e));
    REFUSED(qs_publish, (f.store, &good, 1u << 30, NULL, e));
    REFUSED(qs_publish_check, (NULL, &good, &report, e));
    REFUSED(qs_publish_check, (f.store, &good, NULL, e));
    REFUSED(qs_publish_adopt, (NULL, &good, NULL, NULL, e));
    REFUSED(qs_publish_adopt, (f.store, &good, &(struct qs_adopt_options){.flags = 0}, NULL, e));
    REFUSED(qs_publish_adopt,
            (f.store, &good, &(struct qs_adopt_options){.size = sizeof(struct qs_adopt_options), .flags = 1u << 30},
             NULL, e));
    REFUSED(qs_publish_register, (NULL, &good, NULL, 0, NULL, e));
}

static void registers(void)
{
    struct qs_target_list *list = NULL;
    struct qs_publish_report *report = NULL;
    REFUSED(qs_publish_unregister, (NULL, f.backup, NULL, 0, NULL, e));
    REFUSED(qs_publish_unregister, (f.store, NULL, NULL, 0, NULL, e));
    REFUSED(qs_publish_unregister, (f.store, "", NULL, 0, NULL, e));
    REFUSED(qs_publish_registered, (NULL, NULL, e));
    REFUSED(qs_publish_list, (NULL, &list, e));
    REFUSED(qs_publish_list, (f.store, NULL, e));
    ok(qs_publish_list(f.store, &list, &err));
    NEUTRAL(qs_target_list_at, (list, 0), == NULL);
    NEUTRAL(qs_target_list_at, (NULL, 0), == NULL);
    NEUTRAL(qs_target_list_count, (NULL), == 0);
    CALM(qs_target_list_free, (NULL));
    qs_target_list_free(list);
    ok(qs_publish_check(f.store, &(struct qs_target){.size = sizeof(struct qs_target), .file = f.backup}, &report,
                        &err));
    NEUTRAL(qs_publish_report_difference, (report, 0), == NULL);
    NEUTRAL(qs_publish_report_difference, (NULL, 0), == NULL);
    CALM(qs_publish_report_free, (NULL));
    qs_publish_report_free(report);
}

/* ---- all of it ---- */

static void misuse_is_refused_at_every_function(void **state)
{
    (void)state;
    static void (*const groups[])(void) = {names_of_numbers_out_of_range,
                                           keys,
                                           stores,
                                           maintenance,
                                           no_snapshot,
                                           a_snapshot,
                                           transactions,
                                           ended_transactions,
                                           histories,
                                           watches,
                                           settings,
                                           policies,
                                           files,
                                           targets,
                                           registers};
    fixture_set(&f, "a", "1");
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        e = &err;
        groups[i]();
        e = NULL;
        groups[i]();
    }
    store_is("{\"a\":1}");
}

static void no_function_of_the_recorded_abi_is_left_out(void **state)
{
    (void)state;
    char line[128];
    size_t count = 0;
    FILE *recorded = fopen("tests/fixtures/abi/libqsettings.symbols", "r");
    assert_non_null(recorded);
    while (fgets(line, sizeof line, recorded)) {
        size_t i = 0;
        line[strcspn(line, " \n")] = '\0';
        while (i < called_count && strcmp(called[i], line) != 0)
            i++;
        if (i == called_count)
            fail_msg("%s is misused nowhere in this suite", line);
        count++;
    }
    (void)fclose(recorded);
    assert_int_equal(count, called_count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(misuse_is_refused_at_every_function, set_up, tear_down),
        cmocka_unit_test(no_function_of_the_recorded_abi_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
