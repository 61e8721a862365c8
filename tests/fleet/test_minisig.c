/* SPDX-License-Identifier: Apache-2.0 */
/* Signature files: only the strict form, only the prehashed algorithm, and signers counted by their public key. */
#include "tests/support/fleet_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEXT "{\"a\":1}"

static struct operator_key one, two, other;
static struct qs_error err;

static int set_up(void **state)
{
    (void)state;
    operator_key_make(1, &one);
    operator_key_make(2, &two);
    operator_key_make(3, &other);
    return 0;
}

static struct role role_of(unsigned threshold)
{
    return (struct role){.threshold = threshold, .count = 2, .keys = {one.key, two.key}};
}

static enum qs_status check(const struct buf *file, const char *text, const struct role *role, uint32_t *ret_signers)
{
    struct minisig sig;
    enum qs_status status = minisig_parse(file->data, file->len, &sig, &err);
    return status ? status : minisig_check(&sig, bytes_of(text), role, ret_signers, &err);
}

static void distinct_public_keys_are_counted_not_blocks(void **state)
{
    (void)state;
    struct buf file = {0};
    uint32_t signers = 0;
    struct role both = role_of(2), either = role_of(1);
    operator_sign(&one, TEXT, &file);
    operator_sign(&one, TEXT, &file);
    assert_int_equal(check(&file, TEXT, &both, NULL), QS_UNTRUSTED);
    assert_int_equal(check(&file, TEXT, &either, &signers), QS_OK);
    assert_int_equal(signers, 1);
    operator_sign(&two, TEXT, &file);
    assert_int_equal(check(&file, TEXT, &both, &signers), QS_OK);
    assert_int_equal(signers, 3);
    assert_int_equal(check(&file, TEXT " ", &either, NULL), QS_UNTRUSTED);
    buf_release(&file);
}

static void two_keys_with_one_id_are_two_keys(void **state)
{
    (void)state;
    struct buf file = {0};
    memcpy(two.key.id, one.key.id, MINISIG_ID_BYTES);
    struct role both = role_of(2);
    operator_sign(&one, TEXT, &file);
    assert_int_equal(check(&file, TEXT, &both, NULL), QS_UNTRUSTED);
    operator_sign(&two, TEXT, &file);
    assert_int_equal(check(&file, TEXT, &both, NULL), QS_OK);
    buf_release(&file);
}

static void a_foreign_block_is_skipped_and_counts_for_nothing(void **state)
{
    (void)state;
    struct buf file = {0};
    struct role either = role_of(1);
    operator_sign(&other, TEXT, &file);
    assert_int_equal(check(&file, TEXT, &either, NULL), QS_UNTRUSTED);
    assert_non_null(strstr(err.message, "by 0 of the keys"));
    operator_sign(&two, TEXT, &file);
    assert_int_equal(check(&file, TEXT, &either, NULL), QS_OK);
    buf_release(&file);
}

/* Each bit of a file flipped is refused, or lies in a comment that means nothing. */
static void a_changed_bit_is_refused_unless_it_lies_in_a_comment_that_means_nothing(void **state)
{
    (void)state;
    struct buf file = {0};
    struct role either = role_of(1);
    operator_sign(&one, TEXT, &file);
    size_t untrusted = strlen("untrusted comment: "), line = strcspn(file.data, "\n"), accepted = 0;
    for (size_t bit = 0; bit < 8 * file.len; bit++) {
        file.data[bit / 8] = (char)(file.data[bit / 8] ^ 1 << bit % 8);
        bool fine = check(&file, TEXT, &either, NULL) == QS_OK;
        if (fine && (bit / 8 < untrusted || bit / 8 >= line))
            fail_msg("bit %zu of byte %zu", bit % 8, bit / 8);
        accepted += fine;
        file.data[bit / 8] = (char)(file.data[bit / 8] ^ 1 << bit % 8);
    }
    assert_true(accepted > 0);
    buf_release(&file);
}

static void malformed_files_are_refused_whole(void **state)
{
    (void)state;
    struct buf good = {0}, bad = {0};
    struct role either = role_of(1);
    operator_sign(&one, TEXT, &good);
    static const char *const tails[] = {"\n", " ", "untrusted comment: x\n", "\r\n"};
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        buf_clear(&bad);
        buf_add(&bad, good.data, good.len);
        buf_add_str(&bad, tails[i]);
        assert_int_equal(check(&bad, TEXT, &either, NULL), QS_INVALID);
    }
    for (size_t len = 0; len < good.len; len++) {
        buf_clear(&bad);
        buf_add(&bad, good.data, len);
        assert_int_equal(check(&bad, TEXT, &either, NULL), QS_INVALID);
    }
    for (unsigned i = 0; i < 16; i++)
        buf_add(&bad, good.data, good.len);
    assert_int_equal(check(&bad, TEXT, &either, NULL), QS_INVALID); /* after the rest of a block */
    buf_clear(&bad);
    for (unsigned i = 0; i < 16; i++)
        buf_add(&bad, good.data, good.len);
    assert_int_equal(check(&bad, TEXT, &either, NULL), QS_OK);
    buf_add(&bad, good.data, good.len);
    assert_int_equal(check(&bad, TEXT, &either, NULL), QS_INVALID);
    assert_non_null(strstr(err.message, "more than 16"));
    buf_release(&good);
    buf_release(&bad);
}

/* Over a text of 64 bytes a legacy signature is one of ED over a text whose hash those bytes are. */
static void the_legacy_algorithm_is_refused_even_where_another_block_would_do(void **state)
{
    (void)state;
    struct buf file = {0};
    struct role either = role_of(1);
    operator_sign(&one, TEXT, &file);
    size_t at = file.len;
    operator_sign(&other, TEXT, &file);
    char *base64 = strchr(file.data + at, '\n') + 1;
    assert_int_equal(strncmp(base64, "RU", 2), 0);
    base64[1] = 'W'; /* "ED" is RUQ..., "Ed" is RWQ... */
    assert_int_equal(check(&file, TEXT, &either, NULL), QS_UNTRUSTED);
    assert_non_null(strstr(err.message, "legacy"));
    buf_release(&file);
}

static void public_keys_are_strict_base64_of_a_point(void **state)
{
    (void)state;
    struct public_key key;
    char text[MINISIG_KEY_TEXT_BYTES];
    assert_int_equal(public_key_parse(one.text, &key, &err), QS_OK);
    public_key_format(&key, text);
    assert_string_equal(text, one.text);
    struct public_key zero = {0};
    public_key_format(&zero, text); /* a point of small order */
    assert_int_equal(public_key_parse(text, &key, &err), QS_INVALID);
    static const char *const bad[] = {"", "RWQ", "untrusted comment: x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(public_key_parse(bad[i], &key, &err), QS_INVALID);
    (void)snprintf(text, sizeof text, "%s", one.text);
    text[1] = 'U'; /* a signature's algorithm */
    assert_int_equal(public_key_parse(text, &key, &err), QS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(distinct_public_keys_are_counted_not_blocks, set_up),
        cmocka_unit_test_setup(two_keys_with_one_id_are_two_keys, set_up),
        cmocka_unit_test_setup(a_foreign_block_is_skipped_and_counts_for_nothing, set_up),
        cmocka_unit_test_setup(a_changed_bit_is_refused_unless_it_lies_in_a_comment_that_means_nothing, set_up),
        cmocka_unit_test_setup(malformed_files_are_refused_whole, set_up),
        cmocka_unit_test_setup(the_legacy_algorithm_is_refused_even_where_another_block_would_do, set_up),
        cmocka_unit_test_setup(public_keys_are_strict_base64_of_a_point, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
