/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The atomic writer with each of its system calls failing in turn, with each failing from some call on, and killed
 * before each: the file is the old or the new one, complete, and what is left goes with the next call.
 */
#include "qsettings/file.h"
#include "tests/support/faults.h"
#include "tests/support/scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define OLD_TEXT "{\"old\": true, \"padding\": \"longer than the new one by far\"}\n"
#define NEW_TEXT "{\"new\": true}\n"
#define BAK_TEXT "{\"older\": true}\n"

enum { CALLS_MAX = 200 };

struct way {
    const char *name;
    const char *file; /* what is handed to the library; the target is always FILE */
    bool exists;
    bool backup;
    bool expect;
};
static const struct way ways[] = {
    {"plain", "FILE", true, false, false},           {"new", "FILE", false, false, false},
    {"backup", "FILE", true, true, false},           {"expect", "FILE", true, false, true},
    {"expect and backup", "FILE", true, true, true}, {"through links", "link1", true, false, false},
};
#define WAY_COUNT (sizeof ways / sizeof *ways)

static struct scratch scratch;

static const char *in(const char *name)
{
    return scratch_path(&scratch, name);
}

static void prepare(const struct way *way)
{
    scratch_make_in_memory(&scratch);
    if (way->exists)
        scratch_write(in("FILE"), OLD_TEXT);
    if (way->backup)
        scratch_write(in("FILE.bak"), BAK_TEXT);
    assert_int_equal(symlink("link2", in("link1")), 0);
    assert_int_equal(symlink("FILE", in("link2")), 0);
}

static enum qs_status replace(const struct way *way, struct qs_error *err)
{
    struct qs_replace_options options = {
        .size = sizeof options,
        .flags = way->backup ? QS_REPLACE_BACKUP : 0,
        .expect = way->expect ? OLD_TEXT : NULL,
        .expect_len = way->expect ? strlen(OLD_TEXT) : 0,
    };
    return qs_file_replace(in(way->file), NEW_TEXT, strlen(NEW_TEXT), &options, err);
}

/* FILE as found: 'o'ld, 'n'ew, 'a'bsent, or '!' for anything else. */
static char state_of(const char *path, const char *old)
{
    char *data = scratch_read(path, NULL);
    char state = !data ? 'a' : !strcmp(data, old) ? 'o' : !strcmp(data, NEW_TEXT) ? 'n' : '!';
    free(data);
    return state;
}

static void check_state(const struct way *way, const char *what)
{
    char state = state_of(in("FILE"), OLD_TEXT);
    if (state != 'n' && state != (way->exists ? 'o' : 'a'))
        fail_msg("%s, %s: FILE is '%c'", way->name, what, state);
    if (!way->backup)
        return;
    char *bak = scratch_read(in("FILE.bak"), NULL);
    bool good = bak && (!strcmp(bak, BAK_TEXT) || !strcmp(bak, OLD_TEXT));
    bool kept = bak && !strcmp(bak, OLD_TEXT);
    free(bak);
    if (!good || (state == 'n' && !kept && !way->expect))
        fail_msg("%s, %s: FILE.bak is wrong while FILE is '%c'", way->name, what, state);
}

static void check_next_call(const struct way *way, const char *what)
{
    struct qs_error err = {0};
    enum qs_status status = qs_file_replace(in("FILE"), "next", 4, NULL, &err);
    if (status != QS_OK)
        fail_msg("%s, %s: the next call: %s", way->name, what, err.message);
    assert_true(scratch_holds(in("FILE"), "next"));
    if (scratch_count(scratch.dir, ".qs-") != 0 || scratch_count(scratch.dir, "FILE.conflict") != 0)
        fail_msg("%s, %s: the next call left something behind", way->name, what);
}

static unsigned count_calls(const struct way *way)
{
    struct qs_error err = {0};
    prepare(way);
    faults_start(&(struct fault){.kind = FAULT_NONE});
    enum qs_status status = replace(way, &err);
    unsigned calls = faults_stop();
    assert_int_equal(status, QS_OK);
    scratch_remove(&scratch);
    assert_in_range(calls, 10, CALLS_MAX);
    return calls;
}

