/* SPDX-License-Identifier: Apache-2.0 */
/* Running a race: shared memory, processes, the clock, and judging the end. */
#include "stress/race.h"

#include "store/cleanup.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define GRACE_NS 30000000000u /* for a save or a read that is under way when the time is up */

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    interrupted = number;
}

enum role { ROLE_WRITER, ROLE_READER, ROLE_WATCHER };

struct child {
    pid_t pid; /* 0: has ended */
    enum role role;
    unsigned index;
};

static bool map_shared(struct race *race, char *reason)
{
    size_t slots = (size_t)race->writers + race->readers;
    race->shared_bytes = sizeof *race->shared + slots * sizeof race->shared->slots[0];
    void *memory = mmap(NULL, race->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "shared memory: %s", strerrordesc_np(errno));
        return false;
    }
    race->shared = memory;
    return true;
}

void race_release(struct race *race)
{
    if (race->shared)
        (void)munmap(race->shared, race->shared_bytes);
    race->shared = NULL;
}

static bool become(const struct race *race)
{
    return !race->as_user ||
           (initgroups(race->as_user, race->gid) == 0 && setresgid(race->gid, race->gid, race->gid) == 0 &&
            setresuid(race->uid, race->uid, race->uid) == 0);
}

static void watch(struct race *race)
{
    char path[4096];
    race->backend->watched(&race->config, path, sizeof path);
    gaps_watch(&race->shared->gaps, path, &race->shared->stop, (uint64_t)(race->seconds * 1e9));
}

/* Never returns. A child that ends with another status than 0 has failed the race. */
static _Noreturn void child_main(struct race *race, const struct child *child, int gate)
{
    char byte;
    (void)setpgid(0, 0); /* so that what a command leaves behind can be ended with it */
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    if (child->role == ROLE_READER && !become(race))
        _exit(9);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* after the change of user, which clears it */
    while (read(gate, &byte, 1) < 0 && errno == EINTR) {
    }
    (void)close(gate);
    if (atomic_load(&race->shared->go)) { /* else the parent died, or gave up */
        switch (child->role) {
        case ROLE_WRITER:
            race_writer(race, child->index);
            break;
        case ROLE_READER:
            race_reader(race, child->index);
            break;
        case ROLE_WATCHER:
            watch(race);
            break;
        }
    }
    _exit(0);
}

static bool fork_all(struct race *race, struct child *children, size_t count, char *reason)
{
    int gate[2];
    if (pipe(gate) != 0) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "pipe: %s", strerrordesc_np(errno));
        return false;
    }
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++) {
        children[i].role = i < race->writers ? ROLE_WRITER : i + 1 < count ? ROLE_READER : ROLE_WATCHER;
        children[i].index = (unsigned)(children[i].role == ROLE_READER ? i - race->writers : i);
        pid_t pid = fork();
        if (pid == 0) {
            (void)close(gate[1]);
            child_main(race, &children[i], gate[0]);
        }
        ok = pid > 0;
        children[i].pid = ok ? pid : 0;
        if (!ok)
            (void)snprintf(reason, STRESS_REASON_BYTES, "fork: %s", strerrordesc_np(errno));
    }
    (void)close(gate[0]);
    race->shared->start_ns = stress_now_ns();
    atomic_store(&race->shared->go, ok);
    (void)close(gate[1]); /* all begin at once */
    return ok;
}

static void sum(const struct race *race, struct race_result *result)
{
    memset(result, 0, sizeof *result);
    for (unsigned i = 0; i < race->writers + race->readers; i++) {
        struct race_slot *slot = &race->shared->slots[i];
        *(i < race->writers ? &result->writes : &result->reads) += atomic_load(&slot->done);
        result->retries += atomic_load(&slot->retries);
        for (unsigned v = 0; v < VERDICT_COUNT; v++)
            result->verdicts[v] += atomic_load(&slot->verdicts[v]);
    }
}

static void progress(const struct race *race)
{
    struct race_result so_far;
    sum(race, &so_far);
    double elapsed = (double)(stress_now_ns() - race->shared->start_ns) / 1e9;
    (void)fprintf(stderr, "\r%5.1f of %g s  %llu writes  %llu reads", elapsed, race->seconds,
                  (unsigned long long)so_far.writes, (unsigned long long)so_far.reads);
    for (unsigned v = VERDICT_ABSENT; v < VERDICT_COUNT; v++)
        (void)fprintf(stderr, "  %llu %s", (unsigned long long)so_far.verdicts[v], verdict_name(v));
    (void)fprintf(stderr, "\033[K");
}

