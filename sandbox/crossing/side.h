/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One side of a crossing: the refs, stashes and checkouts of a git directory as they were read once, into memory. The
 * private directory, the base and the host's are all of this form, so that a plan compares like with like.
 *
 * A side is parsed from the texts that git prints, and the base keeps just those texts. Pure: nothing here opens a
 * file.
 */
#ifndef SANDBOX_CROSSING_SIDE_H
#define SANDBOX_CROSSING_SIDE_H

#include "base/buf.h"
#include "base/error.h"

#include <stdbool.h>

#define SIDE_REFS_MAX          200000u
#define SIDE_ENTRIES_MAX       1000000u
#define SIDE_STASHES_MAX       100u
#define SIDE_STATE_MAX_BYTES   ((size_t)1 << 20)
#define SIDE_TEXT_MAX_BYTES    ((size_t)512 << 20)
#define SIDE_REF_FORMAT        "%(objectname) %(refname) %(symref)"
#define SIDE_HEAD_BRANCH(head) ((head) && strncmp((head), "ref: ", 5) == 0 ? (head) + 5 : NULL)

/* The files of a merge and the like, and what may be in them. */
#define SIDE_STATES(X) \
    X(MERGE_HEAD, "MERGE_HEAD", IDS) \
    X(CHERRY_PICK_HEAD, "CHERRY_PICK_HEAD", IDS) \
    X(REVERT_HEAD, "REVERT_HEAD", IDS) \
    X(ORIG_HEAD, "ORIG_HEAD", IDS) \
    X(MERGE_MODE, "MERGE_MODE", MODE) \
    X(MERGE_MSG, "MERGE_MSG", TEXT) \
    X(SQUASH_MSG, "SQUASH_MSG", TEXT)
enum side_state {
#define SIDE_STATE_ENUM(id, name, kind) SIDE_##id,
    SIDE_STATES(SIDE_STATE_ENUM)
#undef SIDE_STATE_ENUM
        SIDE_STATE_COUNT
};
extern const char *const side_state_names[SIDE_STATE_COUNT];
/* Is this what git writes into such a file? */
bool side_state_valid(enum side_state state, const char *text);

struct git_ref {
    const char *name;
    const char *value; /* an id, or the ref that a symbolic one names */
    bool symbolic;
};

struct git_stash {
    const char *id;
    const char *text;
};

/* What all worktrees of a repository share. Texts point into the buffers. */
struct git_refs {
    struct git_ref *items; /* by name */
    size_t count;
    struct git_stash *stashes; /* the newest first */
    size_t stash_count;
    struct buf text, stash_text; /* as printed by for-each-ref under SIDE_REF_FORMAT; logs/refs/stash */
    char *lines, *stash_lines;   /* the same, cut up */
    bool partial;                /* git could not read some: what is missing may be there */
};

struct git_entry {
    char flag; /* of ls-files -v: H, S skip-worktree, M unmerged; in lower case: assume-unchanged */
    char stage;
    const char *mode, *id, *name;
};

/* What belongs to one worktree. */
struct git_checkout {
    char *head;                /* "ref: refs/heads/X" or an id; NULL: unreadable */
    struct git_entry *entries; /* by name and stage */
    size_t entry_count;
    char *states[SIDE_STATE_COUNT]; /* NULL: no such file */
    struct buf index_text;          /* as printed by ls-files -s -v -z */
    char *index_lines;
};

/* These take the texts over. Errors: QS_INVALID (not of that form, out of order, over a bound), QS_IO (memory). */
enum qs_status side_parse_refs(struct git_refs *refs, struct qs_error *err) QS_MUST_USE;
enum qs_status side_parse_stashes(struct git_refs *refs, struct qs_error *err) QS_MUST_USE;
enum qs_status side_parse_index(struct git_checkout *checkout, struct qs_error *err) QS_MUST_USE;
/* A HEAD file's content, without its end of line. NULL: neither a branch nor an id; memory. */
char *side_parse_head(const char *text);

void git_refs_release(struct git_refs *refs);
void git_checkout_release(struct git_checkout *checkout);

const struct git_ref *git_refs_find(const struct git_refs *refs, const char *name);
/* Both absent, or the same value. */
bool git_ref_same(const struct git_ref *a, const struct git_ref *b);
bool git_stashes_same(const struct git_refs *a, const struct git_refs *b);

/* The entries of one name from at on: how many. */
size_t git_entries_of(const struct git_checkout *checkout, size_t at);
/* The first entry of that name, or entry_count. */
size_t git_entries_find(const struct git_checkout *checkout, const char *name);
bool git_entries_same(const struct git_checkout *a, size_t at_a, size_t count_a, const struct git_checkout *b,
                      size_t at_b, size_t count_b);
/* The next name over several checkouts, each at its own place; NULL at the end of all. */
const char *git_entries_next(const struct git_checkout *const *sides, const size_t *at, size_t count);
bool git_checkout_same(const struct git_checkout *a, const struct git_checkout *b);

#endif
