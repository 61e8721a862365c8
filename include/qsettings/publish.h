/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishing: settings into a file that is never absent, for programs that read a settings file.
 *
 *     struct qs_target target = {.size = sizeof target, .file = "/etc/agent/settings.json", .scope = QS_SCOPE_SYSTEM};
 *     enum qs_publish_outcome outcome;
 *     if (qs_publish(store, &target, 0, &outcome, &err) == QS_CONFLICT)
 *         puts("edited: qs_publish_check says what, qs_publish_adopt takes it over, QS_PUBLISH_FORCE overwrites it");
 *
 * The record of what was last published travels with the file, as the extended attribute user.qsettings.published that
 * is set before the rename; where the file system has none, in the file .qs-pub-HASH beside it. It holds the text's
 * digest. A file whose digest is another one was edited by someone, and so was one without a record.
 *
 * A registered target is published by qs_publish_registered, which whoever commits calls after the commit, changed or
 * not: what a crash between commit and publishing left undone is made good by the next call.
 *
 * Threads: as for stores. Two publishers of one file at once are fine: neither puts an older text over a newer one.
 */
#ifndef QSETTINGS_PUBLISH_H
#define QSETTINGS_PUBLISH_H

#include "qsettings/file.h"
#include "qsettings/store.h"
#include "qsettings/txn.h"

