/* SPDX-License-Identifier: Apache-2.0 */
/* History: what each record says, going back, the chain, and what purge leaves. */
#include "base/os.h"
#include "store/history_codec.h"
#include "tests/support/one_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct qs_history *open_history(void)
{
    struct qs_history *history = NULL;
    ok(qs_history_open(f.store, &history, &err));
    return history;
}

static void a_record_says_who_when_what_and_why(void **state)
{
    (void)state;
    struct qs_txn *txn = NULL;
    fixture_set(&f, "a", "1");
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    ok(qs_txn_set(txn, "a", "2", 1, &err));
    ok(qs_txn_set(txn, "b", "\"x\"", 3, &err));
    ok(qs_txn_commit(txn,
                     &(struct qs_commit_options){.size = sizeof(struct qs_commit_options),
                                                 .message = "ops-7: \xc3\xa9",
                                                 .program = "tester"},
                     NULL, &err));
    qs_txn_free(txn);
    struct qs_history *history = open_history();
    const struct qs_record *record = NULL;
    assert_int_equal(qs_history_count(history), 3);
    ok(qs_history_find(history, 3, &record, &err));
    assert_int_equal(record->generation, 3);
    assert_int_equal(record->uid, geteuid());
    assert_int_equal(record->pid, getpid());
    assert_string_equal(record->program, "tester");
    assert_string_equal(record->message, "ops-7: \xc3\xa9");
    assert_string_equal(record->action, "set");
    assert_true(record->time_s > 1700000000);
    assert_int_equal(record->change_count, 2);
    const struct qs_change *change = qs_history_change(history, 0);
    assert_memory_equal(change->key.data, "a", 1);
    assert_memory_equal(change->old_value.data, "1", 1);
    assert_memory_equal(change->new_value.data, "2", 1);
    change = qs_history_change(history, 1);
    assert_null(change->old_value.data);
    assert_null(qs_history_change(history, 2));
    assert_memory_equal(record->content, qs_snapshot_digest(qs_history_snapshot(history)), QS_DIGEST_BYTES);
    unsigned char previous[QS_DIGEST_BYTES];
    memcpy(previous, record->previous, sizeof previous);
    ok(qs_history_record(history, 1, &record, &err));
    assert_memory_equal(record->digest, previous, QS_DIGEST_BYTES);
    ok(qs_history_record(history, 0, &record, &err));
    assert_string_equal(record->action, "init");
    qs_history_close(history);
}

static void what_is_not_in_the_history_is_not_found(void **state)
{
    (void)state;
    struct qs_history *history = open_history();
    const struct qs_record *record = NULL;
    struct qs_snapshot *snapshot = NULL;
    assert_int_equal(qs_history_find(history, 2, &record, &err), QS_NOT_FOUND);
    assert_non_null(strstr(err.message, "from 1 to 1"));
    assert_int_equal(qs_history_record(history, 1, &record, &err), QS_NOT_FOUND);
    assert_int_equal(qs_history_at(history, 0, &snapshot, &err), QS_NOT_FOUND);
    qs_history_close(history);
}

static void every_older_generation_can_be_read_and_rolled_back_to(void **state)
{
    (void)state;
    char *texts[40] = {NULL};
    for (int i = 2; i < 40; i++) {
        char key[32];
        char json[64];
        (void)snprintf(key, sizeof key, "k%d.v%d", i % 5, i % 3);
        (void)snprintf(json, sizeof json, i % 4 ? "[%d]" : "{\"deep\":{\"er\":%d}}", i);
        fixture_set(&f, key, json);
        struct qs_snapshot *now = fixture_read(&f);
        ok(qs_snapshot_json(now, NULL, &texts[i], NULL, &err));
        qs_snapshot_unref(now);
    }
    struct qs_history *history = open_history();
    for (uint64_t g = 39; g >= 2; g--) {
        struct qs_snapshot *then = NULL;
        ok(qs_history_at(history, g, &then, &err));
        assert_int_equal(qs_snapshot_generation(then), g);
        json_is(then, texts[g]);
        qs_snapshot_unref(then);
    }
    qs_history_close(history);
    for (uint64_t g = 3; g < 40; g += 7) {
        struct qs_txn *txn = NULL;
        ok(qs_txn_begin(f.store, 0, &txn, &err));
        ok(qs_txn_rollback(txn, g, &err));
        ok(qs_txn_commit(txn, NULL, NULL, &err));
        qs_txn_free(txn);
        struct qs_snapshot *now = fixture_read(&f);
        json_is(now, texts[g]);
        qs_snapshot_unref(now);
    }
    history = open_history();
    ok(qs_history_check(history, &err));
    const struct qs_record *record = NULL;
    ok(qs_history_record(history, qs_history_count(history) - 1, &record, &err));
    assert_string_equal(record->action, "rollback");
    qs_history_close(history);
    for (int i = 0; i < 40; i++)
        free(texts[i]);
}

