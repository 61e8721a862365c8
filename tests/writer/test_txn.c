/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions: what set, unset, apply, lock and commit do to a store, who waits for whom, and what fork changes. */
#include "store/env.h"
#include "tests/support/one_store.h"
#include "tests/support/scratch.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct qs_txn *begin(void)
{
    struct qs_txn *txn = NULL;
    ok(qs_txn_begin(f.store, 1000, &txn, &err));
    return txn;
}

static struct qs_commit_info commit(struct qs_txn *txn)
{
    struct qs_commit_info info = {.size = sizeof info};
    ok(qs_txn_commit(txn, NULL, &info, &err));
    qs_txn_free(txn);
    return info;
}

static void set(struct qs_txn *txn, const char *key, const char *json)
{
    ok(qs_txn_set(txn, key, json, strlen(json), &err));
}

static void txn_is(struct qs_txn *txn, const char *key, const char *json)
{
    char *text = NULL;
    enum qs_status status = qs_txn_get(txn, key, &text, NULL, &err);
    if (json) {
        ok(status);
        assert_string_equal(text, json);
    } else {
        assert_int_equal(status, QS_NOT_FOUND);
    }
    free(text);
}

/* ---- changes ---- */

static void a_set_replaces_what_was_at_and_below_and_never_above(void **state)
{
    (void)state;
    struct qs_txn *txn = begin();
    set(txn, "a.b", "1");
    set(txn, "a.c", "\"x\"");
    set(txn, "d", "[1,{\"e\":null}]");
    commit(txn);
    store_is("{\"a\":{\"b\":1,\"c\":\"x\"},\"d\":[1,{\"e\":null}]}");
    txn = begin();
    set(txn, "a", "true");  /* a scalar where an object was */
    set(txn, "d.1.e", "2"); /* inside an array */
    assert_int_equal(qs_txn_set(txn, "d.e.f", "2", 1, &err), QS_INVALID);
    assert_int_equal(qs_txn_set(txn, "a.b", "2", 1, &err), QS_INVALID);
    commit(txn);
    store_is("{\"a\":true,\"d\":[1,{\"e\":2}]}");
    txn = begin();
    set(txn, "d", "{\"g\":{},\"h\":{\"i\":0.5}}"); /* an object replaces the array */
    commit(txn);
    store_is("{\"a\":true,\"d\":{\"g\":{},\"h\":{\"i\":0.5}}}");
}

static void a_transaction_reads_its_own_changes_and_others_do_not(void **state)
{
    (void)state;
    fixture_set(&f, "a.b", "1");
    struct qs_txn *txn = begin();
    set(txn, "a.c", "2");
    ok(qs_txn_unset(txn, "a.b", &err));
    txn_is(txn, "a", "{\"c\":2}");
    txn_is(txn, "a.b", NULL);
    txn_is(txn, NULL, "{\"a\":{\"c\":2}}");
    store_is("{\"a\":{\"b\":1}}");
    qs_txn_free(txn); /* aborts */
    store_is("{\"a\":{\"b\":1}}");
}

static void unset_takes_the_subtree_and_refuses_what_is_not_there(void **state)
{
    (void)state;
    struct qs_txn *txn = begin();
    set(txn, "a.b.c", "1");
    set(txn, "a.b.d", "1");
    set(txn, "a.bb", "1"); /* shares the prefix as text, not as a path */
    ok(qs_txn_unset(txn, "a.b", &err));
    assert_int_equal(qs_txn_unset(txn, "a.b", &err), QS_NOT_FOUND);
    assert_string_equal(err.path, "a.b");
    assert_int_equal(qs_txn_unset(txn, "a.b.c", &err), QS_NOT_FOUND);
    commit(txn);
    store_is("{\"a\":{\"bb\":1}}");
}

static void apply_merges_objects_and_replaces_the_rest(void **state)
{
    (void)state;
    struct qs_txn *txn = begin();
    const char first[] = "{\"a\":{\"b\":1,\"c\":[1,2]},\"d\":5, /* note */ \"e\":{}}";
    const char second[] = "a: {c: [3], x: {}}\nd: {y: no}\ne: {}\n";
    ok(qs_txn_apply(txn, "one.json", first, strlen(first), QS_FORMAT_AUTO, false, &err));
    ok(qs_txn_apply(txn, "two.yaml", second, strlen(second), QS_FORMAT_AUTO, false, &err));
    commit(txn);
    store_is("{\"a\":{\"b\":1,\"c\":[3],\"x\":{}},\"d\":{\"y\":\"no\"},\"e\":{}}");
    txn = begin();
    const char empty[] = "{\"a\":{},\"d\":{}}"; /* an empty object changes no object */
    ok(qs_txn_apply(txn, "three.json", empty, strlen(empty), QS_FORMAT_AUTO, false, &err));
    assert_false(commit(txn).changed);
    txn = begin();
    ok(qs_txn_apply(txn, "four.json", "{\"z\":1}", 7, QS_FORMAT_JSON, true, &err));
    commit(txn);
    store_is("{\"z\":1}");
}

