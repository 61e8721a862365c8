/* SPDX-License-Identifier: Apache-2.0 */
/* Commands in an advice go to the stores of the command line. */
#include "terminal/voice.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct option_row options[] = {{.name = "user"}, {.name = "scope", .value = "system|user"}, {0}};
static const struct command commands[] = {{.name = "init", .options = "user scope"},
                                          {.name = "explain", .operands = "KEY"},
                                          {0}};
static const struct program program = {
    .name = "qsettings", .options = options, .common = "root", .leading = "user scope", .commands = commands};

static void check(const char *root, const struct option_row *leading, const char *value, const char *advice,
                  const char *expected)
{
    AUTO(buf_release) struct buf text = {0};
    struct command_line line = {.program = &program, .root = root, .leading = leading, .leading_value = value};
    add_advice(&line, advice, &text);
    assert_string_equal(text.data, expected);
}

static void commands_in_an_advice_go_to_the_stores_of_the_line(void **state)
{
    const struct option_row *user = &options[0], *scope = &options[1];
    (void)state;
    check(NULL, NULL, NULL, "create it with 'qsettings init'", "create it with 'qsettings init'");
    check("/r", user, NULL, "create it with 'qsettings init'", "create it with 'qsettings --root /r --user init'");
    check("/r", scope, "system", "'qsettings init'", "'qsettings --root /r --scope system init'");
    check("/r", user, NULL, "'qsettings --system init'", "'qsettings --root /r --system init'");
    check("/r", user, NULL, "'qsettings --root /x init'", "'qsettings --root /x init'");
    check("/r", user, NULL, "'qsettings explain a.b'", "'qsettings --root /r explain a.b'");
    check("/r", user, NULL, "'qsandbox caches --clear', or 'qsettings init'",
          "'qsandbox --root /r caches --clear', or 'qsettings --root /r --user init'");
    check("/r", user, NULL, "install qsettings first; don't", "install qsettings first; don't");
    check("/a b;c", NULL, NULL, "'qsettings init'", "'qsettings --root /a\\ b\\;c init'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_in_an_advice_go_to_the_stores_of_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
