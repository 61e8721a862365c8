/* SPDX-License-Identifier: Apache-2.0 */
/* The writer lock against other processes: what stands in its place, a store that goes while one waits, and fork. */
#include "base/os.h"
#include "tests/support/faults.h"
#include "tests/support/one_store.h"
#include "tests/support/scratch.h"
#include "writer/txn_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char lock_path[128], store_path[128], aside_path[128];

static int set_up_paths(void **state)
{
    (void)set_up(state);
    (void)snprintf(store_path, sizeof store_path, "%s/system", f.root);
    (void)snprintf(aside_path, sizeof aside_path, "%s/aside", f.root);
    (void)snprintf(lock_path, sizeof lock_path, "%s/system/writer.lock", f.root);
    return 0;
}

static void refused_as_no_regular_file(void)
{
    struct qs_txn *txn = NULL;
    assert_int_equal(qs_txn_begin(f.store, 0, &txn, &err), QS_UNTRUSTED);
    assert_non_null(strstr(err.message, "writer.lock is not a regular file"));
    assert_non_null(strstr(err.advice, "remove it"));
}

static void what_is_no_regular_file_is_no_lock(void **state)
{
    (void)state;
    char elsewhere[128];
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", f.root);
    assert_int_equal(unlink(lock_path), 0);
    assert_int_equal(symlink(elsewhere, lock_path), 0);
    refused_as_no_regular_file();
    assert_false(scratch_exists(elsewhere));
    assert_int_equal(unlink(lock_path), 0);
    assert_int_equal(mkfifo(lock_path, 0600), 0);
    refused_as_no_regular_file();
    assert_int_equal(unlink(lock_path), 0);
    assert_int_equal(mkdir(lock_path, 0700), 0);
    refused_as_no_regular_file();
    assert_int_equal(rmdir(lock_path), 0);
    fixture_set(&f, "a", "1"); /* a missing one is made again */
    assert_int_equal(scratch_stat(lock_path).st_mode, S_IFREG | 0600);
}

/* ---- a store that goes while one waits ---- */

static void remove_store(unsigned number, const char *call, void *context)
{
    (void)number;
    (void)call;
    (void)context;
    assert_int_equal(unlink(f.data), 0);
    assert_int_equal(unlink(lock_path), 0);
    assert_int_equal(rmdir(store_path), 0);
}

static void replace_store(unsigned number, const char *call, void *context)
{
    struct qs_error ignored;
    struct qs_store *other = NULL;
    remove_store(number, call, context);
    const struct os_calls *seam = qs_os;
    qs_os = &os_real;
    assert_int_equal(qs_store_open(QS_SCOPE_SYSTEM,
                                   &(struct qs_store_options){.size = sizeof(struct qs_store_options), .root = f.root},
                                   &other, &ignored),
                     0);
    assert_int_equal(qs_store_init(other, NULL, &ignored), 0);
    qs_store_close(other);
    qs_os = seam;
}

/* The number of openat2 calls up to and with the one that opens writer.lock. */
static unsigned lock_opens_at;

static void note_lock(unsigned number, const char *call, void *context)
{
    (void)call;
    (void)context;
    if (scratch_exists(lock_path) && !lock_opens_at)
        lock_opens_at = number - 1;
}

/* writer.lock is taken away first, so that the call after which it is there is the one that made it. */
static void find_lock_open(void)
{
    struct qs_txn *txn = NULL;
    lock_opens_at = 0;
    assert_int_equal(unlink(lock_path), 0);
    faults_start(&(struct fault){.at = 0, .only = "openat2", .kind = FAULT_NONE, .before = note_lock});
    enum qs_status status = qs_txn_begin(f.store, 0, &txn, &err);
    (void)faults_stop();
    ok(status);
    qs_txn_free(txn);
    assert_int_not_equal(lock_opens_at, 0);
}

static void a_store_removed_under_a_waiting_writer_is_absent(void **state)
{
    (void)state;
    struct qs_txn *txn = NULL;
    find_lock_open();
    faults_start(&(struct fault){.at = lock_opens_at, .only = "openat2", .kind = FAULT_NONE, .before = remove_store});
    enum qs_status status = qs_txn_begin(f.store, 0, &txn, &err);
    (void)faults_stop();
    assert_int_equal(status, QS_ABSENT);
    assert_non_null(strstr(err.advice, "init"));
    assert_false(scratch_exists(store_path)); /* and was not made again */
}

