/* SPDX-License-Identifier: Apache-2.0 */
/* The planner of crash states: windows, every prefix, subsets and tears. */
#include "stress/powercut/crash_states.h"

#include "stress/harness/stress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENUMERATED_WRITES 16u /* windows of more writes are never enumerated */

struct window {
    size_t begin, end, writes, tearable;
    uint64_t acked_begin, acked_end; /* marks before the first entry, and before the closing flush */
};

struct planner {
    const struct crash_log *log;
    struct window *windows;
    size_t window_count;
    struct crash_plan plan;
    size_t cap;
    struct stress_rng rng;
};

static bool is_write(const struct crash_entry *entry)
{
    return entry->kind == CRASH_WRITE || entry->kind == CRASH_ZERO;
}

static bool is_tearable(const struct crash_entry *entry)
{
    return is_write(entry) && entry->len > CRASH_SECTOR_BYTES;
}

static bool keep_get(const uint8_t *keep, size_t at)
{
    return keep[at / 8] >> (at % 8) & 1;
}

static void keep_put(uint8_t *keep, size_t at, bool value)
{
    if (value)
        keep[at / 8] |= (uint8_t)(1u << (at % 8));
    else
        keep[at / 8] &= (uint8_t) ~(1u << (at % 8));
}

/* ---- windows ---- */

static struct window window_scan(const struct crash_log *log, size_t begin, uint64_t acked)
{
    struct window window = {.begin = begin, .acked_begin = acked, .acked_end = acked};
    size_t at = begin;
    for (; at < log->count && log->entries[at].kind != CRASH_FLUSH; at++) {
        window.writes += is_write(&log->entries[at]);
        window.tearable += is_tearable(&log->entries[at]);
        if (log->entries[at].kind == CRASH_MARK)
            window.acked_end = log->entries[at].mark;
    }
    window.end = at;
    return window;
}

/* Windows without writes give the image of the next one, which is judged more strictly; only the last one counts. */
static bool find_windows(struct planner *planner)
{
    const struct crash_log *log = planner->log;
    planner->windows = calloc(log->count + 1, sizeof *planner->windows);
    if (!planner->windows)
        return false;
    uint64_t acked = 0;
    for (size_t begin = 0; begin <= log->count;) {
        struct window window = window_scan(log, begin, acked);
        bool last = window.end >= log->count;
        if (window.end >= log->start && (window.writes || last))
            planner->windows[planner->window_count++] = window;
        acked = window.acked_end;
        begin = window.end + 1;
    }
    return true;
}

/* ---- adding states ---- */

/* The steps that may have begun when the last kept write was issued: those acknowledged by then, and one more. */
static uint64_t upper_bound(const struct crash_log *log, const struct window *window, const uint8_t *keep)
{
    uint64_t acked = window->acked_begin, upper = acked;
    size_t number = 0;
    for (size_t at = window->begin; at < window->end; at++) {
        if (log->entries[at].kind == CRASH_MARK)
            acked = log->entries[at].mark;
        else if (is_write(&log->entries[at]) && keep_get(keep, number++))
            upper = acked;
    }
    return upper + 1;
}

static struct crash_state *add_state(struct planner *planner, const struct window *window, enum crash_choice choice)
{
    if (planner->plan.count == planner->cap) {
        size_t cap = planner->cap ? planner->cap * 2 : 256;
        struct crash_state *states = realloc(planner->plan.states, cap * sizeof *states);
        if (!states)
            return NULL;
        planner->plan.states = states;
        planner->cap = cap;
    }
    uint8_t *keep = calloc(window->writes / 8 + 1, 1);
    if (!keep)
        return NULL;
    struct crash_state *state = &planner->plan.states[planner->plan.count++];
    *state = (struct crash_state){.choice = choice,
                                  .begin = window->begin,
                                  .end = window->end,
                                  .writes = window->writes,
                                  .keep = keep,
                                  .acked = window->acked_end};
    return state;
}

static bool add_prefix(struct planner *planner, const struct window *window, size_t writes)
{
    struct crash_state *state = add_state(planner, window, CRASH_PREFIX);
    if (!state)
        return false;
    for (size_t i = 0; i < writes; i++)
        keep_put(state->keep, i, true);
    return true;
}

static size_t prefixes_of(const struct planner *planner, size_t at)
{
    /* The whole of a window is the empty prefix of the next. */
    return planner->windows[at].writes + (at + 1 == planner->window_count);
}

/* Adds wanted of the total prefixes, a seeded choice without repetition (selection sampling, Knuth's algorithm S). */
static bool add_prefixes(struct planner *planner, size_t total, size_t wanted)
{
    for (size_t w = 0; w < planner->window_count; w++)
        for (size_t m = 0; m < prefixes_of(planner, w); m++, total--) {
            if (wanted == 0 || stress_rng_next(&planner->rng) % total >= wanted)
                continue;
            if (!add_prefix(planner, &planner->windows[w], m))
                return false;
            wanted--;
        }
    return true;
}

