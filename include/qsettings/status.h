/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes and the error record.
 *
 * Every function that can fail returns enum qs_status and takes, as its last parameter, a struct qs_error that the
 * caller owns and that may be NULL. Outputs (parameters named ret_x) are untouched on failure. There are three
 * exceptions, each stated at its function: qs_policy_read gives its result also on refusal, qs_publish_adopt the commit
 * although publishing failed, and qs_publish_registered the number of files written before a failure.
 *
 * Misuse (a NULL pointer, a number out of range, a call before its time) is QS_USAGE. A function that returns no status
 * answers misuse with NULL, zero or false. Functions that close, free or release take NULL and do nothing.
 *
 * Structures of the caller begin with their size, so that a program works with a later version of the library, which
 * may know more fields:
 *
 *     struct qs_commit_options options = {.size = sizeof options, .message = "ops-114"};
 *     struct qs_commit_info info = {.size = sizeof info};
 *
 * Fields that are not named are zero, which is their usual value. A program that was built for a later version and sets
 * a field that this version does not know is refused with QS_USAGE. What the library allocates is handed out as a
 * pointer: do not copy such a structure, and do not take its size.
 *
 * Threads: the error record is plain memory of the caller; the library keeps no "last error" anywhere.
 */
#ifndef QSETTINGS_STATUS_H
#define QSETTINGS_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define QS_API      __attribute__((visibility("default")))
#define QS_MUST_USE __attribute__((warn_unused_result))
#else
#define QS_API
#define QS_MUST_USE
#endif

/* The exit status of every program of this project is the negated code. */
enum qs_status {
    QS_OK = 0,
    QS_NOT_FOUND = -1,  /* no such key or generation; or two things compared differ */
    QS_USAGE = -2,      /* the call itself is wrong */
    QS_INVALID = -3,    /* input rejected, with file, line and column where there is a text */
    QS_NO_POLICY = -4,  /* every store is healthy and none sets a policy */
    QS_ABSENT = -5,     /* a store that must exist does not */
    QS_DAMAGED = -6,    /* the store's bytes fail verification; the error carries page and reason */
    QS_UNTRUSTED = -7,  /* wrong owner or mode on the way to the store, or not permitted */
    QS_CONFLICT = -8,   /* the generation moved, or the thing exists already */
    QS_BUSY = -9,       /* a deadline passed */
    QS_IO = -10,        /* an input/output error, memory included; the message says what is stored now */
    QS_FOLLOW_UP = -11, /* done and stored, but what was to follow (publishing a file, the report) failed */
    QS_STALE = -12,     /* the system store is older than the fleet's require-serial demands */
    QS_NEWER = -13,     /* made by a newer version: nothing is wrong with it, and this version must not touch it */
};

#define QS_ERROR_FILE_BYTES 512
#define QS_ERROR_PATH_BYTES 640
#define QS_ERROR_TEXT_BYTES 768

/* Caller-owned, fixed size (some 2.8 KB), no heap. Zero it before first use; a success leaves it as it was. */
struct qs_error {
    int sys_errno; /* 0: no system call failed; first, so that {0} is right in C++ too */
    enum qs_status status;
    unsigned line, column;             /* 1-based, columns in bytes; 0: there is no text */
    int64_t page;                      /* QS_DAMAGED: the page number, -1 if no page is to blame */
    char file[QS_ERROR_FILE_BYTES];    /* the file or store concerned, or "" */
    char path[QS_ERROR_PATH_BYTES];    /* the key path concerned, as people type it, or "" */
    char message[QS_ERROR_TEXT_BYTES]; /* what is wrong; no final period, one line */
    char advice[QS_ERROR_TEXT_BYTES];  /* what to do about it, or "" */
    uint64_t reserved[8];              /* zero */
};

/* The kind of a status in one or two words ("damaged", "not found"). Static storage; never NULL. */
QS_API const char *qs_status_name(enum qs_status status);

#ifdef __cplusplus
}
#endif
#endif
