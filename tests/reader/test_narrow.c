/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Narrowing: the laws of the meet over generated policies, that the result is never wider than either (by an order that
 * is defined without the meet, and by what concrete paths and names a policy allows), and the cases of the design.
 */
#include "tests/support/policy/policy_gen.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define SEED   20260731u
#define ROUNDS 4000

struct random {
    uint64_t state;
};

/* xorshift64* (Vigna 2016). */
static uint8_t random_byte(struct random *random)
{
    random->state ^= random->state >> 12;
    random->state ^= random->state << 25;
    random->state ^= random->state >> 27;
    return (uint8_t)((random->state * 0x2545F4914F6CDD1DULL) >> 56);
}

static void generate(struct random *random, bool whole, struct policy_part *ret_part)
{
    uint8_t data[256];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = random_byte(random);
    struct policy_bytes bytes = {.data = data, .len = sizeof data};
    policy_gen(&bytes, whole, ret_part);
}

static void meet(const struct policy_part *a, const struct policy_part *b, struct policy_part *ret_part)
{
    assert_int_equal(policy_part_meet(a, b, ret_part, NULL), QS_OK);
}

static void show(const char *name, const struct policy_part *part)
{
    AUTO(value_release) json_t *document = NULL;
    AUTO(buf_release) struct buf text = {0};
    if (!policy_part_to_json(part, &document, NULL) && !value_encode(document, &text, NULL))
        print_message("# %s: %s\n", name, text.data);
}

static void assert_same(const struct policy_part *a, const struct policy_part *b)
{
    if (policy_gen_equal(a, b))
        return;
    show("one", a);
    show("other", b);
    fail();
}

static void the_meet_is_commutative_associative_and_idempotent(void **state)
{
    (void)state;
    struct random random = {SEED};
    print_message("# seed %u\n", SEED);
    for (int i = 0; i < ROUNDS; i++) {
        AUTO(policy_part_release) struct policy_part a = {0}, b = {0}, c = {0}, ab = {0}, ba = {0}, bc = {0};
        AUTO(policy_part_release) struct policy_part ab_c = {0}, a_bc = {0}, aa = {0};
        generate(&random, i % 2, &a);
        generate(&random, i % 3 == 0, &b);
        generate(&random, i % 5 == 0, &c);
        meet(&a, &b, &ab);
        meet(&b, &a, &ba);
        assert_same(&ab, &ba);
        meet(&b, &c, &bc);
        meet(&ab, &c, &ab_c);
        meet(&a, &bc, &a_bc);
        assert_same(&ab_c, &a_bc);
        meet(&a, &a, &aa);
        assert_same(&a, &aa);
    }
}

static void the_meet_is_never_wider_than_either_and_top_changes_nothing(void **state)
{
    (void)state;
    struct random random = {SEED + 1};
    struct policy_part top = {0};
    print_message("# seed %u\n", SEED + 1);
    for (int i = 0; i < ROUNDS; i++) {
        AUTO(policy_part_release) struct policy_part a = {0}, b = {0}, ab = {0}, with_top = {0};
        generate(&random, i % 2, &a);
        generate(&random, i % 3 == 0, &b);
        meet(&a, &b, &ab);
        assert_null(policy_wider(&ab, &a));
        assert_null(policy_wider(&ab, &b));
        meet(&a, &top, &with_top);
        assert_same(&a, &with_top);
        /* The order and the meet agree: what is narrower already is its own meet, where all fields are set. */
        if (a.set == POLICY_ALL && b.set == POLICY_ALL && !policy_wider(&a, &b)) {
            assert_null(policy_wider(&a, &ab));
        }
    }
}

static bool list_allows(const struct qs_list *roots, const char *path)
{
    for (size_t i = 0; i < roots->count; i++) {
        if (policy_path_within(path, roots->items[i]))
            return true;
    }
    return false;
}

/* By what a policy does with single paths and names: the meet allows exactly what both allow. */
static void the_meet_allows_what_both_allow_and_no_more(void **state)
{
    (void)state;
    static const char *const names[] = {"A", "AB", "ABC", "XB", "LC_ALL", "PATH", "API_KEY", "api_key", "TOKEN", ""};
    struct random random = {SEED + 2};
    print_message("# seed %u\n", SEED + 2);
    for (int i = 0; i < ROUNDS; i++) {
        AUTO(policy_part_release) struct policy_part a = {0}, b = {0}, ab = {0};
        generate(&random, true, &a);
        generate(&random, true, &b);
        meet(&a, &b, &ab);
        for (size_t p = 0; p < POLICY_GEN_PATHS; p++) {
            const char *path = policy_gen_paths[p];
            assert_int_equal(list_allows(&ab.policy.writable_roots, path),
                             list_allows(&a.policy.writable_roots, path) &&
                                 list_allows(&b.policy.writable_roots, path));
            assert_int_equal(list_allows(&ab.policy.hidden_paths, path),
                             list_allows(&a.policy.hidden_paths, path) || list_allows(&b.policy.hidden_paths, path));
        }
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
            assert_int_equal(policy_env_passes(&ab.policy, names[n]),
                             policy_env_passes(&a.policy, names[n]) && policy_env_passes(&b.policy, names[n]));
    }
}

