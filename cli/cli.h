/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the command line share: one invocation, the table of commands, options, and output.
 *
 * A command returns a status and fills err; main prints the error and turns the status into the exit status. What a
 * command prints goes to cli->out, which main writes only when the command succeeded, so that the standard output of a
 * failed command is empty.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/error.h"
#include "qsettings/qsettings.h"
#include "terminal/nearest.h"
#include "terminal/paint.h"
#include "text/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- options (cli/options.c) ---- */

enum option_id {
    /* every command takes these, before or after its name */
    OPT_SYSTEM,
    OPT_USER,
    OPT_DEFAULTS,
    OPT_SCOPE,
    OPT_ROOT,
    OPT_JSON,
    OPT_WAIT,
    OPT_COLOR,
    OPT_NO_PAGER,
    OPT_HELP,
    OPT_VERSION,
    OPT_GLOBAL_COUNT,
    /* these belong to some commands */
    OPT_MESSAGE = OPT_GLOBAL_COUNT,
    OPT_IF_GENERATION,
    OPT_TYPE,
    OPT_FORMAT,
    OPT_REPLACE,
    OPT_DRY_RUN,
    OPT_DEFAULT_VALUE,
    OPT_AT,
    OPT_KEYS,
    OPT_REVEAL,
    OPT_WORKSPACE,
    OPT_COUNT_LIMIT,
    OPT_EXIT_CODE,
    OPT_REQUIRE_POLICY,
    OPT_NO_REQUIRE,
    OPT_OFF,
    OPT_POLICY,
    OPT_REQUIRE,
    OPT_YES,
    OPT_FORCE,
    OPT_CHECK,
    OPT_ON_COMMIT,
    OPT_LIST,
    OPT_REMOVE,
    OPT_FOR,
    OPT_ADOPT,
    OPT_BACKUP,
    OPT_DANGLING,
    OPT_HARDLINKED,
    OPT_OTHER_OWNER,
    OPT_NEW_ONLY,
    OPT_ONCE,
    OPT_FROM,
    OPT_EXEC,
    OPT_JSON_SCHEMA,
    OPT_COUNT,
};

/* What an argument is; completion offers accordingly. */
enum argument {
    ARG_NONE,
    ARG_TEXT,
    ARG_NUMBER,
    ARG_GENERATION,
    ARG_KEY,        /* live keys and the schema's */
    ARG_STORED_KEY, /* set in the one store that the command writes */
    ARG_SCHEMA_KEY,
    ARG_LOCK,
    ARG_PAIR, /* key and value in turn */
    ARG_FILE,
    ARG_DIR,
    ARG_SCOPE,
    ARG_FORMAT,
    ARG_TYPE,
    ARG_READER, /* --for */
    ARG_COMMAND,
    ARG_SHELL,
    ARG_COLOR,
};

struct option_spec {
    const char *name;
    char letter;          /* 0: none */
    const char *argument; /* its name in the help; NULL: takes none */
    enum argument kind;
    const char *help;
};
extern const struct option_spec option_table[OPT_COUNT];

#define OPTION(id) (UINT64_C(1) << (id))
_Static_assert(OPT_COUNT <= 64, "a command's options are one 64-bit mask");

/* ---- one invocation ---- */

struct command;

struct cli {
    const struct command *command;
    const char *given[OPT_COUNT]; /* an option's argument, "" for one that takes none; NULL: not given */
    unsigned require_scopes;      /* --require, repeatable: bits 1 << enum qs_scope */
    const char *root;             /* absolute; NULL: the fixed places */
    bool scope_given;
    enum qs_scope scope;
    bool json;
    enum colour_wish colour;
    bool no_pager;
    unsigned wait_ms;      /* --wait, or the default of a writer */
    unsigned read_wait_ms; /* --wait, or 0: the library's default */
    struct buf out;
    int exit_status; /* of a command that did its work: 0; 1 where what it compared differs; or what a later step gave
                      */
    uint64_t base_generation; /* edit: what the commit must be based on; 0: --if-generation says */
    bool print_on_failure;    /* policy: a refusal is an answer too, on standard output with --json */
    bool home_noted;
    char *root_text; /* owned: root made absolute */
};

/* Parses argv: global options, the command's name, its options and operands. Operands are argv's strings, moved to
 * operands (room for argc). command is NULL when none was named. Errors: QS_USAGE. */
enum qs_status options_parse(struct cli *cli, int argc, char **argv, char **operands, int *ret_count,
                             struct qs_error *err) QS_MUST_USE;

