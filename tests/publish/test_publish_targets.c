/* SPDX-License-Identifier: Apache-2.0 */
/* The register of published files: what is listed and published, and the owner rule. */
#include "tests/support/as_user.h"
#include "tests/support/published.h"
#include "writer/txn_internal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define ALICE 1234

static enum qs_status register_target(void)
{
    err = (struct qs_error){0};
    return qs_publish_register(system_store, &target, NULL, 1000, NULL, &err);
}

static void a_registered_target_is_listed_covered_and_published(void **state)
{
    (void)state;
    struct qs_target_list *list = NULL;
    struct qs_snapshot *before = NULL, *after = NULL;
    size_t written = 77;
    target.dialect = QS_DIALECT_QWEN_CODE;
    assert_int_equal(qs_snapshot_take(system_store, &before, &err), QS_OK);
    assert_int_equal(register_target(), QS_OK);
    assert_int_equal(qs_snapshot_take(system_store, &after, &err), QS_OK);
    assert_int_equal(qs_snapshot_generation(after), qs_snapshot_generation(before) + 1);
    assert_memory_not_equal(qs_snapshot_digest(after), qs_snapshot_digest(before), QS_DIGEST_BYTES);
    qs_snapshot_unref(before);
    qs_snapshot_unref(after);
    assert_false(scratch_exists(file));
    assert_int_equal(qs_publish_list(system_store, &list, &err), QS_OK);
    assert_int_equal(qs_target_list_count(list), 1);
    assert_string_equal(qs_target_list_at(list, 0)->file, file);
    assert_int_equal(qs_target_list_at(list, 0)->scope, QS_SCOPE_SYSTEM);
    assert_int_equal(qs_target_list_at(list, 0)->format, QS_PUBLISH_JSON);
    assert_true(qs_target_list_at(list, 0)->dialect == QS_DIALECT_QWEN_CODE);
    qs_target_list_free(list);
    assert_int_equal(qs_publish_registered(system_store, &written, &err), QS_OK);
    assert_int_equal(written, 1);
    assert_true(scratch_holds(file, DEFAULT_TEXT));
    assert_int_equal(qs_publish_registered(system_store, &written, &err), QS_OK);
    assert_int_equal(written, 0);
    stores_set(system_store, "tools.approvalMode", "\"plan\"");
    assert_int_equal(qs_publish_registered(system_store, &written, NULL), QS_OK);
    assert_int_equal(written, 1);
}

static void an_unregistered_target_stays_and_is_published_no_more(void **state)
{
    (void)state;
    size_t written = 77;
    assert_int_equal(qs_publish_unregister(system_store, file, NULL, 1000, NULL, &err), QS_NOT_FOUND);
    assert_int_equal(register_target(), QS_OK);
    assert_int_equal(qs_publish_registered(system_store, NULL, &err), QS_OK);
    assert_int_equal(qs_publish_unregister(system_store, file, "enough", 1000, NULL, &err), QS_OK);
    stores_set(system_store, "tools.approvalMode", "\"plan\"");
    assert_int_equal(qs_publish_registered(system_store, &written, &err), QS_OK);
    assert_int_equal(written, 0);
    assert_true(scratch_holds(file, DEFAULT_TEXT));
    assert_int_equal(qs_publish_unregister(system_store, "", NULL, 1000, NULL, &err), QS_USAGE);
}

static struct qs_commit_info commit_one(const char *value)
{
    struct qs_txn *txn = NULL;
    struct qs_commit_info info = {.size = sizeof info};
    assert_int_equal(qs_txn_begin(system_store, 1000, &txn, &err), QS_OK);
    assert_int_equal(qs_txn_set(txn, "n", value, strlen(value), &err), QS_OK);
    assert_int_equal(qs_txn_commit(txn, NULL, &info, &err), QS_OK);
    qs_txn_free(txn);
    return info;
}

static void a_commit_tells_how_many_targets_the_store_has(void **state)
{
    (void)state;
    struct qs_commit_info info = {.size = sizeof info};
    assert_int_equal(commit_one("1").target_count, 0);
    assert_int_equal(qs_publish_register(system_store, &target, NULL, 1000, &info, &err), QS_OK);
    assert_int_equal(info.target_count, 1);
    assert_int_equal(commit_one("2").target_count, 1);
    info = commit_one("2");
    assert_false(info.changed);
    assert_int_equal(info.target_count, 1);
    assert_int_equal(qs_store_purge(system_store, "n", NULL, 1000, &info, &err), QS_OK);
    assert_int_equal(info.target_count, 1);
    assert_int_equal(qs_publish_unregister(system_store, file, NULL, 1000, &info, &err), QS_OK);
    assert_int_equal(info.target_count, 0);
}

