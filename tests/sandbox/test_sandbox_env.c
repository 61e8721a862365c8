/* SPDX-License-Identifier: Apache-2.0 */
/* The command's environment: what passes, what never does. */
#include "sandbox/plan/plan_env.h"

#include "tests/support/policy/policy_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct scene {
    struct qs_policy policy;
    struct host_facts facts;
    struct plan plan;
    struct env env;
    struct qs_error err;
};

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    if (!scene)
        return -1;
    scene->policy = fixture_policy();
    fixture_facts(&scene->facts);
    *state = scene;
    return plan_make(&scene->policy, &scene->facts, &scene->plan, &scene->err) == QS_OK ? 0 : -1;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    env_release(&scene->env);
    plan_release(&scene->plan);
    fixture_facts_release(&scene->facts);
    free(scene);
    return 0;
}

static enum qs_status make(struct scene *scene, const char *const *caller)
{
    env_release(&scene->env);
    return env_make(&scene->policy, &scene->facts, &scene->plan, (char *const *)(uintptr_t)caller, &scene->env,
                    &scene->err);
}

static const char *value(const struct env *env, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < env->count; i++)
        if (strncmp(env->items[i], name, len) == 0 && env->items[i][len] == '=')
            return env->items[i] + len + 1;
    return NULL;
}

static bool removed(const struct env *env, const char *name)
{
    for (size_t i = 0; i < env->removed_count; i++)
        if (strcmp(env->removed[i], name) == 0)
            return true;
    return false;
}

static void what_is_not_passed_is_removed(void **state)
{
    struct scene *scene = *state;
    const char *const caller[] = {"PATH=/bin", "LC_ALL=C", "OTHER=1", "MY_NAME=ann", NULL};
    assert_int_equal(make(scene, caller), QS_OK);
    assert_string_equal(value(&scene->env, "PATH"), "/bin");
    assert_string_equal(value(&scene->env, "LC_ALL"), "C");
    assert_string_equal(value(&scene->env, "MY_NAME"), "ann");
    assert_null(value(&scene->env, "OTHER"));
    assert_true(removed(&scene->env, "OTHER"));
    assert_false(removed(&scene->env, "PATH"));
    assert_null(scene->env.items[scene->env.count]);
}

static void a_secret_is_removed_though_a_glob_passes_it(void **state)
{
    struct scene *scene = *state;
    const char *const caller[] = {"MY_TOKEN=x", "MY_secret_thing=y", "MY_OK=z", NULL};
    assert_int_equal(make(scene, caller), QS_OK);
    assert_null(value(&scene->env, "MY_TOKEN"));
    assert_null(value(&scene->env, "MY_secret_thing"));
    assert_string_equal(value(&scene->env, "MY_OK"), "z");
}

static void every_list_of_the_conjunction_must_match(void **state)
{
    struct scene *scene = *state;
    struct qs_list lists[2] = {fixture_list("MY_*", "PATH", NULL), fixture_list("*_B", NULL)};
    scene->policy.env_pass = lists;
    scene->policy.env_pass_count = 2;
    const char *const caller[] = {"MY_A=1", "MY_B=2", "OTHER_B=3", NULL};
    assert_int_equal(make(scene, caller), QS_OK);
    assert_null(value(&scene->env, "MY_A"));
    assert_string_equal(value(&scene->env, "MY_B"), "2");
    assert_null(value(&scene->env, "OTHER_B"));
}

static void no_list_at_all_passes_nothing(void **state)
{
    struct scene *scene = *state;
    scene->policy.env_pass_count = 0;
    const char *const caller[] = {"PATH=/evil", NULL};
    assert_int_equal(make(scene, caller), QS_OK);
    assert_non_null(value(&scene->env, "PATH"));
    assert_string_not_equal(value(&scene->env, "PATH"), "/evil");
}

