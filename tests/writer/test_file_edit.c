/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacing what is expected: somebody edits the file at every moment of the call, in each way people's programs do,
 * and no edit is ever lost. And what killed calls leave behind: strays that go, edits that come back.
 */
#include "qsettings/file.h"
#include "tests/support/faults.h"
#include "tests/support/one_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static enum qs_status replace_expecting(const char *expect, const char *text)
{
    struct qs_replace_options options = {.size = sizeof options, .expect = expect, .expect_len = strlen(expect)};
    err = (struct qs_error){0};
    return qs_file_replace(in("file"), text, strlen(text), &options, &err);
}

static int setup_file(void **state)
{
    (void)state;
    scratch_make_in_memory(&scratch);
    scratch_write(in("file"), "old");
    return 0;
}

static void what_is_expected_is_replaced(void **state)
{
    (void)state;
    assert_int_equal(replace_expecting("old", "new"), QS_OK);
    assert_true(scratch_holds(in("file"), "new"));
    assert_int_equal(scratch_count(scratch.dir, ""), 1);
}

static void anything_else_is_a_conflict_and_stays(void **state)
{
    static const char *const others[] = {"", "ol", "olD", "old\n", "something else"};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(replace_expecting(others[i], "new"), QS_CONFLICT);
        assert_true(scratch_holds(in("file"), "old"));
    }
    assert_int_equal(unlink(in("file")), 0);
    assert_int_equal(replace_expecting("old", "new"), QS_CONFLICT);
    assert_int_equal(replace_expecting("", "new"), QS_CONFLICT); /* absent is not empty */
    assert_int_equal(scratch_count(scratch.dir, ""), 0);
}

static void a_long_content_is_compared_to_its_end(void **state)
{
    (void)state;
    size_t len = 100u * 1024;
    char *text = calloc(1, len + 1);
    assert_non_null(text);
    memset(text, 'x', len);
    scratch_write(in("file"), text);
    text[len - 1] = 'y';
    assert_int_equal(replace_expecting(text, "new"), QS_CONFLICT);
    text[len - 1] = 'x';
    text[len / 2] = '\0';
    assert_int_equal(replace_expecting(text, "new"), QS_CONFLICT); /* the file is longer */
    text[len / 2] = 'x';
    assert_int_equal(replace_expecting(text, "new"), QS_OK);
    free(text);
}

/* ---- edits in between ---- */

enum edit { BY_RENAME, IN_PLACE, APPEND, REMOVE, BY_LINK, EDIT_COUNT };
static const char *const edit_names[] = {"by rename", "in place", "append", "remove", "by link"};

static void edit_now(unsigned number, const char *call, void *context)
{
    const enum edit *edit = context;
    (void)number;
    (void)call;
    int fd = -1;
    switch (*edit) {
    case BY_RENAME:
        scratch_write(in("mine"), "my edit");
        assert_int_equal(rename(in("mine"), in("file")), 0);
        return;
    case IN_PLACE:
        scratch_write(in("file"), "my edit");
        return;
    case APPEND:
        fd = open(in("file"), O_WRONLY | O_APPEND);
        assert_int_equal(write(fd, "my edit", 7), 7);
        (void)close(fd);
        return;
    case REMOVE:
        assert_int_equal(unlink(in("file")), 0);
        return;
    case BY_LINK:
        scratch_write(in("elsewhere"), "my edit");
        assert_int_equal(symlink("elsewhere", in("mine")), 0);
        assert_int_equal(rename(in("mine"), in("file")), 0);
        return;
    case EDIT_COUNT:
        break;
    }
    fail();
}

static bool contains(const char *path, const char *text)
{
    char *data = scratch_read(path, NULL);
    bool found = data && strstr(data, text);
    free(data);
    return found;
}

static unsigned calls_of_one_replacement(void)
{
    faults_start(&(struct fault){.kind = FAULT_NONE});
    assert_int_equal(replace_expecting("old", "new"), QS_OK);
    unsigned calls = faults_stop();
    scratch_write(in("file"), "old");
    return calls;
}

static void check_after_edit(enum edit edit, unsigned at, enum qs_status status)
{
    char aside[SCRATCH_PATH_BYTES];
    if (status != QS_OK && status != QS_CONFLICT)
        fail_msg("%s before call %u: %d %s", edit_names[edit], at, status, err.message);
    if (scratch_count(scratch.dir, ".qs-") != 0)
        fail_msg("%s before call %u: something is left", edit_names[edit], at);
    if (edit == REMOVE) {
        /* Removing is an edit as well: it is not undone by text that was never expected to follow it. */
        if (scratch_exists(in("file")) && !scratch_holds(in("file"), "new"))
            fail_msg("removed before call %u: the former file came back", at);
        return;
    }
    bool here = contains(in("file"), "my edit");
    bool beside = scratch_find(scratch.dir, "file.conflict-", aside) && contains(aside, "my edit");
    if (!here && !beside)
        fail_msg("%s before call %u: the edit is lost (%d %s)", edit_names[edit], at, status, err.message);
    if (beside && !strstr(err.advice, strrchr(aside, '/') + 1))
        fail_msg("%s before call %u: nobody is told of %s", edit_names[edit], at, aside);
}

