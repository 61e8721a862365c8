/* SPDX-License-Identifier: Apache-2.0 */
/* The plan, from facts built by hand: what is kept, in which order, and what is refused. */
#include "sandbox/plan/plan.h"

#include "tests/support/policy/policy_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct scene {
    struct qs_policy policy;
    struct host_facts facts;
    struct plan plan;
    struct qs_error err;
};

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    if (!scene)
        return -1;
    scene->policy = fixture_policy();
    fixture_facts(&scene->facts);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    plan_release(&scene->plan);
    fixture_facts_release(&scene->facts);
    free(scene);
    return 0;
}

static enum qs_status make(struct scene *scene)
{
    return plan_make(&scene->policy, &scene->facts, &scene->plan, &scene->err);
}

static const struct plan_mount *find(const struct plan *plan, const char *dest)
{
    for (size_t i = 0; i < plan->count; i++)
        if (strcmp(plan->mounts[i].dest, dest) == 0)
            return &plan->mounts[i];
    return NULL;
}

static void the_workspace_is_writable_and_its_hooks_are_not(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(make(scene), QS_OK);
    const struct plan_mount *workspace = find(&scene->plan, "/home/ann/work");
    const struct plan_mount *git = find(&scene->plan, "/home/ann/work/.git");
    const struct plan_mount *hooks = find(&scene->plan, "/home/ann/work/.git/hooks");
    const struct plan_mount *editor = find(&scene->plan, "/home/ann/work/.vscode");
    assert_non_null(workspace);
    assert_int_equal(workspace->kind, MOUNT_WRITABLE);
    assert_false(workspace->inner);
    assert_int_equal(git->kind, MOUNT_PRIVATE);
    assert_true(git->inner);
    assert_int_equal(hooks->kind, MOUNT_READ_ONLY);
    assert_true(hooks->inner);
    assert_int_equal(editor->kind, MOUNT_READ_ONLY);
    assert_int_equal(find(&scene->plan, "/home/ann/.ssh")->kind, MOUNT_HIDDEN);
    assert_int_equal(find(&scene->plan, "/etc/qsettings")->kind, MOUNT_HIDDEN);
}

static void nothing_is_writable_under_read_only(void **state)
{
    struct scene *scene = *state;
    scene->policy.filesystem = QS_FS_READ_ONLY;
    assert_int_equal(make(scene), QS_OK);
    for (size_t i = 0; i < scene->plan.count; i++)
        assert_int_equal(scene->plan.mounts[i].kind, MOUNT_HIDDEN);
    assert_int_equal(scene->plan.count, 2);
}

static void a_parent_comes_before_what_is_below_it(void **state)
{
    struct scene *scene = *state;
    fixture_root(&scene->facts, "/srv/a b");
    fixture_root(&scene->facts, "/srv/a");
    fixture_root(&scene->facts, "/srv/a-c");
    assert_int_equal(make(scene), QS_OK);
    for (size_t i = 0; i < scene->plan.count; i++)
        for (size_t j = i + 1; j < scene->plan.count; j++)
            assert_false(path_within(scene->plan.mounts[i].dest, scene->plan.mounts[j].dest));
}

static void a_root_inside_a_root_adds_nothing(void **state)
{
    struct scene *scene = *state;
    fixture_root(&scene->facts, "/home/ann/work/sub");
    assert_int_equal(make(scene), QS_OK);
    assert_null(find(&scene->plan, "/home/ann/work/sub"));
}

static void a_root_inside_a_protected_path_wins_there(void **state)
{
    struct scene *scene = *state;
    fixture_root(&scene->facts, "/home/ann/work/.vscode/cache");
    assert_int_equal(make(scene), QS_OK);
    const struct plan_mount *root = find(&scene->plan, "/home/ann/work/.vscode/cache");
    assert_non_null(root);
    assert_int_equal(root->kind, MOUNT_WRITABLE);
    assert_true(root->inner);
}

