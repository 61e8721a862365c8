/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runs. Each kill:
 *
 *     scratch emptied, old state made ── run starts ── n-th stop ── (a second writer comes, the lock is free or not)
 *       ── SIGKILL ── (the second writer ends well) ── a child judges: what a reader finds, the next run, what is left
 * over
 *
 * The second writer sends a byte if it has to wait, so nothing here depends on time.
 */
#include "stress/harness/stress.h"
#include "stress/kill/kill.h"
#include "stress/kill/trace.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAITER_NUMBER   7 /* the documents of the second and of the next writer */
#define NEXT_NUMBER     9
#define WAITER_MS       60000u
#define JUDGE_SECONDS   60
#define LEFTOVERS_BYTES 8192

struct testimony {
    enum kill_verdict verdict;
    char why[KILL_TEXT_BYTES];
    char names[LEFTOVERS_BYTES]; /* what is there at the end */
};

struct runner {
    const struct kill_op *op;
    const struct kill_context *context;
    const struct kill_options *options;
    struct kill_tally *tally;
    struct testimony *testimony;    /* shared with the judging child */
    char expected[LEFTOVERS_BYTES]; /* the names that an undisturbed run leaves */
    int ack_fd;                     /* in the traced child */
    bool acknowledged;
};

const char *kill_verdict_name(enum kill_verdict verdict)
{
    static const char *const names[KILL_VERDICTS] = {"ok", "absent", "torn", "lost", "refused", "stuck", "stray"};
    return verdict < KILL_VERDICTS ? names[verdict] : "unknown";
}

static bool failed(char *why, const char *what)
{
    (void)snprintf(why, KILL_TEXT_BYTES, "%s: %s", what, strerrordesc_np(errno));
    return false;
}

/* ---- the scratch directory ---- */

static bool start_afresh(const struct runner *runner, char *why)
{
    stress_remove_tree(runner->context->dir);
    if (mkdir(runner->context->dir, 0755) != 0)
        return failed(why, "cannot make the scratch directory");
    return runner->op->prepare(runner->context, why);
}

static struct {
    char *names[512];
    size_t count, skip;
} listing;

static int list_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    if (strlen(path) > listing.skip && listing.count < sizeof listing.names / sizeof *listing.names)
        listing.names[listing.count++] = strdup(path + listing.skip + 1);
    return 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All names below the scratch directory, sorted, one to a line. */
static void list_names(const char *dir, char text[LEFTOVERS_BYTES])
{
    listing.count = 0;
    listing.skip = strlen(dir);
    (void)nftw(dir, list_one, 16, FTW_PHYS);
    qsort(listing.names, listing.count, sizeof *listing.names, compare_names);
    size_t len = 0;
    text[0] = '\0';
    for (size_t i = 0; i < listing.count; i++) {
        if (len < LEFTOVERS_BYTES)
            len += (size_t)snprintf(text + len, LEFTOVERS_BYTES - len, "%s\n", listing.names[i]);
        free(listing.names[i]);
    }
}

/* ---- judging ---- */

static enum kill_verdict judge_look(const struct runner *runner, const struct kill_look *look, bool after_waiter,
                                    char *why)
{
    const struct kill_op *op = runner->op;
    (void)snprintf(why, KILL_TEXT_BYTES, "%s", look->why);
    if (look->absent)
        return op->made && !runner->acknowledged && !after_waiter ? KILL_OK : KILL_ABSENT;
    if (look->refused)
        return KILL_REFUSED;
    if (look->torn)
        return KILL_TORN;
    if (op->foreign)
        return KILL_OK;
    (void)snprintf(why, KILL_TEXT_BYTES, "generation %llu with document %llu%s", (unsigned long long)look->generation,
                   (unsigned long long)look->number, runner->acknowledged ? " after the acknowledgement" : "");
    bool counts = op->new_generation != 0;
    if (after_waiter) {
        uint64_t least = (runner->acknowledged ? op->new_generation : op->old_generation) + 1;
        bool right = !counts || (look->generation >= least && look->generation <= op->new_generation + 1) || op->made;
        return look->number == WAITER_NUMBER && right ? KILL_OK : KILL_LOST;
    }
    if (look->number == op->new_number && (!counts || look->generation == op->new_generation))
        return KILL_OK;
    if (look->number == op->old_number && !op->made && (!counts || look->generation == op->old_generation))
        return runner->acknowledged ? KILL_LOST : KILL_OK;
    return KILL_TORN;
}

static enum kill_verdict judge_next(const struct runner *runner, char *why)
{
    const struct kill_op *op = runner->op;
    struct kill_look look;
    bool busy;
    char reason[KILL_TEXT_BYTES] = "";
    if (!op->run(runner->context, reason) ||
        (op->save && !op->save(runner->context, NEXT_NUMBER, WAITER_MS, &busy, reason))) {
        (void)snprintf(why, KILL_TEXT_BYTES, "the next writer: %.300s", reason);
        return KILL_STUCK;
    }
    op->look(runner->context, &look);
    bool right = op->foreign || look.number == NEXT_NUMBER;
    if (right && !look.absent && !look.refused && !look.torn)
        return KILL_OK;
    (void)snprintf(why, KILL_TEXT_BYTES, "after the next writer: document %llu %.300s", (unsigned long long)look.number,
                   look.why);
    return KILL_STUCK;
}

