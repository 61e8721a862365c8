/* SPDX-License-Identifier: Apache-2.0 */
/* The disk image in memory: what goes in comes out, sparse stays sparse, nothing is written beyond the end. */
#include "stress/powercut/powercut_image.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define IMAGE_BYTES (1u << 20)

static int make_file(void)
{
    int fd = memfd_create("image", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, IMAGE_BYTES), 0);
    return fd;
}

static void expect_bytes(int fd, off_t at, const void *wanted, size_t len)
{
    char found[8192];
    assert_true(len <= sizeof found);
    assert_int_equal(pread(fd, found, len, at), len);
    assert_memory_equal(found, wanted, len);
}

static void a_dumped_image_equals_the_loaded_file_with_its_changes(void **state)
{
    (void)state;
    struct image image;
    char text[6000];
    memset(text, 'x', sizeof text);
    int from = make_file(), to = make_file();
    assert_int_equal(pwrite(from, "head", 4, 0), 4);
    assert_int_equal(pwrite(from, "tail", 4, IMAGE_BYTES - 4), 4);
    assert_int_equal(pwrite(to, text, sizeof text, 500000), sizeof text); /* must be gone afterwards */
    assert_int_equal(image_load(from, &image, NULL), QS_OK);
    assert_int_equal(image_write(&image, 4095, text, sizeof text, NULL), QS_OK); /* over three pages */
    assert_int_equal(image_dump(&image, to, NULL), QS_OK);
    expect_bytes(to, 0, "head", 4);
    expect_bytes(to, 4095, text, sizeof text);
    expect_bytes(to, 4094, "\0x", 2);
    expect_bytes(to, 4095 + (off_t)sizeof text - 1, "x\0", 2);
    expect_bytes(to, 500000, "\0\0\0\0", 4);
    expect_bytes(to, IMAGE_BYTES - 4, "tail", 4);
    image_release(&image);
    (void)close(from);
    (void)close(to);
}

static void zeros_take_bytes_away_and_no_memory(void **state)
{
    (void)state;
    struct image image;
    static const char zeros[8192];
    int from = make_file(), to = make_file();
    assert_int_equal(pwrite(from, "abcdef", 6, 8192), 6);
    assert_int_equal(image_load(from, &image, NULL), QS_OK);
    assert_int_equal(image_write(&image, 8194, NULL, 2, NULL), QS_OK);
    assert_int_equal(image_write(&image, 65536, zeros, sizeof zeros, NULL), QS_OK);
    assert_int_equal(image_write(&image, 131072, NULL, 65536, NULL), QS_OK);
    assert_null(image.pages[65536 / 4096]);
    assert_null(image.pages[131072 / 4096]);
    assert_int_equal(image_dump(&image, to, NULL), QS_OK);
    expect_bytes(to, 8192, "ab\0\0ef", 6);
    struct stat st;
    assert_int_equal(fstat(to, &st), 0);
    assert_int_equal(st.st_size, IMAGE_BYTES);
    assert_true(st.st_blocks * 512 <= 8192);
    image_release(&image);
    (void)close(from);
    (void)close(to);
}

static void a_write_beyond_the_end_is_refused(void **state)
{
    (void)state;
    struct image image;
    struct qs_error err = {0};
    int from = make_file();
    assert_int_equal(image_load(from, &image, NULL), QS_OK);
    assert_int_equal(image_write(&image, IMAGE_BYTES - 2, "abc", 3, &err), QS_INVALID);
    assert_int_equal(image_write(&image, UINT64_MAX, "abc", 3, &err), QS_INVALID);
    assert_int_equal(image_write(&image, 0, NULL, UINT64_MAX, &err), QS_INVALID);
    assert_int_equal(image_write(&image, IMAGE_BYTES - 3, "abc", 3, &err), QS_OK);
    image_release(&image);
    (void)close(from);
}

static void what_is_no_file_is_an_error(void **state)
{
    (void)state;
    struct image image;
    struct qs_error err = {0};
    assert_int_equal(image_load(-1, &image, &err), QS_IO);
    int from = make_file();
    assert_int_equal(image_load(from, &image, NULL), QS_OK);
    assert_int_equal(image_dump(&image, -1, &err), QS_IO);
    image_release(&image);
    (void)close(from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dumped_image_equals_the_loaded_file_with_its_changes),
        cmocka_unit_test(zeros_take_bytes_away_and_no_memory),
        cmocka_unit_test(a_write_beyond_the_end_is_refused),
        cmocka_unit_test(what_is_no_file_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
