/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers where they really run: while a writer storms, while the file is swapped, while a writer is stopped, on a
 * read-only mount, on an overlay after a copy-up, in another PID namespace, from several threads. Never torn, never
 * older than before.
 */
#include "tests/support/as_user.h"
#include "tests/support/scratch.h"
#include "tests/support/store_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define VALUES 40

static struct fixture f;
static struct qs_error err;
static _Atomic uint64_t *acknowledged; /* shared: the newest generation a writer was told of */

static pid_t test_process;

/* A failure in a child must end the child: cmocka's own would let it run on as a second test program. */
#define FAIL(...) \
    do { \
        if (getpid() == test_process) \
            fail_msg(__VA_ARGS__); \
        (void)fprintf(stderr, __VA_ARGS__); \
        (void)fputc('\n', stderr); \
        _exit(1); \
    } while (0)

static void ok(enum qs_status status)
{
    if (status)
        FAIL("%s: %s [%s]", qs_status_name(status), err.message, err.file);
}

static int set_up(void **state)
{
    (void)state;
    fixture_init(&f, true);
    acknowledged = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(acknowledged != MAP_FAILED);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    munmap((void *)acknowledged, 4096);
    fixture_release(&f);
    return 0;
}

/* Writes the same number into every value: a mixed document is a torn one. */
static bool write_round(struct qs_store *store, uint64_t number)
{
    struct qs_txn *txn = NULL;
    struct qs_commit_info info = {.size = sizeof info};
    char key[32];
    char json[64];
    bool good = qs_txn_begin(store, 60000, &txn, NULL) == QS_OK;
    for (int i = 0; good && i < VALUES; i++) {
        (void)snprintf(key, sizeof key, "group%d.value%02d", i % 3, i);
        (void)snprintf(json, sizeof json, "%llu", (unsigned long long)number);
        good = qs_txn_set(txn, key, json, strlen(json), NULL) == QS_OK;
    }
    good = good && qs_txn_commit(txn, NULL, &info, NULL) == QS_OK;
    if (good)
        atomic_store(acknowledged, info.generation);
    qs_txn_free(txn);
    return good;
}

static struct qs_store *open_store(const char *root)
{
    struct qs_store *store = NULL;
    ok(qs_store_open(
        QS_SCOPE_SYSTEM,
        &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = root, .wait_ms = 20000}, &store,
        &err));
    return store;
}

/* The writer's process: storms until it is killed. swap: compact now and then. */
static pid_t start_writer(bool swap)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    struct qs_store *store = open_store(f.root);
    for (uint64_t number = 1;; number++) {
        if (!write_round(store, number))
            _exit(1);
        if (swap && number % 5 == 0 && qs_store_compact(store, 60000, NULL) != QS_OK)
            _exit(2);
    }
}

static void stop_writer(pid_t writer)
{
    int how = 0;
    kill(writer, SIGKILL);
    assert_int_equal(waitpid(writer, &how, 0), writer);
    assert_true(WIFSIGNALED(how)); /* it had not given up by itself */
}

static void wait_for_generation(uint64_t generation)
{
    while (atomic_load(acknowledged) < generation)
        sched_yield();
}

/* One read, judged: whole, and not older than what was acknowledged before it began. Returns its generation. */
static uint64_t read_judged(struct qs_store *store, uint64_t not_before)
{
    struct qs_snapshot *snapshot = NULL;
    ok(qs_snapshot_take(store, &snapshot, &err));
    uint64_t generation = qs_snapshot_generation(snapshot);
    if (generation < not_before)
        FAIL("stale: generation %llu, after %llu", (unsigned long long)generation, (unsigned long long)not_before);
    struct qs_iter iter = qs_snapshot_iter(snapshot, NULL);
    struct qs_bytes key, value, first = {NULL, 0};
    size_t count = 0;
    for (; qs_iter_next(&iter, &key, &value); count++) {
        if (!first.data)
            first = value;
        if (value.len != first.len || memcmp(value.data, first.data, first.len) != 0)
            FAIL("torn at generation %llu", (unsigned long long)generation);
    }
    if (count != VALUES && generation != 1)
        FAIL("%zu values at generation %llu", count, (unsigned long long)generation);
    qs_snapshot_unref(snapshot);
    return generation;
}