static void bad_input_is_refused_with_its_place_and_changes_nothing(void **state)
{
    (void)state;
    fixture_set(&f, "a", "1");
    struct qs_txn *txn = begin();
    assert_int_equal(qs_txn_set(txn, "a..b", "1", 1, &err), QS_INVALID);
    assert_int_equal(qs_txn_set(txn, "b", "{", 1, &err), QS_INVALID);
    assert_int_equal(qs_txn_set(txn, "b", "18446744073709551616", 20, &err), QS_INVALID);
    const char text[] = "{\n  \"b\": 1,\n  \"c\": tru\n}";
    assert_int_equal(qs_txn_apply(txn, "f.json", text, strlen(text), QS_FORMAT_AUTO, false, &err), QS_INVALID);
    assert_string_equal(err.file, "f.json");
    assert_int_equal(err.line, 3);
    assert_int_equal(qs_txn_set(txn, "tools.executionSandbox", "null", 4, &err), QS_INVALID);
    assert_int_equal(qs_txn_set(txn, "tools.approvalMode", "\"Yolo\"", 6, &err), QS_INVALID);
    assert_false(commit(txn).changed);
    store_is("{\"a\":1}");
}

static void a_closed_object_is_judged_whole_at_commit(void **state)
{
    (void)state;
    struct qs_txn *txn = begin();
    set(txn, "tools.executionSandbox.network", "\"closed\"");
    assert_int_equal(qs_txn_commit(txn, NULL, NULL, &err), QS_INVALID);
    assert_non_null(strstr(err.message, "filesystem"));
    qs_txn_free(txn);
    store_is("{}");
    txn = begin();
    set(txn, "tools.executionSandbox.network", "\"closed\"");
    set(txn, "tools.executionSandbox.filesystem", "\"read-only\"");
    assert_true(commit(txn).changed);
}

static void a_commit_without_change_makes_no_generation(void **state)
{
    (void)state;
    fixture_set(&f, "a", "1");
    struct qs_txn *txn = begin();
    set(txn, "a", "2");
    set(txn, "a", "1"); /* back to what it was */
    set(txn, "b", "1");
    ok(qs_txn_unset(txn, "b", &err));
    struct qs_commit_info info = commit(txn);
    assert_false(info.changed);
    assert_int_equal(info.generation, 2);
    assert_int_equal(info.change_count, 0);
}

static void the_change_list_says_old_and_new(void **state)
{
    (void)state;
    fixture_set(&f, "a.b", "1");
    struct qs_txn *txn = begin();
    size_t count = 0;
    set(txn, "a", "\"x\"");
    ok(qs_txn_lock(txn, "a", &err));
    ok(qs_txn_require_policy(txn, true, &err));
    ok(qs_txn_changes(txn, &count, &err));
    assert_int_equal(count, 4);
    const struct qs_change *change = qs_txn_change(txn, 0);
    assert_int_equal(change->area, QS_AREA_SETTINGS);
    assert_memory_equal(change->key.data, "a", 1);
    assert_null(change->old_value.data);
    assert_memory_equal(change->new_value.data, "\"x\"", 3);
    change = qs_txn_change(txn, 1);
    assert_int_equal(change->key.len, 3);
    assert_memory_equal(change->old_value.data, "1", 1);
    assert_null(change->new_value.data);
    assert_int_equal(qs_txn_change(txn, 2)->area, QS_AREA_LOCKS);
    assert_int_equal(qs_txn_change(txn, 3)->area, QS_AREA_FLAGS);
    commit(txn);
    struct qs_snapshot *now = fixture_read(&f);
    assert_true(qs_snapshot_requires_policy(now));
    assert_int_equal(qs_snapshot_lock_count(now), 1);
    assert_memory_equal(qs_snapshot_lock_at(now, 0).data, "a", 1);
    qs_snapshot_unref(now);
    txn = begin();
    assert_int_equal(qs_txn_unlock(txn, "b", &err), QS_NOT_FOUND);
    ok(qs_txn_unlock(txn, "a", &err));
    assert_int_equal(qs_txn_unlock(txn, "a", &err), QS_NOT_FOUND);
    commit(txn);
}

