/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room terminal/: How does a program speak with a person?
 *
 * The command line of every program: a table of options and a table of commands, which parsing, help, completion and
 * errors all read. A new option or command is one row.
 *
 *     static const struct option_row options[] = {
 *         {.name = "at", SLOT(at), .value = "GEN", .help = "as of generation GEN"},
 *         {0},
 *     };
 *     static const struct command commands[] = {
 *         {.name = "get", .run = cmd_get, .operands = "KEY", .options = "at json", .summary = "print a value"},
 *         {0},
 *     };
 *
 * Every program also has the commands help, version and completion, and every command the options --help and --version.
 *
 * Grammar: options may stand before and after operands; `--` ends them, and so does the first operand of a command that
 * takes another program's command line (its operands begin with "--"). Names are never abbreviated. A minus sign and a
 * digit begin a number, which is an operand.
 */
#ifndef TERMINAL_COMMAND_LINE_H
#define TERMINAL_COMMAND_LINE_H

#include "base/buf.h"
#include "base/error.h"
#include "terminal/completion.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli; /* one invocation: each program completes it with what its options store, and what its commands need */
struct command_line;
struct option_row;

/* ---- options ---- */

enum option_kind {
    OPTION_CHECKED, /* take alone does it */
    OPTION_FLAG,    /* bool; with a value (--network closed) it takes just that word */
    OPTION_TEXT,    /* const char *; one of the words if value is in small letters, "json|yaml" */
    OPTION_NUMBER,  /* uint64_t from min to max */
    OPTION_REAL,    /* double from min to max */
};

/* Where an option is stored: a member of struct cli, whose type gives the kind. */
#define SLOT(member) \
    .kind = _Generic(((struct cli *)0)->member, \
        bool: OPTION_FLAG, \
        const char *: OPTION_TEXT, \
        uint64_t: OPTION_NUMBER, \
        double: OPTION_REAL), \
    .at = offsetof(struct cli, member)

/* Takes a value (NULL for an option without one) after it has been checked and stored. Errors: QS_USAGE. */
typedef enum qs_status option_function(struct cli *cli, const struct option_row *row, const char *value,
                                       struct qs_error *err);
/* Offers what fits the word to complete; line is what stands before it. */
typedef void offer_function(const struct completion *to, struct cli *cli, const struct command_line *line);

struct option_row {
    const char *name; /* without the dashes */
    char letter;      /* 0: none */
    enum option_kind kind;
    size_t at;
    const char *value; /* how help calls the value, and what completion offers: see completion_offer_named */
    const char *help;
    uint64_t min, max;     /* max 0: no limit */
    option_function *take; /* more to check or to keep; may be NULL */
    offer_function *offer; /* candidates, where value does not tell; may be NULL */
    const char *only;      /* the one command that this row is for, and first for it; NULL: all that name it */
};

/* ---- commands ---- */

typedef enum qs_status command_function(struct cli *cli, int count, char **operands, struct qs_error *err);

struct command {
    const char *name;
    command_function *run;
    const char *operands;  /* "KEY VALUE [KEY VALUE ...]": how many there may be is read from this; NULL: none */
    const char *options;   /* names from the table, each with its default if it has one: "format seconds=5" */
    const char *summary;   /* one line, no final period */
    const char *more;      /* a paragraph for --help; may be NULL */
    const char *examples;  /* lines for --help; may be NULL */
    offer_function *offer; /* candidates for operands, where their names do not tell; may be NULL */
    int group;             /* of program.groups */
    unsigned flags;        /* the program's own */
    bool hidden;
};

struct program {
    const char *name, *summary;
    const struct option_row *options; /* the last row has no name */
    const char *common;               /* options of every command, before or after its name */
    const char *leading; /* options that may stand before the name, too, one of them; a command takes all or none */
    const struct command *commands;                    /* the last one has no name */
    const char *const *groups;                         /* titles, ended by NULL; NULL: the commands are one list */
    const char *start;                                 /* lines below the short help; may be NULL */
    const char *closing;                               /* lines below the list of commands: exit statuses */
    const char *(*advice)(const struct qs_error *err); /* what to do, where err does not say; may be NULL */
    const char *(*kind)(enum qs_status status);        /* how errors call a status; NULL: qs_status_name */
};

/* What one command line says. */
struct command_line {
    const struct program *program;
    const struct command *command; /* NULL: none is named */
    int count;
    char **operands; /* borrowed from argv, whose order changes */
    bool help, version;
    const struct option_row *leading; /* the last option of the program's leading ones that was given, and its value */
    const char *leading_value;

    /* Options that a program's table need not describe: it takes those that its lists name. */
    bool json;
    const char *color; /* auto, always or never */
    const char *root;  /* absolute; NULL: the fixed places */
    char root_text[PATH_MAX];

    char defaults[160]; /* texts of defaults, each ended by a zero byte */
    size_t defaults_len;
};

/* Fills line (zero but for its program) and, by the tables, cli. Errors: QS_USAGE. */
enum qs_status command_line_parse(struct command_line *line, struct cli *cli, int argc, char **argv,
                                  struct qs_error *err) QS_MUST_USE;
/* Runs the command, or answers --help, --version, help, version, completion and __complete on standard output. Without
 * a command: QS_USAGE, and the short help on standard error. */
enum qs_status command_line_run(struct command_line *line, struct cli *cli, struct qs_error *err) QS_MUST_USE;

/* A whole number in decimal. Errors: QS_USAGE; what names it: "a generation". */
enum qs_status command_line_number(const char *what, const char *text, uint64_t *ret_number,
                                   struct qs_error *err) QS_MUST_USE;

/* ---- what the tables say (for help, completion and errors) ---- */

/* The commands one after another, those of every program last; NULL at the end. */
const struct command *command_at(const struct program *program, size_t index);
const struct command *command_find(const struct program *program, const char *name);
/* QS_USAGE: there is no such command; the advice names the one that was probably meant. */
enum qs_status command_unknown(const struct program *program, const char *name, struct qs_error *err);
/* Is another program's command line what it takes? */
bool command_takes_command(const struct command *command);

/* The options that may follow the command's name (before a name: command is NULL), one after another; NULL at the end.
 */
const struct option_row *option_at(const struct program *program, const struct command *command, size_t index);
/* Its default, or NULL. Not ended by a zero byte: *ret_len. */
const char *option_default(const struct command *command, const struct option_row *row, size_t *ret_len);
/* Is the name in a list like "a b=1 c"? */
bool option_listed(const char *list, const char *name);

/* Names of operands, "KEY" of "KEY...": the index-th, as often as it may be given. NULL: no such operand is taken. */
const char *operand_name(const struct command *command, int index, size_t *ret_len);

/* ---- help (terminal/command_help.c) ---- */

void help_short(const struct program *program, struct buf *out);
void help_commands(const struct program *program, struct buf *out);
void help_command(const struct program *program, const struct command *command, struct buf *out);
/* "usage: PROGRAM COMMAND [OPTIONS] OPERANDS", without the options' names */
void help_usage(const struct program *program, const struct command *command, struct buf *out);

/* ---- completion (terminal/command_complete.c) ---- */

/* Candidates for the last of the words, as the line before it says; line becomes that line. */
void command_line_complete(struct command_line *line, struct cli *cli, int count, char **words, struct buf *out);

#endif
