/* SPDX-License-Identifier: Apache-2.0 */
/* The atomic file writer: whose file it is afterwards, who may read it, and whose files and directories it refuses. */
#include "qsettings/file.h"
#include "tests/support/as_user.h"
#include "tests/support/faults.h"
#include "tests/support/one_directory.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#define ACL_ACCESS  "system.posix_acl_access"
#define ACL_DEFAULT "system.posix_acl_default"
#define ALICE       1234
#define BOB         4321

static enum qs_status replace(const char *file, unsigned flags)
{
    struct qs_replace_options options = {.size = sizeof options, .flags = flags};
    err = (struct qs_error){0};
    return qs_file_replace(file, "new", 3, &options, &err);
}

static mode_t mode_of(const char *path)
{
    return scratch_stat(path).st_mode & 07777;
}

/* The kernel's form of an ACL, from tag, permission and id of each entry. */
static size_t acl_make(uint8_t *acl, const unsigned (*entries)[3], size_t count)
{
    size_t len = 0;
    memcpy(acl, "\x02\0\0\0", 4);
    len = 4;
    for (size_t i = 0; i < count; i++) {
        unsigned id = entries[i][2];
        const uint8_t entry[8] = {
            (uint8_t)entries[i][0], 0, (uint8_t)entries[i][1], 0, (uint8_t)id, (uint8_t)(id >> 8), (uint8_t)(id >> 16),
            (uint8_t)(id >> 24)};
        memcpy(acl + len, entry, 8);
        len += 8;
    }
    return len;
}

enum { USER_OBJ = 1, USER = 2, GROUP_OBJ = 4, MASK = 16, OTHER = 32 };
#define NO_ID 0xffffffffu

/* What the ACL of path grants to tag (and id); 8 where there is no such entry. */
static unsigned acl_grants(const char *path, unsigned tag, unsigned id)
{
    uint8_t acl[512];
    ssize_t len = getxattr(path, ACL_ACCESS, acl, sizeof acl);
    for (ssize_t at = 4; at < len; at += 8) {
        unsigned entry_id =
            (unsigned)(acl[at + 4] | acl[at + 5] << 8 | acl[at + 6] << 16 | (unsigned)acl[at + 7] << 24);
        if (acl[at] == tag && entry_id == id)
            return acl[at + 2];
    }
    return 8;
}

static void set_acl(const char *path, const char *which, unsigned alice, unsigned mask, unsigned other)
{
    uint8_t acl[64];
    const unsigned entries[][3] = {
        {USER_OBJ, 6, NO_ID}, {USER, alice, ALICE}, {GROUP_OBJ, 4, NO_ID}, {MASK, mask, NO_ID}, {OTHER, other, NO_ID}};
    size_t len = acl_make(acl, entries, 5);
    assert_int_equal(setxattr(path, which, acl, len, 0), 0);
}

static void mode_and_group_of_the_old_file_are_kept(void **state)
{
    static const mode_t modes[] = {0600, 0644, 0444, 0666, 0755, 02755, 04700};
    (void)state;
    mode_t old = umask(077);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        scratch_write(in("file"), "old");
        assert_int_equal(chown(in("file"), 0, ALICE), 0);
        assert_int_equal(chmod(in("file"), modes[i]), 0);
        assert_int_equal(replace(in("file"), 0), QS_OK);
        assert_int_equal(mode_of(in("file")), modes[i]);
        assert_int_equal(scratch_stat(in("file")).st_gid, ALICE);
    }
    (void)umask(old);
}

static void a_setgid_directory_does_not_change_the_group(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("dir"), 0755), 0);
    assert_int_equal(chown(in("dir"), 0, BOB), 0);
    assert_int_equal(chmod(in("dir"), 02755), 0);
    scratch_write(in("dir/file"), "old");
    assert_int_equal(chown(in("dir/file"), 0, ALICE), 0);
    assert_int_equal(replace(in("dir/file"), 0), QS_OK);
    assert_int_equal(scratch_stat(in("dir/file")).st_gid, ALICE);
    assert_int_equal(replace(in("dir/new"), 0), QS_OK);
    assert_int_equal(scratch_stat(in("dir/new")).st_gid, BOB); /* as any new file there */
}

