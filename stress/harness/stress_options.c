/* SPDX-License-Identifier: Apache-2.0 */
/* Options by table: getopt_long does the splitting, the table knows kinds, bounds and help. */
#include "stress/harness/stress.h"

#include "base/cleanup.h"
#include "terminal/completion.h"
#include "terminal/nearest.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OPTIONS_MAX 48

int stress_fail(int status, const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fprintf(stderr, "qstress: %s: ", command);
    (void)vfprintf(stderr, format, args);
    (void)fputc('\n', stderr);
    va_end(args);
    return status;
}

static void print_default(const struct stress_option *option)
{
    switch (option->kind) {
    case STRESS_FLAG:
        break;
    case STRESS_NUMBER:
        (void)printf(" [%llu]", (unsigned long long)*(uint64_t *)option->slot);
        break;
    case STRESS_REAL:
        (void)printf(" [%g]", *(double *)option->slot);
        break;
    case STRESS_TEXT:
    case STRESS_CHOICE:
        if (*(const char **)option->slot)
            (void)printf(" [%s]", *(const char **)option->slot);
        break;
    }
}

static void print_help(const char *command, const char *summary, const struct stress_option *options, size_t count)
{
    (void)printf("usage: qstress %s [OPTIONS]\n\n%s\n\n", command, summary);
    for (size_t i = 0; i < count; i++) {
        const struct stress_option *o = &options[i];
        char left[128];
        (void)snprintf(left, sizeof left, "--%s%s%s", o->name, o->argument ? " " : "", o->argument ? o->argument : "");
        if (strlen(left) > 24)
            (void)printf("  %s\n  %-24s %s", left, "", o->help);
        else
            (void)printf("  %-24s %s", left, o->help);
        print_default(o);
        (void)putchar('\n');
    }
}

static bool is_choice(const char *choices, const char *value)
{
    size_t len = strlen(value);
    for (const char *at = choices; at && len;) {
        const char *end = strchrnul(at, '|');
        if ((size_t)(end - at) == len && memcmp(at, value, len) == 0)
            return true;
        at = *end ? end + 1 : NULL;
    }
    return false;
}

static bool take_number(const struct stress_option *option, const char *value)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (errno || end == value || *end || value[0] == '-' || number < option->min || number > option->max)
        return false;
    *(uint64_t *)option->slot = number;
    return true;
}

static bool take_real(const struct stress_option *option, const char *value)
{
    char *end = NULL;
    errno = 0;
    double number = strtod(value, &end);
    if (errno || end == value || *end || !isfinite(number) || number < (double)option->min ||
        number > (double)option->max)
        return false;
    *(double *)option->slot = number;
    return true;
}

static bool take_value(const char *command, const struct stress_option *option, const char *value)
{
    switch (option->kind) {
    case STRESS_FLAG:
        *(bool *)option->slot = true;
        return true;
    case STRESS_NUMBER:
    case STRESS_REAL:
        if (option->kind == STRESS_NUMBER ? take_number(option, value) : take_real(option, value))
            return true;
        (void)stress_fail(STRESS_USAGE, command, "--%s takes a number from %llu to %llu, not '%s'", option->name,
                          (unsigned long long)option->min, (unsigned long long)option->max, value);
        return false;
    case STRESS_TEXT:
        *(const char **)option->slot = value;
        return true;
    case STRESS_CHOICE:
        if (is_choice(option->argument, value)) {
            *(const char **)option->slot = value;
            return true;
        }
        (void)stress_fail(STRESS_USAGE, command, "--%s takes one of %s, not '%s'", option->name, option->argument,
                          value);
        return false;
    }
    return false;
}

struct option_names {
    const struct stress_option *options;
    size_t count;
    char text[64];
};

static const char *option_name_at(size_t index, void *user)
{
    struct option_names *names = user;
    if (index >= names->count)
        return NULL;
    (void)snprintf(names->text, sizeof names->text, "--%s", names->options[index].name);
    return names->text;
}

static void fail_unknown(const char *command, const char *word, const struct stress_option *options, size_t count)
{
    struct option_names names = {.options = options, .count = count};
    char near[64];
    if (nearest_name(word, option_name_at, &names, near, sizeof near))
        (void)stress_fail(STRESS_USAGE, command, "%s: no such option; did you mean %s?", word, near);
    else
        (void)stress_fail(STRESS_USAGE, command, "%s: no such option; --help lists them", word);
}

/* `qstress __complete` comes by here, where the table is. */
static void complete(const struct stress_option *options, size_t count, int word_count, char **words)
{
    struct completion_option table[OPTIONS_MAX + 1];
    AUTO(buf_release) struct buf out = {0};
    for (size_t i = 0; i < count; i++)
        table[i] = (struct completion_option){options[i].name, options[i].argument, options[i].help};
    table[count] = (struct completion_option){"help", NULL, "list the options"};
    (void)completion_walk(&out, table, count + 1, word_count, words);
    if (out.data && !out.failed)
        (void)fwrite(out.data, 1, out.len, stdout);
}

bool stress_options(const char *summary, const struct stress_option *options, size_t count, int argc, char **argv,
                    int *ret_status)
{
    struct option table[OPTIONS_MAX + 2] = {0};
    *ret_status = STRESS_USAGE;
    if (count > OPTIONS_MAX)
        return false;
    if (argc > 1 && strcmp(argv[1], STRESS_COMPLETE) == 0) {
        complete(options, count, argc - 2, argv + 2);
        *ret_status = STRESS_CLEAN;
        return false;
    }
    for (size_t i = 0; i < count; i++)
        table[i] = (struct option){options[i].name, options[i].kind == STRESS_FLAG ? no_argument : required_argument,
                                   NULL, (int)(i + 1)};
    table[count] = (struct option){"help", no_argument, NULL, 'h' + OPTIONS_MAX};
    optind = 0; /* glibc: start afresh */
    opterr = 0;
    for (int which; (which = getopt_long(argc, argv, "+:", table, NULL)) != -1;) {
        if (which == 'h' + OPTIONS_MAX) {
            print_help(argv[0], summary, options, count);
            *ret_status = STRESS_CLEAN;
            return false;
        }
        if (which < 1 || (size_t)which > count) {
            if (which == ':')
                (void)stress_fail(STRESS_USAGE, argv[0], "%s: a value is missing", argv[optind - 1]);
            else
                fail_unknown(argv[0], argv[optind - 1], options, count);
            return false;
        }
        if (!take_value(argv[0], &options[which - 1], optarg))
            return false;
    }
    if (optind < argc) {
        (void)stress_fail(STRESS_USAGE, argv[0], "'%s' is no option", argv[optind]);
        return false;
    }
    *ret_status = STRESS_CLEAN;
    return true;
}
