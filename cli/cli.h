/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room cli/: What did the person ask qsettings for?
 *
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
#include "base/handles.h"
#include "qsettings/qsettings.h"
#include "terminal/command_line.h"
#include "terminal/nearest.h"
#include "terminal/paint.h"
#include "terminal/voice.h"
#include "text/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- one invocation ---- */

struct cli {
    struct command_line line;

    /* options (cli/options.c); a text that was not given is NULL, a number 0 */
    const char *message, *type, *format, *default_value, *workspace, *reader, *exec;
    uint64_t if_generation, at, from;
    uint64_t limit; /* UINT64_MAX: none */
    double wait_s;  /* negative: not given */
    bool no_pager, replace, dry_run, keys, reveal, exit_code, require_policy, no_require, off, of_policy, yes, force;
    bool check, on_commit, list, remove, adopt, backup, dangling, hard_linked, other_owner, new_only, once, json_schema;
    bool if_absent;
    bool scope_given;
    enum qs_scope scope;
    unsigned require_scopes; /* --require, repeatable: bits 1 << enum qs_scope */
    unsigned wait_ms;        /* --wait, or the default of a writer */
    unsigned read_wait_ms;   /* --wait, or 0: the library's default */

    struct buf out;
    int exit_status; /* of a command that did its work: 0; 1 if what it compared differs; or what a later step gave */
    uint64_t base_generation; /* edit: what the commit must be based on; 0: --if-generation says */
    /* What is stored already, however the command goes on: from here on a failure is one of what follows (status 11).
     */
    struct cli_stored {
        const char *scope; /* NULL: nothing */
        uint64_t generation;
        const char *left; /* what then did not happen */
    } stored;
    bool print_on_failure; /* policy: a refusal is an answer too, on standard output with --json */
    bool home_noted;
};

/* As before any option was given. */
#define CLI_NONE \
    { \
        .line.program = &qsettings_program, .limit = UINT64_MAX, .wait_s = -1, .wait_ms = QS_DEFAULT_WAIT_MS \
    }

extern const struct option_row option_table[];

/* A scope by its name. */
bool scope_by_name(const char *name, enum qs_scope *ret_scope);
/* --format; QS_FORMAT_AUTO if it was not given. */
enum qs_text_format cli_format(const struct cli *cli);

/* Candidates of completion (cli/offers.c). */
offer_function offer_keys, offer_stored_keys, offer_schema_keys, offer_locks, offer_generations, offer_pairs;

/* ---- the table of commands (cli/commands.c) ---- */

/* Which stores a command concerns, and how it prints: flags of struct command. */
enum command_flags {
    SCOPE_EFFECTIVE = 1, /* without a scope: all layers */
    SCOPE_ONE = 2,       /* reads one store; without a scope the user's, and root must say which */
    SCOPE_WRITE = 4,     /* writes one store; likewise */
    PAGES = 8,           /* on a terminal its output goes through a pager if it is longer than the screen */
    EXACT = 16,          /* its output is for programs too: what is no terminal gets it byte for byte */
};

extern const struct program qsettings_program;

command_function cmd_init, cmd_require, cmd_set, cmd_add, cmd_remove, cmd_unset, cmd_apply, cmd_lock, cmd_unlock,
    cmd_edit, cmd_check;
command_function cmd_get, cmd_list, cmd_explain, cmd_export, cmd_locks;
command_function cmd_log, cmd_show, cmd_diff, cmd_rollback, cmd_purge;
command_function cmd_doctor, cmd_fsck, cmd_repair, cmd_compact, cmd_backup, cmd_restore;
command_function cmd_policy, cmd_publish, cmd_replace, cmd_watch, cmd_schema;

/* ---- stores (cli/open.c) ---- */

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

/* ---- what a reading command looks at (cli/open.c) ---- */

/* Exactly one of the two is set. */
struct cli_view {
    struct qs_snapshot *snapshot;
    struct qs_settings *settings;
};

/* By the scope, --at and --workspace. Warnings of the merge are printed. */
enum qs_status cli_view_open(struct cli *cli, struct cli_view *ret_view, struct qs_error *err) QS_MUST_USE;
void cli_view_release(struct cli_view *view);

/* A node as canonical JSON (key NULL: all). Heap text of the caller. */
enum qs_status cli_view_json(const struct cli_view *view, const char *key, char **ret_text, size_t *ret_len,
                             struct qs_error *err) QS_MUST_USE;

/* {..., scope, generation}: the store's. Of effective settings those of the layer whose value stands at key;
 * "effective" and null where several contribute, or key is NULL. */
void cli_view_put_source(struct cli *cli, const struct cli_view *view, const char *key, json_t *report);

/* ---- commits (cli/commit_report.c) ---- */

/* Commits with the command's -m and --if-generation, prints the report and publishes registered targets. */
enum qs_status cli_commit(struct cli *cli, struct qs_store *store, struct qs_txn *txn,
                          struct qs_error *err) QS_MUST_USE;
/* The report, {scope, generation, digest, changed} or a line, of a commit made elsewhere. changed is taken over. */
void cli_report_commit(struct cli *cli, const struct qs_store *store, const struct qs_commit_info *info,
                       json_t *changed);
/* Prints the changes of a transaction that is not to be committed (--dry-run). */
enum qs_status cli_dry_run(struct cli *cli, const struct qs_store *store, struct qs_txn *txn,
                           struct qs_error *err) QS_MUST_USE;
/* Publishes what is registered in store. info (NULL: not known) is that of the commit: without targets the store is not
 * read again. Errors: those of publishing, which main reports as a follow-up of what is stored. */
enum qs_status cli_publish_registered(struct cli *cli, struct qs_store *store, const struct qs_commit_info *info,
                                      struct qs_error *err) QS_MUST_USE;
/* From here on generation is stored, and a failure is one of what follows. */
void cli_note_stored(struct cli *cli, const struct qs_store *store, uint64_t generation);
/* The last line of a command that failed; what is stored comes first. Returns the status of the program. */
enum qs_status cli_report_failure(struct cli *cli, enum qs_status status, struct qs_error *err);

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
/* object[name] = value, taken over. A failure (memory) marks cli->out as failed, so that nothing half-made is printed.
 */
void put(struct cli *cli, json_t *object, const char *name, json_t *value);
void push(struct cli *cli, json_t *array, json_t *value);
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

/* ---- elements of arrays (cli/element_key.c) ---- */

/* "list[2]" as people write it becomes "list.2", "list[+]" becomes "list" with *ret_append; any other text, and a
 * quoted one, stays as it is. Heap, NULL without memory. */
char *element_key(const char *text, bool *ret_append);
/* The array at path in the transaction, a new reference; empty if it is not set. Errors: QS_INVALID (no array). */
enum qs_status element_array(struct qs_txn *txn, const char *path, json_t **ret_array,
                             struct qs_error *err) QS_MUST_USE;

/* ---- input (cli/input.c) ---- */

#define REPLACE_MAX_BYTES ((size_t)1 << 30) /* what `replace` takes from standard input */

/* A whole file, or standard input for "-". Heap bytes, zero-terminated. Errors: QS_NOT_FOUND, QS_UNTRUSTED, QS_IO,
 * QS_INVALID. */
enum qs_status input_read(const char *file_name, size_t max_bytes, char **ret_data, size_t *ret_len,
                          struct qs_error *err) QS_MUST_USE;

#endif
