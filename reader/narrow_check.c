/* SPDX-License-Identifier: Apache-2.0 */
/* Is one policy wider than another? By what each field allows, and without the meet, which is tested against this. */
#include "reader/narrow.h"

#include <string.h>

static bool contains_all(const struct qs_list *outer, const struct qs_list *inner)
{
    for (size_t i = 0; i < inner->count; i++) {
        size_t j = 0;
        while (j < outer->count && !policy_path_within(inner->items[i], outer->items[j]))
            j++;
        if (j == outer->count)
            return false;
    }
    return true;
}

static bool has_all(const struct qs_list *list, const struct qs_list *needed)
{
    for (size_t i = 0; i < needed->count; i++) {
        if (!policy_list_has(list, needed->items[i]))
            return false;
    }
    return true;
}

/* Each list that b asks for, a must ask for too. */
static bool passes_no_more(const struct qs_policy *a, const struct qs_policy *b)
{
    for (size_t i = 0; i < b->env_pass_count; i++) {
        size_t j = 0;
        while (j < a->env_pass_count && policy_list_compare(&a->env_pass[j], &b->env_pass[i]) != 0)
            j++;
        if (j == a->env_pass_count)
            return false;
    }
    return true;
}

static bool sets_no_more(const struct qs_policy *a, const struct qs_policy *b)
{
    for (size_t i = 0; i < a->env_set_count; i++) {
        size_t j = 0;
        while (j < b->env_set_count && (strcmp(a->env_set[i].name, b->env_set[j].name) != 0 ||
                                        strcmp(a->env_set[i].value, b->env_set[j].value) != 0))
            j++;
        if (j == b->env_set_count)
            return false;
    }
    return true;
}

static bool limited(uint64_t a, uint64_t b)
{
    return b == 0 || (a != 0 && a <= b);
}

/* Does field of a allow no more than b's? */
static bool no_wider(const struct qs_policy *a, const struct qs_policy *b, unsigned field)
{
    const void *x = policy_slot(a, field), *y = policy_slot(b, field);
    switch (policy_fields[field].kind) {
    case POLICY_ENUM:
        return *(const unsigned *)x <= *(const unsigned *)y;
    case POLICY_CONTAINED:
        return contains_all(y, x);
    case POLICY_UNITED:
        return has_all(x, y);
    case POLICY_PASS:
        return passes_no_more(a, b);
    case POLICY_PAIRS:
        return sets_no_more(a, b);
    case POLICY_LIMIT:
        return limited(*(const uint64_t *)x, *(const uint64_t *)y);
    }
    return false;
}

/* An unset field allows everything; so do an empty list that takes away and a limit of 0. */
static bool allows_all(const struct qs_policy *policy, unsigned field)
{
    const void *slot = policy_slot(policy, field);
    if (policy_fields[field].kind == POLICY_UNITED)
        return ((const struct qs_list *)slot)->count == 0;
    return policy_fields[field].kind == POLICY_LIMIT && *(const uint64_t *)slot == 0;
}

const char *policy_wider(const struct policy_part *a, const struct policy_part *b)
{
    for (unsigned i = 0; i < POLICY_FIELD_COUNT; i++) {
        bool in_a = a->set & 1u << i;
        bool in_b = b->set & 1u << i;
        if (!in_b || allows_all(&b->policy, i))
            continue;
        if (!in_a || !no_wider(&a->policy, &b->policy, i))
            return policy_fields[i].path;
    }
    return NULL;
}
