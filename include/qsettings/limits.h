/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every bound on input, by name. A thing above its bound is refused with QS_INVALID and the bound in the message;
 * nothing is ever cut to fit.
 */
#ifndef QSETTINGS_LIMITS_H
#define QSETTINGS_LIMITS_H

#define QS_KEY_MAX_BYTES        511u                 /* encoded key: segments joined by a zero byte; LMDB's key limit */
#define QS_KEY_MAX_SEGMENTS     64u                  /* segments of one key, and so the depth of objects */
#define QS_DOCUMENT_MAX_DEPTH   64u                  /* nesting of objects and arrays in a document */
#define QS_VALUE_MAX_BYTES      (4u * 1024u * 1024u) /* canonical text of one leaf */
#define QS_DOCUMENT_MAX_BYTES   (64u * 1024u * 1024u) /* text of one document */
#define QS_SETTINGS_MAX_ENTRIES (1000u * 1000u)       /* leaves in one store */
#define QS_LOCKS_MAX_ENTRIES    (64u * 1024u)         /* locks in one store */
#define QS_TARGETS_MAX_ENTRIES  (64u * 1024u)         /* files that one store is published to */
#define QS_MESSAGE_MAX_BYTES    4096u                 /* commit message */
#define QS_NAME_MAX_BYTES       255u                  /* user and program names in the history */
#define QS_PATH_MAX_BYTES       4095u                 /* a file name handed to the library */
#define QS_LINK_HOPS_MAX        40u                   /* symbolic links followed on the way to one file */
#define QS_WORKSPACE_MAX_BYTES  (8u * 1024u * 1024u)  /* a workspace file */
#define QS_DIGEST_BYTES         32u                   /* BLAKE2b-256 */
#define QS_STORE_ID_BYTES       16u
#define QS_DEFAULT_WAIT_MS      10000u /* wait for the writer lock */
#define QS_DEFAULT_READ_WAIT_MS 2000u  /* a reader's deadline */

#endif
