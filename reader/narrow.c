/* SPDX-License-Identifier: Apache-2.0 */
/* The meet of two policies, field by field. */
#include "reader/narrow.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <string.h>

void policy_list_reduce(struct qs_list *paths)
{
    size_t kept = 0;
    for (size_t i = 0; i < paths->count; i++) {
        bool inside = false;
        /* What contains a path is a prefix of it, and so comes before it; and what was taken out lies in one kept. */
        for (size_t j = 0; j < kept && !inside; j++)
            inside = policy_path_within(paths->items[i], paths->items[j]);
        if (inside)
            free(paths->items[i]);
        else
            paths->items[kept++] = paths->items[i];
    }
    paths->count = kept;
}

static enum qs_status list_append(struct qs_list *list, const struct qs_list *from, struct qs_error *err)
{
    for (size_t i = 0; i < from->count; i++) {
        enum qs_status status = policy_list_add(list, from->items[i], strlen(from->items[i]), err);
        if (status)
            return status;
    }
    return QS_OK;
}

/* Adds those of a that lie inside one of b. */
static enum qs_status append_contained(struct qs_list *list, const struct qs_list *a, const struct qs_list *b,
                                       struct qs_error *err)
{
    for (size_t i = 0; i < a->count; i++) {
        bool inside = false;
        for (size_t j = 0; j < b->count && !inside; j++)
            inside = policy_path_within(a->items[i], b->items[j]);
        enum qs_status status = inside ? policy_list_add(list, a->items[i], strlen(a->items[i]), err) : QS_OK;
        if (status)
            return status;
    }
    return QS_OK;
}

static enum qs_status meet_contained(const struct qs_list *a, const struct qs_list *b, struct qs_list *into,
                                     struct qs_error *err)
{
    enum qs_status status = append_contained(into, a, b, err);
    if (a == b)
        return status; /* sorted and reduced as it is */
    if (!status)
        status = append_contained(into, b, a, err);
    policy_list_sort(into);
    policy_list_reduce(into);
    return status;
}

static enum qs_status meet_united(const struct qs_list *a, const struct qs_list *b, struct qs_list *into,
                                  struct qs_error *err)
{
    enum qs_status status = list_append(into, a, err);
    if (a == b)
        return status;
    if (!status)
        status = list_append(into, b, err);
    policy_list_sort(into);
    return status;
}

static enum qs_status append_pass(struct qs_policy *into, const struct qs_policy *from, struct qs_error *err)
{
    for (size_t i = 0; i < from->env_pass_count; i++) {
        struct qs_list *lists = reallocarray(into->env_pass, into->env_pass_count + 1, sizeof *lists);
        if (!lists)
            return error_memory(err);
        into->env_pass = lists;
        lists[into->env_pass_count++] = (struct qs_list){0};
        enum qs_status status = list_append(&lists[into->env_pass_count - 1], &from->env_pass[i], err);
        if (status)
            return status;
    }
    return QS_OK;
}

static enum qs_status meet_pass(const struct qs_policy *a, const struct qs_policy *b, struct qs_policy *into,
                                struct qs_error *err)
{
    enum qs_status status = append_pass(into, a, err);
    if (!status && a != b)
        status = append_pass(into, b, err);
    policy_pass_sort(into);
    return status;
}

static const char *pair_value(const struct qs_policy *policy, const char *name)
{
    for (size_t i = 0; i < policy->env_set_count; i++) {
        if (strcmp(policy->env_set[i].name, name) == 0)
            return policy->env_set[i].value;
    }
    return NULL;
}

/* Pairs of a that b has too; both are sorted, so the result is. */
static enum qs_status meet_pairs(const struct qs_policy *a, const struct qs_policy *b, struct qs_policy *into,
                                 struct qs_error *err)
{
    for (size_t i = 0; i < a->env_set_count; i++) {
        const char *other = pair_value(b, a->env_set[i].name);
        if (!other || strcmp(other, a->env_set[i].value) != 0)
            continue;
        struct qs_pair *pairs = reallocarray(into->env_set, into->env_set_count + 1, sizeof *pairs);
        if (!pairs)
            return error_memory(err);
        into->env_set = pairs;
        pairs[into->env_set_count] = (struct qs_pair){.name = strdup(a->env_set[i].name), .value = strdup(other)};
        into->env_set_count++; /* counted even where a copy failed, so that the other is released */
        if (!pairs[into->env_set_count - 1].name || !pairs[into->env_set_count - 1].value)
            return error_memory(err);
    }
    return QS_OK;
}