static void acl_and_attributes_of_the_old_file_are_kept(void **state)
{
    (void)state;
    char value[64];
    scratch_write(in("file"), "old");
    set_acl(in("file"), ACL_ACCESS, 4, 4, 0);
    assert_int_equal(setxattr(in("file"), "user.note", "a\0b", 3, 0), 0);
    assert_int_equal(setxattr(in("file"), "user.empty", "", 0, 0), 0);
    assert_int_equal(setxattr(in("file"), "trusted.note", "secret", 6, 0), 0);
    mode_t mode = mode_of(in("file"));
    for (int expecting = 0; expecting < 2; expecting++) {
        struct qs_replace_options options = {.size = sizeof options,
                                             .expect = expecting ? "new" : NULL,
                                             .expect_len = 3};
        assert_int_equal(qs_file_replace(in("file"), "new", 3, &options, &err), QS_OK);
        assert_int_equal(acl_grants(in("file"), USER, ALICE), 4);
        assert_int_equal(acl_grants(in("file"), OTHER, NO_ID), 0);
        assert_int_equal(mode_of(in("file")), mode);
        assert_int_equal(getxattr(in("file"), "user.note", value, sizeof value), 3);
        assert_memory_equal(value, "a\0b", 3);
        assert_int_equal(getxattr(in("file"), "user.empty", value, sizeof value), 0);
        assert_int_equal(getxattr(in("file"), "trusted.note", value, sizeof value), 6);
    }
}

static void a_long_list_of_attributes_is_kept_whole(void **state)
{
    (void)state;
    char name[64], value[8];
    scratch_write(in("file"), "old");
    for (unsigned i = 0; i < 60; i++) {
        (void)snprintf(name, sizeof name, "user.an-attribute-with-a-long-name-%02u", i);
        assert_int_equal(setxattr(in("file"), name, &i, sizeof i, 0), 0);
    }
    assert_true(listxattr(in("file"), NULL, 0) > 1024); /* more than the first guess of the writer */
    assert_int_equal(replace(in("file"), 0), QS_OK);
    for (unsigned i = 0; i < 60; i++) {
        (void)snprintf(name, sizeof name, "user.an-attribute-with-a-long-name-%02u", i);
        assert_int_equal(getxattr(in("file"), name, value, sizeof value), sizeof i);
        assert_memory_equal(value, &i, sizeof i);
    }
}

static void capabilities_of_the_old_content_are_not_given_to_the_new(void **state)
{
    (void)state;
    /* linux/capability.h: VFS_CAP_REVISION_2 with the effective bit, CAP_NET_RAW permitted */
    static const uint8_t cap[20] = {1, 0, 0, 2, 0, 0x20};
    char value[32];
    scratch_write(in("file"), "old");
    assert_int_equal(setxattr(in("file"), "security.capability", cap, sizeof cap, 0), 0);
    assert_int_equal(replace(in("file"), 0), QS_OK);
    assert_int_equal(getxattr(in("file"), "security.capability", value, sizeof value), -1);
    assert_int_equal(errno, ENODATA);
}

static void an_attribute_that_cannot_be_kept_is_a_refusal(void **state)
{
    (void)state;
    scratch_write(in("file"), "old");
    assert_int_equal(setxattr(in("file"), "user.note", "x", 1, 0), 0);
    faults_start(&(struct fault){.only = "fsetxattr", .code = ENOSPC});
    assert_int_equal(replace(in("file"), 0), QS_IO);
    (void)faults_stop();
    assert_non_null(strstr(err.message, "user.note"));
    assert_true(scratch_holds(in("file"), "old"));
    assert_int_equal(scratch_count(scratch.dir, ""), 1);
}

static void a_security_label_that_may_not_be_set_is_left_to_the_system(void **state)
{
    (void)state;
    scratch_write(in("file"), "old");
    assert_int_equal(setxattr(in("file"), "security.qs-test", "label", 5, 0), 0);
    faults_start(&(struct fault){.only = "fsetxattr", .code = EPERM});
    assert_int_equal(replace(in("file"), 0), QS_OK);
    assert_true(faults_were_hit());
    (void)faults_stop();
    faults_start(&(struct fault){.only = "fsetxattr", .code = EPERM});
    assert_int_equal(setxattr(in("file"), "user.note", "x", 1, 0), 0);
    assert_int_equal(replace(in("file"), 0), QS_UNTRUSTED); /* any other attribute may not be lost */
    (void)faults_stop();
}

static void a_file_system_without_attributes_has_none_to_keep(void **state)
{
    (void)state;
    scratch_write(in("file"), "old");
    faults_start(&(struct fault){.only = "flistxattr", .code = EOPNOTSUPP});
    assert_int_equal(replace(in("file"), 0), QS_OK);
    assert_true(faults_were_hit());
    (void)faults_stop();
    /* Nor is one that goes away while it is being looked at. */
    assert_int_equal(setxattr(in("file"), "user.note", "x", 1, 0), 0);
    faults_start(&(struct fault){.only = "fgetxattr", .code = ENODATA});
    assert_int_equal(replace(in("file"), 0), QS_OK);
    assert_true(faults_were_hit());
    (void)faults_stop();
}

