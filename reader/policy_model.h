/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room reader/: What is in force for this session?
 *
 * The policy as a value: from one scope's leaves, completed by the schema's defaults, to and from its canonical
 * document.
 *
 * A *part* is what one scope says: fields it does not set are top (anything goes), and stand so in `set`. A policy is a
 * part with every field set. All fields are described by one table, so that parsing, encoding, narrowing and comparing
 * cannot forget one.
 *
 * The document (canonical JSON; what is digested, frozen and printed):
 *
 *     {"audit", "backend", "caches", "devices": [], "environment": {"pass": [[], ...], "secrets": [], "set": {}},
 *      "filesystem", "git": {"mode", "newRepositories", "packBytes", "scratchBytes", "seconds"}, "hiddenPaths": [],
 *      "limits": {"cpuSeconds", "fileBytes", "memoryBytes", "openFiles", "processes",
 *      "wallSeconds"}, "network", "protectedPaths": [], "sockets": [], "unixSockets", "writableRoots": []}
 *
 * environment.pass is a conjunction: a name passes if each list has a match.
 */
#ifndef READER_POLICY_MODEL_H
#define READER_POLICY_MODEL_H

#include "qsettings/policy.h"
#include "text/doc.h"

enum policy_kind {
    POLICY_ENUM,      /* an enum of policy.h, narrow first; the meet is the smaller */
    POLICY_CONTAINED, /* paths, each with all below it; the meet is what both contain */
    POLICY_UNITED,    /* paths or globs that take away; the meet is the union */
    POLICY_PASS,      /* lists of globs that must all match; the meet is the conjunction */
    POLICY_PAIRS,     /* name and value; the meet keeps equal pairs */
    POLICY_LIMIT,     /* 0 is no limit; the meet is the smaller, 0 as infinite */
};

struct policy_field {
    const char *path;  /* the setting, as people type it */
    const char *group; /* the document's object that holds it, NULL: the document itself */
    const char *name;  /* the document's member */
    enum policy_kind kind;
    const char *words; /* POLICY_ENUM: narrow first, "a|b|c" */
    size_t offset;     /* in struct qs_policy */
};

#define POLICY_FIELD_COUNT 25u
extern const struct policy_field policy_fields[POLICY_FIELD_COUNT];

struct policy_part {
    struct qs_policy policy;
    uint32_t set; /* bit i: field i is set */
};
#define POLICY_ALL ((1u << POLICY_FIELD_COUNT) - 1)
/* The fields of tools.executionSandbox: a scope that sets one of them sets the policy. */
#define POLICY_SANDBOX_FIELDS 0x7u

void policy_release(struct qs_policy *policy);
void policy_part_release(struct policy_part *part);

/* What the leaves of one scope (sorted, and accepted by schema_check_leaves) say. Errors: QS_INVALID, QS_IO. */
enum qs_status policy_part_from_leaves(const struct leaf *items, size_t count, struct policy_part *ret_part,
                                       struct qs_error *err) QS_MUST_USE;

/* Sets the fields that are not set to the schema's defaults. Errors: QS_INVALID (a field without default: filesystem,
 * network), QS_IO. */
enum qs_status policy_part_complete(struct policy_part *part, struct qs_error *err) QS_MUST_USE;

/* The document of the fields that are set; a new reference. */
enum qs_status policy_part_to_json(const struct policy_part *part, json_t **ret_value,
                                   struct qs_error *err) QS_MUST_USE;

/* A whole policy from its document; every field must be there, and no other. Errors: QS_INVALID, QS_IO. */
enum qs_status policy_part_from_json(const json_t *document, struct policy_part *ret_part,
                                     struct qs_error *err) QS_MUST_USE;

/* The index of the field with this document name in this group (NULL: none), -1: none. */
int policy_field_of(const char *group, const char *name);

/* ---- values of fields ---- */

static inline const void *policy_slot(const struct qs_policy *policy, unsigned field)
{
    return (const char *)policy + policy_fields[field].offset;
}
static inline void *policy_slot_mut(struct qs_policy *policy, unsigned field)
{
    return (char *)policy + policy_fields[field].offset;
}

/* Lists: sorted bytewise, distinct. */
void policy_list_release(struct qs_list *list);
enum qs_status policy_list_add(struct qs_list *list, const char *text, size_t len, struct qs_error *err) QS_MUST_USE;
void policy_list_sort(struct qs_list *list); /* sorts and removes duplicates */
bool policy_list_has(const struct qs_list *list, const char *text);
int policy_list_compare(const struct qs_list *a, const struct qs_list *b);

/* Conjunctions: lists sorted by policy_list_compare, distinct. */
void policy_pass_sort(struct qs_policy *policy);

/* A path without empty and "." parts and without a final slash ("/" and "~" stay); text in place. */
void policy_normalise_path(char *path);

/* Is path the same as root, or below it? Lexical, over normalised paths. */
bool policy_path_within(const char *path, const char *root);

/* Matches a whole name against a glob of * and ?, byte by byte, in every locale the same. */
bool policy_glob_match(const char *glob, const char *name, bool fold_case);

/* Does a variable of this name pass? Secrets take away what pass gives, letter case aside. */
bool policy_env_passes(const struct qs_policy *policy, const char *name);

/* Sets a field, which must be unset, from a value as settings hold it (environment.pass is one list there). */
enum qs_status policy_field_from_json(const json_t *value, unsigned field, struct policy_part *part,
                                      struct qs_error *err) QS_MUST_USE;

/* Adds one list to the conjunction. */
enum qs_status policy_pass_add(struct qs_policy *policy, const json_t *globs, unsigned field,
                               struct qs_error *err) QS_MUST_USE;

/* QS_INVALID: the field's value is one that no policy can have. */
enum qs_status policy_field_invalid(unsigned field, struct qs_error *err);

#endif