static void an_expected_generation_that_moved_is_a_conflict(void **state)
{
    (void)state;
    fixture_set(&f, "a", "1");
    struct qs_txn *txn = begin();
    set(txn, "a", "2");
    assert_int_equal(
        qs_txn_commit(txn, &(struct qs_commit_options){.size = sizeof(struct qs_commit_options), .if_generation = 1},
                      NULL, &err),
        QS_CONFLICT);
    qs_txn_free(txn);
    store_is("{\"a\":1}");
    txn = begin();
    set(txn, "a", "2");
    ok(qs_txn_commit(txn, &(struct qs_commit_options){.size = sizeof(struct qs_commit_options), .if_generation = 2},
                     NULL, &err));
    qs_txn_free(txn);
    store_is("{\"a\":2}");
}

static void a_bad_message_is_refused(void **state)
{
    (void)state;
    char long_message[QS_MESSAGE_MAX_BYTES + 2];
    memset(long_message, 'm', sizeof long_message);
    long_message[sizeof long_message - 1] = '\0';
    const char *const messages[] = {long_message, "\xff"};
    for (int i = 0; i < 2; i++) {
        struct qs_txn *txn = begin();
        set(txn, "a", "1");
        assert_int_equal(qs_txn_commit(txn,
                                       &(struct qs_commit_options){.size = sizeof(struct qs_commit_options),
                                                                   .message = messages[i]},
                                       NULL, &err),
                         QS_INVALID);
        qs_txn_free(txn);
    }
    store_is("{}");
}

static void an_ended_transaction_takes_nothing_more(void **state)
{
    (void)state;
    struct qs_txn *txn = begin();
    qs_txn_abort(txn);
    qs_txn_abort(txn);
    assert_int_equal(qs_txn_set(txn, "a", "1", 1, &err), QS_USAGE);
    assert_int_equal(qs_txn_unset(txn, "a", &err), QS_USAGE);
    assert_int_equal(qs_txn_lock(txn, "a", &err), QS_USAGE);
    assert_int_equal(qs_txn_commit(txn, NULL, NULL, &err), QS_USAGE);
    qs_txn_free(txn);
    qs_txn_free(NULL);
}

static void the_map_grows_by_itself(void **state)
{
    (void)state;
    size_t bytes = (size_t)1 << 20;
    char *large = malloc(bytes);
    memset(large, 'x', bytes);
    large[0] = large[bytes - 1] = '"';
    env_first_map_bytes = 65536; /* far too small for what comes */
    struct qs_txn *txn = begin();
    ok(qs_txn_set(txn, "large", large, bytes, &err));
    commit(txn);
    env_first_map_bytes = 0;
    struct qs_snapshot *now = fixture_read(&f);
    struct qs_bytes value;
    ok(qs_snapshot_get(now, "large", &value, &err));
    assert_int_equal(value.len, bytes);
    assert_memory_equal(value.data, large, bytes);
    qs_snapshot_unref(now);
    free(large);
}

static void no_lock_file_of_lmdb_appears(void **state)
{
    (void)state;
    fixture_set(&f, "a", "1");
    ok(qs_store_compact(f.store, 0, &err));
    char *dir = NULL;
    assert_true(asprintf(&dir, "%s/system", f.root) > 0);
    assert_int_equal(scratch_count(dir, ""), 2); /* data.mdb, writer.lock */
    assert_int_equal(scratch_count(dir, "lock"), 0);
    assert_int_equal(scratch_count(dir, "data.mdb"), 1);
    free(dir);
}

/* ---- many writers ---- */

#define WRITERS 4
#define ROUNDS  60

static int count_up(int who)
{
    struct qs_store *store = NULL;
    if (qs_store_open(QS_SCOPE_SYSTEM,
                      &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = f.root}, &store,
                      NULL))
        return 1;
    for (int i = 0; i < ROUNDS; i++) {
        struct qs_txn *txn = NULL;
        char *text = NULL;
        char next[32];
        if (qs_txn_begin(store, 60000, &txn, NULL))
            return 2;
        long value = qs_txn_get(txn, "counter", &text, NULL, NULL) == QS_OK ? strtol(text, NULL, 10) : 0;
        (void)snprintf(next, sizeof next, "%ld", value + 1);
        char mine[32];
        (void)snprintf(mine, sizeof mine, "own.w%d", who);
        if (qs_txn_set(txn, "counter", next, strlen(next), NULL) || qs_txn_set(txn, mine, next, strlen(next), NULL) ||
            qs_txn_commit(txn, NULL, NULL, NULL))
            return 3;
        free(text);
        qs_txn_free(txn);
    }
    qs_store_close(store);
    return 0;
}

