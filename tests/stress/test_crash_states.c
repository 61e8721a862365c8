/* SPDX-License-Identifier: Apache-2.0 */
/* The planner of crash states: what a log of writes, flushes and marks may leave on a disk, and within which bounds. */
#include "stress/powercut/crash_states.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ENTRIES_MAX 4096

/* A log from a text: w a write of 512 bytes, W one of 4096, z a zeroed range, f a flush, i an ignored one, m the next
 * mark, s the next mark and the start. Each write goes to a place of its own. */
struct made_log {
    struct crash_entry entries[ENTRIES_MAX];
    struct crash_log log;
};

static void make_log(struct made_log *made, const char *text)
{
    uint64_t mark = 0;
    memset(made, 0, sizeof *made);
    made->log.entries = made->entries;
    for (size_t n = 0; text[n]; n++) {
        struct crash_entry *entry = &made->entries[made->log.count++];
        *entry = (struct crash_entry){.offset = n * 4096};
        switch (text[n]) {
        case 'w':
        case 'W':
            entry->kind = CRASH_WRITE;
            entry->len = text[n] == 'W' ? 4096 : 512;
            break;
        case 'z':
            entry->kind = CRASH_ZERO;
            entry->len = 4096;
            break;
        case 'f':
            entry->kind = CRASH_FLUSH;
            break;
        case 'i':
            entry->kind = CRASH_IGNORED;
            break;
        case 's':
            made->log.start = n;
            entry->kind = CRASH_MARK;
            entry->mark = mark++;
            break;
        default:
            entry->kind = CRASH_MARK;
            entry->mark = mark++;
        }
    }
}

/* The state as a text over the log's entries: '1' there, '0' not, 't' in part, ' ' no write. */
static void state_text(const struct crash_log *log, const struct crash_state *state, char *text)
{
    for (size_t i = 0; i < log->count; i++) {
        bool write = log->entries[i].kind == CRASH_WRITE || log->entries[i].kind == CRASH_ZERO;
        text[i] = write ? (i < state->begin ? '1' : '0') : ' ';
    }
    text[log->count] = '\0';
    size_t at = 0;
    struct crash_piece piece;
    while (crash_state_next(log, state, &at, &piece))
        text[piece.entry - log->entries] = piece.len == piece.entry->len ? '1' : 't';
}

static bool plan_has(const struct crash_log *log, const struct crash_plan *plan, const char *wanted, uint64_t acked,
                     uint64_t upper)
{
    char text[ENTRIES_MAX + 1];
    for (size_t i = 0; i < plan->count; i++) {
        state_text(log, &plan->states[i], text);
        if (strcmp(text, wanted) == 0 && plan->states[i].acked == acked && plan->states[i].upper == upper)
            return true;
    }
    return false;
}

static void every_prefix_is_planned_once(void **state)
{
    (void)state;
    struct made_log made;
    struct crash_plan plan;
    make_log(&made, "swfwfw");
    assert_true(crash_plan_make(&made.log, 1000, 1, &plan));
    assert_int_equal(plan.count, 4);
    assert_true(plan.complete);
    assert_int_equal(plan.windows, 3);
    assert_true(plan_has(&made.log, &plan, " 0 0 0", 0, 1));
    assert_true(plan_has(&made.log, &plan, " 1 0 0", 0, 1));
    assert_true(plan_has(&made.log, &plan, " 1 1 0", 0, 1));
    assert_true(plan_has(&made.log, &plan, " 1 1 1", 0, 1));
    crash_plan_release(&plan);
}

static void unflushed_writes_may_be_there_in_any_combination(void **state)
{
    (void)state;
    struct made_log made;
    struct crash_plan plan;
    make_log(&made, "swwwf");
    assert_true(crash_plan_make(&made.log, 1000, 1, &plan));
    assert_int_equal(plan.count, 8); /* 2^3 of the window; all three are the prefix of the next window */
    assert_true(plan_has(&made.log, &plan, " 010 ", 0, 1));
    assert_true(plan_has(&made.log, &plan, " 001 ", 0, 1));
    assert_true(plan_has(&made.log, &plan, " 101 ", 0, 1));
    assert_true(plan_has(&made.log, &plan, " 111 ", 0, 1));
    crash_plan_release(&plan);
}