/* The first name in found that is not in expected. */
static bool is_stray(const char *expected, const char *found, char *why)
{
    for (const char *line = found; *line; line = strchr(line, '\n') + 1) {
        char name[LEFTOVERS_BYTES];
        int len = (int)(strchr(line, '\n') - line);
        (void)snprintf(name, sizeof name, "\n%.*s\n", len, line);
        char text[LEFTOVERS_BYTES + 1];
        (void)snprintf(text, sizeof text, "\n%s", expected);
        if (!strstr(text, name)) {
            (void)snprintf(why, KILL_TEXT_BYTES, "left over: %.*s", len > 300 ? 300 : len, line);
            return true;
        }
    }
    return false;
}

struct hearing {
    const struct runner *runner;
    bool after_waiter;
};

static void judge(void *hearing)
{
    const struct hearing *h = hearing;
    const struct runner *runner = h->runner;
    struct testimony *t = runner->testimony;
    struct kill_look look;
    runner->op->look(runner->context, &look);
    t->verdict = judge_look(runner, &look, h->after_waiter, t->why);
    if (t->verdict == KILL_OK)
        t->verdict = judge_next(runner, t->why);
    list_names(runner->context->dir, t->names);
    if (t->verdict == KILL_OK && runner->expected[0] && is_stray(runner->expected, t->names, t->why))
        t->verdict = KILL_STRAY;
}

static bool ask_judge(struct runner *runner, bool after_waiter, char *why)
{
    struct testimony *t = runner->testimony;
    memset(t, 0, sizeof *t);
    int died = stress_in_child(judge, &(struct hearing){runner, after_waiter}, JUDGE_SECONDS);
    if (died < 0)
        return failed(why, "cannot run a judge");
    if (died) {
        t->verdict = KILL_REFUSED;
        (void)snprintf(t->why, sizeof t->why, "the reader died of signal %d", died);
    }
    return true;
}

static void count(struct kill_tally *tally, enum kill_verdict verdict, uint64_t point, const char *why)
{
    tally->count[verdict]++;
    if (verdict != KILL_OK && tally->sightings < KILL_SIGHTINGS)
        (void)snprintf(tally->sighting[tally->sightings++], KILL_TEXT_BYTES, "stop %llu: %s: %.340s",
                       (unsigned long long)point, kill_verdict_name(verdict), why);
}

/* ---- the traced run ---- */

/* The acknowledgement is a byte in a pipe, as a program's exit status would be; the write itself is a stop like others.
 */
static int run_and_acknowledge(void *arg)
{
    struct runner *runner = arg;
    char why[KILL_TEXT_BYTES] = "";
    if (!runner->op->run(runner->context, why)) {
        (void)fprintf(stderr, "qstress: kill: %s\n", why);
        return 1;
    }
    return write(runner->ack_fd, "a", 1) == 1 ? 0 : 1;
}

static bool was_acknowledged(int fd)
{
    char byte;
    return read(fd, &byte, 1) == 1;
}

static bool start_run(struct runner *runner, struct trace *trace, int *ret_ack_fd, char *why)
{
    int ack[2];
    if (!start_afresh(runner, why))
        return false;
    if (pipe2(ack, O_CLOEXEC | O_NONBLOCK) != 0)
        return failed(why, "cannot make a pipe");
    runner->ack_fd = ack[1];
    bool started = trace_start(trace, run_and_acknowledge, runner);
    int saved = errno;
    (void)close(ack[1]);
    errno = saved;
    if (!started) {
        (void)close(ack[0]);
        return failed(why, "cannot trace");
    }
    *ret_ack_fd = ack[0];
    return true;
}

static bool ended_well(const struct trace *trace, char *why)
{
    if (WIFEXITED(trace->wait_status) && WEXITSTATUS(trace->wait_status) == 0)
        return true;
    (void)snprintf(why, KILL_TEXT_BYTES, "the run failed without being killed (wait status %#x)",
                   (unsigned)trace->wait_status);
    return false;
}

/* ---- the second writer ---- */

/* init cannot try without waiting, so it sends the byte before it knows whether it must wait. */
static int wait_and_save(const struct runner *runner, int tell_fd)
{
    bool busy = runner->op->made, saved = false;
    char why[KILL_TEXT_BYTES] = "";
    if (!busy)
        saved = runner->op->save(runner->context, WAITER_NUMBER, 0, &busy, why);
    if (write(tell_fd, busy ? "w" : "d", 1) != 1)
        return 1;
    if (busy)
        saved = runner->op->save(runner->context, WAITER_NUMBER, WAITER_MS, &busy, why);
    if (!saved)
        (void)fprintf(stderr, "qstress: kill: the waiting writer: %s\n", why);
    return saved ? 0 : 1;
}

