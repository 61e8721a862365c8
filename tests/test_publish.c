/* SPDX-License-Identifier: Apache-2.0 */
/* Publishing: what is written, when it is refused, what is told of an edited file, and the register of targets. */
#include "qsettings/publish.h"
#include "tests/support/as_user.h"
#include "tests/support/scratch.h"
#include "tests/support/stores.h"
#include "writer/txn.h"

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

static struct scratch scratch;
static struct qs_store *defaults, *user, *system_store;
static struct qs_error err;
static char file[SCRATCH_PATH_BYTES];
static struct qs_target target;

static const char *in(const char *name)
{
    return scratch_path(&scratch, name);
}

static int setup(void **state)
{
    (void)state;
    scratch_make(&scratch);
    assert_int_equal(mkdir(in("out"), 0755), 0);
    defaults = user = system_store = NULL;
    system_store = stores_open(scratch.dir, QS_SCOPE_SYSTEM);
    stores_set(system_store, "tools.approvalMode", "\"default\"");
    (void)snprintf(file, sizeof file, "%s", in("out/settings.json"));
    target = (struct qs_target){.file = file, .scope = "system"};
    err = (struct qs_error){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    qs_store_close(defaults);
    qs_store_close(user);
    qs_store_close(system_store);
    scratch_remove(&scratch);
    return 0;
}

static enum qs_status publish_with(unsigned flags)
{
    err = (struct qs_error){0};
    return qs_publish(NULL, scratch.dir, &target, flags, NULL, &err);
}

static void assert_published(enum qs_publish_outcome expected)
{
    enum qs_publish_outcome outcome;
    err = (struct qs_error){0};
    if (qs_publish(system_store, scratch.dir, &target, 0, &outcome, &err) != QS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(outcome, expected);
}

static enum qs_publish_state state_of(void)
{
    struct qs_publish_report report = {0};
    if (qs_publish_check(NULL, scratch.dir, &target, &report, &err) != QS_OK)
        fail_msg("%s", err.message);
    enum qs_publish_state state = report.state;
    qs_publish_report_release(&report);
    return state;
}

#define DEFAULT_TEXT "{\n  \"tools\": {\n    \"approvalMode\": \"default\"\n  }\n}\n"

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
    target.scope = "effective";
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
    target.for_qwen = true;
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
    struct qs_publish_report report = {0};
    assert_int_equal(qs_publish_check(NULL, scratch.dir, &target, &report, &err), QS_OK);
    assert_int_equal(report.state, QS_PUBLISH_EDITED);
    assert_string_equal(qs_publish_state_name(report.state), "edited");
    assert_int_equal(report.count, 3);
    assert_string_equal(report.differences[0].key, "a");
    assert_null(report.differences[0].in_file);
    assert_string_equal(report.differences[0].in_store, "1");
    assert_string_equal(report.differences[1].key, "b");
    assert_string_equal(report.differences[1].in_file, "[1,2]");
    assert_string_equal(report.differences[1].in_store, "[1]");
    assert_string_equal(report.differences[2].key, "c");
    assert_string_equal(report.differences[2].in_file, "{}");
    assert_null(report.differences[2].in_store);
    qs_publish_report_release(&report);
    assert_int_equal(scratch_count(in("out"), ""), 1);
}

static void check_tells_layout_and_broken_text_apart(void **state)
{
    (void)state;
    struct qs_publish_report report = {0};
    assert_published(QS_PUBLISH_WRITTEN);
    scratch_write(file, "{\"tools\": {\"approvalMode\": \"default\"}}");
    assert_int_equal(qs_publish_check(NULL, scratch.dir, &target, &report, &err), QS_OK);
    assert_int_equal(report.state, QS_PUBLISH_EDITED);
    assert_int_equal(report.count, 0);
    assert_int_equal(report.parse.status, QS_OK);
    qs_publish_report_release(&report);
    scratch_write(file, "{\n  \"tools\": }");
    assert_int_equal(qs_publish_check(NULL, scratch.dir, &target, &report, &err), QS_OK);
    assert_int_equal(report.state, QS_PUBLISH_EDITED);
    assert_int_equal(report.count, 0);
    assert_int_equal(report.parse.status, QS_INVALID);
    assert_int_equal(report.parse.line, 2);
    qs_publish_report_release(&report);
}

static void an_absent_store_never_becomes_an_empty_file(void **state)
{
    (void)state;
    target.scope = "effective";
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
    target.scope = "system";
    assert_int_equal(publish_with(QS_PUBLISH_FORCE), QS_ABSENT);
    target.scope = "defaults";
    assert_int_equal(publish_with(QS_PUBLISH_FORCE), QS_ABSENT);
}

static void secrets_are_not_published_for_everyone(void **state)
{
    (void)state;
    user = stores_open(scratch.dir, QS_SCOPE_USER);
    stores_set(user, "security.auth.apiKey", "\"sk-very-secret\"");
    target.scope = "user";
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
    target.scope = "workspace";
    assert_int_equal(publish_with(0), QS_USAGE);
    target.scope = NULL;
    assert_int_equal(publish_with(0), QS_USAGE);
    target.scope = "system";
    target.format = (enum qs_publish_format)7;
    assert_int_equal(publish_with(0), QS_USAGE);
}

/* ---- the register ---- */

static enum qs_status register_target(void)
{
    err = (struct qs_error){0};
    return qs_publish_register(system_store, &target, NULL, 1000, NULL, &err);
}

static void a_registered_target_is_listed_covered_and_published(void **state)
{
    (void)state;
    struct qs_target_list list = {0};
    struct qs_snapshot *before = NULL, *after = NULL;
    size_t written = 77;
    target.for_qwen = true;
    assert_int_equal(qs_snapshot_take(system_store, &before, &err), QS_OK);
    assert_int_equal(register_target(), QS_OK);
    assert_int_equal(qs_snapshot_take(system_store, &after, &err), QS_OK);
    assert_int_equal(qs_snapshot_generation(after), qs_snapshot_generation(before) + 1);
    assert_memory_not_equal(qs_snapshot_digest(after), qs_snapshot_digest(before), QS_DIGEST_BYTES);
    qs_snapshot_unref(before);
    qs_snapshot_unref(after);
    assert_false(scratch_exists(file));
    assert_int_equal(qs_publish_list(system_store, &list, &err), QS_OK);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].file, file);
    assert_string_equal(list.items[0].scope, "system");
    assert_int_equal(list.items[0].format, QS_PUBLISH_JSON);
    assert_true(list.items[0].for_qwen);
    qs_target_list_release(&list);
    assert_int_equal(qs_publish_registered(system_store, scratch.dir, &written, &err), QS_OK);
    assert_int_equal(written, 1);
    assert_true(scratch_holds(file, DEFAULT_TEXT));
    assert_int_equal(qs_publish_registered(system_store, scratch.dir, &written, &err), QS_OK);
    assert_int_equal(written, 0);
    stores_set(system_store, "tools.approvalMode", "\"plan\"");
    assert_int_equal(qs_publish_registered(system_store, scratch.dir, &written, NULL), QS_OK);
    assert_int_equal(written, 1);
}

