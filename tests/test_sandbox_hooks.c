/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a value in a git configuration, core.hooksPath above all, as git itself finds it. */
#include "sandbox/hosthooks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *text, const char *expected)
{
    char *found = core_value_of(text, "hooksPath");
    if (!expected)
        assert_null(found);
    else
        assert_string_equal(found, expected);
    free(found);
}

static void the_value_is_found_in_each_spelling(void **state)
{
    (void)state;
    expect("[core]\n\thooksPath = .husky\n", ".husky");
    expect("[CORE]\nHOOKSPATH=.husky", ".husky");
    expect("[core] hooksPath = a b  ; why\n", "a b");
    expect("[core]\nhooksPath = \"a # b\" # why\n", "a # b");
    expect("[core]\nhooksPath = a\\\"b\r\n", "a\"b");
    expect("[core]\nhooksPath = first\n[x]\n[core]\nhooksPath = last\n", "last");
}

static void what_is_something_else_is_not_found(void **state)
{
    (void)state;
    expect("", NULL);
    expect("[core]\nhooks = x\nhooksPathX = y\n", NULL);
    expect("[core \"sub\"]\nhooksPath = x\n", NULL);
    expect("[corex]\nhooksPath = x\n", NULL);
    expect("hooksPath = x\n[user]\nhooksPath = y\n", NULL);
    expect("[core]\n# hooksPath = x\n;hooksPath = y\n", NULL);
    expect("[core\nhooksPath", NULL);
}

static void visit(void *context, const char *section, const char *key, const char *value)
{
    char *seen = context;
    size_t len = strlen(seen);
    (void)snprintf(seen + len, 200 - len, "%s|%s|%s;", section, key, value);
}

static void each_key_is_visited_with_its_section(void **state)
{
    (void)state;
    char seen[200] = "";
    config_each("[ core ]\n\tworktree = ../x\n[include] path=a\n[includeIf \"gitdir:~/w/\"]\n path = \"b c\"\nbare\n",
                visit, seen);
    assert_string_equal(seen, "core|worktree|../x;include|path|a;includeIf \"gitdir:~/w/\"|path|b c;");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_value_is_found_in_each_spelling),
        cmocka_unit_test(what_is_something_else_is_not_found),
        cmocka_unit_test(each_key_is_visited_with_its_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
