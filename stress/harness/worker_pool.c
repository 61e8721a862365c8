/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of processes: fork, gate, clock, interruption, reaping. */
#include "stress/harness/worker_pool.h"

#include "stress/harness/stress.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_NS   30000000000u /* for an operation that is under way when the time is up */
#define TICK_NS    10000000u
#define NOT_BECOME 9 /* exit status of a worker that could not become the user */

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    interrupted = number;
}

void *pool_share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int pool_find_user(const char *name, struct pool *ret_crew)
{
    ret_crew->user = NULL;
    if (!name)
        return STRESS_CLEAN;
    const struct passwd *user = getpwnam(name);
    if (!user)
        return stress_fail(STRESS_USAGE, "option '--as-user': there is no user '%s'", name);
    if (geteuid() == user->pw_uid)
        return STRESS_CLEAN;
    if (geteuid() != 0)
        return stress_fail(STRESS_FORBIDDEN, "option '--as-user' needs root");
    ret_crew->user = name;
    ret_crew->uid = user->pw_uid;
    ret_crew->gid = user->pw_gid;
    return STRESS_CLEAN;
}

static bool become(const struct pool *pool)
{
    return !pool->user || (initgroups(pool->user, pool->gid) == 0 && setresgid(pool->gid, pool->gid, pool->gid) == 0 &&
                           setresuid(pool->uid, pool->uid, pool->uid) == 0);
}

static _Noreturn void worker_main(const struct pool *pool, const struct worker *worker, int gate, pid_t parent)
{
    char byte = 0;
    ssize_t got;
    (void)setpgid(0, 0); /* so that what a command leaves behind can be ended with it */
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    if (worker->drops && !become(pool))
        _exit(NOT_BECOME);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* after the change of user, which clears it */
    if (getppid() != parent)
        _exit(0);
    while ((got = read(gate, &byte, 1)) < 0 && errno == EINTR) {
    }
    (void)close(gate);
    if (got == 1) /* else the start was called off */
        worker->run(pool->context, worker->index);
    _exit(0);
}

static bool start(struct pool *pool, char *reason, size_t reason_size)
{
    int gate[2];
    if (pipe(gate) != 0) {
        (void)snprintf(reason, reason_size, "pipe: %s", strerrordesc_np(errno));
        return false;
    }
    bool ok = true;
    pid_t parent = getpid();
    (void)fflush(NULL);
    for (size_t i = 0; i < pool->count && ok; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            (void)close(gate[1]);
            worker_main(pool, &pool->workers[i], gate[0], parent);
        }
        ok = pid > 0;
        pool->workers[i].pid = ok ? pid : 0;
        if (!ok)
            (void)snprintf(reason, reason_size, "fork: %s", strerrordesc_np(errno));
    }
    (void)close(gate[0]);
    *pool->start_ns = stress_now_ns();
    for (size_t i = 0; i < pool->count && ok; i++)
        ok = write(gate[1], "g", 1) == 1;
    (void)close(gate[1]);
    return ok;
}

static void judge(const struct pool *pool, const struct worker *worker, int status)
{
    char text[160];
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    if (WIFSIGNALED(status))
        (void)snprintf(text, sizeof text, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == NOT_BECOME)
        (void)snprintf(text, sizeof text, "could not become %s", pool->user);
    else
        (void)snprintf(text, sizeof text, "ended with status %d", WEXITSTATUS(status));
    pool->failed(pool->context, worker, text);
}

static size_t reap(struct pool *pool)
{
    size_t left = 0;
    for (size_t i = 0; i < pool->count; i++) {
        struct worker *worker = &pool->workers[i];
        int status;
        if (!worker->pid)
            continue;
        if (waitpid(worker->pid, &status, WNOHANG) == worker->pid) {
            judge(pool, worker, status);
            worker->pid = 0;
        } else {
            left++;
        }
    }
    return left;
}

static void kill_all(const struct pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        if (pool->workers[i].pid)
            (void)kill(-pool->workers[i].pid, SIGKILL);
}

static void wait_all(struct pool *pool)
{
    uint64_t stopped_ns = 0;
    for (unsigned turn = 0; reap(pool); turn++) {
        uint64_t now = stress_now_ns();
        bool time_up = pool->seconds > 0 && now >= *pool->start_ns + (uint64_t)(pool->seconds * 1e9);
        if (!stopped_ns && (time_up || interrupted || (pool->enough && pool->enough(pool->context)))) {
            atomic_store(pool->stop, true);
            stopped_ns = now;
        }
        if (stopped_ns && now > stopped_ns + GRACE_NS)
            kill_all(pool);
        if (pool->tick && turn % 10 == 0)
            pool->tick(pool->context);
        stress_sleep_ns(TICK_NS);
    }
}

bool pool_run(struct pool *pool, char *reason, size_t reason_size)
{
    struct sigaction act = {.sa_handler = on_signal};
    struct sigaction old_int;
    struct sigaction old_term;
    (void)sigaction(SIGINT, &act, &old_int);
    (void)sigaction(SIGTERM, &act, &old_term);
    bool ok = start(pool, reason, reason_size);
    if (!ok)
        atomic_store(pool->stop, true);
    wait_all(pool);
    (void)sigaction(SIGINT, &old_int, NULL);
    (void)sigaction(SIGTERM, &old_term, NULL);
    if (ok && interrupted) {
        (void)snprintf(reason, reason_size, "interrupted by signal %d", (int)interrupted);
        ok = false;
    }
    return ok;
}