static void an_unregistered_target_stays_and_is_published_no_more(void **state)
{
    (void)state;
    size_t written = 77;
    assert_int_equal(qs_publish_unregister(system_store, file, NULL, 1000, NULL, &err), QS_NOT_FOUND);
    assert_int_equal(register_target(), QS_OK);
    assert_int_equal(qs_publish_registered(system_store, scratch.dir, NULL, &err), QS_OK);
    assert_int_equal(qs_publish_unregister(system_store, file, "enough", 1000, NULL, &err), QS_OK);
    stores_set(system_store, "tools.approvalMode", "\"plan\"");
    assert_int_equal(qs_publish_registered(system_store, scratch.dir, &written, &err), QS_OK);
    assert_int_equal(written, 0);
    assert_true(scratch_holds(file, DEFAULT_TEXT));
    assert_int_equal(qs_publish_unregister(system_store, "", NULL, 1000, NULL, &err), QS_USAGE);
}

static void an_absent_store_has_no_registered_targets(void **state)
{
    (void)state;
    size_t written = 77;
    struct qs_store *absent = NULL;
    assert_int_equal(qs_store_open(QS_SCOPE_DEFAULTS, &(struct qs_store_options){.root = scratch.dir}, &absent, &err),
                     QS_OK);
    assert_int_equal(qs_publish_registered(absent, scratch.dir, &written, &err), QS_OK);
    assert_int_equal(written, 0);
    qs_store_close(absent);
}