static void no_edit_at_any_moment_is_lost(void **state)
{
    (void)state;
    unsigned calls = calls_of_one_replacement(), conflicts = 0;
    assert_in_range(calls, 15, 100);
    for (enum edit edit = 0; edit < EDIT_COUNT; edit++)
        for (unsigned at = 1; at <= calls; at++) {
            scratch_remove(&scratch);
            scratch_make_in_memory(&scratch);
            scratch_write(in("file"), "old");
            faults_start(&(struct fault){.at = at, .kind = FAULT_NONE, .before = edit_now, .context = &edit});
            enum qs_status status = replace_expecting("old", "new");
            (void)faults_stop();
            check_after_edit(edit, at, status);
            conflicts += status == QS_CONFLICT;
        }
    assert_true(conflicts > calls); /* the edits did come in between */
}

/* The control: without the exchange, the same edits do get lost, and the checks above see it. */
static void edits_in_between_are_lost_where_nothing_is_expected(void **state)
{
    (void)state;
    unsigned lost = 0;
    enum edit edit = BY_RENAME;
    for (unsigned at = 1; at <= 15; at++) {
        faults_start(&(struct fault){.at = at, .kind = FAULT_NONE, .before = edit_now, .context = &edit});
        assert_int_equal(qs_file_replace(in("file"), "new", 3, NULL, &err), QS_OK);
        (void)faults_stop();
        lost += !contains(in("file"), "my edit");
    }
    assert_true(lost > 5);
}

struct two_edits {
    unsigned first, second;
};

static void edit_twice(unsigned number, const char *call, void *context)
{
    const struct two_edits *edits = context;
    (void)call;
    if (number != edits->first && number != edits->second)
        return;
    scratch_write(in("mine"), number == edits->first ? "edit one" : "edit two");
    assert_int_equal(rename(in("mine"), in("file")), 0);
}

static void of_two_edits_in_between_neither_is_lost_unseen(void **state)
{
    (void)state;
    unsigned calls = calls_of_one_replacement(), aside_count = 0;
    for (unsigned first = 1; first <= calls; first++)
        for (unsigned second = first + 1; second <= calls + 4; second++) {
            char aside[SCRATCH_PATH_BYTES];
            struct two_edits edits = {first, second};
            scratch_remove(&scratch);
            scratch_make_in_memory(&scratch);
            scratch_write(in("file"), "old");
            faults_start(&(struct fault){.kind = FAULT_NONE, .before = edit_twice, .context = &edits});
            enum qs_status status = replace_expecting("old", "new");
            unsigned made = faults_stop();
            assert_true(status == QS_OK || status == QS_CONFLICT);
            assert_int_equal(scratch_count(scratch.dir, ".qs-"), 0);
            if (second > made)
                continue; /* the second edit did not happen */
            /* The second edit replaced whatever was there; it must be there now. The first may only be gone if the
             * second one's author replaced it himself. */
            bool beside = scratch_find(scratch.dir, "file.conflict-", aside);
            aside_count += beside;
            if (!contains(in("file"), "edit two") && !(beside && contains(aside, "edit two")))
                fail_msg("edits before %u and %u: the second is lost", first, second);
            if (beside && !contains(in("file"), "edit one"))
                fail_msg("edits before %u and %u: the first is lost", first, second);
        }
    assert_true(aside_count > 0); /* the rare case did occur */
}

static void edit_then_remove(unsigned number, const char *call, void *context)
{
    const struct two_edits *edits = context;
    (void)call;
    if (number == edits->first) {
        scratch_write(in("mine"), "edit one");
        assert_int_equal(rename(in("mine"), in("file")), 0);
    } else if (number == edits->second && scratch_exists(in("file"))) {
        assert_int_equal(unlink(in("file")), 0);
    }
}

