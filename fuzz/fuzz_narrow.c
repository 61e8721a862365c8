/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Narrowing. The input makes three policies (tests/support/policy/policy_gen.h). Invariants: the meet is commutative,
 * associative, idempotent, wider than neither; narrowing in place is the meet; what an environment name and a path may
 * is what both allow.
 */
#include "fuzz/fuzz.h"
#include "tests/support/policy/policy_gen.h"

static void meet(const struct policy_part *a, const struct policy_part *b, struct policy_part *ret_part)
{
    MUST(policy_part_meet(a, b, ret_part, NULL) == QS_OK);
}

static void check_laws(const struct policy_part *a, const struct policy_part *b, const struct policy_part *c)
{
    struct policy_part ab = {0}, ba = {0}, bc = {0}, ab_c = {0}, a_bc = {0}, aa = {0}, in_place = {0}, top = {0};
    meet(a, b, &ab);
    meet(b, a, &ba);
    meet(b, c, &bc);
    meet(&ab, c, &ab_c);
    meet(a, &bc, &a_bc);
    meet(a, a, &aa);
    MUST(policy_gen_equal(&ab, &ba) && policy_gen_equal(&ab_c, &a_bc) && policy_gen_equal(&aa, a));
    MUST(!policy_wider(&ab, a) && !policy_wider(&ab, b) && !policy_wider(&ab_c, c));
    meet(a, &top, &in_place);
    MUST(policy_gen_equal(&in_place, a));
    MUST(policy_part_narrow(&in_place, b, NULL) == QS_OK && policy_gen_equal(&in_place, &ab));
    for (size_t n = 0; n < POLICY_GEN_NAMES; n++) {
        const char *name = policy_gen_names[n];
        if ((a->set & b->set) == POLICY_ALL)
            MUST(policy_env_passes(&ab.policy, name) ==
                 (policy_env_passes(&a->policy, name) && policy_env_passes(&b->policy, name)));
    }
    struct policy_part *all[] = {&ab, &ba, &bc, &ab_c, &a_bc, &aa, &in_place};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        policy_part_release(all[i]);
}

/* The document of a whole policy reads back; fields are found by their names. */
static void check_document(const struct policy_part *part)
{
    struct policy_part again = {0};
    json_t *document = NULL;
    MUST(policy_part_to_json(part, &document, NULL) == QS_OK);
    MUST(policy_part_from_json(document, &again, NULL) == QS_OK && policy_gen_equal(part, &again));
    for (unsigned i = 0; i < POLICY_FIELD_COUNT; i++)
        MUST(policy_field_of(policy_fields[i].group, policy_fields[i].name) == (int)i);
    MUST(policy_field_of("limits", "none") == -1);
    policy_part_release(&again);
    json_decref(document);
}

/* Whatever the bytes: a normalised path is its own normal form, and within itself and the root. */
static void check_path(const uint8_t *data, size_t size)
{
    char path[64], again[64];
    size = size < sizeof path - 1 ? size : sizeof path - 1;
    memcpy(path, data, size);
    path[size] = '\0';
    policy_normalise_path(path);
    memcpy(again, path, sizeof again);
    policy_normalise_path(again);
    MUST(strcmp(path, again) == 0);
    MUST(policy_path_within(path, path));
    MUST(policy_path_within(path, "/") == (path[0] == '/'));
    MUST(policy_glob_match("*", path, true));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct policy_bytes bytes = {.data = data, .len = size};
    struct policy_part parts[3] = {{{0}, 0}, {{0}, 0}, {{0}, 0}};
    bool whole = policy_gen_next(&bytes) % 2;
    for (size_t i = 0; i < 3; i++)
        policy_gen(&bytes, whole, &parts[i]);
    check_laws(&parts[0], &parts[1], &parts[2]);
    if (whole)
        check_document(&parts[0]);
    check_path(data, size);
    for (size_t i = 0; i < 3; i++)
        policy_part_release(&parts[i]);
    return 0;
}
