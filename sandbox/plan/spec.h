/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the executor tells the shim, and what the shim tells back.
 *
 * The specification goes down a pipe as one counted, little-endian message; the shim reads it whole before it does
 * anything, so that nothing of the policy lies in a command line, an environment or a file. Events come back on another
 * pipe, each one write of a fixed record. Both ends are the same program.
 */
#ifndef SANDBOX_SPEC_H
#define SANDBOX_SPEC_H

#include "base/buf.h"
#include "sandbox/plan/plan.h"

#define SPEC_MAX_BYTES ((size_t)16 << 20) /* arguments of a command line are at most 2 MiB on Linux */

struct spec_mount {
    enum mount_kind kind;
    bool inner, directory;
    uint64_t dev, ino;
    char *dest;
};

#define SPEC_REF_DIRS_MAX PLAN_REF_DIRS_MAX
struct spec_ref_dir {
    int fd;
    uint64_t dev, ino;
};

struct spec {
    struct spec_ref_dir ref_dirs[SPEC_REF_DIRS_MAX];
    size_t ref_dir_count;
    struct spec_mount *mounts;
    size_t mount_count;
    char *cwd;
    char **argv;  /* ended by NULL */
    char **env;   /* the same: the command's environment */
    char *filter; /* struct sock_filter[] */
    size_t filter_len;
    bool terminal, scope_abstract, private_var_tmp;
    int landlock_abi;
    unsigned without;
    uint64_t cpu_seconds, memory_bytes, file_bytes, processes, open_files;
    char *raw; /* what all of the above point into */
};

/* Appends the message. Errors: QS_INVALID (over SPEC_MAX_BYTES), QS_IO (memory). */
enum qs_status spec_encode(const struct plan *plan, bool terminal, char *const *argv, char *const *env,
                           const struct buf *filter, struct buf *out, struct qs_error *err) QS_MUST_USE;

/* Reads one message from fd to its end. Ownership: spec_release. Errors: QS_INVALID (not such a message), QS_IO. */
enum qs_status spec_read(int fd, struct spec *ret_spec, struct qs_error *err) QS_MUST_USE;
enum qs_status spec_decode(char *raw, size_t len, struct spec *ret_spec,
                           struct qs_error *err) QS_MUST_USE; /* takes raw */
void spec_release(struct spec *spec);

enum event_type {
    EVENT_FAILED = 1, /* value: enum qs_status; text: why. Nothing was run. */
    EVENT_STARTED,    /* the command's exec succeeded */
    EVENT_NOT_RUN,    /* value: errno of the exec; text: the program */
    EVENT_STOPPED,    /* value: the signal */
    EVENT_CONTINUED,
    EVENT_ENDED, /* value: the command's wait status, as waitpid(2) gives it; alone: PID 1 has no process left */
};

struct event {
    uint32_t type;
    int32_t value;
    int64_t seconds; /* realtime */
    uint32_t nanoseconds;
    uint32_t alone;
    char text[300]; /* the whole record stays far below PIPE_BUF, so that a write is atomic */
};

#endif
