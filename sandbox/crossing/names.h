/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and ids that come from a private git directory, checked before the host's git is shown any of them. Pure; the
 * rules are those of git-check-ref-format(1) and of git's own verify_path (read-cache.c), which it does not apply to an
 * index that it reads.
 */
#ifndef SANDBOX_CROSSING_NAMES_H
#define SANDBOX_CROSSING_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define REF_NAME_MAX_BYTES   250
#define INDEX_NAME_MAX_BYTES 4096
#define OBJECT_ID_MAX        64 /* hex digits of SHA-256; SHA-1 has 40 */

/* 40 or 64 lower-case hex digits. */
bool name_is_id(const char *text);
bool name_is_null_id(const char *id);

/* A whole ref name, "refs/...", that git itself accepts. */
bool name_ref_valid(const char *name);

/* Why a ref of that name does not cross, in words that follow "it"; NULL where it may. */
const char *name_ref_refused(const char *name);

/* Its name without refs/heads/, refs/tags/ or refs/notes/. */
const char *name_ref_short(const char *name);

/* Could the short name be taken for the abbreviation of an object's id? */
bool name_abbreviates(const char *short_name);

/* The ref with that number which a short form of name could mean as well, gitrevisions(7). False after the last one. */
#define REF_RIVAL_BYTES (REF_NAME_MAX_BYTES + 32)
bool name_ref_rival(const char *name, unsigned number, char rival[REF_RIVAL_BYTES]);

/* An index entry's mode (100644, 100755, 120000, 160000), and its name under that mode. */
bool name_mode_valid(const char *mode);
bool name_index_valid(const char *name, const char *mode);

#endif