static void a_directory_on_the_way_to_a_guard_is_pinned(void **state)
{
    struct scene *scene = *state;
    fixture_add(&scene->facts.roots[0].pinned, "/home/ann/work/conf", PATH_DIR);
    fixture_add(&scene->facts.roots[0].guarded, "/home/ann/work/conf/file", PATH_FILE);
    assert_int_equal(make(scene), QS_OK);
    assert_int_equal(find(&scene->plan, "/home/ann/work/conf")->kind, MOUNT_PIN);
    assert_int_equal(find(&scene->plan, "/home/ann/work/conf/file")->kind, MOUNT_READ_ONLY);
}

static void a_private_git_directory_lies_over_the_hosts(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(make(scene), QS_OK);
    const struct plan_mount *private = find(&scene->plan, "/home/ann/work/.git");
    assert_int_equal(private->kind, MOUNT_PRIVATE);
    assert_true(private->inner);
    assert_string_equal(private->from, "/tmp/.qsandbox-git/a");
    assert_int_equal(private->ino, scene->facts.shown[0].over.ino);
    const struct plan_mount *hooks = find(&scene->plan, "/home/ann/work/.git/hooks");
    assert_int_equal(hooks->kind, MOUNT_READ_ONLY);
    assert_string_equal(hooks->from, "/tmp/.qsandbox-git/a.hooks");
    assert_null(find(&scene->plan, "/home/ann/work/.git/objects"));
    assert_int_equal(scene->plan.shown_count, 3);
}

static void in_a_private_place_bubblewrap_makes_the_place_of_a_private_git_directory(void **state)
{
    struct scene *scene = *state;
    fixture_shown(&scene->facts, "/home/ann/state/other", "/tmp/.qsandbox-git/b", true, "/tmp/main/.git");
    fixture_shown(&scene->facts, "/tmp/main/.git/hooks", "/tmp/.qsandbox-git/b.hooks", false, "/tmp/main/.git/hooks");
    assert_int_equal(make(scene), QS_OK);
    const struct plan_mount *private = find(&scene->plan, "/tmp/main/.git");
    assert_false(private->inner);
    assert_null(private->from);
    assert_int_equal(private->ino, scene->facts.shown[3].source.ino);
    assert_true(find(&scene->plan, "/tmp/main/.git/hooks")->inner);
}

static void a_git_directory_without_a_private_one_is_read_only(void **state)
{
    struct scene *scene = *state;
    scene->facts.shown_count = 0;
    fixture_add(&scene->facts.read_only, "/home/ann/work/.git", PATH_DIR);
    fixture_add(&scene->facts.read_only, "/tmp/main/.git", PATH_DIR);
    assert_int_equal(make(scene), QS_OK);
    assert_int_equal(find(&scene->plan, "/home/ann/work/.git")->kind, MOUNT_READ_ONLY);
    assert_int_equal(find(&scene->plan, "/tmp/main/.git")->kind, MOUNT_BACK);
    scene->facts.shown_count = 3;
}

static void a_guard_outside_every_root_is_dropped(void **state)
{
    struct scene *scene = *state;
    fixture_add(&scene->facts.roots[0].guarded, "/srv/elsewhere/.vscode", PATH_DIR);
    assert_int_equal(make(scene), QS_OK);
    assert_null(find(&scene->plan, "/srv/elsewhere/.vscode"));
}

static void a_hidden_file_in_the_workspace_stays_hidden(void **state)
{
    struct scene *scene = *state;
    fixture_add(&scene->facts.hidden, "/home/ann/work/.env", PATH_FILE);
    assert_int_equal(make(scene), QS_OK);
    assert_int_equal(find(&scene->plan, "/home/ann/work/.env")->kind, MOUNT_HIDDEN);
}

static void of_two_for_one_place_the_stronger_holds(void **state)
{
    struct scene *scene = *state;
    fixture_add(&scene->facts.roots[0].guarded, "/home/ann/work/.env", PATH_FILE);
    fixture_add(&scene->facts.hidden, "/home/ann/work/.env", PATH_FILE);
    assert_int_equal(make(scene), QS_OK);
    size_t seen = 0;
    for (size_t i = 0; i < scene->plan.count; i++)
        seen += strcmp(scene->plan.mounts[i].dest, "/home/ann/work/.env") == 0;
    assert_int_equal(seen, 1);
    assert_int_equal(find(&scene->plan, "/home/ann/work/.env")->kind, MOUNT_HIDDEN);
}