static void assert_not_registrable(enum qs_status status, const char *reason)
{
    enum qs_status got = register_target();
    struct qs_target_list list = {0};
    if (got != status || !strstr(err.message, reason))
        fail_msg("%d '%s' instead of %d '%s'", got, err.message, status, reason);
    assert_int_equal(qs_publish_list(system_store, &list, &err), QS_OK);
    assert_int_equal(list.count, 0);
    qs_target_list_release(&list);
}

static void only_what_is_the_store_owners_own_can_be_registered(void **state)
{
    (void)state;
    scratch_write(file, "{}");
    assert_int_equal(chown(file, ALICE, ALICE), 0);
    assert_not_registrable(QS_UNTRUSTED, "belongs to another user");
    assert_int_equal(unlink(file), 0);
    assert_int_equal(chown(in("out"), ALICE, ALICE), 0);
    assert_not_registrable(QS_UNTRUSTED, "belongs to another user");
    assert_int_equal(chown(in("out"), 0, 0), 0);
    assert_int_equal(chmod(in("out"), 0777), 0);
    assert_not_registrable(QS_UNTRUSTED, "writable by other users");
    assert_int_equal(chmod(in("out"), 0755), 0);
    (void)snprintf(file, sizeof file, "%s", in("system/data.mdb"));
    assert_not_registrable(QS_UNTRUSTED, "store's own directory");
    (void)snprintf(file, sizeof file, "%s", in("missing/file"));
    assert_not_registrable(QS_NOT_FOUND, "missing");
    target.file = "/a/../b";
    assert_not_registrable(QS_USAGE, "absolute");
    target.file = "/caf\xe9";
    assert_not_registrable(QS_USAGE, "UTF-8");
    char path[600] = "/";
    memset(path + 1, 'x', 511);
    target.file = path;
    assert_not_registrable(QS_USAGE, "511");
    target.file = file;
    target.scope = "user";
    assert_not_registrable(QS_USAGE, "do not change the settings of user");
}

static void a_directory_given_away_later_is_published_into_no_more(void **state)
{
    (void)state;
    char second[SCRATCH_PATH_BYTES];
    size_t written = 77;
    assert_int_equal(mkdir(in("out2"), 0755), 0);
    assert_int_equal(register_target(), QS_OK);
    (void)snprintf(second, sizeof second, "%s", in("out2/settings.json"));
    target.file = second;
    assert_int_equal(register_target(), QS_OK);
    assert_int_equal(chown(in("out"), ALICE, ALICE), 0);
    assert_int_equal(qs_publish_registered(system_store, scratch.dir, &written, &err), QS_UNTRUSTED);
    assert_string_equal(err.file, file);
    assert_int_equal(written, 1); /* the other one was published all the same */
    assert_false(scratch_exists(file));
    assert_true(scratch_holds(second, DEFAULT_TEXT));
}

static void a_registration_of_unknown_form_is_damage(void **state)
{
    static const char *const values[] = {"{}",
                                         "[]",
                                         "{\"format\":\"xml\",\"scope\":\"system\"}",
                                         "{\"for\":\"other\",\"format\":\"json\",\"scope\":\"system\"}",
                                         "{\"format\":\"json\",\"scope\":\"nowhere\"}",
                                         "{\"extra\":1,\"format\":\"json\",\"scope\":\"system\"}"};
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct qs_txn *txn = NULL;
        struct qs_commit_info info;
        struct qs_target_list list = {0};
        assert_int_equal(qs_txn_begin(system_store, 1000, &txn, &err), QS_OK);
        assert_int_equal(txn_put_target(txn, (struct qs_bytes){"/x", 2},
                                        (struct qs_bytes){values[i], strlen(values[i])}, &err),
                         QS_OK);
        assert_int_equal(qs_txn_commit(txn, NULL, &info, &err), QS_OK);
        qs_txn_free(txn);
        assert_int_equal(qs_publish_list(system_store, &list, &err), QS_DAMAGED);
        assert_non_null(strstr(err.message, "/x"));
        assert_int_equal(qs_publish_registered(system_store, scratch.dir, NULL, &err), QS_DAMAGED);
    }
}