static void what_loads_code_never_passes(void **state)
{
    struct scene *scene = *state;
    static const char *const names[] = {"LD_PRELOAD",   "LD_LIBRARY_PATH",  "BASH_ENV",      "ENV",
                                        "NODE_OPTIONS", "PYTHONSTARTUP",    "PERL5OPT",      "GIT_DIR",
                                        "GIT_SSH",      "GIT_CONFIG_COUNT", "BASH_FUNC_x%%", "QSANDBOX_SESSION"};
    struct qs_list everything = fixture_list("*", NULL);
    scene->policy.env_pass = &everything;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s=x", names[i]);
        const char *const caller[] = {text, "GIT_AUTHOR_NAME=ann", "PLAIN=1", NULL};
        assert_int_equal(make(scene, caller), QS_OK);
        assert_null(value(&scene->env, names[i]));
        assert_true(removed(&scene->env, names[i]));
        assert_string_equal(value(&scene->env, "GIT_AUTHOR_NAME"), "ann");
        assert_string_equal(value(&scene->env, "PLAIN"), "1");
        assert_true(env_name_redirects(names[i], strlen(names[i])));
    }
    assert_false(env_name_redirects("PATH", 4));
}

static void setting_what_loads_code_is_refused(void **state)
{
    struct scene *scene = *state;
    struct qs_pair pair = {.name = (char *)(uintptr_t) "LD_PRELOAD", .value = (char *)(uintptr_t) "/x.so"};
    scene->policy.env_set = &pair;
    scene->policy.env_set_count = 1;
    const char *const caller[] = {NULL};
    assert_int_equal(make(scene, caller), QS_INVALID);
    assert_non_null(strstr(scene->err.message, "LD_PRELOAD"));
}

static void what_the_policy_sets_wins_over_the_caller(void **state)
{
    struct scene *scene = *state;
    struct qs_pair pair = {.name = (char *)(uintptr_t) "MY_NAME", .value = (char *)(uintptr_t) "set"};
    scene->policy.env_set = &pair;
    scene->policy.env_set_count = 1;
    const char *const caller[] = {"MY_NAME=caller", NULL};
    assert_int_equal(make(scene, caller), QS_OK);
    assert_string_equal(value(&scene->env, "MY_NAME"), "set");
}

static void home_comes_from_the_password_database_and_tmp_is_private(void **state)
{
    struct scene *scene = *state;
    struct qs_list everything = fixture_list("*", NULL);
    scene->policy.env_pass = &everything;
    const char *const caller[] = {"HOME=/evil", "USER=evil", "TMPDIR=/host/tmp", "PWD=/evil", NULL};
    assert_int_equal(make(scene, caller), QS_OK);
    assert_string_equal(value(&scene->env, "HOME"), "/home/ann");
    assert_string_equal(value(&scene->env, "USER"), "ann");
    assert_string_equal(value(&scene->env, "TMPDIR"), "/tmp");
    assert_string_equal(value(&scene->env, "PWD"), "/home/ann/work");
    assert_false(removed(&scene->env, "HOME"));
}

static void of_two_with_one_name_the_first_counts(void **state)
{
    struct scene *scene = *state;
    const char *const caller[] = {"MY_A=first", "MY_A=second", "broken", "=x", NULL};
    assert_int_equal(make(scene, caller), QS_OK);
    assert_string_equal(value(&scene->env, "MY_A"), "first");
    for (size_t i = 0; i < scene->env.count; i++)
        assert_non_null(strchr(scene->env.items[i], '='));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_not_passed_is_removed),
        TEST(a_secret_is_removed_though_a_glob_passes_it),
        TEST(every_list_of_the_conjunction_must_match),
        TEST(no_list_at_all_passes_nothing),
        TEST(what_loads_code_never_passes),
        TEST(setting_what_loads_code_is_refused),
        TEST(what_the_policy_sets_wins_over_the_caller),
        TEST(home_comes_from_the_password_database_and_tmp_is_private),
        TEST(of_two_with_one_name_the_first_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