/* Bits that are a run of ones from bit 0 are a prefix, not a subset of interest. */
static bool mask_is_prefix(uint32_t mask)
{
    return (mask & (mask + 1)) == 0;
}

static bool add_all_subsets(struct planner *planner)
{
    for (size_t w = 0; w < planner->window_count; w++) {
        const struct window *window = &planner->windows[w];
        for (uint32_t mask = 0; mask < (uint32_t)1 << window->writes; mask++) {
            if (mask_is_prefix(mask))
                continue;
            struct crash_state *state = add_state(planner, window, CRASH_SUBSET);
            if (!state)
                return false;
            for (size_t i = 0; i < window->writes; i++)
                keep_put(state->keep, i, mask >> i & 1);
        }
    }
    return true;
}

static bool keep_is_prefix(const uint8_t *keep, size_t writes)
{
    bool gap = false;
    for (size_t i = 0; i < writes; i++) {
        if (keep_get(keep, i) && gap)
            return false;
        gap |= !keep_get(keep, i);
    }
    return true;
}

/* All but one, one alone, or each by the toss of a coin. */
static void choose_subset(struct planner *planner, size_t writes, uint8_t *keep)
{
    unsigned way = (unsigned)(stress_rng_next(&planner->rng) % 3);
    size_t one = stress_rng_next(&planner->rng) % writes;
    for (size_t i = 0; i < writes; i++)
        keep_put(keep, i, way == 0 ? i != one : way == 1 ? i == one : stress_rng_next(&planner->rng) & 1);
}

/* Picks windows by their number of eligible writes, so that every write has about the same chance. */
static const struct window *pick_window(struct planner *planner, bool for_tear)
{
    size_t total = 0;
    for (size_t w = 0; w < planner->window_count; w++)
        total += for_tear                          ? planner->windows[w].tearable
                 : planner->windows[w].writes >= 2 ? planner->windows[w].writes
                                                   : 0;
    if (!total)
        return NULL;
    size_t pick = stress_rng_next(&planner->rng) % total;
    for (size_t w = 0; w < planner->window_count; w++) {
        const struct window *window = &planner->windows[w];
        size_t weight = for_tear ? window->tearable : window->writes >= 2 ? window->writes : 0;
        if (pick < weight)
            return window;
        pick -= weight;
    }
    return NULL;
}

static bool add_some_subsets(struct planner *planner, size_t wanted)
{
    for (size_t i = 0; i < wanted; i++) {
        const struct window *window = pick_window(planner, false);
        if (!window)
            return true;
        struct crash_state *state = add_state(planner, window, CRASH_SUBSET);
        if (!state)
            return false;
        do
            choose_subset(planner, window->writes, state->keep);
        while (keep_is_prefix(state->keep, window->writes));
    }
    return true;
}

/* Which write to tear: the number among the window's writes of its pick-th tearable one. */
static size_t tearable_number(const struct crash_log *log, const struct window *window, size_t pick, uint64_t *ret_len)
{
    size_t number = 0;
    for (size_t at = window->begin; at < window->end; at++) {
        if (is_tearable(&log->entries[at]) && pick-- == 0) {
            *ret_len = log->entries[at].len;
            break;
        }
        number += is_write(&log->entries[at]);
    }
    return number;
}

static bool add_tears(struct planner *planner, size_t wanted)
{
    for (size_t i = 0; i < wanted; i++) {
        const struct window *window = pick_window(planner, true);
        if (!window)
            return true;
        struct crash_state *state = add_state(planner, window, CRASH_TORN);
        if (!state)
            return false;
        uint64_t len = 0;
        state->torn = tearable_number(planner->log, window, stress_rng_next(&planner->rng) % window->tearable, &len);
        if (stress_rng_next(&planner->rng) & 1)
            choose_subset(planner, window->writes, state->keep);
        else
            for (size_t n = 0; n < state->torn; n++)
                keep_put(state->keep, n, true);
        keep_put(state->keep, state->torn, true);
        uint64_t sectors = (len + CRASH_SECTOR_BYTES - 1) / CRASH_SECTOR_BYTES;
        uint64_t count = 1 + stress_rng_next(&planner->rng) % (sectors - 1);
        uint64_t from = stress_rng_next(&planner->rng) & 1 ? 0 : stress_rng_next(&planner->rng) % (sectors - count + 1);
        state->torn_from = from * CRASH_SECTOR_BYTES;
        state->torn_to = (from + count) * CRASH_SECTOR_BYTES;
        if (state->torn_to > len)
            state->torn_to = len;
    }
    return true;
}

/* ---- the plan ---- */

