/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crafted files: each is given to every kind of reader, in a process of its own, whose reads are counted and whose peak
 * of memory the kernel tells. What stops none, stops none; what does is refused as damaged. The figures are printed,
 * and are not in the documents yet.
 */
#include "base/os.h"
#include "qsettings/qsettings.h"
#include "store/history_read.h"
#include "tests/support/craft.h"
#include "tests/support/one_store.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMORY_KIB  (64L * 1024)
#define TRIES       3u                 /* walks until damage */
#define BYTES_SPARE (4u * 1024 * 1024) /* of metas, and of pages that are looked at and refused */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEASURABLE false /* a sanitizer's own memory is counted too */
#else
#define MEASURABLE true
#endif

struct told {
    enum qs_status status;
    unsigned long long bytes, calls;
    char message[QS_ERROR_TEXT_BYTES];
};
static struct told *told; /* shared with the child */

static struct os_calls counting;

static ssize_t counting_pread(int fd, void *buf, size_t size, off_t at)
{
    ssize_t got = os_real.pread(fd, buf, size, at);
    told->bytes += got > 0 ? (unsigned long long)got : 0;
    told->calls++;
    return got;
}

static enum qs_status get(void)
{
    struct qs_snapshot *snapshot = NULL;
    enum qs_status status = qs_snapshot_take(f.store, &snapshot, &err);
    qs_snapshot_unref(snapshot);
    return status;
}

static enum qs_status policy(void)
{
    struct qs_policy_result *result = NULL;
    enum qs_status status =
        qs_policy_read(&(struct qs_policy_options){.size = sizeof(struct qs_policy_options), .root = f.root}, &result,
                       &err);
    qs_policy_free(result);
    return status == QS_NO_POLICY ? QS_OK : status;
}

static enum qs_status watch(void)
{
    struct qs_watch *seen = NULL;
    struct qs_watch_event event = {.size = sizeof event};
    enum qs_status status = qs_watch_open(f.store, QS_WATCH_ALL, &seen, &err);
    while (!status)
        status = qs_watch_next(seen, &event, &err);
    qs_watch_close(seen);
    return status == QS_NOT_FOUND ? QS_OK : status;
}

static enum qs_status set(void)
{
    struct qs_txn *txn = NULL;
    enum qs_status status = qs_txn_begin(f.store, 0, &txn, &err);
    qs_txn_free(txn);
    return status;
}

static enum qs_status fsck(void)
{
    return qs_store_fsck(f.store, NULL, &err);
}

static enum qs_status log_all(void)
{
    struct qs_history *history = NULL;
    const struct qs_record *record;
    enum qs_status status = qs_history_open(f.store, &history, &err);
    for (size_t i = status ? 0 : qs_history_count(history); i-- > 0 && !status;)
        status = qs_history_record(history, i, &record, &err);
    qs_history_close(history);
    return status;
}

static const struct {
    const char *name;
    enum qs_status (*run)(void);
    unsigned looks; /* enum craft_reader */
} readers[] = {
    {"get", get, CRAFT_GET},     {"policy", policy, CRAFT_GET}, {"watch", watch, CRAFT_WATCH},
    {"log", log_all, CRAFT_LOG}, {"set", set, CRAFT_SET},       {"fsck", fsck, CRAFT_FSCK},
};

/* One reader in a process of its own. Ends the test if it does not end by itself. Its peak of memory, in KiB. */
static long in_child(enum qs_status (*run)(void), unsigned *ret_ms)
{
    uint64_t start = qs_os->monotonic_ms();
    memset(told, 0, sizeof *told);
    (void)fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit memory = {(rlim_t)2 << 30, (rlim_t)2 << 30};
        if (MEASURABLE)
            (void)setrlimit(RLIMIT_AS, &memory);
        (void)alarm(60); /* far above anything; what hangs must not hang the suite */
        counting = os_real;
        counting.pread = counting_pread;
        qs_os = &counting;
        told->status = run();
        memcpy(told->message, err.message, sizeof told->message);
        _exit(0);
    }
    int how = 0;
    struct rusage usage;
    assert_int_equal(wait4(pid, &how, 0, &usage), pid);
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
        fail_msg("it did not come to an end: %#x, after %llu reads of %llu bytes", (unsigned)how, told->calls,
                 told->bytes);
    *ret_ms = (unsigned)(qs_os->monotonic_ms() - start);
    return usage.ru_maxrss;
}

static long true_kib(void)
{
    struct stat st;
    assert_int_equal(stat(f.data, &st), 0);
    return (long)(st.st_blocks / 2);
}

static enum qs_status nothing(void)
{
    return QS_OK;
}

static void no_file_makes_a_reader_do_more_than_it_holds(void **state)
{
    (void)state;
    unsigned ms = 0;
    size_t len = 0;
    fixture_set(&f, "a", "1");
    fixture_set(&f, "a", "2");
    uint8_t *sound = fixture_bytes(&f, &len);
    long empty = in_child(nothing, &ms);
    for (size_t i = 0; i < craft_count; i++) {
        fixture_write_bytes(&f, sound, len);
        int fd = open(f.data, O_RDWR | O_CLOEXEC);
        assert_true(fd >= 0);
        crafts[i].make(fd);
        (void)close(fd);
        for (size_t r = 0; r < sizeof readers / sizeof readers[0]; r++) {
            long peak = in_child(readers[r].run, &ms) - empty;
            unsigned long long most = TRIES * 1024ull * (unsigned long long)true_kib() + BYTES_SPARE;
            printf("# %s | %s | %s | %u ms | %ld KiB | %llu KiB read | %ld KiB\n", crafts[i].name, readers[r].name,
                   qs_status_name(told->status), ms, peak, told->bytes / 1024, true_kib());
            if (told->status != (crafts[i].harmless & readers[r].looks ? QS_OK : QS_DAMAGED))
                fail_msg("%s, %s: %s", crafts[i].name, readers[r].name, told->message);
            assert_true(told->bytes <= most);
            assert_true(!MEASURABLE || peak <= true_kib() + MEMORY_KIB);
        }
    }
    fixture_write_bytes(&f, sound, len);
    assert_int_equal(get(), QS_OK);
    free(sound);
    if (!MEASURABLE)
        printf("# the peaks of memory were not judged: a sanitizer's own is counted too\n");
}

int main(void)
{
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_file_makes_a_reader_do_more_than_it_holds, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