/* As ALICE, with a store of her own below DIR/alice. */
static int alices_register(void *context)
{
    struct qs_target own = {.scope = "user"};
    char root[SCRATCH_PATH_BYTES], path[SCRATCH_PATH_BYTES];
    int failed = 0;
    (void)context;
#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            (void)fprintf(stderr, "# %s: %s\n", #condition, err.message); \
            failed = 1; \
        } \
    } while (0)
    (void)snprintf(root, sizeof root, "%s", in("alice"));
    struct qs_store *hers = stores_open(root, QS_SCOPE_USER);
    stores_set(hers, "n", "1");
    own.file = path;
    (void)snprintf(path, sizeof path, "%s", in("alice/settings.json"));
    EXPECT(qs_publish_register(hers, &own, NULL, 1000, NULL, &err) == QS_OK);
    EXPECT(qs_publish_registered(hers, root, NULL, &err) == QS_OK);
    EXPECT(scratch_exists(path));
    (void)snprintf(path, sizeof path, "%s", in("bobs/settings.json")); /* she may write there, but it is his */
    EXPECT(qs_publish_register(hers, &own, NULL, 1000, NULL, &err) == QS_UNTRUSTED);
    EXPECT(strstr(err.message, "belongs to another user (uid 4321)"));
    (void)snprintf(path, sizeof path, "%s", in("open/settings.json"));
    EXPECT(qs_publish_register(hers, &own, NULL, 1000, NULL, &err) == QS_UNTRUSTED);
    EXPECT(strstr(err.message, "writable by other users"));
    own.scope = "system"; /* root's store: she may read it, not register in it */
    (void)snprintf(path, sizeof path, "%s", in("alice/system.json"));
    EXPECT(qs_publish_register(system_store, &own, NULL, 1000, NULL, &err) == QS_UNTRUSTED);
    EXPECT(strstr(err.message, "store belongs to another user"));
    EXPECT(qs_publish(NULL, scratch.dir, &own, 0, NULL, &err) == QS_OK); /* publishing it for herself is fine */
    qs_store_close(hers);
    return failed;
}

static void a_plain_user_registers_only_in_places_of_her_own(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uid_t uid;
        mode_t mode;
    } dirs[] = {{"alice", ALICE, 0755}, {"bobs", 4321, 0777}, {"open", 0, 0777}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(mkdir(in(dirs[i].name), 0755), 0);
        assert_int_equal(chown(in(dirs[i].name), dirs[i].uid, dirs[i].uid), 0);
        assert_int_equal(chmod(in(dirs[i].name), dirs[i].mode), 0);
    }
    assert_int_equal(as_user(ALICE, ALICE, alices_register, NULL), 0);
}

static void states_have_names(void **state)
{
    (void)state;
    assert_string_equal(qs_publish_state_name(QS_PUBLISH_CURRENT), "current");
    assert_string_equal(qs_publish_state_name(QS_PUBLISH_STALE), "stale");
    assert_string_equal(qs_publish_state_name(QS_PUBLISH_MISSING), "missing");
    assert_string_equal(qs_publish_state_name((enum qs_publish_state)9), "unknown");
    qs_publish_report_release(NULL);
    qs_target_list_release(NULL);
}

static void an_edited_registered_file_is_reported_by_each_call(void **state)
{
    (void)state;
    assert_int_equal(register_target(), QS_OK);
    assert_int_equal(qs_publish_registered(system_store, scratch.dir, NULL, &err), QS_OK);
    scratch_write(file, "{\"mine\": 1}");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(qs_publish_registered(system_store, scratch.dir, NULL, &err), QS_CONFLICT);
        assert_string_equal(err.file, file);
    }
    assert_true(scratch_holds(file, "{\"mine\": 1}"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

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
        TEST(a_registered_target_is_listed_covered_and_published),
        TEST(an_unregistered_target_stays_and_is_published_no_more),
        TEST(an_absent_store_has_no_registered_targets),
        TEST(only_what_is_the_store_owners_own_can_be_registered),
        TEST(a_directory_given_away_later_is_published_into_no_more),
        TEST(a_registration_of_unknown_form_is_damage),
        TEST(a_plain_user_registers_only_in_places_of_her_own),
        TEST(states_have_names),
        TEST(an_edited_registered_file_is_reported_by_each_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