static void a_store_made_anew_under_a_waiting_writer_is_the_one_written(void **state)
{
    (void)state;
    struct qs_txn *txn = NULL;
    fixture_set(&f, "old", "1");
    find_lock_open();
    faults_start(&(struct fault){.at = lock_opens_at, .only = "openat2", .kind = FAULT_NONE, .before = replace_store});
    enum qs_status status = qs_txn_begin(f.store, 0, &txn, &err);
    (void)faults_stop();
    ok(status);
    assert_int_equal(qs_snapshot_generation(qs_txn_base(txn)), 1);
    ok(qs_txn_set(txn, "new", "1", 1, &err));
    ok(qs_txn_commit(txn, NULL, NULL, &err));
    qs_txn_free(txn);
    struct qs_snapshot *now = fixture_read(&f);
    char *text = NULL;
    ok(qs_snapshot_json(now, NULL, &text, NULL, &err));
    assert_string_equal(text, "{\"new\":1}");
    free(text);
    qs_snapshot_unref(now);
}

/* ---- a lock file that is another one by the time it is locked ---- */

static int new_lock_fd = -1; /* of the file that has the name now */

static void swap_lock(unsigned number, const char *call, void *context)
{
    (void)number;
    (void)call;
    const bool *another_writer = context;
    assert_int_equal(unlink(lock_path), 0);
    if (new_lock_fd >= 0)
        close(new_lock_fd);
    new_lock_fd = open(lock_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    assert_true(new_lock_fd >= 0);
    if (*another_writer)
        assert_int_equal(fcntl(new_lock_fd, F_OFD_SETLK, &whole), 0);
}

/* fstatat asks whether the file that was locked is still the one of that name. */
static enum qs_status begin_while_swapped(unsigned last, bool another_writer, struct qs_txn **ret_txn)
{
    faults_start(&(struct fault){
        .at = 1, .last = last, .only = "fstatat", .kind = FAULT_NONE, .before = swap_lock, .context = &another_writer});
    enum qs_status status = qs_txn_begin(f.store, 0, ret_txn, &err);
    (void)faults_stop();
    return status;
}

static bool new_lock_is_free(void)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    assert_int_equal(fcntl(new_lock_fd, F_OFD_GETLK, &whole), 0);
    return whole.l_type == F_UNLCK;
}

static void the_lock_is_that_of_the_file_that_has_the_name(void **state)
{
    (void)state;
    struct qs_txn *txn = NULL;
    ok(begin_while_swapped(1, false, &txn));
    assert_false(new_lock_is_free());
    qs_txn_free(txn);
    assert_true(new_lock_is_free());
}

static void a_lock_on_a_file_without_the_name_keeps_nobody_else_out(void **state)
{
    (void)state;
    struct qs_txn *txn = NULL;
    assert_int_equal(begin_while_swapped(1, true, &txn), QS_BUSY);
    assert_null(txn);
}

static void a_lock_file_that_is_swapped_at_each_look_is_given_up(void **state)
{
    (void)state;
    struct qs_txn *txn = NULL;
    assert_int_equal(begin_while_swapped(1000, false, &txn), QS_BUSY);
    assert_null(txn);
    assert_true(new_lock_is_free());
}

static int tear_down_swapped(void **state)
{
    close(new_lock_fd);
    new_lock_fd = -1;
    return tear_down(state);
}

/* ---- fork ---- */

static sem_t forked;
static pthread_t forker;
static int report_to; /* the grandchild tells its number there, once fork is over for it */

static void *fork_one(void *unused)
{
    if (fork() == 0) { /* lives on, and executes nothing that would close its descriptors */
        pid_t self = getpid();
        if (write(report_to, &self, sizeof self) != sizeof self)
            _exit(1);
        for (;;)
            (void)pause();
    }
    (void)sem_post(&forked);
    return unused;
}

/* Between taking the lock and noting it: a second thread forks now. Where the fork has to wait for the note, the
 * bounded wait here ends without it. */
static void fork_beside(unsigned number, const char *call, void *context)
{
    (void)number;
    (void)call;
    (void)context;
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 200000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_create(&forker, NULL, fork_one, NULL) == 0)
        (void)sem_timedwait(&forked, &until);
}

/* Takes the lock while its other thread forks, and dies with the lock held. */
static void hold_fork_and_die(void)
{
    struct qs_txn *txn = NULL;
    (void)sem_init(&forked, 0, 0);
    /* the question whether the locked file is still the one of that name */
    faults_start(&(struct fault){.at = 1, .only = "fstatat", .kind = FAULT_NONE, .before = fork_beside});
    enum qs_status status = qs_txn_begin(f.store, 0, &txn, NULL);
    (void)faults_stop();
    (void)pthread_join(forker, NULL);
    _exit(status != QS_OK);
}

