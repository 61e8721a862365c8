/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room sandbox/host/: What is on this host?
 *
 * Host facts: all that a plan needs to know about the machine, looked at once, by this module alone. What follows
 * (plan, environment, bubblewrap's arguments) is pure and works on these facts.
 */
#ifndef SANDBOX_FACTS_H
#define SANDBOX_FACTS_H

#include "qsettings/policy.h"
#include "sandbox/host/cgroup.h"
#include "sandbox/host/host_path.h"
#include "sandbox/host/state_dir.h"

enum checkout {
    CHECKOUT_NONE,      /* no .git in the root */
    CHECKOUT_BARE,      /* the root is a git directory itself */
    CHECKOUT_NORMAL,    /* .git is a directory */
    CHECKOUT_WORKTREE,  /* .git is a file; it, its gitdir and its commondir point at each other */
    CHECKOUT_ELSEWHERE, /* .git is a file that points somewhere without being pointed back at: nothing is granted */
};
const char *checkout_name(enum checkout checkout);

struct git_fact {
    enum checkout checkout;
    struct path_fact dot_git;
    struct path_facts guarded;  /* what exists and redirects git: read-only (hooks, config, pointers) */
    struct path_facts copied;   /* configurations of submodules, which git itself rewrites: private copies */
    struct path_facts pinned;   /* directories on the way to it: they cannot be renamed away */
    struct path_facts absent;   /* what would redirect git and does not exist: only `given` is set; for the sweep */
    struct path_facts writable; /* linked worktree: objects, refs, logs of the common directory, its own gitdir */
    unsigned includes;          /* files that its configurations include */
    bool no_logs;               /* linked worktree: the common directory has no logs, so git must not write any */
    struct path_fact common;    /* linked worktree: the common directory, kept open */
    char *gitdir;               /* linked worktree: its own git directory */
    char *inside;               /* a git directory, or the common one, that lies in the root and is guarded; NULL */
    char *detail;               /* CHECKOUT_ELSEWHERE: why, in words */
};

/* One directory that the policy, or the command line, makes writable. */
struct root_fact {
    struct path_fact dir;
    struct git_fact git;
    struct path_facts guarded; /* executor.protectedPaths that exist, and the links on the way to them */
    struct path_facts pinned;  /* the directories on the way to them */
};

/* A cache of the home directory. */
struct cache_fact {
    const char *name;        /* its directory below the private store */
    const char *variable;    /* names it to the program where the home has no such directory */
    const char *also;        /* another variable of the caller by which the program may have it elsewhere; NULL */
    struct path_fact home;   /* the tool's own, in the home directory; may be absent */
    struct path_fact source; /* the private one, which is shown over it; kept open */
};

struct host_facts {
    uid_t uid;
    gid_t gid;
    char *user;
    struct path_fact home;   /* of the password database, resolved */
    struct state_base state; /* borrows from home and from the request's root */
    char *shell;
    char *cwd;               /* where the command starts, without links */
    struct root_fact *roots; /* [0] is the workspace */
    size_t root_count;
    struct path_facts hidden;       /* executor.hiddenPaths that exist */
    struct path_facts stores;       /* settings stores, the run log and the sandbox's state: hidden, never writable */
    struct path_facts sockets;      /* executor.sockets */
    struct path_facts devices;      /* executor.devices */
    struct path_facts host_sockets; /* pathname sockets that /proc/net/unix lists; only under unixSockets: private */
    struct path_fact resolv;        /* where /etc/resolv.conf leads */
    struct cache_fact *caches;
    size_t cache_count;
    struct path_fact cache_base; /* kept open; absent where no caches are private */
    struct cgroup_fact group;    /* where the run's control group can be made; looked at only where a limit wants one */
    bool in_session_group;       /* and that is its session's, which holds all runs */
    char *executable;            /* this program */
    struct path_fact shim;       /* the shim's own program, kept open; absent: the executable serves */
    bool has_var_tmp, has_run;
    bool has_listener; /* calls can be shown to another process: seccomp_unotify(2) */
    int landlock_abi;  /* 0: none */
    char *kernel;      /* release */
};

#define HOST_FACTS_NONE \
    ((struct host_facts){.home.fd = -1, .resolv.fd = -1, .cache_base.fd = -1, .shim.fd = -1, .group.fd = -1})

struct facts_request {
    const struct qs_policy *policy;
    const char *workspace;    /* NULL: the current directory */
    const char *cwd;          /* NULL: the current directory */
    const char *root;         /* --root: where the stores are; NULL: the fixed places */
    const char *home;         /* tests; NULL: the password database's */
    const int *session_group; /* NULL or -1: none */
    bool make_caches;         /* creates the private cache directories */
};

/*
 * Errors: QS_INVALID (a path of the policy that cannot be used, by name), QS_UNTRUSTED (not permitted), QS_USAGE (no
 * such workspace), QS_IO. Absence of a writable root is QS_INVALID: it must exist. Cost: a few system calls for each
 * path.
 */
enum qs_status host_facts_collect(const struct facts_request *request, struct host_facts *ret_facts,
                                  struct qs_error *err) QS_MUST_USE;
void host_facts_release(struct host_facts *facts);

/* Looks at .git in a root. Errors: QS_INVALID (.git is a symbolic link), QS_IO. */
enum qs_status git_look(const struct path_fact *root, struct git_fact *ret_git, struct qs_error *err) QS_MUST_USE;
void git_fact_release(struct git_fact *git);

/*
 * The shim as a program of its own, linked statically because it starts in every run: `EXECUTABLE-shim`, or
 * `../libexec/qsettings/qsandbox-shim` from the executor's directory. It must be a file of the executor's owner or of
 * root, no more writable than the executor. Absent: the executor is its own shim (`--inner`), which is the same code.
 * Errors: QS_UNTRUSTED, QS_IO.
 */
enum qs_status shim_look(const char *executable, struct path_fact *ret_fact, struct qs_error *err) QS_MUST_USE;

#endif
