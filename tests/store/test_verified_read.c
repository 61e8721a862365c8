/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader's accept rule, without a race: commits are made between two reads of one walk. One commit cannot touch the
 * pages of the generation that is read, so the read stands; a second one can, so the read starts over. That holds at
 * each read of the walk, also at the last ones, when every page has been read and nothing but the rule is left.
 */
#include "tests/support/faults.h"
#include "tests/support/one_store.h"
#include "tests/support/stores.h"

#include <stdio.h>

/* The first read after the two of the meta pages; until then no generation is chosen. */
#define FIRST_PAGE_READ 3u

static struct qs_store *writer;
static unsigned commits; /* so far; the value of key "n" */

static void commit(void)
{
    char json[16];
    (void)snprintf(json, sizeof json, "%u", ++commits);
    stores_set(writer, "n", json);
}

static int set_up_writer(void **state)
{
    (void)set_up(state);
    writer = stores_handle(f.root, QS_SCOPE_SYSTEM);
    commits = 0;
    for (int i = 0; i < 5; i++) /* LMDB has pages to use again */
        commit();
    return 0;
}

static int tear_down_writer(void **state)
{
    qs_store_close(writer);
    return tear_down(state);
}

struct disturbance {
    unsigned first, second; /* the reads before which one commit each is made; 0: none */
};

static void disturb(unsigned number, const char *call, void *context)
{
    (void)call;
    const struct disturbance *at = context;
    if (number == at->first)
        commit();
    if (number == at->second)
        commit();
}

/* One read with these commits in it; checks that its value is that of its generation. Returns the number of its reads
 * of the file. */
static unsigned read_between(struct disturbance at, unsigned *ret_retries, uint64_t *ret_generation)
{
    struct qs_snapshot *snapshot = NULL;
    char *value = NULL;
    char expected[16];
    faults_start(&(struct fault){.only = "pread", .kind = FAULT_NONE, .before = disturb, .context = &at});
    enum qs_status status = qs_snapshot_take(f.store, &snapshot, &err);
    unsigned reads = faults_stop();
    ok(status);
    *ret_retries = qs_snapshot_retries(snapshot);
    *ret_generation = qs_snapshot_generation(snapshot);
    ok(qs_snapshot_json(snapshot, "n", &value, NULL, &err));
    (void)snprintf(expected, sizeof expected, "%u", (unsigned)*ret_generation - 1); /* the empty store is 1 */
    assert_string_equal(value, expected);
    free(value);
    qs_snapshot_unref(snapshot);
    return reads;
}

/* Number of the last read of a walk in which a commit was made: of the second meta page, when the rule is applied. */
static unsigned last_read(void)
{
    unsigned retries = 0;
    uint64_t generation = 0;
    unsigned last = read_between((struct disturbance){.first = FIRST_PAGE_READ}, &retries, &generation);
    assert_true(last > FIRST_PAGE_READ + 1); /* metas, pages, metas */
    return last;
}

static void a_read_stands_though_one_commit_is_made_in_it(void **state)
{
    (void)state;
    unsigned last = last_read();
    for (unsigned at = FIRST_PAGE_READ; at <= last; at++) {
        unsigned retries = 0;
        uint64_t generation = 0;
        (void)read_between((struct disturbance){.first = at}, &retries, &generation);
        if (retries != 0 || generation != commits) /* the one before this commit's */
            fail_msg("a commit before read %u: %u retries, generation %llu after %u commits", at, retries,
                     (unsigned long long)generation, commits);
    }
}

/* Before the very last read it is too late: the meta page that it reads may well be the first commit's. */
static void a_read_starts_over_when_two_commits_are_made_in_it(void **state)
{
    (void)state;
    unsigned last = last_read();
    for (unsigned first = FIRST_PAGE_READ; first < last; first++)
        for (unsigned second = first; second < last; second++) {
            unsigned retries = 0;
            uint64_t generation = 0;
            (void)read_between((struct disturbance){first, second}, &retries, &generation);
            if (retries != 1 || generation != 1 + commits)
                fail_msg("commits before reads %u and %u: %u retries, generation %llu after %u commits", first, second,
                         retries, (unsigned long long)generation, commits);
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_writer, tear_down_writer)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_read_stands_though_one_commit_is_made_in_it),
        TEST(a_read_starts_over_when_two_commits_are_made_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
