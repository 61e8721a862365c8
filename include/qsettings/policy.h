/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy read: there is a policy (QS_OK), or one status says why there is none. Only QS_OK lets a program go on;
 * every error means refuse.
 *
 *     struct qs_policy_result *result = NULL;
 *     struct qs_error err = {0};
 *     if (qs_policy_read(NULL, &result, &err) != QS_OK)
 *         return refuse(&err);
 *     const struct qs_policy *policy = qs_policy_get(result);
 *     printf("network %s\n", policy->network == QS_NET_OPEN ? "open" : "closed");
 *     qs_policy_free(result);
 */
#ifndef QSETTINGS_POLICY_H
#define QSETTINGS_POLICY_H

#include "qsettings/store.h"

#ifdef __cplusplus
extern "C" {
#endif

enum qs_filesystem { QS_FS_READ_ONLY = 0, QS_FS_WORKSPACE_WRITE = 1 }; /* narrow first in every enum */
enum qs_network { QS_NET_CLOSED = 0, QS_NET_OPEN = 1 };
enum qs_unix_sockets { QS_UNIX_BLOCKED = 0, QS_UNIX_PRIVATE = 1, QS_UNIX_OPEN = 2 };
enum qs_caches { QS_CACHES_NONE = 0, QS_CACHES_PRIVATE = 1 };
enum qs_git_mode { QS_GIT_READ_ONLY = 0, QS_GIT_CROSSING = 1 };
enum qs_git_new { QS_GIT_NEW_QUARANTINE = 0, QS_GIT_NEW_LAUNDER = 1, QS_GIT_NEW_REPORT = 2 };
enum qs_audit { QS_AUDIT_REQUIRED = 0, QS_AUDIT_OFF = 1 };
enum qs_backend { QS_BACKEND_BWRAP = 0, QS_BACKEND_AUTO = 1 }; /* both mean bubblewrap here */

/* A sorted list of distinct strings. */
struct qs_list {
    char **items;
    size_t count;
};
struct qs_pair {
    char *name, *value;
};

/* A whole policy, defaults filled in; nothing is implied. Owned by what gave it out. */
struct qs_policy {
    enum qs_filesystem filesystem;
    enum qs_network network;
    enum qs_backend backend;
    struct qs_list writable_roots;  /* absolute, or "~/..." */
    struct qs_list protected_paths; /* relative to each writable root */
    struct qs_list hidden_paths;    /* absolute, or "~/..." */
    struct qs_list *env_pass;       /* a conjunction: a name passes if each list has a match (globs) */
    size_t env_pass_count;
    struct qs_pair *env_set; /* sorted by name */
    size_t env_set_count;
    struct qs_list env_secrets; /* names and globs; removed even when passed */
    enum qs_unix_sockets unix_sockets;
    struct qs_list sockets, devices; /* absolute, or "~/..." */
    enum qs_caches caches;
    struct {
        uint64_t wall_seconds, cpu_seconds, memory_bytes, file_bytes, processes, open_files; /* 0: no limit */
    } limits;
    enum qs_audit audit;
    enum qs_git_mode git_mode;
    enum qs_git_new git_new; /* repositories that a command made */
    struct {
        uint64_t pack_bytes, scratch_bytes, seconds; /* 0: no limit */
    } git_limits;
};

/* One operator store that was read. Allocated by the library. */
struct qs_policy_source {
    enum qs_scope scope;
    enum qs_status status; /* QS_OK: read; QS_ABSENT; or what was wrong */
    bool sets_policy;      /* this store sets tools.executionSandbox */
    bool required;         /* had to exist */
    uint64_t generation;   /* 0: not read */
    unsigned char store_id[QS_STORE_ID_BYTES];
    unsigned char digest[QS_DIGEST_BYTES];
    char path[QS_ERROR_FILE_BYTES]; /* its directory */
};

struct qs_policy_options {
    size_t size;
    const char *root;
    unsigned wait_ms;
    unsigned require_scopes; /* bits 1 << enum qs_scope: stores that must exist */
};

struct qs_policy_result;

/*
 * Reads each operator store once, in one snapshot, validates all, narrows, and fills defaults in.
 *
 * *ret_result is given also on refusal, for its status and sources; the policy in it exists only with QS_OK. It is NULL
 * on misuse, and may be if there is no memory.
 * Errors: QS_NO_POLICY (every store is healthy, none sets a policy), QS_ABSENT (a required store does not exist),
 * QS_DAMAGED, QS_UNTRUSTED (owner, mode, or not permitted), QS_INVALID (a stored value is against the schema), QS_BUSY
 * (no complete read before the deadline), QS_STALE (older than the fleet that owns the system scope demands), QS_NEWER
 * (a store of a newer version), QS_IO, QS_USAGE.
 */
QS_API enum qs_status qs_policy_read(const struct qs_policy_options *options, struct qs_policy_result **ret_result,
                                     struct qs_error *err) QS_MUST_USE;
QS_API void qs_policy_free(struct qs_policy_result *result);

/* What qs_policy_read returned: QS_OK, or why there is no policy. */
QS_API enum qs_status qs_policy_status(const struct qs_policy_result *result);
/* "present", "none", "absent", "damaged", "untrusted", "invalid", "busy", "stale", "newer", "io". Static storage. */
QS_API const char *qs_policy_status_name(enum qs_status status);
QS_API const struct qs_policy *qs_policy_get(const struct qs_policy_result *result); /* NULL unless present */
QS_API const unsigned char *qs_policy_digest(const struct qs_policy_result *result); /* of the canonical document */
QS_API size_t qs_policy_source_count(const struct qs_policy_result *result);
QS_API const struct qs_policy_source *qs_policy_source(const struct qs_policy_result *result,
                                                       size_t index); /* or NULL */
/* The policy as one canonical JSON document: what is digested and frozen. Borrowed. NULL unless present. */
QS_API const char *qs_policy_document(const struct qs_policy_result *result, size_t *ret_len);

/* The canonical document and its digest in a sealed memfd (close-on-exec). Errors: QS_USAGE (not present), QS_IO. */
QS_API enum qs_status qs_policy_freeze(const struct qs_policy_result *result, int *ret_fd,
                                       struct qs_error *err) QS_MUST_USE;
/* Reads a frozen policy back: a memfd with all four seals, digest and schema right. Errors: QS_UNTRUSTED (no memfd, a
 * seal missing), QS_DAMAGED (digest), QS_INVALID (document). fd stays the caller's. */
QS_API enum qs_status qs_policy_thaw(int fd, struct qs_policy_result **ret_result, struct qs_error *err) QS_MUST_USE;

/* `qsandbox session` keeps a frozen policy open, stays as its program's ancestor, and names itself in this variable as
 * PID:STARTTIME:FD. The library does not read it: who wants the session's policy hands the text in. */
#define QS_SESSION_VARIABLE "QSANDBOX_SESSION"
/*
 * The frozen policy of the session that the text names, opened through /proc/PID/fd/FD, so that it is found by programs
 * that close inherited descriptors, too.
 *
 * The session must be an ancestor of this process, have the start time named, run the very file program (a path; NULL:
 * the program that this process runs), and hold a frozen policy with all seals. Errors: QS_UNTRUSTED (any of that),
 * QS_DAMAGED, QS_INVALID. There is no falling back to the stores.
 */
QS_API enum qs_status qs_policy_session(const char *session, const char *program, struct qs_policy_result **ret_result,
                                        struct qs_error *err) QS_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