/* ---- the cases of the design, one by one ---- */

static void part_of(const char *settings, struct policy_part *ret_part)
{
    AUTO(value_release) json_t *root = json_loads(settings, 0, NULL);
    AUTO(leaves_release) struct leaves leaves = {0};
    struct qs_error err = {0};
    assert_non_null(root);
    assert_int_equal(flatten_value(root, NULL, NULL, &leaves, &err), QS_OK);
    assert_int_equal(policy_part_from_leaves(leaves.items, leaves.count, ret_part, &err), QS_OK);
}

static void narrows_to(const char *high, const char *low, const char *result)
{
    AUTO(policy_part_release) struct policy_part a = {0}, b = {0}, ab = {0};
    AUTO(value_release) json_t *document = NULL;
    AUTO(buf_release) struct buf text = {0};
    part_of(high, &a);
    part_of(low, &b);
    meet(&a, &b, &ab);
    assert_int_equal(policy_part_to_json(&ab, &document, NULL), QS_OK);
    assert_int_equal(value_encode(document, &text, NULL), QS_OK);
    assert_string_equal(text.data, result);
}

#define EXECUTOR(fields) "{\"executor\":{" fields "}}"

static void each_kind_of_field_narrows_as_the_design_says(void **state)
{
    (void)state;
    narrows_to("{\"tools\":{\"executionSandbox\":{\"filesystem\":\"workspace-write\",\"network\":\"closed\"}}}",
               "{\"tools\":{\"executionSandbox\":{\"filesystem\":\"read-only\",\"network\":\"open\"}}}",
               "{\"filesystem\":\"read-only\",\"network\":\"closed\"}");
    narrows_to(EXECUTOR("\"unixSockets\":\"open\",\"audit\":\"off\",\"caches\":\"private\""),
               EXECUTOR("\"unixSockets\":\"private\",\"audit\":\"required\",\"caches\":\"none\""),
               "{\"audit\":\"required\",\"caches\":\"none\",\"unixSockets\":\"private\"}");
    narrows_to(EXECUTOR("\"writableRoots\":[\"/srv\",\"/opt/x\",\"~/w\"]"),
               EXECUTOR("\"writableRoots\":[\"/srv/a\",\"/opt\",\"/srvx\",\"/home/me/w\"]"),
               "{\"writableRoots\":[\"/opt/x\",\"/srv/a\"]}");
    narrows_to(EXECUTOR("\"hiddenPaths\":[\"/a\"]"), EXECUTOR("\"hiddenPaths\":[\"/b\"]"),
               "{\"hiddenPaths\":[\"/a\",\"/b\"]}");
    narrows_to(EXECUTOR("\"environment\":{\"pass\":[\"A*\"],\"set\":{\"X\":\"1\",\"Y\":\"2\"},\"secrets\":[\"S\"]}"),
               EXECUTOR("\"environment\":{\"pass\":[\"*B\"],\"set\":{\"X\":\"1\",\"Y\":\"3\"},\"secrets\":[\"T\"]}"),
               "{\"environment\":{\"pass\":[[\"*B\"],[\"A*\"]],\"secrets\":[\"S\",\"T\"],\"set\":{\"X\":\"1\"}}}");
    narrows_to(EXECUTOR("\"limits\":{\"wallSeconds\":0,\"cpuSeconds\":5,\"processes\":0}"),
               EXECUTOR("\"limits\":{\"wallSeconds\":60,\"cpuSeconds\":9,\"processes\":0}"),
               "{\"limits\":{\"cpuSeconds\":5,\"processes\":0,\"wallSeconds\":60}}");
}

static void an_empty_list_is_not_unset(void **state)
{
    (void)state;
    narrows_to(EXECUTOR("\"writableRoots\":[\"/srv\"]"), EXECUTOR("\"writableRoots\":[]"), "{\"writableRoots\":[]}");
    narrows_to(EXECUTOR("\"writableRoots\":[\"/srv\"]"), "{}", "{\"writableRoots\":[\"/srv\"]}");
    narrows_to(EXECUTOR("\"hiddenPaths\":[\"/a\"]"), EXECUTOR("\"hiddenPaths\":[]"), "{\"hiddenPaths\":[\"/a\"]}");
    narrows_to(EXECUTOR("\"environment\":{\"pass\":[\"A\"]}"), EXECUTOR("\"environment\":{\"pass\":[]}"),
               "{\"environment\":{\"pass\":[[],[\"A\"]]}}");
    narrows_to(EXECUTOR("\"environment\":{\"set\":{\"A\":\"1\"}}"), EXECUTOR("\"environment\":{\"set\":{}}"),
               "{\"environment\":{\"set\":{}}}");
}

