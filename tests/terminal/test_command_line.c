/* SPDX-License-Identifier: Apache-2.0 */
/* The command line by tables: options, operands, defaults, what is refused and in which words, completion, help. */
#include "terminal/command_line.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ARGS_MAX 16

struct cli {
    struct command_line line;
    const char *format, *name;
    uint64_t count;
    double seconds;
    bool quick, closed, side;
    int levels; /* by take_level */
};

static enum qs_status run(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    (void)cli;
    (void)count;
    (void)operands;
    (void)err;
    return QS_OK;
}

static enum qs_status take_level(struct cli *cli, const struct option_row *row, const char *value, struct qs_error *err)
{
    if (value && strcmp(value, "0") == 0)
        return error_set(err, QS_USAGE, "option '--%s' starts at 1", row->name);
    cli->levels++;
    return QS_OK;
}

static void offer_words(const struct completion *to, struct cli *cli, const struct command_line *line)
{
    (void)cli;
    completion_offer(to, line->count ? "second" : "first", NULL);
}

static const struct option_row options[] = {
    {.name = "format", SLOT(format), .value = "json|yaml", .help = "the format"},
    {.name = "name", .letter = 'n', SLOT(name), .value = "NAME", .help = "the name"},
    {.name = "count", .letter = 'c', SLOT(count), .value = "N", .min = 1, .max = 9, .help = "how many"},
    {.name = "seconds", SLOT(seconds), .value = "S", .max = 60, .help = "how long"},
    {.name = "quick", .letter = 'q', SLOT(quick), .help = "be quick"},
    {.name = "network", SLOT(closed), .value = "closed", .help = "close the network"},
    {.name = "left", SLOT(side), .help = "on the left"},
    {.name = "right", SLOT(side), .help = "on the right"},
    {.name = "level", .take = take_level, .value = "N", .help = "one level more"},
    {.name = "other", SLOT(quick), .help = "for all", .only = "run"},
    {.name = "other", SLOT(count), .value = "N", .help = "for pairs", .only = "pairs"},
    {0},
};

static const struct command commands[] = {
    {.name = "get",
     .run = run,
     .operands = "KEY",
     .options = "left right format name count quick level",
     .summary = "print a value"},
    {.name = "pairs",
     .run = run,
     .operands = "KEY VALUE [KEY VALUE ...]",
     .options = "other seconds=2.5 format=yaml",
     .summary = "set pairs",
     .offer = offer_words},
    {.name = "run",
     .run = run,
     .operands = "-- PROGRAM [ARGUMENT...]",
     .options = "network other",
     .summary = "run a program"},
    {.name = "some", .run = run, .operands = "FILE [A [B]]", .summary = "take one to three"},
    {0},
};

static const struct program program = {.name = "prog",
                                       .summary = "a program",
                                       .options = options,
                                       .common = "root json color",
                                       .leading = "left right",
                                       .commands = commands};