/* One call fails. The status must tell the truth, and nothing may be left but what could not be removed. */
static void fail_one(const struct way *way, unsigned at, enum fault_kind kind, int code)
{
    struct qs_error err = {0};
    char what[128];
    prepare(way);
    faults_start(&(struct fault){.at = at, .kind = kind, .code = code});
    enum qs_status status = replace(way, &err);
    (void)faults_stop();
    (void)snprintf(what, sizeof what, "call %u (%s): %s%s", at, faults_call_hit(), strerror(code),
                   kind == FAULT_AFTER ? " afterwards" : "");
    check_state(way, what);
    char state = state_of(in("FILE"), OLD_TEXT);
    if (status == QS_OK && state != 'n')
        fail_msg("%s, %s: done, it says, but FILE is '%c'", way->name, what, state);
    if (status == QS_OK && way->backup)
        assert_true(scratch_holds(in("FILE.bak"), OLD_TEXT));
    if (status != QS_OK && state == 'n' && !strstr(err.message, "has the new content"))
        fail_msg("%s, %s: FILE is new, but it says: %s", way->name, what, err.message);
    if (code == EINTR && kind != FAULT_AFTER && status != QS_OK)
        fail_msg("%s, %s: a signal is no failure: %s", way->name, what, err.message);
    bool removing = !strcmp(faults_call_hit(), "unlinkat") || kind == FAULT_AFTER;
    if (!removing && scratch_count(scratch.dir, ".qs-") != 0)
        fail_msg("%s, %s: something is left: %s", way->name, what, err.message);
    if (removing)
        check_next_call(way, what);
    scratch_remove(&scratch);
}

static void each_call_failing_leaves_old_or_new(void **state)
{
    static const int codes[] = {EIO, ENOSPC, EINTR, EACCES};
    (void)state;
    for (size_t w = 0; w < WAY_COUNT; w++) {
        unsigned calls = count_calls(&ways[w]);
        for (unsigned at = 1; at <= calls; at++)
            for (size_t c = 0; c < sizeof codes / sizeof *codes; c++)
                fail_one(&ways[w], at, FAULT_FAIL, codes[c]);
    }
}

static void a_call_that_was_made_but_reported_failed_leaves_old_or_new(void **state)
{
    (void)state;
    for (size_t w = 0; w < WAY_COUNT; w++) {
        unsigned calls = count_calls(&ways[w]);
        for (unsigned at = 1; at <= calls; at++) {
            fail_one(&ways[w], at, FAULT_AFTER, EIO);
            fail_one(&ways[w], at, FAULT_AFTER, EINTR);
        }
    }
}

static void short_writes_and_reads_are_finished(void **state)
{
    (void)state;
    for (size_t w = 0; w < WAY_COUNT; w++) {
        struct qs_error err = {0};
        prepare(&ways[w]);
        faults_start(&(struct fault){.kind = FAULT_SHORT});
        enum qs_status status = replace(&ways[w], &err);
        (void)faults_stop();
        assert_int_equal(status, QS_OK);
        assert_true(scratch_holds(in("FILE"), NEW_TEXT));
        scratch_remove(&scratch);
    }
}

static void a_disk_that_fails_from_some_call_on_leaves_old_or_new(void **state)
{
    (void)state;
    for (size_t w = 0; w < WAY_COUNT; w++) {
        unsigned calls = count_calls(&ways[w]);
        for (unsigned at = 1; at <= calls; at++) {
            char what[64];
            prepare(&ways[w]);
            faults_start(&(struct fault){.at = at, .last = UINT32_MAX, .code = EIO});
            enum qs_status status = replace(&ways[w], NULL);
            (void)faults_stop();
            (void)snprintf(what, sizeof what, "all calls from %u on fail", at);
            check_state(&ways[w], what);
            /* Only cleaning up may have failed if it says that it is done. */
            if (status == QS_OK && !scratch_holds(in("FILE"), NEW_TEXT))
                fail_msg("%s, %s: done, it says", ways[w].name, what);
            check_next_call(&ways[w], what);
            scratch_remove(&scratch);
        }
    }
}

static void die_here(unsigned number, const char *call, void *context)
{
    (void)number;
    (void)call;
    (void)context;
    (void)kill(getpid(), SIGKILL);
}

static void a_writer_killed_before_each_call_leaves_old_or_new_and_no_litter_for_long(void **state)
{
    (void)state;
    for (size_t w = 0; w < WAY_COUNT; w++) {
        unsigned calls = count_calls(&ways[w]);
        for (unsigned at = 1; at <= calls; at++) {
            char what[64];
            int how = 0;
            prepare(&ways[w]);
            pid_t child = fork();
            if (child == 0) {
                faults_start(&(struct fault){.at = at, .kind = FAULT_NONE, .before = die_here});
                (void)!replace(&ways[w], NULL);
                _exit(0);
            }
            assert_true(child > 0);
            assert_int_equal(waitpid(child, &how, 0), child);
            assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
            (void)snprintf(what, sizeof what, "killed before call %u", at);
            check_state(&ways[w], what);
            check_next_call(&ways[w], what);
            scratch_remove(&scratch);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_failing_leaves_old_or_new),
        cmocka_unit_test(a_call_that_was_made_but_reported_failed_leaves_old_or_new),
        cmocka_unit_test(short_writes_and_reads_are_finished),
        cmocka_unit_test(a_disk_that_fails_from_some_call_on_leaves_old_or_new),
        cmocka_unit_test(a_writer_killed_before_each_call_leaves_old_or_new_and_no_litter_for_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
