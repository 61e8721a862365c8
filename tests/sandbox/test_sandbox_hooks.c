/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a value in a git configuration, core.hooksPath above all, as git itself finds it. */
#include "sandbox/host/gitconfig.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    expect("[core]\n# hooksPath = x\n;hooksPath = y\n", NULL);
    expect("[core\nhooksPath", NULL);
}

/* ---- beside git itself: the same keys and values, and the same files refused ---- */

static void visit(void *context, const char *section, const char *key, const char *value)
{
    struct buf *seen = context;
    const char *quote = strchr(section, '"');
    if (quote) /* git prints submodule "x" as submodule.x */
        buf_printf(seen, "%.*s.%.*s", (int)(quote - section - 1), section, (int)strlen(quote) - 2, quote + 1);
    else
        buf_add_str(seen, section);
    if (section[0])
        buf_add_char(seen, '.');
    /* git lists a key without a value so; no text here says "= true" */
    buf_printf(seen, strcmp(value, "true") == 0 ? "%s" : "%s\n%s", key, value);
    buf_add_char(seen, '\0');
}

/* Up to git 2.44 blanks within a value are spaces. */
static void spaced(struct buf *list)
{
    for (size_t i = 0; i < list->len; i++)
        list->data[i] = list->data[i] == '\r' || list->data[i] == '\t' ? ' ' : list->data[i];
}

/* What git says of the same file: "key LF value NUL ...". */
static bool git_list(const char *text, struct buf *ret_list)
{
    char path[] = "/tmp/qs-hooks-XXXXXX", command[256], piece[4096];
    int fd = mkstemp(path);
    size_t len = strlen(text);
    assert_true(fd >= 0 && write(fd, text, len) == (ssize_t)len && close(fd) == 0);
    (void)snprintf(command, sizeof command,
                   "HOME=/nonexistent git config --file %s --no-includes --list -z 2>/dev/null", path);
    FILE *git = popen(command, "r");
    assert_non_null(git);
    while ((len = fread(piece, 1, sizeof piece, git)))
        buf_add(ret_list, piece, len);
    int status = pclose(git);
    assert_int_equal(unlink(path), 0);
    return status == 0;
}

/* True where both take it. */
static bool same_as_git(const char *text)
{
    struct buf ours = {0}, theirs = {0};
    bool whole = config_each(text, visit, &ours);
    bool taken = git_list(text, &theirs);
    if (whole != taken)
        fail_msg("git %s what we %s: %s", taken ? "takes" : "refuses", whole ? "take" : "refuse", text);
    spaced(&ours);
    spaced(&theirs);
    if (taken && (ours.len != theirs.len || (ours.len && memcmp(ours.data, theirs.data, ours.len) != 0)))
        fail_msg("git reads another thing in %s: %s", text, theirs.len ? theirs.data : "");
    buf_release(&ours);
    buf_release(&theirs);
    return taken;
}

static void every_spelling_is_read_as_git_reads_it(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "[core]\n\thooksPath = .husky\n",
        "\xef\xbb\xbf[core]\nhooksPath = x\n",
        "[core]hooksPath=x",
        "[core] hooksPath = a b  ; why\n",
        "[core]\nhooksPath = /a\\\n/b\n",
        "[core]\nhooksPath = \"a # b\" # why\n",
        "[core]\nhooksPath = a\\\"b\\tc\\nd\\be\\\\f\n",
        "[core]\nhooksPath = a\\x\n",
        "[core]\nhooksPath = \"open\n",
        "[core]\nhooksPath = \"a\\\nb\"\n",
        "[core]\nhooksPath = in \"the \" middle \n",
        "[core]\nhooksPath = \"\"\n",
        "[core]\nhooksPath =\n",
        "[core]\nhooksPath\n",
        "[core]\nhooksPath x\n",
        "[core]\nhooks_path = x\n",
        "[core]\n1hooks = x\n",
        "[core]\r\nhooksPath = x\r\n",
        "[core]\nhooksPath = x # y\\\nworktree = z\n",
        "[core \"sub]\"] worktree = x\n",
        "[core \"a\\\"b\\\\c\\d\"]\nx = y\n",
        "[core \"open]\nx = y\n",
        "[core \"a\" ]\nx = y\n",
        "[ core ]\nx = y\n",
        "[core ]\nx = y\n",
        "[Core.SUB]\nX-y = z\n",
        "[core\nhooksPath = x\n",
        "hooksPath = x\n",
        "[]\nx = y\n",
        "[core]\n[user]name = x\n[core]worktree=y # z\n ; c\n# d\n",
        "]\n",
        "[core]\nx = a\tb\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        (void)same_as_git(texts[i]);
}

/* Texts put together from what the grammar is made of. The seed is fixed. */
static void texts_of_chance_are_read_as_git_reads_them(void **state)
{
    (void)state;
    static const char *const pieces[] = {"[core]", "[a \"b\"]", "[a \"", "\"]",   "\n",  "\n",       "\n",  "\nk = ",
                                         "\nk=",   "\\",        "\"",    "\"x\"", "#",   ";",        "\r",  " ",
                                         "x",      "v",         "-",     "\\\n",  "\\t", "\xc3\xa9", "\t\n"};
    uint64_t seed = 20261129;
    unsigned taken = 0;
    for (int round = 0; round < 600; round++) {
        char text[200] = "[core]\n";
        for (int n = 0; n < 8; n++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            strcat(text, pieces[(seed >> 33) % (sizeof pieces / sizeof pieces[0])]);
        }
        taken += same_as_git(text);
    }
    assert_true(taken > 30 && taken < 500); /* both kinds were tried */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_value_is_found_in_each_spelling),
        cmocka_unit_test(what_is_something_else_is_not_found),
        cmocka_unit_test(every_spelling_is_read_as_git_reads_it),
        cmocka_unit_test(texts_of_chance_are_read_as_git_reads_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
