/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publishing, inside view.
 *
 *   1. FILE is read, with the record of what was last published there
 *   2. the settings are read and rendered: after FILE, so that a text that is older than FILE is never put over it
 *   3. FILE's digest is not the record's: somebody's edit, QS_CONFLICT
 *   4. FILE is replaced, expecting what was read in 1; the record travels with the new file; QS_CONFLICT: back to 1
 */
#ifndef PUBLISH_PUBLISH_H
#define PUBLISH_PUBLISH_H

#include "base/buf.h"
#include "base/digest.h"
#include "qsettings/publish.h"
#include "text/doc.h"
#include "writer/resolve_target.h"

#define PUBLISH_ATTRIBUTE "user.qsettings.published"

/* ---- render.c: what a target should hold ---- */

/* Checks file (absolute, plain), scope and format. Errors: QS_USAGE. */
enum qs_status target_check(const struct qs_target *target, struct qs_error *err) QS_MUST_USE;

/* The settings that belong in a target; a new reference. A required system store that is absent, and no store at all,
 * are QS_ABSENT: an empty text in place of a policy would drop it. */
enum qs_status target_value(struct qs_store *store, const char *root, const struct qs_target *target,
                            json_t **ret_value, struct qs_error *err) QS_MUST_USE;

/* Its text in the target's format. */
enum qs_status target_text(const struct qs_target *target, const json_t *value, struct buf *ret_text,
                           struct qs_error *err) QS_MUST_USE;

/* Mode of a new file. */
mode_t target_mode(const struct qs_target *target);

/* ---- view.c: what a target holds, and the record ---- */

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

/* Is the content what was last published from here? */
bool view_is_ours(const struct view *view);
bool view_has_record(const struct view *view, const char digest[DIGEST_TEXT_BYTES]);

/* Where the record is a file beside: says that the text with this digest is about to be published (the present one
 * stays published if keep), or with only that it alone is now. Errors: those of qs_file_replace. */
enum qs_status view_announce(const struct view *view, const struct qs_target *target, const char *digest, bool keep,
                             struct qs_error *err) QS_MUST_USE;

/* ---- compare.c ---- */

/* The leaves in which two documents differ, in order; either value has data NULL where there is no such leaf. Return
 * false to stop; it must set err then. */
typedef enum qs_status (*difference_visit)(void *context, struct qs_bytes key, struct qs_bytes in_file,
                                           struct qs_bytes in_store, struct qs_error *err);
enum qs_status leaves_compare(const struct leaves *file, const struct leaves *store, difference_visit visit,
                              void *context, struct qs_error *err) QS_MUST_USE;

/* The file's text as leaves. Errors: QS_INVALID with the place. */
enum qs_status view_leaves(const struct view *view, const struct qs_target *target, struct leaves *ret_leaves,
                           struct qs_error *err) QS_MUST_USE;

/* ---- publish.c ---- */

/* qs_publish; the content accepted[len] (may be NULL) counts as published from here. */
enum qs_status publish_target(struct qs_store *store, const char *root, const struct qs_target *target, unsigned flags,
                              const char *accepted, size_t len, enum qs_publish_outcome *ret_outcome,
                              struct qs_error *err) QS_MUST_USE;

#endif
