/* SPDX-License-Identifier: Apache-2.0 */
/* Verify: starts the scenes, and puts together what the probe and the host saw. */
#include "sandbox/verify/verify.h"
#include "sandbox/verify/crossed.h"

#include "base/cleanup.h"

#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- what the host saw ---- */

static void __attribute__((format(printf, 3, 4)))
overrule(struct verify_report *report, enum verify_check check, const char *format, ...)
{
    struct verify_entry *entry = &report->checks[check];
    va_list args;
    if (entry->result == VERIFY_NOT_APPLICABLE)
        return; /* the policy allows it */
    entry->result = VERIFY_FAIL;
    va_start(args, format);
    (void)vsnprintf(entry->detail, sizeof entry->detail, format, args);
    va_end(args);
}

static void judge_main(struct decoys *decoys, struct verify_report *report)
{
    bool signaled = false, group_signaled = false;
    decoy_victim_end(decoys, &signaled, &group_signaled);
    if (signaled)
        overrule(report, CHECK_OUTSIDE_SIGNAL, "a process of the host got the signal");
    if (group_signaled)
        overrule(report, CHECK_GROUP_SIGNAL, "kill(0, ...) reached the executor's process group");
    if (decoy_reached(decoys->unix_fd))
        overrule(report, CHECK_UNIX_PATH, "the host's listener has a connection");
    if (decoy_reached(decoys->abstract_fd))
        overrule(report, CHECK_UNIX_ABSTRACT, "the host's listener has a connection");
    if (decoy_reached(decoys->tcp_fd))
        overrule(report, CHECK_CONNECT, "the host's listener has a connection");
    if (decoy_reached(decoys->dns_fd))
        overrule(report, CHECK_DNS, "the question came to a name server on the host");
}

static void judge(enum verify_scene kind, struct decoys *decoys, const struct scene_outcome *outcome, bool held_open,
                  struct verify_report *report)
{
    switch (kind) {
    case SCENE_MAIN:
        judge_main(decoys, report);
        break;
    case SCENE_WORKTREE:
        if (report->checks[CHECK_WORKTREE_COMMIT].result == VERIFY_PASS && access(decoys->canary, F_OK) != 0)
            overrule(report, CHECK_WORKTREE_COMMIT, "git says it committed, but the branch did not come into being");
        for (int i = CHECK_CROSSING_CONFIG; i <= CHECK_CROSSING_REPOSITORY; i++) {
            const char *what = crossed_to_host(decoys, (enum verify_check)i);
            if (what)
                overrule(report, (enum verify_check)i, "%s", what);
        }
        break;
    case SCENE_WALL:
        if (!outcome->result.timed_out)
            overrule(report, CHECK_WALL_LIMIT, "the command was not ended by the limit");
        else if (held_open)
            overrule(report, CHECK_WALL_LIMIT, "the command was ended, but a process of it lives on");
        else if (report->checks[CHECK_WALL_LIMIT].result == VERIFY_PASS)
            (void)snprintf(report->checks[CHECK_WALL_LIMIT].detail, VERIFY_DETAIL_BYTES,
                           "a command and its orphan, both ignoring SIGTERM, were gone in time");
        break;
    case SCENE_COUNT:
        break;
    }
}

static void explain_missing(enum verify_scene kind, const struct scene_outcome *outcome, struct verify_report *report)
{
    for (size_t i = 0; i < CHECK_COUNT; i++) {
        struct verify_entry *entry = &report->checks[i];
        if (verify_check_scene((enum verify_check)i) == kind && entry->result == VERIFY_MISSING)
            (void)snprintf(entry->detail, sizeof entry->detail, "no result%s%.200s",
                           outcome->err.message[0] ? ": " : "", outcome->err.message);
    }
}

/* ---- running ---- */

static enum qs_status run_scenes(const struct verify_request *request, struct decoys *decoys, const sigset_t *mask,
                                 struct verify_report *report, struct qs_error *err)
{
    struct scene scenes[SCENE_COUNT] = {0};
    unsigned wanted = request->scenes ? request->scenes : (1u << SCENE_COUNT) - 1;
    enum qs_status status = QS_OK;
    for (unsigned i = 0; i < SCENE_COUNT && !status; i++)
        if (wanted >> i & 1u)
            status = scene_start(request, decoys, mask, (enum verify_scene)i, &scenes[i], err);
    for (unsigned i = 0; i < SCENE_COUNT; i++) {
        struct scene_outcome outcome;
        bool held_open = false;
        if (scenes[i].pid <= 0)
            continue;
        scene_finish(&scenes[i], report, &outcome, &held_open);
        judge((enum verify_scene)i, decoys, &outcome, held_open, report);
        explain_missing((enum verify_scene)i, &outcome, report);
        if (i == SCENE_MAIN && outcome.status && !status) {
            status = outcome.status;
            if (err)
                *err = outcome.err;
        }
    }
    return status;
}

enum qs_status verify_run(const struct verify_request *request, struct verify_report *ret_report, struct qs_error *err)
{
    struct verify_report report = {0};
    struct decoys decoys;
    sigset_t ends, old;
    const struct passwd *entry = getpwuid(geteuid());
    if (!entry)
        return error_set(err, QS_IO, "the password database has no entry for uid %u", (unsigned)geteuid());
    /* Whoever ends this program waits the few seconds until what it made is removed. */
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &ends, &old);
    enum qs_status status = decoys_make(entry->pw_dir, &decoys, err);
    if (!status) {
        status = run_scenes(request, &decoys, &old, &report, err);
        decoys_release(&decoys);
    }
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    if (!status)
        *ret_report = report;
    return status;
}