static void a_default_acl_of_the_directory_does_not_widen(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("dir"), 0755), 0);
    scratch_write(in("dir/old"), "old");
    assert_int_equal(chmod(in("dir/old"), 0600), 0);
    set_acl(in("dir"), ACL_DEFAULT, 7, 7, 7);
    /* An existing file stays without ACL. */
    assert_int_equal(replace(in("dir/old"), 0), QS_OK);
    assert_int_equal(mode_of(in("dir/old")), 0600);
    assert_int_equal(getxattr(in("dir/old"), ACL_ACCESS, NULL, 0), -1);
    struct qs_replace_options expect = {.size = sizeof expect, .expect = "new", .expect_len = 3};
    assert_int_equal(qs_file_replace(in("dir/old"), "newer", 5, &expect, &err), QS_OK);
    assert_int_equal(mode_of(in("dir/old")), 0600);
    assert_int_equal(getxattr(in("dir/old"), ACL_ACCESS, NULL, 0), -1);
    /* A new one gets what both the umask and the ACL allow. */
    mode_t old = umask(027);
    assert_int_equal(replace(in("dir/new"), 0), QS_OK);
    (void)umask(old);
    assert_int_equal(mode_of(in("dir/new")), 0640);
    assert_int_equal(acl_grants(in("dir/new"), MASK, NO_ID), 4);
    assert_int_equal(acl_grants(in("dir/new"), OTHER, NO_ID), 0);
}

static void a_narrow_default_acl_is_not_widened_by_the_mode(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("dir"), 0755), 0);
    set_acl(in("dir"), ACL_DEFAULT, 4, 4, 0);
    struct qs_replace_options options = {.size = sizeof options, .mode = 0666};
    assert_int_equal(qs_file_replace(in("dir/new"), "x", 1, &options, &err), QS_OK);
    assert_int_equal(acl_grants(in("dir/new"), USER, ALICE), 4);
    assert_int_equal(acl_grants(in("dir/new"), MASK, NO_ID), 4);
    assert_int_equal(acl_grants(in("dir/new"), OTHER, NO_ID), 0);
    uint8_t acl[64];
    const unsigned three[][3] = {{USER_OBJ, 6, NO_ID}, {GROUP_OBJ, 0, NO_ID}, {OTHER, 0, NO_ID}};
    size_t len = acl_make(acl, three, 3);
    assert_int_equal(setxattr(in("dir"), ACL_DEFAULT, acl, len, 0), 0);
    assert_int_equal(qs_file_replace(in("dir/three"), "x", 1, &options, &err), QS_OK);
    assert_int_equal(mode_of(in("dir/three")), 0600);
}

static void root_refuses_another_users_file_unless_asked_for(void **state)
{
    (void)state;
    scratch_write(in("file"), "old");
    assert_int_equal(chown(in("file"), ALICE, BOB), 0);
    assert_int_equal(chmod(in("file"), 0640), 0);
    assert_int_equal(replace(in("file"), 0), QS_UNTRUSTED);
    assert_non_null(strstr(err.message, "another user (uid 1234)"));
    assert_true(scratch_holds(in("file"), "old"));
    assert_int_equal(replace(in("file"), QS_REPLACE_OTHER_OWNER), QS_OK);
    struct stat st = scratch_stat(in("file"));
    assert_true(scratch_holds(in("file"), "new"));
    assert_int_equal(st.st_uid, ALICE);
    assert_int_equal(st.st_gid, BOB);
    assert_int_equal(st.st_mode & 07777, 0640);
}

static void assert_root_refuses(const char *file, const char *reason)
{
    assert_int_equal(replace(file, 0), QS_UNTRUSTED);
    if (!strstr(err.message, reason) || !strstr(err.advice, "QS_REPLACE_OTHER_OWNER"))
        fail_msg("%s: %s; %s", file, err.message, err.advice);
}

static void root_refuses_directories_that_others_control(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in("dir"), 0755), 0);
    assert_int_equal(mkdir(in("dir/sub"), 0755), 0);
    assert_int_equal(chown(in("dir"), ALICE, ALICE), 0);
    assert_root_refuses(in("dir/file"), "another user (uid 1234)");
    assert_root_refuses(in("dir/sub/file"), "another user (uid 1234)"); /* she could put a link for sub */
    assert_false(scratch_exists(in("dir/file")));
    assert_int_equal(chown(in("dir"), 0, 0), 0);
    assert_int_equal(chmod(in("dir"), 0777), 0);
    assert_root_refuses(in("dir/file"), "writable by other users");
    assert_int_equal(chown(in("dir"), 0, ALICE), 0);
    assert_int_equal(chmod(in("dir"), 0775), 0);
    assert_root_refuses(in("dir/file"), "writable by other users");
    assert_int_equal(replace(in("dir/file"), QS_REPLACE_OTHER_OWNER), QS_OK);
    assert_int_equal(chmod(in("dir"), 01777), 0); /* sticky: nobody else can rename what is root's */
    assert_int_equal(replace(in("dir/file"), 0), QS_OK);
}

