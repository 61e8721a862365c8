/* SPDX-License-Identifier: Apache-2.0 */
/* What a writer's LMDB environment may be used for: the file and the generation that were verified, and no other. */
#include "tests/support/one_store.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct qs_store *open_again(void)
{
    struct qs_store *store = NULL;
    ok(qs_store_open(QS_SCOPE_SYSTEM,
                     &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = f.root}, &store,
                     &err));
    return store;
}

static void set(struct qs_store *store, const char *key)
{
    struct qs_txn *txn = NULL;
    ok(qs_txn_begin(store, 0, &txn, &err));
    ok(qs_txn_set(txn, key, "1", 1, &err));
    ok(qs_txn_commit(txn, NULL, NULL, &err));
    qs_txn_free(txn);
}

/* The kept environment has the former file mapped; the new one has come to the same transaction. */
static void a_kept_environment_is_not_used_for_another_file(void **state)
{
    (void)state;
    struct qs_store *other = open_again();
    set(f.store, "kept");
    ok(qs_store_compact(other, 0, &err));
    set(other, "between");
    set(f.store, "after");
    store_is("{\"after\":1,\"between\":1,\"kept\":1}");
    qs_store_close(other);
}

/* The lock file was taken away under a writer, and another one came in. */
static void a_commit_over_another_ones_is_refused(void **state)
{
    (void)state;
    struct qs_txn *txn = NULL;
    char lock[256];
    struct qs_store *other = open_again();
    (void)snprintf(lock, sizeof lock, "%s/system/writer.lock", f.root);
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    ok(qs_txn_set(txn, "first", "1", 1, &err));
    assert_int_equal(unlink(lock), 0);
    set(other, "second");
    assert_int_equal(qs_txn_commit(txn, NULL, NULL, &err), QS_DAMAGED);
    qs_txn_free(txn);
    store_is("{\"second\":1}");
    set(other, "third");
    store_is("{\"second\":1,\"third\":1}");
    qs_store_close(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_kept_environment_is_not_used_for_another_file),
        TEST(a_commit_over_another_ones_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
