/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The repositories of one run: found before it, each with its private directory; crossed after it; and what is new
 * among them laundered by whoever leaves the workspace last.
 */
#ifndef SANDBOX_CROSSING_RUN_GIT_H
#define SANDBOX_CROSSING_RUN_GIT_H

#include "sandbox/crossing/crossing.h"
#include "sandbox/crossing/decide.h"
#include "sandbox/crossing/find.h"
#include "sandbox/host/facts.h"
#include "sandbox/sweep/quarantine.h"

#define RUN_GIT_MAX 64 /* repositories with a private directory; git is read-only in those beyond */

enum new_repositories { NEW_LAUNDER, NEW_QUARANTINE, NEW_REPORT };

struct run_git_request {
    struct state_base base;
    uid_t uid;
    const char **roots; /* writable */
    size_t root_count;
    bool read_only; /* executor.git.mode: nothing crosses */
    enum new_repositories new_repositories;
    struct objects_limits limits;
};

struct run_git {
    struct run_git_request request; /* its own copy */
    struct repository *items;       /* by path: outer ones before those below them */
    size_t count;
    struct found_repositories found;
    struct names read_only; /* git directories without a private one; owned */
    int lock;               /* of the workspace's repositories: shared by its runs */
    bool first;             /* no other run was in it */
    struct sweep_findings findings;
    struct crossing_report report;
};
#define RUN_GIT_NONE ((struct run_git){.lock = -1})

/*
 * Enters: makes good what a killed run left, finds the repositories, takes over what is still inside, and brings in
 * what the host changed. It takes over the request's list of roots. Errors: QS_IO, and those of private_prepare.
 */
enum qs_status run_git_begin(const struct run_git_request *request, struct run_git *ret_git,
                             struct qs_error *err) QS_MUST_USE;

/* Adds to the facts what the plan shows of it: private directories, object stores, hooks; and what its configuration
 * names in the workspace. Errors: QS_CONFLICT (another run changed a private directory meanwhile), QS_IO. */
enum qs_status run_git_show(const struct run_git *git, struct host_facts *facts, struct qs_error *err) QS_MUST_USE;

/* After the run, once: the last one out launders what is new, then all crosses. What goes wrong is a line of the
 * findings: it all stays inside. */
void run_git_end(struct run_git *git);
void run_git_release(struct run_git *git);

/* Has the host this `.git`, of a gitlink's path? The context is a run_git. */
bool run_git_known(void *context, const char *path);

/* New repositories: what is found now and was not before. */
enum qs_status launder_new(struct run_git *git, struct qs_error *err) QS_MUST_USE;

/* ---- for launder.c ---- */

/* What is found now and was not before the run. */
enum qs_status run_git_fresh(struct run_git *git, struct found_repositories *fresh, struct qs_error *err) QS_MUST_USE;
/* A line for people, from a format. */
void run_git_line(struct sweep_lines *lines, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Crosses one repository; what stays or fails becomes lines. */
void run_git_cross(struct run_git *git, struct repository *repository);

#endif