/* The words of a line, apart at spaces. */
static enum qs_status parse(const char *line, struct cli *cli, struct qs_error *err)
{
    static char copy[256];
    static char *words[ARGS_MAX];
    int count = 1;
    *cli = (struct cli){.line.program = &program};
    *err = (struct qs_error){0};
    (void)stpncpy(copy, line, sizeof copy - 1);
    words[0] = (char[]){"prog"};
    for (char *save = NULL, *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
        words[count++] = word;
    words[count] = NULL;
    return command_line_parse(&cli->line, cli, count, words, err);
}

static void options_stand_before_and_after_operands_and_are_stored_by_type(void **state)
{
    struct cli cli;
    struct qs_error err;
    (void)state;
    assert_int_equal(parse("--root /r get k --format=yaml -n me --count 3 -q", &cli, &err), QS_OK);
    assert_string_equal(cli.line.command->name, "get");
    assert_string_equal(cli.line.root, "/r");
    assert_string_equal(cli.format, "yaml");
    assert_string_equal(cli.name, "me");
    assert_int_equal(cli.count, 3);
    assert_true(cli.quick);
    assert_int_equal(cli.line.count, 1);
    assert_string_equal(cli.line.operands[0], "k");
    assert_null(cli.line.operands[1]);
    assert_int_equal(parse("get -qc4 k --json", &cli, &err), QS_OK);
    assert_true(cli.quick && cli.line.json);
    assert_int_equal(cli.count, 4);
    assert_int_equal(parse("--left get k --level 1 --level 2", &cli, &err), QS_OK);
    assert_int_equal(cli.levels, 2);
    assert_int_equal(parse("run --network closed x", &cli, &err), QS_OK);
    assert_true(cli.closed);
}

static void operands_are_counted_and_may_look_like_numbers_or_options(void **state)
{
    struct cli cli;
    struct qs_error err;
    (void)state;
    assert_int_equal(parse("get -5", &cli, &err), QS_OK);
    assert_string_equal(cli.line.operands[0], "-5");
    assert_int_equal(parse("get -", &cli, &err), QS_OK);
    assert_int_equal(parse("get -- --format", &cli, &err), QS_OK);
    assert_string_equal(cli.line.operands[0], "--format");
    assert_int_equal(parse("pairs a 1 b 2 c 3", &cli, &err), QS_OK);
    assert_int_equal(cli.line.count, 6);
    assert_int_equal(parse("some f a b", &cli, &err), QS_OK);
    assert_int_equal(parse("some f a b c", &cli, &err), QS_USAGE);
    assert_string_equal(err.message, "unexpected argument 'c'");
    assert_int_equal(parse("pairs a", &cli, &err), QS_USAGE);
    assert_string_equal(err.message, "VALUE is missing");
    assert_string_equal(err.advice, "usage: prog pairs [OPTIONS] KEY VALUE [KEY VALUE ...]");
    assert_int_equal(parse("pairs a=1", &cli, &err), QS_USAGE);
    assert_string_equal(err.advice, "did you mean 'prog pairs a 1'?");
    /* the first operand of a command that takes another command line ends the options */
    assert_int_equal(parse("run ls --network --bogus", &cli, &err), QS_OK);
    assert_int_equal(cli.line.count, 3);
    assert_false(cli.closed);
    assert_int_equal(parse("run", &cli, &err), QS_USAGE);
    assert_string_equal(err.message, "PROGRAM is missing");
}

static void defaults_come_from_the_command_and_rows_may_be_for_one_command(void **state)
{
    struct cli cli;
    struct qs_error err;
    (void)state;
    assert_int_equal(parse("pairs a 1", &cli, &err), QS_OK);
    assert_true(cli.seconds == 2.5);
    assert_string_equal(cli.format, "yaml");
    assert_int_equal(parse("pairs a 1 --seconds 7 --format json --other 8", &cli, &err), QS_OK);
    assert_true(cli.seconds == 7);
    assert_string_equal(cli.format, "json");
    assert_int_equal(cli.count, 8);
    assert_int_equal(parse("run --other x", &cli, &err), QS_OK);
    assert_true(cli.quick);
    assert_null(cli.format);
}

static void a_wrong_line_is_refused_in_these_words(void **state)
{
    static const struct {
        const char *line, *message, *advice;
    } cases[] = {
        {"--bogus", "unknown option '--bogus'", ""},
        {"get k --formt=json", "unknown option '--formt'", "did you mean '--format'?"},
        {"get k --form json", "unknown option '--form'", "did you mean '--format'?"}, /* never abbreviated */
        {"get k --q", "unknown option '--q'", ""},
        {"get k --seconds 1", "takes no option '--seconds'", ""},
        {"get k -x", "unknown option '-x'", ""},
        {"some f -q", "takes no option '-q'", ""},
        {"--left some f", "takes no option '--left'", ""},
        {"--format json get k", "unknown option '--format'", ""}, /* not before the command */
        {"get k --format", "option '--format' needs json|yaml", ""},
        {"get k --format xml", "option '--format' takes 'json' or 'yaml', not 'xml'", ""},
        {"get k --format jsno", "option '--format' takes 'json' or 'yaml', not 'jsno'", "did you mean 'json'?"},
        {"run --network open x", "option '--network' takes 'closed', not 'open'", ""},
        {"get k --quick=1", "option '--quick' takes no value", ""},
        {"get k --count 0", "option '--count' takes a whole number from 1 to 9, not '0'", ""},
        {"get k --count 10", "option '--count' takes a whole number from 1 to 9, not '10'", ""},
        {"get k --count -1", "option '--count' takes a whole number from 1 to 9, not '-1'", ""},
        {"get k --count 3x", "option '--count' takes a whole number from 1 to 9, not '3x'", ""},
        {"get k --count=", "option '--count' takes a whole number from 1 to 9, not ''", ""},
        {"pairs a 1 --seconds nan", "option '--seconds' takes a number from 0 to 60, not 'nan'", ""},
        {"pairs a 1 --seconds 60.5", "option '--seconds' takes a number from 0 to 60, not '60.5'", ""},
        {"pairs a 1 --seconds 1e999", "option '--seconds' takes a number from 0 to 60, not '1e999'", ""},
        {"get k --level 0", "option '--level' starts at 1", ""},
        {"gte k", "unknown command 'gte'", "did you mean 'get'?"},
        {"-5", "unknown command '-5'", ""},
        {"--color blue get k", "option '--color' takes 'auto', 'always' or 'never', not 'blue'", ""},
    };
    struct cli cli;
    struct qs_error err;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(parse(cases[i].line, &cli, &err), QS_USAGE);
        assert_string_equal(err.message, cases[i].message);
        assert_string_equal(err.advice, cases[i].advice);
    }
}

