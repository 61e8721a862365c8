/* SPDX-License-Identifier: Apache-2.0 */
/* A crew of processes: fork, gate, clock, interruption, reaping. */
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
#define NOT_BECOME 9 /* exit status of a member that could not become the user */

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    interrupted = number;
}

void *crew_share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int crew_find_user(const char *command, const char *name, struct crew *ret_crew)
{
    ret_crew->user = NULL;
    if (!name)
        return STRESS_CLEAN;
    const struct passwd *user = getpwnam(name);
    if (!user)
        return stress_fail(STRESS_USAGE, command, "--as-user: there is no user '%s'", name);
    if (geteuid() == user->pw_uid)
        return STRESS_CLEAN;
    if (geteuid() != 0)
        return stress_fail(STRESS_FORBIDDEN, command, "--as-user needs root");
    ret_crew->user = name;
    ret_crew->uid = user->pw_uid;
    ret_crew->gid = user->pw_gid;
    return STRESS_CLEAN;
}

static bool become(const struct crew *crew)
{
    return !crew->user || (initgroups(crew->user, crew->gid) == 0 && setresgid(crew->gid, crew->gid, crew->gid) == 0 &&
                           setresuid(crew->uid, crew->uid, crew->uid) == 0);
}

static _Noreturn void member_main(const struct crew *crew, const struct crew_member *member, int gate, pid_t parent)
{
    char byte = 0;
    ssize_t got;
    (void)setpgid(0, 0); /* so that what a command leaves behind can be ended with it */
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGTERM, SIG_DFL);
    if (member->drops && !become(crew))
        _exit(NOT_BECOME);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* after the change of user, which clears it */
    if (getppid() != parent)
        _exit(0);
    while ((got = read(gate, &byte, 1)) < 0 && errno == EINTR) {
    }
    (void)close(gate);
    if (got == 1) /* else the start was called off */
        member->run(crew->context, member->index);
    _exit(0);
}

static bool start(struct crew *crew, char *reason, size_t reason_size)
{
    int gate[2];
    if (pipe(gate) != 0) {
        (void)snprintf(reason, reason_size, "pipe: %s", strerrordesc_np(errno));
        return false;
    }
    bool ok = true;
    pid_t parent = getpid();
    (void)fflush(NULL);
    for (size_t i = 0; i < crew->count && ok; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            (void)close(gate[1]);
            member_main(crew, &crew->members[i], gate[0], parent);
        }
        ok = pid > 0;
        crew->members[i].pid = ok ? pid : 0;
        if (!ok)
            (void)snprintf(reason, reason_size, "fork: %s", strerrordesc_np(errno));
    }
    (void)close(gate[0]);
    *crew->start_ns = stress_now_ns();
    for (size_t i = 0; i < crew->count && ok; i++)
        ok = write(gate[1], "g", 1) == 1;
    (void)close(gate[1]);
    return ok;
}

static void judge(const struct crew *crew, const struct crew_member *member, int status)
{
    char text[160];
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    if (WIFSIGNALED(status))
        (void)snprintf(text, sizeof text, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == NOT_BECOME)
        (void)snprintf(text, sizeof text, "could not become %s", crew->user);
    else
        (void)snprintf(text, sizeof text, "ended with status %d", WEXITSTATUS(status));
    crew->failed(crew->context, member, text);
}

static size_t reap(struct crew *crew)
{
    size_t left = 0;
    for (size_t i = 0; i < crew->count; i++) {
        struct crew_member *member = &crew->members[i];
        int status;
        if (!member->pid)
            continue;
        if (waitpid(member->pid, &status, WNOHANG) == member->pid) {
            judge(crew, member, status);
            member->pid = 0;
        } else {
            left++;
        }
    }
    return left;
}

static void kill_all(const struct crew *crew)
{
    for (size_t i = 0; i < crew->count; i++)
        if (crew->members[i].pid)
            (void)kill(-crew->members[i].pid, SIGKILL);
}

static void wait_all(struct crew *crew)
{
    uint64_t stopped_ns = 0;
    for (unsigned turn = 0; reap(crew); turn++) {
        uint64_t now = stress_now_ns();
        bool time_up = crew->seconds > 0 && now >= *crew->start_ns + (uint64_t)(crew->seconds * 1e9);
        if (!stopped_ns && (time_up || interrupted || (crew->enough && crew->enough(crew->context)))) {
            atomic_store(crew->stop, true);
            stopped_ns = now;
        }
        if (stopped_ns && now > stopped_ns + GRACE_NS)
            kill_all(crew);
        if (crew->tick && turn % 10 == 0)
            crew->tick(crew->context);
        stress_sleep_ns(TICK_NS);
    }
}

bool crew_run(struct crew *crew, char *reason, size_t reason_size)
{
    struct sigaction act = {.sa_handler = on_signal};
    struct sigaction old_int;
    struct sigaction old_term;
    (void)sigaction(SIGINT, &act, &old_int);
    (void)sigaction(SIGTERM, &act, &old_term);
    bool ok = start(crew, reason, reason_size);
    if (!ok)
        atomic_store(crew->stop, true);
    wait_all(crew);
    (void)sigaction(SIGINT, &old_int, NULL);
    (void)sigaction(SIGTERM, &old_term, NULL);
    if (ok && interrupted) {
        (void)snprintf(reason, reason_size, "interrupted by signal %d", (int)interrupted);
        ok = false;
    }
    return ok;
}