static void a_workspace_in_tmp_is_shown_again(void **state)
{
    struct scene *scene = *state;
    free(scene->facts.roots[0].dir.path);
    scene->facts.roots[0].dir.path = strdup("/tmp/job");
    scene->policy.filesystem = QS_FS_READ_ONLY;
    assert_int_equal(make(scene), QS_OK);
    assert_int_equal(find(&scene->plan, "/tmp/job")->kind, MOUNT_BACK);
    assert_false(find(&scene->plan, "/tmp/job")->inner);
}

static void hidden_paths_in_private_places_need_no_mask(void **state)
{
    struct scene *scene = *state;
    fixture_add(&scene->facts.hidden, "/tmp/keys", PATH_DIR);
    assert_int_equal(make(scene), QS_OK);
    assert_null(find(&scene->plan, "/tmp/keys"));
}

static void private_sockets_hide_all_but_the_granted_ones(void **state)
{
    struct scene *scene = *state;
    scene->policy.unix_sockets = QS_UNIX_PRIVATE;
    fixture_add(&scene->facts.host_sockets, "/var/lib/db/socket", PATH_SOCKET);
    fixture_add(&scene->facts.host_sockets, "/run/other/socket", PATH_SOCKET);
    fixture_add(&scene->facts.sockets, "/run/agent/socket", PATH_SOCKET);
    assert_int_equal(make(scene), QS_OK);
    assert_int_equal(find(&scene->plan, "/var/lib/db/socket")->kind, MOUNT_HIDDEN);
    assert_null(find(&scene->plan, "/run/other/socket"));
    assert_int_equal(find(&scene->plan, "/run/agent/socket")->kind, MOUNT_SOCKET);
    assert_true(scene->plan.private_run);
    assert_string_equal(scene->plan.resolv, "/run/resolvconf/resolv.conf");
}

/* ---- refusals ---- */

static void refused_root(struct scene *scene, const char *path, const char *why)
{
    struct host_facts facts;
    struct plan plan = {0};
    struct qs_error err = {0};
    fixture_facts(&facts);
    fixture_add(&facts.stores, "/home/ann/.config/qsettings", PATH_DIR);
    fixture_root(&facts, path);
    enum qs_status status = plan_make(&scene->policy, &facts, &plan, &err);
    if (status != QS_INVALID || !strstr(err.message, why) || !strstr(err.message, path))
        fail_msg("%s: status %d, %s", path, status, err.message);
    assert_string_equal(err.path, "executor.writableRoots");
    fixture_facts_release(&facts);
}

static void roots_that_would_undo_the_boundary_are_refused(void **state)
{
    struct scene *scene = *state;
    refused_root(scene, "/", "home");
    refused_root(scene, "/home", "home");
    refused_root(scene, "/home/ann", "home");
    refused_root(scene, "/usr/local/src", "system directory");
    refused_root(scene, "/etc", "system directory");
    refused_root(scene, "/var", "system directory");
    refused_root(scene, "/home/ann/.ssh", "hidden path");
    refused_root(scene, "/home/ann/.ssh/keys", "hidden path");
    refused_root(scene, "/home/ann/.config", "store or run log");
    refused_root(scene, "/home/ann/.config/qsettings/user", "store or run log");
}

static void refused_workspace(struct scene *scene, const char *path, const char *why)
{
    struct host_facts facts;
    struct plan plan = {0};
    struct qs_error err = {0};
    fixture_facts(&facts);
    fixture_add(&facts.stores, "/home/ann/.config/qsettings", PATH_DIR);
    free(facts.roots[0].dir.path);
    facts.roots[0].dir.path = strdup(path);
    enum qs_status status = plan_make(&scene->policy, &facts, &plan, &err);
    if (status != QS_USAGE || !strstr(err.message, why))
        fail_msg("%s: status %d, %s", path, status, err.message);
    fixture_facts_release(&facts);
}

