/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room schema/: Which keys and values may be set?
 *
 * The schema: one table of the settings whose meaning this project knows, and everything that follows from it alone:
 * validation, help, completion, a JSON Schema, the manual page.
 *
 * The table is schema/schema_table.h, one line per key. A path may hold patterns: hooks.<Event>, env.<NAME>,
 * mcpServers.<name>.command; <...> stands for any one segment. Every strict prefix of a path is an object of the
 * schema. Keys that the table does not know are accepted anywhere but in closed objects; near misses of known ones are
 * refused.
 *
 * Checks work on leaves, so that a whole stored document need never be built to judge it:
 *
 *     a file, `check FILE`         doc_read, then schema_check_document(doc_root(doc), doc, 0, err)
 *     a change, `set KEY VALUE`    schema_check_value(key, value, err)          ("required" is not asked for)
 *     the scope before a commit    schema_check_leaves(all leaves, ..., schema_flags_of(scope), err)
 *
 * Errors: every refusal is QS_INVALID with the key path in err->path, what was found, what is allowed and, for a near
 * miss, the right name; with a doc also file, line and column.
 * Threads: all functions may be called from any thread; the table is read-only.
 */
#ifndef SCHEMA_SCHEMA_H
#define SCHEMA_SCHEMA_H

#include "qsettings/store.h"
#include "text/doc.h"

enum schema_type {
    SCHEMA_BOOL,
    SCHEMA_INTEGER, /* any 64-bit integer */
    SCHEMA_COUNT,   /* an integer from 0 up */
    SCHEMA_STRING,
    SCHEMA_ENUM, /* a string, one of allowed */
    SCHEMA_BOOL_OR_STRING,
    SCHEMA_STRINGS,        /* array of strings */
    SCHEMA_PATHS,          /* array of absolute paths or "~", "~/..."; no ".." */
    SCHEMA_RELATIVE_PATHS, /* array of relative paths; no ".." */
    SCHEMA_GLOBS,          /* array of environment names, with * and ? */
    SCHEMA_STRING_MAP,     /* object of strings */
    SCHEMA_ENVIRONMENT,    /* object of strings whose keys are environment names */
    SCHEMA_MATCHERS,       /* array of {matcher, sequential, hooks[]} (hooks.<Event>) */
    SCHEMA_OBJECT,         /* open object: known children are checked, others accepted */
    SCHEMA_CLOSED,         /* closed object: other children are refused */
};

/* How a higher layer's value joins a lower layer's. */
enum schema_merge {
    SCHEMA_DEEP,    /* objects merge, all else is replaced */
    SCHEMA_UNION,   /* arrays: the distinct elements of all layers, lowest first */
    SCHEMA_CONCAT,  /* arrays: one after the other, lowest first */
    SCHEMA_SHALLOW, /* objects: a higher layer's entry replaces the whole entry of that name */
    SCHEMA_REPLACE, /* the highest layer's value as a whole */
};

enum schema_restriction {
    SCHEMA_ANYONE,
    SCHEMA_OPERATOR,             /* ignored from the workspace */
    SCHEMA_OPERATOR_WITH_POLICY, /* ignored from the workspace once a policy exists */
    SCHEMA_TIGHTEN_TRUE,         /* the workspace may only narrow: it may say true */
    SCHEMA_TIGHTEN_FALSE,        /* the workspace may only narrow: it may say false */
};

enum schema_entry_flags {
    SCHEMA_SECRET = 1 << 0,   /* refused in world-readable scopes, hidden in output */
    SCHEMA_REQUIRED = 1 << 1, /* must be there when its parent is */
    SCHEMA_LITERAL = 1 << 2,  /* part of the policy: no $VAR anywhere in it; covers what is below */
};

struct schema_entry {
    const char *path; /* as people type it, patterns in <> */
    enum schema_type type;
    const char *allowed;      /* SCHEMA_ENUM: "a|b|c"; else NULL */
    const char *default_json; /* the built-in default as JSON text; NULL: none */
    enum schema_merge merge;
    enum schema_restriction restriction;
    unsigned flags;          /* enum schema_entry_flags */
    const char *description; /* one or more sentences, with final period */
};