static void read_many(const char *root, unsigned reads)
{
    struct qs_store *store = open_store(root);
    uint64_t last = 0;
    uint64_t first = 0;
    /* At least so many reads, and until the writer got on: on a busy machine it may wait long for its turn. */
    for (unsigned i = 0; i < reads || last <= first; i++) {
        uint64_t known = atomic_load(acknowledged);
        uint64_t now = read_judged(store, known > last ? known : last);
        first = first ? first : now;
        last = now;
    }
    printf("# %u reads, generations %llu to %llu\n", reads, (unsigned long long)first, (unsigned long long)last);
    qs_store_close(store);
}

static void a_storm_of_commits_tears_no_read(void **state)
{
    (void)state;
    pid_t writer = start_writer(false);
    wait_for_generation(3);
    read_many(f.root, 3000);
    stop_writer(writer);
}

static void a_swap_of_the_file_tears_no_read(void **state)
{
    (void)state;
    pid_t writer = start_writer(true);
    wait_for_generation(3);
    read_many(f.root, 3000);
    stop_writer(writer);
}

static void a_stopped_writer_stops_no_reader(void **state)
{
    (void)state;
    pid_t writer = start_writer(true);
    struct qs_store *store = open_store(f.root);
    uint64_t last = 0;
    wait_for_generation(3);
    for (int i = 0; i < 200; i++) {
        kill(writer, SIGSTOP);
        int how = 0;
        assert_int_equal(waitpid(writer, &how, WUNTRACED), writer);
        assert_true(WIFSTOPPED(how));
        uint64_t known = atomic_load(acknowledged);
        for (int r = 0; r < 3; r++)
            last = read_judged(store, known > last ? known : last);
        kill(writer, SIGCONT);
        wait_for_generation(known + 1);
    }
    qs_store_close(store);
    stop_writer(writer);
}

/* ---- places ---- */

static int read_on_read_only_mount(void *context)
{
    (void)context;
    char at[128];
    (void)snprintf(at, sizeof at, "%s.mount", f.root);
    if (mkdir(at, 0755) || mount(f.root, at, NULL, MS_BIND, NULL) ||
        mount(NULL, at, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL))
        return 99;
    struct qs_store *store = open_store(at);
    uint64_t generation = read_judged(store, 2);
    struct qs_txn *txn = NULL;
    enum qs_status writing = qs_txn_begin(store, 0, &txn, &err);
    printf("# writing there: %s\n", err.message);
    qs_store_close(store);
    umount2(at, MNT_DETACH);
    rmdir(at);
    return generation == 2 && writing == QS_UNTRUSTED ? 0 : 1;
}

static void a_read_only_mount_is_read_and_not_written(void **state)
{
    (void)state;
    assert_true(write_round(f.store, 1));
    assert_int_equal(in_mount_namespace(read_on_read_only_mount, NULL), 0);
}

/* The overlay's lower layer holds the store; writing through the overlay copies it up: another inode under the same
 * path. */
static int read_on_overlay(void *context)
{
    (void)context;
    struct scratch s;
    char options[512];
    scratch_make(&s);
    if (mkdir(scratch_path(&s, "upper"), 0755) || mkdir(scratch_path(&s, "work"), 0755) ||
        mkdir(scratch_path(&s, "merged"), 0755))
        return 98;
    (void)snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s,workdir=%s", f.root, scratch_path(&s, "upper"),
                   scratch_path(&s, "work"));
    if (mount("overlay", scratch_path(&s, "merged"), "overlay", 0, options))
        return 99;
    struct qs_store *store = open_store(scratch_path(&s, "merged"));
    uint64_t before = read_judged(store, 2);
    bool written = write_round(store, 7);
    uint64_t after = read_judged(store, before + 1);
    uint64_t again = write_round(store, 8) ? read_judged(store, after + 1) : 0;
    qs_store_close(store);
    umount2(scratch_path(&s, "merged"), MNT_DETACH);
    scratch_remove(&s);
    return written && after == before + 1 && again == after + 1 ? 0 : 1;
}

static void an_overlay_is_read_and_written_after_copy_up(void **state)
{
    (void)state;
    struct fixture kept = f;
    fixture_init(&f, false); /* overlayfs wants layers of one kind of file system: a disk's */
    assert_true(write_round(f.store, 1));
    int result = in_mount_namespace(read_on_overlay, NULL);
    fixture_release(&f);
    f = kept;
    if (result == 99) {
        printf("# overlayfs cannot be mounted here\n");
        skip();
    }
    assert_int_equal(result, 0);
}

static int read_in_pid_namespace(void *context)
{
    (void)context;
    if (unshare(CLONE_NEWPID))
        return 99;
    pid_t child = fork();
    if (child == 0) {
        read_many(f.root, 300);
        _exit(getpid() == 1 ? 0 : 1);
    }
    int how = 0;
    waitpid(child, &how, 0);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 97;
}