static void a_workspace_that_would_undo_the_boundary_is_refused(void **state)
{
    struct scene *scene = *state;
    refused_workspace(scene, "/", "home");
    refused_workspace(scene, "/home/ann", "home");
    refused_workspace(scene, "/usr", "system directory");
    refused_workspace(scene, "/usr/local/src", "system directory");
    refused_workspace(scene, "/var", "system directory");
    refused_workspace(scene, "/home/ann/.ssh", "hidden path");
    refused_workspace(scene, "/home/ann/.ssh/keys", "hidden path");
    refused_workspace(scene, "/home/ann/.config/qsettings/user", "store or run log");
}

static void a_root_that_holds_a_hidden_path_is_refused(void **state)
{
    struct scene *scene = *state;
    fixture_add(&scene->facts.hidden, "/home/ann/secrets/keys", PATH_DIR);
    fixture_root(&scene->facts, "/home/ann/secrets");
    assert_int_equal(make(scene), QS_INVALID);
    assert_non_null(strstr(scene->err.message, "holds the hidden path /home/ann/secrets/keys"));
}

static void a_root_that_holds_the_executor_is_refused(void **state)
{
    struct scene *scene = *state;
    free(scene->facts.executable);
    scene->facts.executable = strdup("/opt/tools/bin/qsandbox");
    fixture_root(&scene->facts, "/opt/tools");
    assert_int_equal(make(scene), QS_INVALID);
    assert_non_null(strstr(scene->err.message, "executor"));
}

static void a_root_that_holds_the_shim_is_refused(void **state)
{
    struct scene *scene = *state;
    scene->facts.shim.path = strdup("/opt/tools/libexec/qsettings/qsandbox-shim");
    fixture_root(&scene->facts, "/opt/tools/libexec");
    assert_int_equal(make(scene), QS_INVALID);
    assert_non_null(strstr(scene->err.message, "holds the executor's shim"));
}

static void a_workspace_of_somebody_else_is_untrusted(void **state)
{
    struct scene *scene = *state;
    scene->facts.roots[0].dir.uid = 0;
    assert_int_equal(make(scene), QS_UNTRUSTED);
}

static void a_root_reached_through_a_writable_link_is_refused(void **state)
{
    struct scene *scene = *state;
    struct root_fact *root = fixture_root(&scene->facts, "/srv/data");
    root->dir.links = calloc(1, sizeof *root->dir.links);
    root->dir.links[0] = strdup("/home/ann/work/deep/link");
    root->dir.link_count = 1;
    assert_int_equal(make(scene), QS_INVALID);
    assert_non_null(strstr(scene->err.message, "/home/ann/work/deep/link"));
}

static void a_root_reached_through_a_link_elsewhere_is_fine(void **state)
{
    struct scene *scene = *state;
    struct root_fact *root = fixture_root(&scene->facts, "/srv/data");
    root->dir.links = calloc(1, sizeof *root->dir.links);
    root->dir.links[0] = strdup("/home/ann/work-link");
    root->dir.link_count = 1;
    assert_int_equal(make(scene), QS_OK);
}

static void a_limit_that_would_not_bind_is_refused(void **state)
{
    struct scene *scene = *state;
    scene->policy.limits.processes = 100;
    assert_int_equal(make(scene), QS_OK);
    plan_release(&scene->plan);
    scene->facts.uid = 0;
    scene->facts.roots[0].dir.uid = 0;
    assert_int_equal(make(scene), QS_INVALID);
    assert_non_null(strstr(scene->err.message, "executor.limits.processes"));
}

static void private_sockets_on_an_open_network_need_a_scope(void **state)
{
    struct scene *scene = *state;
    scene->policy.network = QS_NET_OPEN;
    scene->policy.unix_sockets = QS_UNIX_PRIVATE;
    assert_int_equal(make(scene), QS_OK);
    assert_true(scene->plan.scope_abstract);
    plan_release(&scene->plan);
    scene->facts.landlock_abi = 5;
    assert_int_equal(make(scene), QS_INVALID);
    assert_non_null(strstr(scene->err.message, "abstract"));
    scene->policy.unix_sockets = QS_UNIX_BLOCKED; /* no sockets: nothing to reach */
    assert_int_equal(make(scene), QS_OK);
}