#ifdef __cplusplus
extern "C" {
#endif

enum qs_publish_format { QS_PUBLISH_JSON = 0, QS_PUBLISH_YAML = 1 };

/* What the program that reads the file understands. */
enum qs_dialect {
    QS_DIALECT_FULL = 0,      /* every key */
    QS_DIALECT_QWEN_CODE = 1, /* without the executor object, which Qwen Code refuses */
};

/* What a target holds and how. Registered targets live in a store of the scope they belong to. */
struct qs_target {
    size_t size;         /* sizeof(struct qs_target) */
    const char *file;    /* absolute */
    enum qs_scope scope; /* QS_SCOPE_EFFECTIVE, or a scope: the settings of that store alone */
    enum qs_publish_format format;
    enum qs_dialect dialect;
};

enum qs_publish_flags {
    QS_PUBLISH_FORCE = 1 << 0,  /* overwrite a file that someone edited since it was last published */
    QS_PUBLISH_BACKUP = 1 << 1, /* these are as in enum qs_replace_flags */
    QS_PUBLISH_DANGLING = 1 << 2,
    QS_PUBLISH_HARDLINKED = 1 << 3,
    QS_PUBLISH_OTHER_OWNER = 1 << 4,
};

enum qs_publish_outcome { QS_PUBLISH_WRITTEN = 0, QS_PUBLISH_UNCHANGED = 1 };

/*
 * Publishes one target from the stores at store's root; store may be of any scope, and need not exist.
 *
 * A new file gets mode 0644 for the scopes that everyone may read, 0600 for "user" and "effective" (they may hold
 * secrets); an existing one keeps its mode. QS_PUBLISH_UNCHANGED: the file held this text already.
 * Durability: as qs_file_replace. Errors: QS_CONFLICT (edited since it was last published, or in between; nothing was
 * lost), QS_USAGE (target), QS_ABSENT (the scope has no store), those of qs_file_replace and of reading.
 */
QS_API enum qs_status qs_publish(struct qs_store *store, const struct qs_target *target, unsigned flags,
                                 enum qs_publish_outcome *ret_outcome, struct qs_error *err) QS_MUST_USE;

/* How a file stands to the settings. */
enum qs_publish_state {
    QS_PUBLISH_CURRENT = 0, /* it holds exactly what would be published */
    QS_PUBLISH_STALE = 1,   /* it is as last published; the settings have moved on */
    QS_PUBLISH_MISSING = 2, /* it does not exist */
    QS_PUBLISH_EDITED = 3,  /* someone edited it since, or it was never published from here */
};
QS_API const char *qs_publish_state_name(enum qs_publish_state state); /* "current", "stale", "missing", "edited" */

/* Both are allocated by the library. */
struct qs_publish_difference {
    const char *key;     /* as people type it */
    const char *in_file; /* canonical JSON; NULL: not there */
    const char *in_store;
};
struct qs_publish_report {
    enum qs_publish_state state;
    size_t count;                 /* leaves that differ; 0 with EDITED: only layout or comments do, or see parse */
    const struct qs_error *parse; /* why the file cannot be read as a document, and where; NULL if it can */
};

/* Compares; changes nothing. Secrets are shown as they are: whoever prints the report masks them.
 * Ownership: the caller frees with qs_publish_report_free. Errors: as qs_publish. */
QS_API enum qs_status qs_publish_check(struct qs_store *store, const struct qs_target *target,
                                       struct qs_publish_report **ret_report, struct qs_error *err) QS_MUST_USE;
/* A difference, in the store's order; NULL unless index < count. Valid until the report is freed. */
QS_API const struct qs_publish_difference *qs_publish_report_difference(const struct qs_publish_report *report,
                                                                        size_t index);
QS_API void qs_publish_report_free(struct qs_publish_report *report);

struct qs_adopt_options {
    size_t size;
    const char *message; /* of the commit; NULL: "adopt FILE" */
    unsigned wait_ms;    /* for the lock; 0: none */
    unsigned flags;      /* enum qs_publish_flags for publishing afterwards */
};

/*
 * Merges an edited file into store as one commit, then publishes (which gives the file its record and layout).
 *
 * Only what differs is set: leaves that the file has otherwise. Leaves that the file lacks are removed if the settings
 * have not moved on since the file was last published; if they have, a missing leaf may as well be newer than the file,
 * and stays. A file that was edited again in the meantime is not overwritten (QS_CONFLICT; the commit stands).
 *
 * *ret_info is filled as soon as the commit is made, so also if publishing then fails. It may be NULL; so may options
 * (wait_ms is QS_DEFAULT_WAIT_MS then). Errors: QS_NOT_FOUND (no such file), QS_INVALID (the
 * file's text, with its place; a value against the schema; a removed leaf that another scope sets), those of a
 * transaction and of qs_publish.
 */
QS_API enum qs_status qs_publish_adopt(struct qs_store *store, const struct qs_target *target,
                                       const struct qs_adopt_options *options, struct qs_commit_info *ret_info,
                                       struct qs_error *err) QS_MUST_USE;

/*
 * Registers a target in store (or changes its registration), as one commit; nothing is published yet. The file's path
 * is absolute without "//", "." and "..", UTF-8, at most QS_KEY_MAX_BYTES. The file, if it exists, and its directory
 * must belong to the store's owner (the directory to root at least), and the directory must not be the store's.
 * ret_info may be NULL. Errors: QS_USAGE (path, scope), QS_UNTRUSTED (owner), those of a transaction.
 */
QS_API enum qs_status qs_publish_register(struct qs_store *store, const struct qs_target *target, const char *message,
                                          unsigned wait_ms, struct qs_commit_info *ret_info,
                                          struct qs_error *err) QS_MUST_USE;
/* Takes a registration away; the file stays as it is. Errors: QS_NOT_FOUND, those of a transaction. */
QS_API enum qs_status qs_publish_unregister(struct qs_store *store, const char *file, const char *message,
                                            unsigned wait_ms, struct qs_commit_info *ret_info,
                                            struct qs_error *err) QS_MUST_USE;

/* The registered targets, sorted by file. */
struct qs_target_list;
/* Ownership: the caller frees with qs_target_list_free. Errors: those of qs_snapshot_take (QS_ABSENT too), QS_DAMAGED
 * (a registration of unknown form). */
QS_API enum qs_status qs_publish_list(struct qs_store *store, struct qs_target_list **ret_list,
                                      struct qs_error *err) QS_MUST_USE;
QS_API size_t qs_target_list_count(const struct qs_target_list *list);
/* NULL unless index < count. Valid until the list is freed. */
QS_API const struct qs_target *qs_target_list_at(const struct qs_target_list *list, size_t index);
QS_API void qs_target_list_free(struct qs_target_list *list);

/* Publishes all targets registered in store that are not up to date, under the same owner rule. An absent store has
 * none. The first failure is reported after all were tried; *ret_written counts those written, also then (may be
 * NULL). */
QS_API enum qs_status qs_publish_registered(struct qs_store *store, size_t *ret_written,
                                            struct qs_error *err) QS_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
