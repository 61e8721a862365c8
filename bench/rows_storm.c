/* SPDX-License-Identifier: Apache-2.0 */
/* One reader while one writer commits as fast as it can, beside the same reader alone. */
#include "bench/world.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Shared with the writer. It pauses between two commits, never within one. */
struct signs {
    atomic_bool pause, paused;
    atomic_ulong commits;
};

struct storm {
    struct qs_store *store;
    struct signs *signs;
};

static void one_read(struct storm *s)
{
    struct qs_error err = {0};
    struct qs_snapshot *snapshot = NULL;
    bench_check(qs_snapshot_take(s->store, &snapshot, &err), &err, "read in the storm");
    qs_snapshot_unref(snapshot);
}

static void wait_for(atomic_bool *sign, bool wanted)
{
    while (atomic_load(sign) != wanted)
        (void)sched_yield();
}

/* Reads of one sample; the waits for the writer lie outside of it. */
#define STORM_READS 200u

static double reads_us(struct storm *s, bool storm)
{
    atomic_store(&s->signs->pause, !storm);
    wait_for(&s->signs->paused, !storm);
    if (storm) { /* it is under way once it has committed */
        unsigned long before = atomic_load(&s->signs->commits);
        while (atomic_load(&s->signs->commits) == before)
            (void)sched_yield();
    }
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < STORM_READS; i++)
        one_read(s);
    return (double)(bench_now_ns() - start) / 1000.0 / STORM_READS;
}

static void writer(const char *root, const char *key, struct signs *signs)
{
    struct qs_error err = {0};
    struct qs_store *store = NULL;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    bench_check(qs_store_open(QS_SCOPE_SYSTEM,
                              &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = root}, &store,
                              &err),
                &err, "open");
    for (unsigned long n = 0;; n++) {
        while (atomic_load(&signs->pause)) {
            atomic_store(&signs->paused, true);
            (void)usleep(200);
        }
        atomic_store(&signs->paused, false);
        world_set(store, key, 100000 + n % 900000);
        atomic_fetch_add(&signs->commits, 1);
    }
}

static void add_row(struct bench *bench, struct storm *s)
{
    enum { MOST = 400 };
    double with[MOST], without[MOST], ratios[MOST];
    unsigned count = 0;
    uint64_t end = bench_now_ns() + (uint64_t)bench_budget(bench) * 1000000u;
    unsigned long commits = atomic_load(&s->signs->commits);
    while (count < MOST && (count < 5 || bench_now_ns() < end)) {
        with[count] = reads_us(s, true);
        without[count] = reads_us(s, false);
        ratios[count] = with[count] / without[count];
        count++;
    }
    commits = atomic_load(&s->signs->commits) - commits;
    json_t *row =
        json_pack("{s:s, s:s, s:f, s:f, s:I, s:s, s:f, s:f, s:I}", "name",
                  "time per read of one reader, one writer storming", "against", "the same without the writer", "ratio",
                  bench_median(ratios, count), "limit", 2.0, "samples", (json_int_t)count, "unit", "us", "ours",
                  bench_median(with, count), "theirs", bench_median(without, count), "commits", (json_int_t)commits);
    if (!row || json_array_append_new(bench->results, row))
        bench_fail("out of memory");
    (void)fprintf(stderr, "  %-52s %6.2f\n", "a reader in a storm", bench_median(ratios, count));
}

void rows_storm(struct bench *bench)
{
    char root[BENCH_PATH_BYTES];
    struct corpus *corpus = corpus_make(200);
    bench_path(root, "%s/storm", bench->scratch);
    struct storm s = {.store = world_store(root, corpus)};
    s.signs = mmap(NULL, sizeof *s.signs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s.signs == MAP_FAILED)
        bench_fail("out of memory");
    atomic_store(&s.signs->pause, true);
    pid_t pid = fork();
    if (pid < 0)
        bench_fail("fork: %s", strerror(errno));
    if (pid == 0)
        writer(root, corpus->texts[108], s.signs);
    add_row(bench, &s);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    (void)munmap(s.signs, sizeof *s.signs);
    qs_store_close(s.store);
    corpus_free(corpus);
}