static void a_device_outside_dev_is_refused(void **state)
{
    struct scene *scene = *state;
    fixture_add(&scene->facts.devices, "/home/ann/node", PATH_DEVICE);
    assert_int_equal(make(scene), QS_INVALID);
    assert_non_null(strstr(scene->err.message, "executor.devices"));
}

static void a_current_directory_that_is_not_there_inside_is_refused(void **state)
{
    struct scene *scene = *state;
    free(scene->facts.cwd);
    scene->facts.cwd = strdup("/tmp/other");
    assert_int_equal(make(scene), QS_USAGE);
    free(scene->facts.cwd);
    scene->facts.cwd = strdup("/home/ann/.ssh");
    assert_int_equal(make(scene), QS_USAGE);
}

static void more_mounts_than_the_bound_are_refused(void **state)
{
    struct scene *scene = *state;
    char path[64];
    for (int i = 0; i < PLAN_MOUNTS_MAX; i++) {
        (void)snprintf(path, sizeof path, "/srv/root-%04d", i);
        fixture_root(&scene->facts, path);
    }
    assert_int_equal(make(scene), QS_INVALID);
    assert_non_null(strstr(scene->err.message, "512"));
}

static void the_same_input_gives_the_same_plan(void **state)
{
    struct scene *scene = *state;
    struct plan again = {0};
    fixture_root(&scene->facts, "/srv/z");
    fixture_root(&scene->facts, "/srv/y");
    assert_int_equal(make(scene), QS_OK);
    assert_int_equal(plan_make(&scene->policy, &scene->facts, &again, NULL), QS_OK);
    assert_int_equal(again.count, scene->plan.count);
    for (size_t i = 0; i < again.count; i++)
        assert_string_equal(again.mounts[i].dest, scene->plan.mounts[i].dest);
    plan_release(&again);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_workspace_is_writable_and_its_hooks_are_not),
        TEST(nothing_is_writable_under_read_only),
        TEST(a_parent_comes_before_what_is_below_it),
        TEST(a_root_inside_a_root_adds_nothing),
        TEST(a_root_inside_a_protected_path_wins_there),
        TEST(a_directory_on_the_way_to_a_guard_is_pinned),
        TEST(a_private_git_directory_lies_over_the_hosts),
        TEST(in_a_private_place_bubblewrap_makes_the_place_of_a_private_git_directory),
        TEST(a_git_directory_without_a_private_one_is_read_only),
        TEST(a_guard_outside_every_root_is_dropped),
        TEST(a_hidden_file_in_the_workspace_stays_hidden),
        TEST(of_two_for_one_place_the_stronger_holds),
        TEST(a_workspace_in_tmp_is_shown_again),
        TEST(hidden_paths_in_private_places_need_no_mask),
        TEST(private_sockets_hide_all_but_the_granted_ones),
        TEST(roots_that_would_undo_the_boundary_are_refused),
        TEST(a_workspace_that_would_undo_the_boundary_is_refused),
        TEST(a_root_that_holds_a_hidden_path_is_refused),
        TEST(a_root_that_holds_the_executor_is_refused),
        TEST(a_root_that_holds_the_shim_is_refused),
        TEST(a_workspace_of_somebody_else_is_untrusted),
        TEST(a_root_reached_through_a_writable_link_is_refused),
        TEST(a_root_reached_through_a_link_elsewhere_is_fine),
        TEST(a_limit_that_would_not_bind_is_refused),
        TEST(private_sockets_on_an_open_network_need_a_scope),
        TEST(a_device_outside_dev_is_refused),
        TEST(a_current_directory_that_is_not_there_inside_is_refused),
        TEST(more_mounts_than_the_bound_are_refused),
        TEST(the_same_input_gives_the_same_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