/* Returns once it has either saved or found that it has to wait. */
static bool start_waiter(const struct runner *runner, pid_t *ret_pid, char *why)
{
    int tell[2];
    if (pipe2(tell, O_CLOEXEC) != 0)
        return failed(why, "cannot make a pipe");
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(tell[0]);
        (void)alarm(JUDGE_SECONDS);
        _exit(wait_and_save(runner, tell[1]));
    }
    (void)close(tell[1]);
    char byte;
    bool told = pid > 0 && read(tell[0], &byte, 1) == 1;
    (void)close(tell[0]);
    *ret_pid = pid;
    return told || failed(why, "cannot start the second writer");
}

static bool waiter_ended_well(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- killing ---- */

/* One run, killed at stop number point. *ret_more false: it ended before. */
static bool kill_at(struct runner *runner, uint64_t point, bool *ret_more, char *why)
{
    struct trace trace;
    int ack_fd = -1;
    pid_t waiter = 0;
    if (!start_run(runner, &trace, &ack_fd, why))
        return false;
    enum trace_event event = TRACE_CALL;
    while (event == TRACE_CALL && trace.stops < point)
        event = trace_step(&trace);
    bool fine = event != TRACE_FAILED || failed(why, "cannot trace");
    *ret_more = event == TRACE_CALL;
    if (fine && *ret_more && runner->options->waiter)
        fine = start_waiter(runner, &waiter, why);
    trace_kill(&trace);
    runner->acknowledged = was_acknowledged(ack_fd);
    (void)close(ack_fd);
    bool waited = waiter <= 0 || waiter_ended_well(waiter);
    if (!fine || !*ret_more)
        return fine && ended_well(&trace, why);
    runner->tally->points++;
    stress_progress("%s: killed at %llu calls", runner->op->name, (unsigned long long)runner->tally->points);
    if (!waited) {
        count(runner->tally, KILL_STUCK, point, "the waiting writer did not get through");
        return true;
    }
    if (!ask_judge(runner, waiter > 0, why))
        return false;
    count(runner->tally, runner->testimony->verdict, point, runner->testimony->why);
    return true;
}

static bool share_testimony(struct runner *runner, char *why)
{
    runner->testimony =
        mmap(NULL, sizeof *runner->testimony, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return runner->testimony != MAP_FAILED || failed(why, "out of memory");
}

/* An undisturbed run shows that the operation works, and which files belong there. */
static bool run_undisturbed(struct runner *runner, char *why)
{
    struct kill_look look;
    if (!start_afresh(runner, why) || !runner->op->run(runner->context, why))
        return false;
    runner->acknowledged = true;
    runner->op->look(runner->context, &look);
    enum kill_verdict verdict = judge_look(runner, &look, false, why);
    if (verdict != KILL_OK || !ask_judge(runner, false, why))
        return false;
    (void)snprintf(runner->expected, sizeof runner->expected, "%s", runner->testimony->names);
    if (runner->testimony->verdict != KILL_OK)
        (void)snprintf(why, KILL_TEXT_BYTES, "undisturbed: %.300s", runner->testimony->why);
    return runner->testimony->verdict == KILL_OK;
}

bool kill_at_each_call(const struct kill_op *op, const struct kill_context *context, const struct kill_options *options,
                       struct kill_tally *tally, char *why)
{
    struct runner runner = {.op = op, .context = context, .options = options, .tally = tally};
    if (!share_testimony(&runner, why))
        return false;
    bool fine = run_undisturbed(&runner, why), more = true;
    for (uint64_t point = 1; fine && more && !kill_interrupted(); point += options->every)
        fine = kill_at(&runner, point, &more, why);
    (void)munmap(runner.testimony, sizeof *runner.testimony);
    return fine;
}

/* ---- stopping ---- */

/* To all others a stop under ptrace is like SIGSTOP: the process stops with what it has locked and half done. */
bool kill_stop_at_each_call(const struct kill_op *op, const struct kill_context *context, struct kill_tally *tally,
                            char *why)
{
    struct runner runner = {.op = op, .context = context, .tally = tally};
    struct trace trace;
    int ack_fd = -1;
    bool seen_new = false;
    if (!start_run(&runner, &trace, &ack_fd, why))
        return false;
    enum trace_event event;
    while ((event = trace_step(&trace)) == TRACE_CALL && !kill_interrupted()) {
        char reason[KILL_TEXT_BYTES];
        struct kill_look look;
        /* Once the new state was seen, or acknowledged, the old one must not come back. */
        runner.acknowledged = runner.acknowledged || seen_new || was_acknowledged(ack_fd);
        op->look(context, &look);
        tally->points++;
        stress_progress("%s: read at %llu calls", op->name, (unsigned long long)tally->points);
        count(tally, judge_look(&runner, &look, false, reason), trace.stops, reason);
        bool is_new = op->made ? !look.absent : look.number == op->new_number && look.number != op->old_number;
        seen_new = seen_new || is_new;
    }
    bool fine = event != TRACE_FAILED || failed(why, "cannot trace");
    trace_kill(&trace);
    (void)close(ack_fd);
    return fine && (kill_interrupted() || ended_well(&trace, why));
}