static int compare_states(const void *a, const void *b)
{
    const struct crash_state *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->choice != y->choice)
        return x->choice < y->choice ? -1 : 1;
    int order = memcmp(x->keep, y->keep, x->writes / 8 + 1);
    if (order)
        return order;
    if (x->torn != y->torn)
        return x->torn < y->torn ? -1 : 1;
    if (x->torn_from != y->torn_from)
        return x->torn_from < y->torn_from ? -1 : 1;
    return (x->torn_to > y->torn_to) - (x->torn_to < y->torn_to);
}

static void sort_and_dedupe(struct crash_plan *plan)
{
    if (plan->count)
        qsort(plan->states, plan->count, sizeof *plan->states, compare_states);
    size_t kept = 0;
    for (size_t i = 0; i < plan->count; i++) {
        if (kept && compare_states(&plan->states[kept - 1], &plan->states[i]) == 0)
            free(plan->states[i].keep);
        else
            plan->states[kept++] = plan->states[i];
    }
    plan->count = kept;
}

/* Subsets that are no prefixes, of all windows; SIZE_MAX if there are too many to enumerate. */
static size_t count_subsets(const struct planner *planner)
{
    size_t total = 0;
    for (size_t w = 0; w < planner->window_count; w++) {
        size_t writes = planner->windows[w].writes;
        if (writes > ENUMERATED_WRITES)
            return SIZE_MAX;
        total += ((size_t)1 << writes) - (writes + 1);
    }
    return total;
}

static bool fill_plan(struct planner *planner, size_t max_states)
{
    size_t prefixes = 0, subsets = count_subsets(planner), tearable = 0;
    for (size_t w = 0; w < planner->window_count; w++) {
        prefixes += prefixes_of(planner, w);
        tearable += planner->windows[w].tearable;
    }
    bool fits = subsets <= max_states && prefixes <= max_states - subsets;
    size_t wanted = prefixes;
    if (!fits && prefixes > max_states / 2)
        wanted = max_states / 2 ? max_states / 2 : 1;
    if (!add_prefixes(planner, prefixes, wanted))
        return false;
    size_t lab = max_states - wanted, tears = tearable ? lab / 3 : 0;
    planner->plan.complete = wanted == prefixes && subsets <= lab - tears;
    if (planner->plan.complete && tearable)
        tears = lab - subsets;
    bool done = planner->plan.complete ? add_all_subsets(planner) : add_some_subsets(planner, lab - tears);
    return done && add_tears(planner, tears);
}

bool crash_plan_make(const struct crash_log *log, size_t max_states, uint64_t seed, struct crash_plan *ret_plan)
{
    struct planner planner = {.log = log};
    stress_rng_init(&planner.rng, seed, 0);
    bool done = find_windows(&planner) && fill_plan(&planner, max_states ? max_states : 1);
    planner.plan.windows = planner.window_count;
    if (done) {
        sort_and_dedupe(&planner.plan);
        for (size_t i = 0, w = 0; i < planner.plan.count; i++) {
            struct crash_state *state = &planner.plan.states[i];
            while (planner.windows[w].begin != state->begin)
                w++;
            state->upper = upper_bound(log, &planner.windows[w], state->keep);
        }
        *ret_plan = planner.plan;
    } else {
        crash_plan_release(&planner.plan);
    }
    free(planner.windows);
    return done;
}

void crash_plan_release(struct crash_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        free(plan->states[i].keep);
    free(plan->states);
    *plan = (struct crash_plan){0};
}

bool crash_state_next(const struct crash_log *log, const struct crash_state *state, size_t *at,
                      struct crash_piece *ret_piece)
{
    size_t number = 0, seen = 0;
    for (size_t i = state->begin; i < state->end; i++) {
        if (!is_write(&log->entries[i]))
            continue;
        bool kept = keep_get(state->keep, number);
        bool torn = state->choice == CRASH_TORN && number == state->torn;
        number++;
        if (!kept || seen++ < *at)
            continue;
        ++*at;
        *ret_piece = (struct crash_piece){.entry = &log->entries[i],
                                          .from = torn ? state->torn_from : 0,
                                          .len = torn ? state->torn_to - state->torn_from : log->entries[i].len};
        return true;
    }
    return false;
}

const char *crash_state_describe(const struct crash_state *state, char *text, size_t size)
{
    size_t kept = 0;
    for (size_t i = 0; i < state->writes; i++)
        kept += keep_get(state->keep, i);
    int len = snprintf(text, size, "entries %zu to %zu, %s of %zu of %zu writes", state->begin, state->end,
                       state->choice == CRASH_PREFIX ? "prefix" : "choice", kept, state->writes);
    if (state->choice == CRASH_TORN && len > 0 && (size_t)len < size)
        (void)snprintf(text + len, size - (size_t)len, ", write %zu only bytes %llu to %llu", state->torn,
                       (unsigned long long)state->torn_from, (unsigned long long)state->torn_to);
    return text;
}
