/* SPDX-License-Identifier: Apache-2.0 */
/* The digest is BLAKE2b-256. Expected values were made with two other implementations: coreutils' `b2sum -l 256` and
 * Python's hashlib.blake2b(..., digest_size=32). */
#include "base/digest.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_text(const uint8_t digest[QS_DIGEST_BYTES], const char *hex)
{
    char text[DIGEST_TEXT_BYTES];
    digest_format(digest, text);
    assert_int_equal(strlen(text), DIGEST_TEXT_BYTES - 1);
    assert_memory_equal(text, "blake2b-256:", 12);
    assert_string_equal(text + 12, hex);
}

static void known_texts_have_their_known_digests(void **state)
{
    (void)state;
    static const struct {
        const char *text, *hex;
    } known[] = {
        {"", "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
        {"abc", "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"},
        {"The quick brown fox jumps over the lazy dog",
         "01718cec35cd3d796dd00020e0bfecb473ad23457d063b75eff29c0ffa2e58a9"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint8_t digest[QS_DIGEST_BYTES];
        digest_of(known[i].text, strlen(known[i].text), digest);
        expect_text(digest, known[i].hex);
    }
}

static void long_data_in_uneven_pieces_gives_the_same_digest(void **state)
{
    (void)state;
    size_t len = 1000000, piece = 1;
    char *data = malloc(len);
    assert_non_null(data);
    memset(data, 'a', len);
    struct digest digest;
    uint8_t whole[QS_DIGEST_BYTES], pieces[QS_DIGEST_BYTES];
    digest_of(data, len, whole);
    expect_text(whole, "0741850f36cba4259628355d1073e24ddb9ca0e1bfac36fd39ae5dc2101e23a4");
    digest_init(&digest);
    for (size_t at = 0; at < len; at += piece, piece = piece * 3 % 1021 + 1)
        digest_add(&digest, data + at, at + piece > len ? len - at : piece);
    digest_finish(&digest, pieces);
    assert_memory_equal(whole, pieces, QS_DIGEST_BYTES);
    free(data);
}

static void a_field_is_its_length_in_little_endian_and_its_bytes(void **state)
{
    (void)state;
    struct digest digest;
    uint8_t fields[QS_DIGEST_BYTES], bytes[QS_DIGEST_BYTES];
    digest_init(&digest);
    digest_add_field(&digest, "ab", 2);
    digest_add_field(&digest, NULL, 0);
    digest_add_u64(&digest, 0x0102030405060708u);
    digest_finish(&digest, fields);
    digest_of("\2\0\0\0\0\0\0\0ab\0\0\0\0\0\0\0\0\10\7\6\5\4\3\2\1", 26, bytes);
    assert_memory_equal(fields, bytes, QS_DIGEST_BYTES);
}

static void a_shifted_boundary_between_fields_changes_the_digest(void **state)
{
    (void)state;
    struct digest digest;
    uint8_t a[QS_DIGEST_BYTES], b[QS_DIGEST_BYTES];
    digest_init(&digest);
    digest_add_field(&digest, "ab", 2);
    digest_add_field(&digest, "c", 1);
    digest_finish(&digest, a);
    digest_init(&digest);
    digest_add_field(&digest, "a", 1);
    digest_add_field(&digest, "bc", 2);
    digest_finish(&digest, b);
    assert_memory_not_equal(a, b, QS_DIGEST_BYTES);
}

static void *digest_of_abc(void *out)
{
    digest_of("abc", 3, out);
    return NULL;
}

static void threads_may_take_their_first_digests_at_once(void **state)
{
    (void)state;
    pthread_t threads[8];
    uint8_t digests[8][QS_DIGEST_BYTES];
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, digest_of_abc, digests[i]), 0);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        expect_text(digests[i], "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_may_take_their_first_digests_at_once), /* first: it is about the first */
        cmocka_unit_test(known_texts_have_their_known_digests),
        cmocka_unit_test(long_data_in_uneven_pieces_gives_the_same_digest),
        cmocka_unit_test(a_field_is_its_length_in_little_endian_and_its_bytes),
        cmocka_unit_test(a_shifted_boundary_between_fields_changes_the_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
