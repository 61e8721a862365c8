/* SPDX-License-Identifier: Apache-2.0 */
/* Running what the command line names, and the commands that every program has. */
#include "terminal/command_line.h"

#include "base/cleanup.h"
#include "base/os.h"
#include "qsettings/version.h"
#include "terminal/command_internal.h"
#include "terminal/paint.h"
#include "terminal/voice.h"

#include <errno.h>
#include <string.h>

/* ---- --json ---- */

static json_t *option_names(const struct program *program, const struct command *command)
{
    json_t *names = json_array();
    const struct option_row *row;
    for (size_t i = 0; (row = option_at(program, command, i)); i++)
        if (json_array_append_new(names, json_string(row->name)) != 0)
            return NULL;
    return names;
}

/* only NULL: all */
static json_t *help_json(const struct program *program, const struct command *only)
{
    json_t *list = json_array();
    const struct command *command;
    for (size_t i = 0; (command = command_at(program, i)); i++)
        if (!command->hidden && (!only || only == command) &&
            json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:o}", "name", command->name, "usage",
                                                  command->operands ? command->operands : "", "summary",
                                                  command->summary, "options", option_names(program, command))) != 0)
            return NULL;
    return list;
}

/* ---- the answers ---- */

static enum qs_status add_json(json_t *value, struct buf *out, struct qs_error *err)
{
    AUTO(value_release) json_t *owned = value;
    if (!owned)
        return error_memory(err);
    enum qs_status status = value_encode_pretty(owned, out, err);
    buf_add_char(out, '\n');
    return status;
}

static enum qs_status answer_help(const struct command_line *line, const struct command *about, struct buf *out,
                                  struct qs_error *err)
{
    if (line->json)
        return add_json(help_json(line->program, about), out, err);
    if (about)
        help_command(line->program, about, out);
    else
        help_commands(line->program, out);
    return QS_OK;
}

static enum qs_status answer_version(const struct command_line *line, struct buf *out, struct qs_error *err)
{
    if (line->json)
        return add_json(json_pack("{s:s,s:s}", "version", QS_VERSION, "library", qs_version()), out, err);
    buf_printf(out, "%s %s\n", line->program->name, QS_VERSION);
    return QS_OK;
}

static enum qs_status answer_completion(const struct command_line *line, struct buf *out, struct qs_error *err)
{
    AUTO(buf_release) struct buf script = {0};
    if (!completion_script(&script, line->program->name, line->operands[0]))
        return error_set(err, QS_USAGE, "takes 'bash', 'zsh' or 'fish', not '%s'", line->operands[0]);
    if (line->json)
        return add_json(json_pack("{s:s,s:s#}", "shell", line->operands[0], "script", script.data, script.len), out,
                        err);
    buf_add(out, script.data, script.len);
    return script.failed ? error_memory(err) : QS_OK;
}

/* By the name of one of the commands that every program has. */
static enum qs_status answer(struct command_line *line, struct cli *cli, struct buf *out, struct qs_error *err)
{
    const char *name = line->command->name;
    if (strcmp(name, "version") == 0)
        return answer_version(line, out, err);
    if (strcmp(name, "completion") == 0)
        return answer_completion(line, out, err);
    if (strcmp(name, "__complete") == 0) {
        command_line_complete(line, cli, line->count, line->operands, out);
        return QS_OK;
    }
    const struct command *about = line->count ? command_find(line->program, line->operands[0]) : NULL;
    if (line->count && (!about || about->hidden))
        return command_unknown(line->program, line->operands[0], err);
    return answer_help(line, about, out, err);
}

/* Text with its marks; to what is no terminal byte for byte, if exact. */
static enum qs_status print(const struct command_line *line, int fd, const struct buf *out, bool exact,
                            struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    if (!exact || isatty(fd))
        terminal_text(&text, out->data ? out->data : "", out->len, line_colour(line, fd) ? TERMINAL_COLOUR : 0);
    else
        buf_add(&text, out->data, out->len);
    if (out->failed || text.failed)
        return error_memory(err);
    if (os_write_full(fd, text.data, text.len) != 0)
        return error_sys(err, QS_IO, errno, "cannot write to standard output");
    return QS_OK;
}

enum qs_status command_line_run(struct command_line *line, struct cli *cli, struct qs_error *err)
{
    AUTO(buf_release) struct buf out = {0};
    const struct command *command = line->command;
    bool exact = line->json ||
                 (command && command_is_shared(command) && (command->flags & COMMAND_EXACT)); /* before __complete */
    enum qs_status status = QS_OK;
    if (!command && !line->help && !line->version) {
        help_short(line->program, &out);
        status = print(line, STDERR_FILENO, &out, false, err);
        return status ? status : QS_USAGE;
    }
    if (line->version)
        status = answer_version(line, &out, err);
    else if (line->help)
        status = answer_help(line, command, &out, err);
    else if (command_is_shared(command))
        status = answer(line, cli, &out, err);
    else
        return command->run(cli, line->count, line->operands, err);
    return status ? status : print(line, STDOUT_FILENO, &out, exact && (line->json || !line->help), err);
}