static void no_update_is_lost_between_writers(void **state)
{
    (void)state;
    pid_t children[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        if (children[i] == 0)
            _exit(count_up(i));
    }
    for (int i = 0; i < WRITERS; i++) {
        int how = 0;
        assert_int_equal(waitpid(children[i], &how, 0), children[i]);
        assert_int_equal(how, 0);
    }
    struct qs_snapshot *now = fixture_read(&f);
    struct qs_bytes value;
    ok(qs_snapshot_get(now, "counter", &value, &err));
    char expect[16];
    (void)snprintf(expect, sizeof expect, "%d", WRITERS * ROUNDS);
    assert_int_equal(value.len, strlen(expect));
    assert_memory_equal(value.data, expect, value.len);
    assert_int_equal(qs_snapshot_generation(now), 1 + WRITERS * ROUNDS);
    qs_snapshot_unref(now);
    struct qs_fsck_report report = {.size = sizeof report};
    ok(qs_store_fsck(f.store, &report, &err));
    assert_int_equal(report.records, 1 + WRITERS * ROUNDS);
}

static void a_waiting_writer_is_told_who_holds_the_lock(void **state)
{
    (void)state;
    struct qs_txn *holder = begin();
    struct qs_txn *second = NULL;
    assert_int_equal(qs_txn_begin(f.store, 30, &second, &err), QS_BUSY);
    char pid[32];
    (void)snprintf(pid, sizeof pid, "pid %ld,", (long)getpid());
    assert_non_null(strstr(err.message, pid));
    assert_non_null(strstr(err.message, "user "));
    assert_non_null(strstr(err.message, "since 20"));
    assert_null(second);
    qs_txn_free(holder);
    second = begin();
    qs_txn_free(second);
}

/* ---- fork ---- */

static void a_forked_child_can_neither_use_nor_keep_its_parents_transaction(void **state)
{
    (void)state;
    struct qs_txn *txn = begin();
    set(txn, "a", "1");
    int gate[2];
    assert_int_equal(pipe(gate), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        bool refused =
            qs_txn_set(txn, "a", "2", 1, NULL) == QS_USAGE && qs_txn_commit(txn, NULL, NULL, NULL) == QS_USAGE;
        qs_txn_free(txn);
        close(gate[1]);
        (void)!read(gate[0], &byte, 1); /* lives on until the parent is done */
        _exit(refused ? 0 : 1);
    }
    close(gate[0]);
    struct qs_txn *other = NULL;
    assert_int_equal(qs_txn_begin(f.store, 0, &other, &err), QS_BUSY); /* the child's free did not unlock */
    commit(txn);
    other = begin(); /* and the child that lives on does not hold it */
    qs_txn_free(other);
    close(gate[1]);
    int how = 0;
    waitpid(child, &how, 0);
    assert_int_equal(how, 0);
    store_is("{\"a\":1}");
}

static void a_killed_holder_lets_the_next_writer_go_on(void **state)
{
    (void)state;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct qs_txn *txn = begin();
        (void)!write(ready[1], txn ? "x" : "", 1);
        for (;;)
            pause();
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    struct qs_txn *txn = NULL;
    assert_int_equal(qs_txn_begin(f.store, 0, &txn, &err), QS_BUSY);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    txn = begin();
    set(txn, "a", "1");
    commit(txn);
    close(ready[0]);
    close(ready[1]);
}