/* The whole table, in the order of the manual. */
const struct schema_entry *schema_table(size_t *ret_count);

/* The entry for a key: its own, else the nearest one above it (the covering entry: mcpServers for mcpServers.x.y.z);
 * *ret_exact (may be NULL) says which. NULL where the table knows neither. */
const struct schema_entry *schema_find(const struct qs_key *key, bool *ret_exact);

/* As schema_find, over encoded bytes (a leaf's key). */
const struct schema_entry *schema_find_bytes(const void *key, size_t len, bool *ret_exact);

/* Is the value at this key, or anything below it, secret? For one leaf: is it? */
bool schema_secret(const void *key, size_t len);

/* The words for type and allowed values: "open|closed", "array of strings", "integer from 0 up". Static storage. */
const char *schema_type_text(const struct schema_entry *entry);
const char *schema_merge_name(enum schema_merge merge);                   /* "deep", "union", ... */
const char *schema_restriction_text(enum schema_restriction restriction); /* "", "operator", "tighten", ... */

/* Completion of values: the index-th of the values that may be written for the entry (true and false for booleans),
 * into text. False when there is none. */
bool schema_allowed_at(const struct schema_entry *entry, size_t index, char *text, size_t size);

/* ---- checks ---- */

enum schema_check_flags {
    SCHEMA_PARTIAL = 1 << 0,    /* a change, not a whole scope: required fields may be missing */
    SCHEMA_NO_SECRETS = 1 << 1, /* a world-readable scope: secret keys are refused */
};

/* The flags for a whole document of this scope: SCHEMA_NO_SECRETS for system and defaults. */
unsigned schema_flags_of(enum qs_scope scope);

/* Judges a document. doc may be NULL (no places in messages). */
enum qs_status schema_check_document(const json_t *root, const struct doc *doc, unsigned flags,
                                     struct qs_error *err) QS_MUST_USE;

/* The same over sorted leaves (a snapshot's, or a transaction's). Cost: no allocation but for arrays. */
enum qs_status schema_check_leaves(const struct leaf *items, size_t count, const struct doc *doc, unsigned flags,
                                   struct qs_error *err) QS_MUST_USE;

/* A value that is to land at key (any JSON value; its fields are judged where they land). SCHEMA_PARTIAL is implied:
 * whether a closed object is complete is judged on the whole scope, at commit. */
enum qs_status schema_check_value(const struct qs_key *key, const json_t *value, unsigned flags,
                                  struct qs_error *err) QS_MUST_USE;

/* What a person should know of a document that is accepted: a legacy sandbox that does nothing here, an unknown key
 * that looks like a misspelt one, what reads like a secret in a world-readable scope. Texts are full sentences without
 * final period, beginning with the key path. */
struct schema_notes {
    char **items;
    size_t count;
};
enum qs_status schema_collect_notes(const struct leaf *items, size_t count, unsigned flags,
                                    struct schema_notes *ret_notes, struct qs_error *err) QS_MUST_USE;
void schema_notes_release(struct schema_notes *notes);

/* VALUE on a command line: JSON where it parses and the schema agrees, else a string. Where the schema agrees with
 * neither the JSON value is given out, so that schema_check_value says what is wrong. A new reference. */
enum qs_status schema_value_for_text(const struct qs_key *key, const char *text, size_t len, json_t **ret_value,
                                     struct qs_error *err) QS_MUST_USE;

/* ---- the table as documents; new references ---- */

/* {keys: [{path, type, allowed, default, merge, restriction, secret, required, description}]} ; key NULL: all, else the
 * entry for key and those below it. Errors: QS_NOT_FOUND, QS_IO. */
enum qs_status schema_json(const struct qs_key *key, json_t **ret_value, struct qs_error *err) QS_MUST_USE;

/* A JSON Schema (draft 2020-12) that accepts what this schema accepts, near misses aside. */
enum qs_status schema_json_schema(json_t **ret_value, struct qs_error *err) QS_MUST_USE;

#endif
