/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: what the sandbox will be, decided from the policy and the host facts alone. Pure: it opens nothing, so the
 * same input gives the same plan, and `inspect` prints exactly what `run` does.
 *
 *   facts + policy -> mounts in one total order (a parent before what is below it), private places, filters, limits
 *
 * Two hands place the mounts. bubblewrap places the outer ones: the read-only host, /dev, /proc, the private places,
 * and writable places in the read-only host, whose mount points nobody inside can touch. The inner shim places the
 * others: everything beneath a writable place, and all masks. It works by descriptor with the kernel's mount calls,
 * checks device and inode first, follows no link and makes no mount point; bubblewrap follows names and makes what is
 * missing.
 */
#ifndef SANDBOX_PLAN_H
#define SANDBOX_PLAN_H

#include "sandbox/host/facts.h"

/* bubblewrap's time grows with the square of the mounts (1,500 took 4.5 s); more than this is refused. */
#define PLAN_MOUNTS_MAX 512
/* The shim's time grows with their number. A submodule takes about six. */
#define PLAN_INNER_MAX 4096

/* Weakest first: where two name one place, the stronger holds. */
enum mount_kind {
    MOUNT_CACHE, /* a private directory over a cache of the home; writable */
    MOUNT_WRITABLE,
    MOUNT_PIN,    /* bound on itself, writable: it cannot be renamed away */
    MOUNT_SOCKET, /* a host socket shown again in a private place */
    MOUNT_BACK,   /* a host directory shown again, read-only, in a private place */
    MOUNT_DEVICE,
    MOUNT_COPY, /* a private copy of a file, which is forgotten with the run */
    MOUNT_READ_ONLY,
    MOUNT_HIDDEN, /* an empty mask that nobody can read */
};

struct plan_mount {
    enum mount_kind kind;
    bool inner; /* placed by the shim */
    bool directory;
    const char *dest;   /* borrowed from the facts */
    const char *source; /* likewise; outer: what is bound there, where that must be told by name */
    int fd;             /* outer: the source, an O_PATH descriptor of the facts; -1: by name */
    uint64_t dev, ino;  /* what must be there: the source; of a mask, what it covers */
    const char *reason; /* static, for people */
};

/* The barriers, each of which the battery's negative controls can leave out. Only tests set `without`. */
#define PLAN_BARRIERS(X) \
    X(READ_ONLY, "the host is read-only") \
    X(GUARDS, "hooks, configuration and protected paths are read-only") \
    X(PINS, ".git is pinned") \
    X(MASKS, "hidden paths are masked") \
    X(STORE_MASKS, "stores and the journal are masked") \
    X(ENVIRONMENT, "the environment is built from nothing") \
    X(NETWORK, "a network namespace of its own") \
    X(PID, "a PID namespace of its own") \
    X(GROUP, "a process group of its own") \
    X(DEV, "a /dev of its own") \
    X(SECCOMP, "the system call filter") \
    X(LANDLOCK, "Landlock") \
    X(CAPABILITIES, "no capabilities") \
    X(NO_NEW_PRIVS, "no new privileges") \
    X(USERNS_LIMIT, "no further user namespaces") \
    X(DESCRIPTORS, "descriptors above 2 are closed") \
    X(WALL, "the wall limit")
enum plan_barrier {
#define PLAN_BARRIER_ENUM(name, text) BARRIER_##name,
    PLAN_BARRIERS(PLAN_BARRIER_ENUM)
#undef PLAN_BARRIER_ENUM
        BARRIER_COUNT
};
#define WITHOUT(name) (1u << BARRIER_##name)

/* A directory of the host in which a few names of git are granted, though it is read-only: see shim_broker.h. */
struct plan_ref_dir {
    const char *path; /* borrowed */
    int fd;           /* O_PATH; goes to the shim */
    uint64_t dev, ino;
};
#define PLAN_REF_DIRS_MAX 8 /* of more linked worktrees among the roots, only the first have it */

struct plan {
    struct plan_ref_dir ref_dirs[PLAN_REF_DIRS_MAX];
    size_t ref_dir_count;
    struct plan_mount *mounts;
    size_t count;
    const char *cwd;
    const char *resolv; /* shown again where /run is private; NULL otherwise */
    int resolv_fd;
    int shim_fd;   /* the shim's own program; -1: the executor is its own shim */
    bool writable; /* workspace-write */
    bool network_closed;
    bool private_var_tmp, private_run;
    bool caches_shown;  /* the private caches appear at CACHE_MOUNT */
    const char *caches; /* their directory */
    int caches_fd;
    bool scope_abstract; /* Landlock keeps abstract sockets of the host out of reach */
    enum qs_unix_sockets unix_sockets;
    int landlock_abi;
    uid_t uid;
    unsigned without;
    uint64_t wall_seconds, cpu_seconds, memory_bytes, file_bytes, processes, open_files;
    const struct cgroup_fact *group;          /* where the run's control group is made; NULL: it has none */
    bool memory_by_group, processes_by_group; /* over all processes together; else by resource limits of each */
};

/*
 * Ownership: plan_release; the plan borrows from facts, which must outlive it. Errors: QS_INVALID (a root, a device, a
 * socket or a limit of the policy that cannot be had here, by name), QS_UNTRUSTED (a workspace of another owner),
 * QS_USAGE (the workspace or the current directory is no place to run in). Cost: n log n in the number of paths.
 */
enum qs_status plan_make(const struct qs_policy *policy, const struct host_facts *facts, unsigned without,
                         struct plan *ret_plan, struct qs_error *err) QS_MUST_USE;
void plan_release(struct plan *plan);

/* Refusals alone: may these roots be writable? Called by plan_make. */
enum qs_status plan_check_roots(const struct qs_policy *policy, const struct host_facts *facts,
                                struct qs_error *err) QS_MUST_USE;

/* Is path in a place that every sandbox has for itself (/tmp, /var/tmp, /run)? */
bool plan_private(const struct plan *plan, const char *path);

#endif
