/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A system scope that a fleet owns: local writes are refused unless the glass is broken, the key fleet stays what it
 * is, and a policy read refuses a store that is older than require-serial demands.
 */
#include "qsettings/policy.h"
#include "store/fleet_guard.h"
#include "tests/support/one_store.h"
#include "tests/support/scratch.h"
#include "writer/txn_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OWNED \
    "{\"fleet\":{\"bundle\":\"b\",\"content\":\"c\",\"keys\":2,\"name\":\"north\",\"serial\":7,\"source\":7},\"x\":1}"

static const char *beside(const char *name)
{
    static char path[160];
    (void)snprintf(path, sizeof path, "%s/%s", f.root, name);
    return path;
}

static enum qs_status write_as(bool fleet, const char *document, bool replace)
{
    struct qs_txn *txn = NULL;
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    txn->fleet = fleet;
    enum qs_status status = qs_txn_apply(txn, "-", document, strlen(document), QS_FORMAT_JSON, replace, &err);
    if (!status)
        status = qs_txn_commit(txn, NULL, NULL, &err);
    qs_txn_free(txn);
    return status;
}

static int set_up_owned(void **state)
{
    (void)set_up(state);
    ok(write_as(true, OWNED, false));
    return 0;
}

static void break_glass_from(int64_t start, int64_t end)
{
    char line[80];
    (void)mkdir(beside("var"), 0755);
    (void)mkdir(beside("var/lib"), 0755);
    (void)mkdir(beside("var/lib/qfleet"), 0755);
    (void)snprintf(line, sizeof line, "%lld %lld 0 the net is down\n", (long long)start, (long long)end);
    scratch_write(beside("var/lib/qfleet/break-glass"), line);
}

static void refused(enum qs_status status)
{
    assert_int_equal(status, QS_CONFLICT);
    assert_non_null(strstr(err.message, "belongs to fleet north"));
    assert_non_null(strstr(err.advice, "qfleet break-glass"));
    store_is(OWNED);
}

static void local_writes_are_refused_and_name_break_glass(void **state)
{
    (void)state;
    struct qs_txn *txn = NULL;
    ok(qs_store_backup(f.store, f.backup, false, &err));
    refused(write_as(false, "{\"y\":2}", false));
    refused(write_as(false, "{}", true));
    refused(qs_store_purge(f.store, "x", "m", 0, NULL, &err));
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    ok(qs_txn_rollback(txn, 1, &err));
    refused(qs_txn_commit(txn, NULL, NULL, &err));
    qs_txn_free(txn);
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    ok(qs_txn_lock(txn, "x", &err));
    refused(qs_txn_commit(txn, NULL, NULL, &err));
    qs_txn_free(txn);
    ok(write_as(true, "{\"z\":1}", false)); /* the fleet's own is not */
    assert_int_equal(qs_store_restore(f.store, f.backup, 0, NULL, &err), QS_CONFLICT);
    ok(write_as(false, "{\"x\":1}", false)); /* changes nothing */
}

static void published_files_are_the_machines_own(void **state)
{
    (void)state;
    struct qs_txn *txn = NULL;
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    ok(txn_put_target(txn, (struct qs_bytes){"/srv/a", 6}, (struct qs_bytes){"{}", 2}, &err));
    ok(qs_txn_commit(txn, NULL, NULL, &err));
    qs_txn_free(txn);
}

static void the_glass_is_broken_from_its_start_to_its_end(void **state)
{
    (void)state;
    int64_t now = time(NULL);
    break_glass_from(now - 3600, now - 1);
    refused(write_as(false, "{\"y\":2}", false));
    break_glass_from(now + 600, now + 3600); /* a clock that was set back */
    refused(write_as(false, "{\"y\":2}", false));
    scratch_write(beside("var/lib/qfleet/break-glass"), "0 99999999999 0 for ever\n");
    assert_int_equal(write_as(false, "{\"y\":2}", false), QS_DAMAGED);
    break_glass_from(now - 1, now + 3600);
    assert_int_equal(chmod(beside("var/lib/qfleet/break-glass"), 0666), 0);
    assert_int_equal(write_as(false, "{\"y\":2}", false), QS_UNTRUSTED);
    assert_int_equal(chmod(beside("var/lib/qfleet/break-glass"), 0600), 0);
    ok(write_as(false, "{\"y\":2}", false));
    ok(write_as(false, "{\"x\":1}", true));
    store_is(OWNED); /* --replace leaves the key fleet */
    struct qs_txn *txn = NULL;
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    ok(qs_txn_rollback(txn, 1, &err));
    ok(qs_txn_commit(txn, NULL, NULL, &err));
    qs_txn_free(txn);
    store_is(
        "{\"fleet\":{\"bundle\":\"b\",\"content\":\"c\",\"keys\":2,\"name\":\"north\",\"serial\":7,\"source\":7}}");
    assert_int_equal(write_as(false, "{\"fleet\":{\"serial\":9}}", false), QS_CONFLICT);
    assert_non_null(strstr(err.message, "only qfleet"));
}

