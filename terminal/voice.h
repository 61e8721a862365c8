/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How every program reports what went wrong, as one line on standard error:
 *
 *     PROGRAM: COMMAND: KIND: what failed (on what); what to do
 *     qsettings: get: not found: no such setting in the user scope ('ui.thme'); did you mean 'ui.theme'?
 *     qsettings: set: unknown option '--bogus'; see 'qsettings set --help'
 *
 * KIND is the name of the status. It is left out if the command line was wrong, and if what was asked for is done. A
 * command that runs another program, whose status its own is, says "status 4 (no policy)", always.
 * Words of the reader's are in '...', and so are commands to paste.
 *
 * A command of this project in an advice goes to the same stores: --root DIR and the scope of the line are put into it.
 *
 * With --json the line is {"error": {"status", "message", "file", "line", "column", "path"}}, a note
 * {"warning": {"message", "path"}}.
 */
#ifndef TERMINAL_VOICE_H
#define TERMINAL_VOICE_H

#include "terminal/command_line.h"
#include "text/value.h"

/* Nothing is printed if the message is empty: then it has been reported. */
void voice_error(const struct command_line *line, const struct qs_error *err);
/* With further members of the JSON object (borrowed; NULL: none). */
void voice_error_with(const struct command_line *line, const struct qs_error *err, json_t *members);
/* A remark that changes no exit status. path is the key concerned, or NULL. */
void voice_note(const struct command_line *line, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends a text in which commands stand in '...', each with the stores of the line. */
void add_advice(const struct command_line *line, const char *advice, struct buf *text);

/* A word as a shell reads it back. */
void add_shell_word(struct buf *out, const char *text);

/* A string; bytes that are no UTF-8 become U+FFFD. */
json_t *json_words(const char *text);

/* Is colour wanted on fd, by --color or the environment? */
bool line_colour(const struct command_line *line, int fd);

#endif
