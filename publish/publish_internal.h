/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room publish/: How do programs that read a file get one?
 *
 * Publishing, inside view.
 *
 *   1. FILE is read, with the record of what was last published there
 *   2. the settings are read and rendered: after FILE, so that a text that is older than FILE is never put over it
 *   3. if FILE's digest is not the record's, somebody edited it: QS_CONFLICT
 *   4. FILE is replaced, expecting what was read in 1; the record travels with the new file; QS_CONFLICT: back to 1
 */
#ifndef PUBLISH_PUBLISH_INTERNAL_H
#define PUBLISH_PUBLISH_INTERNAL_H

#include "base/buf.h"
#include "base/digest.h"
#include "qsettings/publish.h"
#include "text/doc.h"
#include "writer/resolve_target.h"

#define PUBLISH_ATTRIBUTE "user.qsettings.published"

/* ---- render.c: what a target should contain ---- */

/* Copies a caller's target and checks file (absolute, plain), scope, format and dialect. Errors: QS_USAGE. */
enum qs_status target_take(const struct qs_target *given, struct qs_target *ret_target,
                           struct qs_error *err) QS_MUST_USE;

/* The settings that belong in a target; a new reference. A required system store that is absent, and no store at all,
 * are QS_ABSENT: an empty text in place of a policy would drop it. */
enum qs_status target_value(struct qs_store *store, const struct qs_target *target, json_t **ret_value,
                            struct qs_error *err) QS_MUST_USE;

/* Its text in the target's format. */
enum qs_status target_text(const struct qs_target *target, const json_t *value, struct buf *ret_text,
                           struct qs_error *err) QS_MUST_USE;

/* Mode of a new file. */
mode_t target_mode(const struct qs_target *target);

/* ---- target_view.c: what a target contains, and the record ---- */

struct view {
    struct resolved_target resolved;
    bool exists;
    char *data; /* NULL unless it exists */
    size_t len;
    struct stat st;
    bool has_attributes; /* of the file system: the record is an attribute; else it is a file beside */
    size_t record_count; /* texts that count as published: one; two while a call is under way (or was killed) */
    char records[2][DIGEST_TEXT_BYTES];
};

/* Follows links as the writer does. flags: enum qs_publish_flags. A missing file is no error. Errors: those of
 * resolve_target; QS_INVALID (no regular file, too large), QS_IO. */
enum qs_status view_read(const struct qs_target *target, unsigned flags, struct view *ret_view,
                         struct qs_error *err) QS_MUST_USE;
void view_release(struct view *view); /* for AUTO(view_release) */

/* Is the content data[len]? */
bool view_contains(const struct view *view, const void *data, size_t len);
/* Is the content what was last published from here? */
bool view_is_ours(const struct view *view);
bool view_has_record(const struct view *view, const char digest[DIGEST_TEXT_BYTES]);

/* If the record is a file beside: it names the text with this digest, which is about to be published, and with keep the
 * present one too. Errors: those of qs_file_replace. */
enum qs_status view_announce(const struct view *view, const struct qs_target *target, const char *digest, bool keep,
                             struct qs_error *err) QS_MUST_USE;

/* ---- compare.c ---- */

/* The leaves in which two documents differ, in order; a value has data NULL if there is no such leaf. An error of visit
 * ends the comparison. */
typedef enum qs_status (*difference_visit)(void *context, struct qs_bytes key, struct qs_bytes in_file,
                                           struct qs_bytes in_store, struct qs_error *err);
enum qs_status leaves_compare(const struct leaves *file, const struct leaves *store, difference_visit visit,
                              void *context, struct qs_error *err) QS_MUST_USE;

/* The file's text as leaves. Errors: QS_INVALID with the place. */
enum qs_status view_leaves(const struct view *view, const struct qs_target *target, struct leaves *ret_leaves,
                           struct qs_error *err) QS_MUST_USE;

/* ---- publish.c ---- */

#define PUBLISH_ALL_FLAGS \
    (QS_PUBLISH_FORCE | QS_PUBLISH_BACKUP | QS_PUBLISH_DANGLING | QS_PUBLISH_HARDLINKED | QS_PUBLISH_OTHER_OWNER)

/* One publishing, over all its rounds. */
struct publishing {
    struct qs_store *store; /* names the root; if the target is of its scope, it is read through it */
    struct qs_target target;
    unsigned flags;              /* enum qs_publish_flags */
    const struct view *accepted; /* NULL, or a content that counts as published from here */
    bool last_round;
};

enum qs_status publish_target(struct publishing *publishing, enum qs_publish_outcome *ret_outcome,
                              struct qs_error *err) QS_MUST_USE;

#endif