static void a_strangers_link_in_an_open_directory_is_not_followed(void **state)
{
    (void)state;
    scratch_write(in("precious"), "old");
    assert_int_equal(mkdir(in("tmp"), 0755), 0);
    assert_int_equal(symlink("../precious", in("tmp/link")), 0);
    assert_int_equal(lchown(in("tmp/link"), ALICE, ALICE), 0);
    assert_int_equal(chmod(in("tmp"), 01777), 0);
    assert_int_equal(replace(in("tmp/link"), 0), QS_UNTRUSTED);
    assert_non_null(strstr(err.message, "belongs to another user"));
    assert_int_equal(replace(in("tmp/link"), QS_REPLACE_OTHER_OWNER), QS_UNTRUSTED); /* as the kernel: no way round */
    assert_true(scratch_holds(in("precious"), "old"));
    assert_int_equal(lchown(in("tmp/link"), 0, 0), 0);
    assert_int_equal(replace(in("tmp/link"), 0), QS_OK);
}

/* As ALICE: her directory, files of others in it. */
static int plain_user(void *context)
{
    (void)context;
    int failed = 0;
#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            (void)fprintf(stderr, "# %s: %s\n", #condition, err.message); \
            failed = 1; \
        } \
    } while (0)
    EXPECT(replace(in("dir/own"), 0) == QS_OK);
    EXPECT(mode_of(in("dir/own")) == 0400); /* her own, though not writable */
    EXPECT(replace(in("dir/roots"), 0) == QS_UNTRUSTED && strstr(err.message, "another user"));
    EXPECT(replace(in("dir/roots"), QS_REPLACE_OTHER_OWNER) == QS_UNTRUSTED && strstr(err.message, "keep owner"));
    EXPECT(replace(in("dir/group"), 0) == QS_UNTRUSTED && strstr(err.message, "keep owner and group"));
    EXPECT(replace(in("dir/blind"), 0) == QS_UNTRUSTED && strstr(err.message, "attributes cannot be kept"));
    EXPECT(replace(in("roots-dir/file"), 0) == QS_UNTRUSTED && err.sys_errno == EACCES);
    EXPECT(replace(in("closed/file"), 0) == QS_UNTRUSTED && err.sys_errno == EACCES);
    EXPECT(scratch_count(in("dir"), ".qs-") == 0);
    return failed;
}

static void a_plain_user_replaces_only_what_stays_as_it_was(void **state)
{
    (void)state;
    static const char *const files[] = {"dir/own", "dir/roots", "dir/group", "dir/blind"};
    assert_int_equal(mkdir(in("dir"), 0755), 0);
    assert_int_equal(mkdir(in("roots-dir"), 0755), 0);
    assert_int_equal(mkdir(in("closed"), 0700), 0);
    for (size_t i = 0; i < 4; i++)
        scratch_write(in(files[i]), "old");
    assert_int_equal(chown(in("dir"), ALICE, ALICE), 0);
    assert_int_equal(chown(in("dir/own"), ALICE, ALICE), 0);
    assert_int_equal(chmod(in("dir/own"), 0400), 0);
    assert_int_equal(chown(in("dir/group"), ALICE, BOB), 0);
    assert_int_equal(chown(in("dir/blind"), ALICE, ALICE), 0);
    assert_int_equal(chmod(in("dir/blind"), 0200), 0);
    assert_int_equal(as_user(ALICE, ALICE, plain_user, NULL), 0);
    assert_true(scratch_holds(in("dir/own"), "new"));
    assert_true(scratch_holds(in("dir/roots"), "old"));
    assert_true(scratch_holds(in("dir/group"), "old"));
    assert_true(scratch_holds(in("dir/blind"), "old"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(mode_and_group_of_the_old_file_are_kept),
        TEST(a_setgid_directory_does_not_change_the_group),
        TEST(acl_and_attributes_of_the_old_file_are_kept),
        TEST(a_long_list_of_attributes_is_kept_whole),
        TEST(capabilities_of_the_old_content_are_not_given_to_the_new),
        TEST(an_attribute_that_cannot_be_kept_is_a_refusal),
        TEST(a_security_label_that_may_not_be_set_is_left_to_the_system),
        TEST(a_file_system_without_attributes_has_none_to_keep),
        TEST(a_default_acl_of_the_directory_does_not_widen),
        TEST(a_narrow_default_acl_is_not_widened_by_the_mode),
        TEST(root_refuses_another_users_file_unless_asked_for),
        TEST(root_refuses_directories_that_others_control),
        TEST(a_strangers_link_in_an_open_directory_is_not_followed),
        TEST(a_plain_user_replaces_only_what_stays_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
