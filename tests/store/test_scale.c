/* SPDX-License-Identifier: Apache-2.0 */
/* Ten thousand generations: reading and writing cost what they cost at a hundred, and every part of care still works.
 */
#include "base/os.h"
#include "tests/support/one_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FEW  100u
#define MANY 10000u

static struct os_calls counting;
static unsigned long long bytes_read;

static ssize_t counting_pread(int fd, void *buf, size_t len, off_t at)
{
    ssize_t got = os_real.pread(fd, buf, len, at);
    bytes_read += got > 0 ? (unsigned long long)got : 0;
    return got;
}

static void set_number(unsigned number)
{
    char json[16];
    (void)snprintf(json, sizeof json, "%u", number);
    fixture_set(&f, "counter", json);
}

static unsigned long long bytes_of_a_get(void)
{
    bytes_read = 0;
    qs_snapshot_unref(fixture_read(&f));
    return bytes_read;
}

static unsigned long long bytes_of_a_set(unsigned number)
{
    bytes_read = 0;
    set_number(number);
    return bytes_read;
}

static void history_of_ten_thousand_generations_costs_readers_nothing_and_writers_little(void **state)
{
    (void)state;
    fixture_init(&f, true);
    for (unsigned i = 0; i < 200; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "group%u.setting%03u", i % 7, i);
        fixture_set(&f, key, "\"a value of some length, as settings have\"");
    }
    unsigned generation = 201;
    counting = os_real;
    counting.pread = counting_pread;
    qs_os = &counting;
    for (; generation < 201 + FEW; generation++)
        set_number(generation);
    unsigned long long get_few = bytes_of_a_get();
    unsigned long long set_few = bytes_of_a_set(generation++);
    for (; generation < MANY - 1; generation++)
        set_number(generation);
    unsigned long long get_many = bytes_of_a_get();
    unsigned long long set_many = bytes_of_a_set(generation++);
    qs_os = &os_real;
    printf("# bytes read by a get: %llu, then %llu; by a set: %llu, then %llu\n", get_few, get_many, set_few, set_many);
    /* A small file is read whole, a larger one by its pages: the later read may be the smaller one. */
    assert_true(get_many <= get_few);
    /* A writer looks at the history's branch pages: one in some hundred of its pages. */
    assert_true(set_many <= 2 * set_few);
}

static void care_of_ten_thousand_generations_works(void **state)
{
    (void)state;
    struct qs_fsck_report report = {.size = sizeof report};
    struct qs_history *history = NULL;
    struct qs_snapshot *then = NULL;
    struct qs_txn *txn = NULL;
    struct qs_bytes value;
    ok(qs_store_fsck(f.store, &report, &err));
    assert_int_equal(report.generation, MANY);
    assert_int_equal(report.records, MANY);
    ok(qs_history_open(f.store, &history, &err));
    ok(qs_history_at(history, 300, &then, &err));
    ok(qs_snapshot_get(then, "counter", &value, &err));
    assert_int_equal(value.len, 3);
    assert_memory_equal(value.data, "299", 3);
    qs_snapshot_unref(then);
    qs_history_close(history);
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    ok(qs_txn_rollback(txn, 300, &err));
    ok(qs_txn_commit(txn, NULL, NULL, &err));
    qs_txn_free(txn);
    ok(qs_store_compact(f.store, 0, &err));
    ok(qs_store_purge(f.store, "group1.setting001", NULL, 0, NULL, &err));
    ok(qs_store_fsck(f.store, &report, &err));
    assert_int_equal(report.generation, MANY + 2);
    assert_int_equal(report.records, MANY + 2);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(history_of_ten_thousand_generations_costs_readers_nothing_and_writers_little),
        cmocka_unit_test(care_of_ten_thousand_generations_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
