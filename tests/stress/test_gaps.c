/* SPDX-License-Identifier: Apache-2.0 */
/* Absence gaps, with a clock that the test sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stress/harness/measures.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct gaps gaps;

static void presence_alone_is_no_gap(void **state)
{
    (void)state;
    gaps_begin(&gaps, 1000, 10000);
    for (uint64_t t = 1000; t < 5000; t += 10)
        gaps_observe(&gaps, true, t);
    gaps_end(&gaps, 6000);
    assert_int_equal(gaps.count, 0);
    assert_int_equal(gaps.max_ns, 0);
    assert_int_equal(gaps.polls, 400);
    assert_true(gaps_mean_us(&gaps) == 0.0);
}

static void a_gap_lasts_from_the_first_miss_to_the_next_sight(void **state)
{
    (void)state;
    gaps_begin(&gaps, 0, 1000000);
    gaps_observe(&gaps, true, 100);
    gaps_observe(&gaps, false, 200);
    gaps_observe(&gaps, false, 300);
    gaps_observe(&gaps, false, 900);
    gaps_observe(&gaps, true, 1200);
    gaps_observe(&gaps, true, 1300);
    assert_int_equal(gaps.count, 1);
    assert_int_equal(gaps.max_ns, 1000);
    assert_int_equal(gaps.total_ns, 1000);
}

static void mean_and_longest_are_over_all_gaps(void **state)
{
    (void)state;
    gaps_begin(&gaps, 0, 1000000000);
    static const uint64_t lengths[] = {1000, 5000, 3000};
    uint64_t t = 0;
    for (unsigned i = 0; i < 3; i++) {
        gaps_observe(&gaps, false, t += 10000);
        gaps_observe(&gaps, true, t += lengths[i]);
    }
    assert_int_equal(gaps.count, 3);
    assert_int_equal(gaps.max_ns, 5000);
    assert_true(gaps_mean_us(&gaps) == 3.0);
}

static void a_gap_still_open_at_the_end_counts_to_the_end(void **state)
{
    (void)state;
    gaps_begin(&gaps, 0, 10000);
    gaps_observe(&gaps, false, 4000);
    assert_int_equal(gaps.count, 0);
    gaps_end(&gaps, 10000);
    assert_int_equal(gaps.count, 1);
    assert_int_equal(gaps.max_ns, 6000);
    gaps_end(&gaps, 20000);
    assert_int_equal(gaps.count, 1);
}

static void each_gap_stands_in_the_timeline_where_it_began(void **state)
{
    (void)state;
    uint64_t span = (uint64_t)GAPS_BINS * 1000;
    gaps_begin(&gaps, 5000, span);
    gaps_observe(&gaps, false, 5000);
    gaps_observe(&gaps, true, 5100);
    gaps_observe(&gaps, false, 5000 + span / 2);
    gaps_observe(&gaps, true, 5000 + span / 2 + 700);
    gaps_observe(&gaps, false, 5000 + span * 3); /* the clock ran past the planned end */
    gaps_end(&gaps, 5000 + span * 3 + 50);
    uint64_t all = 0;
    for (unsigned i = 0; i < GAPS_BINS; i++)
        all += gaps.bins[i].count;
    assert_int_equal(all, 3);
    assert_int_equal(gaps.bins[0].count, 1);
    assert_int_equal(gaps.bins[0].max_ns, 100);
    assert_int_equal(gaps.bins[GAPS_BINS - 1].count, 1);
    assert_int_equal(gaps.bins[GAPS_BINS - 1].max_ns, 50);
}

static void a_span_of_nothing_is_survived(void **state)
{
    (void)state;
    gaps_begin(&gaps, 0, 0);
    gaps_observe(&gaps, false, 1);
    gaps_observe(&gaps, true, 2);
    assert_int_equal(gaps.count, 1);
}

struct watched {
    char path[64];
    atomic_bool stop;
    struct gaps gaps;
};

static void *watch(void *data)
{
    struct watched *watched = data;
    gaps_watch(&watched->gaps, watched->path, &watched->stop, 1000000000);
    return NULL;
}

static void touch(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
}

/* Waits for the watcher itself, not for time. */
static void wait_polls(struct watched *watched, uint64_t more)
{
    volatile uint64_t *polls = &watched->gaps.polls;
    uint64_t from = *polls;
    while (*polls < from + more)
        (void)usleep(100);
}

static void the_watcher_sees_a_file_go_and_come_back(void **state)
{
    (void)state;
    static struct watched watched;
    char dir[] = "/tmp/test-gaps-XXXXXX";
    assert_non_null(mkdtemp(dir));
    (void)snprintf(watched.path, sizeof watched.path, "%s/file", dir);
    touch(watched.path);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, watch, &watched), 0);
    wait_polls(&watched, 100);
    assert_int_equal(watched.gaps.count, 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(unlink(watched.path), 0);
        wait_polls(&watched, 100);
        touch(watched.path);
        wait_polls(&watched, 100);
    }
    atomic_store(&watched.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(watched.gaps.count, 3);
    assert_true(watched.gaps.max_ns > 0);
    (void)unlink(watched.path);
    (void)rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presence_alone_is_no_gap),
        cmocka_unit_test(a_gap_lasts_from_the_first_miss_to_the_next_sight),
        cmocka_unit_test(mean_and_longest_are_over_all_gaps),
        cmocka_unit_test(a_gap_still_open_at_the_end_counts_to_the_end),
        cmocka_unit_test(each_gap_stands_in_the_timeline_where_it_began),
        cmocka_unit_test(a_span_of_nothing_is_survived),
        cmocka_unit_test(the_watcher_sees_a_file_go_and_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
