/* SPDX-License-Identifier: Apache-2.0 */
/* Approved trees: what is taken in, what is refused, and that a copy is told apart from anything else. */
#include "approval/tree.h"
#include "base/cleanup.h"
#include "tests/support/one_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static int open_dir(const char *name)
{
    int fd = open(in(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void make_dir(const char *name)
{
    assert_int_equal(mkdir(in(name), 0755), 0);
}

static void make_link(const char *text, const char *name)
{
    assert_int_equal(symlink(text, in(name)), 0);
}

/* A small tree: source/{a, bin/run (executable), bin/alias -> ../a, sub/deep/x}. */
static void make_source(void)
{
    make_dir("source");
    make_dir("source/bin");
    make_dir("source/sub");
    make_dir("source/sub/deep");
    scratch_write(in("source/a"), "one\n");
    scratch_write(in("source/bin/run"), "#!/bin/sh\n");
    assert_int_equal(chmod(in("source/bin/run"), 04755), 0);
    make_link("../a", "source/bin/alias");
    scratch_write(in("source/sub/deep/x"), "");
}

static enum qs_status copy(const char *to, struct tree *tree)
{
    make_dir(to);
    AUTO_FD int source = open_dir("source");
    AUTO_FD int target = open_dir(to);
    err = (struct qs_error){0};
    return tree_copy(source, target, tree, &err);
}

static void digest_text(const struct tree *tree, char out[TREE_DIGEST_TEXT])
{
    uint8_t digest[QS_DIGEST_BYTES];
    tree_digest(tree, digest);
    tree_digest_text(digest, out);
}

static void a_copy_has_the_content_and_nothing_else(void **state)
{
    (void)state;
    AUTO(tree_release) struct tree tree = {0};
    make_source();
    assert_int_equal(copy("copy", &tree), QS_OK);
    static const char *const paths[] = {"a", "bin", "bin/alias", "bin/run", "sub", "sub/deep", "sub/deep/x"};
    assert_int_equal(tree.count, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_string_equal(tree.entries[i].path, paths[i]);
        assert_ptr_equal(tree_find(&tree, paths[i]), &tree.entries[i]);
    }
    assert_null(tree_find(&tree, "bin/other"));
    assert_true(scratch_holds(in("copy/a"), "one\n"));
    assert_int_equal(scratch_stat(in("copy/bin/run")).st_mode & 07777, 0555); /* no set-user-ID bit */
    assert_int_equal(scratch_stat(in("copy/a")).st_mode & 07777, 0444);
    assert_int_equal(scratch_stat(in("copy/sub")).st_mode & 07777, 0555);
    assert_true(S_ISLNK(scratch_stat(in("copy/bin/alias")).st_mode));
}

static void the_digest_is_of_the_content_alone(void **state)
{
    (void)state;
    AUTO(tree_release) struct tree first = {0};
    AUTO(tree_release) struct tree second = {0};
    AUTO(tree_release) struct tree read = {0};
    char one[TREE_DIGEST_TEXT];
    char two[TREE_DIGEST_TEXT];
    uint8_t parsed[QS_DIGEST_BYTES];
    make_source();
    assert_int_equal(copy("copy", &first), QS_OK);
    digest_text(&first, one);
    assert_int_equal(utimensat(AT_FDCWD, in("source/a"), NULL, 0), 0);
    assert_int_equal(chown(in("source/a"), getuid(), getgid()), 0);
    assert_int_equal(copy("again", &second), QS_OK);
    digest_text(&second, two);
    assert_string_equal(one, two);
    AUTO_FD int fd = open_dir("copy");
    assert_int_equal(tree_read(fd, &read, &err), QS_OK);
    digest_text(&read, two);
    assert_string_equal(one, two);
    assert_true(tree_digest_parse(one, strlen(one), parsed));
    assert_false(tree_digest_parse(one, strlen(one) - 1, parsed));
    one[strlen(one) - 1] = 'G';
    assert_false(tree_digest_parse(one, strlen(one), parsed));
}

/* Each of these changes the digest. */
static void change_content(void)
{
    scratch_write(in("source/a"), "two\n");
}
static void change_mode(void)
{
    assert_int_equal(chmod(in("source/a"), 0755), 0);
}
static void change_name(void)
{
    assert_int_equal(rename(in("source/a"), in("source/b")), 0);
}
static void change_link(void)
{
    assert_int_equal(unlink(in("source/bin/alias")), 0);
    make_link("run", "source/bin/alias");
}
static void change_level(void)
{
    assert_int_equal(rename(in("source/sub/deep/x"), in("source/sub/x")), 0);
}
static void add_directory(void)
{
    make_dir("source/empty");
}

static void every_change_changes_the_digest(void **state)
{
    (void)state;
    static void (*const changes[])(void) = {change_content, change_mode,  change_name,
                                            change_link,    change_level, add_directory};
    char before[TREE_DIGEST_TEXT] = "";
    make_source();
    for (size_t i = 0; i <= sizeof changes / sizeof *changes; i++) {
        AUTO(tree_release) struct tree tree = {0};
        AUTO_FD int fd = open_dir("source");
        char now[TREE_DIGEST_TEXT];
        assert_int_equal(tree_read(fd, &tree, &err), QS_OK);
        digest_text(&tree, now);
        assert_string_not_equal(before, now);
        memcpy(before, now, sizeof before);
        if (i < sizeof changes / sizeof *changes)
            changes[i]();
    }
}

static void refused(const char *why, const char *where)
{
    static int number;
    char to[16];
    AUTO(tree_release) struct tree tree = {0};
    (void)snprintf(to, sizeof to, "to%d", number++);
    if (copy(to, &tree) != QS_INVALID)
        fail_msg("%s: was taken in, or failed otherwise: %s", where, err.message);
    if (!strstr(err.message, why) || !strstr(err.file, where))
        fail_msg("%s", err.message);
    assert_int_equal(tree.count, 0);
}

static void links_that_lead_out_are_refused(void **state)
{
    (void)state;
    static const char *const out[] = {"../..", "../../a", "/etc/../tmp", "/tmp", "/nonexistent", "x/../../..", "a/.."};
    make_source();
    for (size_t i = 0; i < sizeof out / sizeof *out; i++) {
        make_link(out[i], "source/bin/out");
        print_message("%s\n", out[i]);
        refused("leads out", "bin/out");
        assert_int_equal(unlink(in("source/bin/out")), 0);
    }
    AUTO(tree_release) struct tree tree = {0};
    make_link("/etc/passwd", "source/bin/out"); /* root's, on the whole way */
    make_link("../sub/deep", "source/bin/in");
    assert_int_equal(copy("copy", &tree), QS_OK);
}

static void an_absolute_link_through_somebodys_directory_is_refused(void **state)
{
    (void)state;
    char text[SCRATCH_PATH_BYTES];
    make_source();
    make_dir("mine");
    scratch_write(in("mine/file"), "x");
    (void)snprintf(text, sizeof text, "%s", in("mine/file"));
    assert_int_equal(chmod(in("mine"), 0777), 0);
    make_link(text, "source/bin/out");
    refused("leads out", "bin/out");
}

static void link_texts_are_judged_by_depth(void **state)
{
    (void)state;
    assert_true(tree_link_stays("a", 0) && tree_link_stays("a/b/./c", 0) && tree_link_stays("..", 1));
    assert_true(tree_link_stays("../../x", 2) && tree_link_stays("./../x", 1) && tree_link_stays("a/", 0));
    assert_false(tree_link_stays("..", 0) || tree_link_stays("../../x", 1) || tree_link_stays("", 0));
    assert_false(tree_link_stays("/a", 5) || tree_link_stays("a/..", 5) || tree_link_stays("a/../b", 5));
}

static void special_files_are_refused(void **state)
{
    (void)state;
    make_source();
    assert_int_equal(mkfifo(in("source/pipe"), 0644), 0);
    refused("neither a directory", "pipe");
    assert_int_equal(unlink(in("source/pipe")), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%.90s", in("source/socket"));
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    refused("neither a directory", "socket");
}

static void strange_names_are_refused(void **state)
{
    (void)state;
    make_source();
    static const char *const names[] = {"source/sub/a\nb", "source/sub/\xff", "source/sub/\x7f"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        scratch_write(in(names[i]), "");
        refused("not UTF-8 or has control characters", "sub");
        assert_int_equal(unlink(in(names[i])), 0);
    }
}

static void size_counts_not_blocks(void **state)
{
    (void)state;
    make_source();
    assert_int_equal(truncate(in("source/a"), (off_t)300 << 30), 0); /* sparse: not a byte of it is read */
    refused("larger than 256 MiB", "a");
}

static void depth_is_bound(void **state)
{
    (void)state;
    make_dir("source");
    AUTO_FD int at = open_dir("source");
    for (int i = 0; i < 66; i++) {
        assert_int_equal(mkdirat(at, "d", 0755), 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        (void)close(at);
        at = next;
    }
    refused("deeper than 64 levels", "d/d/d");
}

static void hard_links_become_files(void **state)
{
    (void)state;
    AUTO(tree_release) struct tree tree = {0};
    make_source();
    assert_int_equal(link(in("source/a"), in("source/b")), 0);
    assert_int_equal(copy("copy", &tree), QS_OK);
    assert_int_equal(scratch_stat(in("copy/b")).st_nlink, 1);
    scratch_write(in("source/b"), "later\n");
    assert_true(scratch_holds(in("copy/a"), "one\n"));
}

/* ---- verifying ---- */

static void verify_fails(const struct tree *manifest, const char *where)
{
    AUTO_FD int fd = open_dir("copy");
    err = (struct qs_error){0};
    assert_int_equal(tree_verify(fd, manifest, &err), QS_DAMAGED);
    if (!strstr(err.file, where))
        fail_msg("%s", err.message);
}

static void a_copy_is_verified_by_its_manifest(void **state)
{
    (void)state;
    AUTO(tree_release) struct tree tree = {0};
    AUTO(tree_release) struct tree manifest = {0};
    AUTO(buf_release) struct buf text = {0};
    make_source();
    assert_int_equal(copy("copy", &tree), QS_OK);
    assert_int_equal(tree_manifest_encode(&tree, &text, &err), QS_OK);
    assert_int_equal(tree_manifest_decode(text.data, text.len, &manifest, &err), QS_OK);
    AUTO_FD int fd = open_dir("copy");
    assert_int_equal(tree_verify(fd, &manifest, &err), QS_OK);
    char one[TREE_DIGEST_TEXT];
    char two[TREE_DIGEST_TEXT];
    digest_text(&tree, one);
    digest_text(&manifest, two);
    assert_string_equal(one, two);

    assert_int_equal(chmod(in("copy/a"), 0644), 0); /* the change time tells, though the mode is put back */
    assert_int_equal(chmod(in("copy/a"), 0444), 0);
    verify_fails(&manifest, "a");
}

static void what_is_added_missing_or_replaced_is_named(void **state)
{
    (void)state;
    AUTO(tree_release) struct tree tree = {0};
    make_source();
    assert_int_equal(copy("copy", &tree), QS_OK);
    assert_int_equal(chmod(in("copy/sub"), 0755), 0);
    verify_fails(&tree, "sub");
    tree_release(&tree);
    AUTO_FD int fd = open_dir("copy");
    assert_int_equal(tree_read(fd, &tree, &err), QS_OK); /* as it is now */
    scratch_write(in("copy/sub/new"), "");
    verify_fails(&tree, "sub");
    assert_int_equal(unlink(in("copy/sub/new")), 0);
    assert_int_equal(rename(in("copy/sub/deep"), in("moved")), 0);
    verify_fails(&tree, "sub");
}

static void another_directory_is_not_the_tree(void **state)
{
    (void)state;
    AUTO(tree_release) struct tree first = {0};
    AUTO(tree_release) struct tree second = {0};
    make_source();
    assert_int_equal(copy("other", &first), QS_OK);
    assert_int_equal(copy("copy", &second), QS_OK);
    verify_fails(&first, "");
}

static void a_manifest_that_was_touched_is_refused(void **state)
{
    (void)state;
    AUTO(tree_release) struct tree tree = {0};
    AUTO(tree_release) struct tree decoded = {0};
    AUTO(buf_release) struct buf text = {0};
    make_source();
    assert_int_equal(copy("copy", &tree), QS_OK);
    assert_int_equal(tree_manifest_encode(&tree, &text, &err), QS_OK);
    for (size_t len = 0; len < text.len; len++)
        assert_int_equal(tree_manifest_decode(text.data, len, &decoded, &err), QS_DAMAGED);
    for (size_t i = 0; i < text.len; i++) {
        text.data[i] ^= 1;
        assert_int_equal(tree_manifest_decode(text.data, text.len, &decoded, &err), QS_DAMAGED);
        text.data[i] ^= 1;
    }
    assert_int_equal(decoded.count, 0);
}

/* ---- comparing ---- */

static enum qs_status note_change(const struct tree_entry *before, const struct tree_entry *after, void *context)
{
    char line[64];
    (void)snprintf(line, sizeof line, "%c%s ",
                   before && after ? '~'
                   : after         ? '+'
                                   : '-',
                   after ? after->path : before->path);
    strncat(context, line, 200);
    return QS_OK;
}

static void two_trees_are_compared_entry_by_entry(void **state)
{
    (void)state;
    AUTO(tree_release) struct tree before = {0};
    AUTO(tree_release) struct tree after = {0};
    char changes[512] = "";
    make_source();
    assert_int_equal(copy("copy", &before), QS_OK);
    scratch_write(in("source/a"), "two\n");
    scratch_write(in("source/bin-2"), "new\n"); /* '-' sorts before '/' as a byte, and behind "bin/..." in a tree */
    assert_int_equal(unlink(in("source/sub/deep/x")), 0);
    assert_int_equal(copy("again", &after), QS_OK);
    assert_int_equal(tree_compare(&before, &after, note_change, changes), QS_OK);
    assert_string_equal(changes, "~a +bin-2 -sub/deep/x ");
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_copy_has_the_content_and_nothing_else),
        T(the_digest_is_of_the_content_alone),
        T(every_change_changes_the_digest),
        T(links_that_lead_out_are_refused),
        T(an_absolute_link_through_somebodys_directory_is_refused),
        T(link_texts_are_judged_by_depth),
        T(special_files_are_refused),
        T(strange_names_are_refused),
        T(size_counts_not_blocks),
        T(depth_is_bound),
        T(hard_links_become_files),
        T(a_copy_is_verified_by_its_manifest),
        T(what_is_added_missing_or_replaced_is_named),
        T(another_directory_is_not_the_tree),
        T(a_manifest_that_was_touched_is_refused),
        T(two_trees_are_compared_entry_by_entry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
