/* SPDX-License-Identifier: Apache-2.0 */
/* The index over a snapshot's entries gives what the search gives, from one thread and from several. */
#include "store/lookup.h"
#include "store/snapshot.h"
#include "tests/support/scratch.h"

#include "qsettings/qsettings.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ENTRIES 3000u

struct made {
    struct entry_list list;
    char (*keys)[24];
};

static size_t key_text(size_t i, char key[24])
{
    return (size_t)snprintf(key, 24, "%.*s%06zu", (int)(i % 9), "abcdefgh", i * 7) +
           1; /* the zero byte is part of it */
}

static struct made make(size_t count)
{
    struct made made = {.list = {calloc(count, sizeof(struct leaf)), count}, .keys = calloc(count, sizeof *made.keys)};
    assert_non_null(made.list.items);
    assert_non_null(made.keys);
    for (size_t i = 0; i < count; i++)
        made.list.items[i].key = (struct qs_bytes){made.keys[i], key_text(i, made.keys[i])};
    return made;
}

static void release(struct made *made)
{
    free(made->list.items);
    free(made->keys);
}

static void an_index_finds_every_key_at_its_position(void **state)
{
    (void)state;
    struct made made = make(ENTRIES);
    struct key_index *index = index_make(&made.list);
    assert_non_null(index);
    for (size_t i = 0; i < ENTRIES; i++)
        assert_int_equal(index_find(index, &made.list, made.keys[i], made.list.items[i].key.len), i);
    free(index);
    release(&made);
}

static void an_index_finds_no_key_that_is_not_there(void **state)
{
    (void)state;
    struct made made = make(ENTRIES);
    struct key_index *index = index_make(&made.list);
    char key[24];
    assert_non_null(index);
    for (size_t i = ENTRIES; i < 3 * ENTRIES; i++)
        assert_true(index_find(index, &made.list, key, key_text(i, key)) == SIZE_MAX);
    for (size_t i = 0; i < ENTRIES; i++) /* one byte less of one that is there */
        assert_true(index_find(index, &made.list, made.keys[i], made.list.items[i].key.len - 1) == SIZE_MAX);
    assert_true(index_find(index, &made.list, "", 0) == SIZE_MAX);
    free(index);
    release(&made);
}

/* The same key again and again has one hash: no index is better than one that degenerates to a list. */
static void keys_that_share_their_hash_give_no_index(void **state)
{
    (void)state;
    struct made made = make(ENTRIES);
    for (size_t i = 0; i < ENTRIES; i++)
        made.list.items[i].key = made.list.items[0].key;
    assert_null(index_make(&made.list));
    release(&made);
}

/* ---- through the library ---- */

static struct scratch scratch;

static struct qs_snapshot *snapshot_of(size_t count)
{
    struct qs_error err = {0};
    struct qs_store *store = NULL;
    struct qs_txn *txn = NULL;
    struct qs_snapshot *snapshot = NULL;
    struct qs_commit_info info = {.size = sizeof info};
    char key[64], value[32];
    scratch_make(&scratch);
    assert_int_equal(qs_store_open(QS_SCOPE_SYSTEM,
                                   &(struct qs_store_options){.size = sizeof(struct qs_store_options),
                                                              .root = scratch.dir},
                                   &store, &err),
                     0);
    assert_int_equal(qs_store_init(store, NULL, &err), QS_OK);
    assert_int_equal(qs_txn_begin(store, 1000, &txn, &err), QS_OK);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(key, sizeof key, "things.t%zu.number", i);
        int len = snprintf(value, sizeof value, "%zu", i);
        assert_int_equal(qs_txn_set(txn, key, value, (size_t)len, &err), QS_OK);
    }
    assert_int_equal(qs_txn_commit(txn, NULL, &info, &err), QS_OK);
    qs_txn_free(txn);
    assert_int_equal(qs_snapshot_take(store, &snapshot, &err), QS_OK);
    qs_store_close(store);
    return snapshot;
}

/* NULL, or what is wrong. */
static void *ask_for_all(void *context)
{
    const struct qs_snapshot *snapshot = context;
    size_t count = qs_snapshot_count(snapshot);
    char key[64], value[32];
    for (size_t i = 0; i < count; i++) {
        struct qs_bytes got = {0};
        (void)snprintf(key, sizeof key, "things.t%zu.number", i);
        int len = snprintf(value, sizeof value, "%zu", i);
        if (qs_snapshot_get(snapshot, key, &got, NULL) || got.len != (size_t)len ||
            memcmp(got.data, value, got.len) != 0)
            return (void *)"a setting has not its value";
        (void)snprintf(key, sizeof key, "things.t%zu.nothing", i);
        if (qs_snapshot_get(snapshot, key, &got, NULL) != QS_NOT_FOUND)
            return (void *)"a setting that is not there was found";
    }
    return NULL;
}

static void a_snapshot_answers_alike_before_and_after_it_has_an_index(void **state)
{
    (void)state;
    struct qs_snapshot *snapshot = snapshot_of(500);
    assert_null(atomic_load(&snapshot->index));
    for (int round = 0; round < 3; round++)
        assert_null(ask_for_all(snapshot));
    assert_non_null(atomic_load(&snapshot->index));
    qs_snapshot_unref(snapshot);
    scratch_remove(&scratch);
}

static void a_snapshot_that_is_asked_once_makes_no_index(void **state)
{
    (void)state;
    struct qs_snapshot *snapshot = snapshot_of(500);
    struct qs_bytes value;
    assert_int_equal(qs_snapshot_get(snapshot, "things.t7.number", &value, NULL), QS_OK);
    assert_null(atomic_load(&snapshot->index));
    qs_snapshot_unref(snapshot);
    scratch_remove(&scratch);
}

static void threads_may_ask_one_snapshot_while_its_index_is_made(void **state)
{
    (void)state;
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    struct qs_snapshot *snapshot = snapshot_of(400);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_for_all, snapshot), 0);
    for (int i = 0; i < THREADS; i++) {
        void *fault = NULL;
        assert_int_equal(pthread_join(threads[i], &fault), 0);
        assert_null(fault);
    }
    qs_snapshot_unref(snapshot);
    scratch_remove(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_finds_every_key_at_its_position),
        cmocka_unit_test(an_index_finds_no_key_that_is_not_there),
        cmocka_unit_test(keys_that_share_their_hash_give_no_index),
        cmocka_unit_test(a_snapshot_answers_alike_before_and_after_it_has_an_index),
        cmocka_unit_test(a_snapshot_that_is_asked_once_makes_no_index),
        cmocka_unit_test(threads_may_ask_one_snapshot_while_its_index_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