static void restore_keeps_the_key_fleet(void **state)
{
    (void)state;
    ok(qs_store_backup(f.store, f.backup, false, &err));
    ok(write_as(true, "{\"fleet\":{\"serial\":8},\"x\":2}", false));
    break_glass_from(time(NULL) - 1, time(NULL) + 3600);
    ok(qs_store_restore(f.store, f.backup, 0, NULL, &err));
    store_is("{\"fleet\":{\"bundle\":\"b\",\"content\":\"c\",\"keys\":2,\"name\":\"north\",\"serial\":8,\"source\":7},"
             "\"x\":1}");
    fixture_write_bytes(&f, "damaged", 7);
    assert_int_equal(unlink(beside("var/lib/qfleet/break-glass")), 0);
    scratch_write(beside("require-serial"), "north 2 8\n"); /* says whose the damaged store is */
    fixture_fake_clock();
    assert_int_equal(qs_store_restore(f.store, f.backup, 0, NULL, &err), QS_CONFLICT);
}

static void the_key_fleet_is_reserved_in_every_store(void **state)
{
    (void)state;
    assert_int_equal(write_as(false, OWNED, false), QS_CONFLICT);
    store_is("{}");
    assert_int_equal(write_as(true, "{\"fleet\":{\"nmae\":\"x\"}}", false), QS_INVALID);
}

/* ---- require-serial ---- */

static enum qs_status policy_with(const char *line)
{
    struct qs_policy_result *result = NULL;
    if (line)
        scratch_write(beside("require-serial"), line);
    enum qs_status status =
        qs_policy_read(&(struct qs_policy_options){.size = sizeof(struct qs_policy_options), .root = f.root}, &result,
                       &err);
    assert_int_equal(qs_policy_status(result), status);
    qs_policy_free(result);
    return status;
}

static void a_store_that_is_older_than_the_demand_is_stale(void **state)
{
    (void)state;
    ok(write_as(true, "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"read-only\",\"network\":\"closed\"}}}",
                false));
    ok(policy_with(NULL));
    static const char *const met[] = {"north 2 7\n", "north 2 6\n", "north 1 99\n"};
    static const char *const stale[] = {"north 2 8\n", "north 3 1\n", "south 2 7\n"};
    static const char *const damaged[] = {"", "north 2 7", "north 02 7\n", "north 2 7\n\n", "North 2 7\n", "north 2\n"};
    for (size_t i = 0; i < sizeof met / sizeof met[0]; i++)
        ok(policy_with(met[i]));
    for (size_t i = 0; i < sizeof stale / sizeof stale[0]; i++)
        assert_int_equal(policy_with(stale[i]), QS_STALE);
    assert_non_null(strstr(err.advice, "qfleet apply"));
    for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++)
        assert_int_equal(policy_with(damaged[i]), QS_DAMAGED);
    assert_int_equal(unlink(beside("require-serial")), 0);
    assert_int_equal(symlink("system/data.mdb", beside("require-serial")), 0);
    assert_int_equal(policy_with(NULL), QS_UNTRUSTED);
}

static void a_store_without_bundle_is_stale_where_one_is_demanded(void **state)
{
    (void)state;
    assert_int_equal(policy_with("north 1 1\n"), QS_STALE);
    assert_non_null(strstr(err.message, "has no bundle"));
    char store[160];
    (void)snprintf(store, sizeof store, "%s", beside("system"));
    assert_int_equal(rename(store, beside("aside")), 0);
    assert_int_equal(policy_with(NULL), QS_ABSENT); /* require-system says so first */
    assert_int_equal(unlink(beside("require-system")), 0);
    assert_int_equal(policy_with(NULL), QS_STALE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(local_writes_are_refused_and_name_break_glass, set_up_owned, tear_down),
        cmocka_unit_test_setup_teardown(published_files_are_the_machines_own, set_up_owned, tear_down),
        cmocka_unit_test_setup_teardown(the_glass_is_broken_from_its_start_to_its_end, set_up_owned, tear_down),
        cmocka_unit_test_setup_teardown(restore_keeps_the_key_fleet, set_up_owned, tear_down),
        cmocka_unit_test_setup_teardown(the_key_fleet_is_reserved_in_every_store, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_store_that_is_older_than_the_demand_is_stale, set_up_owned, tear_down),
        cmocka_unit_test_setup_teardown(a_store_without_bundle_is_stale_where_one_is_demanded, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
