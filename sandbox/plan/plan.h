/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room sandbox/plan/: What may this command see and do?
 *
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
#include "sandbox/wire/spec.h"

/* bubblewrap's time grows with the square of the mounts (1,500 took 4.5 s); more than this is refused. */
#define PLAN_MOUNTS_MAX 512
/* The shim's time grows with their number. A submodule takes about six. */
#define PLAN_INNER_MAX 4096

struct plan_mount {
    enum mount_kind kind;
    bool inner; /* placed by the shim */
    bool directory;
    const char *dest;   /* borrowed from the facts */
    const char *source; /* likewise; outer: what is bound there, where that must be told by name */
    const char *from;   /* inner: where what is put over dest lies inside; NULL: dest itself */
    int fd;             /* outer: the source, an O_PATH descriptor of the facts; -1: by name */
    uint64_t dev, ino;  /* what must be there: the source; of a mask, what it covers */
    const char *reason; /* static, for people */
};

struct plan {
    struct plan_mount *mounts;
    size_t count;
    const struct shown_fact *shown; /* of git; bubblewrap shows them in the private /tmp */
    size_t shown_count;
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
#ifdef QS_SANDBOX_CONTROLS
    unsigned left_out; /* WITHOUT bits */
#endif
    uint64_t wall_seconds, cpu_seconds, memory_bytes, file_bytes, processes, open_files;
    const struct cgroup_fact *group;          /* where the run's control group is made; NULL: it has none */
    bool memory_by_group, processes_by_group; /* over all processes together; else by resource limits of each */
};

/*
 * Ownership: plan_release; the plan borrows from facts, which must outlive it. Errors: QS_INVALID (a root, a device, a
 * socket or a limit of the policy that cannot be had here, by name), QS_UNTRUSTED (a workspace of another owner),
 * QS_USAGE (the workspace or the current directory is no place to run in). Cost: n log n in the number of paths.
 */
enum qs_status plan_make(const struct qs_policy *policy, const struct host_facts *facts, struct plan *ret_plan,
                         struct qs_error *err) QS_MUST_USE;
void plan_release(struct plan *plan);

/* Refusals alone: may these roots be writable? Called by plan_make. */
enum qs_status plan_check_roots(const struct qs_policy *policy, const struct host_facts *facts,
                                struct qs_error *err) QS_MUST_USE;

/*
 * Appends the message to the shim: this plan's share of it, the call filter, the command and its environment. terminal:
 * it is given to the command. Errors: those of spec_encode.
 */
enum qs_status plan_encode(const struct plan *plan, bool terminal, char *const *argv, char **env, struct buf *out,
                           struct qs_error *err) QS_MUST_USE;

/* Is path in a place that every sandbox has for itself (/tmp, /var/tmp, /run)? */
bool plan_private(const struct plan *plan, const char *path);

#endif