static void meet_limit(uint64_t a, uint64_t b, uint64_t *into)
{
    *into = !a ? b : !b ? a : a < b ? a : b;
}

static enum qs_status meet_field(const struct qs_policy *a, const struct qs_policy *b, unsigned field,
                                 struct qs_policy *into, struct qs_error *err)
{
    const void *x = policy_slot(a, field), *y = policy_slot(b, field);
    void *slot = policy_slot_mut(into, field);
    switch (policy_fields[field].kind) {
    case POLICY_ENUM: {
        unsigned p = *(const unsigned *)x;
        unsigned q = *(const unsigned *)y;
        *(unsigned *)slot = p < q ? p : q;
        return QS_OK;
    }
    case POLICY_CONTAINED:
        return meet_contained(x, y, slot, err);
    case POLICY_UNITED:
        return meet_united(x, y, slot, err);
    case POLICY_PASS:
        return meet_pass(a, b, into, err);
    case POLICY_PAIRS:
        return meet_pairs(a, b, into, err);
    case POLICY_LIMIT:
        meet_limit(*(const uint64_t *)x, *(const uint64_t *)y, slot);
        return QS_OK;
    }
    return QS_OK;
}

enum qs_status policy_part_meet(const struct policy_part *a, const struct policy_part *b, struct policy_part *ret_part,
                                struct qs_error *err)
{
    AUTO(policy_part_release) struct policy_part part = {.set = a->set | b->set};
    for (unsigned i = 0; i < POLICY_FIELD_COUNT; i++) {
        /* Where one is top the other is met with itself, which copies it. */
        const struct policy_part *x = a->set & 1u << i ? a : b;
        const struct policy_part *y = b->set & 1u << i ? b : a;
        if (!(part.set & 1u << i))
            continue;
        enum qs_status status = meet_field(&x->policy, &y->policy, i, &part.policy, err);
        if (status)
            return status;
    }
    *ret_part = part;
    part = (struct policy_part){0};
    return QS_OK;
}

static size_t field_bytes(enum policy_kind kind)
{
    switch (kind) {
    case POLICY_ENUM:
        return sizeof(unsigned);
    case POLICY_CONTAINED:
    case POLICY_UNITED:
        return sizeof(struct qs_list);
    case POLICY_PASS: /* the pointer, and the count behind it */
        return offsetof(struct qs_policy, env_pass_count) + sizeof(size_t) - offsetof(struct qs_policy, env_pass);
    case POLICY_PAIRS:
        return offsetof(struct qs_policy, env_set_count) + sizeof(size_t) - offsetof(struct qs_policy, env_set);
    case POLICY_LIMIT:
        return sizeof(uint64_t);
    }
    return 0;
}

static void swap_field(struct qs_policy *a, struct qs_policy *b, unsigned field)
{
    unsigned char kept[sizeof(struct qs_list) + sizeof(void *)];
    size_t len = field_bytes(policy_fields[field].kind);
    memcpy(kept, policy_slot(a, field), len);
    memcpy(policy_slot_mut(a, field), policy_slot(b, field), len);
    memcpy(policy_slot_mut(b, field), kept, len);
}

enum qs_status policy_part_narrow(struct policy_part *part, const struct policy_part *by, struct qs_error *err)
{
    AUTO(policy_part_release) struct policy_part met = {0};
    struct policy_part view = *part; /* borrows what is owned by part */
    view.set &= by->set;
    enum qs_status status = policy_part_meet(&view, by, &met, err);
    if (status)
        return status;
    /* Checked by another definition than the meet's: a fault in the one or the other must not open a sandbox. */
    const char *wider = policy_wider(&met, &view);
    wider = wider ? wider : policy_wider(&met, by);
    if (wider)
        return error_set(err, QS_INVALID, "narrowing %s would have widened it", wider);
    for (unsigned i = 0; i < POLICY_FIELD_COUNT; i++) {
        if (met.set & 1u << i)
            swap_field(&part->policy, &met.policy, i);
    }
    part->set |= met.set;
    return QS_OK;
}
