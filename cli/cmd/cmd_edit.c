/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edit: the scope as YAML in the user's editor, committed with the generation it started from.
 *
 * The text lives in a directory of its own (0700), since it may hold secrets. It is removed after a commit, and kept,
 * and named, after a fault or a conflict.
 */
#include "cli/cli.h"

#include "base/os.h"
#include "text/doc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct editing {
    struct qs_store *store;
    uint64_t base; /* the generation the text started from */
    char *dir, *file;
    struct buf first; /* the text as it was handed out */
    bool keep;
};

static void editing_release(struct editing *editing)
{
    DIR *dir = editing->dir && !editing->keep ? opendir(editing->dir) : NULL;
    struct dirent *entry;
    /* an editor's own copies go too */
    while (dir && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir) {
        (void)closedir(dir);
        (void)rmdir(editing->dir);
    }
    free(editing->dir);
    free(editing->file);
    buf_release(&editing->first);
    qs_store_close(editing->store);
}

/* ---- the text and its file ---- */

static enum qs_status first_text(struct cli *cli, struct editing *editing, struct qs_error *err)
{
    AUTO_SNAPSHOT struct qs_snapshot *snapshot = NULL;
    AUTO(value_release) json_t *document = NULL;
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    enum qs_status status = qs_snapshot_take(editing->store, &snapshot, err);
    if (status == QS_ABSENT)
        error_add_advice(err, "create it with 'qsettings --%s init'", qs_scope_name(qs_store_scope(editing->store)));
    if (!status)
        status = qs_snapshot_json(snapshot, NULL, &text, &len, err);
    if (!status)
        status = value_decode(text, len, &document, err);
    if (status)
        return status;
    editing->base = qs_snapshot_generation(snapshot);
    buf_printf(&editing->first,
               "# The %s scope of qsettings at generation %llu. Save and leave to commit.\n"
               "# Nothing changes if you leave the text as it is, or empty it.\n",
               qs_scope_name(qs_store_scope(editing->store)), (unsigned long long)editing->base);
    (void)cli;
    status = value_encode_yaml(document, &editing->first, err);
    if (!status && editing->first.failed)
        status = error_memory(err);
    return status;
}

static enum qs_status make_file(struct editing *editing, struct qs_error *err)
{
    const char *tmp = getenv("TMPDIR");
    if (!tmp || tmp[0] != '/')
        tmp = "/tmp";
    if (asprintf(&editing->dir, "%s/qsettings-edit-XXXXXX", tmp) < 0) {
        editing->dir = NULL;
        return error_memory(err);
    }
    if (!mkdtemp(editing->dir)) {
        free(STEAL(editing->dir));
        return error_sys(err, QS_IO, errno, "cannot make a directory for the text in %s", tmp);
    }
    if (asprintf(&editing->file, "%s/%s.yaml", editing->dir, qs_scope_name(qs_store_scope(editing->store))) < 0) {
        editing->file = NULL;
        error_memory(err);
        return QS_IO; /* said plainly, for the analyzer */
    }
    AUTO_FD int fd = open(editing->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || os_write_full(fd, editing->first.data, editing->first.len) != 0)
        return error_sys(err, QS_IO, errno, "cannot write %s", editing->file);
    return QS_OK;
}

/* ---- the editor ---- */

static const char *editor_command(void)
{
    const char *visual = getenv("VISUAL"), *editor = getenv("EDITOR");
    if (visual && visual[0])
        return visual;
    return editor && editor[0] ? editor : "vi";
}

/* As system(3): the terminal's signals are the editor's meanwhile. */
static enum qs_status run_editor(const struct editing *editing, struct qs_error *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old_int, old_quit;
    const char *editor = editor_command();
    AUTO_FREE char *line = NULL;
    int state = 0;
    if (asprintf(&line, "%s \"$1\"", editor) < 0) {
        line = NULL;
        return error_memory(err);
    }
    (void)sigaction(SIGINT, &ignore, &old_int);
    (void)sigaction(SIGQUIT, &ignore, &old_quit);
    pid_t pid = fork();
    if (pid == 0) {
        (void)sigaction(SIGINT, &old_int, NULL);
        (void)sigaction(SIGQUIT, &old_quit, NULL);
        cli_child_signals();
        execl("/bin/sh", "sh", "-c", line, "sh", editing->file, (char *)NULL);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &state, 0) < 0 && errno == EINTR)
        continue;
    (void)sigaction(SIGINT, &old_int, NULL);
    (void)sigaction(SIGQUIT, &old_quit, NULL);
    if (pid < 0)
        return error_sys(err, QS_IO, errno, "cannot start the editor");
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
        return QS_OK;
    error_set(err, QS_IO, "the editor '%s' failed, and nothing was changed", editor);
    error_add_advice(err, "set VISUAL or EDITOR to an editor that works here");
    return QS_IO;
}

/* ---- the result ---- */

static bool is_blank(const char *text)
{
    while (*text) {
        text += strspn(text, " \t\r\n");
        if (*text == '#')
            text += strcspn(text, "\n");
        else if (*text)
            return false;
    }
    return true;
}

static void report_unchanged(struct cli *cli, const struct editing *editing)
{
    AUTO_SNAPSHOT struct qs_snapshot *snapshot = NULL;
    struct qs_commit_info info = {.size = sizeof info, .generation = editing->base};
    if (!qs_snapshot_take(editing->store, &snapshot, NULL)) {
        info.generation = qs_snapshot_generation(snapshot);
        memcpy(info.digest, qs_snapshot_digest(snapshot), sizeof info.digest);
    }
    cli_report_commit(cli, editing->store, &info, json_array());
}