static void an_absent_store_has_no_registered_targets(void **state)
{
    (void)state;
    size_t written = 77;
    struct qs_store *absent = NULL;
    assert_int_equal(qs_store_open(QS_SCOPE_DEFAULTS,
                                   &(struct qs_store_options){.size = sizeof(struct qs_store_options),
                                                              .root = scratch.dir},
                                   &absent, &err),
                     QS_OK);
    assert_int_equal(qs_publish_registered(absent, &written, &err), QS_OK);
    assert_int_equal(written, 0);
    qs_store_close(absent);
}

static void assert_not_registrable(enum qs_status status, const char *reason)
{
    enum qs_status got = register_target();
    struct qs_target_list *list = NULL;
    if (got != status || !strstr(err.message, reason))
        fail_msg("%d '%s' instead of %d '%s'", got, err.message, status, reason);
    assert_int_equal(qs_publish_list(system_store, &list, &err), QS_OK);
    assert_int_equal(qs_target_list_count(list), 0);
    qs_target_list_free(list);
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
    target.scope = QS_SCOPE_USER;
    assert_not_registrable(QS_USAGE, "do not change the settings of scope user");
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
    assert_int_equal(qs_publish_registered(system_store, &written, &err), QS_UNTRUSTED);
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
        struct qs_commit_info info = {.size = sizeof info};
        struct qs_target_list *list = NULL;
        assert_int_equal(qs_txn_begin(system_store, 1000, &txn, &err), QS_OK);
        assert_int_equal(txn_put_target(txn, (struct qs_bytes){"/x", 2},
                                        (struct qs_bytes){values[i], strlen(values[i])}, &err),
                         QS_OK);
        assert_int_equal(qs_txn_commit(txn, NULL, &info, &err), QS_OK);
        qs_txn_free(txn);
        assert_int_equal(qs_publish_list(system_store, &list, &err), QS_DAMAGED);
        assert_non_null(strstr(err.message, "/x"));
        assert_int_equal(qs_publish_registered(system_store, NULL, &err), QS_DAMAGED);
    }
}

/* As ALICE, with a store of her own below DIR/alice. */
static int alices_register(void *context)
{
    struct qs_target own = {.size = sizeof own, .scope = QS_SCOPE_USER};
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
    EXPECT(qs_publish_registered(hers, NULL, &err) == QS_OK);
    EXPECT(scratch_exists(path));
    (void)snprintf(path, sizeof path, "%s", in("bobs/settings.json")); /* she may write there, but it is his */
    EXPECT(qs_publish_register(hers, &own, NULL, 1000, NULL, &err) == QS_UNTRUSTED);
    EXPECT(strstr(err.message, "belongs to another user (uid 4321)"));
    (void)snprintf(path, sizeof path, "%s", in("open/settings.json"));
    EXPECT(qs_publish_register(hers, &own, NULL, 1000, NULL, &err) == QS_UNTRUSTED);
    EXPECT(strstr(err.message, "writable by other users"));
    own.scope = QS_SCOPE_SYSTEM; /* root's store: she may read it, not register in it */
    (void)snprintf(path, sizeof path, "%s", in("alice/system.json"));
    EXPECT(qs_publish_register(system_store, &own, NULL, 1000, NULL, &err) == QS_UNTRUSTED);
    EXPECT(strstr(err.message, "store belongs to another user"));
    EXPECT(qs_publish(system_store, &own, 0, NULL, &err) == QS_OK); /* publishing it for herself is fine */
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
    qs_publish_report_free(NULL);
    qs_target_list_free(NULL);
}

static void an_edited_registered_file_is_reported_by_each_call(void **state)
{
    (void)state;
    assert_int_equal(register_target(), QS_OK);
    assert_int_equal(qs_publish_registered(system_store, NULL, &err), QS_OK);
    scratch_write(file, "{\"mine\": 1}");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(qs_publish_registered(system_store, NULL, &err), QS_CONFLICT);
        assert_string_equal(err.file, file);
    }
    assert_true(scratch_holds(file, "{\"mine\": 1}"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, published_setup, published_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_registered_target_is_listed_covered_and_published),
        TEST(an_unregistered_target_stays_and_is_published_no_more),
        TEST(a_commit_tells_how_many_targets_the_store_has),
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
