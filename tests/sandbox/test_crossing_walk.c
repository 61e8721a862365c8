/* SPDX-License-Identifier: Apache-2.0 */
/* The crossing as a whole, without a run around it: a repository, its private directory, and a git that works in it. */
#include "sandbox/crossing/crossing.h"
#include "sandbox/crossing/private_dir.h"

#include "base/cleanup.h"
#include "tests/support/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct world {
    struct scratch scratch;
    struct repository repository;
    struct crossing_report report;
};

/* A shell in the work tree; $H is the host's git directory, $P the private one. The output, without its last newline.
 */
static char output[65536];
static const char *sh(const struct world *world, const char *script)
{
    char *command = NULL;
    const char *dir = world->scratch.dir;
    assert_true(
        asprintf(&command,
                 "cd %s/ws && export HOME=%s GIT_CONFIG_NOSYSTEM=1 H=%s/ws/.git P=%s/state/sandbox/git/*/private; "
                 "P=$(echo $P); export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@e GIT_COMMITTER_NAME=a "
                 "GIT_COMMITTER_EMAIL=a@e; p() { GIT_ALTERNATE_OBJECT_DIRECTORIES=$H/objects git "
                 "--git-dir=$P --work-tree=. \"$@\"; }; set -e; { %s\n} 2>&1",
                 dir, dir, dir, dir, script) > 0);
    FILE *pipe = popen(command, "r");
    free(command);
    assert_non_null(pipe);
    size_t len = fread(output, 1, sizeof output - 1, pipe);
    output[len] = '\0';
    int status = pclose(pipe);
    if (status != 0)
        print_error("%s: status %d\n%s\n", script, status, output);
    assert_int_equal(status, 0);
    if (len && output[len - 1] == '\n')
        output[len - 1] = '\0';
    return output;
}

static void expect(const struct world *world, const char *script, const char *expected)
{
    assert_string_equal(sh(world, script), expected);
}

static bool known(void *context, const char *path)
{
    (void)context;
    return !scratch_exists(path);
}

static void open_world(struct world *world)
{
    struct qs_error err = {0};
    char gitdir[128], tree[128], root[128];
    (void)snprintf(root, sizeof root, "%s/state", world->scratch.dir);
    (void)snprintf(tree, sizeof tree, "%s/ws", world->scratch.dir);
    (void)snprintf(gitdir, sizeof gitdir, "%s/ws/.git", world->scratch.dir);
    const struct state_base base = state_base_of(world->scratch.dir, root, getuid());
    enum qs_status status = repository_open(&base, gitdir, &world->repository, &err);
    if (!status)
        status = repository_add_checkout(&world->repository, "", tree, &err);
    if (!status)
        status = private_prepare(&world->repository, &err);
    if (status)
        print_error("%s\n", err.message);
    assert_int_equal(status, QS_OK);
}

static enum qs_status cross(struct world *world)
{
    struct qs_error err = {0};
    const struct crossing_options options = {.run = "r1",
                                             .limits = {CROSSING_PACK_BYTES, CROSSING_TOTAL_BYTES, 60},
                                             .known_git = known};
    crossing_report_release(&world->report);
    enum qs_status status = crossing_cross(&world->repository, &options, &world->report, &err);
    if (status)
        print_message("%s\n", err.message);
    for (size_t i = 0; i < world->report.stayed.count; i++)
        print_message("stayed: %s\n", world->report.stayed.items[i]);
    return status;
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    scratch_make(&world->scratch);
    world->repository = REPOSITORY_NONE;
    char command[256];
    (void)snprintf(command, sizeof command, "mkdir %s/ws %s/state", world->scratch.dir, world->scratch.dir);
    assert_int_equal(system(command), 0);
    sh(world, "git init -q -b main; echo one >f; git add f; git commit -qm one; git branch keep; git tag v1");
    open_world(world);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    crossing_report_release(&world->report);
    repository_release(&world->repository);
    scratch_remove(&world->scratch);
    free(world);
    return 0;
}

/* Host and inside have the same refs, HEAD, index; the host's store is whole. */
static void expect_same(const struct world *world)
{
    sh(world, "git for-each-ref >$HOME/h; p for-each-ref >$HOME/p; diff $HOME/h $HOME/p; diff $H/HEAD $P/HEAD; "
              "git ls-files -s >$HOME/h; p ls-files -s >$HOME/p; diff $HOME/h $HOME/p; git fsck --no-dangling");
}

static void a_commit_crosses(void **state)
{
    struct world *world = *state;
    sh(world, "echo two >>f; echo new >g; mkdir -p d/e; echo deep >d/e/x; p add .; p commit -qm two");
    expect(world, "git log --format=%s", "one");
    assert_int_equal(cross(world), QS_OK);
    expect(world, "git log --format=%s", "two\none");
    expect(world, "git status --porcelain", "");
    expect(world, "git log -g --format=%gs -1", "qsandbox: run r1");
    expect(world, "ls $H/objects/pack | grep -c keep || true", "0");
    assert_int_equal(world->report.stayed.count, 0);
    expect_same(world);
    /* and once more, with nothing to do */
    assert_int_equal(cross(world), QS_OK);
    assert_int_equal(world->report.crossed.count, 0);
}

static void what_a_command_does_crosses(void **state)
{
    static const char *const flows[] = {
        "p checkout -q -b topic; echo t >t; p add t; p commit -qm t",
        "p checkout -q main; p merge -q --no-ff -m merged topic",
        "p branch -D topic",
        "p branch -m keep keep/deeper",
        "p tag -a -m annotated v2; p tag -d v1",
        "echo staged >s; p add s",
        "p rm -q --cached s",
        "p notes add -m note",
        "p checkout -q --detach; echo x >x; p add x; p commit -qm x; p tag x",
        "p checkout -q main; p reset -q --hard HEAD~1",
        "echo w >f; p stash push -q; echo w2 >f; p stash push -q -m second",
        "p stash drop -q stash@{1}",
        "p stash drop -q",
        "p gc -q",
        "p checkout -q -b a HEAD~1 2>&1 || p checkout -q -b a; echo a >f; p commit -qam a; p checkout -q main; echo b "
        ">f; p commit -qam b; p merge a || true",
        "p checkout -q --theirs f; p add f; p commit -qm resolved",
        "p rm -q f; mkdir f; echo in >f/in; p add f; p commit -qm 'file to directory'",
        "p commit -q --amend -m amended",
        "p checkout -q --orphan lonely; p rm -rqf .; echo o >o; p add o; p commit -qm lonely",
        "p switch -q main; : >empty; p add empty; p commit -qm empty",
        "p worktree add -q -b wt ../wt; rm -rf ../wt; p worktree prune",
    };
    struct world *world = *state;
    for (size_t i = 0; i < sizeof flows / sizeof flows[0]; i++) {
        print_message("%s\n", flows[i]);
        sh(world, flows[i]);
        assert_int_equal(cross(world), QS_OK);
        assert_int_equal(world->report.stayed.count, 0);
        expect_same(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_commit_crosses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_command_does_crosses, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