/* Whoever removes what he takes for the edit may see the edit come back; it is never gone unseen. */
static void an_edit_comes_back_even_where_the_file_was_removed(void **state)
{
    (void)state;
    unsigned calls = calls_of_one_replacement(), came_back = 0;
    for (unsigned first = 1; first <= calls; first++)
        for (unsigned second = first + 1; second <= calls + 4; second++) {
            struct two_edits edits = {first, second};
            scratch_remove(&scratch);
            scratch_make_in_memory(&scratch);
            scratch_write(in("file"), "old");
            faults_start(&(struct fault){.kind = FAULT_NONE, .before = edit_then_remove, .context = &edits});
            enum qs_status status = replace_expecting("old", "new");
            (void)faults_stop();
            assert_int_equal(scratch_count(scratch.dir, ".qs-"), 0);
            assert_int_equal(scratch_count(scratch.dir, "file.conflict-"), 0);
            assert_true(status == QS_OK || status == QS_CONFLICT);
            if (scratch_exists(in("file")) && status == QS_CONFLICT) {
                assert_true(scratch_holds(in("file"), "edit one"));
                came_back++;
            }
        }
    assert_true(came_back > 0);
}

static void a_file_open_for_writing_is_not_taken_away_from_its_writer(void **state)
{
    (void)state;
    int fd = open(in("file"), O_WRONLY);
    assert_int_equal(replace_expecting("old", "new"), QS_CONFLICT);
    assert_int_equal(write(fd, "my edit", 7), 7);
    assert_true(scratch_holds(in("file"), "my edit"));
    (void)close(fd);
    assert_int_equal(scratch_count(scratch.dir, ""), 1);
    fd = open(in("file"), O_RDONLY); /* a reader is no hindrance */
    assert_int_equal(replace_expecting("my edit", "new"), QS_OK);
    (void)close(fd);
}

static void a_file_system_without_exchange_is_refused_with_the_reason(void **state)
{
    (void)state;
    /* The second rename is the exchange; the first prepares it. */
    faults_start(&(struct fault){.at = 2, .only = "renameat2", .code = EINVAL});
    assert_int_equal(replace_expecting("old", "new"), QS_INVALID);
    (void)faults_stop();
    assert_non_null(strstr(err.message, "cannot exchange"));
    assert_true(scratch_holds(in("file"), "old"));
    assert_int_equal(scratch_count(scratch.dir, ""), 1);
}

/* ---- what killed calls leave ---- */

static void die_here(unsigned number, const char *call, void *context)
{
    (void)number;
    (void)call;
    (void)context;
    (void)kill(getpid(), SIGKILL);
}

static void die_before(const char *call, unsigned count)
{
    pid_t child = fork();
    if (child == 0) {
        faults_start(&(struct fault){.at = count, .only = call, .kind = FAULT_NONE, .before = die_here});
        (void)!replace_expecting("old", "new");
        _exit(0);
    }
    int how = 0;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how));
}

static void an_edit_that_a_killed_call_took_out_comes_back(void **state)
{
    (void)state;
    char swap[SCRATCH_PATH_BYTES], taken[SCRATCH_PATH_BYTES + 16];
    /* Killed right after the exchange, and what it took out was an edit. */
    die_before("unlinkat", 1);
    assert_true(scratch_holds(in("file"), "new"));
    assert_true(scratch_find(scratch.dir, ".qs-swp-", swap));
    (void)snprintf(taken, sizeof taken, "%s/swap", swap);
    assert_true(scratch_holds(taken, "old"));
    scratch_write(taken, "my edit");
    assert_int_equal(replace_expecting("new", "newer"), QS_CONFLICT);
    assert_true(scratch_holds(in("file"), "my edit"));
    assert_int_equal(scratch_count(scratch.dir, ""), 1);
}

static void an_edit_that_cannot_come_back_is_kept_beside(void **state)
{
    (void)state;
    char swap[SCRATCH_PATH_BYTES], taken[SCRATCH_PATH_BYTES + 16], aside[SCRATCH_PATH_BYTES];
    die_before("unlinkat", 1);
    assert_true(scratch_find(scratch.dir, ".qs-swp-", swap));
    (void)snprintf(taken, sizeof taken, "%s/swap", swap);
    scratch_write(taken, "my edit");
    scratch_write(in("file"), "a later edit");
    assert_int_equal(replace_expecting("a later edit", "newer"), QS_OK);
    assert_true(scratch_find(scratch.dir, "file.conflict-", aside));
    assert_true(scratch_holds(aside, "my edit"));
    assert_int_equal(scratch_count(scratch.dir, ""), 2);
}

static void what_a_killed_call_took_out_as_expected_goes(void **state)
{
    (void)state;
    die_before("unlinkat", 1);
    assert_int_equal(scratch_count(scratch.dir, ".qs-swp-"), 1);
    assert_int_equal(replace_expecting("new", "newer"), QS_OK);
    assert_int_equal(scratch_count(scratch.dir, ""), 1);
}