/* What the editor left, which may be anything. */
static enum qs_status read_text(const struct editing *editing, char **ret_text, size_t *ret_len, struct qs_error *err)
{
    struct stat st;
    if (stat(editing->file, &st) == 0 && !S_ISREG(st.st_mode)) {
        error_set(err, QS_INVALID, "the editor left something that is not a regular file");
        error_add_file(err, editing->file);
        return QS_INVALID;
    }
    return input_read(editing->file, QS_DOCUMENT_MAX_BYTES, ret_text, ret_len, err);
}

static bool is_first_text(const struct editing *editing, const char *text, size_t len)
{
    return len == editing->first.len && memcmp(text, editing->first.data, len) == 0;
}

/* An editor that was killed, or the terminal with it, may have saved an hour's work before. */
static void keep_changed_text(struct editing *editing, struct qs_error *err)
{
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    if (read_text(editing, &text, &len, NULL) || is_blank(text) || is_first_text(editing, text, len))
        return;
    editing->keep = true;
    if (err)
        (void)snprintf(err->advice, sizeof err->advice, "your text is kept in %s", editing->file);
}

static enum qs_status commit_text(struct cli *cli, struct editing *editing, struct qs_error *err)
{
    AUTO_TXN struct qs_txn *txn = NULL;
    AUTO_FREE char *text = NULL;
    size_t len = 0;
    enum qs_status status = read_text(editing, &text, &len, err);
    if (status)
        return status;
    if (is_blank(text) || is_first_text(editing, text, len)) {
        report_unchanged(cli, editing);
        return QS_OK;
    }
    status = qs_txn_begin(editing->store, cli->wait_ms, &txn, err);
    if (!status)
        status = qs_txn_apply(txn, editing->file, text, len, QS_FORMAT_YAML, true, err);
    cli->base_generation = editing->base;
    return status ? status : cli_commit(cli, editing->store, txn, err);
}

/* Lines of the text as they may stand on a terminal, with tabs one column wide. */
static void add_line(struct buf *out, const char *text, size_t len)
{
    AUTO(buf_release) struct buf plain = {0};
    buf_add(&plain, text, len);
    for (size_t i = 0; !plain.failed && i < plain.len; i++)
        if (plain.data[i] == '\t')
            plain.data[i] = ' ';
    terminal_text(out, plain.data ? plain.data : "", plain.len, TERMINAL_LINE);
}

/* The line at fault, with a mark below the column (which counts bytes). */
static void show_line(struct cli *cli, const char *line, const struct qs_error *err)
{
    AUTO(buf_release) struct buf text = {0}, before = {0}, shown = {0};
    size_t len = strlen(line), at = err->column ? err->column - 1 : 0;
    add_line(&before, line, at < len ? at : len);
    buf_printf(&text, "%5u | ", err->line);
    add_line(&text, line, len);
    buf_printf(&text, "\n      | %*s", (int)terminal_width(before.data ? before.data : "", before.len), "");
    paint_text(&text, PAINT_BAD, "^");
    buf_add_char(&text, '\n');
    terminal_text(&shown, text.data, text.len, line_colour(&cli->line, STDERR_FILENO) ? TERMINAL_COLOUR : 0);
    if (!shown.failed && !text.failed)
        (void)!os_write_full(STDERR_FILENO, shown.data, shown.len);
}

static void show_place(struct cli *cli, const struct editing *editing, const struct qs_error *err)
{
    FILE *file = err->line ? fopen(editing->file, "re") : NULL;
    AUTO_FREE char *line = NULL;
    size_t room = 0;
    unsigned number = 0;
    while (file && number < err->line && getline(&line, &room, file) >= 0)
        number++;
    if (file)
        (void)fclose(file);
    if (!number || number != err->line)
        return;
    line[strcspn(line, "\n")] = '\0';
    show_line(cli, line, err);
}

/* On a terminal: what was wrong, and whether to go on. After a conflict the newest generation becomes the base: whoever
 * says yes has been told what would be overwritten. */
static bool ask_again(struct cli *cli, struct editing *editing, const struct qs_error *err)
{
    AUTO_SNAPSHOT struct qs_snapshot *snapshot = NULL;
    char answer[8];
    if (cli->line.json || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return false;
    voice_error(&cli->line, err);
    show_place(cli, editing, err);
    if (err->status == QS_CONFLICT && !qs_snapshot_take(editing->store, &snapshot, NULL)) {
        editing->base = qs_snapshot_generation(snapshot);
        (void)fprintf(stderr,
                      "The store is at generation %llu now ('qsettings log' shows what others changed). If you go "
                      "on, your text replaces it.\n",
                      (unsigned long long)editing->base);
    }
    (void)fputs("Edit again? [y/n] ", stderr);
    return fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y' || answer[0] == '\n');
}

enum qs_status cmd_edit(struct cli *cli, int count, char **operands, struct qs_error *err)
{
    AUTO(editing_release) struct editing editing = {0};
    (void)count;
    (void)operands;
    enum qs_status status = cli_open_one(cli, &editing.store, err);
    if (!status)
        status = first_text(cli, &editing, err);
    if (!status)
        status = make_file(&editing, err);
    while (!status) {
        if ((status = run_editor(&editing, err))) {
            keep_changed_text(&editing, err);
            break;
        }
        struct qs_error fault = {0};
        status = commit_text(cli, &editing, &fault);
        if (!status)
            return QS_OK;
        if ((status == QS_INVALID || status == QS_CONFLICT) && ask_again(cli, &editing, &fault)) {
            status = QS_OK;
            continue;
        }
        editing.keep = true;
        (void)snprintf(fault.advice, sizeof fault.advice, "your text is kept in %s", editing.file);
        if (err)
            *err = fault;
    }
    return status;
}