/* A process that did not end by itself with 0: the thing tested crashed it, or the user could not be taken on. */
static void judge_end(struct race *race, const struct child *child, int status)
{
    static const char *const names[] = {"writer", "reader", "watcher"};
    char who[24];
    char text[STRESS_REASON_BYTES];
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    (void)snprintf(who, sizeof who, "%s %u", names[child->role], child->role == ROLE_WATCHER ? 0 : child->index);
    if (WIFSIGNALED(status))
        (void)snprintf(text, sizeof text, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == 9)
        (void)snprintf(text, sizeof text, "could not become %s", race->as_user);
    else
        (void)snprintf(text, sizeof text, "ended with status %d", WEXITSTATUS(status));
    unsigned slot = child->role == ROLE_READER   ? race->writers + child->index
                    : child->role == ROLE_WRITER ? child->index
                                                 : 0;
    race_count(race, &race->shared->slots[slot], VERDICT_ERROR, who, text);
}

static size_t reap(struct race *race, struct child *children, size_t count)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        int status;
        if (!children[i].pid)
            continue;
        pid_t got = waitpid(children[i].pid, &status, WNOHANG);
        if (got == children[i].pid) {
            judge_end(race, &children[i], status);
            children[i].pid = 0;
        } else {
            left++;
        }
    }
    return left;
}

static void wait_all(struct race *race, struct child *children, size_t count)
{
    bool show = !race->quiet && isatty(STDERR_FILENO);
    uint64_t end = race->shared->start_ns + (uint64_t)(race->seconds * 1e9);
    unsigned tick = 0;
    while (reap(race, children, count)) {
        uint64_t now = stress_now_ns();
        if (now >= end || interrupted)
            atomic_store(&race->shared->stop, true);
        if (now >= end + GRACE_NS)
            for (size_t i = 0; i < count; i++)
                if (children[i].pid)
                    (void)kill(-children[i].pid, SIGKILL);
        if (show && tick++ % 10 == 0)
            progress(race);
        stress_sleep_ns(now < end && end - now < 10000000 ? end - now : 10000000);
    }
    if (show)
        (void)fprintf(stderr, "\r\033[K");
}

/* After the last writer has ended, everything that was acknowledged must be there. */
static void judge_last(struct race *race)
{
    char reason[STRESS_REASON_BYTES] = "";
    struct race_slot *slot = &race->shared->slots[0];
    void *session = race->backend->open(&race->config, reason);
    if (!session) {
        race_count(race, slot, VERDICT_ERROR, "the end", reason);
        return;
    }
    struct backend_look look;
    race->backend->look(session, &look);
    race->backend->close(session);
    if (look.verdict != VERDICT_FINE)
        race_count(race, slot, look.verdict, "the end", look.reason);
    for (unsigned i = 0; i < race->writers && look.has_document; i++) {
        uint64_t expected = atomic_load(&race->shared->slots[i].counter);
        uint64_t found = look.document.counters[i];
        if (found >= expected)
            continue;
        (void)snprintf(reason, sizeof reason, "the counter of writer %u is %llu, %llu was acknowledged", i,
                       (unsigned long long)found, (unsigned long long)expected);
        race_count(race, &race->shared->slots[i], VERDICT_LOST, "the end", reason);
    }
}

bool race_run(struct race *race, struct race_result *ret_result, char *reason)
{
    size_t count = (size_t)race->writers + race->readers + 1;
    AUTO_FREE struct child *children = calloc(count, sizeof *children);
    if (!children || !map_shared(race, reason) || !race->backend->prepare(&race->config, reason))
        return false;
    struct sigaction old_int;
    struct sigaction old_term;
    struct sigaction act = {.sa_handler = on_signal};
    (void)sigaction(SIGINT, &act, &old_int);
    (void)sigaction(SIGTERM, &act, &old_term);
    (void)fflush(NULL);
    bool ok = fork_all(race, children, count, reason);
    wait_all(race, children, count);
    (void)sigaction(SIGINT, &old_int, NULL);
    (void)sigaction(SIGTERM, &old_term, NULL);
    if (ok && interrupted) {
        (void)snprintf(reason, STRESS_REASON_BYTES, "interrupted by signal %d", (int)interrupted);
        ok = false;
    }
    if (!ok)
        return false;
    judge_last(race);
    sum(race, ret_result);
    for (unsigned i = 0; i < race->readers; i++)
        histogram_merge(&ret_result->read_ns, &race->shared->slots[race->writers + i].latency_ns);
    return true;
}