static void what_asks_for_help_needs_no_operands(void **state)
{
    struct cli cli;
    struct qs_error err;
    (void)state;
    assert_int_equal(parse("get --help", &cli, &err), QS_OK);
    assert_true(cli.line.help);
    assert_int_equal(parse("-h", &cli, &err), QS_OK);
    assert_true(cli.line.help);
    assert_int_equal(parse("run --version", &cli, &err), QS_OK);
    assert_true(cli.line.version);
    assert_int_equal(parse("", &cli, &err), QS_OK);
    assert_null(cli.line.command);
    assert_int_equal(parse("help get", &cli, &err), QS_OK);
    assert_int_equal(parse("completion", &cli, &err), QS_USAGE);
}

/* ---- completion ---- */

static void check_offers(const char *line, const char *word, const char *expected)
{
    AUTO(buf_release) struct buf out = {0};
    struct cli cli;
    char copy[256], last[64];
    char *words[ARGS_MAX];
    int count = 0;
    cli = (struct cli){.line.program = &program};
    (void)strcpy(copy, line);
    for (char *save = NULL, *at = strtok_r(copy, " ", &save); at; at = strtok_r(NULL, " ", &save))
        words[count++] = at;
    words[count++] = strcpy(last, word);
    command_line_complete(&cli.line, &cli, count, words, &out);
    assert_string_equal(out.data ? out.data : "", expected);
}

static void completion_offers_what_the_line_would_take(void **state)
{
    (void)state;
    check_offers("", "g", "get\tprint a value\n");
    check_offers("", "--ro", "--root\tuse the stores DIR/system, DIR/user and DIR/defaults\n");
    check_offers("", "--fo", "");
    check_offers("get", "--fo", "--format\tthe format\n");
    check_offers("get --format", "", "json\nyaml\n");
    check_offers("get", "--format=y", "--format=yaml\n");
    check_offers("get --root", "", ":dirs\t0\n");
    check_offers("get", "--root=x", ":dirs\t7\n");
    check_offers("get k", "", "");
    check_offers("pairs", "", "first\n");
    check_offers("pairs a", "", "second\n");
    check_offers("run", "", ":commands\t0\n");
    check_offers("run ls", "", ":files\t0\n");
    check_offers("run ls", "-", ":files\t0\n");
    check_offers("run --bogus", "", ":commands\t0\n"); /* what is wrong so far stops nothing */
    check_offers("some", "", ":files\t0\n");
    check_offers("get --", "--f", "");
    check_offers("help", "ru", "run\trun a program\n");
    check_offers("completion", "", "bash\nzsh\nfish\n");
    check_offers("nothing", "--", "");
    check_offers(
        "", "--",
        "--left\ton the left\n--right\ton the right\n--root\tuse the stores DIR/system, DIR/user and DIR/defaults\n"
        "--json\tprint JSON, also for errors\n"
        "--color\tuse colour; auto: on a terminal, unless NO_COLOR is set\n"
        "--help\tshow how to use the command\n--version\tprint the version\n");
}

static void help_is_made_of_the_tables(void **state)
{
    AUTO(buf_release) struct buf out = {0};
    (void)state;
    help_command(&program, command_find(&program, "pairs"), &out);
    assert_non_null(strstr(out.data, "prog pairs: set pairs\n\n"
                                     "usage: prog pairs [--other N] [--seconds S] [--format json|yaml] KEY VALUE\n"
                                     "            [KEY VALUE ...]\n"));
    assert_non_null(strstr(out.data, "\n  --other N             for pairs\n"
                                     "  --seconds S           how long [2.5]\n"
                                     "  --format json|yaml    the format [yaml]\n"));
    assert_null(strstr(out.data, "for all"));
    buf_clear(&out);
    help_command(&program, command_find(&program, "get"), &out);
    assert_non_null(strstr(out.data, "usage: prog [--left|--right] get [--format json|yaml] [-n NAME]"));
    assert_non_null(strstr(out.data, "\n  -n, --name NAME       the name\n"));
    buf_clear(&out);
    help_commands(&program, &out);
    assert_non_null(strstr(out.data, "\n  some        take one to three\n  completion  print"));
    assert_null(strstr(out.data, "__complete"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_stand_before_and_after_operands_and_are_stored_by_type),
        cmocka_unit_test(operands_are_counted_and_may_look_like_numbers_or_options),
        cmocka_unit_test(defaults_come_from_the_command_and_rows_may_be_for_one_command),
        cmocka_unit_test(a_wrong_line_is_refused_in_these_words),
        cmocka_unit_test(what_asks_for_help_needs_no_operands),
        cmocka_unit_test(completion_offers_what_the_line_would_take),
        cmocka_unit_test(help_is_made_of_the_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