/* A decimal number in text. Errors: QS_USAGE naming what. */
enum qs_status options_number(const char *what, const char *text, uint64_t *ret_number,
                              struct qs_error *err) QS_MUST_USE;

/* A scope by its name. */
bool scope_by_name(const char *name, enum qs_scope *ret_scope);

/* The commands' --format, or by the file name's ending. Errors: QS_USAGE. */
enum qs_status options_format(const struct cli *cli, enum qs_text_format *ret_format, struct qs_error *err) QS_MUST_USE;

/* ---- the table of commands (cli/commands.c) ---- */

enum scope_use {
    SCOPE_UNUSED,    /* the command concerns no store, or always all: a scope option is refused */
    SCOPE_EFFECTIVE, /* without a scope: all layers */
    SCOPE_ONE,       /* reads one store; without a scope the user's, and root must say which */
    SCOPE_WRITE,     /* writes one store; likewise */
};

enum group {
    GROUP_START,
    GROUP_READ,
    GROUP_WRITE,
    GROUP_HISTORY,
    GROUP_POLICY,
    GROUP_FILES,
    GROUP_CARE,
    GROUP_HELP,
    GROUP_COUNT
};

typedef enum qs_status command_function(struct cli *cli, int count, char **operands, struct qs_error *err);

struct command {
    const char *name;
    command_function *run;
    enum group group;
    enum scope_use scope;
    int min, max; /* operands; max -1: any number */
    enum argument operand;
    uint64_t options;
    const char *usage;   /* operands and the options that matter most */
    const char *summary; /* one line, no final period */
    const char *more;    /* a paragraph for --help, or NULL */
    bool hidden;
    bool pages; /* on a terminal its output goes through a pager when it is longer than the screen */
    bool exact; /* its output is for programs too: what is no terminal gets it byte for byte */
};
extern const struct command command_table[];
extern const size_t command_count;

const struct command *command_find(const char *name);
/* An error with the advice that another command was probably meant. */
enum qs_status command_unknown(const char *name, struct qs_error *err);

command_function cmd_init, cmd_require, cmd_set, cmd_unset, cmd_apply, cmd_lock, cmd_unlock, cmd_edit, cmd_check;
command_function cmd_get, cmd_list, cmd_explain, cmd_export, cmd_locks;
command_function cmd_log, cmd_show, cmd_diff, cmd_rollback, cmd_purge;
command_function cmd_doctor, cmd_fsck, cmd_repair, cmd_compact, cmd_backup, cmd_restore;
command_function cmd_policy, cmd_publish, cmd_replace, cmd_watch, cmd_schema;
command_function cmd_completion, cmd_complete, cmd_version, cmd_help;

/* ---- stores and commits (cli/open_stores.c, cli/commit_report.c) ---- */

/* Says on standard error, once, where HOME or XDG_CONFIG_HOME name another place than the password database. */
void cli_note_home(struct cli *cli);
/* A handle of one scope. */
enum qs_status cli_open(struct cli *cli, enum qs_scope scope, struct qs_store **ret_store,
                        struct qs_error *err) QS_MUST_USE;
/* The one store that a command concerns, by its scope_use. Errors: QS_UNTRUSTED (root named no scope for a write),
 * QS_USAGE. */
enum qs_status cli_open_one(struct cli *cli, struct qs_store **ret_store, struct qs_error *err) QS_MUST_USE;
/* A snapshot of it. */
enum qs_status cli_snapshot(struct cli *cli, struct qs_snapshot **ret_snapshot, struct qs_error *err) QS_MUST_USE;
/* Begins a transaction on the one store. */
enum qs_status cli_begin(struct cli *cli, struct qs_store **ret_store, struct qs_txn **ret_txn,
                         struct qs_error *err) QS_MUST_USE;

/* Commits with the command's -m and --if-generation, prints the report and publishes registered targets. */
enum qs_status cli_commit(struct cli *cli, struct qs_store *store, struct qs_txn *txn,
                          struct qs_error *err) QS_MUST_USE;
/* The report, {scope, generation, digest, changed} or a line, of a commit made elsewhere. changed is taken over. */
void cli_report_commit(struct cli *cli, const struct qs_store *store, const struct qs_commit_info *info,
                       json_t *changed);
/* Prints the changes of a transaction that is not to be committed (--dry-run). */
enum qs_status cli_dry_run(struct cli *cli, const struct qs_store *store, struct qs_txn *txn,
                           struct qs_error *err) QS_MUST_USE;
