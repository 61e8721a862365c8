/* SPDX-License-Identifier: Apache-2.0 */
/* What goes in and out: files read whole, the output of a command, pieces of JSON; signals of this program and of those
 * that it starts. */
#include "cli/cli.h"

#include "base/os.h"
#include "terminal/less.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>

/* ---- signals ---- */

static void (*inherited_xfsz)(int) = SIG_DFL;

/* Beyond a limit on the size of files a write is to fail, and be reported, not to kill. */
void cli_own_signals(void)
{
    inherited_xfsz = signal(SIGXFSZ, SIG_IGN);
}

void cli_child_signals(void)
{
    (void)signal(SIGXFSZ, inherited_xfsz);
}

/* ---- input ---- */

enum qs_status input_read(const char *file_name, size_t max_bytes, char **ret_data, size_t *ret_len,
                          struct qs_error *err)
{
    if (strcmp(file_name, "-") == 0)
        return os_read_all(STDIN_FILENO, "standard input", max_bytes, ret_data, ret_len, err);
    AUTO_FD int fd = open(file_name, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        return os_read_all(fd, file_name, max_bytes, ret_data, ret_len, err);
    enum qs_status status =
        error_sys(err, errno == ENOENT || errno == ENOTDIR ? QS_NOT_FOUND : QS_IO, errno, "cannot read the file");
    error_add_file(err, file_name);
    return status;
}

/* ---- output ---- */

/* As it may be shown. */
static void make_visible(const struct cli *cli, struct buf *out)
{
    terminal_text(out, cli->out.data ? cli->out.data : "", cli->out.len,
                  line_colour(&cli->line, STDOUT_FILENO) ? TERMINAL_COLOUR : 0);
}

enum qs_status output_flush(struct cli *cli, struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0};
    const struct command *command = cli->line.command;
    bool terminal = isatty(STDOUT_FILENO);
    bool exact = !terminal && (cli->line.json || (command && (command->flags & EXACT)));
    if (!exact)
        make_visible(cli, &text);
    const struct buf *shown = exact ? &cli->out : &text;
    if (cli->out.failed || shown->failed)
        return error_set(err, QS_IO, "out of memory while making the output");
    if (terminal && command && (command->flags & PAGES) && !cli->no_pager &&
        pager_show(shown->data ? shown->data : "", shown->len, cli_child_signals))
        return QS_OK;
    if (shown->len > 0 && os_write_full(STDOUT_FILENO, shown->data, shown->len) != 0) {
        error_sys(err, QS_IO, errno, "cannot write to standard output");
        if (!cli->stored.scope)
            error_add_advice(err, "the command has done its work; only its report is missing");
        err->status = QS_IO; /* a standard output that was opened for reading is no matter of permission */
        return QS_IO;
    }
    buf_clear(&cli->out);
    return QS_OK;
}

void out_json(struct cli *cli, json_t *value)
{
    if (!value || value_encode_pretty(value, &cli->out, NULL))
        cli->out.failed = true;
    buf_add_char(&cli->out, '\n');
    json_decref(value);
}

void out_json_line(struct cli *cli, json_t *value)
{
    if (!value || value_encode(value, &cli->out, NULL))
        cli->out.failed = true;
    buf_add_char(&cli->out, '\n');
    json_decref(value);
}

void put(struct cli *cli, json_t *object, const char *name, json_t *value)
{
    if (json_object_set_new(object, name, value) != 0)
        cli->out.failed = true;
}

void push(struct cli *cli, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        cli->out.failed = true;
}

/* ---- pieces ---- */

const char *digest_text(const unsigned char *digest, char text[DIGEST_TEXT_BYTES])
{
    digest_format(digest, text);
    return text;
}

json_t *json_digest(const unsigned char *digest)
{
    char text[DIGEST_TEXT_BYTES];
    return json_string(digest_text(digest, text));
}

const char *time_text(int64_t time_s, char text[TIME_TEXT_BYTES])
{
    time_t seconds = (time_t)time_s;
    struct tm parts;
    if (!gmtime_r(&seconds, &parts) || strftime(text, TIME_TEXT_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        strcpy(text, "0000-00-00T00:00:00Z");
    return text;
}

json_t *json_time(int64_t time_s)
{
    char text[TIME_TEXT_BYTES];
    return json_string(time_text(time_s, text));
}

json_t *json_key(struct qs_bytes key)
{
    char text[QS_KEY_TEXT_BYTES];
    return json_string(qs_key_format(key.data, key.len, text, sizeof text));
}

json_t *json_canonical(const void *text, size_t len)
{
    json_t *value = NULL;
    return !value_decode(text, len, &value, NULL) ? value : NULL;
}

json_t *json_scope(const struct cli *cli, const struct qs_store *store)
{
    (void)cli;
    return json_string(qs_scope_name(qs_store_scope(store)));
}