static void a_rollback_brings_locks_and_flags_back_too(void **state)
{
    (void)state;
    struct qs_txn *txn = NULL;
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    ok(qs_txn_lock(txn, "a.b", &err));
    ok(qs_txn_require_policy(txn, true, &err));
    ok(qs_txn_commit(txn, NULL, NULL, &err)); /* generation 2 */
    qs_txn_free(txn);
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    ok(qs_txn_unlock(txn, "a.b", &err));
    ok(qs_txn_require_policy(txn, false, &err));
    ok(qs_txn_commit(txn, NULL, NULL, &err));
    qs_txn_free(txn);
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    ok(qs_txn_rollback(txn, 2, &err));
    ok(qs_txn_commit(txn, NULL, NULL, &err));
    qs_txn_free(txn);
    struct qs_snapshot *now = fixture_read(&f);
    assert_int_equal(qs_snapshot_lock_count(now), 1);
    assert_true(qs_snapshot_requires_policy(now));
    qs_snapshot_unref(now);
}

/* ---- purge ---- */

static bool file_contains(const char *needle)
{
    size_t len = 0;
    uint8_t *bytes = fixture_bytes(&f, &len);
    bool found = memmem(bytes, len, needle, strlen(needle)) != NULL;
    free(bytes);
    return found;
}

static void purge_takes_a_value_out_of_settings_history_and_free_pages(void **state)
{
    (void)state;
    fixture_set(&f, "keep", "\"stays\"");
    fixture_set(&f, "secret.key", "\"hunter2-first\"");
    fixture_set(&f, "secret.key", "\"hunter2-second\"");
    fixture_set(&f, "keep", "\"stays on\"");
    assert_true(file_contains("hunter2-first"));
    struct qs_commit_info info = {.size = sizeof info};
    ok(qs_store_purge(f.store, "secret", "ops-9", 0, &info, &err));
    assert_int_equal(info.generation, 6);
    assert_false(file_contains("hunter2"));
    assert_true(file_contains("stays on"));
    struct qs_history *history = open_history();
    ok(qs_history_check(history, &err)); /* the chain still verifies */
    json_is(qs_history_snapshot(history), "{\"keep\":\"stays on\"}");
    const struct qs_record *record = NULL;
    ok(qs_history_find(history, 4, &record, &err));
    const struct qs_change *change = qs_history_change(history, 0);
    assert_true(change->old_purged && change->new_purged);
    assert_null(change->old_value.data);
    ok(qs_history_find(history, 5, &record, &err));
    assert_memory_equal(qs_history_change(history, 0)->new_value.data, "\"stays on\"", 10);
    struct qs_snapshot *then = NULL;
    assert_int_equal(qs_history_at(history, 4, &then, &err), QS_INVALID); /* what was purged cannot come back */
    assert_non_null(strstr(err.message, "purged"));
    ok(qs_history_at(history, 2, &then, &err)); /* what was there before it was set, can */
    json_is(then, "{\"keep\":\"stays\"}");
    qs_snapshot_unref(then);
    qs_history_close(history);
    assert_int_equal(qs_store_purge(f.store, "nothing", NULL, 0, NULL, &err), QS_NOT_FOUND);
}

/* ---- records as bytes ---- */