static void strays_of_living_writers_stay(void **state)
{
    (void)state;
    char swap[SCRATCH_PATH_BYTES];
    die_before("unlinkat", 1);
    assert_true(scratch_find(scratch.dir, ".qs-swp-", swap));
    int fd = open(swap, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0); /* as its writer, were it alive */
    assert_int_equal(qs_file_replace(in("file"), "x", 1, NULL, &err), QS_OK);
    assert_int_equal(scratch_count(scratch.dir, ".qs-swp-"), 1);
    (void)close(fd);
    assert_int_equal(qs_file_replace(in("file"), "x", 1, NULL, &err), QS_OK);
    assert_int_equal(scratch_count(scratch.dir, ""), 1);
}

/* Before the last rename, the writer's own temporary is seen by a second writer of the same file. */
static void second_writer(unsigned number, const char *call, void *context)
{
    size_t *seen = context;
    (void)number;
    (void)call;
    *seen = scratch_count(scratch.dir, ".qs-tmp-");
    assert_int_equal(qs_file_replace(in("file"), "second", 6, NULL, NULL), QS_OK);
    assert_int_equal(scratch_count(scratch.dir, ".qs-tmp-"), *seen);
}

static void a_second_writer_leaves_the_first_ones_temporary_alone(void **state)
{
    (void)state;
    size_t seen = 0;
    faults_start(
        &(struct fault){.at = 1, .only = "renameat2", .kind = FAULT_NONE, .before = second_writer, .context = &seen});
    assert_int_equal(qs_file_replace(in("file"), "first", 5, NULL, &err), QS_OK);
    (void)faults_stop();
    assert_int_equal(seen, 1);
    assert_true(scratch_holds(in("file"), "first"));
    assert_int_equal(scratch_count(scratch.dir, ""), 1);
}

static void a_temporary_taken_for_a_dead_ones_is_made_anew(void **state)
{
    (void)state;
    for (int expecting = 0; expecting < 2; expecting++) {
        struct qs_replace_options options = {.size = sizeof options,
                                             .expect = expecting ? "new" : NULL,
                                             .expect_len = 3};
        faults_start(&(struct fault){.at = 1, .only = "flock", .code = EWOULDBLOCK});
        assert_int_equal(qs_file_replace(in("file"), "new", 3, &options, &err), QS_OK);
        assert_true(faults_were_hit());
        (void)faults_stop();
        assert_int_equal(scratch_count(scratch.dir, ""), 1);
        /* But not for ever. */
        faults_start(&(struct fault){.only = "flock", .code = EWOULDBLOCK});
        assert_int_equal(qs_file_replace(in("file"), "new", 3, &options, &err), QS_IO);
        (void)faults_stop();
        assert_int_equal(scratch_count(scratch.dir, ""), 1);
        /* Where there are no locks it works as well; but then nothing is provably dead. */
        faults_start(&(struct fault){.only = "flock", .code = ENOLCK});
        assert_int_equal(qs_file_replace(in("file"), "new", 3, &options, &err), QS_OK);
        (void)faults_stop();
    }
}

static void strays_of_other_files_and_look_alikes_stay(void **state)
{
    (void)state;
    char stray[SCRATCH_PATH_BYTES];
    scratch_write(in("neighbour"), "x");
    pid_t child = fork();
    if (child == 0) {
        faults_start(&(struct fault){.at = 1, .only = "renameat2", .kind = FAULT_NONE, .before = die_here});
        (void)!qs_file_replace(in("neighbour"), "new", 3, NULL, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(scratch_find(scratch.dir, ".qs-tmp-", stray));
    scratch_write(in(".qs-tmp-notes"), "somebody's");
    assert_int_equal(qs_file_replace(in("file"), "x", 1, NULL, &err), QS_OK);
    assert_true(scratch_exists(stray));
    assert_int_equal(qs_file_replace(in("neighbour"), "x", 1, NULL, &err), QS_OK);
    assert_false(scratch_exists(stray));
    assert_true(scratch_holds(in(".qs-tmp-notes"), "somebody's"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_file, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_expected_is_replaced),
        TEST(anything_else_is_a_conflict_and_stays),
        TEST(a_long_content_is_compared_to_its_end),
        TEST(no_edit_at_any_moment_is_lost),
        TEST(edits_in_between_are_lost_where_nothing_is_expected),
        TEST(of_two_edits_in_between_neither_is_lost_unseen),
        TEST(an_edit_comes_back_even_where_the_file_was_removed),
        TEST(a_file_open_for_writing_is_not_taken_away_from_its_writer),
        TEST(a_file_system_without_exchange_is_refused_with_the_reason),
        TEST(an_edit_that_a_killed_call_took_out_comes_back),
        TEST(an_edit_that_cannot_come_back_is_kept_beside),
        TEST(what_a_killed_call_took_out_as_expected_goes),
        TEST(strays_of_living_writers_stay),
        TEST(a_second_writer_leaves_the_first_ones_temporary_alone),
        TEST(a_temporary_taken_for_a_dead_ones_is_made_anew),
        TEST(strays_of_other_files_and_look_alikes_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