/* Publishes what is registered in store; a failure is printed and becomes the exit status. info (NULL: not known) is
 * that of the commit: without targets the store is not read again. */
void cli_publish_registered(struct cli *cli, struct qs_store *store, const struct qs_commit_info *info);

void auto_store(struct qs_store **store);
void auto_snapshot(struct qs_snapshot **snapshot);
void auto_txn(struct qs_txn **txn);
void auto_history(struct qs_history **history);
void auto_settings(struct qs_settings **settings);
void auto_buf(struct buf *buf);

/* ---- output (cli/output.c) ---- */

/* Writes cli->out to standard output: through a pager where the command pages, the control characters of text made
 * visible, in colour where that is wanted. Errors: QS_IO. */
enum qs_status output_flush(struct cli *cli, struct qs_error *err) QS_MUST_USE;
/* Appends value, pretty, with a newline. Takes the reference over; NULL counts as out of memory. */
void out_json(struct cli *cli, json_t *value);
void out_json_line(struct cli *cli, json_t *value); /* compact, one line */

/* At the start, and in a forked child before exec: the signals as this program found them. */
void cli_own_signals(void);
void cli_child_signals(void);
void report_error(const struct cli *cli, const struct qs_error *err);
/* A remark on standard error that changes no exit status. */
void warn(const struct cli *cli, const char *path, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* object[name] = value, taken over. A failure (memory) marks cli->out as failed, so that nothing half-made is printed.
 */
void put(struct cli *cli, json_t *object, const char *name, json_t *value);
void push(struct cli *cli, json_t *array, json_t *value);
json_t *json_words(const char *text);                 /* a string; bytes that are no UTF-8 become U+FFFD */
json_t *json_digest(const unsigned char *digest);     /* "blake2b-256:..." */
json_t *json_time(int64_t time_s);                    /* RFC 3339, UTC */
json_t *json_key(struct qs_bytes key);                /* as people type it */
json_t *json_canonical(const void *text, size_t len); /* canonical text decoded; NULL on a fault */
json_t *json_scope(const struct cli *cli, const struct qs_store *store);

const char *digest_text(const unsigned char *digest, char text[DIGEST_TEXT_BYTES]);
#define TIME_TEXT_BYTES 32
const char *time_text(int64_t time_s, char text[TIME_TEXT_BYTES]);

/* ---- the key that was probably meant (cli/suggest.c) ---- */

/* document: canonical JSON in which the key was looked for, or NULL. Adds "did you mean ...?" to err, from its keys and
 * from the schema's; a key that the schema knows, or whose like is nowhere, gets none. */
void suggest_key(const char *document, size_t len, const char *path, struct qs_error *err);
/* The same as a note, where the command itself is no failure. */
void suggest_key_note(const struct cli *cli, const char *document, size_t len, const char *path);

/* ---- what the schema says (cli/secrets.c) ---- */

#define SECRET_TEXT "<secret>"
/* Does the schema mark the value at this encoded key as secret? */
bool secret_key(const void *key, size_t len);
/* Replaces secret values in *value, which stands at key (NULL: the whole document), by SECRET_TEXT; not with --reveal.
 */
void secret_mask(struct cli *cli, json_t **value, const struct qs_key *key);

/* ---- after a write (cli/warn_overridden.c) ---- */

/* Warns where a stronger scope overrides the value just written at path. */
void warn_overridden(struct cli *cli, const struct qs_store *store, const char *path, const json_t *value);

/* ---- changes (cli/changes.c) ---- */

json_t *change_json(struct cli *cli, const struct qs_change *change); /* {path, old, new} */
/* "- path = old" and "+ path = new" */
void change_text(const struct cli *cli, const char *indent, const struct qs_change *change, struct buf *out);
const char *change_path(const struct qs_change *change, char *text, size_t size);

/* ---- remarks (cli/cmd/cmd_check.c) ---- */

struct leaf;
/* What a person should know of settings that are accepted, as notes on standard error. */
void warn_notes(const struct cli *cli, const struct leaf *items, size_t count, unsigned flags);

/* ---- input (cli/input.c) ---- */

#define REPLACE_MAX_BYTES ((size_t)1 << 30) /* what `replace` takes from standard input */

/* A whole file, or standard input for "-". Heap bytes, zero-terminated. Errors: QS_NOT_FOUND, QS_UNTRUSTED, QS_IO,
 * QS_INVALID. */
enum qs_status input_read(const char *file_name, size_t max_bytes, char **ret_data, size_t *ret_len,
                          struct qs_error *err) QS_MUST_USE;

#endif