static void a_flushed_write_is_never_missing(void **state)
{
    (void)state;
    struct made_log made;
    struct crash_plan plan;
    char text[ENTRIES_MAX + 1];
    make_log(&made, "sWwfWwWfwWWz");
    assert_true(crash_plan_make(&made.log, 500, 7, &plan));
    for (size_t i = 0; i < plan.count; i++) {
        state_text(&made.log, &plan.states[i], text);
        for (size_t at = 0; at < plan.states[i].begin; at++)
            assert_true(text[at] == '1' || text[at] == ' ');
        for (size_t at = plan.states[i].end; at < made.log.count; at++)
            assert_true(text[at] == '0' || text[at] == ' ');
    }
    crash_plan_release(&plan);
}

static void an_ignored_flush_is_no_barrier(void **state)
{
    (void)state;
    struct made_log honest;
    struct made_log lying;
    struct crash_plan plan;
    make_log(&honest, "swfwf");
    make_log(&lying, "swiwf");
    assert_true(crash_plan_make(&honest.log, 100, 1, &plan));
    assert_false(plan_has(&honest.log, &plan, " 0 1 ", 0, 1));
    crash_plan_release(&plan);
    assert_true(crash_plan_make(&lying.log, 100, 1, &plan));
    assert_true(plan_has(&lying.log, &plan, " 0 1 ", 0, 1));
    crash_plan_release(&plan);
}

static void what_was_acknowledged_before_the_closing_flush_must_be_there(void **state)
{
    (void)state;
    struct made_log made;
    struct crash_plan plan;
    /* Step 1 is acknowledged with its write unflushed: the cut may come after the mark and lose the write. */
    make_log(&made, "swmf");
    assert_true(crash_plan_make(&made.log, 100, 1, &plan));
    assert_true(plan_has(&made.log, &plan, " 0  ", 1, 1));
    crash_plan_release(&plan);
    /* Flushed before the mark: without the write, nothing is acknowledged yet. */
    make_log(&made, "swfmwf");
    assert_true(crash_plan_make(&made.log, 100, 1, &plan));
    assert_true(plan_has(&made.log, &plan, " 0  0 ", 0, 1));
    assert_true(plan_has(&made.log, &plan, " 1  0 ", 1, 1));
    assert_true(plan_has(&made.log, &plan, " 1  1 ", 1, 2));
    crash_plan_release(&plan);
}

static void nothing_may_be_there_that_had_not_begun(void **state)
{
    (void)state;
    struct made_log made;
    struct crash_plan plan;
    /* The first write belongs to step 1; what it left alone cannot be step 2, though step 1 is acknowledged later. */
    make_log(&made, "swmwf");
    assert_true(crash_plan_make(&made.log, 100, 1, &plan));
    assert_true(plan_has(&made.log, &plan, " 1 0 ", 1, 1));
    assert_true(plan_has(&made.log, &plan, " 0 1 ", 1, 2));
    crash_plan_release(&plan);
}

static void tears_leave_whole_sectors_and_never_the_whole_write(void **state)
{
    (void)state;
    struct made_log made;
    struct crash_plan plan;
    make_log(&made, "sWwWfWWf");
    assert_true(crash_plan_make(&made.log, 300, 3, &plan));
    size_t tears = 0;
    for (size_t i = 0; i < plan.count; i++) {
        const struct crash_state *s = &plan.states[i];
        if (s->choice != CRASH_TORN)
            continue;
        tears++;
        assert_int_equal(s->torn_from % CRASH_SECTOR_BYTES, 0);
        assert_int_equal(s->torn_to % CRASH_SECTOR_BYTES, 0);
        assert_true(s->torn_from < s->torn_to && s->torn_to <= 4096);
        assert_true(s->torn_to - s->torn_from < 4096);
    }
    assert_true(tears > 20);
    crash_plan_release(&plan);
}

static void a_write_of_one_sector_is_never_torn(void **state)
{
    (void)state;
    struct made_log made;
    struct crash_plan plan;
    make_log(&made, "swwwfww");
    assert_true(crash_plan_make(&made.log, 1000, 1, &plan));
    for (size_t i = 0; i < plan.count; i++)
        assert_int_not_equal(plan.states[i].choice, CRASH_TORN);
    crash_plan_release(&plan);
}

static void states_before_the_start_are_left_out(void **state)
{
    (void)state;
    struct made_log made;
    struct crash_plan plan;
    make_log(&made, "wwfwwfswf");
    assert_true(crash_plan_make(&made.log, 1000, 1, &plan));
    assert_int_equal(plan.count, 2);
    assert_true(plan_has(&made.log, &plan, "11 11  0 ", 0, 1));
    assert_true(plan_has(&made.log, &plan, "11 11  1 ", 0, 1));
    crash_plan_release(&plan);
}

