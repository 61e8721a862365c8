/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the command line share among themselves. */
#ifndef TERMINAL_COMMAND_INTERNAL_H
#define TERMINAL_COMMAND_INTERNAL_H

#include "terminal/command_line.h"

/* How many operands: at least min; named ones, and with more any number. */
struct operand_shape {
    int min, named;
    bool more;
};
struct operand_shape operand_shape(const struct command *command);

#define COMMAND_EXACT 1u /* of a shared command: what is no terminal gets its output byte for byte */
bool command_is_shared(const struct command *command); /* help, version, completion, __complete */
bool option_is_of_line(const struct option_row *row);  /* stored in the line, not in struct cli */
/* Every row there is, whether or not a command takes it. */
const struct option_row *option_row_at(const struct program *program, size_t index);

/* One word of the line after another, as far as it goes; what is wrong is passed over if err is NULL and the caller
 * goes on. */
struct parse {
    struct command_line *line;
    struct cli *cli;
    const struct option_row *pending; /* the option whose value comes next */
    bool only_operands;               /* after "--" */
};
enum qs_status parse_word(struct parse *parse, char *word, struct qs_error *err);
/* The row of "--NAME" or "--NAME=VALUE"; *ret_value is the text after '=', or NULL. */
const struct option_row *parse_long(const struct parse *parse, const char *word, const char **ret_value);

#endif
