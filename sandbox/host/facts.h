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
    struct path_facts guarded; /* a `.git` file; what its configuration includes or names in the root: read-only */
    struct path_facts pinned;  /* directories on the way to it: they cannot be renamed away */
    struct path_facts absent;  /* what it includes or names in the root and does not exist: for the sweep */
    unsigned includes;         /* files that its configurations include */
    char *detail;              /* CHECKOUT_ELSEWHERE: why, in words */
};

/* Where a `.git` leads. */
struct git_leads {
    struct path_fact gitdir, common; /* absent: none, or of a common directory that gitdir has none */
    const char *worktree;            /* of a linked worktree that is pointed back at: its name; within gitdir.path */
};
#define GIT_LEADS_NONE ((struct git_leads){.gitdir.fd = -1, .common.fd = -1})

/* What is shown inside over another directory, or beside all: a private git directory, an object store, hooks. */
struct shown_fact {
    struct path_fact source; /* kept open */
    char *shown;             /* where bubblewrap shows it */
    bool writable;
    struct path_fact over; /* the directory that it is put over; absent: none */
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
    struct shown_fact *shown; /* of git: added by whoever prepares its private directories */
    size_t shown_count;
    struct path_facts read_only;    /* git directories without a private one */
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
    int landlock_abi; /* 0: none */
    char *kernel;     /* release */
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

/* Follows the `.git` file or directory at dot_git, in the work tree. Errors: QS_IO. */
enum qs_status git_follow(const char *dot_git, const char *tree, struct git_leads *ret_leads,
                          struct qs_error *err) QS_MUST_USE;
void git_leads_release(struct git_leads *leads);

/* What the configuration of gitdir includes or names (hooks, relative to the work tree) in the root: guarded, or known
 * as absent. */
enum qs_status git_guard_configs(struct git_fact *git, const char *gitdir, const char *tree, const char *root,
                                 struct qs_error *err) QS_MUST_USE;

/*
 * The shim as a program of its own, linked statically because it starts in every run: `EXECUTABLE-shim`, or
 * `../libexec/qsettings/qsandbox-shim` from the executor's directory. It must be a file of the executor's owner or of
 * root, no more writable than the executor. Absent: the executor is its own shim (`--inner`), which is the same code.
 * Errors: QS_UNTRUSTED, QS_IO.
 */
enum qs_status shim_look(const char *executable, struct path_fact *ret_fact, struct qs_error *err) QS_MUST_USE;

#endif
