/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room sandbox/wire/: What do the executor and its shim share: the message, the events, the system calls?
 *
 * What the executor tells the shim, and what the shim tells back.
 *
 * The specification goes down a pipe as one counted, little-endian message; the shim reads it whole before it does
 * anything, so that nothing of the policy lies in a command line, an environment or a file. Events come back on another
 * pipe, each one write of a fixed record. Both ends are of one version.
 */
#ifndef SANDBOX_SPEC_H
#define SANDBOX_SPEC_H

#include "base/buf.h"
#include "base/error.h"
#include "sandbox/wire/barriers.h"

#define SPEC_MAX_BYTES ((size_t)16 << 20) /* arguments of a command line are at most 2 MiB on Linux */

/* Weakest first: if two name one place, the stronger counts. */
enum mount_kind {
    MOUNT_CACHE, /* a private directory over a cache of the home; writable */
    MOUNT_WRITABLE,
    MOUNT_PRIVATE, /* a private git directory over the host's; writable */
    MOUNT_PIN,     /* bound on itself, writable: it cannot be renamed away */
    MOUNT_SOCKET,  /* a host socket shown again in a private place */
    MOUNT_BACK,    /* a host directory shown again, read-only, in a private place */
    MOUNT_DEVICE,
    MOUNT_READ_ONLY,
    MOUNT_HIDDEN, /* an empty mask that nobody can read */
};

struct spec_mount {
    enum mount_kind kind;
    bool inner; /* placed by the shim */
    bool directory;
    uint64_t dev, ino; /* what must be there */
    const char *from;  /* what is put over dest lies here inside; "": what is at dest itself */
    const char *dest;
};

struct spec {
    struct spec_mount *mounts;
    size_t mount_count;
    const char *cwd;
    char *const *argv;  /* ended by NULL */
    char **env;         /* the same: the command's environment */
    const char *filter; /* struct sock_filter[] */
    size_t filter_len;
    bool terminal, scope_abstract, private_var_tmp;
    int landlock_abi;
#ifdef QS_SANDBOX_CONTROLS
    unsigned left_out; /* WITHOUT bits */
#endif
    uint64_t cpu_seconds, memory_bytes, file_bytes, processes, open_files; /* resource limits; 0: none */
    char *raw; /* of a message that was read: what all of the above point into */
};

/* Appends the message. Errors: QS_INVALID (over SPEC_MAX_BYTES), QS_IO (memory). */
enum qs_status spec_encode(const struct spec *spec, struct buf *out, struct qs_error *err) QS_MUST_USE;

/* Reads one message from fd to its end. Ownership: spec_release. Errors: QS_INVALID (not such a message), QS_IO. */
enum qs_status spec_read(int fd, struct spec *ret_spec, struct qs_error *err) QS_MUST_USE;
enum qs_status spec_decode(char *raw, size_t len, struct spec *ret_spec,
                           struct qs_error *err) QS_MUST_USE; /* takes raw */
void spec_release(struct spec *spec);                         /* of one that was read */

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