static void make_long_log(struct made_log *made)
{
    char text[ENTRIES_MAX];
    for (size_t i = 0; i + 1 < sizeof text; i++)
        text[i] = "WwwWzWwm"[i % 8];
    for (size_t i = 40; i + 1 < sizeof text; i += 40)
        text[i] = 'f';
    text[0] = 's';
    text[3000] = '\0';
    make_log(made, text);
}

static void a_plan_never_exceeds_its_bound_and_uses_it(void **state)
{
    (void)state;
    static struct made_log made;
    struct crash_plan plan;
    make_long_log(&made);
    const size_t bounds[] = {1, 2, 10, 333, 5000};
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        assert_true(crash_plan_make(&made.log, bounds[i], 11, &plan));
        assert_true(plan.count >= 1 && plan.count <= bounds[i]);
        assert_true(plan.count * 10 >= bounds[i] * 9); /* repeated choices are dropped */
        assert_false(plan.complete);
        crash_plan_release(&plan);
    }
}

static bool same_plan(const struct crash_plan *a, const struct crash_plan *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct crash_state *x = &a->states[i], *y = &b->states[i];
        if (x->begin != y->begin || x->choice != y->choice || x->torn_from != y->torn_from ||
            x->torn_to != y->torn_to || memcmp(x->keep, y->keep, x->writes / 8 + 1) != 0)
            return false;
    }
    return true;
}

static void the_same_seed_gives_the_same_plan_and_another_seed_another(void **state)
{
    (void)state;
    static struct made_log made;
    struct crash_plan first;
    struct crash_plan again;
    struct crash_plan other;
    make_long_log(&made);
    assert_true(crash_plan_make(&made.log, 400, 5, &first));
    assert_true(crash_plan_make(&made.log, 400, 5, &again));
    assert_true(crash_plan_make(&made.log, 400, 6, &other));
    assert_true(same_plan(&first, &again));
    assert_false(same_plan(&first, &other));
    crash_plan_release(&first);
    crash_plan_release(&again);
    crash_plan_release(&other);
}

static void states_stand_in_the_order_of_their_windows_and_differ(void **state)
{
    (void)state;
    static struct made_log made;
    struct crash_plan plan;
    char text[ENTRIES_MAX + 1];
    char before[ENTRIES_MAX + 1] = "";
    make_long_log(&made);
    assert_true(crash_plan_make(&made.log, 600, 9, &plan));
    for (size_t i = 1; i < plan.count; i++) {
        assert_true(plan.states[i - 1].begin <= plan.states[i].begin);
        state_text(&made.log, &plan.states[i], text);
        if (plan.states[i].choice != CRASH_TORN)
            assert_string_not_equal(text, before);
        memcpy(before, text, sizeof before);
    }
    crash_plan_release(&plan);
}

static void an_empty_log_has_one_state(void **state)
{
    (void)state;
    struct crash_log log = {0};
    struct crash_plan plan;
    assert_true(crash_plan_make(&log, 10, 1, &plan));
    assert_int_equal(plan.count, 1);
    assert_int_equal(plan.states[0].acked, 0);
    crash_plan_release(&plan);
}

static void a_description_names_the_torn_bytes(void **state)
{
    (void)state;
    uint8_t keep[1] = {3};
    struct crash_state torn = {.choice = CRASH_TORN,
                               .begin = 4,
                               .end = 9,
                               .writes = 3,
                               .keep = keep,
                               .torn = 1,
                               .torn_from = 512,
                               .torn_to = 1024};
    char text[160];
    assert_string_equal(crash_state_describe(&torn, text, sizeof text),
                        "entries 4 to 9, choice of 2 of 3 writes, write 1 only bytes 512 to 1024");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_prefix_is_planned_once),
        cmocka_unit_test(unflushed_writes_may_be_there_in_any_combination),
        cmocka_unit_test(a_flushed_write_is_never_missing),
        cmocka_unit_test(an_ignored_flush_is_no_barrier),
        cmocka_unit_test(what_was_acknowledged_before_the_closing_flush_must_be_there),
        cmocka_unit_test(nothing_may_be_there_that_had_not_begun),
        cmocka_unit_test(tears_leave_whole_sectors_and_never_the_whole_write),
        cmocka_unit_test(a_write_of_one_sector_is_never_torn),
        cmocka_unit_test(states_before_the_start_are_left_out),
        cmocka_unit_test(a_plan_never_exceeds_its_bound_and_uses_it),
        cmocka_unit_test(the_same_seed_gives_the_same_plan_and_another_seed_another),
        cmocka_unit_test(states_stand_in_the_order_of_their_windows_and_differ),
        cmocka_unit_test(an_empty_log_has_one_state),
        cmocka_unit_test(a_description_names_the_torn_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
