/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies out of a stream of bytes, for the property tests (a seeded generator) and the fuzz target (its input). The
 * pools are small and full of near relatives, so that fields of two policies often overlap.
 */
#ifndef TESTS_SUPPORT_POLICY_GEN_H
#define TESTS_SUPPORT_POLICY_GEN_H

#include "reader/narrow.h"

#include <stdlib.h>
#include <string.h>

struct policy_bytes {
    const uint8_t *data;
    size_t len, at;
};

static inline unsigned policy_gen_next(struct policy_bytes *bytes)
{
    return bytes->at < bytes->len ? bytes->data[bytes->at++] : 0;
}

static const char *const policy_gen_paths[] = {"/",    "/a", "/a/b", "/a/b/c", "/ab",  "/a-b",
                                               "/b/c", "~",  "~/x",  "~/x/y",  "~/xy", "/a b"};
static const char *const policy_gen_names[] = {"*", "A*", "AB", "?B", "LC_*", "PATH", "*_KEY", "TOKEN"};

static const char *const policy_gen_relative[] = {"a", "a/b", "ab", ".git/hooks"};

#define POLICY_GEN_PATHS (sizeof policy_gen_paths / sizeof policy_gen_paths[0])
#define POLICY_GEN_NAMES (sizeof policy_gen_names / sizeof policy_gen_names[0])

static inline void policy_gen_list(struct policy_bytes *bytes, const char *const *pool, size_t pool_count,
                                   struct qs_list *list)
{
    for (unsigned count = policy_gen_next(bytes) % 4; count; count--) {
        const char *item = pool[policy_gen_next(bytes) % pool_count];
        if (policy_list_add(list, item, strlen(item), NULL))
            abort();
    }
    policy_list_sort(list);
}

static inline void policy_gen_pairs(struct policy_bytes *bytes, struct qs_policy *policy)
{
    static const char *const names[] = {"A", "B", "C"};
    static const char *const values[] = {"", "1", "2"};
    unsigned bits = policy_gen_next(bytes);
    policy->env_set = calloc(3, sizeof *policy->env_set);
    for (unsigned i = 0; i < 3; i++) {
        if (!(bits & 1u << i))
            continue;
        struct qs_pair *pair = &policy->env_set[policy->env_set_count++];
        pair->name = strdup(names[i]);
        pair->value = strdup(values[policy_gen_next(bytes) % 3]);
    }
}

static inline void policy_gen_pass(struct policy_bytes *bytes, struct qs_policy *policy)
{
    size_t count = 1 + policy_gen_next(bytes) % 3;
    policy->env_pass = calloc(count, sizeof *policy->env_pass);
    policy->env_pass_count = count;
    for (size_t i = 0; i < count; i++)
        policy_gen_list(bytes, policy_gen_names, POLICY_GEN_NAMES, &policy->env_pass[i]);
    policy_pass_sort(policy);
}

static inline unsigned policy_gen_words(unsigned field)
{
    unsigned count = 1;
    for (const char *c = policy_fields[field].words; *c; c++)
        count += *c == '|';
    return count;
}

static inline void policy_gen_field(struct policy_bytes *bytes, unsigned field, struct policy_part *part)
{
    struct qs_policy *policy = &part->policy;
    void *slot = policy_slot_mut(policy, field);
    switch (policy_fields[field].kind) {
    case POLICY_ENUM:
        *(unsigned *)slot = policy_gen_next(bytes) % policy_gen_words(field);
        break;
    case POLICY_CONTAINED:
        policy_gen_list(bytes, policy_gen_paths, POLICY_GEN_PATHS, slot);
        policy_list_reduce(slot);
        break;
    case POLICY_UNITED:
        if (slot == (void *)&policy->env_secrets)
            policy_gen_list(bytes, policy_gen_names, POLICY_GEN_NAMES, slot);
        else if (slot == (void *)&policy->protected_paths)
            policy_gen_list(bytes, policy_gen_relative, 4, slot);
        else
            policy_gen_list(bytes, policy_gen_paths, POLICY_GEN_PATHS, slot);
        break;
    case POLICY_PASS:
        policy_gen_pass(bytes, policy);
        break;
    case POLICY_PAIRS:
        policy_gen_pairs(bytes, policy);
        break;
    case POLICY_LIMIT:
        *(uint64_t *)slot = policy_gen_next(bytes) % 4;
        break;
    }
    part->set |= 1u << field;
}

/* A part; with whole every field is set. */
static inline void policy_gen(struct policy_bytes *bytes, bool whole, struct policy_part *ret_part)
{
    struct policy_part part = {0};
    for (unsigned i = 0; i < POLICY_FIELD_COUNT; i++) {
        if (whole || policy_gen_next(bytes) % 4)
            policy_gen_field(bytes, i, &part);
    }
    *ret_part = part;
}

/* Equal in every field, representation included. */
static inline bool policy_gen_equal(const struct policy_part *a, const struct policy_part *b)
{
    json_t *x = NULL, *y = NULL;
    if (policy_part_to_json(a, &x, NULL) || policy_part_to_json(b, &y, NULL))
        abort();
    bool equal = a->set == b->set && value_equal(x, y);
    json_decref(x);
    json_decref(y);
    return equal;
}

#endif