static void a_fork_beside_a_writer_keeps_no_lock(void **state)
{
    (void)state;
    int ends[2];
    int result = -1;
    pid_t lives_on = 0;
    assert_int_equal(pipe(ends), 0);
    report_to = ends[1];
    pid_t holder = fork();
    if (holder == 0)
        hold_fork_and_die();
    assert_int_equal(read(ends[0], &lives_on, sizeof lives_on), sizeof lives_on);
    assert_int_equal(waitpid(holder, &result, 0), holder);
    assert_int_equal(result, 0);
    struct qs_txn *txn = NULL;
    enum qs_status status = qs_txn_begin(f.store, 0, &txn, &err);
    (void)kill(lives_on, SIGKILL);
    close(ends[0]);
    close(ends[1]);
    ok(status);
    qs_txn_free(txn);
}

/* ---- the gate ---- */

/* A process that waits for the lock, sets b and ends; when this returns it stands at the gate. */
static pid_t waiter_at_gate(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct qs_txn *txn = NULL;
        enum qs_status status = qs_txn_begin(f.store, 60000, &txn, NULL);
        if (!status)
            status = qs_txn_set(txn, "b", "1", 1, NULL);
        if (!status)
            status = qs_txn_commit(txn, NULL, NULL, NULL);
        _exit(status != QS_OK);
    }
    int fd = open(lock_path, O_RDWR | O_CLOEXEC);
    struct flock gate;
    do {
        gate = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1};
        assert_int_equal(fcntl(fd, F_OFD_GETLK, &gate), 0);
    } while (gate.l_type == F_UNLCK);
    close(fd);
    return pid;
}

static uint64_t no_time_passes(void)
{
    return 1000;
}

static void who_commits_in_a_loop_lets_the_one_at_the_gate_go_first(void **state)
{
    (void)state;
    struct qs_txn *txn = NULL;
    int result = -1;
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    pid_t waiter = waiter_at_gate();
    ok(qs_txn_set(txn, "a", "1", 1, &err));
    ok(qs_txn_commit(txn, NULL, NULL, &err)); /* 2 */
    qs_txn_free(txn);
    struct os_calls patient = *qs_os;
    patient.monotonic_ms = no_time_passes;
    qs_os = &patient;
    enum qs_status status = qs_txn_begin(f.store, 1000, &txn, &err);
    qs_os = &os_real;
    ok(status);
    assert_int_equal(qs_snapshot_generation(qs_txn_base(txn)), 3);
    qs_txn_free(txn);
    assert_int_equal(waitpid(waiter, &result, 0), waiter);
    assert_int_equal(result, 0);
}

static void who_is_stopped_at_the_gate_keeps_nobody_out(void **state)
{
    (void)state;
    struct qs_txn *txn = NULL;
    int result = -1;
    ok(qs_txn_begin(f.store, 0, &txn, &err));
    pid_t waiter = waiter_at_gate();
    assert_int_equal(kill(waiter, SIGSTOP), 0);
    assert_int_equal(waitpid(waiter, &result, WUNTRACED), waiter);
    qs_txn_free(txn);
    ok(qs_txn_begin(f.store, 0, &txn, &err)); /* who cannot wait looks behind the gate */
    qs_txn_free(txn);
    ok(qs_txn_begin(f.store, 60000, &txn, &err)); /* and who can, after a while */
    qs_txn_free(txn);
    assert_int_equal(kill(waiter, SIGCONT), 0);
    assert_int_equal(waitpid(waiter, &result, 0), waiter);
    assert_int_equal(result, 0);
}

#define TEST(name)    cmocka_unit_test_setup_teardown(name, set_up_paths, tear_down)
#define SWAPPED(name) cmocka_unit_test_setup_teardown(name, set_up_paths, tear_down_swapped)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_no_regular_file_is_no_lock),
        TEST(a_store_removed_under_a_waiting_writer_is_absent),
        TEST(a_store_made_anew_under_a_waiting_writer_is_the_one_written),
        SWAPPED(the_lock_is_that_of_the_file_that_has_the_name),
        SWAPPED(a_lock_on_a_file_without_the_name_keeps_nobody_else_out),
        SWAPPED(a_lock_file_that_is_swapped_at_each_look_is_given_up),
        TEST(a_fork_beside_a_writer_keeps_no_lock),
        TEST(who_commits_in_a_loop_lets_the_one_at_the_gate_go_first),
        TEST(who_is_stopped_at_the_gate_keeps_nobody_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