static void wider_says_which_setting_is(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b, *path;
    } rows[] = {
        {EXECUTOR("\"unixSockets\":\"open\""), EXECUTOR("\"unixSockets\":\"private\""), "executor.unixSockets"},
        {EXECUTOR("\"unixSockets\":\"private\""), EXECUTOR("\"unixSockets\":\"open\""), NULL},
        {EXECUTOR("\"devices\":[\"/dev/kvm\"]"), EXECUTOR("\"devices\":[]"), "executor.devices"},
        {EXECUTOR("\"hiddenPaths\":[]"), EXECUTOR("\"hiddenPaths\":[\"/a\"]"), "executor.hiddenPaths"},
        {EXECUTOR("\"limits\":{\"wallSeconds\":0}"), EXECUTOR("\"limits\":{\"wallSeconds\":9}"),
         "executor.limits.wallSeconds"},
        {EXECUTOR("\"limits\":{\"wallSeconds\":9}"), EXECUTOR("\"limits\":{\"wallSeconds\":0}"), NULL},
        {EXECUTOR("\"environment\":{\"set\":{\"A\":\"1\"}}"), EXECUTOR("\"environment\":{\"set\":{}}"),
         "executor.environment.set"},
        {EXECUTOR("\"environment\":{\"pass\":[\"A\"]}"), EXECUTOR("\"environment\":{\"pass\":[\"B\"]}"),
         "executor.environment.pass"},
        {"{}", EXECUTOR("\"audit\":\"required\""), "executor.audit"},
        {EXECUTOR("\"audit\":\"required\""), "{}", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        AUTO(policy_part_release) struct policy_part a = {0}, b = {0};
        part_of(rows[i].a, &a);
        part_of(rows[i].b, &b);
        const char *path = policy_wider(&a, &b);
        if (rows[i].path)
            assert_string_equal(path, rows[i].path);
        else
            assert_null(path);
    }
}

static void roots_are_contained_by_their_text_after_normalising(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"/a//b/./c/", "/a/b/c"}, {"/", "/"},    {"//", "/"},  {"~", "~"},        {"~/", "~"},
        {"~//x/", "~/x"},         {"./a/", "a"}, {"/./", "/"}, {"a/./b//", "a/b"}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "%s", texts[i][0]);
        policy_normalise_path(path);
        assert_string_equal(path, texts[i][1]);
    }
    assert_true(policy_path_within("/a/b", "/a"));
    assert_true(policy_path_within("/a", "/a"));
    assert_true(policy_path_within("/a", "/"));
    assert_true(policy_path_within("~/x", "~"));
    assert_false(policy_path_within("/ab", "/a"));
    assert_false(policy_path_within("/a", "/a/b"));
    assert_false(policy_path_within("~/x", "/"));
    assert_false(policy_path_within("~x", "~"));
}

static void globs_match_whole_names_byte_by_byte(void **state)
{
    (void)state;
    static const struct {
        const char *glob, *name;
        bool fold, match;
    } rows[] = {
        {"*", "", false, true},
        {"*", "ANY", false, true},
        {"A*", "A", false, true},
        {"A*", "BA", false, false},
        {"*TOKEN*", "MY_TOKEN_2", false, true},
        {"*TOKEN*", "my_token", false, false},
        {"*TOKEN*", "my_token", true, true},
        {"?", "", false, false},
        {"?", "A", false, true},
        {"A?C", "ABC", false, true},
        {"A?C", "ABBC", false, false},
        {"*A*B", "xAyAzB", false, true},
        {"*A*B", "xAyAz", false, false},
        {"**", "x", false, true},
        {"", "", false, true},
        {"", "x", false, false},
        {"LC_*", "LC_\xff", false, true},
        {"*KEY", "\xffKEY", false, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(policy_glob_match(rows[i].glob, rows[i].name, rows[i].fold), rows[i].match);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_meet_is_commutative_associative_and_idempotent),
        cmocka_unit_test(the_meet_is_never_wider_than_either_and_top_changes_nothing),
        cmocka_unit_test(the_meet_allows_what_both_allow_and_no_more),
        cmocka_unit_test(each_kind_of_field_narrows_as_the_design_says),
        cmocka_unit_test(an_empty_list_is_not_unset),
        cmocka_unit_test(wider_says_which_setting_is),
        cmocka_unit_test(roots_are_contained_by_their_text_after_normalising),
        cmocka_unit_test(globs_match_whole_names_byte_by_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