static void another_pid_namespace_reads_during_a_storm(void **state)
{
    (void)state;
    pid_t writer = start_writer(false);
    wait_for_generation(3);
    int result = in_mount_namespace(read_in_pid_namespace, NULL);
    stop_writer(writer);
    assert_int_equal(result, 0);
}

static int read_as_nobody(void *context)
{
    (void)context;
    read_many(f.root, 500);
    return 0;
}

static void an_unprivileged_user_reads_during_a_storm(void **state)
{
    (void)state;
    assert_int_equal(chmod(f.root, 0755), 0);
    pid_t writer = start_writer(true);
    wait_for_generation(3);
    int result = as_user(65534, 65534, read_as_nobody, NULL);
    stop_writer(writer);
    assert_int_equal(result, 0);
}

/* ---- threads ---- */

#define THREADS 4

static void *thread_reads(void *context)
{
    struct qs_snapshot *shared = context;
    struct qs_store *store = NULL;
    if (qs_store_open(
            QS_SCOPE_SYSTEM,
            &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = f.root, .wait_ms = 20000},
            &store, NULL))
        return (void *)"open";
    for (int i = 0; i < 200; i++) {
        struct qs_snapshot *own = NULL;
        struct qs_bytes value;
        struct qs_snapshot *again = qs_snapshot_ref(shared);
        char *text = NULL;
        if (qs_snapshot_get(again, "group1.value01", &value, NULL) || qs_snapshot_take(store, &own, NULL) ||
            qs_snapshot_json(own, "group1", &text, NULL, NULL))
            return (void *)"read";
        free(text);
        qs_snapshot_unref(own);
        qs_snapshot_unref(again);
    }
    qs_store_close(store);
    return NULL;
}

static void *thread_writes(void *context)
{
    (void)context;
    struct qs_store *store = NULL;
    if (qs_store_open(QS_SCOPE_SYSTEM,
                      &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = f.root}, &store,
                      NULL))
        return (void *)"open";
    static _Atomic uint64_t next = 100; /* two equal rounds in turn would be one generation */
    for (int i = 0; i < 30; i++)
        if (!write_round(store, next++))
            return (void *)"write";
    qs_store_close(store);
    return NULL;
}

static void threads_share_snapshots_and_write_in_turn(void **state)
{
    (void)state;
    pthread_t threads[THREADS + 2];
    assert_true(write_round(f.store, 1));
    struct qs_snapshot *shared = fixture_read(&f);
    for (int i = 0; i < THREADS + 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i < THREADS ? thread_reads : thread_writes, shared), 0);
    for (int i = 0; i < THREADS + 2; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        if (result)
            fail_msg("thread %d: %s", i, (const char *)result);
    }
    qs_snapshot_unref(shared);
    struct qs_snapshot *now = fixture_read(&f);
    assert_int_equal(qs_snapshot_generation(now), 2 + 2 * 30);
    qs_snapshot_unref(now);
}

static void many_stores_are_open_at_once(void **state)
{
    (void)state;
    struct qs_store *stores[50];
    struct qs_snapshot *snapshots[50];
    assert_true(write_round(f.store, 1));
    for (int i = 0; i < 50; i++) {
        stores[i] = open_store(f.root);
        ok(qs_snapshot_take(stores[i], &snapshots[i], &err));
    }
    assert_true(write_round(f.store, 2));
    for (int i = 0; i < 50; i++) {
        struct qs_bytes value;
        ok(qs_snapshot_get(snapshots[i], "group1.value01", &value, &err)); /* still the generation it was taken at */
        assert_memory_equal(value.data, "1", 1);
        assert_true(qs_snapshot_changed(snapshots[i], stores[i]));
        qs_snapshot_unref(snapshots[i]);
        qs_store_close(stores[i]);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    test_process = getpid();
    const struct CMUnitTest tests[] = {
        TEST(a_storm_of_commits_tears_no_read),
        TEST(a_swap_of_the_file_tears_no_read),
        TEST(a_stopped_writer_stops_no_reader),
        TEST(a_read_only_mount_is_read_and_not_written),
        TEST(an_overlay_is_read_and_written_after_copy_up),
        TEST(another_pid_namespace_reads_during_a_storm),
        TEST(an_unprivileged_user_reads_during_a_storm),
        TEST(threads_share_snapshots_and_write_in_turn),
        TEST(many_stores_are_open_at_once),
    };
    if (geteuid() != 0) {
        printf("1..0 # SKIP mounts and other users can be had by root only\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