static struct history_record sample(struct history_change changes[2])
{
    struct history_record record = {.action = HISTORY_SET, .changes = changes};
    changes[0] = (struct history_change){.area = QS_AREA_SETTINGS,
                                         .key = {"a\0b", 3},
                                         .old_value = {.there = true, .bytes = {"1", 1}},
                                         .new_value = {.there = true, .bytes = {"2", 1}}};
    changes[1] = (struct history_change){.area = QS_AREA_LOCKS,
                                         .key = {"x", 1},
                                         .new_value = {.there = true, .bytes = {"true", 4}}};
    record.facts = (struct qs_record){
        .generation = 7, .time_s = 5, .uid = 1, .user = "u", .program = "p", .message = "m", .change_count = 2};
    return record;
}

static void every_changed_byte_of_a_record_is_noticed(void **state)
{
    (void)state;
    struct history_change changes[2];
    struct history_record record = sample(changes);
    struct history_record decoded;
    struct buf bytes = {0};
    ok(history_record_encode(&record, &bytes, &err));
    ok(history_record_decode(bytes.data, bytes.len, &decoded, &err));
    assert_int_equal(decoded.facts.change_count, 2);
    history_record_release(&decoded);
    for (size_t i = 0; i < bytes.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            bytes.data[i] = (char)(bytes.data[i] ^ 1 << bit);
            if (history_record_decode(bytes.data, bytes.len, &decoded, &err) != QS_DAMAGED)
                fail_msg("byte %zu, bit %d", i, bit);
            bytes.data[i] = (char)(bytes.data[i] ^ 1 << bit);
        }
    for (size_t len = 0; len < bytes.len; len++) {
        char *copy = malloc(len ? len : 1); /* so that a read beyond it is seen */
        memcpy(copy, bytes.data, len);
        assert_int_equal(history_record_decode(copy, len, &decoded, &err), QS_DAMAGED);
        free(copy);
    }
    buf_release(&bytes);
}

static void a_purged_record_has_the_same_digest_and_no_values(void **state)
{
    (void)state;
    struct history_change changes[2];
    struct history_record record = sample(changes);
    struct history_record decoded;
    struct buf bytes = {0};
    ok(history_record_encode(&record, &bytes, &err));
    ok(history_record_decode(bytes.data, bytes.len, &decoded, &err));
    uint8_t digest[QS_DIGEST_BYTES];
    memcpy(digest, decoded.facts.digest, sizeof digest);
    ok(history_record_purge(&decoded, 0, &err));
    struct buf again = {0};
    ok(history_record_encode(&decoded, &again, &err));
    assert_memory_equal(decoded.facts.digest, digest, sizeof digest);
    struct history_record last;
    ok(history_record_decode(again.data, again.len, &last, &err));
    assert_memory_equal(last.facts.digest, digest, sizeof digest);
    struct history_change change = history_record_change(&last, 0);
    assert_true(change.old_value.purged && change.new_value.purged);
    assert_null(change.old_value.bytes.data);
    history_record_release(&last);
    history_record_release(&decoded);
    buf_release(&again);
    buf_release(&bytes);
}

static void names_that_are_too_long_are_refused(void **state)
{
    (void)state;
    struct history_change changes[2];
    struct history_record record = sample(changes);
    struct buf bytes = {0};
    char name[QS_NAME_MAX_BYTES + 2];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    record.facts.user = name;
    assert_int_equal(history_record_encode(&record, &bytes, &err), QS_INVALID);
    record.facts.user = "u";
    record.facts.program = name;
    assert_int_equal(history_record_encode(&record, &bytes, &err), QS_INVALID);
    buf_release(&bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_record_says_who_when_what_and_why),
        TEST(what_is_not_in_the_history_is_not_found),
        TEST(every_older_generation_can_be_read_and_rolled_back_to),
        TEST(a_rollback_brings_locks_and_flags_back_too),
        TEST(purge_takes_a_value_out_of_settings_history_and_free_pages),
        cmocka_unit_test(every_changed_byte_of_a_record_is_noticed),
        cmocka_unit_test(a_purged_record_has_the_same_digest_and_no_values),
        cmocka_unit_test(names_that_are_too_long_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