/* How many descriptors lead below the scratch root; each must be closed on exec. */
static unsigned descriptors_of_store(void)
{
    unsigned count = 0;
    for (int fd = 3; fd < 64; fd++) {
        int flags = fcntl(fd, F_GETFD);
        char link[64];
        char target[256] = "";
        (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t len = flags >= 0 ? readlink(link, target, sizeof target - 1) : -1;
        if (len <= 0 || !strstr(target, f.root))
            continue;
        assert_true(flags & FD_CLOEXEC);
        count++;
    }
    return count;
}

static void descriptors_are_closed_on_exec_and_none_outlives_the_handle(void **state)
{
    (void)state;
    struct qs_txn *txn = begin();
    set(txn, "a", "1");
    assert_true(descriptors_of_store() > 0);
    commit(txn);
    assert_int_equal(descriptors_of_store(), 2); /* LMDB's two, kept for the next commit */
    txn = begin();
    qs_store_close(f.store);
    qs_txn_free(txn); /* a transaction may outlive its handle */
    f.store = NULL;
    assert_int_equal(descriptors_of_store(), 0);
}

/* Commits of another process, a swapped file and an older one put in its place come between two commits of one handle.
 */
static void a_handle_that_commits_again_sees_what_others_did_to_the_file(void **state)
{
    (void)state;
    size_t len = 0;
    struct qs_store *other = NULL;
    struct qs_txn *txn = NULL;
    struct qs_fsck_report report = {.size = sizeof report};
    ok(qs_store_open(QS_SCOPE_SYSTEM,
                     &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = f.root}, &other,
                     &err));
    fixture_set(&f, "a", "1");
    uint8_t *older = fixture_bytes(&f, &len);
    for (int i = 0; i < 12; i++) {
        ok(qs_txn_begin(other, 0, &txn, &err));
        ok(qs_txn_set(txn, i % 2 ? "b" : "c", i % 3 ? "1" : "2", 1, &err));
        ok(qs_txn_commit(txn, NULL, NULL, &err));
        qs_txn_free(txn);
        if (i % 4 == 3)
            ok(qs_store_compact(f.store, 0, &err));
        fixture_set(&f, "a", i % 2 ? "1" : "2");
        ok(qs_store_fsck(f.store, &report, &err));
    }
    fixture_write_bytes(&f, older, len); /* the same file, back in time */
    for (int i = 0; i < 6; i++) {
        fixture_set(&f, "a", i % 2 ? "1" : "2");
        ok(qs_store_fsck(f.store, &report, &err));
    }
    assert_int_equal(report.generation, 2 + 6);
    free(older);
    qs_store_close(other);
}

static void a_forked_child_commits_with_its_own_environment(void **state)
{
    (void)state;
    struct qs_fsck_report report = {.size = sizeof report};
    fixture_set(&f, "a", "1"); /* the environment is kept */
    pid_t child = fork();
    if (child == 0) {
        struct qs_txn *txn = NULL;
        bool good = qs_txn_begin(f.store, 1000, &txn, NULL) == QS_OK &&
                    qs_txn_set(txn, "child", "1", 1, NULL) == QS_OK && qs_txn_commit(txn, NULL, NULL, NULL) == QS_OK;
        qs_txn_free(txn);
        qs_store_close(f.store);
        _exit(good ? 0 : 1);
    }
    int how = 0;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    fixture_set(&f, "a", "2");
    store_is("{\"a\":2,\"child\":1}");
    ok(qs_store_fsck(f.store, &report, &err));
}

static void an_absent_store_is_not_made_by_a_writer(void **state)
{
    (void)state;
    struct qs_store *store = NULL;
    struct qs_txn *txn = NULL;
    ok(qs_store_open(QS_SCOPE_DEFAULTS,
                     &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = f.root}, &store,
                     &err));
    assert_int_equal(qs_txn_begin(store, 0, &txn, &err), QS_ABSENT);
    assert_non_null(strstr(err.advice, "init"));
    assert_false(scratch_exists(qs_store_path(store)));
    qs_store_close(store);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_set_replaces_what_was_at_and_below_and_never_above),
        TEST(a_transaction_reads_its_own_changes_and_others_do_not),
        TEST(unset_takes_the_subtree_and_refuses_what_is_not_there),
        TEST(apply_merges_objects_and_replaces_the_rest),
        TEST(bad_input_is_refused_with_its_place_and_changes_nothing),
        TEST(a_closed_object_is_judged_whole_at_commit),
        TEST(a_commit_without_change_makes_no_generation),
        TEST(the_change_list_says_old_and_new),
        TEST(an_expected_generation_that_moved_is_a_conflict),
        TEST(a_bad_message_is_refused),
        TEST(an_ended_transaction_takes_nothing_more),
        TEST(the_map_grows_by_itself),
        TEST(no_lock_file_of_lmdb_appears),
        TEST(no_update_is_lost_between_writers),
        TEST(a_waiting_writer_is_told_who_holds_the_lock),
        TEST(a_forked_child_can_neither_use_nor_keep_its_parents_transaction),
        TEST(a_killed_holder_lets_the_next_writer_go_on),
        TEST(descriptors_are_closed_on_exec_and_none_outlives_the_handle),
        TEST(a_handle_that_commits_again_sees_what_others_did_to_the_file),
        TEST(a_forked_child_commits_with_its_own_environment),
        TEST(an_absent_store_is_not_made_by_a_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
